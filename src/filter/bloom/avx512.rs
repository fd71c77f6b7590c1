//! Eight probes at a time: a vector of positions, one gather, one test.

use super::{KindView, MULTIPLIER, Params, View};
use crate::cpu::avx512_dq;
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// Probes of a vector.
const LANES: u32 = 8;
/// Bytes that a lane reads.
const READ: usize = 4;
/// A mistake made on purpose, which tests must notice: a lane may read a byte past the end.
const OVER_READ: usize = cfg!(filterblock_mistake = "gather") as usize;

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

/// Filters of fewer than 2^32 bits, so that they fit a lane's multiplication, and of as many bytes as a lane reads.
pub(super) fn suits(params: &Params) -> bool {
    params.num_bits >> 32 == 0 && params.payload_len() >= READ as u64
}

avx512_dq! {
    pub(super) fn may_contain(_proof, view: &View<'_>, hash: KeyHash) -> bool {
        probe(view.params(), view.bits, hash)
    }

    /// Without prefetching, which gains nothing here: a gather requests all of a key's lines at once, and the next
    /// keys' gathers do not wait for it.
    pub(super) fn all_may_contain(_proof, view: &View<'_>, hashes: &[KeyHash], answers: &mut [bool]) {
        for (answer, &hash) in answers.iter_mut().zip(hashes) {
            *answer = probe(view.params(), view.bits, hash);
        }
    }
}

/// One gather requests all of a filter's lines.
pub(super) const fn gains_by_prefetch(_: crate::cpu::Avx512Dq) -> bool {
    false
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn probe(params: &Params, bits: &[u8], hash: KeyHash) -> bool {
    let Some(last) = (bits.len() + OVER_READ).checked_sub(READ) else { return true };
    // SAFETY: `POWERS` has eight words of 8 bytes.
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
        // Reads that would end past the last byte begin earlier.
        let start = _mm512_min_epu64(_mm512_srli_epi64::<3>(position), last);
        let shift = _mm512_sub_epi64(position, _mm512_slli_epi64::<3>(start));
        // SAFETY: each lane reads READ bytes from `start` on, and `start <= last`, the minimum taken above, where
        // `last + READ == bits.len()` by the subtraction that `checked_sub` checked.
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
