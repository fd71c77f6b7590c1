//! The blocked Bloom filter with word-wise choice: one 64-byte line a query, and fewer false positives than the classic
//! filter of the same size.
//!
//! `format/blocked.md` states the bytes.
//!
//! # What is stored
//!
//! The payload is an array of *lines* of 64 bytes, which are eight 64-bit *words*. The hash of an entry selects a line
//! and, with eight probes, sets one bit in each word of it. With k < 8 probes it sets one bit in each word of a cyclic
//! *window* of k words; with more than eight, a second round sets another bit in a window of k − 8 words
//! ([`Params::rounds`]). The upper t bits of a word are its *salt* (t = 3 by default); the other R = 64 − t bits are
//! its positions.
//!
//! The position in a word is a multiply-shift of 32 bits of the hash, with a multiplier that depends on the word and on
//! its salt. All keys are known when a table is written. So the builder tries all 2^t salts of a word, computes the
//! positions of the line's entries under each, and keeps the salt under which the word has the fewest bits set.
//!
//! # Why a query is right
//!
//! Building and querying compute positions by the same function, from the hash and from the salts that are stored in
//! the line. The builder set the positions of each entry under exactly these salts. So an entry finds its bits set. A
//! position is below R, so that no entry touches a salt.
//!
//! # Why it is small
//!
//! Two effects oppose each other. All probes of an entry fall into one line, and lines get different numbers of entries
//! (Poisson), so full lines pass more absent keys than sparse ones save (Putze, Sanders, Singler, *Cache-, Hash- and
//! Space-Efficient Bloom Filters*, ACM JEA 14, 2009, section 3): 1.05 % at 10 bits an entry and 8 probes, where the
//! classic filter has 0.819 %. The choice of salts more than makes up for it: the least of 2^t random fills of a word
//! lies well below the mean (Lumetta and Mitzenmacher, *Using the Power of Two Choices to Improve Bloom Filters*,
//! 2007), and the rate is a product of eight fills. With 4 salts it is 0.71 %, with 8, the default, 0.615 %, with 16
//! 0.546 %, with 64 0.452 %, in spite of the positions that salts take. That is 36 % above the least size by default.
//!
//! *A salt for each word*, not for the line: eight independent choices each gain the full deviation of a word, where
//! one choice for a line averages the luck of eight words away. With 16 salts at 10 bits 0.54 % instead of 0.736 %, at
//! 16 bits and 11 probes 0.036 % instead of 0.058 %. It also makes choosing lane-wise: a prototype chose among 16 salts
//! in 17 ns a key, where choosing for whole lines took 150.
//!
//! *A salt changes the multiplier* and so rearranges positions. Independent hashes would give 0.5437 %, this gives
//! 0.5449 %, and a shift of positions by the salt 0.5589 %.
//!
//! *Eight probes, one to a word*, from about 9.4 to 16.8 bits an entry, where the best number would be 7 to 11
//! (`sizing/probes.rs`). At 10 bits that costs 2 % more false positives (0.615 % instead of 0.603 %), at 16 bits 19 %
//! more. But a query then needs neither a window nor a second round: 4.1 ns in a cache instead of 6.5 and 8.4.
//!
//! `sizing` has the model of the rate, to which simulations agree within their noise.
//!
//! # Why a query is fast
//!
//! One line is read. All words do the same: a product, a shift of a one, a test against the word. So vectors take 2, 4
//! or 8 words at once, and the answer needs no branch on data. Products that do not depend on the salts are computed
//! before the line arrives.
//!
//! The probe of eight positions is so short that a call would cost as much as the probe itself, and a function compiled
//! for AVX2 or AVX-512 is not inlined into a caller that is not. So `inlined.rs` has this probe in assembly on x86-64,
//! compiled into the caller's loop, and in intrinsics on ARM, where every target has NEON (there for all numbers of
//! probes up to eight). All other queries are called. `portable.rs` is the definition, with which tests compare the
//! code for each width of vectors; `lanes.rs` has the builder's steps once, over vectors of any width.
//!
//! Among ten thousand keys of 16 bytes, with AVX2, the inlined probe takes 9.1 ns where the called one took 16.8. On
//! ARM, where every query was a call of 120 instructions, it takes 39, because only the byte of each word that contains
//! the bit is tested. Each width of vectors has one probe, for every number of probes and salt bits, which the caller's
//! loop, the called query and the batch share (`query.rs`). Compared with a probe for each case, single queries take
//! .89 to .95 with AVX-512 and .99 to 1.02 with AVX2, batches among ten thousand keys .85 and .87. Batches prefetch the
//! lines of 16 hashes ahead, unless all lines fit a cache.
//!
//! # How the builder works
//!
//! Lines are independent, so the bytes do not depend on the order of the hashes. Those of a filter of more than 256 lines
//! are grouped in place into parts of neighbouring lines; a part's are copied into equal rooms, one for each line
//! (`build.rs`), so that each line is written once. For each word an engine keeps the bits of all salts at hand in
//! registers; the product under the next salt is the last one plus a constant, so a trial costs an addition and a shift.
//! Engines and threads give the same bytes: of several salts with equally few bits the least is taken.
//!
//! A repeated hash finds all its bits set already, under every salt. The first salts, as many as make up eight words,
//! show which lines may have one: a few in a hundred, which are searched.
//!
//! A line is checked with the multipliers of the salts that it stores, which all its hashes share: each hash costs two
//! products and a shift, and a comparison of its line's number.
//!
//! At a million entries and 10 bits, grouping instead of sorting took a build with 8 salts from 58 ns an entry to 17.
//! From keys to a checked block, equal rooms instead of counts, and what the choice and the check take from the line as
//! a whole, took it from 24.4 to 13.6 with AVX-512 and from 26.5 to 15.8 with AVX2, where RocksDB's FastLocalBloom takes
//! 12.2. Two hashes at a time, for half as many operations on the bits that they set, gained a hundredth. 16 salts, the
//! default once, take half as much again as 8.
//!
//! Without a choice of salts, bits were once set in the order of the hashes; now such a build takes .7 of that time.

#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod avx2;
#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
#[cfg(feature = "std")]
mod build;
#[cfg(simd_x86_64)]
mod constants;
mod engine;
#[cfg(any(simd_x86_64, simd_neon))]
#[expect(unsafe_code, reason = "a line picked without a check; the block names the comparison that pays for it")]
mod inlined;
#[cfg(any(simd_x86_64, simd_neon))]
#[expect(unsafe_code, reason = "unchecked loads and stores; each block names the check that pays for it")]
mod lanes;
#[cfg(simd_neon)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod neon;
#[cfg(feature = "std")]
mod plan;
mod portable;
#[cfg(any(simd_x86_64, simd_neon))]
#[expect(unsafe_code, reason = "a line picked without a check; the block names the assertion that pays for it")]
mod query;
pub(crate) mod sizing;

pub(crate) use engine::Inlined;
#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{KindParams, KindView, PARAMS_LEN, StoredParams};
use super::trailer::Trailer;
use crate::bytes;
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};
use engine::Engine;
use sizing::{MAX_NUM_PROBES, MAX_SALT_BITS};

/// The number of bytes of a line.
const LINE_LEN: usize = 64;
/// The number of words of a line.
const WORDS: usize = 8;
// There are at most two probes in each word.
const _: () = assert!(MAX_NUM_PROBES == 2 * WORDS as u32);
/// The greatest number of lines: 32 bits of the hash select the line, and 32 are left for the positions within it.
const MAX_LINES: u64 = 1 << 32;

/// A multiplier for each word.
const WORD_MULTIPLIERS: [u32; WORDS] =
    [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1, 0xd3a2_646d, 0xfd70_46c5, 0xb55a_4f09];
/// A number that is added to the word's multiplier once for each unit of its salt. It is even, so that every multiplier
/// is odd.
const SALT_MULTIPLIER: u32 = 0xd1b5_4a32;
/// A multiplier that selects the first word of the window.
const WINDOW_MULTIPLIER: u32 = 0x8cb9_2ba7;
/// A multiplier that mixes all 64 bits of the hash into the 32 of the second round.
const SECOND_MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// Dimensions: stored as `num_probes: u8` at 0, `salt_bits: u8` at 1, zeros at 2..12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    num_probes: u8,
    salt_bits: u8,
    num_lines: u64,
}

/// A compact frame stores one byte: `num_probes` − 1 in the upper four bits, `salt_bits` in the lower four.
impl KindParams for Params {
    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(2..PARAMS_LEN)?;
        Self::with_payload_len(stored.payload_len, u32::from(stored.bytes[0]), u32::from(stored.bytes[1]))
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let byte = trailer.pop()?;
        Self::with_payload_len(trailer.payload_len(), u32::from(byte >> 4) + 1, u32::from(byte & 0xf))
    }

    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1]) = (self.num_probes, self.salt_bits);
        out
    }

    fn encode_trailer(&self, out: &mut impl Extend<u8>) {
        out.extend([(self.num_probes - 1) << 4 | self.salt_bits]);
    }
}

impl Params {
    /// Refuses numbers outside 1 to [`MAX_NUM_PROBES`] probes, 0 to [`MAX_SALT_BITS`] salt bits, 1 to [`MAX_LINES`]
    /// lines.
    fn new(num_lines: u64, num_probes: u32, salt_bits: u32) -> Result<Self, DecodeError> {
        DecodeError::check_params(&[
            ("num_probes", u64::from(num_probes), 1, u64::from(MAX_NUM_PROBES)),
            ("salt_bits", u64::from(salt_bits), 0, u64::from(MAX_SALT_BITS)),
            ("num_lines", num_lines, 1, MAX_LINES),
        ])?;
        Ok(Self { num_probes: num_probes as u8, salt_bits: salt_bits as u8, num_lines })
    }

    /// Checks that `payload_len` is whole lines, as the number of lines is not stored.
    fn with_payload_len(payload_len: u64, num_probes: u32, salt_bits: u32) -> Result<Self, DecodeError> {
        let num_lines = payload_len / LINE_LEN as u64;
        DecodeError::check_len(num_lines * LINE_LEN as u64, payload_len)?;
        Self::new(num_lines, num_probes, salt_bits)
    }

    const fn num_probes(&self) -> u32 {
        self.num_probes as u32
    }

    const fn payload_len(&self) -> u64 {
        self.num_lines * LINE_LEN as u64
    }

    /// Returns the number of positions of a word.
    const fn word_positions(self) -> u32 {
        u64::BITS - self.salt_bits as u32
    }

    /// Returns the salt of `word`: its upper bits. (Two shifts, because a single one by 64 is an overflow.)
    #[inline]
    const fn salt_of(self, word: u64) -> u32 {
        (word >> (self.word_positions() - 1) >> 1) as u32
    }

    /// Returns a word with `salt` in its upper bits and zeros below.
    const fn place_salt(self, salt: u64) -> u64 {
        salt << (self.word_positions() - 1) << 1
    }

    #[inline]
    fn line_of(self, hash: KeyHash) -> u64 {
        fast_range(hash.get(), self.num_lines)
    }

    /// Returns the offset of the line of `hash`.
    #[inline]
    fn start_of(self, hash: KeyHash) -> usize {
        self.line_of(hash) as usize * LINE_LEN
    }

    /// Returns the probes of `hash` within its line: one round, or two from nine probes on.
    #[inline]
    fn rounds(self, hash: KeyHash) -> (Round, Option<Round>) {
        let window_start = window_start(hash);
        let first = Round { value: hash.get(), window_start, window_len: u32::from(self.num_probes).min(WORDS as u32) };
        let second = (u32::from(self.num_probes) > WORDS as u32).then(|| Round {
            value: hash.get().wrapping_mul(SECOND_MULTIPLIER) >> 32,
            window_start,
            window_len: u32::from(self.num_probes) - WORDS as u32,
        });
        (first, second)
    }

    /// Returns the bits of `hash` in word `index` of its line under `salt`.
    #[inline]
    fn word_mask(self, rounds: &(Round, Option<Round>), index: usize, salt: u32) -> u64 {
        let first = rounds.0.word_mask(index, salt, self.word_positions());
        match &rounds.1 {
            None => first,
            Some(second) => first | second.word_mask(index, salt, self.word_positions()),
        }
    }
}

/// Returns for each word the product of the values of `len` consecutive words (at most all) from it on, cyclically.
#[inline]
fn window_products(values: &[f64; WORDS], len: u32) -> [f64; WORDS] {
    let joined = |front: &[f64; WORDS], len: usize, back: &[f64; WORDS]| -> [f64; WORDS] {
        core::array::from_fn(|w| front[w] * back[(w + len) % WORDS])
    };
    let two = joined(values, 1, values);
    let four = joined(&two, 2, &two);
    match len {
        0 => [1.0; WORDS],
        1 => *values,
        2 => two,
        3 => joined(&two, 2, values),
        4 => four,
        5 => joined(&four, 4, values),
        6 => joined(&four, 4, &two),
        7 => joined(&four, 4, &joined(&two, 2, values)),
        _ => joined(&four, 4, &four),
    }
}

/// A round of probes: one in each word of a window.
#[derive(Clone, Copy)]
struct Round {
    /// Its lower half counts.
    value: u64,
    window_start: u32,
    window_len: u32,
}

/// Returns the first word of the windows of `hash`.
#[inline(always)]
const fn window_start(hash: KeyHash) -> u32 {
    (hash.get() as u32).wrapping_mul(WINDOW_MULTIPLIER) >> 29
}

/// Returns whether the cyclic window of `len` words from `start` on contains word `index`.
#[inline]
const fn in_window(start: u32, len: u32, index: usize) -> bool {
    (index as u32).wrapping_sub(start) % (WORDS as u32) < len
}

impl Round {
    /// Returns the bit that is probed in word `index`, or no bit if the window leaves the word out. It is a
    /// multiply-shift with a multiplier that depends on the word and its salt, then a fast range over the word's
    /// positions.
    #[inline]
    fn word_mask(&self, index: usize, salt: u32, positions: u32) -> u64 {
        let multiplier = WORD_MULTIPLIERS[index].wrapping_add(salt.wrapping_mul(SALT_MULTIPLIER));
        let product = (self.value as u32).wrapping_mul(multiplier);
        let position = (u64::from(product) * u64::from(positions)) >> 32;
        u64::from(in_window(self.window_start, self.window_len, index)) << position
    }
}

/// Returns the line that begins at `start`. It is in bounds for views, where `start` comes from [`Params::line_of`]:
/// the line's index is below num_lines, and num_lines was compared with the length.
#[inline(always)]
fn line_at(lines: &[u8], start: usize) -> &[u8; LINE_LEN] {
    lines[start..].first_chunk().expect("a line")
}

/// All that is known about a filter without its lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    engine: Engine,
}

impl Layout {
    /// Returns the probe without a call, if engine and parameters have one.
    pub(super) fn inlined(&self) -> Inlined {
        Inlined::new(self.engine, self.params)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    layout: &'a Layout,
    lines: &'a [u8],
}

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], _base: u64) -> Result<Layout, DecodeError> {
        DecodeError::check_len(params.payload_len(), payload.len() as u64)?;
        Ok(Layout { params, engine: Engine::best(&params) })
    }

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 == layout.params.payload_len(), "the bytes of a filter changed their length");
        Self { layout, lines: payload }
    }

    #[cfg(all(test, feature = "std"))]
    fn with_each_engine(layout: &Layout) -> std::vec::Vec<Layout> {
        Engine::all(&layout.params).map(|engine| Layout { engine, ..*layout }).collect()
    }

    fn params(&self) -> &Params {
        &self.layout.params
    }

    fn may_contain(&self, hash: KeyHash) -> bool {
        self.layout.engine.may_contain(&self.layout.params, self.lines, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.layout.engine.all_may_contain(self.layout.params, self.lines, hashes, answers);
    }

    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        prefetch(self.lines, self.layout.params.start_of(hash));
    }

    /// The mean over lines and windows of the product of the probed words' fills: an absent key's line and window are
    /// uniform, and so is its position in each probed word. (Keys that share their line and all 32 bits of the first
    /// round are not counted; they add entries-per-line / 2³² up to 8 probes, 2⁻⁶⁴ beyond.)
    fn predicted_fpr(&self) -> f64 {
        let num_probes = self.layout.params.num_probes();
        let (first, second) = (num_probes.min(8), num_probes.saturating_sub(8));
        let of_line = |fills| -> f64 {
            let (once, twice) = (window_products(&fills, first), window_products(&fills, second));
            once.iter().zip(twice).map(|(once, twice)| once * twice).sum()
        };
        let sum: f64 = self.word_fills().map(of_line).sum();
        sum / (self.layout.params.num_lines as f64 * WORDS as f64)
    }

    fn fill(&self) -> f64 {
        let sum: f64 = self.word_fills().map(|fills| fills.iter().sum::<f64>()).sum();
        sum / (self.layout.params.num_lines as f64 * WORDS as f64)
    }

    fn num_probes(&self) -> Option<u32> {
        Some(self.layout.params.num_probes())
    }
}

impl View<'_> {
    /// The share of a line's usable bits that are set, for each word of each line.
    fn word_fills(&self) -> impl Iterator<Item = [f64; WORDS]> {
        let usable = u64::MAX >> self.layout.params.salt_bits;
        let positions = f64::from(self.layout.params.word_positions());
        self.lines.chunks_exact(LINE_LEN).map(move |line| {
            core::array::from_fn(|w| f64::from((bytes::u64_at(line, w * 8) & usable).count_ones()) / positions)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{WORDS, in_window, window_products};

    #[test]
    fn products_of_windows_are_those_of_their_words() {
        // Primes: exact, and each product shows which words are in it.
        let values = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0];
        for len in 0..=WORDS as u32 {
            let products = window_products(&values, len);
            for (start, product) in products.into_iter().enumerate() {
                let words = (0..WORDS).filter(|&w| in_window(start as u32, len, w));
                assert_eq!(product, words.map(|w| values[w]).product::<f64>(), "{start} {len}");
            }
        }
    }
}
