//! The query: a line is two vectors.

use super::super::constants::Constants;
use super::super::lanes::window;
use super::super::{LINE_LEN, Params, Round, WORDS, query};
use crate::cpu::Avx2;
use crate::hash::KeyHash;

/// The probe for a number of salt bits.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Probe {
    constants: &'static Constants,
    proof: Avx2,
}

impl Probe {
    pub(in super::super) fn new(proof: Avx2, params: Params) -> Self {
        Self { constants: Constants::of(params), proof }
    }

    /// Returns whether all bits of the only round of `hash`, one in each word, are set in its line. Callers may be
    /// compiled without AVX: they expect the upper halves of vector registers to be zero.
    #[inline(always)]
    pub(in super::super) fn all_hit_inlined(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        let mut all = u8::from(self.all_words_hit(line, hash.get() as u32));
        // SAFETY: `proof` is of AVX2, so there is AVX. The instruction changes vector registers, all declared, and
        // neither memory, stack nor flags. It names `all` so as to come after it.
        unsafe {
            core::arch::asm!(
                "vzeroupper /* {all} */",
                all = inlateout(reg_byte) all,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        // SAFETY: it was made from a `bool`.
        unsafe { core::hint::assert_unchecked(all <= 1) };
        all != 0
    }
}

/// The assembly of a round. It shifts the words of ymm1 and ymm2, whose salts are in ymm4 and ymm5, into ymm8 and ymm9,
/// until the positions that `$value` picks are lowest.
///
/// The products of the value with the salts' multiplier and with each word's do not wait for the line. The former times
/// a word's salt is added to the latter: the lower half is the product with the salted multiplier. Instead of a bit
/// being shifted to its position the word is shifted, so both halves of a line are tested at once.
macro_rules! round {
    ($value:literal) => {
        concat!(
            "vmovd xmm0, ",
            $value,
            "
            vpbroadcastd ymm0, xmm0
            vpmuludq ymm8, ymm0, [{constants}]
            vpmuludq ymm9, ymm0, [{constants} + 32]
            vpmuludq ymm0, ymm0, [{constants} + 64]
            vpmuludq ymm6, ymm4, ymm0
            vpmuludq ymm7, ymm5, ymm0
            vpaddd ymm8, ymm8, ymm6
            vpaddd ymm9, ymm9, ymm7
            vpmuludq ymm8, ymm8, ymm3
            vpmuludq ymm9, ymm9, ymm3
            vpsrlq ymm8, ymm8, 32
            vpsrlq ymm9, ymm9, 32
            vpsrlvq ymm8, ymm1, ymm8
            vpsrlvq ymm9, ymm2, ymm9"
        )
    };
}

/// `all_hit!(probe, line, [rounds], operands)` returns whether all words are odd in ymm8 and ymm9, where `rounds` leave
/// them.
///
/// It is assembly because a function with `target_feature` is not inlined into a caller without, and its call costs as
/// much as the probe.
macro_rules! all_hit {
    ($probe:ident, $line:ident, [$($round:expr),+], $($operands:tt)+) => {{
        let Probe { constants, proof: _proof } = $probe;
        let line: &[u8; LINE_LEN] = $line;
        let all: u8;
        // SAFETY: `_proof` is of AVX2, which has all instructions below. The reads are the 64 bytes of `line`, and of
        // each window, in two halves, and of `constants` what the assertions at its type allow: 64 bytes at 0, 32 at
        // each of 64, 96 and 128, aligned as the type is. The options hold:
        // - `readonly`, `nostack`: no instruction writes memory or touches the stack;
        // - `pure`: the result depends on the operands and on what they point to;
        // - `lateout`: `all` may share a register with an input, as `setc` comes after the last use of these. All
        //   vector registers that are written are declared. The casts to integers, for 64-bit registers on targets with
        //   any size of pointers, expose the provenance of the references, so the assembly may read there.
        unsafe {
            core::arch::asm!(
                "vmovdqu ymm1, [{line}]",
                "vmovdqu ymm2, [{line} + 32]",
                "vmovdqa ymm3, [{constants} + 96]",
                "vpsrlvq ymm4, ymm1, ymm3",
                "vpsrlvq ymm5, ymm2, ymm3",
                $($round,)+
                "vpand ymm8, ymm8, ymm9",
                "vptest ymm8, [{constants} + 128]",
                "setc {all}",
                line = in(reg) line.as_ptr() as u64,
                constants = in(reg) core::ptr::from_ref(constants) as u64,
                $($operands)+
                all = lateout(reg_byte) all,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
                out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _,
                options(readonly, nostack, pure)
            );
        }
        // SAFETY: `setc` wrote 0 or 1.
        unsafe { core::hint::assert_unchecked(all <= 1) };
        all != 0
    }};
}

impl Probe {
    /// Returns whether each word of `line` has the bit that `value` picks in it.
    #[inline(always)]
    fn all_words_hit(self, line: &[u8; LINE_LEN], value: u32) -> bool {
        all_hit!(self, line, [round!("{value:e}")], value = in(reg) value,)
    }
}

impl query::Probe for Probe {
    #[inline(always)]
    fn all_hit<const WINDOW: bool, const TWO: bool>(
        self,
        line: &[u8; LINE_LEN],
        (first, second): (Round, Option<Round>),
    ) -> bool {
        match second {
            Some(second) if TWO => all_hit!(
                self, line,
                [
                    round!("{second:e}"),
                    "vpor ymm8, ymm8, [{not_probed}]",
                    "vpor ymm9, ymm9, [{not_probed} + 32]",
                    "vpand ymm10, ymm8, ymm9",
                    round!("{first:e}"),
                    "vpand ymm9, ymm9, ymm10"
                ],
                first = in(reg) first.value,
                second = in(reg) second.value,
                not_probed = in(reg) not_probed(second).as_ptr() as u64,
            ),
            _ if WINDOW => all_hit!(
                self, line,
                [
                    round!("{value:e}"),
                    "vpor ymm8, ymm8, [{not_probed}]",
                    "vpor ymm9, ymm9, [{not_probed} + 32]"
                ],
                value = in(reg) first.value,
                not_probed = in(reg) not_probed(first).as_ptr() as u64,
            ),
            _ => self.all_words_hit(line, first.value as u32),
        }
    }
}

/// Returns ones in the words that the window of `round` leaves out, which are a window too.
#[inline(always)]
fn not_probed(round: Round) -> &'static [u64; WORDS] {
    let Round { window_start, window_len, .. } = round;
    let num_words = WORDS as u32;
    window(Round { window_start: (window_start + window_len) % num_words, window_len: num_words - window_len, ..round })
}

#[cfg(test)]
mod tests {
    use super::{Avx2, LINE_LEN, Params, Probe};
    use crate::cpu::avx2;
    use crate::hash::{KeyHash, mix};
    use core::arch::x86_64::*;

    /// A caller that has AVX2 may keep values in the registers that the assembly uses and clears.
    #[test]
    fn a_callers_registers_are_left_alone() {
        let Some(proof) = Avx2::detect() else { return };
        let probe = Probe::new(proof, Params::new(1, 8, 3).expect("legal"));
        let (sum, hits) = sums_beside_probes(proof, probe, &[u8::MAX; LINE_LEN], 1_000);
        assert_eq!((sum, hits), (4 * 1_000 * (12 * 13 / 2), 1_000));
    }

    avx2! {
        fn sums_beside_probes(_proof, probe: Probe, line: &[u8; LINE_LEN], num_probes: u64) -> (i64, u64) {
            // The compiler knows nothing about these steps, so that it keeps each sum.
            let mut steps = [_mm256_setzero_si256(); 12];
            for (i, step) in (1..).zip(&mut steps) {
                *step = _mm256_set1_epi64x(core::hint::black_box(i));
            }
            let (mut sums, mut hits) = ([_mm256_setzero_si256(); 12], 0);
            for i in 0..num_probes {
                let hit = probe.all_hit_inlined(line, KeyHash::from_raw(mix(i)));
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
