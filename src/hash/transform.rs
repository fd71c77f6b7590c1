//! Transforms of a table's keys to a filter's entries.
//!
//! # Directories
//!
//! A scan of all keys that begin with P may be denied by a filter of prefixes only if every such key has the prefix that
//! is queried as an entry. Fixed lengths have this property, and so has the prefix up to the n-th delimiter. The prefix
//! up to the *last* delimiter has not: the key `a/b/c` would have the entry `a/b/` alone, and a scan of `a/` that is
//! answered by the entry `a/` would miss it. So [`KeyTransform::DelimitedPrefix`] makes an entry of each prefix that ends
//! with one of the first n delimiters, and a query takes the longest one of P: each key that begins with P has it,
//! whether P ends with the delimiter or not. If P has no delimiter, there is none, and the answer is *maybe*.
//!
//! The entries above the last level cost little, as a directory has more than one child: the demo's six tables hold
//! 200 000 rows in 109 206 directories of the last level, counted by table, and 27 659 above these. At 10 bits an entry
//! that is 6.8 bits a row in place of 5.5, and a scan of a whole host is answered, too.

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
    /// The prefixes of the key that end with one of its first `levels` delimiters, as a path has its directories: under
    /// `/` and 2, `a/b/c/d` has the entries `a/` and `a/b/`. Queries have the longest of them; keys without a delimiter
    /// have none, so their tables must be read. A key has up to `levels` entries, each of which is hashed.
    ///
    /// Scans of any prefix are answered by its longest such prefix. A delimiter is one byte, and is not escaped: the
    /// answers are right whatever the bytes of keys mean, and precise if the delimiter separates what scans begin with.
    DelimitedPrefix {
        /// The byte that ends the prefixes.
        delimiter: u8,
        /// The greatest number of delimiters in a prefix. With 0 no key has an entry and every query passes: blocks that
        /// have it are read, and a policy's text is refused.
        levels: u8,
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
            Self::DelimitedPrefix { delimiter, levels } => (5, delimiter as u16 | (levels as u16) << 8),
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
            (5, param) => Self::DelimitedPrefix { delimiter: (param & 0xff) as u8, levels: (param >> 8) as u8 },
            (6..=127, _) => return Err(DecodeError::UnknownTransform { found: id }),
            (128.., param) => Self::Custom(CustomTransform { id, param }),
        })
    }

    /// Returns the entry that answers for a key which is one byte string, or `None` if it has none because it is
    /// shorter than the prefix, lacks a delimiter, or entries are made of two-part keys or by an engine's code. A key may
    /// have more entries: see [`EntryHasher::hash_entries`](crate::EntryHasher::hash_entries).
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// let transform = KeyTransform::FixedPrefix { len: 3 };
    /// assert_eq!(transform.entry_of(b"user42"), Some(&b"use"[..]));
    /// assert_eq!(transform.entry_of(b"us"), None);
    /// let directories: KeyTransform = "delimited:/:2".parse()?;
    /// assert_eq!(directories.entry_of(b"a/b/c/d"), Some(&b"a/b/"[..]));
    /// assert_eq!(directories.entry_of(b"a/b"), Some(&b"a/"[..]));
    /// assert_eq!(directories.entry_of(b"a"), None);
    /// # Ok::<(), filterblock::ParsePolicyError>(())
    /// ```
    pub fn entry_of(self, key: &[u8]) -> Option<&[u8]> {
        match self {
            Self::WholeKey | Self::WholeKeyAndPrefix { .. } => Some(key),
            Self::FixedPrefix { .. } | Self::DelimitedPrefix { .. } => self.prefix_of(key),
            Self::Row | Self::RowColumn | Self::Custom(_) => None,
        }
    }

    /// Returns the entry that answers whether the table may contain a key with the prefix of `key`, or `None` if
    /// prefixes are not entries, or `key` is shorter than them.
    pub(crate) fn prefix_of(self, key: &[u8]) -> Option<&[u8]> {
        match self {
            Self::FixedPrefix { len } | Self::WholeKeyAndPrefix { len } => key.get(..len.into()),
            Self::DelimitedPrefix { delimiter, levels } => delimited(key, delimiter, levels).last(),
            _ => None,
        }
    }

    /// Returns the entries of a key that are its prefixes, the shortest first: those that answer for scans.
    ///
    /// ```
    /// let directories: filterblock::KeyTransform = "delimited:/".parse()?;
    /// assert!(directories.prefixes_of(b"a/b/c").eq([&b"a/"[..], b"a/b/"]));
    /// # Ok::<(), filterblock::ParsePolicyError>(())
    /// ```
    pub fn prefixes_of(self, key: &[u8]) -> impl Iterator<Item = &[u8]> {
        let (fixed, delimiter, levels) = match self {
            Self::DelimitedPrefix { delimiter, levels } => (None, delimiter, levels),
            _ => (self.prefix_of(key), 0, 0),
        };
        fixed.into_iter().chain(delimited(key, delimiter, levels))
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

/// Returns the prefixes of a key that end with one of its first `levels` delimiters.
fn delimited(key: &[u8], delimiter: u8, levels: u8) -> impl Iterator<Item = &[u8]> {
    let ends = key.iter().zip(1..).filter(move |&(&byte, _)| byte == delimiter).take(levels.into());
    ends.map(|(_, end)| &key[..end])
}

impl core::fmt::Display for KeyTransform {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.to_wire().fmt(f)
    }
}
