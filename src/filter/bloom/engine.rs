//! The engines of bloom.

use super::{Params, View, portable};
use crate::hash::KeyHash;

#[cfg(simd_avx512)]
use super::avx512;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_avx512)]
        Avx512Dq => avx512 if avx512::suits,
    }

    /// Whether all bits of `hash` are set.
    #[inline(always)]
    fn may_contain(view: &View<'_>, hash: KeyHash) -> bool;

    /// An answer for each hash.
    fn all_may_contain(view: &View<'_>, hashes: &[KeyHash], answers: &mut [bool]);

    /// Whether prefetching gains anything across filters.
    #[inline]
    fn gains_by_prefetch() -> bool;
}
