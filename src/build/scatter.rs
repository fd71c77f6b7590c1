//! Groups hashes by part of a table, in place: each part's hashes are then together, and a build writes each cache line
//! of its output while that line is in the cache.
//!
//! Window by window, hashes are grouped in other memory, which stays in a level-2 cache, and copied back. A part is then
//! a piece of each window. At a million hashes this takes two thirds of the time of filling a block of 32 hashes for
//! each part, and writing full blocks over hashes that have been read; a counting sort of all hashes takes several times
//! as long, and 16 bytes an entry.

use super::groups::Groups;
use core::iter::once;
use std::vec::Vec;

/// The number of hashes of a window.
const WINDOW: usize = 1 << 16;
/// The greatest number of parts: a window has some lines of hashes of each.
pub(crate) const MAX_PARTS: usize = 1 << 10;

/// The hashes, grouped by part.
pub(crate) struct Partitions<'a> {
    /// The windows, each of them part by part.
    hashes: &'a [u64],
    /// The start of each part in each window, and, as one more element, the end of the last.
    starts: Vec<usize>,
    num_parts: usize,
}

impl<'a> Partitions<'a> {
    /// Reorders `hashes` by `part_of`, which returns a number below `num_parts`; that is at most [`MAX_PARTS`].
    pub(crate) fn new(hashes: &'a mut [u64], num_parts: usize, part_of: impl Fn(u64) -> usize + Copy) -> Self {
        assert!((1..=MAX_PARTS).contains(&num_parts));
        if num_parts == 1 {
            return Self { starts: std::vec![0, hashes.len()], hashes, num_parts };
        }
        let (mut groups, mut end) = (Groups::default(), 0);
        let mut starts = Vec::with_capacity(hashes.len().div_ceil(WINDOW) * num_parts + 1);
        starts.push(0);
        for window in hashes.chunks_mut(WINDOW) {
            groups.group(|| once(&*window), num_parts, part_of);
            let mut rest = window;
            for of_part in groups.iter() {
                let (place, behind) = rest.split_at_mut(of_part.len());
                place.copy_from_slice(of_part);
                rest = behind;
                end += of_part.len();
                starts.push(end);
            }
        }
        Self { hashes, starts, num_parts }
    }

    /// Returns all hashes, in any order.
    pub(crate) const fn hashes(&self) -> &[u64] {
        self.hashes
    }

    /// Returns the hashes of `part`, in their original order.
    pub(crate) fn pieces(&self, part: usize) -> impl Iterator<Item = &[u64]> {
        let every = |first| self.starts.iter().skip(first).step_by(self.num_parts);
        every(part).zip(every(part + 1)).map(|(&start, &end)| &self.hashes[start..end])
    }

    /// Replaces the contents of `into` by the hashes of `part`, in their original order.
    pub(crate) fn gather(&self, part: usize, into: &mut Vec<u64>) {
        into.clear();
        self.pieces(part).for_each(|piece| into.extend_from_slice(piece));
        #[cfg(test)]
        super::loss::strike(into);
    }
}

/// Returns the blocks of each part, by a counting sort of their owners: the starts of each part's blocks, and the
/// blocks' numbers.
pub(crate) fn group_blocks(owners: &[u16], num_parts: usize) -> (Vec<usize>, Vec<usize>) {
    let mut starts = std::vec![0; num_parts + 1];
    owners.iter().for_each(|&part| starts[usize::from(part) + 1] += 1);
    for part in 0..num_parts {
        starts[part + 1] += starts[part];
    }
    let (mut next, mut blocks) = (starts.clone(), std::vec![0; owners.len()]);
    for (block, &part) in owners.iter().enumerate() {
        blocks[next[usize::from(part)]] = block;
        next[usize::from(part)] += 1;
    }
    (starts, blocks)
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARTS, Partitions, WINDOW};
    use crate::hash::mix;

    /// Each part gets its hashes in their order and none is lost, if a part fills no block, one or many.
    #[test]
    fn parts_hold_their_hashes_in_order() {
        for num_parts in [1, 2, 7, 100, MAX_PARTS] {
            for len in [0, 1, 1_000, WINDOW - 1, WINDOW, WINDOW + 1, 200_000] {
                let part_of = |hash: u64| (hash % 11 * (hash >> 8)) as usize % num_parts;
                let original: Vec<u64> = (0..len as u64).map(mix).collect();
                let mut hashes = original.clone();
                let partitions = Partitions::new(&mut hashes, num_parts, part_of);
                let mut found = Vec::new();
                for part in 0..num_parts {
                    partitions.gather(part, &mut found);
                    let expected = original.iter().copied().filter(|&hash| part_of(hash) == part);
                    assert!(expected.eq(found.iter().copied()), "part {part} of {num_parts}, {len} hashes");
                }
                hashes.sort_unstable();
                let mut sorted = original;
                sorted.sort_unstable();
                assert_eq!(hashes, sorted, "nothing is lost");
            }
        }
    }
}
