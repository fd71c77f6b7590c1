//! The search with vectors: codes below the offset sought are skipped by rank, and the codes that follow are compared
//! at once.
//!
//! The length of the skip follows from the offset sought alone, and ends some codes below it. The ones among the
//! skipped unary bits are counted, and the sum of that number of remainders gives the value reached. Hardly any
//! mispredicted branch waits for the codes. The portable search takes over where the loads would leave the payload and
//! where the codes deviate too far from the average: in fewer than 2 of 100 queries of buckets as planned.

use super::decode::Cursor;
use super::{Layout, Params, View, portable};
use crate::bytes;
use crate::cpu::Portable;
use crate::hash::KeyHash;

/// The number of bytes, from the one of a bucket's start on, that contain the unary bits of the longest skip and the
/// window after it.
pub(super) const UNARY_LEN: usize = 4 * 8;

/// The widest remainder that the engines unpack. With AVX2 it is within two bytes, from any bit of the first on; with
/// AVX-512 the sum of 16 codes fits a lane, as a value sought in a window is below 41 · 2^r.
pub(super) const MAX_REMAINDER_BITS: u32 = 9;

/// Returns whether the remainders of a filter fit. (No bound depends on it: the loads are checked for any width.)
pub(super) fn suits(params: &Params) -> bool {
    params.remainder_bits() <= MAX_REMAINDER_BITS
}

/// The steps of a search that an engine does with its own instructions.
pub(super) trait Lanes: Copy {
    /// Returns the lowest `count` bits of `word`, or all if `count` is 64 to 255.
    fn low_bits(self, word: u64, count: u64) -> u64;

    /// Returns the sum of the last `count` remainders before bit `end` of `codes`, or `None` if they are too many or
    /// the loads would leave `codes`.
    fn sum(self, codes: &[u8], remainder_bits: u32, end: u64, count: u64) -> Option<u64>;

    /// Returns whether the value sought is among the codes from `cursor` on, or `None` if all codes that are compared
    /// lie below it or the load would leave `codes`. `window` has the next unary bits, at least 57, followed by zeros.
    /// There are at most 2^16 − 1 bits from `cursor.unary` to `cursor.remainders`.
    fn contains_soon(self, codes: &[u8], remainder_bits: u32, cursor: Cursor, window: u64) -> Option<bool>;
}

#[inline(always)]
pub(super) fn may_contain(lanes: impl Lanes, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
    match search(lanes, layout, payload, hash) {
        Some(answer) => answer,
        None => elsewhere(layout, payload, hash),
    }
}

/// Answers for overfull buckets, for buckets at the ends of a payload, and for unreadable ones.
#[cold]
#[inline(never)]
fn elsewhere(layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
    portable::may_contain(Portable, layout, payload, hash)
}

/// Searches with vectors. `None` leaves the answer to the portable search.
#[inline(always)]
pub(super) fn search(lanes: impl Lanes, layout: &Layout, payload: &[u8], hash: KeyHash) -> Option<bool> {
    let (bucket, sought) = layout.params.buckets.locate(hash);
    let (start, end) = View { layout, payload }.bounds(bucket);
    if start < layout.codes_start {
        return None;
    }
    let quotients: &[u8; UNARY_LEN] = payload.get((start / 8) as usize..)?.first_chunk()?;
    let (skip, first) = (layout.tuning.early_skip(sought), start % 8);
    let ones = ones_before(lanes, quotients, first, first + skip);
    // `sum` compares `end` with the payload's end.
    let sum = lanes.sum(payload, layout.params.remainder_bits(), end, ones)?;
    let width = u64::from(layout.params.remainder_bits());
    let (unary, remainders) = (start + skip, end.wrapping_sub(ones * width));
    // The difference is below 0 if ones beyond the last code were counted, or if the bucket ends before it starts. The
    // skipped bits count, so that a bucket which is too long is left to the portable search, as one in a damaged
    // filter is: it answers for it without searching.
    if remainders.wrapping_sub(unary) > layout.params.max_bucket_bits() - (skip + ones * width) {
        return None;
    }
    // If the skip led beyond the value sought, this wraps to a number above all values.
    let left = sought.wrapping_sub(((skip - ones) << width) + sum + ones);
    let window = bytes::u64_at(quotients, ((first + skip) / 8) as usize) >> (unary % 8);
    lanes.contains_soon(payload, layout.params.remainder_bits(), Cursor { left, unary, remainders }, window)
}

/// Returns the number of ones among the bits `from..to`; `from` is in the first byte, `to` in the first three words.
#[inline(always)]
pub(super) fn ones_before(lanes: impl Lanes, quotients: &[u8; UNARY_LEN], from: u64, to: u64) -> u64 {
    let word = |index: usize| bytes::u64_at(quotients, 8 * index);
    let first = lanes.low_bits(word(0), to) >> from;
    let second = lanes.low_bits(word(1), to.saturating_sub(64));
    let third = lanes.low_bits(word(2), to.saturating_sub(128));
    u64::from(first.count_ones() + second.count_ones() + third.count_ones())
}
