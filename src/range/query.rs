//! A range, as a user names it and as a search sees it, and what a group says of it.

use super::bits::Bits;
use core::ops::Bound;

/// The keys that are asked for.
#[derive(Clone, Copy)]
pub(super) enum Query<'a> {
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}

/// A range of bits.
pub(super) struct Range<'a> {
    pub(super) lower: &'a Bits,
    pub(super) upper: &'a Bits,
    /// The first bit in which they differ.
    pub(super) differ_at: u32,
}

/// What a group says of a range.
pub(super) enum Found {
    Maybe,
    /// The lower bound lies behind this entry's leaf, from which it differs first in bit `above_at`; all entries behind
    /// it are above the range.
    Behind {
        entry: u32,
        above_at: u32,
    },
}

impl<'a> Range<'a> {
    /// Returns the range between two bounds; `None` if the lower is above the upper.
    #[inline(always)]
    pub(super) fn new(lower: &'a Bits, upper: &'a Bits) -> Option<Self> {
        let differ_at = lower.common_len(upper);
        (lower.at(differ_at) & 1 == 0 || differ_at == u32::MAX).then_some(Self { lower, upper, differ_at })
    }
}
