//! NEON: a line is four vectors.

use super::lanes::{self, Lanes};
use super::{Params, WORDS};
use crate::cpu::{Neon, neon};
use crate::hash::KeyHash;
use core::arch::aarch64::*;
use std::vec::Vec;

neon! {
    pub(super) fn may_contain(proof, params: &Params, lines: &[u8], hash: KeyHash) -> bool {
        lanes::may_contain::<Words>(proof, *params, lines, hash)
    }

    pub(super) fn all_may_contain(proof, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        lanes::all_may_contain::<Words>(proof, params, lines, hashes, answers)
    }

    pub(super) fn choose_words(proof, params: Params, keys: &[u64]) -> [u64; WORDS] {
        lanes::choose_words::<Words, 8>(proof, params, keys)
    }

    pub(super) fn insert(
        proof, params: Params, lines: &mut [u8], first_line: u64, keys: &[u64], present: &mut Vec<u64>,
    ) {
        lanes::insert::<Words>(proof, params, lines, first_line, keys, present)
    }
}

/// Two words, made from a [`Neon`] alone.
#[derive(Clone, Copy)]
struct Words(uint64x2_t);

impl Lanes for Words {
    type Proof = Neon;
    const COUNT: usize = 2;

    #[inline(always)]
    fn splat(_proof: Neon, value: u64) -> Self {
        // SAFETY: `_proof` is of NEON.
        unsafe { Self(vdupq_n_u64(value)) }
    }

    #[inline(always)]
    unsafe fn load(_proof: Neon, words: *const u64) -> Self {
        // SAFETY: `_proof` is of NEON; `words` is valid for two words, by this function's contract.
        unsafe { Self(vreinterpretq_u64_u8(vld1q_u8(words.cast()))) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: `self` was made from a proof of NEON; `words` is valid for two words, by this function's contract.
        unsafe { vst1q_u8(words.cast(), vreinterpretq_u8_u64(self.0)) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vaddq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vorrq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    fn without(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vbicq_u64(self.0, other.0)) }
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { vmaxvq_u32(vreinterpretq_u32_u64(self.0)) == 0 }
    }

    /// A shift by 64 leaves zero here too.
    #[inline(always)]
    fn shift_right(self, count: u32) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vshlq_u64(self.0, vdupq_n_s64(-i64::from(count)))) }
    }

    #[inline(always)]
    fn add_product(self, factor: Self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vaddq_u64(self.0, vmull_u32(vmovn_u64(factor.0), vmovn_u64(other.0)))) }
    }

    #[inline(always)]
    fn product(value: u32, multipliers: Self) -> Self {
        // SAFETY: `multipliers` was made from a proof of NEON.
        unsafe { Self(vmull_u32(vdup_n_u32(value), vmovn_u64(multipliers.0))) }
    }

    #[inline(always)]
    fn shift_to(self, product: Self, positions: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe {
            let counts = vshrq_n_u64::<32>(vmull_u32(vmovn_u64(product.0), vmovn_u64(positions.0)));
            Self(vshlq_u64(self.0, vreinterpretq_s64_u64(counts)))
        }
    }

    #[inline(always)]
    fn fewest(self, salt: Self, best: (Self, Self)) -> (Self, Self) {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe {
            let count = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(self.0)))));
            let fewer = vcltq_u64(count, best.1.0);
            (Self(vbslq_u64(fewer, self.or(salt).0, best.0.0)), Self(vbslq_u64(fewer, count, best.1.0)))
        }
    }
}
