//! The engines of golomb.

#[cfg(simd_avx512)]
use super::avx512;
#[cfg(simd_x86_64)]
use super::bmi2;
use super::{Params, View, portable};
use crate::hash::KeyHash;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Bmi2 => bmi2,
        #[cfg(simd_avx512)]
        Avx512Vbmi2 => avx512 if avx512::suits,
    }

    /// Whether the offset of `hash` is in its bucket.
    #[inline]
    fn may_contain(view: &View<'_>, hash: KeyHash) -> bool;
}
