//! Groups of gaps: numbers cut at a resolution of the group's own, sorted, in Elias-Fano's code.
//!
//! | bits | field |
//! |---|---|
//! | 10 | the number of values |
//! | 7 | the number of bits that are kept of a number, 1 to 64 |
//! | 6 | the number of low bits of a value |
//! | 4 | the number of jumps |
//! | 6, 6, 6 | if there are jumps: the widths of their two fields, and the exponent of their unit |
//! | | for each jump the value that it ends at, and its length in units |
//! | | the high parts: entry *i* with high part *h* is a one in bit *h* + *i* |
//! | | the low bits of all values, up to the last bit of the group |
//!
//! A value is a number's kept bits, less the group's separator's, less the lengths of the jumps before it: where keys
//! are far apart, a jump takes the place of many zeros.

use crate::bits::{self, MAX_FIELD_BITS};

pub(crate) const NUM_BITS: u32 = 10;
pub(crate) const DEPTH_BITS: u32 = 7;
pub(crate) const WIDTH_BITS: u32 = 6;
pub(crate) const JUMPS_BITS: u32 = 4;
pub(crate) const HEAD_BITS: u64 = (NUM_BITS + DEPTH_BITS + WIDTH_BITS + JUMPS_BITS) as u64;
pub(crate) const JUMP_HEAD_BITS: u64 = 3 * WIDTH_BITS as u64;

/// The most values of a group, and the most jumps.
pub(crate) const MAX_NUM: usize = (1 << NUM_BITS) - 1;
pub(crate) const MAX_JUMPS: usize = (1 << JUMPS_BITS) - 1;

/// What a group says of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Maybe,
    No,
    /// All of its keys are below the range.
    Beyond,
}

/// A group's head.
pub(crate) struct Head {
    num: u64,
    /// The number of bits of a number that are not kept.
    pub(crate) shift: u32,
    low_bits: u32,
    pub(crate) jumps: Jumps,
    /// The offset of the high parts.
    highs: u64,
}

/// The jumps of a group.
pub(crate) struct Jumps {
    pub(crate) num: u64,
    from_bits: u32,
    len_bits: u32,
    unit: u32,
}

impl Jumps {
    /// Returns where jump `index` ends, and its length.
    pub(crate) fn get(&self, group: &[u8], index: u64) -> (u64, u64) {
        let offset = HEAD_BITS + JUMP_HEAD_BITS + index * u64::from(self.from_bits + self.len_bits);
        let len = read_wide(group, offset + u64::from(self.from_bits), self.len_bits);
        (read_wide(group, offset, self.from_bits), len << self.unit)
    }

    /// Returns the value whose place without jumps is `place`, and whether it lies before the end of a jump, which
    /// then is the least value after it.
    #[inline]
    pub(crate) fn value(&self, group: &[u8], place: u64) -> (u64, bool) {
        let mut sum = 0u64;
        for index in 0..self.num {
            let (from, len) = self.get(group, index);
            let value = place.saturating_sub(sum);
            if value < from.saturating_add(len) {
                return (value.min(from), value >= from);
            }
            sum = sum.saturating_add(len);
        }
        (place.saturating_sub(sum), false)
    }
}

impl Head {
    #[inline(always)]
    pub(crate) fn read(group: &[u8]) -> Self {
        let head = bits::read(group, 0, HEAD_BITS as u32);
        let field = |at: u32, width: u32| head >> at & ((1 << width) - 1);
        let num_jumps = field(NUM_BITS + DEPTH_BITS + WIDTH_BITS, JUMPS_BITS);
        let widths = if num_jumps > 0 { bits::read(group, HEAD_BITS, JUMP_HEAD_BITS as u32) } else { 0 };
        let width = |index: u32| (widths >> (index * WIDTH_BITS)) as u32 & ((1 << WIDTH_BITS) - 1);
        let jumps = Jumps { num: num_jumps, from_bits: width(0), len_bits: width(1), unit: width(2) };
        let each = u64::from(jumps.from_bits + jumps.len_bits);
        let highs = HEAD_BITS + if num_jumps > 0 { JUMP_HEAD_BITS + num_jumps * each } else { 0 };
        Self {
            num: field(0, NUM_BITS),
            shift: 64 - (field(NUM_BITS, DEPTH_BITS) as u32).clamp(1, 64),
            low_bits: (field(NUM_BITS + DEPTH_BITS, WIDTH_BITS) as u32).min(MAX_FIELD_BITS),
            jumps,
            highs,
        }
    }
}

/// Returns the number of values of a group.
pub(crate) fn num_values(group: &[u8]) -> u64 {
    Head::read(group).num
}

/// Searches a group whose separator is `separator` for a number from `lower` to `upper`. If it is exact, bits that are
/// not kept are zeros.
pub(crate) fn search(group: &[u8], separator: u64, lower: u64, upper: u64, is_exact: bool) -> Found {
    let head = Head::read(group);
    let first = separator >> head.shift;
    let value = |number: u64| head.jumps.value(group, number.saturating_sub(first));
    let up = u64::from(is_exact && lower.trailing_zeros() < head.shift);
    let (lower, _) = value((lower >> head.shift) + up);
    let upper = match value(upper >> head.shift) {
        (upper, false) => upper,
        (0, true) => return Found::No,
        (end, true) => end - 1,
    };
    // Both bounds lie between two multiples of 2^shift, or in a jump. The next group may have finer ones.
    if lower > upper {
        return Found::Beyond;
    }
    let high = lower >> head.low_bits;
    let Some(at) = after_zeros(group, head.highs, high, group.len() as u64 * 8) else { return Found::Beyond };
    let mut values = Values::new(group, &head);
    (values.at, values.high, values.entry) = (at, high, at - head.highs - high);
    match values.find(|&found| found >= lower) {
        Some(found) if found <= upper => Found::Maybe,
        Some(_) => Found::No,
        None => Found::Beyond,
    }
}

/// The values of a group, in turn.
pub(crate) struct Values<'a> {
    group: &'a [u8],
    num: u64,
    low_bits: u32,
    /// The offsets of the low bits, and of the next entry's high part.
    lows: u64,
    at: u64,
    entry: u64,
    high: u64,
}

impl<'a> Values<'a> {
    #[inline(always)]
    pub(crate) fn new(group: &'a [u8], head: &Head) -> Self {
        let lows = (group.len() as u64 * 8).saturating_sub(head.num * u64::from(head.low_bits));
        Self { group, num: head.num, low_bits: head.low_bits, lows, at: head.highs, entry: 0, high: 0 }
    }
}

impl Iterator for Values<'_> {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        while self.entry < self.num && self.at < self.group.len() as u64 * 8 {
            let zeros = u64::from(bits::read(self.group, self.at, MAX_FIELD_BITS).trailing_zeros().min(MAX_FIELD_BITS));
            (self.at, self.high) = (self.at + zeros, self.high + zeros);
            if zeros == u64::from(MAX_FIELD_BITS) {
                continue;
            }
            let low = bits::read(self.group, self.lows + self.entry * u64::from(self.low_bits), self.low_bits);
            (self.entry, self.at) = (self.entry + 1, self.at + 1);
            return Some(self.high << self.low_bits | low);
        }
        None
    }
}

/// Returns the offset after zero bit number `zeros` from `offset` on; `None` if there are fewer up to `end`.
fn after_zeros(group: &[u8], mut offset: u64, mut zeros: u64, end: u64) -> Option<u64> {
    while zeros > 0 {
        if offset >= end {
            return None;
        }
        let mut word = !bits::read(group, offset, MAX_FIELD_BITS) & ((1 << MAX_FIELD_BITS) - 1);
        let here = u64::from(word.count_ones());
        if zeros <= here {
            (1..zeros).for_each(|_| word &= word - 1);
            return Some(offset + u64::from(word.trailing_zeros()) + 1);
        }
        (offset, zeros) = (offset + u64::from(MAX_FIELD_BITS), zeros - here);
    }
    Some(offset)
}

/// Returns `width` bits, at most 63.
fn read_wide(group: &[u8], offset: u64, width: u32) -> u64 {
    let low = width.min(32);
    bits::read(group, offset, low) | bits::read(group, offset + u64::from(low), width - low) << low
}
