//! Large filters: bits are set window by window, each while it is in a level-2 cache.
//!
//! Hashes are grouped in place by the place of their first bit. Group by group, repeated hashes are searched, the first
//! bits are set, and the positions of the others are put on lists, one for each window of the array. Whenever the lists
//! have an eighth of all positions, their bits are set, window by window. The lists take half a byte for each position:
//! 3.5 bytes an entry at 10 bits an entry.

use super::Params;
use super::build::{count_ones, set};
use crate::build::{MAX_PARTS, Partitions, Repeated, Tally, check_part, fault, group_blocks};
use crate::bytes;
use crate::cpu::prefetch;
use crate::hash::KeyHash;
use crate::keys::kinds::seam::{Hashes, Mode};
use core::ops::RangeInclusive;
use std::vec::Vec;

/// The lengths of arrays that are built like this: shorter ones are built faster in the order of the hashes, and in
/// longer ones positions in a window would take more than 32 bits. Tests build small ones, too.
pub(super) const LENGTHS: RangeInclusive<u64> = (if cfg!(test) { 1 << 14 } else { 16 << 20 })..=1 << 37;

/// The least length of the part of the array in which the first bits of a group are.
const MIN_PART_LEN: u64 = if cfg!(test) { 1 << 8 } else { 1 << 15 };
/// The number of parts of a window.
const WINDOW_PARTS: usize = 2;
/// The lists have this share of all positions before their bits are set.
const NUM_ROUNDS: usize = 8;
/// The number of hashes after which the length of the lists is compared with that share.
const CHUNK: usize = if cfg!(test) { 64 } else { 1 << 14 };
/// The number of positions per block of a list: a page of memory.
const BLOCK: usize = 1024;
/// The number of positions per cache line.
const LINE: usize = 16;

/// Sets the bits of `hashes`. Returns whether all hashes and positions were seen again, and as many bits are set as
/// were set for the first time.
pub(super) fn insert(params: Params, bits: &mut [u8], hashes: Hashes<'_>, mode: Mode) -> Result<bool, Repeated> {
    let part_len = params.payload_len().div_ceil(MAX_PARTS as u64).next_power_of_two().max(MIN_PART_LEN);
    let (part_shift, part_len) = ((part_len * 8).trailing_zeros(), part_len as usize);
    let num_parts = bits.len().div_ceil(part_len);
    let Hashes { hashes, all, .. } = hashes;
    let part_of = |hash| (params.positions(KeyHash::from_raw(hash)).next().unwrap_or(0) >> part_shift) as usize;
    let max_listed = hashes.len().div_ceil(NUM_ROUNDS) * params.num_probes as usize;
    let partitions = Partitions::new(hashes, num_parts, part_of);
    let mut lists = Lists::new(params, bits.len().div_ceil(part_len * WINDOW_PARTS), part_shift, max_listed);
    let (mut keys, mut found) = (Vec::new(), Tally::default());
    for part in 0..num_parts {
        partitions.gather(part, &mut keys);
        check_part(&keys)?;
        found = found + Tally::of(keys.iter().copied());
        for keys in keys.chunks(CHUNK) {
            lists.insert(keys, bits);
            if lists.owners.len() * BLOCK > max_listed {
                lists.apply(bits, mode);
            }
        }
    }
    lists.apply(bits, mode);
    bits.chunks_mut(part_len).for_each(fault::inject);
    let all_applied = found == all && lists.listed == lists.applied;
    Ok(mode.checks && all_applied && lists.num_set == count_ones(bits))
}

/// Lists of positions, one for each window.
struct Lists {
    params: Params,
    part_shift: u32,
    /// Blocks of [`BLOCK`] positions of one window each, without the number of the window.
    slots: Vec<u32>,
    /// The windows of the blocks.
    owners: Vec<u16>,
    /// The slot of each window's next position.
    next: Vec<usize>,
    /// The positions that were put on lists, and the positions whose bits were set.
    listed: Tally,
    applied: Tally,
    /// The number of bits that were set for the first time.
    num_set: u64,
}

impl Lists {
    fn new(params: Params, num_windows: usize, part_shift: u32, max_listed: usize) -> Self {
        // Each window has a block that is not full, and the chunk by which lists are too long also goes to blocks.
        let chunk = CHUNK * params.num_probes as usize;
        let num_blocks = (max_listed + chunk) / BLOCK + num_windows + 2;
        let mut lists = Self {
            params,
            part_shift,
            slots: std::vec![0; num_blocks * BLOCK],
            owners: Vec::with_capacity(num_blocks),
            next: std::vec![0; num_windows],
            listed: Tally::default(),
            applied: Tally::default(),
            num_set: 0,
        };
        lists.clear();
        lists
    }

    fn window_shift(&self) -> u32 {
        self.part_shift + WINDOW_PARTS.trailing_zeros()
    }

    /// Gives each window an empty block.
    fn clear(&mut self) {
        self.owners.clear();
        for (window, next) in self.next.iter_mut().enumerate() {
            *next = self.owners.len() * BLOCK;
            self.owners.push(window as u16);
        }
    }

    /// Sets the first bits of `keys`, and puts the other positions on lists.
    fn insert(&mut self, keys: &[u64], bits: &mut [u8]) {
        let params = self.params;
        match params.num_probes {
            7 => self.insert_by(Params { num_probes: 7, ..params }, keys, bits),
            8 => self.insert_by(Params { num_probes: 8, ..params }, keys, bits),
            11 => self.insert_by(Params { num_probes: 11, ..params }, keys, bits),
            _ => self.insert_by(params, keys, bits),
        }
    }

    #[inline(always)]
    fn insert_by(&mut self, params: Params, keys: &[u64], bits: &mut [u8]) {
        let shift = self.window_shift();
        let mask = (1 << shift) - 1;
        let (slots, next) = (&mut self.slots[..], &mut self.next[..]);
        let mut sum = 0u64;
        for &key in keys {
            let mut positions = params.positions(KeyHash::from_raw(key));
            self.num_set += set(bits, positions.next().into_iter());
            for position in positions {
                let window = (position >> shift) as usize;
                let at = next[window];
                let offset = position & mask;
                slots[at] = offset as u32;
                sum = sum.wrapping_add(weighted(window, offset));
                if at % LINE == 0 {
                    prefetch(slots, at + LINE);
                }
                next[window] = at + 1;
                if (at + 1) % BLOCK == 0 {
                    next[window] = self.owners.len() * BLOCK;
                    self.owners.push(window as u16);
                }
            }
        }
        self.listed = self.listed + Tally::new(keys.len() * (params.num_probes as usize - 1), sum);
    }

    /// Sets the bits of the listed positions, and empties the lists.
    fn apply(&mut self, bits: &mut [u8], _mode: Mode) {
        let (starts, blocks) = group_blocks(&self.owners, self.next.len());
        let apply_window = |(window, bits): (usize, &mut [u8])| {
            let (mut num_set, mut sum, mut num) = (0, 0u64, 0);
            (0..bits.len()).step_by(64).for_each(|at| prefetch(bits, at));
            for &block in &blocks[starts[window]..starts[window + 1]] {
                let (start, next) = (block * BLOCK, self.next[window]);
                // The list ends in the block that is not full.
                let end = if next / BLOCK == block { next } else { start + BLOCK };
                let offsets = &self.slots[start..end];
                num_set += set_in_words(bits, offsets);
                num += offsets.len();
                sum += offsets.iter().map(|&offset| u64::from(offset)).sum::<u64>();
            }
            (num_set, Tally::new(num, weighted(window, sum)))
        };
        let add = |a: (u64, Tally), b: (u64, Tally)| (a.0 + b.0, a.1 + b.1);
        let window_len = 1 << (self.window_shift() - 3);
        let (num_set, applied) = match _mode.parallel {
            #[cfg(feature = "rayon")]
            true => {
                use rayon::prelude::*;
                let windows = bits.par_chunks_mut(window_len).enumerate().map(apply_window);
                windows.reduce(Default::default, add)
            }
            _ => bits.chunks_mut(window_len).enumerate().map(apply_window).fold(Default::default(), add),
        };
        (self.num_set, self.applied) = (self.num_set + num_set, self.applied + applied);
        self.clear();
    }
}

/// Returns the weight in a tally of offsets in a window with this sum. It is not a sum of offset and window, so that
/// lists of equal length in each other's window do not cancel.
#[inline(always)]
fn weighted(window: usize, sum: u64) -> u64 {
    (window as u64 + 1).wrapping_mul(sum)
}

/// Sets the bits at `offsets`; returns the number of those that were not set before. (Bytes of which bits are set would
/// make each step wait for the one before on some processors.)
fn set_in_words(bits: &mut [u8], offsets: &[u32]) -> u64 {
    offsets.iter().fold(0, |num_set, &offset| {
        let (at, bit) = ((offset / 64 * 8) as usize, offset % 64);
        let Some(place) = bits.get_mut(at..at + 8) else {
            return num_set + set(bits, core::iter::once(u64::from(offset)));
        };
        let word = bytes::u64_at(place, 0);
        bytes::put_u64(place, 0, word | 1 << bit);
        num_set + (!word >> bit & 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    /// The check compares what was listed with what was applied: blocks in each other's window must not cancel.
    #[test]
    fn blocks_of_other_windows_are_noticed() {
        for num_swapped in [0, 2] {
            let params = Params { num_probes: 7, num_bits: 1 << 16 };
            let (keys, mut bits): (Vec<u64>, _) = ((0..4_000).map(mix).collect(), std::vec![0; 1 << 13]);
            let mut lists = Lists::new(params, 2, 14, 6 * keys.len());
            lists.insert(&keys, &mut bits);
            // The first blocks of both windows are full.
            lists.owners[..num_swapped].reverse();
            lists.apply(&mut bits, Mode::default());
            assert_eq!(lists.listed == lists.applied, num_swapped == 0);
        }
    }
}
