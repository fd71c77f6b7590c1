//! The reader: from an index and its partitions to an answer.

use super::error::PartitionError;
use super::family::{Family, Keys, Ranges};
use super::lookup::{Index, Lookup, PartitionHandle};
use super::opened::{Expected, LoadedPartition, OpenedPartition};
use crate::error::DecodeError;
use crate::frame::OpenOptions;
use crate::hash::EntryHasher;
use crate::query::Query;
use core::fmt;
use core::marker::PhantomData;

/// The opened index of a partitioned filter of the family `F`: a [`PartitionedFilter`] or a [`PartitionedRangeFilter`].
/// `B` must give the same bytes at each call, as vectors, boxes, shared slices and memory maps do.
///
/// An engine that loads partitions in its own way (asynchronously, many at once) uses [`find`](Self::find) and
/// [`open_partition`](Self::open_partition); [`may_match`](Self::may_match) does both.
// Not `Copy`: it may hold a secret.
#[derive(Clone)]
pub struct Partitioned<F, B> {
    index: Index<B>,
    /// The options of the partitions, except their contexts.
    options: OpenOptions,
    family: PhantomData<F>,
}

/// A partitioned filter of keys; the [module](super) has an example.
pub type PartitionedFilter<B> = Partitioned<Keys, B>;

/// A partitioned filter of ranges. A range that encloses a partition has a key, so a query loads two partitions at most:
/// those of its bounds; of a key or a prefix one.
///
/// ```
/// use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedRangeFilter, PartitionedRangeFilterBuilder};
/// use filterblock::{OpenOptions, Query};
/// use std::convert::Infallible;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = PartitionedRangeFilterBuilder::new(&"range:14".parse()?, PartitionLimit::Bytes(4096))?;
/// let mut file = Vec::new();
/// let mut store = |block: &[u8]| {
///     file.extend_from_slice(block);
///     Ok::<_, Infallible>((file.len() - block.len()) as u64)
/// };
/// for number in 0..10_000 {
///     builder.add_key(format!("user{number:05}").as_bytes(), &mut store)?;
/// }
/// let index = builder.finish(&mut store)?;
///
/// let filter = PartitionedRangeFilter::open(index, OpenOptions::new())?;
/// let load = |partition: PartitionHandle| {
///     Ok::<_, Infallible>(&file[partition.offset as usize..][..partition.len as usize])
/// };
/// // Every error means "maybe".
/// assert!(filter.may_match(Query::Prefix(b"user0004"), load).unwrap_or(true));
/// let (lower, upper): (&[u8], &[u8]) = (b"user00042x", b"user00043");
/// assert_eq!(filter.may_match(Query::range(lower..upper), load), Ok(false));
/// # Ok(())
/// # }
/// ```
pub type PartitionedRangeFilter<B> = Partitioned<Ranges, B>;

impl<F: Family, B: AsRef<[u8]>> Partitioned<F, B> {
    /// Opens an index and checks all of it, in time linear in its length. With the feature `std` it allocates 8 bytes
    /// for each partition, by which lookups are faster. `options` apply to the partitions, too: their contexts are
    /// derived from the one given here. Of ranges, only context and digest check apply.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact index of this format, family, context, hasher and
    /// transform. It always means *maybe*, for every key of the table.
    pub fn open(index: B, options: OpenOptions) -> Result<Self, DecodeError> {
        let options = F::expect(options);
        let index = Index::open(index, F::TAG, &options)?;
        Ok(Self { options: options.expect(&index.facts.entries), index, family: PhantomData })
    }

    /// Returns whether the table may have what `query` names. `load` is called for the partitions of
    /// [`find`](Self::find), until one answers *maybe*. It returns the block's bytes, which are opened and verified each
    /// time (3 to 13 µs for 32 KiB, by the processor), or an [`OpenedPartition`] from the engine's cache, which answers at
    /// once.
    ///
    /// ```
    /// # use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
    /// # use filterblock::{FilterPolicy, OpenOptions, Query};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let policy: FilterPolicy = "blocked:10,transform=row+column".parse()?;
    /// # let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Entries(1))?;
    /// # let mut blocks = Vec::new();
    /// # let mut store = |block: &[u8]| {
    /// #     blocks.push(block.to_vec());
    /// #     Ok::<_, std::io::Error>(blocks.len() as u64 * 1000)
    /// # };
    /// # builder.add_row_column(b"com.example/", b"title", &mut store)?;
    /// # builder.add_row_column(b"org.example/", b"title", &mut store)?;
    /// # let filter = PartitionedFilter::open(builder.finish(&mut store)?, OpenOptions::new().expect(&policy))?;
    /// // Entries are rows with columns, here one in a partition.
    /// let load = |partition: PartitionHandle| Ok::<_, std::io::Error>(&blocks[partition.number as usize]);
    /// assert!(filter.may_match(Query::Cell(b"org.example/", b"title"), load)?);
    /// assert!(!filter.may_match(Query::Cell(b"org.example/", b"anchor"), load)?);
    /// assert!(filter.may_match(Query::Row(b"net.example/"), load)?); // a row alone has no entry
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PartitionError`], which means *maybe*: a partition could not be loaded, is damaged, or is another one.
    pub fn may_match<E, P: LoadedPartition<F, Form>, Form>(
        &self,
        query: Query<'_>,
        mut load: impl FnMut(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        let found = self.find(query);
        if let Some(answer) = found.answer() {
            return Ok(answer);
        }
        for partition in found.partitions() {
            let number = partition.number;
            let loaded = load(partition).map_err(|error| PartitionError::Load { partition: number, error })?;
            let answer = loaded.answer(self.expected(number), query);
            if answer.map_err(|reason| PartitionError::of_loaded(number, reason))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the index's answer for `query`, or the partitions that have it. It is for engines that load partitions
    /// themselves, ahead of a lookup or many at once.
    ///
    /// ```
    /// # use filterblock::partition::{PartitionLimit, PartitionedFilter, PartitionedFilterBuilder, Lookup};
    /// # use filterblock::{FilterPolicy, OpenOptions, Query};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let policy: FilterPolicy = "blocked:10,transform=prefix:4".parse()?;
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
    /// let found = filter.find(Query::Key(b"user9"));
    /// let mut may_contain = found.answer().unwrap_or(false);
    /// for partition in found.partitions() {
    ///     let block = &blocks[partition.number as usize]; // from a cache of the engine's own
    ///     may_contain |= filter.open_partition(partition, &block[..])?.may_contain(b"user9");
    /// }
    /// assert!(may_contain);
    /// assert_eq!(filter.find(Query::Key(b"zebra")), Lookup::Absent);
    /// assert_eq!(filter.find(Query::Key(b"me")), Lookup::NoEntry);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn find(&self, query: Query<'_>) -> Lookup {
        F::find(&self.index, query)
    }

    /// Returns the identity and the options that a loaded partition must match.
    fn expected(&self, number: u32) -> Expected<'_> {
        Expected::new(self.index.identity, number, &self.options)
    }

    /// Opens the block of a partition. It answers for the keys of this partition alone.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything but the intact block of this partition of this table. It always means *maybe*.
    pub fn open_partition<'a>(
        &self,
        partition: PartitionHandle,
        block: &'a [u8],
    ) -> Result<F::Filter<&'a [u8]>, DecodeError> {
        F::open(&self.partition_options(partition), block)
    }

    /// Opens the block of a partition that is to be kept, such as in a cache, and returned to later queries. It owns the
    /// bytes, or borrows them.
    ///
    /// # Errors
    /// The errors of [`Partitioned::open_partition`].
    pub fn open_partition_owned<P: AsRef<[u8]>>(
        &self,
        partition: PartitionHandle,
        block: P,
    ) -> Result<OpenedPartition<F::Filter<P>>, DecodeError> {
        let expected = self.expected(partition.number);
        Ok(OpenedPartition::new(expected.place, F::open(&expected.options(), block)?))
    }

    /// Returns the options that the block of a partition must match, for engines that keep it opened in a form of their
    /// own.
    pub fn partition_options(&self, partition: PartitionHandle) -> OpenOptions {
        self.expected(partition.number).options()
    }

    /// Returns all partitions, in the order of keys.
    pub fn partitions(&self) -> impl DoubleEndedIterator<Item = PartitionHandle> + ExactSizeIterator + '_ {
        self.index.partitions()
    }

    /// Returns the number of distinct entries of all partitions; of ranges, of keys. An entry that is in two partitions
    /// counts twice.
    pub fn num_entries(&self) -> u64 {
        self.index.facts.num_entries
    }

    /// Returns the index's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.index.bytes.as_ref()
    }
}

impl<B> Partitioned<Keys, B> {
    /// Returns the hasher and the transform of all partitions, which make hashes of keys.
    pub fn entry_hasher(&self) -> &EntryHasher {
        &self.index.facts.entries
    }
}

/// The output is one line, without the bytes.
impl<F, B> fmt::Debug for Partitioned<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitioned").field("facts", &self.index.facts).finish_non_exhaustive()
    }
}
