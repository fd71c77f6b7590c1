//! The probe. If each word has at most one position, it is compiled into the loop that calls it: intrinsics are inlined
//! there too, as every target with this engine is compiled for NEON.

use super::super::{
    LINE_LEN, MAX_SALT_BITS, Params, Round, SALT_MULTIPLIER, WORD_MULTIPLIERS, WORDS, query, window_start,
};
use crate::cpu::Neon;
use crate::hash::KeyHash;
use core::arch::aarch64::*;

/// The multiplier is not among [`Constants`]: only with a constant does the compiler know which of two products waits
/// for the line.
const MULTIPLIERS: &[u32; WORDS] = &WORD_MULTIPLIERS;

/// The windows of each length: ones where a word is in the window. The bytes from [`WORDS`] − start on are the window
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

/// The vectors that depend on the number of salt bits, which a query loads in one step.
#[derive(Debug)]
#[repr(align(32))]
struct Constants {
    /// The shift from the upper half of a word to its salt. It is negative, so to the right, and a shift by 32 leaves
    /// zero.
    salt_shift: [i32; 4],
    /// The number of positions of a word.
    positions: [u32; 4],
}

/// The constants for each number of salt bits.
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

/// Returns a one for each of the eight words that are in the window of `row` of [`WINDOWS`] that begins at word
/// `start`.
#[inline(always)]
fn ones(row: &[u8; 2 * WORDS], start: u32) -> &[u8; WORDS] {
    row[WORDS - start as usize..].first_chunk().expect("windows begin in the first of two times all words")
}

/// The probe for a number of salt bits, and of words that the first round probes.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Probe {
    constants: &'static Constants,
    /// The row of [`WINDOWS`] of the first round.
    window: &'static [u8; 2 * WORDS],
    proof: Neon,
}

impl Probe {
    #[inline(always)]
    pub(in super::super) fn new(proof: Neon, params: Params) -> Self {
        let window = &WINDOWS[WORDS.min(params.num_probes() as usize)];
        Self { constants: &CONSTANTS[usize::from(params.salt_bits)], window, proof }
    }

    /// Returns whether all bits of the only round of `hash` are set in its line. The window is applied also where all
    /// words are probed: that takes four instructions, none of which waits for the line, and makes a second kind of
    /// probe unnecessary.
    #[inline(always)]
    pub(in super::super) fn all_hit_inlined(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        Line::load(self.proof, self.constants, line).missing(hash.get() as u32, ones(self.window, window_start(hash)))
            == 0
    }
}

impl query::Probe for Probe {
    #[inline(always)]
    fn all_hit<const WINDOW: bool, const TWO: bool>(
        self,
        line: &[u8; LINE_LEN],
        (first, second): (Round, Option<Round>),
    ) -> bool {
        let line = Line::load(self.proof, self.constants, line);
        let of_first = if WINDOW { ones(self.window, first.window_start) } else { &[1; WORDS] };
        let missing = line.missing(first.value as u32, of_first);
        match second {
            Some(second) if TWO => {
                let of_second = ones(&WINDOWS[second.window_len as usize], second.window_start);
                missing | line.missing(second.value as u32, of_second) == 0
            }
            _ => missing == 0,
        }
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
        let line = line.as_ptr();
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

    /// Returns a byte for each word: the bit that `value` selects in it, if it is not set. `ones` has a 1 for each word
    /// probed.
    ///
    /// Products are taken modulo 2^32, so the product with a salted multiplier is a sum, `value · multiplier + salt ·
    /// (value · step)`: only the salt waits for the line. Instead of whole words the eight bytes that contain the
    /// positions are tested, from a table of four vectors, which is as long as a line.
    #[inline(always)]
    fn missing(self, value: u32, ones: &[u8; WORDS]) -> u64 {
        let of_salt = value.wrapping_mul(SALT_MULTIPLIER);
        // SAFETY: `self` was made from a proof of NEON. The loads are of four of eight multipliers, twice, of the four
        // numbers in `positions` and of the eight bytes of `ones`.
        unsafe {
            let positions = vld1q_u32(self.constants.positions.as_ptr());
            // The fast ranges of four words are the upper halves of their products: positions are in even bytes, and
            // the positions of two vectors fit one.
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
}
