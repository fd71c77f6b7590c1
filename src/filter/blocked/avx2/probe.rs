//! The shortest probe: one position in each word, compiled into the loop that calls it.

use super::super::inlined::OVER_READ;
use super::super::lanes::{self, MULTIPLIERS};
use super::super::{LINE_LEN, Params, SALT_MULTIPLIER, WORDS};
use super::multiply_low;
use crate::cpu::{Avx2, avx2};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// Salts that [`Constants`] has a step for: as many as a vector has.
const MAX_SALT_BITS: u32 = 3;

/// What a probe reads besides its line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Constants {
    multipliers: [u64; WORDS],
    /// What each salt adds to a multiplier.
    salt_steps: [u32; 1 << MAX_SALT_BITS],
    /// Positions of a word.
    positions: [u64; 4],
    /// The lowest bit of each word.
    lowest: [u64; 4],
}

/// What the assembly below takes for granted.
const _: () = {
    assert!(core::mem::offset_of!(Constants, multipliers) == 0);
    assert!(core::mem::offset_of!(Constants, salt_steps) == 64);
    assert!(core::mem::offset_of!(Constants, positions) == 96);
    assert!(core::mem::offset_of!(Constants, lowest) == 128);
};

/// For each number of salt bits.
static CONSTANTS: [Constants; MAX_SALT_BITS as usize + 1] = {
    const NONE: Constants =
        Constants { multipliers: MULTIPLIERS, salt_steps: [0; 1 << MAX_SALT_BITS], positions: [0; 4], lowest: [1; 4] };
    let (mut all, mut salt_bits) = ([NONE; MAX_SALT_BITS as usize + 1], 0);
    while salt_bits < all.len() {
        all[salt_bits].positions = [(u64::BITS as usize - salt_bits) as u64; 4];
        let mut salt = 0;
        while salt < 1 << salt_bits {
            all[salt_bits].salt_steps[salt] = SALT_MULTIPLIER.wrapping_mul(salt as u32);
            salt += 1;
        }
        salt_bits += 1;
    }
    all
};

impl Constants {
    /// For one probe to each word, and salts within the table.
    pub(super) fn of(params: Params) -> Option<&'static Self> {
        let table = CONSTANTS.get(params.salt_bits as usize);
        table.filter(|_| params.num_probes() as usize == WORDS)
    }
}

/// The probe for one set of parameters, without a call.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Probe {
    constants: &'static Constants,
    proof: Avx2,
}

impl Probe {
    /// For parameters that it knows.
    pub(in super::super) fn new(proof: Avx2, params: Params) -> Option<Self> {
        Constants::of(params).map(|constants| Self { constants, proof })
    }

    /// Whether all bits of `hash` are set in its line.
    #[inline(always)]
    pub(in super::super) fn all_hit(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        all_hit(self.proof, self.constants, line, hash.get())
    }
}

/// Whether each word of `line` has the bit that the lower half of `hash` picks in it.
///
/// The products of the hash with each salt's step and each word's multiplier do not wait for the line. A word's salt
/// picks one of the former by `vpermd`; with the latter it adds up to the product with the salted multiplier. Instead
/// of a bit being shifted to its position, the word is shifted until that position is its lowest, so both halves of a
/// line are tested at once.
///
/// In assembly, because a function with `target_feature` is not inlined into a caller without, and its call costs as
/// much as the probe. The upper halves of the registers are zeroed afterwards, as a caller without AVX expects.
#[inline(always)]
fn all_hit(_proof: Avx2, constants: &Constants, line: &[u8; LINE_LEN], hash: u64) -> bool {
    let all: u8;
    // SAFETY: `_proof` is of AVX2, which has all instructions below. The reads are the 64 bytes of `line`, in two
    // halves, and of `constants` what the assertions at its type place: 64 bytes at 0, 32 at each of 64, 96 and 128,
    // aligned as the type is. The options hold:
    // - `readonly`, `nostack`: no instruction writes memory or touches the stack;
    // - `pure`: the result depends on the operands and on what they point to;
    // - `lateout`: `all` may share a register with an input, as `setc` comes after the last use of these.
    // All vector registers are declared: `vzeroupper` changes those that the other instructions do not. The casts to
    // integers, for 64-bit registers whatever the size of a pointer, expose the provenance of both references, so the
    // assembly may read there.
    unsafe {
        core::arch::asm!(
            "vmovd xmm0, {hash:e}",
            "vpbroadcastd ymm0, xmm0",
            "vpmuludq ymm7, ymm0, [{constants}]",
            "vpmuludq ymm8, ymm0, [{constants} + 32]",
            "vpmulld ymm6, ymm0, [{constants} + 64]",
            "vmovdqu ymm1, [{line} + {over_read}]",
            "vmovdqu ymm2, [{line} + {over_read} + 32]",
            "vmovdqa ymm3, [{constants} + 96]",
            "vpsrlvq ymm4, ymm1, ymm3",
            "vpsrlvq ymm5, ymm2, ymm3",
            "vpermd ymm4, ymm4, ymm6",
            "vpermd ymm5, ymm5, ymm6",
            "vpaddd ymm4, ymm4, ymm7",
            "vpaddd ymm5, ymm5, ymm8",
            "vpmuludq ymm4, ymm4, ymm3",
            "vpmuludq ymm5, ymm5, ymm3",
            "vpsrlq ymm4, ymm4, 32",
            "vpsrlq ymm5, ymm5, 32",
            "vpsrlvq ymm1, ymm1, ymm4",
            "vpsrlvq ymm2, ymm2, ymm5",
            "vpand ymm1, ymm1, ymm2",
            "vptest ymm1, [{constants} + 128]",
            "setc {all}",
            "vzeroupper",
            hash = in(reg) hash,
            line = in(reg) line.as_ptr() as u64,
            constants = in(reg) core::ptr::from_ref(constants) as u64,
            over_read = const OVER_READ,
            all = lateout(reg_byte) all,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _,
            out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _,
            out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(readonly, nostack, pure)
        );
    }
    // SAFETY: `setc` wrote 0 or 1.
    unsafe { core::hint::assert_unchecked(all <= 1) };
    all != 0
}

/// The constants, in registers: made from an [`Avx2`] alone.
#[derive(Clone, Copy)]
struct Registers {
    multipliers: [__m256i; 2],
    salt_steps: __m256i,
    positions: __m256i,
    lowest: __m256i,
}

impl Registers {
    #[inline(always)]
    fn load(_proof: Avx2, constants: &Constants) -> Self {
        let Constants { multipliers, salt_steps, positions, lowest } = constants;
        let (low, high) = multipliers.split_at(WORDS / 2);
        // SAFETY: `_proof` is of AVX2. Each load is of 32 bytes: halves of 8 words of 8 bytes, 8 of 4 bytes, 4 of 8
        // bytes.
        unsafe {
            Self {
                multipliers: [_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())],
                salt_steps: _mm256_loadu_si256(salt_steps.as_ptr().cast()),
                positions: _mm256_loadu_si256(positions.as_ptr().cast()),
                lowest: _mm256_loadu_si256(lowest.as_ptr().cast()),
            }
        }
    }

    /// What the assembly computes.
    #[inline(always)]
    fn all_hit(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        // SAFETY: `self` was made from a proof of AVX2. `at` is 0 or 32: a half of the 64 bytes of `line`.
        let half = |at, multipliers, hash| unsafe {
            let words = _mm256_loadu_si256(line.as_ptr().add(at).cast());
            let salts = _mm256_srlv_epi64(words, self.positions);
            let multipliers = _mm256_add_epi32(_mm256_permutevar8x32_epi32(self.salt_steps, salts), multipliers);
            let product = multiply_low(multiply_low(multipliers, hash), self.positions);
            shift_right(words, _mm256_srli_epi64::<32>(product))
        };
        // SAFETY: `self` was made from a proof of AVX2.
        unsafe {
            let hash = _mm256_set1_epi32(hash.get() as i32);
            let hits = _mm256_and_si256(half(0, self.multipliers[0], hash), half(32, self.multipliers[1], hash));
            _mm256_testc_si256(hits, self.lowest) == 1
        }
    }
}

/// Each word shifted right by its count, at most 63: what `_mm256_srlv_epi64` is for. The compiler does not see that no
/// count is above, and adds three operations for those.
///
/// # Safety
/// The processor has AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn shift_right(words: __m256i, counts: __m256i) -> __m256i {
    let shifted;
    // SAFETY: AVX2, a feature of this function, has the instruction. It reads and writes its registers alone: no
    // memory, no stack, no flags; and it is the only one, so the result may share a register with an operand.
    unsafe {
        core::arch::asm!("vpsrlvq {shifted}, {words}, {counts}", shifted = lateout(ymm_reg) shifted,
            words = in(ymm_reg) words, counts = in(ymm_reg) counts, options(pure, nomem, nostack, preserves_flags));
    }
    shifted
}

avx2! {
    /// An answer for each hash.
    pub(super) fn probe_all(
        proof, constants: &Constants, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool],
    ) {
        let registers = Registers::load(proof, constants);
        lanes::probe_all(lines, hashes, answers, |line, hash| registers.all_hit(line, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::{Avx2, Constants, LINE_LEN, Params, all_hit, avx2};
    use crate::hash::mix;
    use core::arch::x86_64::*;

    /// A caller that has AVX2 may keep values in the registers that the assembly uses and clears.
    #[test]
    fn a_callers_registers_are_left_alone() {
        let Some(proof) = Avx2::detect() else { return };
        let constants = Constants::of(Params::new(1, 8, 3).expect("legal")).expect("in the table");
        let (sum, hits) = sums_beside_probes(proof, constants, &[u8::MAX; LINE_LEN], 1_000);
        assert_eq!((sum, hits), (4 * 1_000 * (12 * 13 / 2), 1_000));
    }

    avx2! {
        fn sums_beside_probes(proof, constants: &Constants, line: &[u8; LINE_LEN], num_probes: u64) -> (i64, u64) {
            // Steps of which the compiler knows nothing, so that it keeps each sum.
            let mut steps = [_mm256_setzero_si256(); 12];
            for (i, step) in (1..).zip(&mut steps) {
                *step = _mm256_set1_epi64x(core::hint::black_box(i));
            }
            let (mut sums, mut hits) = ([_mm256_setzero_si256(); 12], 0);
            for i in 0..num_probes {
                let hit = all_hit(proof, constants, line, mix(i));
                hits += u64::from(hit);
                let taken = _mm256_set1_epi64x(-i64::from(hit));
                for (sum, step) in sums.iter_mut().zip(steps) {
                    *sum = _mm256_add_epi64(*sum, _mm256_and_si256(step, taken));
                }
            }
            let mut total = 0;
            for sum in sums {
                total += _mm256_extract_epi64::<0>(sum) + _mm256_extract_epi64::<1>(sum);
                total += _mm256_extract_epi64::<2>(sum) + _mm256_extract_epi64::<3>(sum);
            }
            (total, hits)
        }
    }
}
