//! The query: a line is one vector.

use super::super::constants::Constants;
use super::super::{LINE_LEN, Params, Round, query};
use crate::cpu::Avx512Bitalg;
use crate::hash::KeyHash;

/// The probe for a number of salt bits.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Probe {
    constants: &'static Constants,
    proof: Avx512Bitalg,
}

impl Probe {
    pub(in super::super) fn new(proof: Avx512Bitalg, params: Params) -> Self {
        Self { constants: Constants::of(params), proof }
    }

    /// Returns whether all bits of the only round of `hash`, one in each word, are set in its line.
    #[inline(always)]
    pub(in super::super) fn all_hit_inlined(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        missing(self.proof, self.constants, line, hash.get() as u32) & ALL == 0
    }
}

impl query::Probe for Probe {
    #[inline(always)]
    fn all_hit<const WINDOW: bool, const TWO: bool>(
        self,
        line: &[u8; LINE_LEN],
        (first, second): (Round, Option<Round>),
    ) -> bool {
        let Self { constants, proof } = self;
        let missing = missing(proof, constants, line, first.value as u32) & if WINDOW { window(first) } else { ALL };
        match second {
            Some(second) if TWO => {
                missing | self::missing(proof, constants, line, second.value as u32) & window(second) == 0
            }
            _ => missing == 0,
        }
    }
}

/// The lowest bit of each word's byte 4, in a mask of a bit for each byte: where the upper half of a product begins.
const ALL: u64 = 0x1010_1010_1010_1010;

/// Returns those bits of [`ALL`] whose words are in the window of `round`.
#[inline(always)]
fn window(round: Round) -> u64 {
    (ALL >> (u64::BITS - 8 * round.window_len)).rotate_left(8 * round.window_start)
}

/// Returns those bits of [`ALL`] whose words in `line` lack the bit that `value` picks in them. The other bits of the
/// result mean nothing.
///
/// Registers from 16 on leave the upper halves of the others clean, so nothing has to be zeroed afterwards. They are
/// declared all the same: a caller may have them.
///
/// The products of `value` with the salts' multiplier and with each word's do not wait for the line. The former times a
/// word's salt is added to the latter: the lower half is the product with the salted multiplier.
///
/// A position is the upper half of a product, where `vpshufbitqmb`, which looks up a bit for each byte, reads it. With
/// multiplications and shifts instead, one port had half as much again to do.
///
/// It is assembly because a function with `target_feature` is not inlined into a caller without, and its call costs as
/// much as the probe.
#[inline(always)]
fn missing(_proof: Avx512Bitalg, constants: &Constants, line: &[u8; LINE_LEN], value: u32) -> u64 {
    let hits: u64;
    // SAFETY: `_proof` is of AVX-512F, BW, IFMA and BITALG, which have all instructions below. The reads are the 64
    // bytes of `line`, and of `constants` what the assertions at its type allow: 64 bytes at 0, 8 at 64, 8 at 96. The
    // options hold:
    // - `readonly`, `nostack`: no instruction writes memory or touches the stack;
    // - `pure`: the result depends on the operands and on what they point to;
    // - `preserves_flags`: neither vector instructions nor `kmovq` write flags;
    // - `lateout`: `hits` may share a register with an input, as only the last instruction writes it.
    // The casts to integers, for 64-bit registers on targets with any size of pointers, expose the provenance of both
    // references, so the assembly may read there.
    unsafe {
        core::arch::asm!(
            "vpbroadcastd zmm16, {value:e}",
            "vpmuludq zmm17, zmm16, zmmword ptr [{constants}]",
            "vpmuludq zmm20, zmm16, qword ptr [{constants} + 64]{{1to8}}",
            "vmovdqu64 zmm18, [{line}]",
            "vpbroadcastq zmm16, qword ptr [{constants} + 96]",
            "vpsrlvq zmm19, zmm18, zmm16",
            "vpmadd52luq zmm17, zmm19, zmm20",
            "vpmuludq zmm17, zmm17, zmm16",
            "vpshufbitqmb k1, zmm18, zmm17",
            "kmovq {hits}, k1",
            value = in(reg) value,
            line = in(reg) line.as_ptr() as u64,
            constants = in(reg) core::ptr::from_ref(constants) as u64,
            hits = lateout(reg) hits,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _, out("k1") _,
            options(readonly, nostack, pure, preserves_flags)
        );
    }
    !hits
}

#[cfg(test)]
mod tests {
    use super::{ALL, Avx512Bitalg, Constants, LINE_LEN, Params, missing};
    use crate::cpu::avx512_bitalg;
    use crate::hash::mix;
    use core::arch::x86_64::*;

    /// A caller that has AVX-512 may keep values in the registers that the assembly uses.
    #[test]
    fn a_callers_registers_are_left_alone() {
        let Some(proof) = Avx512Bitalg::detect() else { return };
        let constants = Constants::of(Params::new(1, 8, 3).expect("legal"));
        let (sum, hits) = sums_beside_probes(proof, constants, &[u8::MAX; LINE_LEN], 1_000);
        assert_eq!((sum, hits), (8 * 1_000 * (24 * 25 / 2), 1_000));
    }

    avx512_bitalg! {
        fn sums_beside_probes(proof, constants: &Constants, line: &[u8; LINE_LEN], num_probes: u64) -> (i64, u64) {
            // The compiler knows nothing about these steps, so that it keeps each sum.
            let steps: [__m512i; 24] = core::array::from_fn(|i| _mm512_set1_epi64(core::hint::black_box(1 + i as i64)));
            let (mut sums, mut hits) = ([_mm512_setzero_si512(); 24], 0);
            for i in 0..num_probes {
                let hit = missing(proof, constants, line, mix(i) as u32) & ALL == 0;
                hits += u64::from(hit);
                for (sum, step) in sums.iter_mut().zip(steps) {
                    *sum = _mm512_mask_add_epi64(*sum, if hit { u8::MAX } else { 0 }, *sum, step);
                }
            }
            (sums.into_iter().map(|sum| _mm512_reduce_add_epi64(sum)).sum(), hits)
        }
    }
}
