//! The probe. With at most one position in each word it is compiled into the loop that calls it: intrinsics are inlined
//! there too, as NEON is among the features that every target with this engine is compiled for.

use super::super::inlined::OVER_READ;
use super::super::lanes::{self, by_shape};
use super::super::{
    LINE_LEN, MAX_SALT_BITS, Params, Round, SALT_MULTIPLIER, WORD_MULTIPLIERS, WORDS, line_at, window_start,
};
use crate::cpu::Neon;
use crate::hash::KeyHash;
use core::arch::aarch64::*;

/// Not among [`Constants`]: only of constants does the compiler know which of two products waits for the line.
const MULTIPLIERS: &[u32; WORDS] = &WORD_MULTIPLIERS;

/// For each length of a window, ones where a word is in it; the bytes from [`WORDS`] − start on are those of a window
/// that starts at word `start`.
static WINDOWS: [[u8; 2 * WORDS]; WORDS + 1] = {
    let mut windows = [[0; 2 * WORDS]; WORDS + 1];
    let mut len = 0;
    while len <= WORDS {
        let mut i = 0;
        while i < 2 * WORDS {
            windows[len][i] = (i % WORDS < len) as u8;
            i += 1;
        }
        len += 1;
    }
    windows
};

/// What depends on the number of salt bits: vectors, which a query loads in one step.
#[derive(Debug)]
#[repr(align(32))]
struct Constants {
    /// From the upper half of a word to its salt: to the right, as it is negative. A shift by 32 leaves zero.
    salt_shift: [i32; 4],
    /// Positions of a word.
    positions: [u32; 4],
}

/// For each number of salt bits.
static CONSTANTS: [Constants; MAX_SALT_BITS as usize + 1] = {
    const NONE: Constants = Constants { salt_shift: [-(u32::BITS as i32); 4], positions: [u64::BITS; 4] };
    let (mut all, mut salt_bits) = ([NONE; MAX_SALT_BITS as usize + 1], 1);
    while salt_bits < all.len() {
        all[salt_bits].salt_shift = [salt_bits as i32 - u32::BITS as i32; 4];
        all[salt_bits].positions = [u64::BITS - salt_bits as u32; 4];
        salt_bits += 1;
    }
    all
};

/// A one for each word that a window of `row` of [`WINDOWS`] holds, if it begins at word `start`, of eight.
#[inline(always)]
fn ones(row: &[u8; 2 * WORDS], start: u32) -> &[u8; WORDS] {
    row[WORDS - start as usize..].first_chunk().expect("windows begin in the first of two times all words")
}

/// The probe for one set of parameters, without a call.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Probe {
    constants: &'static Constants,
    /// Of [`WINDOWS`], also where all words are probed: that takes four instructions, of which none waits for the line,
    /// where two kinds of probe would have to be told apart.
    window: &'static [u8; 2 * WORDS],
    proof: Neon,
}

impl Probe {
    /// For one probe at most to each word.
    pub(in super::super) fn new(proof: Neon, params: Params) -> Option<Self> {
        let window = WINDOWS.get(params.num_probes() as usize)?;
        Some(Self { constants: &CONSTANTS[usize::from(params.salt_bits)], window, proof })
    }

    /// Whether all bits of `hash` are set in its line.
    #[inline(always)]
    pub(in super::super) fn all_hit(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        Line::load(self.proof, self.constants, line).missing(hash.get() as u32, ones(self.window, window_start(hash)))
            == 0
    }
}

/// A line, made from a proof of NEON alone.
#[derive(Clone, Copy)]
struct Line<'a> {
    bytes: uint8x16x4_t,
    salts: [uint32x4_t; 2],
    constants: &'a Constants,
}

impl<'a> Line<'a> {
    #[inline(always)]
    fn load(_proof: Neon, constants: &'a Constants, line: &[u8; LINE_LEN]) -> Self {
        let line = line.as_ptr().wrapping_add(OVER_READ);
        // SAFETY: `_proof` is of NEON; four vectors of 16 bytes are a line, and one is `salt_shift`.
        unsafe {
            let vectors = [0, 16, 32, 48].map(|at| vld1q_u8(line.add(at)));
            let salts = |front, back| {
                let upper_halves = vuzp2q_u32(vreinterpretq_u32_u8(front), vreinterpretq_u32_u8(back));
                vshlq_u32(upper_halves, vld1q_s32(constants.salt_shift.as_ptr()))
            };
            let [a, b, c, d] = vectors;
            Self { bytes: uint8x16x4_t(a, b, c, d), salts: [salts(a, b), salts(c, d)], constants }
        }
    }

    /// A byte for each word: the bit that `value` picks in it, if it is not set. `ones` has a 1 for each word probed.
    ///
    /// As products are taken modulo 2^32, that by a salted multiplier is a sum, `value · multiplier + salt · (value ·
    /// step)`: only the salt waits for the line. Instead of whole words the eight bytes that hold the positions are
    /// tested, from a table of four vectors, which is as long as a line.
    #[inline(always)]
    fn missing(self, value: u32, ones: &[u8; WORDS]) -> u64 {
        let of_salt = value.wrapping_mul(SALT_MULTIPLIER);
        // SAFETY: `self` was made from a proof of NEON. The loads are of four of eight multipliers, twice, of the four
        // numbers in `positions` and of the eight bytes of `ones`.
        unsafe {
            let positions = vld1q_u32(self.constants.positions.as_ptr());
            // The fast ranges of four words, the upper halves of their products: positions are in even bytes, and those
            // of two vectors fit one.
            let ranges = |first_word, salts| {
                let multipliers = vld1q_u32(MULTIPLIERS.as_ptr().add(first_word));
                let products = vmlaq_n_u32(vmulq_n_u32(multipliers, value), salts, of_salt);
                let front = vmull_u32(vget_low_u32(products), vget_low_u32(positions));
                let back = vmull_high_u32(products, positions);
                vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_u64(front), vreinterpretq_u16_u64(back)))
            };
            let ranges = uint8x16x2_t(ranges(0, self.salts[0]), ranges(WORDS / 2, self.salts[1]));
            let positions = vqtbl2_u8(ranges, vcreate_u8(0x1e1a_1612_0e0a_0602));
            let indices = vorr_u8(vshr_n_u8::<3>(positions), vcreate_u8(0x3830_2820_1810_0800));
            let shifts = vreinterpret_s8_u8(vand_u8(positions, vdup_n_u8(7)));
            let missing = vbic_u8(vshl_u8(vld1_u8(ones.as_ptr()), shifts), vqtbl4_u8(self.bytes, indices));
            vget_lane_u64::<0>(vreinterpret_u64_u8(missing))
        }
    }

    #[inline(always)]
    fn missing_of<const WINDOW: bool>(self, round: Round) -> u64 {
        match WINDOW {
            true => self.missing(round.value, ones(&WINDOWS[round.window_len as usize], round.window_start)),
            false => self.missing(round.value, &[1; WORDS]),
        }
    }
}

#[inline(always)]
fn line_may_contain<const WINDOW: bool, const TWO: bool>(
    proof: Neon,
    constants: &Constants,
    params: Params,
    line: &[u8; LINE_LEN],
    hash: KeyHash,
) -> bool {
    let ((first, second), line) = (params.rounds(hash), Line::load(proof, constants, line));
    let missing = line.missing_of::<WINDOW>(first);
    match second {
        Some(second) if TWO => missing | line.missing_of::<true>(second) == 0,
        _ => missing == 0,
    }
}

/// As the portable `may_contain`.
#[inline(always)]
pub(super) fn may_contain(proof: Neon, params: Params, lines: &[u8], hash: KeyHash) -> bool {
    let (constants, line) = (&CONSTANTS[usize::from(params.salt_bits)], line_at(lines, params.start_of(hash)));
    by_shape!(params, line_may_contain(proof, constants, params, line, hash))
}

#[inline(always)]
fn each_may_contain<const WINDOW: bool, const TWO: bool>(
    proof: Neon,
    constants: &Constants,
    params: Params,
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    let probe = |line: &_, hash| line_may_contain::<WINDOW, TWO>(proof, constants, params, line, hash);
    lanes::probe_all(lines, hashes, answers, probe);
}

/// An answer for each hash.
#[inline(always)]
pub(super) fn all_may_contain(proof: Neon, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    let constants = &CONSTANTS[usize::from(params.salt_bits)];
    by_shape!(params, each_may_contain(proof, constants, params, lines, hashes, answers))
}
