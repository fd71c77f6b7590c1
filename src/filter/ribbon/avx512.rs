//! AVX-512 with counts of ones: eight columns at a time.

use super::portable;
use super::search::{Sums, Window};
#[cfg(feature = "std")]
use crate::cpu::Portable;
use crate::cpu::{Avx512Bitalg, avx512_bitalg};
use core::arch::x86_64::*;

#[cfg(feature = "std")]
use super::band::Cell;

/// The number of columns of a vector.
const LANES: u32 = 8;
/// The truth table of A ^ (B & C), for three bits in this order.
const XOR_OF_AND: i32 = 0x78;

impl Sums for Avx512Bitalg {
    const GROUP: u32 = LANES;

    #[inline(always)]
    fn first_agree(self, payload: &[u8], window: &Window) -> Option<bool> {
        // This always holds. It is the check for the loads below.
        assert!(window.first <= window.second && window.end() <= payload.len());
        // SAFETY: the loads are within `payload`, by the assertion above, and `self` proves the features.
        Some(unsafe { first_agree(payload, window) })
    }
}

portable::compiled_for! { avx512_bitalg! }

#[cfg(feature = "std")]
avx512_bitalg! {
    pub(super) fn solve(_proof, rows: &[Cell], words: &mut [u64]) {
        portable::solve(Portable, rows, words)
    }
}

/// Returns whether the sum of each of the first columns, a vector or all, is its bit of the fingerprint.
///
/// # Safety
/// `payload` has `columns` words from `first` and from `second` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
unsafe fn first_agree(payload: &[u8], window: &Window) -> bool {
    let lanes = u8::MAX >> (LANES - LANES.min(window.columns));
    // SAFETY: only words below `columns` are loaded, which this function's contract says are there.
    let (first, second) = unsafe {
        let payload = payload.as_ptr();
        let load = |at: usize| _mm512_maskz_loadu_epi64(lanes, payload.add(at).cast());
        (load(window.first), load(window.second))
    };
    let masks = [_mm512_set1_epi64(window.masks[0] as i64), _mm512_set1_epi64(window.masks[1] as i64)];
    let summed = _mm512_ternarylogic_epi64::<XOR_OF_AND>(_mm512_and_si512(first, masks[0]), second, masks[1]);
    let sums = _mm512_test_epi64_mask(_mm512_popcnt_epi64(summed), _mm512_set1_epi64(1));
    (sums ^ window.fingerprint as u8) & lanes == 0
}
