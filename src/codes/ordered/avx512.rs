//! The search with AVX-512: remainders of up to 24 bits, 16 at a time, in lanes of 32 bits.
//!
//! As in the search for hashes the first skip follows from the offset sought alone. The remainders of the skipped codes
//! are summed, and the 16 codes that follow are compared at once with both ends of the range.

use super::super::search::{UNARY_LEN, ones_before};
use super::super::{Layout, Params, View};
use super::portable;
use crate::bytes;
use crate::cpu::{Avx512Vbmi2, Portable, avx512_vbmi2};
use core::arch::x86_64::*;

/// The widest remainder: it lies in four bytes from any bit of the first on, and the greatest number of a lane fits.
const MAX_REMAINDER_BITS: u32 = 24;
/// The number of codes that are compared, and of remainders that are unpacked, at once.
const CODES: u64 = 16;
/// The number of bytes of a vector.
const VECTOR_LEN: u64 = 64;
/// The least number of vectors of remainders that are summed: a branch on the number of skipped codes would be mispredicted.
const LEAST_VECTORS: u64 = 3;
/// The greatest number of codes that are skipped: the sum of their remainders fits a lane.
const MOST_SKIPPED: u64 = 128;
/// A position for a one that is not in the window.
const NO_ONE: i8 = 127;
/// The least number of zeros that a window of 57 bits has before the last code that is compared, if that code is not in
/// it.
const MOST_ZEROS: u64 = 57 - CODES;

pub(super) fn suits(params: &Params) -> bool {
    params.remainder_bits() <= MAX_REMAINDER_BITS
}

avx512_vbmi2! {
    pub(super) fn may_have(proof, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
        match search(proof, layout, payload, bucket, from, to) {
            Some(answer) => answer,
            None => elsewhere(layout, payload, bucket, from, to),
        }
    }
}

/// Answers for crowded buckets, for buckets at the ends of a payload, and for unreadable ones.
#[cold]
#[inline(never)]
fn elsewhere(layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
    portable::may_have(Portable, layout, payload, bucket, from, to)
}

/// Returns the last 16 remainders before bit `end` of `codes`, the last one in the first lane; `None` if the load would
/// leave `codes`.
#[inline(always)]
fn unpack(_proof: Avx512Vbmi2, codes: &[u8], remainder_bits: u32, end: u64) -> Option<__m512i> {
    let end_byte = end.div_ceil(8);
    if !(VECTOR_LEN..=codes.len() as u64).contains(&end_byte) {
        return None;
    }
    // SAFETY: the proof is of the features. `VECTOR_LEN <= end_byte <= codes.len()` was checked.
    unsafe {
        let packed = _mm512_loadu_si512(codes.as_ptr().add((end_byte - VECTOR_LEN) as usize).cast());
        let unused = (end_byte * 8 - end) as i32;
        let starts = _mm512_sub_epi32(_mm512_set1_epi32(512 - unused), widths(_proof, remainder_bits));
        // The four bytes from that of the first bit on.
        let of_lane = _mm512_set4_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
        let bytes = _mm512_shuffle_epi8(_mm512_srli_epi32::<3>(starts), of_lane);
        let bytes = _mm512_add_epi8(bytes, _mm512_set1_epi32(0x0302_0100));
        let words = _mm512_permutexvar_epi8(bytes, packed);
        let fields = _mm512_srlv_epi32(words, _mm512_and_si512(starts, _mm512_set1_epi32(7)));
        Some(_mm512_and_si512(fields, _mm512_set1_epi32((1 << remainder_bits) - 1)))
    }
}

/// Returns the bits of 1, 2, … 16 remainders.
#[inline(always)]
fn widths(_proof: Avx512Vbmi2, remainder_bits: u32) -> __m512i {
    // SAFETY: the proof is of the features.
    unsafe {
        _mm512_mullo_epi32(
            _mm512_add_epi32(iota(_proof), _mm512_set1_epi32(1)),
            _mm512_set1_epi32(remainder_bits as i32),
        )
    }
}

/// Returns 0, 1, 2, … 15.
#[inline(always)]
fn iota(_proof: Avx512Vbmi2) -> __m512i {
    // SAFETY: the proof is of the features.
    unsafe { _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) }
}

/// Searches with vectors. `None` leaves the answer to the portable search.
#[inline(always)]
fn search(proof: Avx512Vbmi2, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> Option<bool> {
    let (start, end) = View { layout, payload }.bounds(bucket);
    if start < layout.codes_start {
        return None;
    }
    let quotients: &[u8; UNARY_LEN] = payload.get((start / 8) as usize..)?.first_chunk()?;
    let (skip, first, remainder_bits) = (layout.tuning.early_skip(from), start % 8, layout.params.remainder_bits());
    let (ones, width) = (ones_before(proof, quotients, first, first + skip), u64::from(remainder_bits));
    if ones > MOST_SKIPPED {
        return None;
    }
    let (unary, remainders) = (start + skip, end.wrapping_sub(ones * width));
    // The difference is below 0 if ones beyond the last code were counted, or if the bucket ends before it starts.
    if remainders.wrapping_sub(unary) > layout.params.max_bucket_bits() - (skip + ones * width) {
        return None;
    }
    // SAFETY: the proof is of the features.
    let mut sums = unsafe { _mm512_setzero_si512() };
    for vector in 0..ones.div_ceil(CODES).max(LEAST_VECTORS) {
        let fields = unpack(proof, payload, remainder_bits, end.wrapping_sub(vector * CODES * width))?;
        // SAFETY: the proof is of the features.
        unsafe {
            let left = _mm512_set1_epi32(ones as i32 - (vector * CODES) as i32);
            sums = _mm512_mask_add_epi32(sums, _mm512_cmplt_epi32_mask(iota(proof), left), sums, fields);
        }
    }
    // SAFETY: the proof is of the features.
    let sum = u64::from(unsafe { _mm512_reduce_add_epi32(sums) } as u32);
    // If the skip led beyond the value sought, this wraps to a number above all values.
    let left = from.wrapping_sub(((skip - ones) << remainder_bits) + sum + ones);
    let last = left.saturating_add(to - from);
    if last >> remainder_bits >= MOST_ZEROS {
        return None;
    }
    let window = bytes::u64_at(quotients, ((first + skip) / 8) as usize) >> (unary % 8);
    let fields = unpack(proof, payload, remainder_bits, remainders)?;
    // SAFETY: the proof is of the features.
    unsafe {
        let zero = _mm512_setzero_si512();
        let sums = _mm512_add_epi32(fields, _mm512_alignr_epi32::<15>(fields, zero));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<14>(sums, zero));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<12>(sums, zero));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<8>(sums, zero));
        let places = _mm512_loadu_si512(PLACES.as_ptr().cast());
        let ones = _mm512_mask_compress_epi8(_mm512_set1_epi8(NO_ONE), window, places);
        let ones = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(ones));
        let shift = _mm_cvtsi32_si128(remainder_bits as i32);
        let quotients = _mm512_sll_epi32(_mm512_sub_epi32(ones, iota(proof)), shift);
        let values = _mm512_add_epi32(_mm512_add_epi32(quotients, iota(proof)), sums);
        // A code is one only if its one precedes its remainder.
        let ends = _mm512_add_epi32(ones, widths(proof, remainder_bits));
        let sound = _mm512_cmplt_epu32_mask(ends, _mm512_set1_epi32((remainders - unary) as i32));
        let below = _mm512_mask_cmplt_epu32_mask(sound, values, _mm512_set1_epi32(left as i32));
        let within = _mm512_mask_cmple_epu32_mask(sound & !below, values, _mm512_set1_epi32(last as i32));
        if below == u16::MAX { None } else { Some(within != 0) }
    }
}

/// 0, 1, 2, … in bytes.
static PLACES: [u8; VECTOR_LEN as usize] = {
    let mut places = [0; VECTOR_LEN as usize];
    let mut place = 0;
    while place < places.len() {
        places[place] = place as u8;
        place += 1;
    }
    places
};
