//! The engines of ribbon.

#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
use super::{Params, View, portable};
use crate::hash::KeyHash;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Avx2 => avx2,
        #[cfg(simd_avx512)]
        Avx512Bitalg => avx512,
    }

    /// Whether the sums of the rows of `hash` are its fingerprint.
    #[inline]
    fn may_contain(view: &View<'_>, hash: KeyHash) -> bool;

    /// Solves a block from its last slot to its first, for the columns of `words`: on entry the words of the block after it,
    /// on return its own.
    #[cfg(feature = "std")]
    fn solve(coefficients: &[u64], fingerprints: &[u32], words: &mut [u64]);
}
