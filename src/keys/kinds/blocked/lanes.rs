//! The builder's steps once, over vectors of 64-bit words: choice of salts, check of a line. A file for each
//! instruction set implements [`Lanes`] and instantiates these functions where its features are enabled.
//!
//! They follow the portable code of the parent module step by step: a line is 8 / [`Lanes::COUNT`] vectors, and what
//! the portable code does for a word a vector does for [`Lanes::COUNT`] of them. All are inlined into their instances:
//! elsewhere they would be right, but slow, as every operation would be a call.

use super::query::by_shape;
use super::{LINE_LEN, Params, Round, SALT_MULTIPLIER, WORD_MULTIPLIERS, WORDS};
use crate::bytes;
use crate::hash::KeyHash;
use core::marker::PhantomData;

/// A vector of 64-bit words. Vectors are made from a proof or from other vectors, so having one proves the features
/// too.
pub(super) trait Lanes: Copy {
    /// The proof that the processor has the instruction set.
    type Proof: Copy;
    /// The number of words of a vector, a divisor of 8.
    const COUNT: usize;

    fn splat(proof: Self::Proof, value: u64) -> Self;
    /// # Safety
    /// `words` is valid for reads of `COUNT` words, at any alignment.
    unsafe fn load(proof: Self::Proof, words: *const u64) -> Self;
    /// # Safety
    /// `words` is valid for writes of `COUNT` words, at any alignment.
    unsafe fn store(self, words: *mut u64);
    /// Adds products, lane by lane.
    fn add(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// Returns `self` without the bits of `other`.
    fn without(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
    /// Returns `self + factor · other`, where each is below 2^32.
    fn add_product(self, factor: Self, other: Self) -> Self;
    /// Returns the product modulo 2^32 of `value`, whose lower half counts, and `multipliers`, in a form that sums keep
    /// and [`Lanes::shift_to`] takes.
    fn product(value: u64, multipliers: Self) -> Self;
    /// Returns each word, 0 or 1, shifted left to the fast range of `product` over `positions`, at most 64.
    fn shift_to(self, product: Self, positions: Self) -> Self;
    /// Returns, lane by lane, the one of `self | salt` and `best` that sets fewer bits, salts not counted, and `best`
    /// if they are equal. The second of a pair is its number of bits, below 2^63.
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

/// The windows of each length: ones where a word is in the window. The words from [`WORDS`] − start on are the window
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

/// Returns ones in the words that the window of `round` holds.
#[inline(always)]
pub(super) fn window(round: Round) -> &'static [u64; WORDS] {
    let row = &WINDOWS[round.window_len as usize];
    row[WORDS - round.window_start as usize..].first_chunk().expect("windows begin in the first of two times all words")
}

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
}

/// Returns a one in each of the words of `part` that `round` probes.
#[inline(always)]
fn ones<V: Lanes, const WINDOW: bool>(proof: V::Proof, round: Round, part: &Part<V>) -> V {
    if !WINDOW {
        return V::splat(proof, 1);
    }
    part.load(proof, window(round))
}

/// The vectors that depend on the parameters alone.
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

    /// Returns the multipliers of the words of `part` under `salts`.
    #[inline(always)]
    fn multipliers(self, part: &Part<V>, salts: V) -> V {
        part.load(self.proof, &MULTIPLIERS).add_product(salts, self.step)
    }

    /// Returns the bits of `round` in the words of `part`, which have these multipliers.
    #[inline(always)]
    fn bits<const WINDOW: bool>(self, round: Round, part: &Part<V>, multipliers: V) -> V {
        ones::<V, WINDOW>(self.proof, round, part).shift_to(V::product(round.value, multipliers), self.positions)
    }
}

/// Adds the bits of `round` under consecutive salts to `tries`. A salt's products follow from the one before by an
/// addition. Returns whether the first of them, as many as make up a line's words, had these bits.
#[inline(always)]
fn add_to_tries<V: Lanes, const WINDOW: bool, const SALTS: usize>(
    constants: Constants<V>,
    multipliers: V,
    round: Round,
    part: &Part<V>,
    tries: &mut [V; SALTS],
) -> bool {
    let mut product = V::product(round.value, multipliers);
    let step = V::product(round.value, constants.step);
    let ones = ones::<V, WINDOW>(constants.proof, round, part);
    let mut missing = V::splat(constants.proof, 0);
    for (salt, bits) in tries.iter_mut().enumerate() {
        let new = ones.shift_to(product, constants.positions);
        if salt < WORDS / V::COUNT {
            missing = missing.or(new.without(*bits));
        }
        *bits = bits.or(new);
        product = product.add(step);
    }
    missing.is_zero()
}

/// Returns the words of one line, trying `SALTS` salts at a time, which the registers hold.
#[inline(always)]
fn choose_by<V: Lanes, const SALTS: usize, const WINDOW: bool, const TWO: bool>(
    proof: V::Proof,
    params: Params,
    keys: &[u64],
) -> ([u64; WORDS], bool) {
    let (mut chosen, mut may_repeat) = ([0; WORDS], true);
    let constants = Constants::<V>::new(proof, params);
    let splat = |value| V::splat(proof, value);
    for part in Part::all() {
        let mut best = (splat(0), splat(u64::from(u64::BITS) + 1));
        for first_salt in (0..1u64 << params.salt_bits).step_by(SALTS) {
            let multipliers = constants.multipliers(&part, splat(first_salt));
            let (mut tries, mut repeats) = ([splat(0); SALTS], false);
            for &key in keys {
                let (first, second) = params.rounds(KeyHash::from_raw(key));
                repeats |= add_to_tries::<V, WINDOW, SALTS>(constants, multipliers, first, &part, &mut tries);
                if let (true, Some(second)) = (TWO, second) {
                    add_to_tries::<V, true, SALTS>(constants, multipliers, second, &part, &mut tries);
                }
            }
            may_repeat &= repeats;
            for (salt, bits) in (first_salt..).zip(tries) {
                best = bits.fewest(splat(params.place_salt(salt)), best);
            }
        }
        part.store(best.0, &mut chosen);
    }
    (chosen, may_repeat)
}

/// The portable `choose_words`, with vectors. `MAX_SALTS`, 8 or 16, is the number of salts that registers hold.
#[inline(always)]
pub(super) fn choose_words<V: Lanes, const MAX_SALTS: usize>(
    proof: V::Proof,
    params: Params,
    keys: &[u64],
) -> ([u64; WORDS], bool) {
    match params.salt_bits {
        0 => by_shape!(params, choose_by::<V, 1>(proof, params, keys)),
        1 => by_shape!(params, choose_by::<V, 2>(proof, params, keys)),
        2 => by_shape!(params, choose_by::<V, 4>(proof, params, keys)),
        3 => by_shape!(params, choose_by::<V, 8>(proof, params, keys)),
        _ => by_shape!(params, choose_by::<V, MAX_SALTS>(proof, params, keys)),
    }
}

#[inline(always)]
fn contains_by<V: Lanes, const WINDOW: bool, const TWO: bool>(
    proof: V::Proof,
    params: Params,
    line: &[u8; LINE_LEN],
    number: u64,
    keys: &[u64],
) -> bool {
    let constants = Constants::<V>::new(proof, params);
    let salts = core::array::from_fn(|word| u64::from(params.salt_of(bytes::u64_at(line, word * 8))));
    let (mut missing, mut strays) = (V::splat(proof, 0), 0);
    for &key in keys {
        let hash = KeyHash::from_raw(key);
        let (first, second) = params.rounds(hash);
        strays |= params.line_of(hash) ^ number;
        for part in Part::all() {
            let (words, salts): (V, V) = (part.load_line(proof, line), part.load(proof, &salts));
            let multipliers = constants.multipliers(&part, salts);
            missing = missing.or(constants.bits::<WINDOW>(first, &part, multipliers).without(words));
            if let (true, Some(second)) = (TWO, second) {
                missing = missing.or(constants.bits::<true>(second, &part, multipliers).without(words));
            }
        }
    }
    missing.is_zero() && strays == 0
}

/// The portable `line_contains`, with vectors.
#[inline(always)]
pub(super) fn line_contains<V: Lanes>(
    proof: V::Proof,
    params: Params,
    line: &[u8; LINE_LEN],
    number: u64,
    keys: &[u64],
) -> bool {
    by_shape!(params, contains_by::<V>(proof, params, line, number, keys))
}
