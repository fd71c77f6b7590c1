//! The answer for a range: one descent from the root to a group of leaves, group by group.
//!
//! The lower bound is searched among the entries of a group. While it lies above an entry and after all keys of its
//! leaf, it differs from the entry first in a bit *p*, where it has a one. The next entry has its first *l* bits in
//! common with this one, and there a one:
//!
//! - *l* > *p*: the next entry differs from the bound where this one does, and lies below it, too.
//! - *l* = *p*: its bits after *l*, which are stored, are compared with the bound's.
//! - *l* < *p*: it lies above the bound, from which it differs first in bit *l*.
//!
//! At the first entry above the lower bound the answer is *maybe* if it is not above the upper one; if it is, no later
//! entry matters, and the search goes on below the entry before it. So the bits of a string are never put together.

use super::inner::Inner;
use super::query::{Found, Range};
use crate::ranges::cut::bits::{Order, Stored};
use crate::ranges::cut::group::{Group, Lanes};
use crate::ranges::cut::layout::{GROUP_LEN, Layout};

/// The state of a search.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Done(bool),
    Below(Place),
}

/// A group that is to be searched.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Its level, 0 for leaves, and its number there.
    level: usize,
    number: u64,
    /// Its offset in the payload, in bytes.
    pub(crate) at: u64,
    /// The first bit in which the lower bound differs from its first entry.
    above_at: u32,
}

impl Range<'_> {
    /// Returns whether a leaf may begin in the range, or the range in a leaf.
    #[inline(always)]
    pub(crate) fn may_overlap(&self, lanes: impl Lanes, layout: &Layout, payload: &[u8]) -> bool {
        let (mut step, mut group) = (self.start(layout, payload), Group::EMPTY);
        loop {
            match step {
                Step::Done(answer) => return answer,
                Step::Below(place) => step = self.descend_in(lanes, layout, payload, place, &mut group),
            }
        }
    }

    /// Compares the range with the first leaf.
    #[inline(always)]
    pub(crate) fn start(&self, layout: &Layout, payload: &[u8]) -> Step {
        let first = layout.first_leaf();
        match first.compare(payload, self.lower) {
            Order::Begins => Step::Done(true),
            Order::Below(at) => Step::Done(self.reaches(payload, &first, at)),
            Order::Above(above_at) => {
                Step::Below(Place { level: layout.levels.num - 1, number: 0, at: layout.root, above_at })
            }
        }
    }

    /// Searches one group.
    #[inline(always)]
    pub(crate) fn descend(&self, lanes: impl Lanes, layout: &Layout, payload: &[u8], place: Place) -> Step {
        let mut group = Group::EMPTY;
        self.descend_in(lanes, layout, payload, place, &mut group)
    }

    /// Searches one group, whose entries are unpacked into `group`.
    #[inline(always)]
    fn descend_in(
        &self,
        lanes: impl Lanes,
        layout: &Layout,
        payload: &[u8],
        Place { level, number, at, above_at }: Place,
        group: &mut Group,
    ) -> Step {
        if level == 0 {
            group.read_leaves(lanes, payload, at, &layout.params, layout.levels.len_of_group(0, number));
            return Step::Done(matches!(self.search(lanes, payload, group, layout, above_at), Found::Maybe));
        }
        let inner = Inner::read(payload, at, layout.levels.len_of_group(level, number));
        let found = inner.search_marks(lanes, payload, self, above_at).unwrap_or_else(|| {
            inner.unpack(lanes, payload, group);
            self.search(lanes, payload, group, layout, above_at)
        });
        match found {
            Found::Maybe => Step::Done(true),
            Found::After { entry, above_at } => Step::Below(Place {
                level: level - 1,
                number: number * GROUP_LEN + u64::from(entry),
                at: inner.child(payload, entry),
                above_at,
            }),
        }
    }

    /// Searches the entries after the first, from which the lower bound differs first in bit `above_at`.
    #[inline(always)]
    fn search(&self, lanes: impl Lanes, payload: &[u8], group: &Group, layout: &Layout, mut above_at: u32) -> Found {
        let mut after = !1;
        loop {
            let near = after & group.with_at_most(lanes, above_at);
            if near == 0 {
                return Found::After { entry: group.entries.count_ones().saturating_sub(1), above_at };
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
                        after &= u64::MAX << entry << 1;
                        continue;
                    }
                },
            };
            return match self.reaches(payload, &stored, at) {
                true => Found::Maybe,
                false => Found::After { entry: entry - 1, above_at },
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
