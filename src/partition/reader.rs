//! The reader: from an index and one partition to an answer.

use super::error::PartitionError;
#[cfg(feature = "std")]
use super::heads::Heads;
use super::index::{self, Facts, Record, Tag};
use super::opened::{self, Expected, KeyQuery, LoadedPartition, OfKeys, OpenedPartition};
use super::order;
use crate::error::DecodeError;
use crate::frame::{OpenError, OpenOptions};
use crate::hash::KeyHasher;
use crate::hash::{EntryHasher, KeyTransform};
use crate::keys::{FilterBlock, FilterBlockReader};
use core::cmp::Ordering;
use core::ops::Range;

/// The place of a partition's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PartitionHandle {
    /// Its number, from 0 in the order of keys.
    pub number: u32,
    /// The offset that the writer's function returned for it.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u32,
}

/// The result of a query of the index alone. There will be no other outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionLookup {
    /// The query has no entry under the filter's transform: the answer is *maybe*, and there is nothing to load.
    NoEntry,
    /// The query is above the last entry of the table: the answer is *no*, and there is nothing to load.
    Absent,
    /// The answer is that of this partition.
    Partition(PartitionHandle),
}

impl PartitionLookup {
    /// Returns the lookup of a query that has an entry.
    fn of(partition: Option<PartitionHandle>) -> Self {
        partition.map_or(Self::Absent, Self::Partition)
    }
}

/// The opened index of a partitioned filter. `B` must give the same bytes at each call, as vectors, boxes, shared
/// slices and memory maps do.
///
/// The calls named `may_contain…` load at most one partition, by the caller's function. It returns the block's bytes,
/// which are opened and verified each time (3 to 13 µs for 32 KiB, by the processor), or an [`OpenedPartition`] from the
/// engine's cache, which answers at once. An engine that loads in another way (asynchronously, many at once) uses
/// [`find_key`](Self::find_key) and its like, and [`open_partition`](Self::open_partition).
// Not `Copy`: it may hold a secret.
#[derive(Clone)]
pub struct PartitionedFilter<B> {
    index: B,
    facts: Facts,
    /// The options of the partitions, except their contexts.
    options: OpenOptions,
    /// See [`opened::identity`].
    identity: u64,
    #[cfg(feature = "std")]
    heads: Heads,
}

impl<B: AsRef<[u8]>> PartitionedFilter<B> {
    /// Opens an index and checks all of it, in time linear in its length. With the feature `std` it allocates 8 bytes
    /// for each partition, by which lookups are faster. `options` apply to the partitions, too: their contexts are
    /// derived from the one given here.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact index of this format, context, hasher and transform. It
    /// always means *maybe*, for every key of the table.
    pub fn open(index: B, options: OpenOptions) -> Result<Self, DecodeError> {
        Self::open_of(Tag::Keys, index, options)
    }

    pub(super) fn open_of(tag: Tag, index: B, options: OpenOptions) -> Result<Self, DecodeError> {
        let facts = index::check(index.as_ref(), tag, &options)?;
        let options = options.expect(&facts.entries);
        #[cfg(feature = "std")]
        let heads = Heads::new(index.as_ref(), facts.num_partitions as usize);
        Ok(Self {
            identity: opened::identity(index.as_ref()),
            index,
            facts,
            options,
            #[cfg(feature = "std")]
            heads,
        })
    }

    /// Returns whether the table may contain `key`. The transform is applied: `key` is the key that the engine's user
    /// looks up. A key that has no entry is *maybe*. So is every key if entries are rows, which
    /// [`may_contain_row`](Self::may_contain_row) looks up, and under an engine's own transform, whose entries
    /// [`may_contain_entry`](Self::may_contain_entry) looks up.
    ///
    /// # Errors
    /// [`PartitionError`], which means *maybe*: the key's partition could not be loaded, is damaged, or is another one.
    pub fn may_contain<E, P: LoadedPartition<OfKeys, Form>, Form>(
        &self,
        key: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        self.probe(self.find_key(key), load, KeyQuery::Key(key))
    }

    /// Returns whether the table may contain a key with the prefix of `key` that has the transform's length. The answer
    /// is *maybe* if prefixes are not entries, or `key` is shorter.
    ///
    /// # Errors
    /// The errors of [`PartitionedFilter::may_contain`].
    pub fn may_contain_prefix<E, P: LoadedPartition<OfKeys, Form>, Form>(
        &self,
        key: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        self.probe(self.find_prefix(key), load, KeyQuery::Prefix(key))
    }

    /// Returns whether the table may contain a cell of `row`. The answer is *maybe* if rows are not entries.
    ///
    /// # Errors
    /// The errors of [`PartitionedFilter::may_contain`].
    pub fn may_contain_row<E, P: LoadedPartition<OfKeys, Form>, Form>(
        &self,
        row: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        self.probe(self.find_row(row), load, KeyQuery::Row(row))
    }

    /// Returns whether the table may contain a (row, column) pair, if entries are pairs. If they are rows, the answer
    /// is the one for the row; otherwise it is *maybe*.
    ///
    /// # Errors
    /// The errors of [`PartitionedFilter::may_contain`].
    pub fn may_contain_row_column<E, P: LoadedPartition<OfKeys, Form>, Form>(
        &self,
        row: &[u8],
        column: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        self.probe(self.find_row_column(row, column), load, KeyQuery::Cell(row, column))
    }

    /// Returns whether the table may contain `entry` at `order_key`, if both are the engine's own; otherwise the answer
    /// is *maybe*. An entry is found at the order keys with which it was added, and at each prefix of such a key with
    /// which no smaller order key of the table begins.
    ///
    /// # Errors
    /// The errors of [`PartitionedFilter::may_contain`].
    pub fn may_contain_entry<E, P: LoadedPartition<OfKeys, Form>, Form>(
        &self,
        order_key: &[u8],
        entry: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        let found = match self.transform() {
            KeyTransform::Custom(_) => self.lookup(Some(order_key)),
            _ => PartitionLookup::NoEntry,
        };
        self.probe(found, load, KeyQuery::Entry(entry))
    }

    fn probe<E, P: LoadedPartition<OfKeys, Form>, Form>(
        &self,
        found: PartitionLookup,
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
        query: KeyQuery<'_>,
    ) -> Result<bool, PartitionError<E>> {
        let partition = match found {
            PartitionLookup::NoEntry => return Ok(true),
            PartitionLookup::Absent => return Ok(false),
            PartitionLookup::Partition(partition) => partition,
        };
        let number = partition.number;
        let loaded = load(partition).map_err(|error| PartitionError::Load { partition: number, error })?;
        loaded.answer(self.expected(number), query).map_err(|reason| PartitionError::of_loaded(number, reason))
    }

    /// Returns what a loaded partition must be.
    pub(super) fn expected(&self, number: u32) -> Expected<'_> {
        Expected::new(self.identity, number, &self.options)
    }

    /// Returns the partition that answers [`FilterBlock::may_contain`](crate::FilterBlock::may_contain) for `key`, by
    /// the filter's transform. It is for engines that load partitions themselves, ahead of a lookup or many at once.
    ///
    /// ```
    /// # use filterblock::partition::{PartitionLimit, PartitionLookup, PartitionedFilter, PartitionedFilterBuilder};
    /// # use filterblock::{FilterKind, FilterPolicy, KeyTransform, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let transform = KeyTransform::FixedPrefix { len: 4 };
    /// # let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_transform(transform);
    /// # let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Entries(1))?;
    /// # let mut blocks = Vec::new();
    /// # let mut store = |block: &[u8]| {
    /// #     blocks.push(block.to_vec());
    /// #     Ok::<_, std::io::Error>(blocks.len() as u64 * 1000)
    /// # };
    /// # builder.add_key(b"item7", &mut store)?;
    /// # builder.add_key(b"user7", &mut store)?;
    /// # let filter = PartitionedFilter::open(builder.finish(&mut store)?, OpenOptions::new().expect(&policy))?;
    /// // Entries are prefixes of 4 bytes, here one in a partition.
    /// let may_contain = match filter.find_key(b"user9") {
    ///     PartitionLookup::NoEntry => true,
    ///     PartitionLookup::Absent => false,
    ///     PartitionLookup::Partition(partition) => {
    ///         let block = &blocks[partition.number as usize]; // from a cache of the engine's own
    ///         filter.open_partition(partition, block)?.may_contain(b"user9")
    ///     }
    /// };
    /// assert!(may_contain);
    /// assert_eq!(filter.find_key(b"zebra"), PartitionLookup::Absent);
    /// assert_eq!(filter.find_key(b"me"), PartitionLookup::NoEntry);
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_key(&self, key: &[u8]) -> PartitionLookup {
        self.lookup(order::of_key(self.transform(), key))
    }

    /// Returns the partition that answers [`FilterBlock::may_contain_prefix`](crate::FilterBlock::may_contain_prefix).
    pub fn find_prefix(&self, key: &[u8]) -> PartitionLookup {
        self.lookup(self.transform().prefix_of(key))
    }

    /// Returns the partition that answers [`FilterBlock::may_contain_row`](crate::FilterBlock::may_contain_row).
    pub fn find_row(&self, row: &[u8]) -> PartitionLookup {
        self.lookup((self.transform() == KeyTransform::Row).then_some(row))
    }

    /// Returns the partition that answers
    /// [`FilterBlock::may_contain_row_column`](crate::FilterBlock::may_contain_row_column), without allocating.
    pub fn find_row_column(&self, row: &[u8], column: &[u8]) -> PartitionLookup {
        match self.transform() {
            KeyTransform::RowColumn => {
                #[cfg(feature = "std")]
                let range = self.heads.range_of_bytes(self.index.as_ref(), order::pair(row, column));
                #[cfg(not(feature = "std"))]
                let range = 0..self.facts.num_partitions as usize;
                let compare = |separator: &[u8]| separator.iter().copied().cmp(order::pair(row, column));
                PartitionLookup::of(self.find_by(range, compare))
            }
            _ => self.find_row(row),
        }
    }

    /// Returns the only partition that can have an entry of this *order key*, which is not always the key: see the
    /// table in the [module's documentation](super). If there is none, all order keys of the table are less than this
    /// one.
    ///
    /// The order key is one of an engine's own, or one that the engine has computed. Given a key that is not its own
    /// order key, such as one that is longer than the prefixes of the filter, this returns a partition that may deny
    /// it; [`find_key`](Self::find_key) and its like take keys.
    ///
    /// ```
    /// # use filterblock::partition::{PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
    /// # use filterblock::{FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// # let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Entries(1))?;
    /// # let mut blocks = Vec::new();
    /// # let mut store = |block: &[u8]| {
    /// #     blocks.push(block.to_vec());
    /// #     Ok::<_, std::io::Error>(blocks.len() as u64 * 1000)
    /// # };
    /// # builder.add_key(b"a", &mut store)?;
    /// # builder.add_key(b"b", &mut store)?;
    /// # let filter = PartitionedFilter::open(builder.finish(&mut store)?, OpenOptions::new().expect(&policy))?;
    /// // An engine that has partitions in a cache of its own, and has hashed the key already:
    /// let hash = policy.entry_hasher().hash_key(b"b");
    /// if let Some((partition, hash)) = filter.find(b"b").zip(hash) {
    ///     let block = &blocks[partition.number as usize];
    ///     assert!(filter.open_partition(partition, block)?.may_contain_hash(hash));
    /// }
    /// assert_eq!(filter.find(b"c"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, order_key: &[u8]) -> Option<PartitionHandle> {
        #[cfg(feature = "std")]
        let range = self.heads.range_of(self.index.as_ref(), order_key);
        #[cfg(not(feature = "std"))]
        let range = 0..self.facts.num_partitions as usize;
        self.find_by(range, |separator| separator.cmp(order_key))
    }

    /// Returns the lookup of this order key, if there is an entry.
    fn lookup(&self, order_key: Option<&[u8]>) -> PartitionLookup {
        order_key.map_or(PartitionLookup::NoEntry, |order_key| PartitionLookup::of(self.find(order_key)))
    }

    /// Returns the first partition whose separator does not compare as less: the first such one of `range`, or the one
    /// after it.
    #[inline]
    fn find_by(&self, range: Range<usize>, compare: impl Fn(&[u8]) -> Ordering) -> Option<PartitionHandle> {
        let (index, num_partitions) = (self.index.as_ref(), self.facts.num_partitions as usize);
        let Range { mut start, mut end } = range;
        while start < end {
            let middle = start + (end - start) / 2;
            match compare(index::separator(index, num_partitions, middle)) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal | Ordering::Greater => end = middle,
            }
        }
        (start < num_partitions).then(|| Self::handle(index, start))
    }

    fn handle(index: &[u8], partition: usize) -> PartitionHandle {
        let Record { offset, len, .. } = Record::of(index, partition);
        PartitionHandle { number: partition as u32, offset, len }
    }

    /// Opens the block of a partition. Its reader answers for the entries of this partition alone.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything but the intact block of this partition of this table. It always means *maybe*.
    pub fn open_partition<'a>(
        &self,
        partition: PartitionHandle,
        block: &'a [u8],
    ) -> Result<FilterBlockReader<'a>, DecodeError> {
        self.partition_options(partition).open(block)
    }

    /// Opens the block of a partition that is to be kept, such as in a cache, and returned to later lookups. It owns the
    /// bytes, or borrows them.
    ///
    /// # Errors
    /// The bytes, and the error of [`PartitionedFilter::open_partition`].
    pub fn open_partition_owned<P: AsRef<[u8]>>(
        &self,
        partition: PartitionHandle,
        block: P,
    ) -> Result<OpenedPartition<FilterBlock<P>>, OpenError<P>> {
        let expected = self.expected(partition.number);
        Ok(OpenedPartition::new(expected.place, expected.options().open_owned(block)?))
    }

    /// Returns the options that the block of a partition must match, for engines that keep it opened in a form of their
    /// own ([`OpenOptions::open_owned`]).
    pub fn partition_options(&self, partition: PartitionHandle) -> OpenOptions {
        self.expected(partition.number).options()
    }

    /// Returns all partitions, in the order of keys.
    pub fn partitions(&self) -> impl DoubleEndedIterator<Item = PartitionHandle> + ExactSizeIterator + '_ {
        (0..self.facts.num_partitions as usize).map(|partition| Self::handle(self.index.as_ref(), partition))
    }

    /// Returns the number of distinct entries of all partitions. An entry that is in two partitions counts twice.
    pub fn num_entries(&self) -> u64 {
        self.facts.num_entries
    }

    /// The hasher and the transform of all partitions, which make hashes of keys.
    pub fn entry_hasher(&self) -> &EntryHasher {
        &self.facts.entries
    }

    /// Returns the transform that made the entries.
    pub fn transform(&self) -> KeyTransform {
        self.facts.entries.transform()
    }

    /// Returns the hasher of entries.
    pub fn hasher(&self) -> &KeyHasher {
        self.facts.entries.hasher()
    }

    /// Returns the index's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.index.as_ref()
    }
}

impl<B> core::fmt::Debug for PartitionedFilter<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PartitionedFilter").field("facts", &self.facts).finish_non_exhaustive()
    }
}
