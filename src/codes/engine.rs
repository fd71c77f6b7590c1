//! The engines of a search.

#[cfg(simd_avx512)]
use super::avx512;
use super::{Layout, Params, portable};
#[cfg(simd_x86_64)]
use super::{avx2, bmi2, search::suits};
#[cfg(simd_x86_64)]
use crate::cpu::Avx2;
#[cfg(simd_avx512)]
use crate::cpu::Avx512Vbmi2;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Bmi2 => bmi2,
        #[cfg(simd_x86_64)]
        Avx2 => avx2 if suits::<Avx2>,
        #[cfg(simd_avx512)]
        Avx512Vbmi2 => avx512 if suits::<Avx512Vbmi2>,
    }

    /// Returns whether `bucket` may have this offset.
    #[inline]
    fn may_contain(layout: &Layout, payload: &[u8], bucket: u64, offset: u64) -> bool;

    /// Returns whether `bucket` may have an offset in `from..=to`.
    #[inline]
    fn may_have(layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool;
}
