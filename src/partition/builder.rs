//! The writer's side: entries in order, partitions out, an index at the end.

use super::error::PartitionBuildError;
use super::index::Tag;
use super::limit::PartitionLimit;
use super::order;
use super::writer::{Open, Writer};
use crate::error::BuildError;
use crate::frame::OpenOptions;
use crate::hash::KeyHash;
use crate::keys::FilterBlockBuilder;
use crate::{
    hash::{EntryHasher, KeyTransform},
    keys::policy::FilterPolicy,
};
use core::{fmt, mem};
use std::vec::Vec;

/// Turns the keys of one table, in order, into the partitions of a filter and an index.
///
/// It keeps one partition in memory (8 bytes an entry, and its block), and 16 bytes and a separator for each of the
/// others.
///
/// The calls that add take a function that stores a finished partition and returns its offset, which the index keeps
/// for the reader; offsets must ascend. It is called for at most one partition a call. After an error the filter is
/// incomplete, and every call fails.
///
/// The same entries in the same order, policy, limit and context give the same partitions and, stored at the same
/// offsets, the same index.
pub struct PartitionedFilterBuilder {
    writer: Writer<Partition>,
    num_without_entry: u64,
    /// An order key, kept for its memory.
    order_key: Vec<u8>,
    allows_empty: bool,
}

/// The open partition.
struct Partition {
    filter: FilterBlockBuilder,
    /// The two entries that were added last, the later one first. If keys alternate with a prefix that they share, these
    /// are the last key and that prefix.
    recent: [Option<KeyHash>; 2],
}

impl Partition {
    #[inline]
    fn add(&mut self, hash: KeyHash) {
        let [last, before] = self.recent;
        if last != Some(hash) {
            if before != Some(hash) {
                self.filter.add_hash(hash);
            }
            self.recent = [Some(hash), last];
        }
    }
}

impl Open for Partition {
    const TAG: Tag = Tag::Keys;

    #[inline]
    fn num_added(&self) -> u64 {
        self.filter.num_added()
    }

    fn close_into(&mut self, context: u64, block: &mut Vec<u8>) -> Result<u64, BuildError> {
        self.filter.set_context(context).finish_into(block)?;
        self.recent = [None; 2];
        let entries = self.filter.policy().entry_hasher();
        let options = OpenOptions::new().with_context(context).expect(entries).with_digest_check(false);
        Ok(options.open(block).map_or(0, |reader| reader.num_entries()))
    }
}

impl PartitionedFilterBuilder {
    /// Returns an empty builder. Each partition gets the size that `policy` gives to a block of its number of entries.
    /// An [automatic](FilterPolicy::auto) policy chooses one kind for all partitions, that of a full one: its number of
    /// queries is that of one partition, unless it equals the number of entries.
    ///
    /// # Errors
    /// [`BuildError::CappedPartitions`] for a policy with a byte cap or a fixed shape, [`BuildError::Setting`] for a limit
    /// out of its range.
    pub fn new(policy: &FilterPolicy, limit: PartitionLimit) -> Result<Self, BuildError> {
        let policy = limit.with_kind(policy)?;
        let partition = Partition { filter: FilterBlockBuilder::new(&policy), recent: [None; 2] };
        Ok(Self {
            writer: Writer::new(partition, limit.max_entries(&policy)?),
            num_without_entry: 0,
            order_key: Vec::new(),
            allows_empty: false,
        })
    }

    /// Binds index and partitions to `context`, say the number of a file: a reader must name the same one. It is 0
    /// unless set.
    ///
    /// It must be set before the first partition is closed. Another context after that is an error of every later call,
    /// [`LateContext`](PartitionBuildError::LateContext).
    pub fn set_context(&mut self, context: u64) -> &mut Self {
        self.writer.set_context(context);
        self
    }

    /// Sets whether large partitions are built on all cores, with the feature `rayon` and for the kinds that
    /// [`FilterBlockBuilder::set_parallel`] lists. The bytes are the same. It is off unless set.
    pub fn set_parallel(&mut self, parallel: bool) -> &mut Self {
        self.writer.open.filter.set_parallel(parallel);
        self
    }

    /// Permits a filter without entries, for a table without keys. Without this call a builder that received nothing
    /// refuses to finish, because such a filter denies every key.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.allows_empty = true;
        self
    }

    /// Adds a key that is one byte string. A key without an entry is counted and not added: it needs none, as the
    /// answer for it is *maybe*. A key equal to the one before is ignored.
    ///
    /// # Errors
    /// [`PartitionBuildError`]; [`Unordered`](PartitionBuildError::Unordered) if the key's entry is below the one
    /// before, [`Transform`](PartitionBuildError::Transform) if entries are made of pairs or by the engine.
    pub fn add_key<E>(
        &mut self,
        key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        let transform = self.entries().transform();
        if matches!(transform, KeyTransform::Row | KeyTransform::RowColumn | KeyTransform::Custom(_)) {
            return self.writer.fail(PartitionBuildError::Transform { transform });
        }
        match order::of_key(transform, key) {
            Some(order_key) => self.add(order_key, self.entries().hash_entries(key), store),
            None => {
                self.writer.check()?;
                self.num_without_entry += 1;
                Ok(())
            }
        }
    }

    /// Adds a row, if entries are rows.
    ///
    /// # Errors
    /// The errors of [`PartitionedFilterBuilder::add_key`].
    pub fn add_row<E>(
        &mut self,
        row: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        match self.entries().hash_row(row) {
            Some(hash) => self.add(row, [hash], store),
            None => self.writer.fail(PartitionBuildError::Transform { transform: self.entries().transform() }),
        }
    }

    /// Adds a (row, column) pair if entries are pairs, or its row if they are rows. The order is by row, then
    /// by column.
    ///
    /// ```
    /// use filterblock::partition::{PartitionBuildError, PartitionLimit, PartitionedFilterBuilder};
    /// use filterblock::{FilterKind, FilterPolicy, KeyTransform};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Golomb, 10.0)?.with_transform(KeyTransform::RowColumn);
    /// let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::default())?;
    /// let store = |_: &[u8]| Ok::<_, std::io::Error>(0); // not called before a partition is full
    /// builder.add_row_column(b"a", b"z", store)?;
    /// builder.add_row_column(b"ab", b"a", store)?;
    /// let error = builder.add_row_column(b"a", b"bb", store).unwrap_err();
    /// assert!(matches!(error, PartitionBuildError::Unordered { num_added: 2 }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`PartitionedFilterBuilder::add_key`].
    pub fn add_row_column<E>(
        &mut self,
        row: &[u8],
        column: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        if self.entries().transform() != KeyTransform::RowColumn {
            return self.add_row(row, store);
        }
        let mut order_key = mem::take(&mut self.order_key);
        order::row_column_order_key(row, column, &mut order_key);
        let added = self.add(&order_key, self.entries().hash_row_column(row, column), store);
        self.order_key = order_key;
        added
    }

    /// Adds an entry of an engine's own transform at an order key, which must not be below the one before. All entries
    /// of one order key are added to the same partition.
    ///
    /// ```
    /// use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
    /// use filterblock::{CustomTransform, FilterKind, FilterPolicy, KeyTransform, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Whole keys, and what precedes their first slash.
    /// let transform = KeyTransform::Custom(CustomTransform::new(130, 0)?);
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_transform(transform);
    /// let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::default())?;
    /// let mut file = Vec::new();
    /// let mut store = |block: &[u8]| {
    ///     file.extend_from_slice(block);
    ///     Ok::<_, std::io::Error>((file.len() - block.len()) as u64)
    /// };
    /// for key in ["com.example/a", "com.example/b", "org.example/"] {
    ///     let domain = key.split('/').next().unwrap_or(key);
    ///     builder.add_entry(key.as_bytes(), domain.as_bytes(), &mut store)?;
    ///     builder.add_entry(key.as_bytes(), key.as_bytes(), &mut store)?;
    /// }
    /// let filter = PartitionedFilter::open(builder.finish(&mut store)?, OpenOptions::new().expect(&policy))?;
    /// let load = |partition: PartitionHandle| {
    ///     Ok::<_, std::io::Error>(&file[partition.offset as usize..][..partition.len as usize])
    /// };
    /// assert!(filter.may_contain_entry(b"com.example/b", b"com.example/b", load)?);
    /// assert!(filter.may_contain_entry(b"com.example", b"com.example", load)?); // a prefix of the keys
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`PartitionedFilterBuilder::add_key`].
    pub fn add_entry<E>(
        &mut self,
        order_key: &[u8],
        entry: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        match self.entries().transform() {
            KeyTransform::Custom(_) => self.add(order_key, [self.entries().hasher().hash(entry)], store),
            transform => self.writer.fail(PartitionBuildError::Transform { transform }),
        }
    }

    fn add<E>(
        &mut self,
        order_key: &[u8],
        hashes: impl IntoIterator<Item = KeyHash>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        self.writer.advance(order_key, store)?;
        hashes.into_iter().for_each(|hash| self.writer.open.add(hash));
        Ok(())
    }

    /// Stores the last partition and returns the index, to be stored by the caller. The index of a table without keys
    /// ([`allow_empty`](PartitionedFilterBuilder::allow_empty)), or of keys none of which has an entry, has no
    /// partitions, and answers *no* to every key that could have an entry.
    ///
    /// # Errors
    /// [`PartitionBuildError::Empty`] if nothing was added, and the errors of [`PartitionedFilterBuilder::add_key`].
    pub fn finish<E>(mut self, store: impl FnOnce(&[u8]) -> Result<u64, E>) -> Result<Vec<u8>, PartitionBuildError<E>> {
        self.writer.check()?;
        if self.writer.num_added == 0 && self.num_without_entry == 0 && !self.allows_empty {
            return Err(PartitionBuildError::Empty);
        }
        let entries = self.entries().clone();
        self.writer.finish(&entries, store)
    }

    /// Returns the number of partitions closed so far.
    pub fn num_partitions(&self) -> u32 {
        self.writer.num_partitions()
    }

    /// Returns the number of entries added so far. Equal neighbours count once, and in closed partitions all equal
    /// entries do.
    pub fn num_added(&self) -> u64 {
        self.writer.num_entries()
    }

    /// Returns the number of keys added so far that have no entry under the policy's transform. If it is above 0 and
    /// [`num_added`](PartitionedFilterBuilder::num_added) is 0, the filter will have no entries: it is right, but the
    /// transform does not suit the table's keys.
    pub fn num_without_entry(&self) -> u64 {
        self.num_without_entry
    }

    /// The policy.
    pub fn policy(&self) -> &FilterPolicy {
        self.writer.open.filter.policy()
    }

    fn entries(&self) -> &EntryHasher {
        self.policy().entry_hasher()
    }
}

impl fmt::Debug for PartitionedFilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedFilterBuilder")
            .field("policy", self.policy())
            .field("num_partitions", &self.num_partitions())
            .field("num_added", &self.writer.num_added)
            .finish_non_exhaustive()
    }
}
