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
const AHEAD: usize = 32;

/// Prefetches a sum of the segment beyond the slots of a hash. Hashes are counted and taken away in about ascending
/// order, so the segment is needed soon, and a slot at random leaves no line of it out.
#[inline(always)]
fn prefetch_beyond(slots: &Slots, sums: &[u64], of_hash: [u64; ARITY]) {
    prefetch(sums, of_hash[ARITY - 1] as usize + slots.segment_len());
}

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
        groups.for_each(|hashes| {
            num_hashes += hashes.len();
            self.add(hashes);
        });
        self.is_counted(num_hashes) && {
            self.take_away();
            self.may_be_solved(num_hashes) && self.set_aside(groups, num_hashes)
        }
    }

    /// Returns whether the remaining entries are no more than the slots that they share. More equations than unknowns
    /// depend on each other, whichever are set aside: hashes that lie in few segments are given up here, before any is
    /// set aside, which takes a search among its neighbours each.
    pub(super) fn may_be_solved(&self, num_hashes: usize) -> bool {
        let num_remaining = num_hashes - self.num_before;
        let is_shared = |&&count: &&u8| (1..OWNED).contains(&count);
        num_remaining == 0 || num_remaining <= self.counts.iter().filter(is_shared).count()
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

    /// Counts `hashes`. (More than can be counted are noticed later: a test for each took a tenth of the time.)
    pub(super) fn add(&mut self, hashes: &[u64]) {
        let (slots, counts) = (self.slots, &mut self.counts[..]);
        let sums = &mut self.sums[..counts.len()];
        for &hash in hashes {
            let of_hash = slots.of(hash);
            prefetch_beyond(&slots, sums, of_hash);
            for slot in of_hash {
                counts[slot as usize] = counts[slot as usize].wrapping_add(1);
                sums[slot as usize] ^= hash;
            }
        }
    }

    /// Returns whether no slot has more entries than can be counted.
    pub(super) fn is_counted(&self, num_hashes: usize) -> bool {
        let num_counted: usize = self.counts.iter().map(|&count| usize::from(count)).sum();
        num_counted == ARITY * num_hashes && !self.counts.contains(&OWNED)
    }

    /// Takes entries away segment by segment, from the first slot to the last, then by the slots that these leave to
    /// one entry, in turn. (The slots at hand are independent of each other, so that the processor overlaps them, and
    /// they are in few segments.)
    pub(super) fn take_away(&mut self) {
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
        let (slots, counts, own) = (self.slots, &mut self.counts[..], &mut self.own[..]);
        let sums = &mut self.sums[..counts.len()];
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
            let of_hash = slots.of(hash);
            prefetch_beyond(&slots, sums, of_hash);
            let list: &mut [I; ARITY] = own[end..].first_chunk_mut().expect("more numbers than slots");
            let mut num_listed = 0;
            for other in of_hash {
                let (count, sum) = (counts[other as usize] - 1, sums[other as usize] ^ hash);
                (counts[other as usize], sums[other as usize]) = (count, sum);
                list[num_listed] = I::new(other);
                num_listed += usize::from(count == 1);
            }
            end += num_listed;
            (counts[slot.get()], sums[slot.get()]) = (OWNED, hash);
        }
        num_taken
    }

    /// Sets aside the least remaining entry, and takes away those that can be then, until none remains. Returns `false`
    /// if too many are set aside.
    pub(super) fn set_aside(&mut self, groups: &Groups<'_>, num_hashes: usize) -> bool {
        let (mut num_taken, mut front) = (self.num_before, 0);
        while num_taken + self.aside.len() < num_hashes {
            // The first slot that has entries: the least entry starts there.
            front += self.counts[front..].iter().position(|count| (1..OWNED).contains(count)).unwrap_or(0);
            let Some(hash) = groups.least(&self.slots, front as u64, |hash| self.remains(hash)) else { return false };
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

    /// Returns whether an entry was neither taken away, which then owns a slot, nor set aside.
    fn remains(&self, hash: u64) -> bool {
        self.aside.last().is_none_or(|&last| last < hash)
            && self.slots.of(hash).into_iter().all(|slot| self.counts[slot as usize] != OWNED)
    }
}
