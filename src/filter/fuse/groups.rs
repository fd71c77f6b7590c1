//! The hashes by groups of neighbouring segments, in ascending order.

use crate::hash::fast_range;
use crate::hash_set::{MAX_PARTS, Partitions};
use std::vec::Vec;

/// The least number of hashes of a group, on average.
const GROUP: usize = 256;

/// The number of ranges of hashes of a group: those of one are sorted when one of them is to be set aside.
const RANGES: u64 = 4;

pub(super) struct Groups<'a> {
    partitions: Partitions<'a>,
    num_groups: usize,
}

impl<'a> Groups<'a> {
    /// Reorders the hashes.
    pub(super) fn new(hashes: &'a mut [u64]) -> Self {
        let num_groups = (hashes.len() / GROUP).clamp(1, MAX_PARTS);
        let group_of = |hash| fast_range(hash, num_groups as u64) as usize;
        Self { partitions: Partitions::new(hashes, num_groups, group_of), num_groups }
    }

    /// Returns whether `holds` is true of each group, in ascending order, up to the first of which it is not.
    pub(super) fn all(&self, mut holds: impl FnMut(&[u64]) -> bool) -> bool {
        let mut group = Vec::new();
        (0..self.num_groups).all(|index| {
            self.partitions.gather(index, &mut group);
            holds(&group)
        })
    }

    const fn num_ranges(&self) -> u64 {
        self.num_groups as u64 * RANGES
    }

    /// Returns the number of the range of hashes that has `hash`.
    pub(super) const fn range_of(&self, hash: u64) -> u64 {
        fast_range(hash, self.num_ranges())
    }

    /// Replaces the contents of `into` by the hashes of a range, and returns whether there is such a range.
    pub(super) fn gather(&self, range: u64, into: &mut Vec<u64>) -> bool {
        into.clear();
        if range < self.num_ranges() {
            self.partitions.gather((range / RANGES) as usize, into);
            into.retain(|&hash| self.range_of(hash) == range);
        }
        range < self.num_ranges()
    }
}
