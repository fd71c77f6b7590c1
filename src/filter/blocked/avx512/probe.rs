//! The shortest probe: one position in each word, compiled into the loop that calls it.

use super::super::inlined::OVER_READ;
use super::super::lanes::MULTIPLIERS;
use super::super::{LINE_LEN, Params, SALT_MULTIPLIER, WORDS};
use crate::cpu::{Avx512Bitalg, prefetch};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// Salts that [`Constants`] has a step for.
const MAX_SALT_BITS: u32 = 4;

/// What a probe reads besides its line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Constants {
    multipliers: [u64; WORDS],
    /// What each salt adds to a multiplier.
    salt_steps: [u32; 1 << MAX_SALT_BITS],
    /// Positions of a word.
    positions: u64,
}

/// What the assembly below takes for granted.
const _: () = {
    assert!(core::mem::offset_of!(Constants, multipliers) == 0);
    assert!(core::mem::offset_of!(Constants, salt_steps) == 64);
    assert!(core::mem::offset_of!(Constants, positions) == 128);
};

/// For each number of salt bits.
static CONSTANTS: [Constants; MAX_SALT_BITS as usize + 1] = {
    const NONE: Constants = Constants { multipliers: MULTIPLIERS, salt_steps: [0; 1 << MAX_SALT_BITS], positions: 0 };
    let (mut all, mut salt_bits) = ([NONE; MAX_SALT_BITS as usize + 1], 0);
    while salt_bits < all.len() {
        all[salt_bits].positions = (u64::BITS as usize - salt_bits) as u64;
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
    proof: Avx512Bitalg,
}

impl Probe {
    /// For parameters that it knows.
    pub(in super::super) fn new(proof: Avx512Bitalg, params: Params) -> Option<Self> {
        Constants::of(params).map(|constants| Self { constants, proof })
    }

    /// Whether all bits of `hash` are set in its line.
    #[inline(always)]
    pub(in super::super) fn all_hit(self, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
        all_hit(self.proof, self.constants, line, hash.get())
    }
}

/// The lowest bit of each word's byte 4, in a mask of a bit for each byte: where the upper half of a product begins.
const ALL_HIT: u64 = 0x1010_1010_1010_1010;

/// Whether each word of `line` has the bit that the lower half of `hash` picks in it.
///
/// Registers from 16 on leave the upper halves of the others clean, so nothing has to be zeroed afterwards. They are
/// declared all the same: a caller may have them.
///
/// The products of the hash with each salt's step and each word's multiplier do not wait for the line. A word's salt
/// picks one of the former by `vpermd`; with the latter it adds up to the product with the salted multiplier.
///
/// A position is the upper half of a product, where `vpshufbitqmb`, which looks up a bit for each byte, reads it. With
/// multiplications and shifts instead, one port had half as much again to do.
#[inline(always)]
fn all_hit(_proof: Avx512Bitalg, constants: &Constants, line: &[u8; LINE_LEN], hash: u64) -> bool {
    let hits: u64;
    // SAFETY: `_proof` is of AVX-512F, BW and BITALG, which have all instructions below. The reads are the 64 bytes of
    // `line`, and of `constants` what the assertions at its type place: 64 bytes at 0, 64 at 64, 8 at 128. The options
    // hold:
    // - `readonly`, `nostack`: no instruction writes memory or touches the stack;
    // - `pure`: the result depends on the operands and on what they point to;
    // - `preserves_flags`: neither vector instructions nor `kmovq` write flags;
    // - `lateout`: `hits` may share a register with an input, as only the last instruction writes it.
    // The casts to integers, for 64-bit registers whatever the size of a pointer, expose the provenance of both
    // references, so the assembly may read there.
    unsafe {
        core::arch::asm!(
            "vpbroadcastd zmm16, {hash:e}",
            "vpmuludq zmm17, zmm16, zmmword ptr [{constants}]",
            "vpmulld zmm20, zmm16, zmmword ptr [{constants} + 64]",
            "vmovdqu64 zmm18, [{line} + {over_read}]",
            "vpsrlvq zmm19, zmm18, qword ptr [{constants} + 128]{{1to8}}",
            "vpermd zmm19, zmm19, zmm20",
            "vpaddd zmm19, zmm19, zmm17",
            "vpmuludq zmm20, zmm19, qword ptr [{constants} + 128]{{1to8}}",
            "vpshufbitqmb k1, zmm18, zmm20",
            "kmovq {hits}, k1",
            hash = in(reg) hash,
            line = in(reg) line.as_ptr() as u64,
            constants = in(reg) core::ptr::from_ref(constants) as u64,
            over_read = const OVER_READ,
            hits = lateout(reg) hits,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _, out("zmm20") _, out("k1") _,
            options(readonly, nostack, pure, preserves_flags)
        );
    }
    hits & ALL_HIT == ALL_HIT
}

/// The constants, in registers.
#[derive(Clone, Copy)]
struct Registers {
    multipliers: __m512i,
    salt_steps: __m512i,
    positions: __m512i,
}

impl Registers {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(constants: &Constants) -> Self {
        let Constants { multipliers, salt_steps, positions } = constants;
        // SAFETY: `multipliers` is an array of 8 words of 8 bytes, `salt_steps` of 16 of 4 bytes: 64 bytes each.
        let [multipliers, salt_steps] = unsafe {
            [_mm512_loadu_si512(multipliers.as_ptr().cast()), _mm512_loadu_si512(salt_steps.as_ptr().cast())]
        };
        Self { multipliers, salt_steps, positions: _mm512_set1_epi64(*positions as i64) }
    }

    /// What the assembly computes, from the lower halves of `value`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
    fn all_hit(self, line: __m512i, value: __m512i) -> bool {
        let salts = _mm512_srlv_epi64(line, self.positions);
        let multipliers = _mm512_add_epi32(_mm512_permutexvar_epi32(salts, self.salt_steps), self.multipliers);
        let product = multiply_low(multiply_low(value, multipliers), self.positions);
        _mm512_bitshuffle_epi64_mask(line, product) & ALL_HIT == ALL_HIT
    }
}

/// Products of the lower halves: what `_mm512_mul_epu32` is for. The compiler knows that as a masking and a
/// multiplication of whole words, moves the masking about or drops it, and is left with three multiplications.
#[inline]
#[target_feature(enable = "avx512f")]
fn multiply_low(a: __m512i, b: __m512i) -> __m512i {
    let product;
    // SAFETY: AVX-512F, a feature of this function, has the instruction. It reads and writes its registers alone: no
    // memory, no stack, no flags; and it is the only one, so the result may share a register with an operand.
    unsafe {
        core::arch::asm!("vpmuludq {product}, {a}, {b}", product = lateout(zmm_reg) product,
            a = in(zmm_reg) a, b = in(zmm_reg) b, options(pure, nomem, nostack, preserves_flags));
    }
    product
}

/// Hashes of a vector.
const LANES: usize = 8;
/// Hashes prepared together.
const BATCH: usize = 2 * LANES;

/// Where the lines of a few hashes start.
type Starts = [u64; BATCH];

/// Picks the lines of up to [`BATCH`] `hashes`, a vector at a time, and prefetches them. Every start written is
/// `LINE_LEN · i` with `i < num_lines`.
#[inline]
#[target_feature(enable = "avx512f")]
fn prepare(lines: &[u8], num_lines: __m512i, hashes: &[KeyHash], starts: &mut Starts) {
    for (hashes, starts) in hashes.chunks(LANES).zip(starts.chunks_exact_mut(LANES)) {
        let words: [u64; LANES] = match hashes.first_chunk() {
            Some(hashes) => hashes.map(KeyHash::get),
            None => core::array::from_fn(|lane| hashes.get(lane).map_or(0, |hash| hash.get())),
        };
        // SAFETY: the load is of the LANES words of `words`, the store of LANES words, as `chunks_exact_mut` gave.
        unsafe {
            let hash = _mm512_loadu_si512(words.as_ptr().cast());
            let low = _mm512_srli_epi64::<32>(multiply_low(hash, num_lines));
            let high = multiply_low(_mm512_srli_epi64::<32>(hash), num_lines);
            let index = _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low));
            _mm512_storeu_si512(starts.as_mut_ptr().cast(), _mm512_slli_epi64::<6>(index));
        }
    }
    starts.iter().zip(hashes).for_each(|(&start, _)| prefetch(lines, start as usize));
}

/// An answer for each hash. `lines` are whole, at least one and fewer than 2^32. The lines of the next hashes are
/// prefetched before those of the current are read.
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
pub(super) fn probe_all(constants: &Constants, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    let num_lines = (lines.len() / LINE_LEN) as u64;
    assert!((1..1 << 32).contains(&num_lines), "a filter has a line, and fits the lanes");
    let (registers, num_lines) = (Registers::load(constants), _mm512_set1_epi64(num_lines as i64));
    let mut ahead = hashes.chunks(BATCH);
    let mut prepare_next = |starts: &mut Starts| prepare(lines, num_lines, ahead.next().unwrap_or(&[]), starts);
    let mut starts = [[0; BATCH]; 2];
    prepare_next(&mut starts[0]);
    for (turn, (hashes, answers)) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)).enumerate() {
        prepare_next(&mut starts[(turn + 1) % 2]);
        for ((answer, &start), hash) in answers.iter_mut().zip(&starts[turn % 2]).zip(hashes) {
            // SAFETY: `start + LINE_LEN <= lines.len()`: `start` is 0 or of a line below `num_lines`, as `prepare`
            // wrote it, and the assertion has shown that there is a line.
            let line = unsafe { _mm512_loadu_si512(lines.as_ptr().add(start as usize).cast()) };
            *answer = registers.all_hit(line, _mm512_set1_epi64(hash.get() as i64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Avx512Bitalg, Constants, LINE_LEN, Params, all_hit};
    use crate::cpu::avx512_bitalg;
    use crate::hash::mix;
    use core::arch::x86_64::*;

    /// A caller that has AVX-512 may keep values in the registers that the assembly uses.
    #[test]
    fn a_callers_registers_are_left_alone() {
        let Some(proof) = Avx512Bitalg::detect() else { return };
        let constants = Constants::of(Params::new(1, 8, 3).expect("legal")).expect("in the table");
        let (sum, hits) = sums_beside_probes(proof, constants, &[u8::MAX; LINE_LEN], 1_000);
        assert_eq!((sum, hits), (8 * 1_000 * (24 * 25 / 2), 1_000));
    }

    avx512_bitalg! {
        fn sums_beside_probes(proof, constants: &Constants, line: &[u8; LINE_LEN], num_probes: u64) -> (i64, u64) {
            // Steps of which the compiler knows nothing, so that it keeps each sum.
            let steps: [__m512i; 24] = core::array::from_fn(|i| _mm512_set1_epi64(core::hint::black_box(1 + i as i64)));
            let (mut sums, mut hits) = ([_mm512_setzero_si512(); 24], 0);
            for i in 0..num_probes {
                let hit = all_hit(proof, constants, line, mix(i));
                hits += u64::from(hit);
                for (sum, step) in sums.iter_mut().zip(steps) {
                    *sum = _mm512_mask_add_epi64(*sum, if hit { u8::MAX } else { 0 }, *sum, step);
                }
            }
            (sums.into_iter().map(|sum| _mm512_reduce_add_epi64(sum)).sum(), hits)
        }
    }
}
