//! From a table's keys to a filter's entries.

use crate::error::{BuildError, DecodeError};

/// How a filter's entries are derived from keys. Stored in the block, and compared by readers that state what they
/// expect: a filter of rows that is queried for whole keys would answer *no* for keys that are present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum KeyTransform {
    /// The key as it is.
    #[default]
    WholeKey,
    /// The row of a (row, column) key.
    Row,
    /// Row and column, as [`KeyTransform::row_column_entry`] joins them.
    RowColumn,
    /// The first `len` bytes of the key; shorter keys have no entry, so their tables must be read.
    FixedPrefix {
        /// Length of the prefix in bytes.
        len: u16,
    },
    /// The embedding engine's own transform.
    Custom(CustomTransform),
}

/// Id and parameter of an engine's own transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomTransform {
    id: u8,
    param: u16,
}

impl CustomTransform {
    /// A transform that the engine identifies by `id`, 128 to 255, and `param`, which may have any meaning.
    ///
    /// ```
    /// use filterblock::CustomTransform;
    /// assert_eq!(CustomTransform::new(200, 7)?.id(), 200);
    /// assert!(CustomTransform::new(5, 7).is_err());
    /// # Ok::<(), filterblock::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::Setting`] if `id` is below 128: those ids belong to the format.
    pub const fn new(id: u8, param: u16) -> Result<Self, BuildError> {
        if id < 128 {
            return Err(BuildError::Setting { name: "transform id", asked: id as u64, min: 128, max: 255 });
        }
        Ok(Self { id, param })
    }

    /// The id, 128 to 255.
    pub const fn id(self) -> u8 {
        self.id
    }

    /// The parameter, of the engine's own meaning.
    pub const fn param(self) -> u16 {
        self.param
    }
}

impl KeyTransform {
    /// Id and parameter as stored in a block.
    pub const fn to_wire(self) -> (u8, u16) {
        match self {
            Self::WholeKey => (0, 0),
            Self::Row => (1, 0),
            Self::RowColumn => (2, 0),
            Self::FixedPrefix { len } => (3, len),
            Self::Custom(custom) => (custom.id, custom.param),
        }
    }

    pub(crate) const fn from_wire(id: u8, param: u16) -> Result<Self, DecodeError> {
        Ok(match (id, param) {
            (0, 0) => Self::WholeKey,
            (1, 0) => Self::Row,
            (2, 0) => Self::RowColumn,
            (0..=2, _) => {
                let (low, high) = ((param & 0xff) as u8, (param >> 8) as u8);
                let (offset_bytes, found) = if low != 0 { (14, low) } else { (15, high) };
                return Err(DecodeError::Reserved { offset_bytes, found });
            }
            (3, len) => Self::FixedPrefix { len },
            (4..=127, _) => return Err(DecodeError::UnknownTransform { found: id }),
            (128.., param) => Self::Custom(CustomTransform { id, param }),
        })
    }

    /// The entry under which a key is added and queried (where entries are rows, `key` is the row). `None` if the key
    /// alone does not determine the entry, or is shorter than the prefix: such a key has no entry, and the answer for
    /// it is *maybe*.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// let transform = KeyTransform::FixedPrefix { len: 3 };
    /// assert_eq!(transform.entry_of(b"user42"), Some(&b"use"[..]));
    /// assert_eq!(transform.entry_of(b"us"), None);
    /// ```
    pub fn entry_of(self, key: &[u8]) -> Option<&[u8]> {
        match self {
            Self::WholeKey | Self::Row => Some(key),
            Self::FixedPrefix { len } => key.get(..usize::from(len)),
            Self::RowColumn | Self::Custom(_) => None,
        }
    }

    /// Replaces the contents of `entry` by the [`KeyTransform::RowColumn`] entry of a cell: row, column, and the row's
    /// length as a little-endian 32-bit integer (modulo 2³²), so that no two cells of rows below 4 GiB share an entry.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// let mut entry = Vec::new();
    /// KeyTransform::row_column_entry(b"com.example", b"title", &mut entry);
    /// assert_eq!(entry, b"com.exampletitle\x0b\0\0\0");
    /// ```
    #[cfg(feature = "std")]
    pub fn row_column_entry(row: &[u8], column: &[u8], entry: &mut std::vec::Vec<u8>) {
        entry.clear();
        entry.extend_from_slice(row);
        entry.extend_from_slice(column);
        let len = entry.len();
        entry.resize(len + 4, 0);
        crate::bytes::put_u32(entry, len, row.len() as u32);
    }
}

impl core::fmt::Display for KeyTransform {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::WholeKey => f.write_str("whole-key"),
            Self::Row => f.write_str("row"),
            Self::RowColumn => f.write_str("row+column"),
            Self::FixedPrefix { len } => write!(f, "prefix:{len}"),
            Self::Custom(custom) => write!(f, "custom:{}:{}", custom.id, custom.param),
        }
    }
}
