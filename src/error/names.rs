//! The names of hash functions and key transforms in messages.

use core::fmt;

/// A hash function by its stored id.
pub(super) struct HashName {
    pub(crate) id: u8,
}

impl fmt::Display for HashName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            1 => f.write_str("XXH3 with a seed"),
            2 => f.write_str("SipHash under a secret key"),
            id => write!(f, "the hash function of id {id}"),
        }
    }
}

/// A key transform by its stored id and parameter, displayed as the transform's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransformId {
    /// The id: below 128 the format's, from 128 on an engine's own.
    pub id: u8,
    /// The parameter: the length of the prefix, the delimiter and 256 times the levels, or of the engine's own meaning.
    pub param: u16,
}

impl fmt::Display for TransformId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, param } = self;
        match id {
            0 => f.write_str("whole-key"),
            1 => f.write_str("row"),
            2 => f.write_str("row+column"),
            3 => write!(f, "prefix:{param}"),
            4 => write!(f, "whole-key+prefix:{param}"),
            5 => {
                let (delimiter, levels) = (param & 0xff, param >> 8);
                match u8::try_from(delimiter).ok().filter(|byte| byte.is_ascii_graphic() && !b",:".contains(byte)) {
                    Some(byte) => write!(f, "delimited:{}", char::from(byte))?,
                    None => write!(f, "delimited:{delimiter:#04x}")?,
                }
                if levels == 255 { Ok(()) } else { write!(f, ":{levels}") }
            }
            _ => write!(f, "custom:{id}:{param}"),
        }
    }
}
