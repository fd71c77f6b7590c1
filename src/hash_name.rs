//! How hash functions are written in text.

use core::fmt;

/// A hash function by what is stored of it.
pub(crate) struct HashName {
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
