//! AVX2: a line is two vectors.

use super::lanes::{self, Lanes, instantiate};
use super::{Params, WORDS};
use crate::hash::KeyHash;
use core::arch::x86_64::*;
use std::vec::Vec;

/// Proof that this processor has AVX2, BMI2 and POPCNT: only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let all = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("popcnt");
        all.then_some(Self(()))
    }
}

instantiate!(Avx2, "avx2,bmi2,popcnt", Words, 8);
instantiate!(batches: Avx2, "avx2,bmi2,popcnt", Words);

/// Four words.
#[derive(Clone, Copy)]
struct Words(__m256i);

// SAFETY (of each block below): an `impl` of `Lanes` runs only within functions of the features, and loads and stores
// are of the words that the caller vouches for.
impl Lanes for Words {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: u64) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_set1_epi64x(value as i64)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_loadu_si256(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(words.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_andnot_si256(other.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_mul_epu32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn shift_right(self, count: u32) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_srl_epi64(self.0, _mm_cvtsi32_si128(count as i32))) }
    }

    /// No count is above 63; but where the compiler does not see that, it adds a comparison and two operations.
    #[inline(always)]
    unsafe fn shift_left_each(self, counts: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm256_sllv_epi64(self.0, _mm256_and_si256(counts.0, _mm256_set1_epi64x(63)))) }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: as above.
        unsafe { _mm256_testz_si256(self.0, self.0) == 1 }
    }

    /// A table of the sixteen half-bytes, then the sum of a word's bytes.
    #[inline(always)]
    unsafe fn count_ones(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
            let half = _mm256_set1_epi8(15);
            let low = _mm256_shuffle_epi8(table, _mm256_and_si256(self.0, half));
            let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(self.0, 4), half));
            Self(_mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256()))
        }
    }

    #[inline(always)]
    unsafe fn fewer(self, count: Self, other: Self, other_count: Self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let fewer = _mm256_cmpgt_epi64(other_count.0, count.0);
            let pick = |a: Self, b: Self| Self(_mm256_blendv_epi8(b.0, a.0, fewer));
            (pick(self, other), pick(count, other_count))
        }
    }
}
