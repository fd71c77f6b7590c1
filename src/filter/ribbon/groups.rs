//! The hashes of a layer in the order of their insertion: grouped in one pass over all, then part by part.

use super::BUCKET;
use super::layer::Layer;
use super::sizing::STRETCH;
use super::turns::IN_TURNS;
use crate::hash::fast_range;
use crate::hash_set::{MAX_PARTS, Partitions};
use std::vec::Vec;

/// The logarithm of the slots of a part, unless there would be too many parts. A part's hashes are put in order in a
/// level-1 cache.
const MIN_LOG2_PART: u32 = 11;

/// The hashes in parts of neighbouring slots. A group of parts has the hashes of some whole stretches.
pub(super) struct Groups<'a> {
    parts: Partitions<'a>,
    num_parts: usize,
    log2_part: u32,
    num_starts: u64,
}

/// The hashes of a group in the order of insertion: bucket by bucket, and in each the last starts first.
#[derive(Default)]
pub(super) struct Group {
    /// The hashes, followed by leftovers of earlier groups.
    pub(super) hashes: Vec<u64>,
    /// The number of hashes in each bucket.
    pub(super) per_bucket: Vec<usize>,
    /// The hashes of a part, before they are put in order.
    part: Vec<u64>,
    /// For each start in the part the number of its hashes, and later the place of the next one.
    places: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// Reorders `hashes`, which enter `layer`.
    pub(super) fn new(layer: &Layer, hashes: &'a mut [u64]) -> Self {
        let num_starts = layer.num_starts;
        let mut log2_part = MIN_LOG2_PART;
        while num_starts.div_ceil(1 << log2_part) > MAX_PARTS as u64 {
            log2_part += 1;
        }
        let num_parts = num_starts.div_ceil(1 << log2_part) as usize;
        let part_of = |hash| (fast_range(hash, num_starts) >> log2_part) as usize;
        Self { parts: Partitions::new(hashes, num_parts, part_of), num_parts, log2_part, num_starts }
    }

    /// The number of stretches of a group; the last group may have fewer.
    pub(super) fn num_stretches(&self) -> usize {
        IN_TURNS.max(1 << self.log2_part.saturating_sub(STRETCH.ilog2()))
    }

    /// Replaces the contents of `into` by group `index`. (The order of hashes with the same start decides nothing, see
    /// the [module](super).)
    pub(super) fn gather(&self, index: usize, into: &mut Group) {
        into.per_bucket.clear();
        let mut end = 0;
        let num_parts = (self.num_stretches() * STRETCH as usize) >> self.log2_part;
        for part in (index * num_parts..self.num_parts).take(num_parts) {
            self.parts.gather(part, &mut into.part);
            end = into.append_part(end, 1 << self.log2_part, |hash| fast_range(hash, self.num_starts));
        }
    }
}

impl Group {
    /// Puts the hashes of a part of `num_slots` after the first `end` hashes, by their starts. Returns the new end.
    fn append_part(&mut self, mut end: usize, num_slots: usize, start_of: impl Fn(u64) -> u64) -> usize {
        let Self { hashes, per_bucket, part, places } = self;
        // This reverses the order within a bucket only.
        let place_of = |hash| (start_of(hash) ^ (BUCKET - 1)) as usize & (num_slots - 1);
        places.clear();
        places.resize(num_slots, 0);
        part.iter().for_each(|&hash| places[place_of(hash)] += 1);
        for bucket in places.chunks_exact_mut(BUCKET as usize) {
            let begin = end;
            for place in bucket {
                (*place, end) = (end, end + *place);
            }
            per_bucket.push(end - begin);
        }
        hashes.resize(hashes.len().max(end), 0);
        for &hash in &*part {
            let place = &mut places[place_of(hash)];
            hashes[*place] = hash;
            *place += 1;
        }
        end
    }
}
