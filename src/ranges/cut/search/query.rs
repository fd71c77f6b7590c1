//! A range as a search sees it, and what a group reports of it.

use crate::ranges::cut::bits::Bits;

/// A range of bits.
pub(crate) struct Range<'a> {
    pub(crate) lower: &'a Bits,
    pub(crate) upper: &'a Bits,
    /// The first bit in which they differ.
    pub(crate) differ_at: u32,
}

/// A group's answer for a range.
pub(crate) enum Found {
    Maybe,
    /// The lower bound lies after this entry's leaf, from which it differs first in bit `above_at`; all later entries
    /// are above the range.
    After {
        entry: u32,
        above_at: u32,
    },
}

impl<'a> Range<'a> {
    /// Returns the range between two bounds; `None` if the lower is above the upper.
    #[inline(always)]
    pub(crate) fn new(lower: &'a Bits, upper: &'a Bits) -> Option<Self> {
        let differ_at = lower.common_len(upper);
        (lower.at(differ_at) & 1 == 0 || differ_at == u32::MAX).then_some(Self { lower, upper, differ_at })
    }
}
