//! Groups of equal numbers of bytes, each of which says how fine it is, behind a list of marks.
//!
//! There is no tree and there are no offsets: a query finds its group among the marks by binary search, and group *g*
//! begins at *g* times the length of a group. A mark is the beginning of a group's separator, which is not above its
//! first key, and above the last one of the group before.
//!
//! Why *no* is certain: the keys of group *g* lie from its separator on, and below the next. So the first key that is not
//! below a lower bound lies in the group that the bound falls into, or is the first of the next one, if the bound is
//! above all of its own; and a group gives each of its keys up to the last bit that it keeps.

mod gaps;
#[expect(dead_code, reason = "begun: its writer, and the search among separators, come next")]
mod steps;
#[cfg(test)]
mod tests;
mod write;

use crate::bytes;
use gaps::Found;

/// Marks and groups, as a payload has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups<'a> {
    marks: &'a [u8],
    mark_bytes: usize,
    groups: &'a [u8],
    group_len: usize,
    num: usize,
}

/// The greatest number of bytes of a mark.
pub(super) const MAX_MARK_BYTES: usize = 8;

/// The fewest bytes of a group: its head's.
pub(super) const MIN_GROUP_LEN: usize = 4;

impl<'a> Groups<'a> {
    /// Returns the parts of a payload of `num` groups, at least one; `None` if its length is not that of these parts.
    pub(super) fn new(payload: &'a [u8], num: usize, mark_bytes: usize, group_len: usize) -> Option<Self> {
        let (marks, groups) = payload.split_at_checked(num.checked_sub(1)?.checked_mul(mark_bytes)?)?;
        let last = groups.len().checked_sub((num - 1).checked_mul(group_len)?)?;
        let is_legal = (1..=MAX_MARK_BYTES).contains(&mark_bytes) && (MIN_GROUP_LEN..=group_len).contains(&last);
        is_legal.then_some(Self { marks, mark_bytes, groups, group_len, num })
    }

    /// Returns the separator of group `group`, 0 for the first one.
    fn separator(&self, group: usize) -> u64 {
        let Some(index) = group.checked_sub(1) else { return 0 };
        let mark = bytes::u64_padded(self.marks, index * self.mark_bytes).swap_bytes();
        mark & !u64::MAX.checked_shr(8 * self.mark_bytes as u32).unwrap_or(0)
    }

    fn group(&self, group: usize) -> &'a [u8] {
        let start = group * self.group_len;
        &self.groups[start..(start + self.group_len).min(self.groups.len())]
    }

    /// Returns the last group whose separator is not above `number`.
    fn holding(&self, number: u64) -> usize {
        let (mut first, mut len) = (0, self.num - 1);
        while len > 0 {
            let half = len.div_ceil(2);
            if self.separator(first + half) <= number {
                first += half;
            }
            len -= half;
        }
        first
    }

    /// Returns whether a key of groups of gaps may have a number from `lower` to `upper`, which is not below it.
    pub(super) fn may_overlap(&self, lower: u64, upper: u64) -> bool {
        let group = self.holding(lower);
        match gaps::search(self.group(group), self.separator(group), lower, upper) {
            Found::Maybe => return true,
            Found::No => return false,
            Found::Beyond => {}
        }
        // All keys of the group are below the lower bound.
        let next = group + 1;
        if next == self.num || self.separator(next) > upper {
            return false;
        }
        // A group whose successor begins in the range lies in the range.
        if next + 1 < self.num && self.separator(next + 1) <= upper {
            return true;
        }
        let separator = self.separator(next);
        matches!(gaps::search(self.group(next), separator, separator, upper), Found::Maybe)
    }
}
