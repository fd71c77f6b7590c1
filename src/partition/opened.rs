//! Partitions that are opened once and kept, and what the function that loads a partition may return.

use super::error::Unusable;
use super::family::{Family, Filter};
use super::index;
use crate::frame::OpenOptions;
use crate::query::Query;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

/// A partition that was opened once: what an engine keeps in its cache, so that a lookup neither opens nor verifies the
/// block again. `F` is a [`FilterBlock`](crate::FilterBlock) or a [`RangeFilter`](crate::range::RangeFilter) that owns or
/// borrows the bytes.
///
/// It is made by [`Partitioned::open_partition_owned`](super::Partitioned::open_partition_owned) and returned, by
/// reference or in an `Arc`, by the function that loads partitions for a lookup. It knows
/// the index and the number that it was opened for: a lookup that receives one of another number, or of an index of other
/// bytes, ends in an [error](super::PartitionError::WrongPartition), which is *maybe*.
///
/// Indexes of two tables have the same bytes if the tables have the same context, the same separators and as many keys
/// in each partition. So the context must be another one for each state of a table's file, and the cache must drop the
/// partitions of a file that was replaced: otherwise a lookup answers from the wrong partition, and denies stored keys.
///
/// ```
/// use filterblock::partition::{OpenedPartition, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
/// use filterblock::{FilterBlock, FilterPolicy, OpenOptions, Query};
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
///     let answer = filter.may_match(Query::Key(key), |partition| {
///         if let Some(opened) = cache.get(&(42, partition.number)) {
///             return Ok(Arc::clone(opened)); // nothing is parsed or verified
///         }
///         let block = file[partition.offset as usize..][..partition.len as usize].to_vec(); // a read of the file
///         let opened = Arc::new(filter.open_partition_owned(partition, block)?);
///         cache.insert((42, partition.number), Arc::clone(&opened));
///         Ok::<_, filterblock::DecodeError>(opened)
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

/// The partition is given as bytes.
#[derive(Debug)]
pub enum AsBytes {}

/// The partition is given as an [`OpenedPartition`] of the filter `O`.
#[derive(Debug)]
pub struct AsOpened<O>(PhantomData<O>);

/// The types that the function that loads a partition may return: its block's bytes (all that is `AsRef<[u8]>`), which
/// are then opened and verified, or a reference, an `Arc` or another pointer to an [`OpenedPartition`], of the same
/// family. The compiler infers both parameters. It cannot be implemented by other crates.
pub trait LoadedPartition<F: Family, Form> {
    /// Answers if this is the expected partition.
    #[doc(hidden)]
    fn answer(&self, expected: Expected<'_>, query: Query<'_>) -> Result<bool, Unusable>;
}

impl<F: Family, P: AsRef<[u8]>> LoadedPartition<F, AsBytes> for P {
    #[inline]
    fn answer(&self, expected: Expected<'_>, query: Query<'_>) -> Result<bool, Unusable> {
        match F::open(&expected.options(), self.as_ref()) {
            Ok(filter) => Ok(filter.may_match(query)),
            Err(error) => Err(Unusable::Decode(error)),
        }
    }
}

impl<O: Filter, P: Deref<Target = OpenedPartition<O>>> LoadedPartition<O::Family, AsOpened<O>> for P {
    #[inline]
    fn answer(&self, expected: Expected<'_>, query: Query<'_>) -> Result<bool, Unusable> {
        match self.place == expected.place {
            true => Ok(self.filter.may_match(query)),
            false => Err(Unusable::Other(self.place.number)),
        }
    }
}
