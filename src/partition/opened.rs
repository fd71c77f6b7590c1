//! Partitions that are opened once and kept, and what the function that loads a partition may return.

use super::index;
use crate::bytes;
use crate::error::DecodeError;
use crate::frame::{HEADER_LEN, OpenOptions};
use crate::hash;
use crate::keys::FilterBlock;
use crate::ranges::RangeFilter;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Bound, Deref};

/// A partition that was opened once: what an engine keeps in its cache, so that a lookup neither opens nor verifies the
/// block again. `F` is a [`FilterBlock`] or a [`RangeFilter`] that owns or borrows the bytes.
///
/// It is made by [`PartitionedFilter::open_partition_owned`](super::PartitionedFilter::open_partition_owned) or its twin
/// for ranges, and returned, by reference or in an `Arc`, by the function that loads partitions for a lookup. It knows
/// the index and the number that it was opened for: a lookup that receives one of another number, or of an index of other
/// bytes, ends in an [error](super::PartitionError::WrongPartition), which is *maybe*.
///
/// Indexes of two tables have the same bytes if the tables have the same context, the same separators and as many keys
/// in each partition. So the context must be another one for each state of a table's file, and the cache must drop the
/// partitions of a file that was replaced: otherwise a lookup answers from the wrong partition, and denies stored keys.
///
/// ```
/// use filterblock::partition::{OpenedPartition, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
/// use filterblock::{FilterBlock, FilterPolicy, OpenOptions};
/// use std::collections::HashMap;
/// use std::convert::Infallible;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let policy: FilterPolicy = "blocked:10,seed=7".parse()?;
/// # let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Bytes(1024))?;
/// # let mut file = Vec::new();
/// # let mut store = |block: &[u8]| {
/// #     file.extend_from_slice(block);
/// #     Ok::<_, Infallible>((file.len() - block.len()) as u64)
/// # };
/// # for number in 0..10_000 {
/// #     builder.set_context(42).add_key(format!("user{number:05}").as_bytes(), &mut store)?;
/// # }
/// # let index = builder.finish(&mut store)?;
/// let filter = PartitionedFilter::open(index, OpenOptions::new().with_context(42).expect(&policy))?;
/// // The engine's cache, by table and partition.
/// let mut cache: HashMap<(u64, u32), Arc<OpenedPartition<FilterBlock<Vec<u8>>>>> = HashMap::new();
/// for key in [&b"user00042"[..], b"user00043"] {
///     let answer = filter.may_contain(key, |partition| {
///         if let Some(opened) = cache.get(&(42, partition.number)) {
///             return Ok(Arc::clone(opened)); // nothing is parsed or verified
///         }
///         let block = file[partition.offset as usize..][..partition.len as usize].to_vec(); // a read of the file
///         let opened = Arc::new(filter.open_partition_owned(partition, block)?);
///         cache.insert((42, partition.number), Arc::clone(&opened));
///         Ok::<_, filterblock::OpenError<_>>(opened)
///     });
///     assert!(answer.unwrap_or(true)); // every error means "maybe"
/// }
/// assert_eq!(cache.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenedPartition<F> {
    place: Place,
    filter: F,
}

impl<F> OpenedPartition<F> {
    pub(super) fn new(place: Place, filter: F) -> Self {
        Self { place, filter }
    }

    /// Returns the opened block, which answers for the entries of this partition alone.
    pub fn filter(&self) -> &F {
        &self.filter
    }

    /// Returns the partition's number, from 0 in the order of keys.
    pub fn number(&self) -> u32 {
        self.place.number
    }
}

impl<F: fmt::Debug> fmt::Debug for OpenedPartition<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenedPartition({}, {:?})", self.place.number, self.filter)
    }
}

/// The identity of a partition: that of its index, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    index: u64,
    number: u32,
}

/// Returns the identity of a checked index: a hash of its header, which has its counts, its seed, and the digest of its
/// records and separators, under its context.
pub(super) fn identity(index: &[u8]) -> u64 {
    (0..HEADER_LEN).step_by(8).fold(0, |id, at| hash::mix(id ^ bytes::u64_at(index, at)))
}

/// The partition that a lookup has to load.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    pub(super) place: Place,
    /// The options of the table, with the table's context.
    options: &'a OpenOptions,
}

impl<'a> Expected<'a> {
    pub(super) fn new(index: u64, number: u32, options: &'a OpenOptions) -> Self {
        Self { place: Place { index, number }, options }
    }

    /// Returns the options that its block must match.
    pub(super) fn options(&self) -> OpenOptions {
        let context = index::partition_context(self.options.context(), self.place.number);
        self.options.clone().with_context(context)
    }
}

/// The reason why a loaded partition does not answer.
pub enum Unusable {
    /// Its bytes are not the partition's block.
    Decode(DecodeError),
    /// It was opened as the partition of this number, or of another index.
    Other(u32),
}

/// A lookup in one partition of a filter of keys.
#[derive(Clone, Copy)]
pub enum KeyQuery<'a> {
    Key(&'a [u8]),
    Prefix(&'a [u8]),
    Row(&'a [u8]),
    Cell(&'a [u8], &'a [u8]),
    Entry(&'a [u8]),
}

/// A lookup in one partition of a filter of ranges.
#[derive(Clone, Copy)]
pub enum RangeQuery<'a> {
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}

/// Filters of keys or of ranges.
pub trait Family {
    /// A lookup in one partition.
    type Query<'a>;
}

/// Filters of keys.
#[derive(Debug)]
pub enum OfKeys {}

/// Filters of ranges.
#[derive(Debug)]
pub enum OfRanges {}

impl Family for OfKeys {
    type Query<'a> = KeyQuery<'a>;
}

impl Family for OfRanges {
    type Query<'a> = RangeQuery<'a>;
}

/// The partition is given as bytes.
#[derive(Debug)]
pub enum AsBytes {}

/// The partition is given as an [`OpenedPartition`] over a `B`.
#[derive(Debug)]
pub struct AsOpened<B>(PhantomData<B>);

/// The types that the function that loads a partition may return: its block's bytes (all that is `AsRef<[u8]>`), which
/// are then opened and verified, or a reference, an `Arc` or another pointer to an [`OpenedPartition`], of the same
/// family. The compiler infers both parameters. It cannot be implemented by other crates.
pub trait LoadedPartition<F: Family, Form> {
    /// Answers if this is the expected partition.
    #[doc(hidden)]
    fn answer(&self, expected: Expected<'_>, query: F::Query<'_>) -> Result<bool, Unusable>;
}

impl<P: AsRef<[u8]>> LoadedPartition<OfKeys, AsBytes> for P {
    #[inline]
    fn answer(&self, expected: Expected<'_>, query: KeyQuery<'_>) -> Result<bool, Unusable> {
        match expected.options().open(self.as_ref()) {
            Ok(filter) => Ok(answer_key(&filter, query)),
            Err(error) => Err(Unusable::Decode(error)),
        }
    }
}

impl<B: AsRef<[u8]>, P: Deref<Target = OpenedPartition<FilterBlock<B>>>> LoadedPartition<OfKeys, AsOpened<B>> for P {
    #[inline]
    fn answer(&self, expected: Expected<'_>, query: KeyQuery<'_>) -> Result<bool, Unusable> {
        match self.place == expected.place {
            true => Ok(answer_key(&self.filter, query)),
            false => Err(Unusable::Other(self.place.number)),
        }
    }
}

impl<P: AsRef<[u8]>> LoadedPartition<OfRanges, AsBytes> for P {
    #[inline]
    fn answer(&self, expected: Expected<'_>, query: RangeQuery<'_>) -> Result<bool, Unusable> {
        match RangeFilter::open(self.as_ref(), &expected.options()) {
            Ok(filter) => Ok(answer_range(&filter, query)),
            Err(error) => Err(Unusable::Decode(error)),
        }
    }
}

impl<B: AsRef<[u8]>, P: Deref<Target = OpenedPartition<RangeFilter<B>>>> LoadedPartition<OfRanges, AsOpened<B>> for P {
    #[inline]
    fn answer(&self, expected: Expected<'_>, query: RangeQuery<'_>) -> Result<bool, Unusable> {
        match self.place == expected.place {
            true => Ok(answer_range(&self.filter, query)),
            false => Err(Unusable::Other(self.place.number)),
        }
    }
}

#[inline]
fn answer_key<B: AsRef<[u8]>>(filter: &FilterBlock<B>, query: KeyQuery<'_>) -> bool {
    match query {
        KeyQuery::Key(key) => filter.may_contain(key),
        KeyQuery::Prefix(key) => filter.may_contain_prefix(key),
        KeyQuery::Row(row) => filter.may_contain_row(row),
        KeyQuery::Cell(row, column) => filter.may_contain_row_column(row, column),
        KeyQuery::Entry(entry) => filter.may_contain_entry(entry),
    }
}

#[inline]
fn answer_range<B: AsRef<[u8]>>(filter: &RangeFilter<B>, query: RangeQuery<'_>) -> bool {
    match query {
        RangeQuery::Range(lower, upper) => filter.may_contain_range(lower, upper),
        RangeQuery::Prefix(prefix) => filter.may_contain_prefix(prefix),
    }
}
