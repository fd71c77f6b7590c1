//! The answer for a range: one descent from the root to a group of leaves.
//!
//! The lower bound is searched among the entries of a group. While it lies above an entry and behind all keys of its
//! leaf, it differs from the entry first in a bit *p*, where it has a one. The next entry has its first *l* bits in
//! common with this one, and there a one:
//!
//! - *l* > *p*: the next entry differs from the bound where this one does, and lies below it, too.
//! - *l* = *p*: its bits behind *l*, which are stored, are compared with the bound's.
//! - *l* < *p*: it lies above the bound, from which it differs first in bit *l*.
//!
//! At the first entry above the lower bound the answer is *maybe* if it is not above the upper one; if it is, no entry
//! behind it matters, and the search goes on below the entry before it. So the bits of a string are never put together.

use super::bits::{Order, Stored};
use super::group::{Group, Lanes};
use super::inner::Inner;
use super::layout::{GROUP_LEN, Layout};
use super::query::{Found, Range};

impl Range<'_> {
    /// Returns whether a leaf may begin in the range, or the range in a leaf.
    #[inline(always)]
    pub(super) fn may_overlap(&self, lanes: impl Lanes, layout: &Layout, payload: &[u8]) -> bool {
        let first = Stored { offset: layout.first, from: 0, end: layout.first_len, zero: None };
        let mut above_at = match first.compare(payload, self.lower) {
            Order::Begins => return true,
            Order::Below(at) => return self.reaches(payload, &first, at),
            Order::Above(at) => at,
        };
        let (mut place, mut number, mut group) = (layout.root, 0, Group::EMPTY);
        for level in (1..layout.levels.num).rev() {
            let inner = Inner::read(payload, place, layout.levels.len_of_group(level, number));
            let found = inner.search_marks(lanes, payload, self, above_at).unwrap_or_else(|| {
                inner.unpack(lanes, payload, &mut group);
                self.search(lanes, payload, &group, layout, above_at)
            });
            match found {
                Found::Maybe => return true,
                Found::Behind { entry, above_at: at } => {
                    above_at = at;
                    place = inner.child(payload, entry);
                    number = number * GROUP_LEN + u64::from(entry);
                }
            }
        }
        group.read_leaves(lanes, payload, place, &layout.params, layout.levels.len_of_group(0, number));
        matches!(self.search(lanes, payload, &group, layout, above_at), Found::Maybe)
    }

    /// Searches the entries behind the first, from which the lower bound differs first in bit `above_at`.
    #[inline(always)]
    fn search(&self, lanes: impl Lanes, payload: &[u8], group: &Group, layout: &Layout, mut above_at: u32) -> Found {
        let mut behind = !1;
        loop {
            let near = behind & group.with_at_most(lanes, above_at);
            if near == 0 {
                return Found::Behind { entry: group.entries.count_ones().saturating_sub(1), above_at };
            }
            let entry = near.trailing_zeros();
            let stored = group.stored(layout, entry);
            let common = stored.from - 1;
            let at = match common < above_at {
                true => common,
                false => match stored.compare(payload, self.lower) {
                    Order::Begins => return Found::Maybe,
                    Order::Below(at) => at,
                    Order::Above(at) => {
                        above_at = at;
                        behind &= u64::MAX << entry << 1;
                        continue;
                    }
                },
            };
            return match self.reaches(payload, &stored, at) {
                true => Found::Maybe,
                false => Found::Behind { entry: entry - 1, above_at },
            };
        }
    }

    /// Returns whether the upper bound is not below a leaf that differs from the lower bound first in bit `at`, where the
    /// lower bound has a zero.
    #[inline(always)]
    fn reaches(&self, payload: &[u8], leaf: &Stored, at: u32) -> bool {
        if at != self.differ_at {
            return at > self.differ_at;
        }
        !matches!(leaf.compare_from(payload, self.upper, (at + 1).max(leaf.from)), Order::Below(_))
    }
}
