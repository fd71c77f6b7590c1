//! The algorithm once, over vectors of 64-bit words: probe, batch, choice of salts, insertion. A file for each
//! instruction set implements [`Lanes`] and instantiates these functions where its features are enabled.
//!
//! They follow the portable code of the parent module step by step: a line is 8 / [`Lanes::COUNT`] vectors, and what
//! the portable code does for a word a vector does for [`Lanes::COUNT`] of them. All are inlined into their instances:
//! elsewhere they would be right, but slow, as every operation would be a call.

use super::{LINE_LEN, Params, Round, SALT_MULTIPLIER, WORD_MULTIPLIERS, WORDS};
use crate::cpu::prefetch;
use crate::hash::{KeyHash, fast_range};
use core::marker::PhantomData;
use std::vec::Vec;

/// A vector of 64-bit words. Vectors are made from a proof or from other vectors, so having one proves the features
/// too.
pub(super) trait Lanes: Copy {
    /// Of the instruction set.
    type Proof: Copy;
    /// Words of a vector: divides 8.
    const COUNT: usize;

    fn splat(proof: Self::Proof, value: u64) -> Self;
    /// # Safety
    /// `words` is valid for reads of `COUNT` words, at any alignment.
    unsafe fn load(proof: Self::Proof, words: *const u64) -> Self;
    /// # Safety
    /// `words` is valid for writes of `COUNT` words, at any alignment.
    unsafe fn store(self, words: *mut u64);
    /// Of products alone.
    fn add(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// `self` without the bits of `other`.
    fn without(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
    /// Each word shifted right by `count`, at most 64, which leaves zero.
    #[cfg(simd_x86_64)]
    fn shift_right(self, count: u32) -> Self;
    /// `self + factor · other`, each below 2^32.
    fn add_product(self, factor: Self, other: Self) -> Self;
    /// Product modulo 2^32 of `value` and `multipliers`, in a form that sums keep and [`Lanes::shift_to`] takes.
    fn product(value: u32, multipliers: Self) -> Self;
    /// Each word, 0 or 1, shifted left to the fast range of `product` over `positions`, at most 64.
    fn shift_to(self, product: Self, positions: Self) -> Self;
    /// Lane by lane, whichever of `self | salt` and `best` sets fewer bits, salts not counted: `best` if they are
    /// equal. The second of a pair is its number of bits, below 2^63.
    fn fewest(self, salt: Self, best: (Self, Self)) -> (Self, Self);
}

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

/// A vector's place in a line: the first of its words is a multiple of `COUNT` below [`WORDS`], as only [`Part::all`]
/// makes them.
struct Part<V> {
    first: usize,
    lanes: PhantomData<V>,
}

impl<V: Lanes> Part<V> {
    #[inline(always)]
    fn all() -> impl Iterator<Item = Self> {
        const { assert!(WORDS % V::COUNT == 0) };
        (0..WORDS).step_by(V::COUNT).map(|first| Self { first, lanes: PhantomData })
    }

    #[inline(always)]
    fn load(&self, proof: V::Proof, words: &[u64; WORDS]) -> V {
        // SAFETY: `first + COUNT <= WORDS`, as `Part::all` made it.
        unsafe { V::load(proof, words.as_ptr().add(self.first)) }
    }

    #[inline(always)]
    fn load_line(&self, proof: V::Proof, line: &[u8; LINE_LEN]) -> V {
        // SAFETY: `first + COUNT <= WORDS`, as `Part::all` made it, and a line has WORDS words of 8 bytes.
        unsafe { V::load(proof, line.as_ptr().cast::<u64>().add(self.first)) }
    }

    #[inline(always)]
    fn store(&self, vector: V, words: &mut [u64; WORDS]) {
        // SAFETY: `first + COUNT <= WORDS`, as `Part::all` made it.
        unsafe { vector.store(words.as_mut_ptr().add(self.first)) }
    }

    #[inline(always)]
    fn store_line(&self, vector: V, line: &mut [u8; LINE_LEN]) {
        // SAFETY: `first + COUNT <= WORDS`, as `Part::all` made it, and a line has WORDS words of 8 bytes.
        unsafe { vector.store(line.as_mut_ptr().cast::<u64>().add(self.first)) }
    }
}

/// A one in each of the words of `part` that `round` probes.
#[inline(always)]
fn ones<V: Lanes, const WINDOW: bool>(proof: V::Proof, round: Round, part: &Part<V>) -> V {
    if !WINDOW {
        return V::splat(proof, 1);
    }
    let first = part.first + WORDS - round.window_start as usize;
    let ones = &WINDOWS[round.window_len as usize][first..][..V::COUNT];
    // SAFETY: `ones` has COUNT words, as it was sliced to.
    unsafe { V::load(proof, ones.as_ptr()) }
}

/// What depends on the parameters alone.
#[derive(Clone, Copy)]
struct Constants<V: Lanes> {
    proof: V::Proof,
    positions: V,
    step: V,
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    fn new(proof: V::Proof, params: Params) -> Self {
        let splat = |value: u32| V::splat(proof, u64::from(value));
        Self { proof, positions: splat(params.word_positions()), step: splat(SALT_MULTIPLIER) }
    }

    /// The multipliers of the words of `part` under `salts`.
    #[inline(always)]
    fn multipliers(self, part: &Part<V>, salts: V) -> V {
        part.load(self.proof, &MULTIPLIERS).add_product(salts, self.step)
    }

    /// The bits of `round` in the words of `part`, which have these multipliers.
    #[inline(always)]
    fn bits<const WINDOW: bool>(self, round: Round, part: &Part<V>, multipliers: V) -> V {
        ones::<V, WINDOW>(self.proof, round, part).shift_to(V::product(round.value, multipliers), self.positions)
    }
}

/// How many rounds, and whether the first has a window: known when compiling, so that no loop tests them.
macro_rules! by_shape {
    ($params:expr, $function:ident$(::<$($generic:tt),+>)?($($argument:expr),*)) => {
        match $params.num_probes {
            8 => $function::<$($($generic,)+)? false, false>($($argument),*),
            0..8 => $function::<$($($generic,)+)? true, false>($($argument),*),
            _ => $function::<$($($generic,)+)? false, true>($($argument),*),
        }
    };
}
#[cfg(simd_neon)]
pub(super) use by_shape;

#[cfg(simd_x86_64)]
#[inline(always)]
fn line_may_contain<V: Lanes, const WINDOW: bool, const TWO: bool>(
    params: Params,
    constants: Constants<V>,
    line: &[u8; LINE_LEN],
    hash: KeyHash,
) -> bool {
    let (first, second) = params.rounds(hash);
    let mut missing = V::splat(constants.proof, 0);
    for part in Part::all() {
        let words: V = part.load_line(constants.proof, line);
        let multipliers = constants.multipliers(&part, words.shift_right(params.word_positions()));
        let mut bits = constants.bits::<WINDOW>(first, &part, multipliers);
        if let (true, Some(second)) = (TWO, second) {
            bits = bits.or(constants.bits::<true>(second, &part, multipliers));
        }
        missing = missing.or(bits.without(words));
    }
    missing.is_zero()
}

/// As the portable `may_contain`.
#[cfg(simd_x86_64)]
#[inline(always)]
pub(super) fn may_contain<V: Lanes>(proof: V::Proof, params: Params, lines: &[u8], hash: KeyHash) -> bool {
    let line = super::line_at(lines, params.start_of(hash));
    let constants = Constants::<V>::new(proof, params);
    by_shape!(params, line_may_contain::<V>(params, constants, line, hash))
}

/// Hashes whose lines are prefetched together.
const BATCH: usize = 16;

/// Calls `probe` with the line of each hash. The lines of the next hashes are prefetched before those of the current
/// are read.
#[inline(always)]
pub(super) fn probe_all(
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
    probe: impl Fn(&[u8; LINE_LEN], KeyHash) -> bool,
) {
    assert!(lines.len() >= LINE_LEN, "a filter has a line");
    let lines_len = (lines.len() & !(LINE_LEN - 1)) as u64;
    let mut ahead = hashes.chunks(BATCH);
    // Every start written is that of line `fast_range(hash, num_lines)`: a fast range over LINE_LEN times as many,
    // rounded down. With `lines_len`, not 0, a multiple of LINE_LEN, it is at most `lines_len - LINE_LEN`.
    let mut prepare_next = |starts: &mut [usize; BATCH]| {
        for (start, &hash) in starts.iter_mut().zip(ahead.next().unwrap_or(&[])) {
            *start = fast_range(hash.get(), lines_len) as usize & !(LINE_LEN - 1);
            prefetch(lines, *start);
        }
    };
    let mut starts = [[0; BATCH]; 2];
    prepare_next(&mut starts[0]);
    for (turn, (hashes, answers)) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)).enumerate() {
        prepare_next(&mut starts[(turn + 1) % 2]);
        for ((answer, &start), &hash) in answers.iter_mut().zip(&starts[turn % 2]).zip(hashes) {
            // SAFETY: `start + LINE_LEN <= lines_len <= lines.len()`: `start` is 0 or as `prepare_next` wrote it, and
            // the assertion has shown that there is a line.
            let line = unsafe { &*lines.as_ptr().add(start).cast() };
            *answer = probe(line, hash);
        }
    }
}

#[cfg(simd_x86_64)]
#[inline(always)]
fn each_may_contain<V: Lanes, const WINDOW: bool, const TWO: bool>(
    proof: V::Proof,
    params: Params,
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    let constants = Constants::<V>::new(proof, params);
    let probe = |line: &_, hash| line_may_contain::<V, WINDOW, TWO>(params, constants, line, hash);
    probe_all(lines, hashes, answers, probe);
}

/// An answer for each hash.
#[cfg(simd_x86_64)]
#[inline(always)]
pub(super) fn all_may_contain<V: Lanes>(
    proof: V::Proof,
    params: Params,
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    by_shape!(params, each_may_contain::<V>(proof, params, lines, hashes, answers))
}

/// Adds the bits of `round` under consecutive salts to `tries`. A salt's products follow from the one before by an
/// addition.
#[inline(always)]
fn add_to_tries<V: Lanes, const WINDOW: bool, const SALTS: usize>(
    constants: Constants<V>,
    multipliers: V,
    round: Round,
    part: &Part<V>,
    tries: &mut [V; SALTS],
) {
    let mut product = V::product(round.value, multipliers);
    let step = V::product(round.value, constants.step);
    let ones = ones::<V, WINDOW>(constants.proof, round, part);
    for bits in tries {
        *bits = bits.or(ones.shift_to(product, constants.positions));
        product = product.add(step);
    }
}

/// The words of one line, trying `SALTS` salts at a time: as many as the registers hold.
#[inline(always)]
fn choose_by<V: Lanes, const SALTS: usize, const WINDOW: bool, const TWO: bool>(
    proof: V::Proof,
    params: Params,
    keys: &[u64],
) -> [u64; WORDS] {
    let mut chosen = [0; WORDS];
    let constants = Constants::<V>::new(proof, params);
    let splat = |value| V::splat(proof, value);
    for part in Part::all() {
        let mut best = (splat(0), splat(u64::from(u64::BITS) + 1));
        for first_salt in (0..1u64 << params.salt_bits).step_by(SALTS) {
            let multipliers = constants.multipliers(&part, splat(first_salt));
            let mut tries = [splat(0); SALTS];
            for &key in keys {
                let (first, second) = params.rounds(KeyHash::from_raw(key));
                add_to_tries::<V, WINDOW, SALTS>(constants, multipliers, first, &part, &mut tries);
                if let (true, Some(second)) = (TWO, second) {
                    add_to_tries::<V, true, SALTS>(constants, multipliers, second, &part, &mut tries);
                }
            }
            for (salt, bits) in (first_salt..).zip(tries) {
                best = bits.fewest(splat(params.place_salt(salt)), best);
            }
        }
        part.store(best.0, &mut chosen);
    }
    chosen
}

/// As the portable `choose_words`. `MAX_SALTS` is what the registers hold: 8 or 16.
#[inline(always)]
pub(super) fn choose_words<V: Lanes, const MAX_SALTS: usize>(
    proof: V::Proof,
    params: Params,
    keys: &[u64],
) -> [u64; WORDS] {
    match params.salt_bits {
        0 => by_shape!(params, choose_by::<V, 1>(proof, params, keys)),
        1 => by_shape!(params, choose_by::<V, 2>(proof, params, keys)),
        2 => by_shape!(params, choose_by::<V, 4>(proof, params, keys)),
        3 => by_shape!(params, choose_by::<V, 8>(proof, params, keys)),
        _ => by_shape!(params, choose_by::<V, MAX_SALTS>(proof, params, keys)),
    }
}

#[inline(always)]
fn insert_by<V: Lanes, const WINDOW: bool, const TWO: bool>(
    proof: V::Proof,
    params: Params,
    lines: &mut [u8],
    first_line: u64,
    keys: &[u64],
    present: &mut Vec<u64>,
) {
    let constants = Constants::<V>::new(proof, params);
    for &key in keys {
        let hash = KeyHash::from_raw(key);
        let (first, second) = params.rounds(hash);
        let line = super::line_at_mut(lines, (params.line_of(hash) - first_line) as usize * LINE_LEN);
        let mut missing = V::splat(proof, 0);
        for part in Part::all() {
            let (words, multipliers): (V, V) = (part.load_line(proof, line), part.load(proof, &MULTIPLIERS));
            let mut bits = constants.bits::<WINDOW>(first, &part, multipliers);
            if let (true, Some(second)) = (TWO, second) {
                bits = bits.or(constants.bits::<true>(second, &part, multipliers));
            }
            missing = missing.or(bits.without(words));
            part.store_line(words.or(bits), line);
        }
        if missing.is_zero() {
            present.push(key);
        }
    }
}

/// As the portable `insert`.
#[inline(always)]
pub(super) fn insert<V: Lanes>(
    proof: V::Proof,
    params: Params,
    lines: &mut [u8],
    first_line: u64,
    keys: &[u64],
    present: &mut Vec<u64>,
) {
    by_shape!(params, insert_by::<V>(proof, params, lines, first_line, keys, present))
}
