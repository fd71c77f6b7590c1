//! The writer of groups of steps.

use super::plan::{EXTRA_UNIT, Leaves, Plan, needed, stored};
use super::rice::{Code, zigzag};
use super::{Out, Source, Written, greatest};
use crate::ranges::cut::params::{MAX_MARK_BYTES, MIN_GROUP_LEN};
use crate::ranges::cut::steps::{EXTRA_BITS, HEAD_BITS, LEN_BITS, LONGER_BITS, MAX_LEAVES, NUM_BITS, WIDTH_BITS};
use std::vec;
use std::vec::Vec;

/// The lengths of groups: the second one has room for any leaf and its separator.
pub(super) const GROUP_LENS: [usize; 2] = [128, 512];
/// Separators are short where the leaves of a group are few or many: it ends in its last eighth.
const END_SHARE: usize = 8;
const MAX_EXTRA: u32 = (1 << EXTRA_BITS) - 1;

struct Writer<'a> {
    source: &'a Source<'a>,
    plan: &'a Plan,
    leaves: &'a Leaves,
    /// The bits of a group.
    room: u64,
    /// The bits that are stored of all leaves before each, without `extra`.
    before: &'a [u64],
}

/// Writes the groups of a plan, and returns how much `extra` a budget of bits left for them.
pub(super) fn write(source: &Source<'_>, plan: &Plan, budget: u64) -> (Written, u32) {
    let (leaves, mut before) = (&plan.leaves, vec![0]);
    for leaf in 0..leaves.len() {
        before.push(before[leaf] + u64::from(stored(&leaves.differs, leaf, plan.least)));
    }
    let mut rooms = GROUP_LENS.iter().map(|&len| 8 * len as u64);
    let written = rooms.find_map(|room| Writer { source, plan, leaves, room, before: &before }.write(budget));
    written.expect("the longest groups have room for each leaf")
}

impl Writer<'_> {
    /// Writes all groups; `None` if a leaf does not fit into one.
    fn write(&self, budget: u64) -> Option<(Written, u32)> {
        let mark_bytes = self.mark_bytes(&self.starts(self.plan.extra, u32::MAX)?);
        let marked = 8 * mark_bytes as u32;
        let (starts, extra) = self.fitting(budget, mark_bytes, marked)?;
        let left = budget.saturating_sub((starts.len() as u64 - 1) * (self.room + 8 * mark_bytes as u64));
        let (mut marks, mut groups) = (Vec::new(), Vec::new());
        for (group, &start) in starts.iter().enumerate() {
            let end = starts.get(group + 1).copied().unwrap_or(self.leaves.len());
            if group > 0 {
                let mark = self.source.mark(self.leaves.keys[start], self.leaves.differs[start]);
                marks.extend_from_slice(&mark[..mark_bytes]);
            }
            let room = if end == self.leaves.len() { self.last_room(start, left, extra, marked) } else { self.room };
            groups.extend(self.group(start, end, room, marked));
        }
        marks.append(&mut groups);
        Some((Written { payload: marks, mark_bytes, num: starts.len(), group_len: self.room as usize / 8 }, extra))
    }

    /// Returns the first leaves of groups that keep as much as the budget permits, and how much `extra` that is.
    fn fitting(&self, budget: u64, mark_bytes: usize, marked: u32) -> Option<(Vec<usize>, u32)> {
        let each = self.room + 8 * mark_bytes as u64;
        let fits = |extra: usize| {
            self.starts(extra as u32, marked).is_some_and(|starts| {
                let last = starts[starts.len() - 1];
                let taken = self.taken(last, self.leaves.len() - last, extra as u32, marked);
                (starts.len() as u64 - 1) * each + taken <= budget
            })
        };
        let extra = greatest(self.plan.extra as usize, self.plan.cap as usize, fits) as u32;
        Some((self.starts(extra, marked)?, extra))
    }

    /// Returns the bits of a group of leaves that each keep `extra` 16ths of a bit more than they need.
    fn taken(&self, first: usize, num: usize, extra: u32, marked: u32) -> u64 {
        self.head_bits(first, marked) + self.bits(first, num) + num as u64 * u64::from(extra) / u64::from(EXTRA_UNIT)
    }

    /// Returns the first leaves of groups in which each leaf keeps `extra` 16ths of a bit more than it needs; `None` if a
    /// leaf does not fit into one.
    fn starts(&self, extra: u32, marked: u32) -> Option<Vec<usize>> {
        let differs = &self.leaves.differs;
        let (mut starts, mut first, mut guess) = (vec![0], 0, 64);
        loop {
            let fits = |num: usize| self.taken(first, num, extra, marked) <= self.room;
            let num = greatest(guess, (self.leaves.len() - first).min(MAX_LEAVES), fits).max(1);
            guess = num;
            if num == 1 && self.taken(first, 1, 0, marked) > self.room {
                return None;
            }
            if first + num == self.leaves.len() {
                return Some(starts);
            }
            // The last of the shortest separators.
            let ends = (num - num / END_SHARE..=num).rev();
            let end = ends.min_by_key(|&num| differs[first + num]).unwrap_or(num);
            // Fewer leaves rarely take more: the code of what they have in common is not quite the best.
            first += if fits(end) { end } else { num };
            starts.push(first);
        }
    }

    /// Returns the number of bits of leaves and of what they have in common, without `extra`.
    fn bits(&self, first: usize, num: usize) -> u64 {
        self.before[first + num] - self.before[first] + Code::of(&self.leaves.differs[first + 1..first + num]).bits
    }

    /// Returns the number of bits of a separator after its mark.
    fn more(&self, first: usize, marked: u32) -> u32 {
        if first == 0 { 0 } else { u32::from(self.leaves.differs[first]).saturating_sub(marked) }
    }

    fn head_bits(&self, first: usize, marked: u32) -> u64 {
        let more = self.more(first, marked);
        u64::from(HEAD_BITS + if more > 0 { LEN_BITS + more } else { 0 })
    }

    /// Returns the length of marks with which separators take the fewest bits.
    fn mark_bytes(&self, starts: &[usize]) -> usize {
        let bits = |mark_bytes: usize| {
            let marked = 8 * mark_bytes as u32;
            // Such separators take time, too.
            let more = starts.iter().map(|&start| self.more(start, marked)).filter(|&more| more > 0);
            more.map(|more| u64::from(more + LEN_BITS) + 20).sum::<u64>() + 8 * (starts.len() * mark_bytes) as u64
        };
        (1..=MAX_MARK_BYTES).min_by_key(|&mark_bytes| bits(mark_bytes)).unwrap_or(1)
    }

    /// Returns how many bits leaves keep beyond those that they need, and the eighths of them that keep one more.
    fn beyond(&self, start: usize, end: usize, left: usize) -> (u32, usize) {
        let (leaves, num) = (self.leaves, end - start);
        // All keys of a leaf have the bits that are kept.
        let spare = |leaf| u32::from(leaves.shared[leaf]) - needed(&leaves.differs, leaf, self.plan.least);
        let limit = (start..end).map(spare).min().unwrap_or(0).min(MAX_EXTRA);
        let extra = ((left / num) as u32).min(limit);
        let rest = left - extra as usize * num;
        (extra, if extra == limit { 0 } else { (8 * rest / num).min((1 << LONGER_BITS) - 1) })
    }

    /// Returns the bits that the last group may take, of which the budget leaves it `budget_left`.
    fn last_room(&self, start: usize, budget_left: u64, planned: u32, marked: u32) -> u64 {
        let taken = |extra| self.taken(start, self.leaves.len() - start, extra, marked).min(self.room);
        // Others have room for about one bit more of a leaf than is planned.
        taken(planned + EXTRA_UNIT).min(budget_left).max(taken(planned))
    }

    /// Returns the bytes of a group of the leaves `start..end`.
    fn group(&self, start: usize, end: usize, room: u64, marked: u32) -> Vec<u8> {
        let (leaves, least) = (self.leaves, self.plan.least);
        let (num, is_last) = (end - start, end == leaves.len());
        let code = Code::of(&leaves.differs[start + 1..end]);
        let taken = self.taken(start, num, 0, marked);
        let (extra, eighths) = self.beyond(start, end, (room - taken) as usize);
        let longer = (eighths * num).div_ceil(8);
        let all = taken + (extra as usize * num + longer) as u64;
        let len = if is_last { (all.div_ceil(8) as usize).max(MIN_GROUP_LEN) } else { self.room as usize / 8 };
        let mut out = Out::of(len);
        let more = self.more(start, marked);
        for (width, value) in [
            (NUM_BITS, num as u32),
            (LEN_BITS, code.centre),
            (WIDTH_BITS, code.width),
            (EXTRA_BITS, extra),
            (LONGER_BITS, eighths as u32),
            (1, u32::from(more > 0)),
        ] {
            out.put(width, value.into());
        }
        if more > 0 {
            out.put(LEN_BITS, more.into());
            out.put_bits(&self.source.string(leaves.keys[start], marked + more), marked, marked + more);
        }
        let zigzags = || leaves.differs[start + 1..end].iter().map(|&differs| zigzag(differs.into(), code.centre));
        zigzags().for_each(|zigzag| out.put(code.width, u64::from(zigzag & ((1 << code.width) - 1))));
        for zigzag in zigzags() {
            out.at += u64::from(zigzag >> code.width);
            out.put(1, 1);
        }
        let mut place = len as u64 * 8;
        for leaf in start..end {
            let (differs, next) = (u32::from(leaves.differs[leaf]), u32::from(leaves.differs[leaf + 1]));
            let kept = needed(&leaves.differs, leaf, least) + extra + u32::from(leaf - start < longer);
            let has_zero = next > differs;
            place -= u64::from(kept - differs - u32::from(has_zero));
            out.at = place;
            let string = self.source.string(leaves.keys[leaf], kept);
            if has_zero {
                out.put_bits(&string, differs, next - 1);
            }
            out.put_bits(&string, if has_zero { next } else { differs }, kept);
        }
        out.group
    }
}
