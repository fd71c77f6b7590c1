//! NEON: a line is four vectors.

use super::lanes::{self, Lanes, instantiate};
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
}

instantiate!(Neon, "neon", Words, 8);
instantiate!(batches: Neon, "neon", Words);

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
