//! The steps of a search with AVX2.

use super::query::Range;
use super::walk::{Place, Step};
use crate::bits;
use crate::cpu::{Avx2, avx2};
use crate::ranges::cut::group::{LANES, Lanes};
use crate::ranges::cut::layout::Layout;
use core::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi16, _mm_loadu_si128, _mm_set1_epi16, _mm_setzero_si128, _mm_shuffle_epi8,
    _mm_slli_si128, _mm_storeu_si128, _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_min_epu16, _mm256_movemask_epi8,
    _mm256_packs_epi16, _mm256_permute4x64_epi64, _mm256_set1_epi16, _pdep_u64,
};

avx2! {
    pub(crate) fn may_overlap(lanes, range: &Range<'_>, layout: &Layout, payload: &[u8]) -> bool {
        range.may_overlap(lanes, layout, payload)
    }
}

avx2! {
    pub(crate) fn descend(lanes, range: &Range<'_>, layout: &Layout, payload: &[u8], place: Place) -> Step {
        range.descend(lanes, layout, payload, place)
    }
}

/// See [`Lanes::unpack`].
///
/// # Safety
/// The processor has BMI2.
#[inline]
#[target_feature(enable = "bmi2")]
pub(crate) unsafe fn unpack(payload: &[u8], offset: u64, width: u32, least: u16, numbers: &mut [u16; LANES]) {
    let leasts = u64::from(least) * 0x0001_0001_0001_0001;
    let places = ((1 << width) - 1) * 0x0001_0001_0001_0001;
    for (chunk, numbers) in numbers.chunks_exact_mut(4).enumerate() {
        let word = bits::read(payload, offset + chunk as u64 * 4 * u64::from(width), 4 * width);
        // SAFETY: the numbers of a chunk are eight bytes; this function's contract.
        unsafe { numbers.as_mut_ptr().cast::<u64>().write_unaligned(_pdep_u64(word, places) + leasts) }
    }
}

/// # Safety
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn at_most(numbers: &[u16; LANES], most: u16) -> u64 {
    let mut mask = 0;
    for half in 0..2 {
        // SAFETY: both vectors are within the numbers of this half; this function's contract.
        let bits = unsafe {
            let numbers = numbers.as_ptr().add(half * 32).cast::<__m256i>();
            let (low, high) = (_mm256_loadu_si256(numbers), _mm256_loadu_si256(numbers.add(1)));
            let most = _mm256_set1_epi16(most as i16);
            let is_at_most = |numbers| _mm256_cmpeq_epi16(_mm256_min_epu16(numbers, most), numbers);
            let bytes = _mm256_packs_epi16(is_at_most(low), is_at_most(high));
            _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(bytes))
        };
        mask |= u64::from(bits as u32) << (32 * half);
    }
    mask
}

/// See [`Lanes::sum`].
///
/// # Safety
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn sum(numbers: &mut [u16; LANES]) {
    // SAFETY: `eight` are 16 bytes; this function's contract.
    unsafe {
        let last = _mm_set1_epi16(0x0f0e);
        let mut before = _mm_setzero_si128();
        for eight in numbers.chunks_exact_mut(8) {
            let eight = eight.as_mut_ptr().cast::<__m128i>();
            let mut sums = _mm_loadu_si128(eight);
            sums = _mm_add_epi16(sums, _mm_slli_si128::<2>(sums));
            sums = _mm_add_epi16(sums, _mm_slli_si128::<4>(sums));
            sums = _mm_add_epi16(sums, _mm_slli_si128::<8>(sums));
            sums = _mm_add_epi16(sums, before);
            before = _mm_shuffle_epi8(sums, last);
            _mm_storeu_si128(eight, sums);
        }
    }
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn unpack(self, payload: &[u8], offset: u64, width: u32, least: u16, numbers: &mut [u16; LANES]) {
        // SAFETY: `self` is made by detection of AVX2 and BMI2.
        unsafe { unpack(payload, offset, width, least, numbers) }
    }

    #[inline(always)]
    fn at_most(self, numbers: &[u16; LANES], most: u16) -> u64 {
        // SAFETY: `self` is made by detection of AVX2.
        unsafe { at_most(numbers, most) }
    }

    #[inline(always)]
    fn sum(self, numbers: &mut [u16; LANES]) {
        // SAFETY: `self` is made by detection of AVX2.
        unsafe { sum(numbers) }
    }
}
