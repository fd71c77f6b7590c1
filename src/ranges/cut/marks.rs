//! Groups of equal numbers of bytes, each of which says how fine it is, behind a list of marks.
//!
//! There is no tree and there are no offsets: a query finds its group among the marks by binary search, and group *g*
//! begins at *g* times the length of a group. The separator of a group is the first key's string up to the first bit in
//! which it differs from the last key before it: no key of the group is below it, and all before are. A mark has the first
//! bits of a separator; with steps, the others stand in the group.
//!
//! Why *no* is certain: the first key that is not below a lower bound lies in the last group whose separator is not above
//! the bound, or is the first of the next group, if the bound is above all keys of its own; and a group gives each of its
//! keys up to the last bit that it keeps.

use super::bits::{Order, Stored};
use super::bounds::Bounds;
use super::code::Text;
use super::gaps::{self, Found};
use super::params::Params;
use super::steps::{self, Around};
use crate::bytes;
use crate::cpu::prefetch;

const LINE_LEN: usize = 64;

/// Marks and groups, as a payload has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a> {
    marks: &'a [u8],
    groups: &'a [u8],
    mark_bytes: usize,
    group_len: usize,
    pub(crate) num: usize,
    least: u32,
    pub(crate) is_gaps: bool,
}

impl<'a> Groups<'a> {
    #[inline]
    pub(crate) fn of(params: &Params, payload: &'a [u8]) -> Self {
        let (marks, groups) = params.parts(payload);
        Self {
            marks,
            groups,
            mark_bytes: params.mark_bytes.into(),
            group_len: params.group_len(),
            num: params.num_groups as usize,
            least: params.least.into(),
            is_gaps: params.is_gaps,
        }
    }

    /// The bits of a number that marks have.
    #[inline(always)]
    fn mask(&self) -> u64 {
        !u64::MAX.checked_shr(8 * self.mark_bytes as u32).unwrap_or(0)
    }

    /// Returns the mark of group `group`, 0 for the first one: the highest bits of a number.
    #[inline(always)]
    pub(crate) fn mark(&self, group: usize) -> u64 {
        let Some(index) = group.checked_sub(1) else { return 0 };
        bytes::u64_padded(self.marks, index * self.mark_bytes).swap_bytes() & self.mask()
    }

    #[inline(always)]
    pub(crate) fn group(&self, group: usize) -> &'a [u8] {
        let start = group * self.group_len;
        &self.groups[start..(start + self.group_len).min(self.groups.len())]
    }

    /// Returns the number of leaves, or of values.
    pub(crate) fn num_leaves(&self) -> u64 {
        let count = if self.is_gaps { gaps::num_values } else { steps::num_leaves };
        (0..self.num).map(|group| count(self.group(group))).sum()
    }

    /// Returns the last group whose mark is not above `number`.
    #[inline(always)]
    fn holding(&self, number: u64) -> usize {
        let (mut first, mut len) = (0, self.num - 1);
        while len > 0 {
            let half = len.div_ceil(2);
            if self.mark(first + half) <= number {
                first += half;
            }
            len -= half;
        }
        first
    }

    /// Returns the last group whose separator is not above `text`.
    #[inline(always)]
    fn find(&self, text: &mut Text<'_>) -> usize {
        let number = text.number();
        let group = self.holding(number);
        match !self.is_gaps && group > 0 && self.mark(group) == number & self.mask() {
            true => self.settle(group, text),
            false => group,
        }
    }

    /// Settles what marks leave open: that of `last` is the last one that `text` begins with.
    #[cold]
    fn settle(&self, last: usize, text: &mut Text<'_>) -> usize {
        let mark = self.mark(last);
        let below = mark.checked_sub(1).map_or(0, |number| self.holding(number));
        let (mut first, mut beyond) = (below, last + 1);
        while beyond - first > 1 {
            let middle = first + (beyond - first) / 2;
            match self.more_order(middle, text) {
                Order::Below(_) => beyond = middle,
                _ => first = middle,
            }
        }
        first
    }

    /// Returns the bits of a separator of groups of steps that follow its mark.
    #[inline(always)]
    fn more(&self, group: usize) -> Option<Stored> {
        steps::more(self.group(group), 8 * self.mark_bytes as u32)
    }

    /// Compares the bits of a separator after its mark with a string that begins with the mark.
    fn more_order(&self, group: usize, text: &mut Text<'_>) -> Order {
        match self.more(group) {
            Some(more) => more.compare(self.group(group), text.reach(more.end)),
            None => Order::Begins,
        }
    }

    /// Returns the length of a group's separator; 0 for the first group, and after the last one.
    #[inline(always)]
    fn separator_len(&self, group: usize) -> u32 {
        if group == 0 || group == self.num {
            return 0;
        }
        self.more(group).map_or(64 - self.mark(group).trailing_zeros(), |more| more.end)
    }

    /// Returns whether the separator of a group after the first is not above `text`.
    #[inline(always)]
    pub(crate) fn reaches(&self, group: usize, text: &mut Text<'_>) -> bool {
        let (mark, number) = (self.mark(group), text.number() & self.mask());
        if mark != number || self.is_gaps {
            return mark <= number;
        }
        !matches!(self.more_order(group, text), Order::Below(_))
    }

    /// Returns the first bit in which `text`, which is not below it, differs from a group's separator; `None` if it
    /// begins with that.
    #[inline(always)]
    fn differs_at(&self, group: usize, text: &mut Text<'_>) -> Option<u32> {
        if group == 0 {
            return None;
        }
        let at = (text.number() ^ self.mark(group)).leading_zeros();
        let marked = 8 * self.mark_bytes as u32;
        if at < marked {
            return (at < self.separator_len(group)).then_some(at);
        }
        match self.more_order(group, text) {
            Order::Begins => None,
            Order::Below(at) | Order::Above(at) => Some(at),
        }
    }

    /// Returns what surrounds a group of steps.
    #[inline(always)]
    pub(crate) fn around(&self, group: usize) -> Around {
        Around { separator: self.separator_len(group), next: self.separator_len(group + 1), least: self.least }
    }

    /// Returns whether a group's separator is the beginning of `text` that ends in bit `common`.
    #[cfg(feature = "std")]
    pub(crate) fn is_separator(&self, group: usize, text: &mut Text<'_>, common: u32) -> bool {
        let len = common.saturating_add(1);
        let kept = !u64::MAX.checked_shr(len).unwrap_or(0);
        let has_mark = self.mark(group) == text.number() & kept & self.mask();
        has_mark
            && match self.is_gaps {
                true => len <= 8 * self.mark_bytes as u32,
                false => self.separator_len(group) == len && self.differs_at(group, text).is_none(),
            }
    }

    /// Searches a group of leaves. If `is_next`, all its leaves are above the lower bound.
    #[inline(always)]
    fn search(&self, group: usize, bounds: &mut Bounds<'_>, is_next: bool) -> Found {
        let bytes = self.group(group);
        let Bounds { lower, upper } = bounds;
        if self.is_gaps {
            let separator = self.mark(group);
            let lower = if is_next { separator } else { lower.number() };
            return gaps::search(bytes, separator, lower, upper.number());
        }
        let around = self.around(group);
        if !is_next {
            let above_at = self.differs_at(group, lower);
            return steps::search(bytes, around, lower, upper, above_at);
        }
        let is_above = self.differs_at(group, upper).is_some();
        if is_above || steps::begins_at_most(bytes, around, upper) { Found::Maybe } else { Found::No }
    }

    /// Begins a search: returns the group that the lower bound falls into, or `None` if there is no key between the
    /// bounds.
    #[inline(always)]
    pub(crate) fn start(&self, bounds: &mut Bounds<'_>) -> Option<usize> {
        let Bounds { lower, upper } = bounds;
        (lower.number() <= upper.number()).then(|| self.find(lower))
    }

    /// Returns the answer of a search that began in `group`.
    #[inline(always)]
    pub(crate) fn finish(&self, bounds: &mut Bounds<'_>, group: usize) -> bool {
        match self.search(group, bounds, false) {
            Found::Maybe => return true,
            Found::No => return false,
            Found::Beyond => {}
        }
        // All keys of the group are below the lower bound.
        let next = group + 1;
        if next >= self.num || !self.reaches(next, &mut bounds.upper) {
            return false;
        }
        // A group whose successor begins in the range lies in the range.
        (next + 1 < self.num && self.reaches(next + 1, &mut bounds.upper))
            || matches!(self.search(next, bounds, true), Found::Maybe)
    }

    /// Prefetches a group.
    pub(crate) fn prefetch(&self, group: usize) {
        (0..self.group_len.div_ceil(LINE_LEN))
            .for_each(|line| prefetch(self.groups, group * self.group_len + line * LINE_LEN));
    }

    /// Prefetches the marks at which a search begins.
    pub(crate) fn prefetch_marks(&self) {
        prefetch(self.marks, self.marks.len() / 2);
    }
}
