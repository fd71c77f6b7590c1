//! The engines of a search for the first code at or above another.

use super::super::{Layout, Params};
#[cfg(simd_avx512)]
use super::avx512;
#[cfg(simd_x86_64)]
use super::bmi2;
use super::portable;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Bmi2 => bmi2,
        #[cfg(simd_avx512)]
        Avx512Vbmi2 => avx512 if avx512::suits,
    }

    /// Returns whether `bucket` may have an offset in `from..=to`.
    #[inline]
    fn may_have(layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool;
}
