//! The engines of golomb.

#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
use super::{Layout, Params, portable};
#[cfg(simd_x86_64)]
use super::{bmi2, search};
use crate::hash::KeyHash;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Bmi2 => bmi2,
        #[cfg(simd_x86_64)]
        Avx2 => avx2 if search::suits,
        #[cfg(simd_avx512)]
        Avx512Vbmi2 => avx512 if search::suits,
    }

    /// Returns whether the offset of `hash` is in its bucket.
    #[inline]
    fn may_contain(layout: &Layout, payload: &[u8], hash: KeyHash) -> bool;
}
