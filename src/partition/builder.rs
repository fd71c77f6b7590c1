//! The writer's side: entries in order, partitions out, an index at the end.

use super::error::PartitionBuildError;
use super::index::{self, Facts, Record};
use super::limit::PartitionLimit;
use super::order;
use crate::block::{FilterBlockBuilder, OpenOptions};
use crate::error::BuildError;
use crate::frame::HEADER_LEN;
use crate::hash::KeyHash;
use crate::policy::{EntryHasher, FilterPolicy, KeyTransform};
use core::cmp::Ordering;
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
    /// The builder of the open partition.
    filter: FilterBlockBuilder,
    max_entries: u64,
    context: u64,
    /// The context that was given after a partition had been closed under this one.
    has_late_context: bool,
    /// The last order key.
    last: Vec<u8>,
    /// The two entries that were added last to the open partition, the later one first. If keys alternate with a prefix
    /// that they share, these are the last key and that prefix.
    recent: [Option<KeyHash>; 2],
    /// The number of calls that added an entry.
    num_added: u64,
    num_without_entry: u64,
    /// A block and an order key, kept for their memory.
    block: Vec<u8>,
    order_key: Vec<u8>,
    /// The index of the closed partitions.
    records: Vec<u8>,
    separators: Vec<u8>,
    num_entries: u64,
    end_offset: u64,
    allows_empty: bool,
    has_failed: bool,
}

impl PartitionedFilterBuilder {
    /// Returns an empty builder. Each partition gets the size that `policy` gives to a block of its number of entries.
    /// An [automatic](FilterPolicy::auto) policy chooses one kind for all partitions, that of a full one: its number of
    /// queries is that of one partition, unless it equals the number of entries.
    ///
    /// # Errors
    /// [`BuildError::CappedPartitions`] for a policy with a byte cap, [`BuildError::Setting`] for a limit out of its
    /// range.
    pub fn new(policy: &FilterPolicy, limit: PartitionLimit) -> Result<Self, BuildError> {
        let policy = limit.with_kind(policy)?;
        Ok(Self {
            max_entries: limit.max_entries(&policy)?,
            filter: FilterBlockBuilder::new(&policy),
            context: 0,
            has_late_context: false,
            last: Vec::new(),
            recent: [None; 2],
            num_added: 0,
            num_without_entry: 0,
            block: Vec::new(),
            order_key: Vec::new(),
            records: Vec::new(),
            separators: Vec::new(),
            num_entries: 0,
            end_offset: 0,
            allows_empty: false,
            has_failed: false,
        })
    }

    /// Binds index and partitions to `context`, say the number of a file: a reader must name the same one. It is 0
    /// unless set.
    ///
    /// It must be set before the first partition is closed. Another context after that is an error of every later call,
    /// [`LateContext`](PartitionBuildError::LateContext).
    pub fn set_context(&mut self, context: u64) -> &mut Self {
        if self.num_partitions() == 0 {
            self.context = context;
        } else if context != self.context {
            self.has_late_context = true;
        }
        self
    }

    /// Sets whether large partitions are built on all cores, with the feature `rayon` and for the kinds that
    /// [`FilterBlockBuilder::set_parallel`] lists. The bytes are the same. It is off unless set.
    pub fn set_parallel(&mut self, parallel: bool) -> &mut Self {
        self.filter.set_parallel(parallel);
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
            return self.fail(PartitionBuildError::Transform { transform });
        }
        match order::of_key(transform, key) {
            Some(order_key) => self.add(order_key, self.entries().hash_entries(key), store),
            None => {
                self.check()?;
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
            None => self.fail(PartitionBuildError::Transform { transform: self.entries().transform() }),
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
            transform => self.fail(PartitionBuildError::Transform { transform }),
        }
    }

    fn add<E>(
        &mut self,
        order_key: &[u8],
        hashes: impl IntoIterator<Item = KeyHash>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        self.check()?;
        if self.num_added > 0 {
            match order::compare(&self.last, order_key) {
                Ordering::Less if self.filter.num_added() >= self.max_entries => self.close(Some(order_key), store)?,
                Ordering::Less | Ordering::Equal => {}
                Ordering::Greater => {
                    return self.fail(PartitionBuildError::Unordered { num_added: self.num_added });
                }
            }
        }
        for hash in hashes {
            let [last, before] = self.recent;
            if last != Some(hash) {
                if before != Some(hash) {
                    self.filter.add_hash(hash);
                }
                self.recent = [Some(hash), last];
            }
        }
        self.num_added += 1;
        self.last.clear();
        self.last.extend_from_slice(order_key);
        Ok(())
    }

    /// Closes the open partition, which has entries; `next` is the order key after its last.
    fn close<E>(
        &mut self,
        next: Option<&[u8]>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        // This also holds if `store` panics: the partition is then lost.
        self.has_failed = true;
        let closed = self.try_close(next, store);
        self.has_failed = closed.is_err();
        closed
    }

    fn try_close<E>(
        &mut self,
        next: Option<&[u8]>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        let partition = self.num_partitions();
        let too_large = PartitionBuildError::TooLarge { num_partitions: partition };
        if partition == u32::MAX {
            return Err(too_large);
        }
        let context = index::partition_context(self.context, partition);
        self.block.clear();
        let built = self.filter.set_context(context).finish_into(&mut self.block);
        built.map_err(|error| PartitionBuildError::Build { partition, error })?;
        self.recent = [None; 2];
        let options = OpenOptions::new().with_context(context).expect(self.entries()).with_digest_check(false);
        let num_entries = options.open(&self.block).map_or(0, |reader| reader.num_entries());

        let offset = store(&self.block).map_err(|error| PartitionBuildError::Store { partition, error })?;
        let Ok(len) = u32::try_from(self.block.len()) else { return Err(too_large) };
        let (min, end) = (self.end_offset, offset.checked_add(len.into()));
        self.end_offset =
            end.filter(|_| offset >= min).ok_or(PartitionBuildError::Offset { partition, offset, min })?;
        match next {
            Some(next) => order::push_separator(&self.last, next, &mut self.separators),
            None => self.separators.extend_from_slice(&self.last),
        }
        let Ok(separator_end) = u32::try_from(self.separators.len()) else { return Err(too_large) };
        self.records.extend_from_slice(&Record { offset, len, separator_end }.encode());
        self.num_entries += num_entries;
        Ok(())
    }

    /// Stores the last partition and returns the index, to be stored by the caller. The index of a table without keys
    /// ([`allow_empty`](PartitionedFilterBuilder::allow_empty)), or of keys none of which has an entry, has no
    /// partitions, and answers *no* to every key that could have an entry.
    ///
    /// # Errors
    /// [`PartitionBuildError::Empty`] if nothing was added, and the errors of [`PartitionedFilterBuilder::add_key`].
    pub fn finish<E>(mut self, store: impl FnOnce(&[u8]) -> Result<u64, E>) -> Result<Vec<u8>, PartitionBuildError<E>> {
        self.check()?;
        if self.num_added == 0 && self.num_without_entry == 0 && !self.allows_empty {
            return Err(PartitionBuildError::Empty);
        }
        if self.filter.num_added() > 0 {
            self.close(None, store)?;
        }
        let facts = Facts {
            entries: self.entries().clone(),
            num_entries: self.num_entries,
            num_partitions: self.num_partitions(),
        };
        let mut index = std::vec![0; HEADER_LEN];
        index.extend_from_slice(&self.records);
        index.extend_from_slice(&self.separators);
        index::write_header(&mut index, &facts, self.context);
        let options = OpenOptions::new().with_context(self.context).expect(self.entries());
        debug_assert!(index::check(&index, &options).is_ok(), "a builder's index is sound");
        Ok(index)
    }

    /// Returns the number of partitions closed so far.
    pub fn num_partitions(&self) -> u32 {
        (self.records.len() / index::RECORD_LEN) as u32
    }

    /// Returns the number of entries added so far. Equal neighbours count once, and in closed partitions all equal
    /// entries do.
    pub fn num_added(&self) -> u64 {
        self.num_entries + self.filter.num_added()
    }

    /// Returns the number of keys added so far that have no entry under the policy's transform. If it is above 0 and
    /// [`num_added`](PartitionedFilterBuilder::num_added) is 0, the filter will have no entries: it is right, but the
    /// transform does not suit the table's keys.
    pub fn num_without_entry(&self) -> u64 {
        self.num_without_entry
    }

    /// The policy.
    pub fn policy(&self) -> &FilterPolicy {
        self.filter.policy()
    }

    fn entries(&self) -> &EntryHasher {
        self.filter.policy().entry_hasher()
    }

    /// Refuses every call after an error.
    fn check<E>(&self) -> Result<(), PartitionBuildError<E>> {
        match self.has_failed {
            true => Err(PartitionBuildError::Failed),
            false if self.has_late_context => {
                Err(PartitionBuildError::LateContext { num_partitions: self.num_partitions() })
            }
            false => Ok(()),
        }
    }

    fn fail<T, E>(&mut self, error: PartitionBuildError<E>) -> Result<T, PartitionBuildError<E>> {
        self.has_failed = true;
        Err(error)
    }
}

impl fmt::Debug for PartitionedFilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedFilterBuilder")
            .field("policy", self.filter.policy())
            .field("num_partitions", &self.num_partitions())
            .field("num_added", &self.num_added)
            .finish_non_exhaustive()
    }
}
