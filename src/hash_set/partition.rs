//! Groups hashes by part of a table, in place: each part's hashes are then together, and a build writes each cache line
//! of its output while that line is in the cache.
//!
//! One pass over the hashes fills a small buffer for each part and writes each full buffer as a block over hashes that
//! have already been read (software write combining; Axtmann, Witt, Ferizovic, Sanders, "In-Place Parallel Super Scalar
//! Samplesort", 2017, section 4.1). A part is then a list of blocks. This takes 8 bytes per entry and the buffers; a
//! counting sort takes 16 bytes per entry and, measured on 50 million hashes, more than three times as long.

use std::vec::Vec;

/// The number of hashes per block: four cache lines.
const BLOCK: usize = 32;
/// The greatest number of parts: their buffers stay within a level-2 cache.
pub(crate) const MAX_PARTS: usize = 1 << 10;

/// The hashes, grouped by part.
pub(crate) struct Partitions<'a> {
    /// The blocks, and then, part by part, the hashes that filled no block.
    hashes: &'a [u64],
    /// The blocks of each part: `blocks[block_starts[p]..block_starts[p + 1]]`, by their number in `hashes`.
    block_starts: Vec<usize>,
    blocks: Vec<usize>,
    /// The starts of each part's hashes that filled no block, and, as one more element, the end of the last.
    rest_starts: Vec<usize>,
}

impl<'a> Partitions<'a> {
    /// Reorders `hashes` by `part_of`, which returns a number below `num_parts`; that is at most [`MAX_PARTS`].
    pub(crate) fn new(hashes: &'a mut [u64], num_parts: usize, part_of: impl Fn(u64) -> usize) -> Self {
        assert!((1..=MAX_PARTS).contains(&num_parts));
        let mut buffers = std::vec![[0; BLOCK]; num_parts];
        let mut buffered = std::vec![0u8; num_parts];
        let mut owners: Vec<u16> = Vec::with_capacity(hashes.len() / BLOCK);
        for at in 0..hashes.len() {
            let hash = hashes[at];
            let part = part_of(hash);
            let len = usize::from(buffered[part]);
            buffers[part][len] = hash;
            if len + 1 < BLOCK {
                buffered[part] += 1;
            } else {
                // The buffers hold at least this many of the hashes up to `at`, so the space is free.
                hashes[owners.len() * BLOCK..][..BLOCK].copy_from_slice(&buffers[part]);
                owners.push(part as u16);
                buffered[part] = 0;
            }
        }
        let mut end = owners.len() * BLOCK;
        let mut rest_starts = Vec::with_capacity(num_parts + 1);
        for (buffer, &len) in buffers.iter().zip(&buffered) {
            rest_starts.push(end);
            hashes[end..][..usize::from(len)].copy_from_slice(&buffer[..usize::from(len)]);
            end += usize::from(len);
        }
        rest_starts.push(end);
        let (block_starts, blocks) = group_blocks(&owners, num_parts);
        Self { hashes, block_starts, blocks, rest_starts }
    }

    /// Replaces the contents of `into` by the hashes of `part`, in their original order. (Copying them first is faster
    /// than working through the blocks in place.)
    pub(crate) fn gather(&self, part: usize, into: &mut Vec<u64>) {
        into.clear();
        for &block in &self.blocks[self.block_starts[part]..self.block_starts[part + 1]] {
            into.extend_from_slice(&self.hashes[block * BLOCK..][..BLOCK]);
        }
        into.extend_from_slice(&self.hashes[self.rest_starts[part]..self.rest_starts[part + 1]]);
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
    use super::{BLOCK, MAX_PARTS, Partitions};
    use crate::hash::mix;

    /// Each part gets its hashes in their order and none is lost, if a part fills no block, one or many.
    #[test]
    fn parts_hold_their_hashes_in_order() {
        for num_parts in [1, 2, 7, 100, MAX_PARTS] {
            for len in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 1_000, 100_000] {
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
