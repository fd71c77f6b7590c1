//! Peeling: the order in which entries are taken away, and the slot that each of them owns. The [parent](super)
//! explains it.

use super::slots::{Slots, fingerprint};
use super::{ARITY, Layout};
use crate::cpu::prefetch;
use crate::hash::fast_range;
use crate::hash_set::{MAX_PARTS, Partitions};
use std::vec::Vec;

/// The greatest number of hashes for which the table stays in a cache in any order.
const MAX_UNGROUPED: usize = 1 << 14;

/// The number of entries whose sums are prefetched before they are needed.
const AHEAD: usize = 16;

/// A slot's number, in as few bytes as the table allows.
pub(super) trait Index: Copy {
    fn new(slot: u64) -> Self;
    fn get(self) -> usize;
}

impl Index for u32 {
    fn new(slot: u64) -> Self {
        slot as u32
    }

    fn get(self) -> usize {
        self as usize
    }
}

impl Index for u64 {
    fn new(slot: u64) -> Self {
        slot
    }

    fn get(self) -> usize {
        self as usize
    }
}

/// The entries of each slot, and the order in which they are taken away. It takes 9 bytes a slot, and the bytes of a
/// slot's number.
pub(super) struct Peeling<I> {
    slots: Slots,
    counts: Vec<u8>,
    /// The sum (XOR) of each slot's hashes under the seed. Once all are taken away, an entry's own slot has its hash.
    sums: Vec<u64>,
    /// The slot of each entry, in the order in which they were taken away.
    own: Vec<I>,
}

impl<I: Index> Peeling<I> {
    pub(super) fn new(slots: Slots, num_slots: usize) -> Self {
        Self { slots, counts: std::vec![0; num_slots], sums: std::vec![0; num_slots], own: Vec::new() }
    }

    /// Takes away all of `hashes`, which are under the seed and may be reordered. Returns whether that was possible,
    /// which depends on their set alone, not on their order.
    pub(super) fn peel(&mut self, hashes: &mut [u64]) -> bool {
        let num_hashes = hashes.len();
        self.add_all(hashes) && self.take_away(num_hashes)
    }

    /// Writes the contents of all slots to `payload`, which is zero. From the entry taken away last to the first, an
    /// entry's own slot gets the contents that make its four add up to its fingerprint.
    pub(super) fn solve(&self, layout: &Layout, payload: &mut [u8]) {
        match layout.fingerprint_bits {
            8 => self.solve_by::<true>(layout, payload),
            _ => self.solve_by::<false>(layout, payload),
        }
    }

    fn solve_by<const IN_BYTES: bool>(&self, layout: &Layout, payload: &mut [u8]) {
        for (index, own) in self.own.iter().enumerate().rev() {
            if let Some(own) = self.own.get(index.wrapping_sub(AHEAD)) {
                prefetch(&self.sums, own.get());
            }
            let hash = self.sums[own.get()];
            // The own slot is still zero.
            let read = |sum, slot| sum ^ layout.read::<IN_BYTES>(payload, slot);
            let contents = self.slots.of(hash).into_iter().fold(fingerprint(hash), read);
            layout.write::<IN_BYTES>(payload, own.get() as u64, contents);
        }
    }

    /// Adds hashes by groups of neighbouring segments, so that slots are counted in a cache. Returns `false` if a slot
    /// has more than can be counted.
    fn add_all(&mut self, hashes: &mut [u64]) -> bool {
        if hashes.len() <= MAX_UNGROUPED {
            return self.add(hashes);
        }
        let num_parts = (hashes.len() / (MAX_UNGROUPED / 4)).min(MAX_PARTS);
        let partitions = Partitions::new(hashes, num_parts, |hash| fast_range(hash, num_parts as u64) as usize);
        let mut group = Vec::new();
        (0..num_parts).all(|part| {
            partitions.gather(part, &mut group);
            self.add(&group)
        })
    }

    fn add(&mut self, hashes: &[u64]) -> bool {
        let mut is_counted = true;
        for &hash in hashes {
            for slot in self.slots.of(hash) {
                let (count, sum) = (&mut self.counts[slot as usize], &mut self.sums[slot as usize]);
                is_counted &= *count < u8::MAX;
                (*count, *sum) = (count.wrapping_add(1), *sum ^ hash);
            }
        }
        is_counted
    }

    /// Takes entries away segment by segment, from the first slot to the last, then by the slots that these leave to
    /// one entry, in turn. (The slots at hand are independent of each other, so that the processor overlaps them, and
    /// they are in few segments.)
    fn take_away(&mut self, num_hashes: usize) -> bool {
        let Self { slots, counts, sums, own } = self;
        // `own` has the slots taken and then, from `next` to `end`, slots that were alone when they were listed. None
        // is listed twice: a slot is alone when its segment is reached, or becomes so later; all that did so before are
        // taken by then.
        own.resize(counts.len() + ARITY, I::new(0));
        let mut num_taken = 0;
        for segment in (0..counts.len()).step_by(slots.segment_len()) {
            let (mut next, mut end) = (num_taken, num_taken);
            for (slot, &count) in (segment as u64..).zip(&counts[segment..][..slots.segment_len()]) {
                own[end] = I::new(slot);
                end += usize::from(count == 1);
            }
            while next < end {
                let slot = own[next];
                next += 1;
                if counts[slot.get()] != 1 {
                    continue;
                }
                own[num_taken] = slot;
                num_taken += 1;
                let hash = sums[slot.get()];
                // To avoid unpredictable branches, the own slot loses the hash, too, and each place is written.
                for other in slots.of(hash) {
                    let (count, sum) = (&mut counts[other as usize], &mut sums[other as usize]);
                    (*count, *sum) = (*count - 1, *sum ^ hash);
                    own[end] = I::new(other);
                    end += usize::from(*count == 1);
                }
                sums[slot.get()] = hash;
            }
        }
        own.truncate(num_taken);
        num_taken == num_hashes
    }
}
