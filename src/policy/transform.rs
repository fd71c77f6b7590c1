//! From a table's keys to a filter's entries.

use crate::error::{BuildError, DecodeError};
use crate::transform_name::TransformName;

/// How a filter's entries are derived from keys. Stored in the block, and compared by readers that state what they
/// expect: a filter of rows that is queried for whole keys would answer *no* for keys that are present.
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
    /// Row and column, as [`KeyTransform::row_column_entry`] joins them.
    RowColumn,
    /// The first `len` bytes of the key; shorter keys have no entry, so their tables must be read.
    FixedPrefix {
        /// Length of the prefix in bytes.
        len: u16,
    },
    /// The key as it is and, as a second entry, its first `len` bytes, if it has as many: one filter for queries by key
    /// and by prefix.
    WholeKeyAndPrefix {
        /// Length of the prefix in bytes.
        len: u16,
    },
    /// The embedding engine's own transform.
    Custom(CustomTransform),
}

/// From a key, and the parameter of the transform, to the bytes of the key that are its entry; `None` if it has none.
pub type EntryOf = fn(key: &[u8], param: u16) -> Option<&[u8]>;

/// An engine's own transform: id and parameter, and the code that applies it, if the library is to do so. Transforms of
/// equal id and parameter are equal.
#[derive(Clone, Copy)]
pub struct CustomTransform {
    id: u8,
    param: u16,
    entry_of: Option<EntryOf>,
}

impl CustomTransform {
    /// A transform that the engine identifies by `id`, 128 to 255, and `param`, which may have any meaning. Without
    /// [code](CustomTransform::applied_by) the library knows no key's entry: the engine passes entries or hashes, a
    /// builder that is given keys refuses to finish, and the answer to every key is *maybe*.
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
        Ok(Self { id, param, entry_of: None })
    }

    /// The same transform, applied by `entry_of` wherever a key is given. To have it applied by a reader, too, state it
    /// as what [is expected](crate::OpenOptions::expect_transform): a block stores no code.
    ///
    /// ```
    /// use filterblock::{CustomTransform, FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// /// The bytes before the last `param` bytes, a version number.
    /// fn user_key(key: &[u8], param: u16) -> Option<&[u8]> {
    ///     key.get(..key.len().checked_sub(param.into())?)
    /// }
    /// let transform = KeyTransform::Custom(CustomTransform::new(200, 8)?.applied_by(user_key));
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.transform(transform);
    /// let mut builder = FilterBlockBuilder::new(policy);
    /// builder.add_key(b"apple.version1");
    /// let block = builder.finish()?;
    ///
    /// let filter = OpenOptions::new().expect_transform(transform).open(&block)?;
    /// assert!(filter.may_contain(b"apple.version9"));
    /// assert!(filter.may_contain(b"short"), "a key without an entry");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn applied_by(mut self, entry_of: EntryOf) -> Self {
        self.entry_of = Some(entry_of);
        self
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

impl PartialEq for CustomTransform {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.param) == (other.id, other.param)
    }
}

impl Eq for CustomTransform {}

impl core::hash::Hash for CustomTransform {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (self.id, self.param).hash(state);
    }
}

impl core::fmt::Debug for CustomTransform {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (Self { id, param, .. }, applied) = (self, self.entry_of.is_some());
        f.debug_struct("CustomTransform").field("id", id).field("param", param).field("applied", &applied).finish()
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
            Self::WholeKeyAndPrefix { len } => (4, len),
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
            (4, len) => Self::WholeKeyAndPrefix { len },
            (5..=127, _) => return Err(DecodeError::UnknownTransform { found: id }),
            (128.., param) => Self::Custom(CustomTransform { id, param, entry_of: None }),
        })
    }

    /// The entry that answers for a key which is one byte string; `None` if it has none, as it is shorter than the
    /// prefix, as entries are made of two-part keys, or as the engine's own transform was given without code. The
    /// answer for such a key is *maybe*.
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
            Self::Custom(custom) => custom.entry_of.and_then(|entry_of| entry_of(key, custom.param)),
            Self::Row | Self::RowColumn => None,
        }
    }

    /// The entry that answers whether the table may contain a key with the prefix that `key` begins with; `None` if
    /// prefixes are no entries, or `key` is shorter than them.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// let transform = KeyTransform::WholeKeyAndPrefix { len: 3 };
    /// assert_eq!(transform.prefix_of(b"user42"), Some(&b"use"[..]));
    /// assert_eq!(transform.prefix_of(b"us"), None);
    /// assert_eq!(KeyTransform::WholeKey.prefix_of(b"user42"), None);
    /// ```
    pub fn prefix_of(self, key: &[u8]) -> Option<&[u8]> {
        match self {
            Self::FixedPrefix { len } | Self::WholeKeyAndPrefix { len } => key.get(..usize::from(len)),
            _ => None,
        }
    }

    /// Whether keys have entries, but the code that makes them was not given.
    #[cfg(feature = "std")]
    pub(crate) fn lacks_code(self) -> bool {
        matches!(self, Self::Custom(custom) if custom.entry_of.is_none())
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
        let (id, param) = self.to_wire();
        TransformName { id, param }.fmt(f)
    }
}
