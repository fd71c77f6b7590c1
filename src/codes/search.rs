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

/// The number of bytes, from the one of a bucket's start on, that contain the unary bits of the longest skip and the
/// window after it.
pub(super) const UNARY_LEN: usize = 4 * 8;

/// The number of codes that are compared.
pub(super) const CODES: usize = 16;
/// The least number of zeros that a window of 57 bits has before the last code that is compared, if that code is not in
/// it.
pub(super) const MOST_ZEROS: u64 = 57 - CODES as u64;

/// The steps of a search that an engine does with its own instructions.
pub(super) trait Lanes: Copy {
    /// The widest remainder that is unpacked. (No bound depends on it: the loads are checked for any width.)
    const MAX_REMAINDER_BITS: u32;

    /// Returns the lowest `count` bits of `word`, or all if `count` is 64 to 255.
    fn low_bits(self, word: u64, count: u64) -> u64;

    /// Returns the sum of the last `count` remainders before bit `end` of `codes`, or `None` if they are too many or
    /// the loads would leave `codes`.
    fn sum(self, codes: &[u8], remainder_bits: u32, end: u64, count: u64) -> Option<u64>;

    /// Returns whether the first code from `cursor` on that is not below the value sought is at most `len` above it, or
    /// `None` if all codes that are compared lie below or the load would leave `codes`. `window` has the next unary bits,
    /// at least 57, followed by zeros. There are at most 2^16 − 1 bits from `cursor.unary` to `cursor.remainders`.
    fn has_soon(self, codes: &[u8], remainder_bits: u32, cursor: Cursor, len: u64, window: u64) -> Option<bool>;
}

/// Returns whether an engine unpacks the remainders of a payload.
pub(super) fn suits<L: Lanes>(params: &Params) -> bool {
    params.remainder_bits() <= L::MAX_REMAINDER_BITS
}

#[inline(always)]
pub(super) fn may_have(lanes: impl Lanes, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
    match search(lanes, layout, payload, bucket, from, to) {
        Some(answer) => answer,
        None => elsewhere(layout, payload, bucket, from, to),
    }
}

/// Answers for overfull buckets, for buckets at the ends of a payload, and for unreadable ones.
#[cold]
#[inline(never)]
fn elsewhere(layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
    portable::may_have(Portable, layout, payload, bucket, from, to)
}

/// Searches with vectors. `None` leaves the answer to the portable search.
#[inline(always)]
pub(super) fn search(
    lanes: impl Lanes,
    layout: &Layout,
    payload: &[u8],
    bucket: u64,
    from: u64,
    to: u64,
) -> Option<bool> {
    let (start, end) = View { layout, payload }.bounds(bucket);
    if start < layout.codes_start {
        return None;
    }
    let quotients: &[u8; UNARY_LEN] = payload.get((start / 8) as usize..)?.first_chunk()?;
    let (skip, first, remainder_bits) = (layout.tuning.early_skip(from), start % 8, layout.params.remainder_bits());
    let (ones, width) = (ones_before(lanes, quotients, first, first + skip), u64::from(remainder_bits));
    // `sum` compares `end` with the payload's end.
    let sum = lanes.sum(payload, remainder_bits, end, ones)?;
    let (unary, remainders) = (start + skip, end.wrapping_sub(ones * width));
    // The difference is below 0 if ones beyond the last code were counted, or if the bucket ends before it starts. The
    // skipped bits count, so that a bucket which is too long is left to the portable search, as one in a damaged
    // filter is: it answers for it without searching.
    if remainders.wrapping_sub(unary) > layout.params.max_bucket_bits() - (skip + ones * width) {
        return None;
    }
    // If the skip led beyond the value sought, this wraps to a number above all values.
    let left = from.wrapping_sub(((skip - ones) << width) + sum + ones);
    let window = bytes::u64_at(quotients, ((first + skip) / 8) as usize) >> (unary % 8);
    lanes.has_soon(payload, remainder_bits, Cursor { left, unary, remainders }, to - from, window)
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
