//! From an index and one partition to an answer.

use super::error::PartitionError;
use super::index::{self, Facts, Record};
use super::order;
use crate::block::{FilterBlockReader, OpenOptions};
use crate::error::DecodeError;
use crate::hash::KeyHasher;
use crate::policy::KeyTransform;
use core::cmp::Ordering;

/// Where the block of a partition is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PartitionHandle {
    /// Its number, from 0 in the order of keys.
    pub number: u32,
    /// The offset that the writer was given for it.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u32,
}

/// The opened index of a partitioned filter. `B` must give the same bytes at each call, as vectors, boxes, shared
/// slices and memory maps do.
///
/// The calls named `may_contain…` have one partition at most loaded by the caller's function. An engine that loads in
/// another way (asynchronously, many at once) uses [`find`](Self::find) and [`open_partition`](Self::open_partition).
#[derive(Clone, Copy)]
pub struct PartitionedFilter<B> {
    index: B,
    facts: Facts,
    /// For the partitions, but for their contexts.
    options: OpenOptions,
}

impl<B: AsRef<[u8]>> PartitionedFilter<B> {
    /// Opens an index, checking all of it: in time linear in its length, without allocating. `options` hold for the
    /// partitions too: their contexts are derived from the one given here.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact index of this format, context, hasher and transform. It
    /// always means *maybe*, for every key of the table.
    pub fn open(index: B, options: OpenOptions) -> Result<Self, DecodeError> {
        let facts = index::check(index.as_ref(), &options)?;
        let options = options.expect_hasher(facts.hasher).expect_transform(facts.transform);
        Ok(Self { index, facts, options })
    }

    /// Whether the table may contain `key`, by the filter's transform: a whole key; a row, where entries are rows; a
    /// key or a prefix, where entries are prefixes. *Maybe* where the key has no entry, or does not determine it alone.
    ///
    /// # Errors
    /// [`PartitionError`], which means *maybe*: the key's partition could not be loaded, or is damaged.
    pub fn may_contain<E, P: AsRef<[u8]>>(
        &self,
        key: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        match (self.facts.transform, self.facts.transform.entry_of(key)) {
            (KeyTransform::FixedPrefix { .. }, Some(prefix)) => self.probe(self.find(prefix), prefix, load),
            (_, Some(entry)) => self.probe(self.find(key), entry, load),
            (_, None) => Ok(true),
        }
    }

    /// Whether the table may contain a key with the prefix that `key` begins with, of the transform's length. Where
    /// prefixes are no entries, or `key` is shorter, it is *maybe*.
    ///
    /// # Errors
    /// As [`PartitionedFilter::may_contain`].
    pub fn may_contain_prefix<E, P: AsRef<[u8]>>(
        &self,
        key: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        match self.facts.transform.prefix_of(key) {
            Some(prefix) => self.probe(self.find(prefix), prefix, load),
            None => Ok(true),
        }
    }

    /// Whether the table may contain a cell of `row`. Where rows are no entries, it is *maybe*.
    ///
    /// # Errors
    /// As [`PartitionedFilter::may_contain`].
    pub fn may_contain_row<E, P: AsRef<[u8]>>(
        &self,
        row: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        match self.facts.transform {
            KeyTransform::Row => self.probe(self.find(row), row, load),
            _ => Ok(true),
        }
    }

    /// Whether the table may contain a (row, column) pair, where entries are pairs; where they are rows, the answer for
    /// the row; otherwise *maybe*.
    ///
    /// # Errors
    /// As [`PartitionedFilter::may_contain`].
    #[cfg(feature = "std")]
    pub fn may_contain_row_column<E, P: AsRef<[u8]>>(
        &self,
        row: &[u8],
        column: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        if self.facts.transform != KeyTransform::RowColumn {
            return self.may_contain_row(row, load);
        }
        let mut entry = std::vec::Vec::new();
        KeyTransform::row_column_entry(row, column, &mut entry);
        self.probe(self.find_row_column(row, column), &entry, load)
    }

    /// Whether the table may contain `entry` at `order_key`, where both are the engine's own; otherwise *maybe*. An
    /// entry is found at the order keys that it was added at, and at the prefixes of these that begin none that is
    /// less.
    ///
    /// # Errors
    /// As [`PartitionedFilter::may_contain`].
    pub fn may_contain_entry<E, P: AsRef<[u8]>>(
        &self,
        order_key: &[u8],
        entry: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        match self.facts.transform {
            KeyTransform::Custom(_) => self.probe(self.find(order_key), entry, load),
            _ => Ok(true),
        }
    }

    fn probe<E, P: AsRef<[u8]>>(
        &self,
        partition: Option<PartitionHandle>,
        entry: &[u8],
        load: impl FnOnce(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        let Some(partition) = partition else {
            return Ok(false);
        };
        let number = partition.number;
        let block = load(partition).map_err(|error| PartitionError::Load { partition: number, error })?;
        match self.open_partition(partition, block.as_ref()) {
            Ok(reader) => Ok(reader.may_contain_entry(entry)),
            Err(error) => Err(PartitionError::Decode { partition: number, error }),
        }
    }

    /// The only partition that can have an entry of this order key. An order key is not always the key: for entries that are
    /// prefixes it is the prefix, for the prefix beside a whole key that prefix. If there is none, the table has no such entry: the
    /// order key is above all separators.
    ///
    /// ```
    /// # use filterblock::partition::{PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
    /// # use filterblock::{FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// # let mut builder = PartitionedFilterBuilder::new(policy, PartitionLimit::Entries(1))?;
    /// # let mut blocks = Vec::new();
    /// # let mut store = |block: &[u8]| {
    /// #     blocks.push(block.to_vec());
    /// #     Ok::<_, std::io::Error>(blocks.len() as u64 * 1000)
    /// # };
    /// # builder.add_key(b"a", &mut store)?;
    /// # builder.add_key(b"b", &mut store)?;
    /// # let filter = PartitionedFilter::open(builder.finish(&mut store)?, OpenOptions::new())?;
    /// // An engine that has partitions in a cache of its own, and has hashed the key already:
    /// let hash = filter.hasher().hash(b"b");
    /// if let Some(partition) = filter.find(b"b") {
    ///     let block = &blocks[partition.number as usize];
    ///     assert!(filter.open_partition(partition, block)?.may_contain_hash(hash));
    /// }
    /// assert_eq!(filter.find(b"c"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, order_key: &[u8]) -> Option<PartitionHandle> {
        self.find_by(|separator| separator.cmp(order_key))
    }

    /// As [`PartitionedFilter::find`], for a (row, column) pair. Does not allocate.
    pub fn find_row_column(&self, row: &[u8], column: &[u8]) -> Option<PartitionHandle> {
        self.find_by(|separator| separator.iter().copied().cmp(order::pair(row, column)))
    }

    /// The first partition whose separator does not compare as less.
    fn find_by(&self, compare: impl Fn(&[u8]) -> Ordering) -> Option<PartitionHandle> {
        let (index, num_partitions) = (self.index.as_ref(), self.facts.num_partitions as usize);
        let (mut start, mut end) = (0, num_partitions);
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

    /// What the block of a partition must match, for engines that keep it opened
    /// ([`OpenOptions::open_owned`]).
    pub fn partition_options(&self, partition: PartitionHandle) -> OpenOptions {
        self.options.context(index::partition_context(self.options.given_context(), partition.number))
    }

    /// All partitions, in the order of keys.
    pub fn partitions(&self) -> impl ExactSizeIterator<Item = PartitionHandle> + '_ {
        (0..self.facts.num_partitions as usize).map(|partition| Self::handle(self.index.as_ref(), partition))
    }

    /// Distinct entries of the partitions, in all. An entry that is in two partitions counts twice.
    pub fn num_entries(&self) -> u64 {
        self.facts.num_entries
    }

    /// What the entries were made from.
    pub fn transform(&self) -> KeyTransform {
        self.facts.transform
    }

    /// The hasher that entries must be hashed with.
    pub fn hasher(&self) -> KeyHasher {
        self.facts.hasher
    }

    /// The index's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.index.as_ref()
    }
}

impl<B> core::fmt::Debug for PartitionedFilter<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PartitionedFilter").field("facts", &self.facts).finish_non_exhaustive()
    }
}
