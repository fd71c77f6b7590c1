//! Eight probes at a time: a vector of positions, one gather, one test.

use super::{MULTIPLIER, Params};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// Probes of a vector.
const LANES: u32 = 8;
/// Bytes that a lane reads.
const READ: usize = 4;

/// Proof that this processor has AVX-512F and DQ, and that a filter suits: made by [`Avx512::detect`] alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx512(());

/// A^0 to A^7: what the first probe's value is multiplied by for each lane.
static POWERS: [u64; LANES as usize] = {
    let (mut powers, mut i) = ([1u64; LANES as usize], 1);
    while i < powers.len() {
        powers[i] = powers[i - 1].wrapping_mul(MULTIPLIER);
        i += 1;
    }
    powers
};
/// A^8: from one vector of probes to the next.
const STRIDE: u64 = POWERS[LANES as usize - 1].wrapping_mul(MULTIPLIER);

impl Avx512 {
    /// For filters of fewer than 2^32 bits, which lanes can multiply by, and a lane's bytes at least.
    pub(super) fn detect(params: &Params) -> Option<Self> {
        let all = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512dq")
            && params.num_bits >> 32 == 0
            && params.payload_len() >= READ as u64;
        all.then_some(Self(()))
    }

    /// As the portable `may_contain`. `bits` must be those of the parameters that were given to [`Avx512::detect`].
    #[inline(always)]
    pub(super) fn may_contain(self, params: &Params, bits: &[u8], hash: KeyHash) -> bool {
        // SAFETY: `self` proves the features.
        unsafe { may_contain(params, bits, hash) }
    }

    /// An answer for each hash. (Asking for the lines ahead gains nothing here: a gather has all of a key's lines on
    /// their way at once, and the next keys' gathers do not wait for it.)
    pub(super) fn all_may_contain(self, params: &Params, bits: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        // SAFETY: `self` proves the features.
        unsafe { all_may_contain(params, bits, hashes, answers) }
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn all_may_contain(params: &Params, bits: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    for (answer, &hash) in answers.iter_mut().zip(hashes) {
        *answer = may_contain(params, bits, hash);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn may_contain(params: &Params, bits: &[u8], hash: KeyHash) -> bool {
    let Some(last) = bits.len().checked_sub(READ) else { return true };
    // SAFETY: eight words of a constant.
    let powers = unsafe { _mm512_loadu_si512(POWERS.as_ptr().cast()) };
    let mut x = _mm512_mullo_epi64(_mm512_set1_epi64(hash.get() as i64), powers);
    // (Set by halves, so that the compiler sees a multiplication of halves and makes it one instruction.)
    let num_bits = _mm512_maskz_set1_epi32(0x5555, params.num_bits as i32);
    let last = _mm512_set1_epi64(last as i64);
    let mut left = params.num_probes();
    loop {
        let probed = u8::MAX >> (LANES - left.min(LANES));
        // Fast range: the upper half of a 64 by 32 bit product.
        let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, num_bits));
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(x), num_bits);
        let position = _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low));
        // Reads that would end behind the last byte begin earlier.
        let start = _mm512_min_epu64(_mm512_srli_epi64::<3>(position), last);
        let shift = _mm512_sub_epi64(position, _mm512_slli_epi64::<3>(start));
        // SAFETY: no lane reads from later than READ bytes before the slice's end, and the subtraction above has
        // shown that this is within it.
        let words =
            unsafe { _mm512_mask_i64gather_epi32::<1>(_mm256_setzero_si256(), probed, start, bits.as_ptr().cast()) };
        let probed_bits = _mm512_srlv_epi64(_mm512_cvtepu32_epi64(words), shift);
        if _mm512_mask_test_epi64_mask(probed, probed_bits, _mm512_set1_epi64(1)) != probed {
            return false;
        }
        if left <= LANES {
            return true;
        }
        left -= LANES;
        x = _mm512_mullo_epi64(x, _mm512_set1_epi64(STRIDE as i64));
    }
}
