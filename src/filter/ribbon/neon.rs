//! NEON: eight columns at a time, by counts of ones.

use super::search::{self, Sums, Window};
use super::{Layout, portable};
use crate::cpu::{Neon, Portable, neon};
use crate::hash::KeyHash;
use core::arch::aarch64::*;

#[cfg(feature = "std")]
use super::band::Cell;
#[cfg(feature = "std")]
use super::turns::{IN_TURNS, Place, Turn};

/// Bytes of a vector: two words.
const VECTOR_LEN: usize = 16;
/// Columns that are summed together.
const GROUP: usize = 8;
/// Bytes of their words.
const GROUP_LEN: usize = 4 * VECTOR_LEN;

impl Sums for Neon {
    #[inline(always)]
    fn agrees(self, payload: &[u8], window: &Window) -> Option<bool> {
        let num_groups = (window.columns as usize).div_ceil(GROUP);
        if window.second + num_groups * GROUP_LEN > payload.len() {
            return None;
        }
        let mut sums = 0;
        for group in 0..num_groups {
            // SAFETY: the comparison above, and `first` is before `second`.
            sums |= unsafe { sums_of_group(self, payload, window, group * GROUP_LEN) } << (group * GROUP);
        }
        Some((sums ^ window.fingerprint) << (u32::BITS - window.columns) == 0)
    }
}

neon! {
    pub(super) fn may_contain(sums, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
        search::may_contain(sums, layout, payload, hash)
    }

    pub(super) fn may_contain_all(
        sums,
        layout: &Layout,
        payload: &[u8],
        hashes: &[KeyHash],
        answers: &mut [bool],
    ) {
        search::may_contain_all(sums, layout, payload, hashes, answers);
    }

    #[cfg(feature = "std")]
    pub(super) fn solve(_proof, rows: &[Cell], words: &mut [u64]) {
        portable::solve(Portable, rows, words)
    }

    #[cfg(feature = "std")]
    pub(super) fn take_turns(_proof, turns: [Turn<'_>; IN_TURNS]) -> (usize, [Place; IN_TURNS]) {
        portable::take_turns(Portable, turns)
    }

    #[cfg(feature = "std")]
    pub(super) fn take_all_turns(_proof, turn: Turn<'_>) -> Place {
        portable::take_all_turns(Portable, turn)
    }
}

/// The sums of eight columns, whose words begin at `at`.
///
/// # Safety
/// From `first + at` and from `second + at` on, `payload` has the words of that group.
#[inline(always)]
unsafe fn sums_of_group(_proof: Neon, payload: &[u8], window: &Window, at: usize) -> u32 {
    // SAFETY: `_proof` is of NEON, and the loads are those of this function's contract.
    unsafe {
        let words = payload.as_ptr().add(at);
        let masks = window.masks.map(|mask| vreinterpretq_u8_u64(vdupq_n_u64(mask)));
        let ones = [0, 1, 2, 3].map(|vector| {
            let first = vandq_u8(vld1q_u8(words.add(window.first + vector * VECTOR_LEN)), masks[0]);
            let second = vandq_u8(vld1q_u8(words.add(window.second + vector * VECTOR_LEN)), masks[1]);
            vcntq_u8(veorq_u8(first, second))
        });
        // Of the eight bytes of a word, in turn: four, two, one.
        let of_words = vpaddq_u8(vpaddq_u8(ones[0], ones[1]), vpaddq_u8(ones[2], ones[3]));
        let of_words = vget_low_u8(vpaddq_u8(of_words, of_words));
        let parities = vand_u8(of_words, vdup_n_u8(1));
        // Word i goes to bit i.
        let places = vcreate_s8(0x0706_0504_0302_0100);
        u32::from(vaddv_u8(vshl_u8(parities, places)))
    }
}
