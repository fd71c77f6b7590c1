//! The hashes of a layer in the order of their insertion: grouped in one pass over all, and in a second one over parts of
//! large layers.
//!
//! No count is kept in memory of the next place of each start, as a counting sort does: it took three times as long.

use super::layer::Layer;
use super::sizing::STRETCH;
use super::{BUCKET, LIMITS};
use crate::build::{MAX_PARTS, Partitions};
use crate::hash::fast_range;
use core::iter::once;
use std::vec::Vec;

/// The logarithm of the least slots of a part, unless parts are buckets. A part's hashes stay in a cache.
const MIN_LOG2_PART: u32 = 13;

/// The most hashes of a bucket for which there is memory besides: random sets have no more.
const MAX_BUCKET: usize = 1024;

/// The hashes in parts of neighbouring slots. A group of parts has the hashes of some whole stretches.
pub(super) struct Groups<'a> {
    parts: Partitions<'a>,
    num_parts: usize,
    log2_part: u32,
    num_starts: u64,
}

/// The hashes of a group in the order of insertion: bucket by bucket, and in each class by class.
#[derive(Default)]
pub(super) struct Group {
    /// The hashes, followed by leftovers of earlier groups.
    pub(super) hashes: Vec<u64>,
    /// The number of hashes in each bucket.
    pub(super) per_bucket: Vec<usize>,
    /// The hashes of a part, and of a bucket.
    part: Vec<u64>,
    bucket: Vec<u64>,
    /// Memory for the hashes of a bucket that are bumped first, and second.
    classes: [Vec<u64>; 2],
}

impl<'a> Groups<'a> {
    /// Reorders `hashes`, which enter `layer`.
    pub(super) fn new(layer: &Layer, hashes: &'a mut [u64]) -> Self {
        let num_starts = layer.num_starts;
        let num_parts = |log2_part: u32| num_starts.div_ceil(1 << log2_part) as usize;
        let mut sizes = once(BUCKET.ilog2()).chain(MIN_LOG2_PART..);
        let log2_part = sizes.find(|&size| num_parts(size) <= MAX_PARTS).expect("slots are numbered in 38 bits");
        let num_parts = num_parts(log2_part);
        let part_of = |hash| (fast_range(hash, num_starts) >> log2_part) as usize;
        Self { parts: Partitions::new(hashes, num_parts, part_of), num_parts, log2_part, num_starts }
    }

    /// The number of stretches of a group; the last group may have fewer.
    pub(super) fn num_stretches(&self) -> usize {
        1 << self.log2_part.saturating_sub(STRETCH.ilog2())
    }

    /// Replaces the contents of `into` by group `index`. (The order of hashes of the same class decides nothing, see the
    /// [module](super).)
    pub(super) fn gather(&self, index: usize, into: &mut Group) {
        let Group { hashes, per_bucket, part: of_part, bucket: of_bucket, classes } = into;
        per_bucket.clear();
        let mut end = 0;
        let mut append = |of_bucket: &[u64]| {
            append_bucket(hashes, end, of_bucket, classes, |hash| fast_range(hash, self.num_starts));
            per_bucket.push(of_bucket.len());
            end += of_bucket.len();
        };
        let num_parts = (self.num_stretches() * STRETCH as usize) >> self.log2_part;
        for part in (index * num_parts..self.num_parts).take(num_parts) {
            self.parts.gather(part, of_part);
            self.split(of_part, self.log2_part, of_bucket, &mut append);
        }
    }

    /// Calls `append` with the hashes of each bucket of `of_part`, whose slots have the logarithm `log2_part`. Parts of
    /// layers with more than 2²⁷ slots have too many buckets for one step.
    fn split(&self, of_part: &mut [u64], log2_part: u32, into: &mut Vec<u64>, append: &mut impl FnMut(&[u64])) {
        let num_halvings = log2_part - BUCKET.ilog2();
        if num_halvings == 0 {
            return append(of_part);
        }
        let log2_smaller = log2_part - num_halvings.div_ceil(num_halvings.div_ceil(MAX_PARTS.ilog2()));
        let num_smaller = 1 << (log2_part - log2_smaller);
        let smaller_of = |hash| (fast_range(hash, self.num_starts) >> log2_smaller) as usize % num_smaller;
        let smaller = Partitions::new(of_part, num_smaller, smaller_of);
        let mut unused = Vec::new();
        for part in 0..num_smaller {
            smaller.gather(part, into);
            self.split(into, log2_smaller, &mut unused, append);
        }
    }
}

/// Puts the hashes of a bucket after the first `end` hashes, in the order of insertion: those last that are bumped by
/// every threshold that bumps anything, and before them those that are bumped by all but one.
fn append_bucket(
    hashes: &mut Vec<u64>,
    end: usize,
    of_bucket: &[u64],
    classes: &mut [Vec<u64>; 2],
    start_of: impl Fn(u64) -> u64,
) {
    let num = of_bucket.len();
    hashes.resize(hashes.len().max(end + num), 0);
    let class_of = |hash| {
        let distance = !start_of(hash) % BUCKET;
        (usize::from(distance >= LIMITS[1]), usize::from(distance >= LIMITS[2]))
    };
    if num > MAX_BUCKET {
        hashes[end..][..num].copy_from_slice(of_bucket);
        hashes[end..][..num].sort_unstable_by_key(|&hash| class_of(hash));
        return;
    }
    let kept_longest = &mut hashes[end..][..num];
    let [first, second] = classes.each_mut().map(|class| {
        class.resize(class.len().max(num), 0);
        &mut class[..num]
    });
    let (mut num_kept, mut num_first, mut num_second) = (0, 0, 0);
    // Every hash is written to all three, and counted in one of them: no branch depends on it.
    for &hash in of_bucket {
        let (is_first, is_either) = class_of(hash);
        (kept_longest[num_kept], first[num_first], second[num_second]) = (hash, hash, hash);
        num_kept += 1 - is_either;
        num_first += is_first;
        num_second += is_either - is_first;
    }
    let (later, latest) = kept_longest[num_kept..].split_at_mut(num_second);
    later.copy_from_slice(&second[..num_second]);
    latest.copy_from_slice(&first[..num_first]);
}

#[cfg(test)]
mod tests {
    use super::super::Params;
    use super::super::row::WIDTH;
    use super::*;
    use crate::hash::mix;

    #[test]
    fn the_groups_of_layers_of_any_size_have_their_hashes_bucket_by_bucket() {
        let params = Params { columns: 1, num_layers: 1, last_seed: 0, thinned_from: 0, wide_share: 0 };
        // Parts are buckets, or are split into buckets in one step or in two.
        for log2_slots in [12, 17, 18, 24, 27, 28, 31] {
            let layer = Layer::first(&params, (1 << log2_slots) / WIDTH + 1, 0);
            let bucket_of = |hash| (fast_range(hash, layer.num_starts) / BUCKET) as usize;
            let original: Vec<u64> = (0..100_000).map(mix).collect();
            let mut hashes = original.clone();
            let (groups, mut group) = (Groups::new(&layer, &mut hashes), Group::default());
            let buckets_of_group = groups.num_stretches() * (STRETCH / BUCKET) as usize;
            for index in [0, (layer.num_buckets() as usize - 1) / buckets_of_group] {
                groups.gather(index, &mut group);
                let of_group = |&hash: &u64| bucket_of(hash) / buckets_of_group == index;
                assert_eq!(
                    group.per_bucket.iter().sum::<usize>(),
                    original.iter().copied().filter(|hash| of_group(hash)).count()
                );
                let mut rest = &group.hashes[..];
                for (bucket, &num) in (index * buckets_of_group..).zip(&group.per_bucket) {
                    let (of_bucket, later) = rest.split_at(num);
                    assert!(of_bucket.iter().all(|&hash| bucket_of(hash) == bucket), "{log2_slots}: {bucket}");
                    rest = later;
                }
            }
        }
    }
}
