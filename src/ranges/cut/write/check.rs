//! The builder's last step: a finished filter is read from its first group to its last, and compared with the keys.
//!
//! If separators are what keys differ by, if each leaf has in common with the one before it what their keys have, and
//! stores bits that all its keys have, and if each value is that of a number, and jumps ascend, then the search finds each
//! range with a key.

use crate::error::BuildError;
use crate::ranges::cut::bits::{ALL_BITS, Bits, Order};
use crate::ranges::cut::code::{End, Text};
use crate::ranges::cut::gaps::{Head, Values};
use crate::ranges::cut::marks::Groups;
use crate::ranges::cut::params::Params;
use crate::ranges::cut::steps::Leaves;
use crate::ranges::keys::Keys;
use crate::ranges::query::Side;

/// Compares the filter with `keys`.
pub(crate) fn check(keys: &Keys, params: &Params, payload: &[u8]) -> Result<(), BuildError> {
    let (prefix, groups) = (params.prefix(payload), Groups::of(params, payload));
    let bytes = |key: usize| &keys.get(key)[prefix.len()..];
    let ends = || (0..keys.len()).map(|key| End { code: params.code(payload), bytes: bytes(key), side: Side::Lower });
    let lacking = match [0, keys.len() - 1].iter().all(|&key| keys.get(key).starts_with(prefix)) {
        false => Some(0),
        true if params.is_gaps => lacking_number(&groups, ends().map(|end| end.number())),
        true => lacking_leaf(&groups, ends()),
    };
    // Entries after all keys are as bad.
    lacking.map_or(Ok(()), |key| Err(keys.lacks(key.min(keys.len() - 1), 1)))
}

/// Returns which of some numbers is the first that groups of gaps lack, or how many there are if groups have more.
fn lacking_number(groups: &Groups<'_>, numbers: impl Iterator<Item = u64>) -> Option<usize> {
    let entries = |group: usize| {
        let (bytes, head) = (groups.group(group), Head::read(groups.group(group)));
        let from = |jump| head.jumps.get(bytes, jump).0;
        let ascend = (1..head.jumps.num).all(|jump| from(jump - 1) <= from(jump));
        ascend.then_some((bytes, Values::new(bytes, &head), head))
    };
    let Some((mut bytes, mut values, mut head)) = entries(0) else { return Some(0) };
    let (mut group, mut last, mut num) = (0, None, 0);
    for number in numbers {
        let is_after = |group: usize| group + 1 < groups.num && groups.mark(group + 1) <= number;
        if is_after(group) {
            (group, last) = (group + 1, None);
            if values.next().is_some() || is_after(group) {
                return Some(num);
            }
            let Some(next) = entries(group) else { return Some(num) };
            (bytes, values, head) = next;
        }
        let place = (number >> head.shift) - (groups.mark(group) >> head.shift);
        let (value, is_in_jump) = head.jumps.value(bytes, place);
        if last != Some(value) {
            last = values.next();
        }
        if is_in_jump || last != Some(value) {
            return Some(num);
        }
        num += 1;
    }
    (group + 1 < groups.num || values.next().is_some()).then_some(num)
}

/// Returns which of some keys is the first that groups of steps lack, or how many there are if groups have more.
fn lacking_leaf<'a>(groups: &Groups<'_>, keys: impl Iterator<Item = End<'a>>) -> Option<usize> {
    let leaves_of = |group: usize| Leaves::new(groups.group(group), groups.around(group));
    let (mut group, mut leaves, mut before, mut num) = (0, leaves_of(0), Bits::ZEROS, 0);
    // How many bits the last leaf keeps, if the group had one.
    let mut end: Option<u32> = None;
    for key in keys {
        let mut text = Text::new(&key);
        let common = if num == 0 { 0 } else { text.reach(ALL_BITS).common_len(&before) };
        if group + 1 < groups.num && groups.reaches(group + 1, &mut text) {
            (group, end) = (group + 1, None);
            if !matches!(leaves.next(), Ok(None)) || !groups.is_separator(group, &mut text, common) {
                return Some(num);
            }
            leaves = leaves_of(group);
        }
        if end.is_none_or(|end| common < end) {
            let Ok(Some(leaf)) = leaves.next() else { return Some(num) };
            let begins = leaf.compare(groups.group(group), text.reach(leaf.end), leaf.from) == Order::Begins;
            if !begins || end.is_some() && leaf.from != common + 1 {
                return Some(num);
            }
            end = Some(leaf.end);
        }
        (before, num) = (*text.reach(ALL_BITS), num + 1);
    }
    (group + 1 < groups.num || !matches!(leaves.next(), Ok(None))).then_some(num)
}
