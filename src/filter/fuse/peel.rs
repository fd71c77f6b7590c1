//! Peeling: the order in which entries are taken away, the slot that each of them owns, and the entries that are set
//! aside so that it goes on. The [parent](super) explains it.

use super::aside::{MAX_ASIDE, unknowns};
use super::groups::Groups;
use super::slots::{Slots, fingerprint};
use super::{ARITY, Layout};
use crate::cpu::prefetch;
use std::vec::Vec;

/// The count of a slot that an entry owns. Other slots count fewer entries.
const OWNED: u8 = u8::MAX;

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
    pub(super) slots: Slots,
    /// The number of each slot's entries, or [`OWNED`].
    counts: Vec<u8>,
    /// The sum (XOR) of each slot's hashes under the seed. Once all are taken away, an entry's own slot has its hash.
    pub(super) sums: Vec<u64>,
    /// The slot of each entry, in the order in which they were taken away.
    pub(super) own: Vec<I>,
    /// The entries that were set aside, in ascending order.
    pub(super) aside: Vec<u64>,
    /// The number of entries that were taken away before the first was set aside.
    pub(super) num_before: usize,
}

impl<I: Index> Peeling<I> {
    pub(super) fn new(slots: Slots, num_slots: usize) -> Self {
        let (counts, sums) = (std::vec![0; num_slots], std::vec![0; num_slots]);
        Self { slots, counts, sums, own: Vec::new(), aside: Vec::new(), num_before: 0 }
    }

    /// Takes away or sets aside all of the hashes, which are under the seed. Returns whether that was possible, which
    /// depends on their set alone, not on their order.
    pub(super) fn peel(&mut self, groups: &Groups<'_>) -> bool {
        let mut num_hashes = 0;
        // Group by group, slots are counted in a cache.
        let is_counted = groups.all(|group| {
            num_hashes += group.len();
            self.add(group)
        });
        is_counted && {
            self.take_away();
            self.set_aside(groups, num_hashes)
        }
    }

    /// Writes the contents of all slots to `payload`, which is zero. From the entry taken away last to the first, an
    /// entry's own slot gets the contents that make its four add up to its fingerprint. Returns whether the entries
    /// that were set aside have theirs, too.
    pub(super) fn solve(&self, layout: &Layout, payload: &mut [u8]) -> bool {
        match layout.fingerprint_bits {
            8 => self.solve_by::<true>(layout, payload),
            _ => self.solve_by::<false>(layout, payload),
        }
    }

    fn solve_by<const IN_BYTES: bool>(&self, layout: &Layout, payload: &mut [u8]) -> bool {
        if !self.aside.is_empty() {
            let Some((free, unknowns)) = unknowns(self) else { return false };
            for (slot, &contents) in free.iter().zip(unknowns.iter().cycle()) {
                layout.write::<IN_BYTES>(payload, slot.get() as u64, contents);
            }
        }
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
        true
    }

    /// Returns the slots that nobody owns, in ascending order, once all entries are taken away or set aside.
    pub(super) fn free_slots(&self) -> Vec<I> {
        let mut free = std::vec![I::new(0); self.counts.len() + 1 - self.own.len()];
        let mut end = 0;
        for (slot, &count) in (0..).zip(&self.counts) {
            free[end] = I::new(slot);
            end += usize::from(count != OWNED);
        }
        free.truncate(end);
        free
    }

    /// Returns `false` if a slot has more entries than can be counted.
    fn add(&mut self, hashes: &[u64]) -> bool {
        let (slots, counts, sums) = (self.slots, &mut self.counts[..], &mut self.sums[..]);
        let mut is_counted = true;
        for &hash in hashes {
            for slot in slots.of(hash) {
                let (count, sum) = (&mut counts[slot as usize], &mut sums[slot as usize]);
                is_counted &= *count < OWNED - 1;
                (*count, *sum) = (count.wrapping_add(1), *sum ^ hash);
            }
        }
        is_counted
    }

    /// Takes entries away segment by segment, from the first slot to the last, then by the slots that these leave to
    /// one entry, in turn. (The slots at hand are independent of each other, so that the processor overlaps them, and
    /// they are in few segments.)
    fn take_away(&mut self) {
        // `own` has the slots taken and then slots that were alone when they were listed. None is listed twice: a slot
        // is alone when its segment is reached, or becomes so later; all that did so before are taken by then.
        self.own.resize(self.counts.len() + ARITY, I::new(0));
        let mut num_taken = 0;
        for segment in (0..self.counts.len()).step_by(self.slots.segment_len()) {
            let mut end = num_taken;
            for (slot, &count) in (segment as u64..).zip(&self.counts[segment..][..self.slots.segment_len()]) {
                self.own[end] = I::new(slot);
                end += usize::from(count == 1);
            }
            num_taken = self.take_listed(num_taken, end);
        }
        self.num_before = num_taken;
    }

    /// Takes away the entries of the slots that are listed in `own[num_taken..end]`, then of those that these leave to
    /// one entry. Returns how many are taken.
    #[inline(always)]
    fn take_listed(&mut self, mut num_taken: usize, mut end: usize) -> usize {
        let (slots, counts, sums, own) = (self.slots, &mut self.counts[..], &mut self.sums[..], &mut self.own[..]);
        let mut next = num_taken;
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
            (counts[slot.get()], sums[slot.get()]) = (OWNED, hash);
        }
        num_taken
    }

    /// Sets aside the least remaining entry, and takes away those that can be then, until none remains. Returns `false`
    /// if too many are set aside.
    fn set_aside(&mut self, groups: &Groups<'_>, num_hashes: usize) -> bool {
        let (mut num_taken, mut front) = (self.num_before, 0);
        // The hashes of a range, which were gathered already, the least one last.
        let (mut range, mut hashes) = (None, Vec::new());
        while num_taken + self.aside.len() < num_hashes {
            // The least entry's first slot is the first that has entries.
            front += self.counts[front..].iter().position(|count| (1..OWNED).contains(count)).unwrap_or(0);
            let least_range = groups.range_of(self.slots.least_hash(front as u64));
            if range.is_none_or(|range| range < least_range) {
                (range, hashes) = (Some(least_range), Vec::new());
                self.gather(groups, least_range, &mut hashes);
            }
            let hash = loop {
                match (hashes.pop(), &mut range) {
                    (Some(hash), _) if self.remains(hash) => break hash,
                    (None, Some(range)) => {
                        *range += 1;
                        if !self.gather(groups, *range, &mut hashes) {
                            return false; // which cannot be
                        }
                    }
                    _ => {}
                }
            };
            if self.aside.len() == MAX_ASIDE {
                return false;
            }
            self.aside.push(hash);
            let mut end = num_taken;
            for slot in self.slots.of(hash) {
                let (count, sum) = (&mut self.counts[slot as usize], &mut self.sums[slot as usize]);
                (*count, *sum) = (*count - 1, *sum ^ hash);
                self.own[end] = I::new(slot);
                end += usize::from(*count == 1);
            }
            num_taken = self.take_listed(num_taken, end);
        }
        self.own.truncate(num_taken);
        true
    }

    /// Replaces the contents of `into` by the entries in a range that remain, in descending order. Returns whether
    /// there is such a range.
    fn gather(&self, groups: &Groups<'_>, range: u64, into: &mut Vec<u64>) -> bool {
        let is_range = groups.gather(range, into);
        into.retain(|&hash| self.remains(hash));
        into.sort_unstable_by(|a, b| b.cmp(a));
        is_range
    }

    /// Returns whether an entry that was not set aside remains: once taken away, it owns a slot.
    fn remains(&self, hash: u64) -> bool {
        self.slots.of(hash).into_iter().all(|slot| self.counts[slot as usize] != OWNED)
    }
}
