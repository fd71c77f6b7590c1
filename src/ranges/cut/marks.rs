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
use super::code::{Ends, Text};
use super::gaps::{self, Found};
use super::params::Params;
use super::steps::{self, Around};
use crate::bytes;
use crate::cpu::prefetch;

const LINE_LEN: usize = 64;

/// Marks and groups, as a payload has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a> {
    params: Params,
    marks: &'a [u8],
    groups: &'a [u8],
    pub(crate) num: usize,
}

impl<'a> Groups<'a> {
    #[inline(always)]
    pub(crate) fn of(params: &Params, payload: &'a [u8]) -> Self {
        let (marks, groups) = params.parts(payload);
        Self { params: *params, marks, groups, num: params.num_groups as usize }
    }

    /// The number of bits that marks have.
    #[inline(always)]
    fn mark_bits(&self) -> u32 {
        8 * u32::from(self.params.mark_bytes)
    }

    /// Returns the mark of group `group`, 0 for the first one: the highest bits of a number.
    #[inline(always)]
    pub(crate) fn mark(&self, group: usize) -> u64 {
        let Some(index) = group.checked_sub(1) else { return 0 };
        let number = bytes::u64_padded(self.marks, index * usize::from(self.params.mark_bytes)).swap_bytes();
        number & !u64::MAX.checked_shr(self.mark_bits()).unwrap_or(0)
    }

    #[inline(always)]
    pub(crate) fn group(&self, group: usize) -> &'a [u8] {
        let start = group * self.params.group_len();
        &self.groups[start..(start + self.params.group_len()).min(self.groups.len())]
    }

    /// Returns the number of leaves, or of values.
    pub(crate) fn num_leaves(&self) -> u64 {
        let count = if self.params.is_gaps { gaps::num_values } else { steps::num_leaves };
        (0..self.num).map(|group| count(self.group(group))).sum()
    }

    /// Returns the last group that is reached, as the first one is, and none after one that is not.
    #[inline(always)]
    fn last(&self, mut is_reached: impl FnMut(usize) -> bool) -> usize {
        let (mut first, mut len) = (0, self.num - 1);
        while len > 0 {
            let half = len.div_ceil(2);
            if is_reached(first + half) {
                first += half;
            }
            len -= half;
        }
        first
    }

    /// Returns the last group whose mark is not above `number`. Three marks are compared at once, so that their loads, and
    /// no guesses, make up the time.
    #[inline(always)]
    fn holding(&self, number: u64) -> usize {
        // Whatever follows a mark is not above these bits.
        let most = number | u64::MAX.checked_shr(self.mark_bits()).unwrap_or(0);
        let width = usize::from(self.params.mark_bytes);
        let is_reached = |at: usize| usize::from(bytes::u64_padded(self.marks, at * width).swap_bytes() <= most);
        let (mut first, mut len) = (0, self.num - 1);
        while len >= 3 {
            let quarter = (len + 1) / 4;
            let at = first + quarter - 1;
            first += quarter * (is_reached(at) + is_reached(at + quarter) + is_reached(at + 2 * quarter));
            len -= 3 * quarter;
        }
        while len > 0 && is_reached(first) == 1 {
            (first, len) = (first + 1, len - 1);
        }
        first
    }

    /// Returns the last group whose separator is not above `text`.
    #[inline(always)]
    fn find(&self, text: &mut Text<'_>) -> usize {
        let group = self.holding(text.number());
        let mut reaches = |group| self.reaches(group, text);
        // A group whose mark is the beginning of the text may have a separator above it.
        match group {
            _ if reaches(group) => group,
            _ if reaches(group - 1) => group - 1,
            _ => self.last(reaches),
        }
    }

    /// Returns the bits of a separator that follow its mark.
    #[inline(always)]
    fn more(&self, group: usize) -> Option<Stored> {
        if self.params.is_gaps { None } else { steps::more(self.group(group), self.mark_bits()) }
    }

    /// Compares a group's separator with a string.
    #[inline(always)]
    pub(crate) fn order(&self, group: usize, text: &mut Text<'_>) -> Order {
        if group == 0 {
            return Order::Begins;
        }
        let (mark, number, more) = (self.mark(group), text.number(), self.more(group));
        let (at, len) = ((number ^ mark).leading_zeros(), more.map_or(64 - mark.trailing_zeros(), |more| more.from));
        match more {
            _ if at < len && number < mark => Order::Below(at),
            _ if at < len => Order::Above(at),
            Some(more) => more.compare(self.group(group), text.reach(more.end), more.from),
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

    /// Returns whether a group's separator is not above `text`.
    #[inline(always)]
    pub(crate) fn reaches(&self, group: usize, text: &mut Text<'_>) -> bool {
        !matches!(self.order(group, text), Order::Below(_))
    }

    /// Returns what surrounds a group of steps.
    #[inline(always)]
    pub(crate) fn around(&self, group: usize) -> Around<impl Fn() -> u32> {
        let next = move || self.separator_len(group + 1);
        Around { separator: self.separator_len(group), next, least: self.params.least.into() }
    }

    /// Returns whether a group's separator is the beginning of `text` that ends in bit `common`.
    #[cfg(feature = "std")]
    pub(crate) fn is_separator(&self, group: usize, text: &mut Text<'_>, common: u32) -> bool {
        self.separator_len(group) == common.saturating_add(1) && self.order(group, text) == Order::Begins
    }

    /// Returns the group that the lower bound falls into.
    #[inline(always)]
    pub(crate) fn start(&self, bounds: &Bounds<'_>) -> usize {
        match bounds {
            Bounds::Numbers(lower, _) => self.holding(*lower),
            Bounds::Ends(lower, _) => self.find(&mut Text::new(lower)),
        }
    }

    /// Returns the answer of a search, which began in `group` if that is given.
    #[inline(always)]
    pub(crate) fn finish(&self, bounds: &Bounds<'_>, group: Option<usize>) -> bool {
        match bounds {
            Bounds::Numbers(lower, upper) => {
                self.has_number(*lower, *upper, group.unwrap_or_else(|| self.holding(*lower)))
            }
            Bounds::Ends(lower, upper) => {
                let mut ends = Ends::new(lower, upper);
                let group = group.unwrap_or_else(|| self.find(&mut ends.lower));
                self.has_leaf(&mut ends, group)
            }
        }
    }

    /// Returns whether a group of gaps, which holds `lower`, or the next one has a number between the bounds.
    #[inline(always)]
    fn has_number(&self, lower: u64, upper: u64, group: usize) -> bool {
        if lower > upper {
            return false;
        }
        let is_exact = self.params.is_exact();
        let search = |group: usize, lower| gaps::search(self.group(group), self.mark(group), lower, upper, is_exact);
        match search(group, lower) {
            Found::Maybe => return true,
            Found::No => return false,
            Found::Beyond => {}
        }
        // All keys of the group are below the lower bound. One whose successor begins in the range lies in the range.
        let next = group + 1;
        let reaches = |group: usize| group < self.num && self.mark(group) <= upper;
        reaches(next) && (reaches(next + 1) || search(next, self.mark(next)) == Found::Maybe)
    }

    /// Returns whether a group of steps, which `lower` falls into, or the next one has a leaf between the bounds.
    #[inline(always)]
    fn has_leaf(&self, ends: &mut Ends<'_>, group: usize) -> bool {
        self.prefetch(group);
        let above_at = match self.order(group, &mut ends.lower) {
            Order::Begins => None,
            Order::Below(at) | Order::Above(at) => Some(at),
        };
        let found = steps::search(self.group(group), self.around(group), ends, above_at);
        if found == Found::No || ends.are_crossed() {
            return false;
        }
        if found == Found::Maybe {
            return true;
        }
        let (next, upper) = (group + 1, ends.upper());
        let mut reaches = |group: usize| group < self.num && self.reaches(group, upper);
        reaches(next)
            && (reaches(next + 1)
                || self.order(next, upper) != Order::Begins
                || steps::begins_at_most(self.group(next), self.around(next), upper))
    }

    /// Prefetches a group.
    pub(crate) fn prefetch(&self, group: usize) {
        let len = self.params.group_len();
        (0..len.div_ceil(LINE_LEN)).for_each(|line| prefetch(self.groups, group * len + line * LINE_LEN));
    }

    /// Prefetches the marks at which a search begins.
    pub(crate) fn prefetch_marks(&self) {
        prefetch(self.marks, self.marks.len() / 2);
    }
}
