//! The path from a key to the hash of its entry.

use super::{CustomTransform, KeyHash, KeyHasher, KeyTransform, XXH3_ID};
use crate::query::Query;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// The code of an engine's own transform.
type EntryOf = dyn Fn(&[u8], &mut dyn FnMut(&[u8])) + Send + Sync + UnwindSafe + RefUnwindSafe;

#[cfg(feature = "std")]
type Code = std::sync::Arc<EntryOf>;
#[cfg(not(feature = "std"))]
type Code = &'static EntryOf;

/// A hasher and a transform, which together make the hash of an entry from a key.
///
/// It is for engines that hash once and probe many tables, all of one policy. `None` means that the key has no entry
/// under the transform, and that the answer of every such table is *maybe*.
///
/// ```
/// use filterblock::{EntryHasher, KeyHasher, KeyTransform, Query};
///
/// let rows = EntryHasher::new(KeyHasher::new(7), KeyTransform::Row);
/// assert_eq!(rows.hash_query(Query::Row(b"row")), Some(KeyHasher::new(7).hash(b"row")));
/// assert_eq!(rows.hash_query(Query::Cell(b"row", b"column")), rows.hash_query(Query::Row(b"row")));
/// assert_eq!(rows.hash_key(b"row"), None);
/// ```
/// A builder needs all [entries](EntryHasher::hash_entries) of a key, a filter only the one of the lookup.
// Not `Copy`: it may hold a secret.
#[derive(Clone)]
pub struct EntryHasher {
    hasher: KeyHasher,
    transform: KeyTransform,
    /// The code of a custom transform.
    code: Option<Code>,
    /// Whether entries are whole keys hashed by XXH3, which a query decides by one comparison.
    is_plain: bool,
}

impl EntryHasher {
    /// Returns a hasher of the entries of `transform`, hashed by `hasher`.
    pub const fn new(hasher: KeyHasher, transform: KeyTransform) -> Self {
        let is_plain = matches!(transform, KeyTransform::WholeKey) && hasher.hash_id() == XXH3_ID;
        Self { hasher, transform, code: None, is_plain }
    }

    /// Returns the same hasher with an engine's own transform and its code, which is applied to every key. The code is
    /// called with a key and with a function, to which it passes the key's entry; for a key that has no entry it returns
    /// without calling it. The first of several entries counts.
    ///
    /// The code may hold state, and the entry need not be a part of the key. The same key must always have the same
    /// entry.
    ///
    /// Without the feature `std` this takes a `&'static` reference to the code.
    ///
    /// ```
    /// use filterblock::{CustomTransform, EntryHasher, KeyHasher, KeyTransform};
    ///
    /// let hasher = EntryHasher::new(KeyHasher::new(7), KeyTransform::WholeKey);
    /// let caseless = hasher.with_custom_transform(CustomTransform::new(200, 0)?, |key, take| {
    ///     take(&key.to_ascii_lowercase());
    /// });
    /// assert_eq!(caseless.hash_key(b"Key"), caseless.hash_key(b"KEY"));
    /// # Ok::<(), filterblock::BuildError>(())
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_custom_transform<F>(self, transform: CustomTransform, entry_of: F) -> Self
    where
        F: Fn(&[u8], &mut dyn FnMut(&[u8])) + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    {
        self.with_code(transform, std::sync::Arc::new(entry_of))
    }

    /// Returns the same hasher with an engine's own transform and its code, which is applied to every key.
    #[cfg(not(feature = "std"))]
    #[must_use]
    pub fn with_custom_transform(self, transform: CustomTransform, entry_of: &'static EntryOf) -> Self {
        self.with_code(transform, entry_of)
    }

    /// Returns the same transform under another hasher.
    pub(crate) fn with_hasher(self, hasher: KeyHasher) -> Self {
        Self { code: self.code, ..Self::new(hasher, self.transform) }
    }

    /// Returns another transform, without code, under the same hasher.
    pub(crate) fn with_transform(self, transform: KeyTransform) -> Self {
        Self::new(self.hasher, transform)
    }

    fn with_code(self, transform: CustomTransform, code: Code) -> Self {
        Self { code: Some(code), ..Self::new(self.hasher, KeyTransform::Custom(transform)) }
    }

    /// Returns the hasher of entries.
    #[inline]
    pub const fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Returns the transform that makes entries from keys.
    #[inline]
    pub const fn transform(&self) -> KeyTransform {
        self.transform
    }

    /// Returns the hash of `key`, if the key is the entry itself and hashed by XXH3.
    #[inline(always)]
    pub(crate) fn hash_plain(&self, key: &[u8]) -> Option<KeyHash> {
        self.is_plain.then(|| self.hasher.hash_unkeyed(key).of_form(|| KeyTransform::WholeKey.to_wire()))
    }

    /// Checks, in debug builds only, that `hash` was not made by another hasher or transform.
    ///
    /// # Panics
    /// If it was: a defect of the caller, which in a release build would deny keys that are stored.
    #[inline(always)]
    pub(crate) fn check_made(&self, hash: KeyHash) {
        self.hasher.check_made(hash, || self.transform.forms());
    }

    /// Returns whether keys have entries, but the code that makes them was not given.
    pub(crate) fn lacks_code(&self) -> bool {
        matches!(self.transform, KeyTransform::Custom(_)) && self.code.is_none()
    }

    /// Returns the hashes of all entries of a key that is one byte string, for a builder: none, one, or under
    /// [`KeyTransform::WholeKeyAndPrefix`] up to two, the key and its prefix, and under
    /// [`KeyTransform::DelimitedPrefix`] up to as many as it has levels. A filter that lacks one of them denies a stored
    /// key, or its prefix.
    ///
    /// There is also none if keys of one part have no entry at all (rows, rows with columns), and under an engine's own
    /// transform without code: a filter of such hashes would be empty, and deny the rows, or the entries that the
    /// engine knows. There, hash these: what
    /// [`hash_query`](EntryHasher::hash_query) and [`KeyHasher::hash`] take.
    /// [`FilterBlockBuilder::add_key`](crate::FilterBlockBuilder::add_key) refuses to finish instead.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?
    ///     .with_transform(KeyTransform::WholeKeyAndPrefix { len: 4 });
    /// let entries = policy.entry_hasher();
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// entries.hash_entries(b"user7").for_each(|hash| builder.add_hash(hash));
    /// assert_eq!(builder.num_added(), 2);
    /// let block = builder.finish()?;
    /// let filter = OpenOptions::new().expect(&policy).open(&block)?;
    /// assert!(filter.may_contain(b"user7") && filter.may_contain_prefix(b"user"));
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn hash_entries<'k>(&self, key: &'k [u8]) -> impl Iterator<Item = KeyHash> + use<'k> {
        let directories = match self.transform {
            KeyTransform::DelimitedPrefix { .. } => Some(self.hash_directories(key)),
            _ => None,
        };
        let others = if directories.is_some() { None } else { Some(self.hash_key_and_prefix(key)) };
        others.into_iter().flatten().chain(directories.into_iter().flatten())
    }

    /// Returns the hashes of a key's entries: of the key, of its prefix. Under a delimited prefix there may be more.
    #[inline]
    pub(crate) fn hash_key_and_prefix(&self, key: &[u8]) -> impl Iterator<Item = KeyHash> + use<> {
        let prefix = match self.transform {
            KeyTransform::WholeKeyAndPrefix { .. } => self.hash_prefix(key),
            _ => None,
        };
        self.hash_key(key).into_iter().chain(prefix)
    }

    /// Returns the hashes of a key's delimited prefixes.
    pub(crate) fn hash_directories<'k>(&self, key: &'k [u8]) -> impl Iterator<Item = KeyHash> + use<'k> {
        let (hasher, transform) = (self.hasher.clone(), self.transform);
        transform.prefixes_of(key).map(move |prefix| hasher.hash(prefix).of_form(|| transform.to_wire()))
    }

    /// Returns the hash of the entry that answers for a key which is one byte string. A builder may need more: see
    /// [`EntryHasher::hash_entries`].
    #[inline]
    pub fn hash_key(&self, key: &[u8]) -> Option<KeyHash> {
        match self.transform {
            KeyTransform::WholeKey | KeyTransform::WholeKeyAndPrefix { .. } => {
                Some(self.hash_form(key, KeyTransform::WholeKey))
            }
            KeyTransform::Custom(_) => self.hash_by_code(key),
            _ => self.hash_prefix(key),
        }
    }

    /// Returns the hash of the entry that answers a query; `None` if it has none, and is *maybe* for every filter of this
    /// transform.
    ///
    /// ```
    /// use filterblock::{EntryHasher, KeyHasher, KeyTransform, Query};
    /// let cells = EntryHasher::new(KeyHasher::new(7), KeyTransform::RowColumn);
    /// assert!(cells.hash_query(Query::Cell(b"row", b"column")).is_some());
    /// assert_eq!(cells.hash_query(Query::Row(b"row")), None);
    /// ```
    #[inline]
    pub fn hash_query(&self, query: Query<'_>) -> Option<KeyHash> {
        match query {
            Query::Key(key) => self.hash_key(key),
            Query::Prefix(key) => self.hash_prefix(key),
            Query::Row(row) => self.hash_row(row),
            Query::Cell(row, column) => self.hash_row_column(row, column),
            Query::Entry { entry, .. } => {
                matches!(self.transform, KeyTransform::Custom(_)).then(|| self.hasher.hash(entry))
            }
            Query::Range(..) => None,
        }
    }

    /// Returns the hash of the entry that answers for all keys with the prefix of `key` that the transform makes.
    #[inline]
    pub(crate) fn hash_prefix(&self, key: &[u8]) -> Option<KeyHash> {
        match self.transform {
            KeyTransform::FixedPrefix { len } | KeyTransform::WholeKeyAndPrefix { len } => {
                Some(self.hash_form(key.get(..usize::from(len))?, KeyTransform::FixedPrefix { len }))
            }
            KeyTransform::DelimitedPrefix { .. } => self.hash_directory(key),
            _ => None,
        }
    }

    /// [`EntryHasher::hash_prefix`] of a delimited prefix: a function of its own, as queries of other prefixes would save
    /// its registers, too.
    #[inline(never)]
    fn hash_directory(&self, key: &[u8]) -> Option<KeyHash> {
        Some(self.hash_form(self.transform.prefix_of(key)?, self.transform))
    }

    /// Returns the hash of the entry that answers for a row with any columns.
    #[inline]
    pub(crate) fn hash_row(&self, row: &[u8]) -> Option<KeyHash> {
        (self.transform == KeyTransform::Row).then(|| self.hash_form(row, KeyTransform::Row))
    }

    /// Returns the hash of the entry that answers for a key of a row and a column.
    #[inline]
    pub(crate) fn hash_row_column(&self, row: &[u8], column: &[u8]) -> Option<KeyHash> {
        match self.transform {
            KeyTransform::Row => self.hash_row(row),
            KeyTransform::RowColumn => {
                let hash = self.hasher.hash_row_column(row, column);
                Some(hash.of_form(|| KeyTransform::RowColumn.to_wire()))
            }
            _ => None,
        }
    }

    /// Returns the hash of an entry that `form`, a transform of one form of entries, has made.
    #[inline]
    fn hash_form(&self, entry: &[u8], form: KeyTransform) -> KeyHash {
        self.hasher.hash(entry).of_form(|| form.to_wire())
    }

    #[cold]
    fn hash_by_code(&self, key: &[u8]) -> Option<KeyHash> {
        let (code, mut hash) = (self.code.as_ref()?, None);
        code(key, &mut |entry| {
            hash.get_or_insert_with(|| self.hash_form(entry, self.transform));
        });
        hash
    }
}

/// Code is not compared: transforms of equal id and parameter are equal.
impl PartialEq for EntryHasher {
    fn eq(&self, other: &Self) -> bool {
        (&self.hasher, self.transform) == (&other.hasher, other.transform)
    }
}

impl Eq for EntryHasher {}

impl AsRef<Self> for EntryHasher {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for EntryHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hasher, transform, code, .. } = self;
        let mut out = f.debug_struct("EntryHasher");
        out.field("hasher", hasher).field("transform", transform).field("has_code", &code.is_some()).finish()
    }
}
