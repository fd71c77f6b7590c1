//! AVX-512 with counts of ones: eight columns at a time.

use super::portable;
use super::search::{Sums, Window};
use crate::cpu::{Avx512Bitalg, avx512_bitalg};
use core::arch::x86_64::*;

#[cfg(feature = "std")]
use super::band::Rows;

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
    pub(super) fn solve(_proof, rows: Rows<'_>, words: &mut [u64]) {
        for (index, words) in words.chunks_mut(LANES as usize).enumerate() {
            // SAFETY: `_proof` is of these features.
            unsafe { solve_some(rows, words, index as i64 * i64::from(LANES)) }
        }
    }
}

/// Solves a block for the columns of `words`, at most a vector, of which `first_column` is the first.
///
/// # Safety
/// The processor has the features.
#[cfg(feature = "std")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vpopcntdq")]
unsafe fn solve_some(rows: Rows<'_>, words: &mut [u64], first_column: i64) {
    let lanes = u8::MAX >> (LANES as usize - words.len());
    let one = _mm512_set1_epi64(1);
    let columns = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(first_column));
    // SAFETY: only as many lanes are loaded as there are words.
    let mut solved = unsafe { _mm512_maskz_loadu_epi64(lanes, words.as_ptr().cast()) };
    for (&coefficients, &mark) in rows.0.iter().zip(rows.1).rev() {
        // The slots after this one are a bit lower in `solved` than in the block that begins here.
        let later = _mm512_and_si512(solved, _mm512_set1_epi64((coefficients >> 1) as i64));
        let fingerprint = _mm512_and_si512(_mm512_srlv_epi64(_mm512_set1_epi64(mark as i64), columns), one);
        let shifted = _mm512_xor_si512(_mm512_slli_epi64::<1>(solved), fingerprint);
        solved = _mm512_ternarylogic_epi64::<XOR_OF_AND>(shifted, _mm512_popcnt_epi64(later), one);
    }
    // SAFETY: only words below `lanes` are stored, and `lanes` has no bit beyond the length of `words`.
    unsafe { _mm512_mask_storeu_epi64(words.as_mut_ptr().cast(), lanes, solved) }
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
