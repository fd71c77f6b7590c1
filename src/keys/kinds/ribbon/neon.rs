//! NEON: eight columns at a time, by counts of ones.

use super::portable;
use super::search::{Sums, Window};
#[cfg(feature = "std")]
use crate::cpu::Portable;
use crate::cpu::{Neon, neon};
use core::arch::aarch64::*;

#[cfg(feature = "std")]
use super::band::Rows;

/// The number of bytes of a vector: two words.
const VECTOR_LEN: usize = 16;
/// The number of bytes of the words of eight columns, which are added up together.
const GROUP_LEN: usize = 4 * VECTOR_LEN;

impl Sums for Neon {
    const GROUP: u32 = 8;

    #[inline(always)]
    fn first_agree(self, payload: &[u8], window: &Window) -> Option<bool> {
        if window.second + GROUP_LEN > payload.len() {
            return None;
        }
        // SAFETY: the comparison above shows that a group from `second` on is within `payload`, and `first` is before
        // `second`.
        let sums = unsafe { sums_of_group(self, payload, window) };
        Some((sums ^ window.fingerprint) << (u32::BITS - window.columns.min(Self::GROUP)) == 0)
    }
}

portable::compiled_for! { neon! }

#[cfg(feature = "std")]
neon! {
    pub(super) fn solve(_proof, rows: Rows<'_>, words: &mut [u64]) {
        portable::solve(Portable, rows, words)
    }
}

/// Returns the sums of the first eight columns.
///
/// # Safety
/// `payload` has their words from `first` and from `second` on.
#[inline(always)]
unsafe fn sums_of_group(_proof: Neon, payload: &[u8], window: &Window) -> u32 {
    // SAFETY: `_proof` is of NEON, and the loads are those of this function's contract.
    unsafe {
        let words = payload.as_ptr();
        let masks = window.masks.map(|mask| vreinterpretq_u8_u64(vdupq_n_u64(mask)));
        let ones = [0, 1, 2, 3].map(|vector| {
            let first = vandq_u8(vld1q_u8(words.add(window.first + vector * VECTOR_LEN)), masks[0]);
            let second = vandq_u8(vld1q_u8(words.add(window.second + vector * VECTOR_LEN)), masks[1]);
            vcntq_u8(veorq_u8(first, second))
        });
        // The eight bytes of a word are added up by steps: to four, two, one.
        let of_words = vpaddq_u8(vpaddq_u8(ones[0], ones[1]), vpaddq_u8(ones[2], ones[3]));
        let of_words = vget_low_u8(vpaddq_u8(of_words, of_words));
        let parities = vand_u8(of_words, vdup_n_u8(1));
        // Word i goes to bit i.
        let places = vcreate_s8(0x0706_0504_0302_0100);
        u32::from(vaddv_u8(vshl_u8(parities, places)))
    }
}
