//! The reader's side of partitioned range filters.

use super::error::PartitionError;
use super::index::Tag;
use super::opened::{LoadedPartition, OfRanges, OpenedPartition, RangeQuery};
use super::reader::{PartitionHandle, PartitionedFilter};
use crate::error::DecodeError;
use crate::frame::OpenOptions;
use crate::hash::KeyHasher;
use crate::hash::{EntryHasher, KeyTransform};
use crate::ranges::{RangeFilter, RangeFilterReader, are_ordered};
use core::fmt;
use core::ops::Bound;

/// The hasher and transform that a range index records. They are placeholders: range keys are not hashed.
pub(super) const ENTRIES: EntryHasher = EntryHasher::new(KeyHasher::new(0), KeyTransform::WholeKey);

/// The index's answer for a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeLookup {
    /// No key of the table lies in the range: the answer is *no*, and there is nothing to load.
    Absent,
    /// All keys of a partition lie in the range, or its bounds are not [in order](crate::range::are_ordered): the answer
    /// is *maybe*, and there is nothing to load.
    Present,
    /// The answer is *no* if this partition denies the range, and the second one, if there is one, does too.
    Partitions(PartitionHandle, Option<PartitionHandle>),
}

/// The opened index of a partitioned range filter. `B` must give the same bytes at each call, as vectors, boxes, shared
/// slices and memory maps do.
///
/// A range that encloses a partition has a key. So a query loads two partitions at most: those of its bounds; for a prefix
/// one.
///
/// ```
/// use filterblock::OpenOptions;
/// use filterblock::partition::{PartitionLimit, PartitionedRangeFilter, PartitionedRangeFilterBuilder};
/// use std::convert::Infallible;
/// use std::ops::Bound::{Excluded, Included};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limit = PartitionLimit::Bytes(4096);
/// let mut builder = PartitionedRangeFilterBuilder::new("range:14".parse()?, limit)?;
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
/// let load = |partition: filterblock::partition::PartitionHandle| {
///     Ok::<_, Infallible>(&file[partition.offset as usize..][..partition.len as usize])
/// };
/// // Every error means "maybe".
/// assert!(filter.may_contain_prefix(b"user0004", load).unwrap_or(true));
/// assert_eq!(filter.may_contain_range(Included(b"user00042x"), Excluded(b"user00043"), load), Ok(false));
///
/// // Partitions that an engine's cache keeps opened.
/// let open = |partition| filter.open_partition_owned(partition, load(partition).expect("infallible"));
/// let kept = filter.partitions().map(open).collect::<Result<Vec<_>, _>>()?;
/// let answer = filter.may_contain_prefix(b"user0004x", |partition| Ok::<_, Infallible>(&kept[partition.number as usize]));
/// assert_eq!(answer, Ok(false));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PartitionedRangeFilter<B> {
    index: PartitionedFilter<B>,
}

impl<B: AsRef<[u8]>> PartitionedRangeFilter<B> {
    /// Opens an index, as [`PartitionedFilter::open`] does. Of the options, context and digest check apply, to the
    /// partitions, too.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact index of this format and context, and of range filters. It
    /// always means *maybe*, for every range of the table.
    pub fn open(index: B, options: OpenOptions) -> Result<Self, DecodeError> {
        let index = PartitionedFilter::open_of(Tag::Ranges, index, options.expect(&ENTRIES))?;
        Ok(Self { index })
    }

    /// Returns whether the table may have a key between the bounds, as
    /// [`RangeFilter::may_contain_range`](crate::range::RangeFilter::may_contain_range) does. `load` is called at most
    /// twice.
    ///
    /// # Errors
    /// [`PartitionError`], which means *maybe*: a partition could not be loaded, or is damaged.
    pub fn may_contain_range<E, P: LoadedPartition<OfRanges, Form>, Form>(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        load: impl FnMut(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        self.query(self.find_range(lower, upper), load, RangeQuery::Range(lower, upper))
    }

    /// Returns whether the table may have a key that begins with `prefix`, of any length. `load` is called at most once.
    ///
    /// # Errors
    /// The errors of [`PartitionedRangeFilter::may_contain_range`].
    pub fn may_contain_prefix<E, P: LoadedPartition<OfRanges, Form>, Form>(
        &self,
        prefix: &[u8],
        load: impl FnMut(PartitionHandle) -> Result<P, E>,
    ) -> Result<bool, PartitionError<E>> {
        self.query(self.find_prefix(prefix), load, RangeQuery::Prefix(prefix))
    }

    fn query<E, P: LoadedPartition<OfRanges, Form>, Form>(
        &self,
        found: RangeLookup,
        mut load: impl FnMut(PartitionHandle) -> Result<P, E>,
        query: RangeQuery<'_>,
    ) -> Result<bool, PartitionError<E>> {
        let (first, second) = match found {
            RangeLookup::Absent => return Ok(false),
            RangeLookup::Present => return Ok(true),
            RangeLookup::Partitions(first, second) => (first, second),
        };
        for partition in [Some(first), second].into_iter().flatten() {
            let number = partition.number;
            let loaded = load(partition).map_err(|error| PartitionError::Load { partition: number, error })?;
            let answer = loaded.answer(self.index.expected(number), query);
            if answer.map_err(|reason| PartitionError::of_loaded(number, reason))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the index's answer for the keys between two bounds, for engines that load partitions themselves.
    pub fn find_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> RangeLookup {
        if !are_ordered(lower, upper) {
            return RangeLookup::Present;
        }
        let of = |bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        let first = of(lower).map_or_else(|| self.index.partitions().next(), |key| self.index.find(key));
        self.between(first, of(upper).and_then(|key| self.index.find(key)))
    }

    /// Returns the index's answer for the keys that begin with `prefix`: there are none, or one partition decides
    /// alone.
    pub fn find_prefix(&self, prefix: &[u8]) -> RangeLookup {
        // The first partition whose separator is at least the prefix has the least key that begins with it, if any does
        // (section 15.1 of the format): the partitions before end below the prefix, and where this one ends below that
        // key, its separator is below every prefix of the next key that is above its own last key, so below this one.
        self.index.find(prefix).map_or(RangeLookup::Absent, |partition| RangeLookup::Partitions(partition, None))
    }

    /// Combines the partitions that the two bounds lead to; `None` if the table's keys are less.
    fn between(&self, first: Option<PartitionHandle>, last: Option<PartitionHandle>) -> RangeLookup {
        let Some((first, last)) = first.zip(last.or_else(|| self.index.partitions().next_back())) else {
            return RangeLookup::Absent;
        };
        match last.number.saturating_sub(first.number) {
            0 => RangeLookup::Partitions(first, None),
            1 => RangeLookup::Partitions(first, Some(last)),
            _ => RangeLookup::Present,
        }
    }

    /// Opens the block of a partition. It answers for the keys of this partition alone.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything but the intact block of this partition of this table. It always means *maybe*.
    pub fn open_partition<'a>(
        &self,
        partition: PartitionHandle,
        block: &'a [u8],
    ) -> Result<RangeFilterReader<'a>, DecodeError> {
        RangeFilterReader::open(block, &self.partition_options(partition))
    }

    /// Opens the block of a partition that is to be kept, such as in a cache, and returned to later queries. It owns the
    /// bytes, or borrows them.
    ///
    /// # Errors
    /// The errors of [`PartitionedRangeFilter::open_partition`].
    pub fn open_partition_owned<P: AsRef<[u8]>>(
        &self,
        partition: PartitionHandle,
        block: P,
    ) -> Result<OpenedPartition<RangeFilter<P>>, DecodeError> {
        let expected = self.index.expected(partition.number);
        Ok(OpenedPartition::new(expected.place, RangeFilter::open(block, &expected.options())?))
    }

    /// Returns the options under which the block of a partition is opened, for engines that keep it opened in a form of
    /// their own ([`RangeFilter::open`](crate::range::RangeFilter::open)).
    pub fn partition_options(&self, partition: PartitionHandle) -> OpenOptions {
        self.index.partition_options(partition)
    }

    /// Returns all partitions, in the order of keys.
    pub fn partitions(&self) -> impl DoubleEndedIterator<Item = PartitionHandle> + ExactSizeIterator + '_ {
        self.index.partitions()
    }

    /// Returns the index as one of keys, for engines that load the partitions of both in the same way. It finds the
    /// partition of a key; [`find_range`](Self::find_range) and [`find_prefix`](Self::find_prefix) find those of ranges.
    pub fn index(&self) -> &PartitionedFilter<B> {
        &self.index
    }

    /// Returns the number of distinct keys.
    pub fn num_keys(&self) -> u64 {
        self.index.num_entries()
    }

    /// Returns the index's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.index.as_bytes()
    }
}

impl<B: AsRef<[u8]>> fmt::Debug for PartitionedRangeFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionedRangeFilter({} partitions, {} keys)", self.partitions().len(), self.num_keys())
    }
}
