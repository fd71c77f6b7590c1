//! From a key to the hash of its entry.

use super::KeyTransform;
use crate::hash::{KeyHash, KeyHasher, XXH3_ID};

/// A hasher and a transform: what makes the hash of an entry from a key.
///
/// For engines that hash once and probe many tables, all of one policy. `None` means that the key has no entry under
/// the transform, and that the answer of every such table is *maybe*.
///
/// ```
/// use filterblock::{EntryHasher, KeyHasher, KeyTransform};
///
/// let rows = EntryHasher::new(KeyHasher::new(7), KeyTransform::Row);
/// assert_eq!(rows.hash_row(b"row"), Some(KeyHasher::new(7).hash(b"row")));
/// assert_eq!(rows.hash_row_column(b"row", b"column"), rows.hash_row(b"row"));
/// assert_eq!(rows.hash_key(b"row"), None);
/// ```
///
/// A builder takes all [entries](EntryHasher::hash_entries) of a key, a filter the one that a lookup is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHasher {
    hasher: KeyHasher,
    transform: KeyTransform,
    /// Whole keys, hashed by XXH3: what a query decides by one comparison.
    is_plain: bool,
}

impl EntryHasher {
    /// Of entries made by `transform`, hashed by `hasher`.
    pub const fn new(hasher: KeyHasher, transform: KeyTransform) -> Self {
        let is_plain = matches!(transform, KeyTransform::WholeKey) && hasher.hash_id() == XXH3_ID;
        Self { hasher, transform, is_plain }
    }

    /// The hasher of entries.
    #[inline]
    pub const fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// What the entries are made from.
    #[inline]
    pub const fn transform(&self) -> KeyTransform {
        self.transform
    }

    /// The hash of `key`, if it is the entry itself and hashed by XXH3.
    #[inline(always)]
    pub(crate) fn hash_plain(&self, key: &[u8]) -> Option<KeyHash> {
        self.is_plain.then(|| self.hasher.hash_unkeyed(key))
    }

    /// Of what the transform has made of a key. (The hasher is not copied: that takes as long as the hash.)
    #[inline]
    pub(crate) fn hash_entry(&self, entry: &[u8]) -> KeyHash {
        self.hasher.hash(entry)
    }

    /// All entries of a key that is one byte string, for a builder: none, one, or under
    /// [`KeyTransform::WholeKeyAndPrefix`] up to two, the key and its prefix. A filter that lacks one of them denies a
    /// stored key, or its prefix.
    ///
    /// None also where keys of one part have no entry at all (rows, rows with columns), and under an engine's own
    /// transform without code: a filter of such hashes would be empty, and deny the rows, or the entries that the
    /// engine knows. There, hash these: [`hash_row`](EntryHasher::hash_row),
    /// [`hash_row_column`](EntryHasher::hash_row_column), [`KeyHasher::hash`].
    /// [`FilterBlockBuilder::add_key`](crate::FilterBlockBuilder::add_key) refuses to finish instead.
    ///
    /// ```
    /// use filterblock::{EntryHasher, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyTransform};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?
    ///     .transform(KeyTransform::WholeKeyAndPrefix { len: 4 });
    /// let entries = policy.entry_hasher();
    /// let mut builder = FilterBlockBuilder::new(policy);
    /// entries.hash_entries(b"user7").for_each(|hash| builder.add_hash(hash));
    /// assert_eq!(builder.num_added(), 2);
    /// let block = builder.finish()?;
    /// let filter = FilterBlockReader::open(&block)?;
    /// assert!(filter.may_contain(b"user7") && filter.may_contain_prefix(b"user"));
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn hash_entries(&self, key: &[u8]) -> impl Iterator<Item = KeyHash> + use<> {
        let prefix = match self.transform {
            KeyTransform::WholeKeyAndPrefix { .. } => self.hash_prefix(key),
            _ => None,
        };
        self.hash_key(key).into_iter().chain(prefix)
    }

    /// The entry that answers for a key which is one byte string. Not all that a builder needs: see
    /// [`EntryHasher::hash_entries`].
    #[inline]
    pub fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        match self.transform {
            KeyTransform::WholeKey => Some(self.hasher.hash(key)),
            transform => transform.entry_of(key).map(|entry| self.hasher.hash(entry)),
        }
    }

    /// For all keys that have the prefix of `key`, of the transform's length.
    #[inline]
    pub fn hash_prefix(&self, key: &[u8]) -> Option<KeyHash> {
        self.transform.prefix_of(key).map(|entry| self.hasher.hash(entry))
    }

    /// For a row, whatever its columns.
    #[inline]
    pub fn hash_row(&self, row: &[u8]) -> Option<KeyHash> {
        (self.transform == KeyTransform::Row).then(|| self.hasher.hash(row))
    }

    /// For a key that consists of a row and a column.
    #[inline]
    pub fn hash_row_column(&self, row: &[u8], column: &[u8]) -> Option<KeyHash> {
        match self.transform {
            KeyTransform::Row => Some(self.hasher.hash(row)),
            KeyTransform::RowColumn => Some(self.hasher.hash_row_column(row, column)),
            _ => None,
        }
    }
}
