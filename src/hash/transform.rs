//! Transforms of a table's keys to a filter's entries.

use crate::error::{BuildError, DecodeError, TransformId};

/// The derivation of a filter's entries from keys. It is stored in the block, and compared by readers that state the
/// expected one: a filter of rows that is queried for whole keys would answer *no* for keys that are present.
///
/// A key either is one byte string, or has two parts, a row and a column. A filter has entries of one of these forms
/// only: for keys of the other form, and for keys too short for a prefix, it answers *maybe*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum KeyTransform {
    /// The key as it is.
    #[default]
    WholeKey,
    /// The row of a (row, column) key.
    Row,
    /// The row and the column, as [`KeyTransform::row_column_entry`] joins them.
    RowColumn,
    /// The first `len` bytes of the key; shorter keys have no entry, so their tables must be read.
    FixedPrefix {
        /// The length of the prefix in bytes. With 0 all keys have the same entry and every query passes: blocks that
        /// have it are read, and a policy's text is refused.
        len: u16,
    },
    /// The key as it is and, if it is long enough, its first `len` bytes as a second entry: one filter for queries by
    /// key and by prefix.
    WholeKeyAndPrefix {
        /// The length of the prefix in bytes.
        len: u16,
    },
    /// The embedding engine's own transform.
    Custom(CustomTransform),
}

/// The identity of an engine's own transform: id and parameter. The code that applies it is given to a policy
/// ([`FilterPolicy::with_custom_transform`](crate::FilterPolicy::with_custom_transform)), or to a reader
/// ([`EntryHasher::with_custom_transform`](crate::EntryHasher::with_custom_transform)): a block stores no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomTransform {
    id: u8,
    param: u16,
}

impl CustomTransform {
    /// Returns a transform that the engine identifies by `id`, 128 to 255, and `param`, which may have any meaning.
    /// Without code the library cannot make entries: the engine passes entries or hashes, a builder to which keys were
    /// added refuses to finish, and the answer for every key is *maybe*.
    ///
    /// ```
    /// use filterblock::CustomTransform;
    /// assert!(CustomTransform::new(200, 7).is_ok());
    /// assert!(CustomTransform::new(5, 7).is_err());
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
}

impl KeyTransform {
    /// Returns id and parameter as a block stores them.
    pub const fn to_wire(self) -> TransformId {
        let (id, param) = match self {
            Self::WholeKey => (0, 0),
            Self::Row => (1, 0),
            Self::RowColumn => (2, 0),
            Self::FixedPrefix { len } => (3, len),
            Self::WholeKeyAndPrefix { len } => (4, len),
            Self::Custom(custom) => (custom.id, custom.param),
        };
        TransformId { id, param }
    }

    /// Reads id and parameter; `param_at` is the offset of the parameter in the frame, for messages.
    pub(crate) const fn from_wire(id: u8, param: u16, param_at: u64) -> Result<Self, DecodeError> {
        Ok(match (id, param) {
            (0, 0) => Self::WholeKey,
            (1, 0) => Self::Row,
            (2, 0) => Self::RowColumn,
            (0..=2, _) => {
                let (low, high) = ((param & 0xff) as u8, (param >> 8) as u8);
                let (offset_bytes, found) = if low != 0 { (param_at, low) } else { (param_at + 1, high) };
                return Err(DecodeError::Reserved { offset_bytes, found });
            }
            (3, len) => Self::FixedPrefix { len },
            (4, len) => Self::WholeKeyAndPrefix { len },
            (5..=127, _) => return Err(DecodeError::UnknownTransform { found: id }),
            (128.., param) => Self::Custom(CustomTransform { id, param }),
        })
    }

    /// Returns the entry that answers for a key which is one byte string, or `None` if it has none because it is
    /// shorter than the prefix, or entries are made of two-part keys or by an engine's code.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// let transform = KeyTransform::FixedPrefix { len: 3 };
    /// assert_eq!(transform.entry_of(b"user42"), Some(&b"use"[..]));
    /// assert_eq!(transform.entry_of(b"us"), None);
    /// ```
    pub fn entry_of(self, key: &[u8]) -> Option<&[u8]> {
        match self {
            Self::WholeKey | Self::WholeKeyAndPrefix { .. } => Some(key),
            Self::FixedPrefix { .. } => self.prefix_of(key),
            Self::Row | Self::RowColumn | Self::Custom(_) => None,
        }
    }

    /// Returns the entry that answers whether the table may contain a key with the prefix of `key`, or `None` if
    /// prefixes are not entries, or `key` is shorter than them.
    pub(crate) fn prefix_of(self, key: &[u8]) -> Option<&[u8]> {
        key.get(..usize::from(self.prefix_len()?))
    }

    /// Returns the length of the prefixes that are entries.
    pub(crate) const fn prefix_len(self) -> Option<u16> {
        match self {
            Self::FixedPrefix { len } | Self::WholeKeyAndPrefix { len } => Some(len),
            _ => None,
        }
    }

    /// Returns the forms of its entries. The forms of whole keys and of prefixes are the same under every transform.
    pub(crate) const fn forms(self) -> [Option<TransformId>; 2] {
        match self {
            Self::WholeKeyAndPrefix { len } => {
                [Some(Self::WholeKey.to_wire()), Some(Self::FixedPrefix { len }.to_wire())]
            }
            _ => [Some(self.to_wire()), None],
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
        self.to_wire().fmt(f)
    }
}
