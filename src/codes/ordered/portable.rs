//! The definition, in plain code: codes below the offset sought are skipped by rank, the others decoded one by one.

use super::super::decode::{Bucket, Cursor, Tuning};
use super::super::{Layout, View};
use crate::bits;
use crate::cpu::Portable;

#[inline(always)]
pub(super) fn may_have(_: Portable, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
    match (View { layout, payload }).bucket(bucket) {
        Some(bucket) => first_is_within(bucket, &layout.tuning, from, to),
        None => true,
    }
}

/// Returns whether the first offset that is not below `from` is at most `to`.
#[inline(always)]
fn first_is_within(bucket: Bucket<'_>, tuning: &Tuning, from: u64, to: u64) -> bool {
    let Cursor { mut left, mut unary, mut remainders } = bucket.skip_below(tuning, from);
    let Bucket { codes, remainder_bits, .. } = bucket;
    let (mut window_start, mut window) = (unary, bits::read(codes, unary, bits::MAX_FIELD_BITS));
    while let Some(remainder_start) = remainders.checked_sub(u64::from(remainder_bits)) {
        while window == 0 {
            window_start += u64::from(bits::MAX_FIELD_BITS);
            // No code in the range can follow this run of zeros.
            let is_above = window_start - unary > left.saturating_add(to - from) >> remainder_bits;
            if is_above || window_start >= remainder_start {
                return false;
            }
            window = bits::read(codes, window_start, bits::MAX_FIELD_BITS);
        }
        let one = window_start + u64::from(window.trailing_zeros());
        if one >= remainder_start {
            return false;
        }
        let gap = ((one - unary) << remainder_bits) + bits::read(codes, remainder_start, remainder_bits);
        if gap >= left {
            return gap - left <= to - from;
        }
        // Each gap after the first is stored less one, as offsets are distinct.
        left -= gap + 1;
        (unary, remainders) = (one + 1, remainder_start);
        window &= window - 1;
    }
    false
}
