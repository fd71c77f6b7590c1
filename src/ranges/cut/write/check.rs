//! The builder's last step: a finished filter is read from its first group to its last, and compared with the keys.
//!
//! If separators are what keys differ by, if each leaf has in common with the one before it what their keys have, and
//! stores bits that all its keys have, and if each value is that of a number, and jumps ascend, then the search finds each
//! range with a key.

use crate::error::BuildError;
use crate::ranges::cut::bits::{ALL_BITS, Bits, Order};
use crate::ranges::cut::code::{End, Side, Text};
use crate::ranges::cut::gaps::{Head, Values};
use crate::ranges::cut::marks::Groups;
use crate::ranges::cut::params::Params;
use crate::ranges::cut::steps::Leaves;
use crate::ranges::keys::Keys;

/// Compares the filter with `keys`.
pub(crate) fn check(keys: &Keys, params: &Params, payload: &[u8]) -> Result<(), BuildError> {
    let (prefix, groups, last) = (params.prefix(payload), Groups::of(params, payload), keys.len() - 1);
    let lacks = |key: usize| Err(keys.lacks(key, 1));
    if ![0, last].iter().all(|&key| keys.get(key).starts_with(prefix)) {
        return lacks(0);
    }
    let (mut group, mut before) = (0, Bits::ZEROS);
    let Some(mut entries) = Entries::new(&groups, 0) else { return lacks(0) };
    for key in 0..keys.len() {
        let bytes = &keys.get(key)[prefix.len()..];
        let mut text = Text::new(&End { code: params.code(payload), bytes, side: Side::Lower });
        let common = if key == 0 { 0 } else { text.reach(ALL_BITS).common_len(&before) };
        if group + 1 < groups.num && groups.reaches(group + 1, &mut text) {
            group += 1;
            if !entries.is_at_end() || !groups.is_separator(group, &mut text, common) {
                return lacks(key);
            }
            let Some(of_group) = Entries::new(&groups, group) else { return lacks(key) };
            entries = of_group;
        }
        if !entries.accept(&mut text, common) {
            return lacks(key);
        }
        before = *text.reach(ALL_BITS);
    }
    if group + 1 < groups.num || !entries.is_at_end() { lacks(last) } else { Ok(()) }
}

/// The entries of a group, in turn.
enum Entries<'a> {
    Gaps {
        group: &'a [u8],
        head: Head,
        separator: u64,
        values: Values<'a>,
        last: Option<u64>,
    },
    Steps {
        group: &'a [u8],
        leaves: Leaves<'a>,
        /// How many bits the last leaf keeps, if there was one.
        end: Option<u32>,
    },
}

impl<'a> Entries<'a> {
    /// Returns those of a group; `None` if its jumps do not ascend.
    fn new(groups: &Groups<'a>, index: usize) -> Option<Self> {
        let group = groups.group(index);
        if !groups.are_gaps() {
            return Some(Self::Steps { group, leaves: Leaves::new(group, groups.around(index)), end: None });
        }
        let head = Head::read(group);
        let from = |jump| head.jumps.get(group, jump).0;
        let ascend = (1..head.jumps.num).all(|jump| from(jump - 1) <= from(jump));
        let (separator, values) = (groups.mark(index), Values::new(group, &head));
        ascend.then_some(Self::Gaps { group, head, separator, values, last: None })
    }

    /// Returns whether the next key, which has `common` bits in common with the one before it, belongs to the last entry or
    /// to the next one.
    fn accept(&mut self, text: &mut Text<'_>, common: u32) -> bool {
        match self {
            Self::Gaps { group, head, separator, values, last } => {
                let place = (text.number() >> head.shift).checked_sub(*separator >> head.shift);
                let Some((value, false)) = place.map(|place| head.jumps.value(group, place)) else { return false };
                if *last != Some(value) {
                    *last = values.next();
                }
                *last == Some(value)
            }
            Self::Steps { group, leaves, end } => {
                let is_first = end.is_none();
                if end.is_some_and(|end| common >= end) {
                    return true;
                }
                let Ok(Some((leaf, differs))) = leaves.next() else { return false };
                *end = Some(leaf.end);
                (is_first || differs == common + 1)
                    && leaf.compare(group, text.reach(leaf.end), leaf.from) == Order::Begins
            }
        }
    }

    fn is_at_end(&mut self) -> bool {
        match self {
            Self::Gaps { values, .. } => values.next().is_none(),
            Self::Steps { leaves, .. } => matches!(leaves.next(), Ok(None)),
        }
    }
}
