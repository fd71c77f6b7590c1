//! AVX-512: a line is one vector.

mod probe;

use super::lanes::{self, Lanes, instantiate};
use super::{LINE_LEN, MAX_LINES, Params, WORDS};
use crate::hash::{KeyHash, fast_range};
use core::arch::x86_64::*;
use probe::{Constants, all_hit};
use std::vec::Vec;

/// Proof that this processor has AVX-512 with the extensions named in [`Avx512::detect`]: only that makes one.
/// (They came together, with Ice Lake and Zen 4; what lacks some of them also lowers its clock for wide vectors.)
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512ifma")
            && std::is_x86_feature_detected!("avx512bitalg")
            && std::is_x86_feature_detected!("avx512vpopcntdq")
            && std::is_x86_feature_detected!("bmi2");
        all.then_some(Self(()))
    }

    /// The probe that stands in the caller's loop, for parameters that it knows.
    pub(super) fn inlined(self, params: Params) -> Option<Inlined> {
        Constants::of(params).map(|constants| Inlined { constants, _proof: self })
    }

    pub(super) fn all_may_contain(self, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        // SAFETY: `self` proves the features.
        unsafe { all_may_contain(params, lines, hashes, answers) }
    }
}

/// The probe for one set of parameters, without a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inlined {
    constants: &'static Constants,
    _proof: Avx512,
}

impl Inlined {
    /// Whether all bits of `hash` are set in its line. (A filter has a line.)
    #[inline(always)]
    pub(super) fn may_contain(self, lines: &[u8], hash: KeyHash) -> bool {
        let num_lines = (lines.len() / LINE_LEN) as u64;
        if num_lines == 0 {
            return true;
        }
        let index = fast_range(hash.get(), num_lines) as usize;
        // SAFETY: the proof is of the features; the index of a line is below the number of whole lines in the slice.
        unsafe { all_hit(self.constants, lines.as_ptr().add(index * LINE_LEN), hash.get()) }
    }
}

instantiate!(Avx512, "avx512f,avx512bw,avx512ifma,avx512bitalg,avx512vpopcntdq,bmi2", Words, 16);

#[target_feature(enable = "avx512f,avx512bw,avx512ifma,avx512bitalg,avx512vpopcntdq,bmi2")]
fn all_may_contain(params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    match Constants::of(params) {
        Some(constants) if params.num_lines < MAX_LINES => probe::ask_all(constants, lines, hashes, answers),
        // SAFETY: within a function of the features.
        _ => unsafe { lanes::all_may_contain::<Words>(params, lines, hashes, answers) },
    }
}

/// Eight words.
#[derive(Clone, Copy)]
struct Words(__m512i);

/// Multiplying by it moves 32 bits to the top of the 52 that IFMA multiplies: then the lower 52 bits of a product are
/// the product modulo 2^32, and the upper 52 of another its fast range, without a shift.
const TOP: u32 = 52 - 32;

// SAFETY (of each block below): an `impl` of `Lanes` runs only within functions of the features, and loads and stores
// are of the words that the caller vouches for.
impl Lanes for Words {
    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn splat(value: u64) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_set1_epi64(value as i64)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_loadu_si512(words.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(words.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_add_epi64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_andnot_si512(other.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_mul_epu32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn shift_right(self, count: u32) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_srl_epi64(self.0, _mm_cvtsi32_si128(count as i32))) }
    }

    /// A rotation, which is a shift for all that is shifted here: for a shift the compiler adds a comparison, as it does not
    /// know that no count is above 63.
    #[inline(always)]
    unsafe fn shift_left_each(self, counts: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_rolv_epi64(self.0, counts.0)) }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: as above.
        unsafe { _mm512_test_epi64_mask(self.0, self.0) == 0 }
    }

    #[inline(always)]
    unsafe fn count_ones(self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_popcnt_epi64(self.0)) }
    }

    #[inline(always)]
    unsafe fn fewer(self, count: Self, other: Self, other_count: Self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let fewer = _mm512_cmplt_epu64_mask(count.0, other_count.0);
            let words = _mm512_mask_mov_epi64(other.0, fewer, self.0);
            (Self(words), Self(_mm512_min_epu64(count.0, other_count.0)))
        }
    }

    #[inline(always)]
    unsafe fn value(value: u32) -> Self {
        // SAFETY: as above.
        unsafe { Self::splat(u64::from(value) << TOP) }
    }

    #[inline(always)]
    unsafe fn product(value: Self, multipliers: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_madd52lo_epu64(_mm512_setzero_si512(), value.0, multipliers.0)) }
    }

    #[inline(always)]
    unsafe fn position(product: Self, positions: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_madd52hi_epu64(_mm512_setzero_si512(), product.0, positions.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_add(base: Self, factor: Self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(_mm512_madd52lo_epu64(base.0, factor.0, other.0)) }
    }
}
