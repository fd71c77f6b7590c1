//! The search with AVX-512: 32 remainders are unpacked and summed at a time; of 16 codes the remainders are summed by
//! prefix, the positions of the ones among the unary bits give the quotients, and the sum of both is compared with what
//! is sought.

use super::Layout;
use super::avx2::prefix_sums;
use super::decode::Cursor;
use super::search::{self, Lanes, MAX_REMAINDER_BITS};
use crate::cpu::{Avx512Vbmi2, avx512_vbmi2};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// The number of remainders of a vector.
const LANES: usize = 32;
/// The number of bytes of a vector.
const VECTOR_LEN: usize = 64;
/// The number of bytes of half a vector, in which codes are compared.
const HALF_LEN: usize = 32;
/// The number of codes that are compared.
const CODES: usize = 16;
/// The number of vectors of remainders that are added up.
const VECTORS: usize = 3;
/// The number of bytes before a bucket's end in which the loads for the sum are.
const SUMMED_LEN: u64 = (LANES / 8 * VECTORS * MAX_REMAINDER_BITS as usize + 1) as u64;
/// A position for a one that is not in the window: beyond it, and for any width above the rest of a value.
const NO_ONE: i8 = 127;
/// The least number of zeros that a window of 57 bits has before the last code that is compared, if that code is not in
/// it.
const MOST_ZEROS: u64 = 57 - CODES as u64;

avx512_vbmi2! {
    pub(super) fn may_contain(proof, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
        search::may_contain(proof, layout, payload, hash)
    }
}

#[repr(C, align(64))]
struct Bytes([u8; VECTOR_LEN]);

impl Bytes {
    #[inline(always)]
    fn load(&self, _proof: Avx512Vbmi2) -> __m512i {
        // SAFETY: `_proof` is of AVX-512. `Bytes` is 64 bytes, aligned to 64 by its `repr`.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }

    /// Returns the constants of two bytes a lane.
    const fn from_lanes(lanes: [u16; LANES]) -> Self {
        let mut bytes = [0; VECTOR_LEN];
        let mut i = 0;
        while i < VECTOR_LEN {
            bytes[i] = (lanes[i / 2] >> (i % 2 * 8)) as u8;
            i += 1;
        }
        Self(bytes)
    }
}

/// The steps from the 64 bytes up to the last remainder's end to 32 remainders, the first of them uppermost.
struct Unpack {
    /// The distance from each vector's load to the last remainder, as short as possible so that few lines are read.
    load_ends: [usize; VECTORS],
    /// The eight bytes that contain each group of four, from any bit of its first byte on.
    groups: [Bytes; VECTORS],
    /// The bit of its group from which each remainder's two bytes are taken, if the last byte is full.
    bits: Bytes,
    /// The remainders' bits of a lane.
    mask: Bytes,
    /// The bits of the remainders up to a lane's own, which lie between it and the bucket's end; of 16.
    below: [u16; CODES],
    /// The constant part of the values of 16 codes: besides their remainders, and 2^r for each bit before their ones.
    index: [u16; CODES],
}

/// The steps by the width of remainders.
static UNPACK: [Unpack; MAX_REMAINDER_BITS as usize + 1] = {
    const NONE: Unpack = Unpack {
        load_ends: [0; VECTORS],
        groups: [const { Bytes([0; 64]) }; VECTORS],
        bits: Bytes([0; 64]),
        mask: Bytes([0; 64]),
        below: [0; CODES],
        index: [0; CODES],
    };
    let mut all = [NONE; MAX_REMAINDER_BITS as usize + 1];
    let mut r = 0;
    while r < all.len() {
        let mut v = 1;
        while v < VECTORS {
            all[r].load_ends[v] = (LANES / 8 * r * (v + 1) + 1).saturating_sub(VECTOR_LEN);
            v += 1;
        }
        let mut lane = 0;
        while lane < LANES {
            let group_end = (lane / 4 + 1) * 4;
            let first_byte = (512 - 7 - group_end * r) / 8;
            let bit = 512 - (lane + 1) * r - first_byte * 8;
            let mut byte = 0;
            while byte < 2 {
                let mut v = 0;
                while v < VECTORS {
                    let from = 64 + first_byte + all[r].load_ends[v] - LANES / 8 * r * v;
                    all[r].groups[v].0[lane * 2 + byte] = ((from + lane % 4 * 2 + byte) % 64) as u8;
                    v += 1;
                }
                all[r].bits.0[lane * 2 + byte] = (bit + 8 * byte) as u8;
                byte += 1;
            }
            if lane < CODES {
                all[r].below[lane] = ((lane + 1) * r) as u16;
                all[r].index[lane] = (lane as u16).wrapping_sub((lane << r) as u16);
            }
            lane += 1;
        }
        all[r].mask = Bytes::from_lanes([(1 << r) - 1; LANES]);
        r += 1;
    }
    all
};

/// 0, 1, 2, … in bytes.
static IOTA: Bytes = {
    let mut iota = [0; VECTOR_LEN];
    let mut i = 0;
    while i < VECTOR_LEN {
        iota[i] = i as u8;
        i += 1;
    }
    Bytes(iota)
};

/// 0, 1, 2, … in lanes, for each vector.
static IOTA_LANES: [Bytes; VECTORS] = {
    let mut vectors = [const { Bytes([0; VECTOR_LEN]) }; VECTORS];
    let mut v = 0;
    while v < VECTORS {
        let mut iota = [0; LANES];
        let mut i = 0;
        while i < LANES {
            iota[i] = (v * LANES + i) as u16;
            i += 1;
        }
        vectors[v] = Bytes::from_lanes(iota);
        v += 1;
    }
    vectors
};

impl Lanes for Avx512Vbmi2 {
    #[inline(always)]
    fn low_bits(self, word: u64, count: u64) -> u64 {
        // SAFETY: the proof includes BMI2.
        unsafe { _bzhi_u64(word, count as u32) }
    }

    #[inline(always)]
    fn sum(self, codes: &[u8], remainder_bits: u32, end: u64, count: u64) -> Option<u64> {
        let (end_byte, unpack) = (end.div_ceil(8), UNPACK.get(remainder_bits as usize)?);
        if !(SUMMED_LEN..=codes.len() as u64).contains(&end_byte) {
            return None;
        }
        // SAFETY: the proof is of the features. `SUMMED_LEN <= end_byte <= codes.len()` was checked, and SUMMED_LEN is
        // VECTOR_LEN and the greatest of `load_ends`, as remainders are of at most MAX_REMAINDER_BITS.
        unsafe {
            let beyond = _mm512_set1_epi8((end.wrapping_neg() % 8) as i8);
            let bits = _mm512_sub_epi8(unpack.bits.load(self), beyond);
            let (mask, counts) = (unpack.mask.load(self), _mm512_set1_epi16(count as i16));
            let last = codes.as_ptr().add(end_byte as usize - VECTOR_LEN);
            let add = |sums: __m512i, index: usize| {
                let packed = _mm512_loadu_si512(last.sub(unpack.load_ends[index]).cast());
                let groups = _mm512_permutexvar_epi8(unpack.groups[index].load(self), packed);
                let fields = _mm512_and_si512(_mm512_multishift_epi64_epi8(bits, groups), mask);
                let counted = _mm512_cmplt_epu16_mask(IOTA_LANES[index].load(self), counts);
                _mm512_mask_add_epi16(sums, counted, sums, fields)
            };
            let mut sums = add(add(_mm512_setzero_si512(), 0), 1);
            if count > 2 * LANES as u64 {
                if count > (VECTORS * LANES) as u64 {
                    return None;
                }
                sums = add(sums, 2);
            }
            let sums = _mm512_madd_epi16(sums, _mm512_set1_epi16(1));
            let sums = _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums));
            let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums));
            Some(u64::from(_mm_cvtsi128_si32(sums) as u32))
        }
    }

    #[inline(always)]
    fn contains_soon(self, codes: &[u8], remainder_bits: u32, cursor: Cursor, window: u64) -> Option<bool> {
        let Cursor { left, unary, remainders } = cursor;
        let (end_byte, unpack) = (remainders.div_ceil(8), UNPACK.get(remainder_bits as usize)?);
        if !(HALF_LEN as u64..=codes.len() as u64).contains(&end_byte) || left >> remainder_bits >= MOST_ZEROS {
            return None;
        }
        // SAFETY: the proof is of the features. `HALF_LEN <= end_byte <= codes.len()` was checked; `below` and `index`
        // have HALF_LEN bytes.
        unsafe {
            let packed = _mm256_loadu_si256(codes.as_ptr().add(end_byte as usize - HALF_LEN).cast());
            // The first 16 remainders are in the last 32 bytes, and 5 bits of a place are used.
            let groups = _mm512_castsi512_si256(unpack.groups[0].load(self));
            let beyond = _mm256_set1_epi8((remainders.wrapping_neg() % 8) as i8);
            let bits = _mm256_sub_epi8(_mm512_castsi512_si256(unpack.bits.load(self)), beyond);
            let fields = _mm256_multishift_epi64_epi8(bits, _mm256_permutexvar_epi8(groups, packed));
            let fields = _mm256_and_si256(fields, _mm512_castsi512_si256(unpack.mask.load(self)));
            let sums = prefix_sums(fields);
            let sums = _mm256_add_epi16(sums, _mm256_loadu_si256(unpack.index.as_ptr().cast()));

            let ones = _mm512_mask_compress_epi8(_mm512_set1_epi8(NO_ONE), window, IOTA.load(self));
            let ones = _mm256_cvtepu8_epi16(_mm512_castsi512_si128(ones));
            let values = _mm256_sll_epi16(ones, _mm_cvtsi32_si128(remainder_bits as i32));
            let values = _mm256_add_epi16(values, sums);
            // A code is one only if its one precedes its remainder.
            let ends = _mm256_add_epi16(ones, _mm256_loadu_si256(unpack.below.as_ptr().cast()));
            let sound = _mm256_cmplt_epu16_mask(ends, _mm256_set1_epi16((remainders - unary) as i16));
            let left = _mm256_set1_epi16(left as i16);
            match _mm256_mask_cmplt_epu16_mask(sound, values, left) {
                u16::MAX => None,
                _ => Some(_mm256_mask_cmpeq_epi16_mask(sound, values, left) != 0),
            }
        }
    }
}
