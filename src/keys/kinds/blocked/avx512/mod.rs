//! AVX-512: a line is one vector.

mod probe;

pub(super) use probe::Probe;

use super::lanes::{self, Lanes};
use super::{LINE_LEN, Params, WORDS, query};
use crate::cpu::{Avx512Bitalg, avx512_bitalg};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

query::compiled_for! { avx512_bitalg!, 16 }

/// Eight words, made from an [`Avx512Bitalg`] alone.
#[derive(Clone, Copy)]
struct Words(__m512i);

/// Multiplying by it moves 32 bits to the top of the 52 that IFMA multiplies: then the lower 52 bits of a product are
/// the product modulo 2^32, and the upper 52 of another its fast range, without a shift.
const TOP: u32 = 52 - 32;

impl Lanes for Words {
    type Proof = Avx512Bitalg;
    const COUNT: usize = 8;

    #[inline(always)]
    fn splat(_proof: Avx512Bitalg, value: u64) -> Self {
        // SAFETY: `_proof` is of AVX-512F.
        unsafe { Self(_mm512_set1_epi64(value as i64)) }
    }

    #[inline(always)]
    unsafe fn load(_proof: Avx512Bitalg, words: *const u64) -> Self {
        // SAFETY: `_proof` is of AVX-512F; `words` is valid for eight words, by this function's contract.
        unsafe { Self(_mm512_loadu_si512(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: `self` was made from a proof of AVX-512F; `words` is valid for eight words, by this function's
        // contract.
        unsafe { _mm512_storeu_si512(words.cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX-512F.
        unsafe { Self(_mm512_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX-512F.
        unsafe { Self(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn without(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX-512F.
        unsafe { Self(_mm512_andnot_si512(other.0, self.0)) }
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        // SAFETY: `self` was made from a proof of AVX-512F.
        unsafe { _mm512_test_epi64_mask(self.0, self.0) == 0 }
    }

    #[inline(always)]
    fn add_product(self, factor: Self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX-512 IFMA.
        unsafe { Self(_mm512_madd52lo_epu64(self.0, factor.0, other.0)) }
    }

    #[inline(always)]
    fn product(value: u64, multipliers: Self) -> Self {
        // SAFETY: `multipliers` was made from a proof of AVX-512 IFMA.
        unsafe {
            let (zero, at_top) = (_mm512_setzero_si512(), _mm512_slli_epi64::<TOP>(multipliers.0));
            Self(_mm512_madd52lo_epu64(zero, _mm512_set1_epi64(value as i64), at_top))
        }
    }

    /// Shifts by a rotation, which gives the same for all words here. For a shift the compiler would add a comparison,
    /// as it does not know that no count is above 63.
    #[inline(always)]
    fn shift_to(self, product: Self, positions: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX-512 IFMA.
        unsafe {
            let counts = _mm512_madd52hi_epu64(_mm512_setzero_si512(), product.0, positions.0);
            Self(_mm512_rolv_epi64(self.0, counts))
        }
    }

    #[inline(always)]
    fn fewest(self, salt: Self, best: (Self, Self)) -> (Self, Self) {
        // SAFETY: `self` was made from a proof of AVX-512 VPOPCNTDQ.
        unsafe {
            let count = _mm512_popcnt_epi64(self.0);
            let fewer = _mm512_cmplt_epu64_mask(count, best.1.0);
            let words = _mm512_mask_mov_epi64(best.0.0, fewer, self.or(salt).0);
            (Self(words), Self(_mm512_min_epu64(count, best.1.0)))
        }
    }
}
