//! The hashes by groups of neighbouring segments, in ascending order.

use super::slots::Slots;
#[cfg(test)]
use crate::build::loss;
use crate::build::{MAX_PARTS, Partitions};
use crate::hash::fast_range;

/// The least number of hashes of a group, on average: all of them are compared for each one that is set aside.
const GROUP: usize = 64;
/// The greatest number of hashes whose table stays in a cache in any order.
const MAX_UNGROUPED: usize = 1 << 14;

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

    /// Calls `f` with all hashes, list by list; lists from large sets ascend group by group.
    pub(super) fn for_each(&self, mut f: impl FnMut(&[u64])) {
        #[cfg(test)]
        let mut f = |hashes: &[u64]| f(&hashes[usize::from(loss::strikes(hashes.len()))..]);
        match self.partitions.hashes() {
            few if few.len() <= MAX_UNGROUPED => f(few),
            _ => (0..self.num_groups).for_each(|group| self.partitions.pieces(group).for_each(&mut f)),
        }
    }

    /// Returns the least of the hashes that start in `slot` and of which `holds` is true.
    pub(super) fn least(&self, slots: &Slots, slot: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
        // The group of the least hash that starts there, or the one before it.
        let first = (slot * self.num_groups as u64 / slots.num_starts()) as usize;
        (first..self.num_groups).find_map(|group| {
            let mut least = None;
            for &hash in self.partitions.pieces(group).flatten() {
                if slots.start(hash) == slot && holds(hash) {
                    least = Some(least.map_or(hash, |least: u64| least.min(hash)));
                }
            }
            least
        })
    }
}
