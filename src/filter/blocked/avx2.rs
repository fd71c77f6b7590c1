//! The probe and the choice of salts with AVX2: a line is two vectors of four words, and each step of the portable code
//! is one instruction for four of them.

use super::{LINE_LEN, MAX_SALT_BITS, Params, Round, SALT_MULTIPLIER, WORD_MULTIPLIERS, WORDS};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// Proof that this processor has AVX2 and POPCNT: only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

/// Words of a vector.
const LANES: usize = 4;

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        (std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("popcnt")).then_some(Self(()))
    }

    /// As [`super::line_may_contain`].
    #[inline]
    pub(super) fn may_contain(self, params: Params, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        // SAFETY: `self` proves the features.
        unsafe {
            match params.num_probes {
                8 => may_contain::<false, false>(params, line, hash),
                0..8 => may_contain::<true, false>(params, line, hash),
                _ => may_contain::<false, true>(params, line, hash),
            }
        }
    }

    /// As [`super::choose_words`].
    pub(super) fn choose_words(self, params: Params, keys: &[u64]) -> [u64; WORDS] {
        // SAFETY: `self` proves the features.
        unsafe {
            match params.num_probes {
                8 => choose_words::<false, false>(params, keys),
                0..8 => choose_words::<true, false>(params, keys),
                _ => choose_words::<false, true>(params, keys),
            }
        }
    }
}

/// For each length of a window, ones where a word is in it; the words from [`WORDS`] − start on are those of a window
/// that starts at word `start`.
const WINDOWS: [[u64; 2 * WORDS]; WORDS + 1] = {
    let mut windows = [[0; 2 * WORDS]; WORDS + 1];
    let mut len = 0;
    while len <= WORDS {
        let mut i = 0;
        while i < 2 * WORDS {
            windows[len][i] = (i % WORDS < len) as u64;
            i += 1;
        }
        len += 1;
    }
    windows
};

/// What does not depend on a key.
#[derive(Clone, Copy)]
struct Constants {
    multipliers: __m256i,
    step: __m256i,
    positions: __m256i,
    first: usize,
}

impl Constants {
    /// For the words from `first` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn new(params: Params, first: usize) -> Self {
        let m = |lane: usize| i64::from(WORD_MULTIPLIERS[first + lane]);
        // SAFETY: register operations, within a function of their feature.
        unsafe {
            Self {
                multipliers: _mm256_set_epi64x(m(3), m(2), m(1), m(0)),
                step: _mm256_set1_epi64x(i64::from(SALT_MULTIPLIER)),
                positions: _mm256_set1_epi64x(i64::from(params.word_positions())),
                first,
            }
        }
    }

    /// A one in each lane that `round` probes: all of them, or if `WINDOW` those in its cyclic window.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn ones<const WINDOW: bool>(self, round: Round) -> __m256i {
        // SAFETY: register operations, within a function of their feature; the load is of four checked words.
        unsafe {
            if !WINDOW {
                return _mm256_set1_epi64x(1);
            }
            let ones = &WINDOWS[round.window_len as usize][self.first + WORDS - round.window_start as usize..][..LANES];
            _mm256_loadu_si256(ones.as_ptr().cast())
        }
    }

    /// The bits at which the lower halves of `products` point, where `ones` has a one.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn bits(self, products: __m256i, ones: __m256i) -> __m256i {
        // SAFETY: register operations, within a function of their feature.
        unsafe {
            let position = _mm256_srli_epi64(_mm256_mul_epu32(products, self.positions), 32);
            _mm256_sllv_epi64(ones, position)
        }
    }

    /// Adds the bits of `round` under every salt to `tries`. A salt's products follow from the one before by an
    /// addition.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_to_tries<const WINDOW: bool>(self, round: Round, tries: &mut [__m256i]) {
        // SAFETY: register operations, within a function of their feature.
        unsafe {
            let value = _mm256_set1_epi64x(i64::from(round.value));
            let mut products = _mm256_mul_epu32(value, self.multipliers);
            let step = _mm256_mul_epu32(value, self.step);
            let ones = self.ones::<WINDOW>(round);
            for bits in tries {
                *bits = _mm256_or_si256(*bits, self.bits(products, ones));
                products = _mm256_add_epi64(products, step);
            }
        }
    }
}

/// `WINDOW`: fewer than eight probes. `TWO`: more than eight, hence two rounds.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn may_contain<const WINDOW: bool, const TWO: bool>(
    params: Params,
    line: &[u8; LINE_LEN],
    hash: KeyHash,
) -> bool {
    let (first, second) = params.rounds(hash);
    // SAFETY: register operations, within a function of their feature; the loads take any alignment and are the two
    // halves of a line's 64 bytes.
    unsafe {
        let shift = _mm_cvtsi64_si128(i64::from(params.word_positions()));
        let mut missing = _mm256_setzero_si256();
        for half in 0..WORDS / LANES {
            let words = _mm256_loadu_si256(line.as_ptr().cast::<__m256i>().add(half));
            let constants = Constants::new(params, half * LANES);
            // Without salt bits the shift is by 64, which leaves zeros.
            let salts = _mm256_srl_epi64(words, shift);
            let multipliers = _mm256_add_epi64(constants.multipliers, _mm256_mul_epu32(salts, constants.step));
            let value = _mm256_set1_epi64x(i64::from(first.value));
            let mut bits = constants.bits(_mm256_mul_epu32(value, multipliers), constants.ones::<WINDOW>(first));
            if let (true, Some(second)) = (TWO, second) {
                let value = _mm256_set1_epi64x(i64::from(second.value));
                let ones = constants.ones::<true>(second);
                bits = _mm256_or_si256(bits, constants.bits(_mm256_mul_epu32(value, multipliers), ones));
            }
            missing = _mm256_or_si256(missing, _mm256_andnot_si256(words, bits));
        }
        _mm256_testz_si256(missing, missing) == 1
    }
}

/// Tries every salt for four words at a time.
#[target_feature(enable = "avx2,popcnt")]
unsafe fn choose_words<const WINDOW: bool, const TWO: bool>(params: Params, keys: &[u64]) -> [u64; WORDS] {
    let num_salts = 1 << params.salt_bits;
    let mut chosen = [0; WORDS];
    for (half, chosen) in chosen.chunks_exact_mut(LANES).enumerate() {
        // SAFETY: register operations, within a function of their feature. Four 64-bit lanes and four words are the
        // same 32 bytes, and every bit pattern is a value of both.
        let tries: [[u64; LANES]; 1 << MAX_SALT_BITS] = unsafe {
            let mut tries = [_mm256_setzero_si256(); 1 << MAX_SALT_BITS];
            let constants = Constants::new(params, half * LANES);
            for &key in keys {
                let (first, second) = params.rounds(KeyHash::from_raw(key));
                constants.add_to_tries::<WINDOW>(first, &mut tries[..num_salts]);
                if let (true, Some(second)) = (TWO, second) {
                    constants.add_to_tries::<true>(second, &mut tries[..num_salts]);
                }
            }
            core::mem::transmute(tries)
        };
        for (word, chosen) in chosen.iter_mut().enumerate() {
            *chosen = params.choose_salt((0..num_salts).map(|salt| tries[salt][word]));
        }
    }
    chosen
}
