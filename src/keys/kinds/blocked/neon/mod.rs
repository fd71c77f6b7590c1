//! NEON: a line is four vectors, taken by two.

mod probe;

pub(super) use probe::Probe;

use super::lanes::{self, Lanes};
use super::{LINE_LEN, Params, WORDS, query};
use crate::cpu::{Neon, neon};
use crate::hash::KeyHash;
use core::arch::aarch64::*;

query::compiled_for! { neon!, 8 }

/// Four words, made from a [`Neon`] alone. Four products are in the first vector, in 32 bits each; the second is then
/// unused.
#[derive(Clone, Copy)]
struct Words(uint64x2_t, uint64x2_t);

impl Lanes for Words {
    type Proof = Neon;
    const COUNT: usize = 4;

    #[inline(always)]
    fn splat(_proof: Neon, value: u64) -> Self {
        // SAFETY: `_proof` is of NEON.
        unsafe { Self(vdupq_n_u64(value), vdupq_n_u64(value)) }
    }

    #[inline(always)]
    unsafe fn load(_proof: Neon, words: *const u64) -> Self {
        // SAFETY: `_proof` is of NEON; `words` is valid for four words, by this function's contract.
        let half = |first| unsafe { vreinterpretq_u64_u8(vld1q_u8(words.add(first).cast())) };
        Self(half(0), half(2))
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: `self` was made from a proof of NEON; `words` is valid for four words, by this function's contract.
        unsafe {
            vst1q_u8(words.cast(), vreinterpretq_u8_u64(self.0));
            vst1q_u8(words.add(2).cast(), vreinterpretq_u8_u64(self.1));
        }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        let sum =
            |a, b| unsafe { vreinterpretq_u64_u32(vaddq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b))) };
        Self(sum(self.0, other.0), self.1)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vorrq_u64(self.0, other.0), vorrq_u64(self.1, other.1)) }
    }

    #[inline(always)]
    fn without(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { Self(vbicq_u64(self.0, other.0), vbicq_u64(self.1, other.1)) }
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe { vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(self.0, self.1))) == 0 }
    }

    #[inline(always)]
    fn add_product(self, factor: Self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        let sum = |a, factor, other| unsafe { vmlal_u32(a, vmovn_u64(factor), vmovn_u64(other)) };
        Self(sum(self.0, factor.0, other.0), sum(self.1, factor.1, other.1))
    }

    #[inline(always)]
    fn product(value: u64, multipliers: Self) -> Self {
        // SAFETY: `multipliers` was made from a proof of NEON.
        unsafe {
            let lower_halves = vuzp1q_u32(vreinterpretq_u32_u64(multipliers.0), vreinterpretq_u32_u64(multipliers.1));
            let products = vreinterpretq_u64_u32(vmulq_n_u32(lower_halves, value as u32));
            Self(products, products)
        }
    }

    #[inline(always)]
    fn shift_to(self, product: Self, positions: Self) -> Self {
        // SAFETY: `self` was made from a proof of NEON.
        unsafe {
            let shift = |ones, ranges| vshlq_u64(ones, vreinterpretq_s64_u64(vshrq_n_u64::<32>(ranges)));
            let (products, positions) = (vreinterpretq_u32_u64(product.0), vmovn_u64(positions.0));
            let front = vmull_u32(vget_low_u32(products), positions);
            let back = vmull_high_u32(products, vcombine_u32(positions, positions));
            Self(shift(self.0, front), shift(self.1, back))
        }
    }

    #[inline(always)]
    fn fewest(self, salt: Self, best: (Self, Self)) -> (Self, Self) {
        let with_salt = self.or(salt);
        // SAFETY: `self` was made from a proof of NEON.
        let half = |bits, with_salt, best, best_count| unsafe {
            let count = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(bits)))));
            let fewer = vcltq_u64(count, best_count);
            (vbslq_u64(fewer, with_salt, best), vbslq_u64(fewer, count, best_count))
        };
        let front = half(self.0, with_salt.0, best.0.0, best.1.0);
        let back = half(self.1, with_salt.1, best.0.1, best.1.1);
        (Self(front.0, back.0), Self(front.1, back.1))
    }
}
