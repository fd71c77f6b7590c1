//! An opened index: from an order key to the partition that it leads to.

#[cfg(feature = "std")]
use super::heads::Heads;
use super::index::{self, Facts, Record};
use super::order;
use crate::bytes;
use crate::error::DecodeError;
use crate::frame::{HEADER_LEN, OpenOptions};
use crate::hash;
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

/// The result of a query of the index alone; see [`Partitioned::find`](super::Partitioned::find).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// The query has no entry under the filter's transform, or is one that the family does not answer: the answer is
    /// *maybe*, and there is nothing to load.
    NoEntry,
    /// The table has nothing there: the answer is *no*, and there is nothing to load.
    Absent,
    /// All keys of a partition lie in the range, or its bounds are not [in order](crate::range::are_ordered): the answer
    /// is *maybe*, and there is nothing to load.
    Present,
    /// The answer is *no* if this partition denies the range, and the second one, if there is one, does too. A query of
    /// keys has no second one, nor has one of a prefix.
    Partitions(PartitionHandle, Option<PartitionHandle>),
}

impl Lookup {
    /// Returns the answer that needs no partition; `None` if [`partitions`](Self::partitions) have it.
    #[must_use]
    #[inline]
    pub const fn answer(self) -> Option<bool> {
        match self {
            Self::NoEntry | Self::Present => Some(true),
            Self::Absent => Some(false),
            Self::Partitions(..) => None,
        }
    }

    /// Returns the partitions to be queried, none to two: the answer is *no* if all of them say so.
    #[inline]
    pub fn partitions(self) -> impl Iterator<Item = PartitionHandle> {
        let (first, second) = match self {
            Self::Partitions(first, second) => (Some(first), second),
            Self::NoEntry | Self::Absent | Self::Present => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// An index that was checked.
#[derive(Clone)]
pub struct Index<B> {
    pub(super) bytes: B,
    pub(super) facts: Facts,
    /// A hash of the header, which has the index's counts, its seed, and the digest of its records and separators, under
    /// its context.
    pub(super) identity: u64,
    #[cfg(feature = "std")]
    heads: Heads,
}

impl<B: AsRef<[u8]>> Index<B> {
    /// Checks an index of the family `tag`, and makes its heads.
    pub(super) fn open(bytes: B, tag: u8, options: &OpenOptions) -> Result<Self, DecodeError> {
        let index = bytes.as_ref();
        let facts = index::check(index, tag, options)?;
        Ok(Self {
            identity: (0..HEADER_LEN).step_by(8).fold(0, |id, at| hash::mix(id ^ bytes::u64_at(index, at))),
            #[cfg(feature = "std")]
            heads: Heads::new(index, facts.num_partitions as usize),
            facts,
            bytes,
        })
    }

    /// Returns the only partition that can have an entry at this order key. If there is none, all order keys of the
    /// table are less.
    #[inline]
    pub(super) fn find(&self, order_key: &[u8]) -> Option<PartitionHandle> {
        #[cfg(feature = "std")]
        let range = self.heads.range_of(self.bytes.as_ref(), order_key);
        #[cfg(not(feature = "std"))]
        let range = 0..self.facts.num_partitions as usize;
        self.find_by(range, |separator| separator.cmp(order_key))
    }

    /// Returns the partition of [`Index::find`] for the order key of a pair, without allocating that key.
    pub(super) fn find_pair(&self, row: &[u8], column: &[u8]) -> Option<PartitionHandle> {
        #[cfg(feature = "std")]
        let range = self.heads.range_of_bytes(self.bytes.as_ref(), order::pair(row, column));
        #[cfg(not(feature = "std"))]
        let range = 0..self.facts.num_partitions as usize;
        self.find_by(range, |separator| separator.iter().copied().cmp(order::pair(row, column)))
    }

    /// Returns the first partition whose separator is at least the order key; `None` if all separators are less.
    /// `compare` returns the order of a separator beside that key. All separators before `range` must be less, and the
    /// one after it, if there is one, must not: the search goes through `range` alone.
    #[inline]
    fn find_by(&self, range: Range<usize>, compare: impl Fn(&[u8]) -> Ordering) -> Option<PartitionHandle> {
        let (index, num_partitions) = (self.bytes.as_ref(), self.facts.num_partitions as usize);
        let Range { mut start, mut end } = range;
        while start < end {
            let middle = start + (end - start) / 2;
            match compare(index::separator(index, num_partitions, middle)) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal | Ordering::Greater => end = middle,
            }
        }
        (start < num_partitions).then(|| handle(index, start))
    }

    /// Returns all partitions, in the order of keys.
    pub(super) fn partitions(&self) -> impl DoubleEndedIterator<Item = PartitionHandle> + ExactSizeIterator + '_ {
        (0..self.facts.num_partitions as usize).map(|partition| handle(self.bytes.as_ref(), partition))
    }
}

/// Returns the handle of a partition that exists, in a checked index, whose partitions' numbers have 32 bits.
fn handle(index: &[u8], partition: usize) -> PartitionHandle {
    let Record { offset, len, .. } = Record::of(index, partition);
    PartitionHandle { number: partition as u32, offset, len }
}
