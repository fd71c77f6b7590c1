//! The engines of a search.

#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
use super::portable;
use super::query::Range;
use super::walk::{Place, Step};
use crate::ranges::cut::layout::Layout;

crate::cpu::engines! {
    (): {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Avx2 => avx2,
        #[cfg(simd_avx512)]
        Avx512Vbmi2 => avx512,
    }

    /// Returns whether a leaf may begin in the range, or the range in a leaf.
    #[inline]
    fn may_overlap(range: &Range<'_>, layout: &Layout, payload: &[u8]) -> bool;

    /// Does one step of that search.
    #[inline]
    fn descend(range: &Range<'_>, layout: &Layout, payload: &[u8], place: Place) -> Step;
}
