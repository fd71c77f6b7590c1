//! Blocked Bloom filter with word-wise choice: one 64-byte line per query, fewer false positives than the
//! classic filter of the same size.
//!
//! A line is eight 64-bit words. An entry's hash picks the line, and in it one bit of every word (or of a
//! window of words; see [`Params::rounds`]). All keys are known when a table is written, so the builder tries 2^t
//! *salts* for each word and keeps the one that sets the fewest bits, storing it in the word's upper t bits.
//! The word's other R = 64 − t bits are its positions. A salt changes the multiplier of the hash, so it
//! rearranges positions instead of shifting them together.
//!
//! Why words and not the whole line (Putze, Sanders and Singler choose nothing; one salt for a line averages the
//! luck of eight words away): eight independent choices each gain the full deviation of a word. At 10 bits
//! per key, 8 probes: no choice 1.05 %, 4 salts 0.71 %, 16 salts 0.546 %, 64 salts 0.452 %; the classic filter's
//! best is 0.819 %. One bit to a word also makes the probe a lane-wise shift in SIMD.

#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod avx2;
#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
#[cfg(feature = "std")]
mod build;
mod engine;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod guard_pages;
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
pub mod sizing;

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

/// Bytes of a line.
const LINE_LEN: usize = 64;
/// Words of a line.
const WORDS: usize = 8;
// Two probes to each word.
const _: () = assert!(MAX_NUM_PROBES == 2 * WORDS as u32);
/// Bits of the hash that pick the line must leave 32 for the positions within it.
const MAX_LINES: u64 = 1 << 32;

/// A multiplier for each word.
const WORD_MULTIPLIERS: [u32; WORDS] =
    [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1, 0xd3a2_646d, 0xfd70_46c5, 0xb55a_4f09];
/// Added to the word's multiplier once for each unit of its salt; even, so that every multiplier is odd.
const SALT_MULTIPLIER: u32 = 0xd1b5_4a32;
/// Picks the first word of the window.
const WINDOW_MULTIPLIER: u32 = 0x8cb9_2ba7;
/// Mixes all 64 bits of the hash into the second round's 32.
const SECOND_MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// Dimensions: stored as `num_probes: u8` at 0, `salt_bits: u8` at 1, zeros at 2..12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    num_probes: u8,
    salt_bits: u8,
    num_lines: u64,
}

/// In a compact frame: `num_probes` − 1 in the upper four bits of a byte, `salt_bits` in the lower four.
impl KindParams for Params {
    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(2..PARAMS_LEN)?;
        Self::with_payload_len(stored.payload_len, u32::from(stored.bytes[0]), u32::from(stored.bytes[1]))
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let byte = trailer.pop()?;
        Self::with_payload_len(trailer.payload_len(), u32::from(byte >> 4) + 1, u32::from(byte & 0xf))
    }

    #[cfg(feature = "std")]
    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1]) = (self.num_probes, self.salt_bits);
        out
    }

    #[cfg(feature = "std")]
    fn encode_trailer(&self, out: &mut std::vec::Vec<u8>) {
        out.push((self.num_probes - 1) << 4 | self.salt_bits);
    }
}

impl Params {
    /// Refuses what is outside 1 to [`MAX_NUM_PROBES`] probes, 0 to [`MAX_SALT_BITS`] salt bits, 1 to [`MAX_LINES`]
    /// lines.
    fn new(num_lines: u64, num_probes: u32, salt_bits: u32) -> Result<Self, DecodeError> {
        for (name, value, min, max) in [
            ("num_probes", u64::from(num_probes), 1, u64::from(MAX_NUM_PROBES)),
            ("salt_bits", u64::from(salt_bits), 0, u64::from(MAX_SALT_BITS)),
            ("num_lines", num_lines, 1, MAX_LINES),
        ] {
            if !(min..=max).contains(&value) {
                return Err(DecodeError::Parameter { name, value, min, max });
            }
        }
        Ok(Self { num_probes: num_probes as u8, salt_bits: salt_bits as u8, num_lines })
    }

    /// The number of lines is not stored: `payload_len` must be whole lines.
    fn with_payload_len(payload_len: u64, num_probes: u32, salt_bits: u32) -> Result<Self, DecodeError> {
        let num_lines = payload_len / LINE_LEN as u64;
        if payload_len % LINE_LEN as u64 != 0 {
            let declared_bytes = num_lines * LINE_LEN as u64;
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes: payload_len });
        }
        Self::new(num_lines, num_probes, salt_bits)
    }

    const fn num_probes(&self) -> u32 {
        self.num_probes as u32
    }

    const fn payload_len(&self) -> u64 {
        self.num_lines * LINE_LEN as u64
    }

    /// Positions a word has.
    const fn word_positions(self) -> u32 {
        u64::BITS - self.salt_bits as u32
    }

    /// The salt of `word`: its upper bits. (Two shifts, as one by 64 is none.)
    #[inline]
    const fn salt_of(self, word: u64) -> u32 {
        (word >> (self.word_positions() - 1) >> 1) as u32
    }

    /// A word with `salt` in its upper bits and nothing else.
    #[cfg(feature = "std")]
    const fn place_salt(self, salt: u64) -> u64 {
        salt << (self.word_positions() - 1) << 1
    }

    #[inline]
    fn line_of(self, hash: KeyHash) -> u64 {
        fast_range(hash.get(), self.num_lines)
    }

    /// The first byte of the line of `hash`.
    #[inline]
    fn start_of(self, hash: KeyHash) -> usize {
        self.line_of(hash) as usize * LINE_LEN
    }

    /// The probes of `hash` within its line: one round, or two from nine probes on.
    #[inline]
    fn rounds(self, hash: KeyHash) -> (Round, Option<Round>) {
        let window_start = window_start(hash);
        let first =
            Round { value: hash.get() as u32, window_start, window_len: u32::from(self.num_probes).min(WORDS as u32) };
        let second = (u32::from(self.num_probes) > WORDS as u32).then(|| Round {
            value: (hash.get().wrapping_mul(SECOND_MULTIPLIER) >> 32) as u32,
            window_start,
            window_len: u32::from(self.num_probes) - WORDS as u32,
        });
        (first, second)
    }

    /// The bits of `hash` in word `index` of its line under `salt`.
    #[inline]
    fn word_mask(self, rounds: &(Round, Option<Round>), index: usize, salt: u32) -> u64 {
        let first = rounds.0.word_mask(index, salt, self.word_positions());
        match &rounds.1 {
            None => first,
            Some(second) => first | second.word_mask(index, salt, self.word_positions()),
        }
    }
}

/// The product of `len` consecutive words' values, at most as many as there are, cyclically from each word on.
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

/// One probe to each word of a window.
#[derive(Clone, Copy)]
struct Round {
    value: u32,
    window_start: u32,
    window_len: u32,
}

/// The first word of the windows of `hash`.
#[inline(always)]
const fn window_start(hash: KeyHash) -> u32 {
    (hash.get() as u32).wrapping_mul(WINDOW_MULTIPLIER) >> 29
}

/// Whether the cyclic window of `len` words from `start` on holds word `index`.
#[inline]
const fn in_window(start: u32, len: u32, index: usize) -> bool {
    (index as u32).wrapping_sub(start) % (WORDS as u32) < len
}

impl Round {
    /// The bit probed in word `index`, or none if the window leaves it out. Multiply-shift with a multiplier that
    /// depends on the word and its salt, then a fast range over the word's positions.
    #[inline]
    fn word_mask(&self, index: usize, salt: u32, positions: u32) -> u64 {
        let multiplier = WORD_MULTIPLIERS[index].wrapping_add(salt.wrapping_mul(SALT_MULTIPLIER));
        let product = self.value.wrapping_mul(multiplier);
        let position = (u64::from(product) * u64::from(positions)) >> 32;
        u64::from(in_window(self.window_start, self.window_len, index)) << position
    }
}

/// The line that begins at `start`. In bounds for views, where `start` comes from [`Params::line_of`]: its index is
/// below num_lines, and num_lines was compared with the length.
#[inline(always)]
fn line_at(lines: &[u8], start: usize) -> &[u8; LINE_LEN] {
    lines[start..].first_chunk().expect("a line")
}

#[cfg(feature = "std")]
#[inline(always)]
fn line_at_mut(lines: &mut [u8], start: usize) -> &mut [u8; LINE_LEN] {
    lines[start..].first_chunk_mut().expect("a line")
}

/// What is known of a filter without its lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    engine: Engine,
}

impl Layout {
    /// The probe without a call, where engine and parameters allow it.
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
        let (declared_bytes, actual_bytes) = (params.payload_len(), payload.len() as u64);
        if declared_bytes != actual_bytes {
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
        }
        Ok(Layout { params, engine: Engine::best(&params) })
    }

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 == layout.params.payload_len(), "the bytes of a filter changed their length");
        Self { layout, lines: payload }
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

    /// The mean over lines and windows of the product of the probed words' fills: an absent key's line and window
    /// are uniform, and so is its position in each probed word. (Two keys that share the
    /// line and all 32 bits of the first round add entries-per-line / 2³² up to 8 probes, 2⁻⁶⁴ beyond: not counted.)
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
        // Primes: exact, and each product tells which words are in it.
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
