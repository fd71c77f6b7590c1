//! The algorithm once, over vectors of 64-bit words: probe, batch, choice of salts, insertion. A file for each
//! instruction set implements [`Lanes`] and instantiates these functions where its features are enabled.
//!
//! All functions are inlined into those instances, and are `unsafe` because they may only run there. They follow
//! the portable code of the parent module step by step: a line is 8 / [`Lanes::COUNT`] vectors, and what the portable code
//! does for a word a vector does for [`Lanes::COUNT`] of them.

use super::{LINE_LEN, Params, Round, SALT_MULTIPLIER, WORD_MULTIPLIERS, WORDS};
use crate::hash::{KeyHash, fast_range};
use crate::prefetch::prefetch;
use std::vec::Vec;

/// A vector of 64-bit words.
///
/// # Safety
/// Each function needs the instruction set of its implementor, and says what else it needs.
pub(super) trait Lanes: Copy {
    /// Words of a vector: divides 8.
    const COUNT: usize;

    unsafe fn splat(value: u64) -> Self;
    /// `COUNT` words from `words`, which must be readable, at any alignment.
    unsafe fn load(words: *const u64) -> Self;
    /// `COUNT` words to `words`, which must be writable, at any alignment.
    unsafe fn store(self, words: *mut u64);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    /// `self` without the bits of `other`.
    unsafe fn without(self, other: Self) -> Self;
    /// Product of the lower halves.
    unsafe fn multiply_low(self, other: Self) -> Self;
    /// Each word shifted right by `count`, at most 64, which leaves zero.
    unsafe fn shift_right(self, count: u32) -> Self;
    /// Each word, 0 or 1, shifted left by its count, below 64.
    unsafe fn shift_left_each(self, counts: Self) -> Self;
    unsafe fn is_zero(self) -> bool;
    unsafe fn count_ones(self) -> Self;
    /// Lane by lane `self` where its count is below that of `other` (both below 2^63), else `other`; and that count.
    unsafe fn fewer(self, count: Self, other: Self, other_count: Self) -> (Self, Self);

    /// The value that multipliers apply to, in a form of the implementor's.
    #[inline(always)]
    unsafe fn value(value: u32) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::splat(u64::from(value)) }
    }

    /// Product modulo 2^32 of `value` (made by [`Lanes::value`]) and the words' multipliers, in a form that sums
    /// keep and [`Lanes::position`] takes.
    #[inline(always)]
    unsafe fn product(value: Self, multipliers: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { value.multiply_low(multipliers) }
    }

    /// Fast range of a product over `positions`.
    #[inline(always)]
    unsafe fn position(product: Self, positions: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { product.multiply_low(positions).shift_right(32) }
    }

    /// `base + factor · other`, each below 2^32.
    #[inline(always)]
    unsafe fn multiply_add(base: Self, factor: Self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { base.add(factor.multiply_low(other)) }
    }
}

/// The functions of an engine: those below for `$words`, compiled for `$features`, of which `$proof` is the proof. So many
/// salts are tried at a time as the registers hold, `$salts`: 8 or 16.
macro_rules! instantiate {
    ($proof:ty, $features:literal, $words:ty, $salts:literal) => {
        impl $proof {
            #[inline(always)]
            pub(super) fn may_contain(self, params: &Params, lines: &[u8], hash: KeyHash) -> bool {
                #[target_feature(enable = $features)]
                unsafe fn run(params: &Params, lines: &[u8], hash: KeyHash) -> bool {
                    // SAFETY: within a function of the features.
                    unsafe { lanes::may_contain::<$words>(*params, lines, hash) }
                }
                // SAFETY: `self` proves the features.
                unsafe { run(params, lines, hash) }
            }

            pub(super) fn choose_words(self, params: Params, keys: &[u64]) -> [u64; WORDS] {
                #[target_feature(enable = $features)]
                unsafe fn run(params: Params, keys: &[u64]) -> [u64; WORDS] {
                    // SAFETY: within a function of the features.
                    unsafe { lanes::choose_words::<$words, $salts>(params, keys) }
                }
                // SAFETY: `self` proves the features.
                unsafe { run(params, keys) }
            }

            pub(super) fn insert(
                self,
                params: Params,
                lines: &mut [u8],
                first_line: u64,
                keys: &[u64],
                present: &mut Vec<u64>,
            ) {
                #[target_feature(enable = $features)]
                unsafe fn run(params: Params, lines: &mut [u8], first_line: u64, keys: &[u64], present: &mut Vec<u64>) {
                    // SAFETY: within a function of the features.
                    unsafe { lanes::insert::<$words>(params, lines, first_line, keys, present) }
                }
                // SAFETY: `self` proves the features.
                unsafe { run(params, lines, first_line, keys, present) }
            }
        }
    };
    (batches: $proof:ty, $features:literal, $words:ty) => {
        impl $proof {
            pub(super) fn all_may_contain(
                self,
                params: Params,
                lines: &[u8],
                hashes: &[KeyHash],
                answers: &mut [bool],
            ) {
                #[target_feature(enable = $features)]
                unsafe fn run(params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
                    // SAFETY: within a function of the features.
                    unsafe { lanes::all_may_contain::<$words>(params, lines, hashes, answers) }
                }
                // SAFETY: `self` proves the features.
                unsafe { run(params, lines, hashes, answers) }
            }
        }
    };
}
pub(super) use instantiate;

/// [`WORD_MULTIPLIERS`], as words.
pub(super) const MULTIPLIERS: [u64; WORDS] = {
    let (mut words, mut i) = ([0; WORDS], 0);
    while i < WORDS {
        words[i] = WORD_MULTIPLIERS[i] as u64;
        i += 1;
    }
    words
};

/// For each length of a window, ones where a word is in it; the words from [`WORDS`] − start on are those of a window
/// that starts at word `start`.
static WINDOWS: [[u64; 2 * WORDS]; WORDS + 1] = {
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

/// A one in each of the words from `first` on that `round` probes.
#[inline(always)]
unsafe fn ones<V: Lanes, const WINDOW: bool>(round: Round, first: usize) -> V {
    // SAFETY: the slice has COUNT words.
    unsafe {
        if !WINDOW {
            return V::splat(1);
        }
        let ones = &WINDOWS[round.window_len as usize][first + WORDS - round.window_start as usize..][..V::COUNT];
        V::load(ones.as_ptr())
    }
}

/// What depends on the parameters alone.
#[derive(Clone, Copy)]
struct Constants<V> {
    positions: V,
    step: V,
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    unsafe fn new(params: Params) -> Self {
        // SAFETY: the caller's.
        unsafe {
            Self { positions: V::splat(u64::from(params.word_positions())), step: V::splat(u64::from(SALT_MULTIPLIER)) }
        }
    }

    /// The bits of `round` in the words from `first` on, which have these multipliers.
    #[inline(always)]
    unsafe fn bits<const WINDOW: bool>(self, round: Round, first: usize, multipliers: V) -> V {
        // SAFETY: the caller's.
        unsafe {
            let position = V::position(V::product(V::value(round.value), multipliers), self.positions);
            ones::<V, WINDOW>(round, first).shift_left_each(position)
        }
    }
}

/// How many rounds, and whether the first has a window: known when compiling, so that nothing is asked in a loop.
macro_rules! by_shape {
    ($params:expr, $function:ident::<$($generic:tt),*>($($argument:expr),*)) => {
        match $params.num_probes {
            8 => $function::<$($generic,)* false, false>($($argument),*),
            0..8 => $function::<$($generic,)* true, false>($($argument),*),
            _ => $function::<$($generic,)* false, true>($($argument),*),
        }
    };
}

#[inline(always)]
unsafe fn line_may_contain<V: Lanes, const WINDOW: bool, const TWO: bool>(
    params: Params,
    constants: Constants<V>,
    line: &[u8; LINE_LEN],
    hash: KeyHash,
) -> bool {
    let (first, second) = params.rounds(hash);
    // SAFETY: the caller's; the loads are the COUNT words from `part` on of a line's 8.
    unsafe {
        let mut missing = V::splat(0);
        for part in (0..WORDS).step_by(V::COUNT) {
            let words = V::load(line.as_ptr().cast::<u64>().add(part));
            let salts = words.shift_right(params.word_positions());
            let multipliers = V::multiply_add(V::load(MULTIPLIERS.as_ptr().add(part)), salts, constants.step);
            let mut bits = constants.bits::<WINDOW>(first, part, multipliers);
            if let (true, Some(second)) = (TWO, second) {
                bits = bits.or(constants.bits::<true>(second, part, multipliers));
            }
            missing = missing.or(bits.without(words));
        }
        missing.is_zero()
    }
}

/// As the portable `line_may_contain`.
#[inline(always)]
pub(super) unsafe fn may_contain<V: Lanes>(params: Params, lines: &[u8], hash: KeyHash) -> bool {
    let line = super::line_at(lines, params.start_of(hash));
    // SAFETY: the caller's.
    unsafe {
        let constants = Constants::<V>::new(params);
        by_shape!(params, line_may_contain::<V>(params, constants, line, hash))
    }
}

/// Hashes between asking for a line and probing it: more than a processor has line buffers.
const AHEAD: usize = 32;

/// Calls `probe` with the line of each hash, prefetched [`AHEAD`] hashes before.
#[inline(always)]
pub(super) fn ask_all(
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
    probe: impl Fn(&[u8; LINE_LEN], KeyHash) -> bool,
) {
    assert!(lines.len() >= LINE_LEN, "a filter has a line");
    let num_lines = (lines.len() / LINE_LEN) as u64;
    let start_of = |hash: KeyHash| fast_range(hash.get(), num_lines) as usize * LINE_LEN;
    let (first, rest) = hashes.split_at(hashes.len().min(AHEAD));
    first.iter().for_each(|&hash| prefetch(lines, start_of(hash)));
    let mut ahead = rest.iter();
    for (answer, &hash) in answers.iter_mut().zip(hashes) {
        if let Some(&hash) = ahead.next() {
            prefetch(lines, start_of(hash));
        }
        // SAFETY: the index of a line is below the number of whole lines, which is at least one.
        let line = unsafe { &*lines.as_ptr().add(start_of(hash)).cast() };
        *answer = probe(line, hash);
    }
}

#[inline(always)]
unsafe fn each_may_contain<V: Lanes, const WINDOW: bool, const TWO: bool>(
    params: Params,
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    // SAFETY: the caller's.
    let constants = unsafe { Constants::<V>::new(params) };
    ask_all(lines, hashes, answers, |line, hash| {
        // SAFETY: the caller's.
        unsafe { line_may_contain::<V, WINDOW, TWO>(params, constants, line, hash) }
    });
}

/// An answer for each hash.
#[inline(always)]
pub(super) unsafe fn all_may_contain<V: Lanes>(params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    // SAFETY: the caller's.
    unsafe { by_shape!(params, each_may_contain::<V>(params, lines, hashes, answers)) }
}

/// Adds the bits of `round` under consecutive salts to `tries`. A salt's products follow from the one before by an
/// addition.
#[inline(always)]
unsafe fn add_to_tries<V: Lanes, const WINDOW: bool, const SALTS: usize>(
    constants: Constants<V>,
    multipliers: V,
    round: Round,
    first: usize,
    tries: &mut [V; SALTS],
) {
    // SAFETY: the caller's.
    unsafe {
        let value = V::value(round.value);
        let (mut product, step) = (V::product(value, multipliers), V::product(value, constants.step));
        let ones = ones::<V, WINDOW>(round, first);
        for bits in tries {
            *bits = bits.or(ones.shift_left_each(V::position(product, constants.positions)));
            product = product.add(step);
        }
    }
}

/// The words of one line, trying `SALTS` salts at a time: as many as the registers hold.
#[inline(always)]
unsafe fn choose_by<V: Lanes, const SALTS: usize, const WINDOW: bool, const TWO: bool>(
    params: Params,
    keys: &[u64],
) -> [u64; WORDS] {
    let mut chosen = [0; WORDS];
    // SAFETY: the caller's; loads and stores are of the COUNT words from `part` on of 8.
    unsafe {
        let constants = Constants::<V>::new(params);
        for part in (0..WORDS).step_by(V::COUNT) {
            let (mut best, mut best_count) = (V::splat(0), V::splat(u64::from(u64::BITS) + 1));
            for first_salt in (0..1u64 << params.salt_bits).step_by(SALTS) {
                let multipliers =
                    V::multiply_add(V::load(MULTIPLIERS.as_ptr().add(part)), V::splat(first_salt), constants.step);
                let mut tries = [V::splat(0); SALTS];
                for &key in keys {
                    let (first, second) = params.rounds(KeyHash::from_raw(key));
                    add_to_tries::<V, WINDOW, SALTS>(constants, multipliers, first, part, &mut tries);
                    if let (true, Some(second)) = (TWO, second) {
                        add_to_tries::<V, true, SALTS>(constants, multipliers, second, part, &mut tries);
                    }
                }
                for (salt, bits) in (first_salt..).zip(tries) {
                    let salted = bits.or(V::splat(params.place_salt(salt)));
                    (best, best_count) = salted.fewer(bits.count_ones(), best, best_count);
                }
            }
            best.store(chosen.as_mut_ptr().add(part));
        }
    }
    chosen
}

/// As the portable `choose_words`; `MAX_SALTS` is what the registers hold: 8 or 16.
#[inline(always)]
pub(super) unsafe fn choose_words<V: Lanes, const MAX_SALTS: usize>(params: Params, keys: &[u64]) -> [u64; WORDS] {
    // SAFETY: the caller's.
    unsafe {
        match params.salt_bits {
            0 => by_shape!(params, choose_by::<V, 1>(params, keys)),
            1 => by_shape!(params, choose_by::<V, 2>(params, keys)),
            2 => by_shape!(params, choose_by::<V, 4>(params, keys)),
            3 => by_shape!(params, choose_by::<V, 8>(params, keys)),
            _ => by_shape!(params, choose_by::<V, MAX_SALTS>(params, keys)),
        }
    }
}

#[inline(always)]
unsafe fn insert_by<V: Lanes, const WINDOW: bool, const TWO: bool>(
    params: Params,
    lines: &mut [u8],
    first_line: u64,
    keys: &[u64],
    present: &mut Vec<u64>,
) {
    // SAFETY: the caller's; loads and stores are of the COUNT words from `part` on of 8.
    unsafe {
        let constants = Constants::<V>::new(params);
        for &key in keys {
            let hash = KeyHash::from_raw(key);
            let (first, second) = params.rounds(hash);
            let line = super::line_at_mut(lines, (params.line_of(hash) - first_line) as usize * LINE_LEN);
            let mut missing = V::splat(0);
            for part in (0..WORDS).step_by(V::COUNT) {
                let at = line.as_mut_ptr().cast::<u64>().add(part);
                let (words, multipliers) = (V::load(at), V::load(MULTIPLIERS.as_ptr().add(part)));
                let mut bits = constants.bits::<WINDOW>(first, part, multipliers);
                if let (true, Some(second)) = (TWO, second) {
                    bits = bits.or(constants.bits::<true>(second, part, multipliers));
                }
                missing = missing.or(bits.without(words));
                words.or(bits).store(at);
            }
            if missing.is_zero() {
                present.push(key);
            }
        }
    }
}

/// As the portable `insert`.
#[inline(always)]
pub(super) unsafe fn insert<V: Lanes>(
    params: Params,
    lines: &mut [u8],
    first_line: u64,
    keys: &[u64],
    present: &mut Vec<u64>,
) {
    // SAFETY: the caller's.
    unsafe { by_shape!(params, insert_by::<V>(params, lines, first_line, keys, present)) }
}
