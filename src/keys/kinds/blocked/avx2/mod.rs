//! AVX2: a line is two vectors.

mod probe;

pub(super) use probe::Probe;

use super::lanes::{self, Lanes};
use super::{LINE_LEN, Params, WORDS, query};
use crate::cpu::{Avx2, avx2};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

query::compiled_for! { avx2!, 8 }

/// Returns the products of the lower halves, in assembly. The compiler takes `_mm256_mul_epu32` as a masking and a
/// multiplication of whole words, and makes three multiplications of it if a factor is constant.
///
/// # Safety
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn multiply_low(a: __m256i, b: __m256i) -> __m256i {
    let product;
    // SAFETY: AVX2, a feature of this function, has the instruction. It reads and writes its registers alone: no
    // memory, no stack, no flags; and it is the only one, so the result may share a register with an operand.
    unsafe {
        core::arch::asm!("vpmuludq {product}, {a}, {b}", product = lateout(ymm_reg) product,
            a = in(ymm_reg) a, b = in(ymm_reg) b, options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// Four words, made from an [`Avx2`] alone.
#[derive(Clone, Copy)]
struct Words(__m256i);

impl Lanes for Words {
    type Proof = Avx2;
    const COUNT: usize = 4;

    #[inline(always)]
    fn splat(_proof: Avx2, value: u64) -> Self {
        // SAFETY: `_proof` is of AVX2.
        unsafe { Self(_mm256_set1_epi64x(value as i64)) }
    }

    #[inline(always)]
    unsafe fn load(_proof: Avx2, words: *const u64) -> Self {
        // SAFETY: `_proof` is of AVX2; `words` is valid for four words, by this function's contract.
        unsafe { Self(_mm256_loadu_si256(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: `self` was made from a proof of AVX2; `words` is valid for four words, by this function's contract.
        unsafe { _mm256_storeu_si256(words.cast(), self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe { Self(_mm256_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe { Self(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn without(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe { Self(_mm256_andnot_si256(other.0, self.0)) }
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe { _mm256_testz_si256(self.0, self.0) == 1 }
    }

    #[inline(always)]
    fn add_product(self, factor: Self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe { Self(_mm256_add_epi64(self.0, _mm256_mul_epu32(factor.0, other.0))) }
    }

    #[inline(always)]
    fn product(value: u64, multipliers: Self) -> Self {
        // SAFETY: `multipliers` was made from a proof of AVX2.
        unsafe { Self(multiply_low(_mm256_set1_epi64x(value as i64), multipliers.0)) }
    }

    /// No count is above 63. The compiler adds a comparison and two operations if it does not know that.
    #[inline(always)]
    fn shift_to(self, product: Self, positions: Self) -> Self {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe {
            let counts = _mm256_srli_epi64::<32>(_mm256_mul_epu32(product.0, positions.0));
            Self(_mm256_sllv_epi64(self.0, _mm256_and_si256(counts, _mm256_set1_epi64x(63))))
        }
    }

    /// The bits are counted by a table of the sixteen half-bytes, then the sum of a word's bytes.
    #[inline(always)]
    fn fewest(self, salt: Self, best: (Self, Self)) -> (Self, Self) {
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
            let half = _mm256_set1_epi8(15);
            let low = _mm256_shuffle_epi8(table, _mm256_and_si256(self.0, half));
            let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(self.0, 4), half));
            let count = Self(_mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256()));
            let fewer = _mm256_cmpgt_epi64(best.1.0, count.0);
            let pick = |a: Self, b: Self| Self(_mm256_blendv_epi8(b.0, a.0, fewer));
            (pick(self.or(salt), best.0), pick(count, best.1))
        }
    }
}
