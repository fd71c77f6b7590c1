//! How key transforms are written in text.

use core::fmt;

/// A transform by what is stored of it.
pub(crate) struct TransformName {
    pub(crate) id: u8,
    pub(crate) param: u16,
}

impl fmt::Display for TransformName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, param } = self;
        match id {
            0 => f.write_str("whole-key"),
            1 => f.write_str("row"),
            2 => f.write_str("row+column"),
            3 => write!(f, "prefix:{param}"),
            4 => write!(f, "whole-key+prefix:{param}"),
            _ => write!(f, "custom:{id}:{param}"),
        }
    }
}
