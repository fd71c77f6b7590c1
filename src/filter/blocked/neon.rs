//! NEON: a line is four vectors.

use super::lanes::{self, Lanes};
use super::{Params, WORDS};
use crate::hash::KeyHash;
use core::arch::aarch64::*;
use std::vec::Vec;

/// Proof that this processor has NEON: only [`Neon::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }

    #[inline(always)]
    pub(super) fn may_contain(self, params: &Params, lines: &[u8], hash: KeyHash) -> bool {
        // SAFETY: `self` proves the features.
        unsafe { may_contain(params, lines, hash) }
    }

    pub(super) fn all_may_contain(self, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        // SAFETY: `self` proves the features.
        unsafe { all_may_contain(params, lines, hashes, answers) }
    }

    pub(super) fn choose_words(self, params: Params, keys: &[u64]) -> [u64; WORDS] {
        // SAFETY: `self` proves the features.
        unsafe { choose_words(params, keys) }
    }

    pub(super) fn insert(
        self,
        params: Params,
        lines: &mut [u8],
        first_line: u64,
        keys: &[u64],
        present: &mut Vec<u64>,
    ) {
        // SAFETY: `self` proves the features.
        unsafe { insert(params, lines, first_line, keys, present) }
    }
}

#[target_feature(enable = "neon")]
unsafe fn may_contain(params: &Params, lines: &[u8], hash: KeyHash) -> bool {
    // SAFETY: within a function of the features.
    unsafe { lanes::may_contain::<Words>(*params, lines, hash) }
}

#[target_feature(enable = "neon")]
unsafe fn all_may_contain(params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    // SAFETY: within a function of the features.
    unsafe { lanes::all_may_contain::<Words>(params, lines, hashes, answers) }
}

#[target_feature(enable = "neon")]
unsafe fn choose_words(params: Params, keys: &[u64]) -> [u64; WORDS] {
    // SAFETY: within a function of the features.
    unsafe { lanes::choose_words::<Words, 8>(params, keys) }
}

#[target_feature(enable = "neon")]
unsafe fn insert(params: Params, lines: &mut [u8], first_line: u64, keys: &[u64], present: &mut Vec<u64>) {
    // SAFETY: within a function of the features.
    unsafe { lanes::insert::<Words>(params, lines, first_line, keys, present) }
}

/// Two words.
#[derive(Clone, Copy)]
struct Words(uint64x2_t);

// SAFETY (of each block below): an `impl` of `Lanes` runs only within functions of the features, and loads and stores
// are of the words that the caller vouches for.
impl Lanes for Words {
    const COUNT: usize = 2;

    #[inline(always)]
    unsafe fn splat(value: u64) -> Self {
        // SAFETY: as above.
        unsafe { Self(vdupq_n_u64(value)) }
    }

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Self {
        // SAFETY: as above.
        unsafe { Self(vreinterpretq_u64_u8(vld1q_u8(words.cast()))) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: as above.
        unsafe { vst1q_u8(words.cast(), vreinterpretq_u8_u64(self.0)) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(vaddq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(vorrq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn without(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(vbicq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn multiply_low(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(vmull_u32(vmovn_u64(self.0), vmovn_u64(other.0))) }
    }

    /// A shift by 64 leaves zero here too.
    #[inline(always)]
    unsafe fn shift_right(self, count: u32) -> Self {
        // SAFETY: as above.
        unsafe { Self(vshlq_u64(self.0, vdupq_n_s64(-i64::from(count)))) }
    }

    #[inline(always)]
    unsafe fn shift_left_each(self, counts: Self) -> Self {
        // SAFETY: as above.
        unsafe { Self(vshlq_u64(self.0, vreinterpretq_s64_u64(counts.0))) }
    }

    #[inline(always)]
    unsafe fn is_zero(self) -> bool {
        // SAFETY: as above.
        unsafe { vmaxvq_u32(vreinterpretq_u32_u64(self.0)) == 0 }
    }

    #[inline(always)]
    unsafe fn count_ones(self) -> Self {
        // SAFETY: as above.
        unsafe { Self(vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(self.0)))))) }
    }

    #[inline(always)]
    unsafe fn fewer(self, count: Self, other: Self, other_count: Self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let fewer = vcltq_u64(count.0, other_count.0);
            (Self(vbslq_u64(fewer, self.0, other.0)), Self(vbslq_u64(fewer, count.0, other_count.0)))
        }
    }
}
