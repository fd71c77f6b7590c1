//! AVX2: twice four columns at a time, and a parity without counting.

use super::portable;
use super::search::{Sums, Window};
use crate::cpu::{Avx2, avx2};
use core::arch::x86_64::*;

#[cfg(feature = "std")]
use super::band::Rows;

/// The number of columns of a vector.
const LANES: usize = 4;
/// Bytes of a vector.
const VECTOR_LEN: usize = 32;
/// The number of bytes of the words of two vectors, which are added up together.
const GROUP_LEN: usize = 2 * VECTOR_LEN;

/// The number of columns that are solved together: more would not stay in registers.
#[cfg(feature = "std")]
const MOST_SOLVED: usize = 4 * LANES;

impl Sums for Avx2 {
    const GROUP: u32 = 2 * LANES as u32;

    #[inline(always)]
    fn first_agree(self, payload: &[u8], window: &Window) -> Option<bool> {
        if window.second + GROUP_LEN > payload.len() {
            return None;
        }
        // SAFETY: the comparison above shows that a group from `second` on is within `payload`, and `first` is before
        // `second`.
        let sums = unsafe { sums(self, payload, window, 0) | sums(self, payload, window, VECTOR_LEN) << LANES };
        Some((sums ^ window.fingerprint) << (u32::BITS - window.columns.min(Self::GROUP)) == 0)
    }

    /// Calls a function for all columns but the first: a loop would take registers that a caller wants back.
    #[inline(always)]
    fn agrees_alone(self, payload: &[u8], window: &Window) -> Option<bool> {
        match self.first_agree(payload, window)? {
            // SAFETY: `self` is the proof that the processor has the features.
            true if window.columns > Self::GROUP => unsafe { agrees_called(self, payload, window.after(Self::GROUP)) },
            answer => Some(answer),
        }
    }
}

/// Answers like [`Sums::agrees`]. It takes a copy of the window: a reference would need it in memory for each query.
///
/// # Safety
/// The processor has the features.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn agrees_called(proof: Avx2, payload: &[u8], window: Window) -> Option<bool> {
    proof.agrees(payload, &window)
}

portable::compiled_for! { avx2! }

#[cfg(feature = "std")]
avx2! {
    pub(super) fn solve(proof, rows: Rows<'_>, words: &mut [u64]) {
        for (index, words) in words.chunks_mut(MOST_SOLVED).enumerate() {
            let first_column = (index * MOST_SOLVED) as u32;
            match words.len().div_ceil(LANES) {
                1 => solve_some::<1>(proof, rows, words, first_column),
                2 => solve_some::<2>(proof, rows, words, first_column),
                3 => solve_some::<3>(proof, rows, words, first_column),
                _ => solve_some::<4>(proof, rows, words, first_column),
            }
        }
    }
}

/// Returns the sums of four columns, whose words begin at `at`.
///
/// # Safety
/// `payload` has a vector from `first + at` and from `second + at` on.
#[inline(always)]
unsafe fn sums(proof: Avx2, payload: &[u8], window: &Window, at: usize) -> u32 {
    // SAFETY: `proof` is of AVX2, and the loads are those of this function's contract.
    let summed = unsafe {
        let words = payload.as_ptr().add(at);
        let first = _mm256_loadu_si256(words.add(window.first).cast());
        let second = _mm256_loadu_si256(words.add(window.second).cast());
        let first = _mm256_and_si256(first, _mm256_set1_epi64x(window.masks[0] as i64));
        _mm256_xor_si256(first, _mm256_and_si256(second, _mm256_set1_epi64x(window.masks[1] as i64)))
    };
    parities(proof, summed)
}

/// Returns the parity of each of four words.
#[inline(always)]
fn parities(proof: Avx2, words: __m256i) -> u32 {
    // SAFETY: `proof` is of AVX2.
    unsafe {
        // The lowest bit of each word goes to the top.
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64::<63>(sums_of_ones(proof, words)))) as u32
    }
}

/// Returns for each word a number that is odd if its number of ones is odd.
#[inline(always)]
fn sums_of_ones(_proof: Avx2, words: __m256i) -> __m256i {
    // SAFETY: `_proof` is of AVX2.
    unsafe {
        let halves = _mm256_xor_si256(words, _mm256_srli_epi64::<4>(words));
        // This is a table of the parity of each half-byte.
        let parity = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0));
        let of_bytes = _mm256_shuffle_epi8(parity, _mm256_and_si256(halves, _mm256_set1_epi8(0xf)));
        _mm256_sad_epu8(of_bytes, _mm256_setzero_si256())
    }
}

/// Solves the columns of `words`, at most `N` vectors, from `first_column` on. A step waits for the one
/// before it: the vectors' steps overlap.
#[cfg(feature = "std")]
#[inline(always)]
fn solve_some<const N: usize>(proof: Avx2, rows: Rows<'_>, words: &mut [u64], first_column: u32) {
    let mut padded = [[0; LANES]; N];
    padded.as_flattened_mut()[..words.len()].copy_from_slice(words);
    // SAFETY: `proof` is of AVX2.
    unsafe {
        let mut solved = padded.map(|words| vector(proof, words));
        let columns: [__m256i; N] = core::array::from_fn(|index| {
            let first = u64::from(first_column) + (index * LANES) as u64;
            vector(proof, [first, first + 1, first + 2, first + 3])
        });
        for (&coefficients, &fingerprint) in rows.0.iter().zip(rows.1).rev() {
            let coefficients = _mm256_set1_epi64x(coefficients as i64);
            let fingerprint = _mm256_set1_epi64x(fingerprint as i64);
            for (words, &columns) in solved.iter_mut().zip(&columns) {
                let later = _mm256_slli_epi64::<1>(*words);
                let sums = sums_of_ones(proof, _mm256_and_si256(later, coefficients));
                // The lowest bit of each sum.
                let sums = _mm256_xor_si256(sums, _mm256_srlv_epi64(fingerprint, columns));
                *words = _mm256_or_si256(later, _mm256_and_si256(sums, _mm256_set1_epi64x(1)));
            }
        }
        padded = solved.map(|words| lanes(proof, words));
    }
    words.copy_from_slice(&padded.as_flattened()[..words.len()]);
}

#[cfg(feature = "std")]
#[inline(always)]
fn vector(_proof: Avx2, words: [u64; LANES]) -> __m256i {
    let [a, b, c, d] = words.map(|word| word as i64);
    // SAFETY: `_proof` is of AVX2.
    unsafe { _mm256_setr_epi64x(a, b, c, d) }
}

#[cfg(feature = "std")]
#[inline(always)]
fn lanes(_proof: Avx2, vector: __m256i) -> [u64; LANES] {
    let mut words = [0; LANES];
    // SAFETY: `_proof` is of AVX2, and `words` has the length of a vector.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
    words
}
