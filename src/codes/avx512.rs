//! The search with AVX-512: 16 remainders are unpacked and summed at a time, in lanes of 32 bits. Of 16 codes the
//! remainders are summed by prefix, the positions of the ones among the unary bits give the quotients, and the sum of
//! both is compared with both ends of what is sought.

use super::Layout;
use super::decode::Cursor;
use super::search::{self, Lanes, MOST_ZEROS};
use crate::cpu::{Avx512Vbmi2, avx512_vbmi2};
use core::arch::x86_64::*;

/// The number of codes that are compared, and of remainders of a vector.
const LANES: usize = search::CODES;
/// The number of bytes of a vector.
const VECTOR_LEN: usize = 64;
/// The widest remainder: it is within four bytes, from any bit of the first on, and a value sought in a window fits a
/// lane.
const MAX_REMAINDER_BITS: u32 = 24;
/// The widest remainders of which a vector is within half as many bytes, from any bit of the first on. Fewer lines are
/// read then.
const MAX_NARROW_BITS: u32 = 15;
/// The greatest number of vectors of remainders that are added up.
const VECTORS: usize = 5;
/// A position for a one that is not in the window: beyond it, and for any width above the rest of a value.
const NO_ONE: i8 = 127;

avx512_vbmi2! {
    pub(super) fn may_contain(proof, layout: &Layout, payload: &[u8], bucket: u64, offset: u64) -> bool {
        search::may_have(proof, layout, payload, bucket, offset, offset)
    }
}

avx512_vbmi2! {
    pub(super) fn may_have(proof, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
        search::may_have(proof, layout, payload, bucket, from, to)
    }
}

/// A vector in memory.
#[repr(C, align(64))]
struct Aligned<T>(T);

impl<T> Aligned<T> {
    #[inline(always)]
    fn load(&self, _proof: Avx512Vbmi2) -> __m512i {
        const { assert!(size_of::<T>() == VECTOR_LEN) };
        // SAFETY: `_proof` is of AVX-512. The vector has 64 bytes, which was asserted, and is aligned by its `repr`.
        unsafe { _mm512_load_si512((&raw const self.0).cast()) }
    }
}

/// The steps from the bytes up to the last remainder's end, 32 if remainders are narrow or 64, to 16 remainders, the
/// first of them uppermost.
struct Unpack {
    /// The number of bytes of one vector's load, and of the loads of all.
    loaded: [u64; 2],
    /// The eight bytes that contain each pair of remainders, from any bit of their first byte on.
    pairs: Aligned<[u8; VECTOR_LEN]>,
    /// The bits of those eight bytes from which a remainder's four bytes are taken, if the last byte is full.
    bits: Aligned<[u8; VECTOR_LEN]>,
    /// The bits of the remainders up to a lane's own, which lie between it and the bucket's end.
    below: Aligned<[u32; LANES]>,
    /// The constant part of the values of codes: besides their remainders, and 2^r for each bit before their ones.
    index: Aligned<[u32; LANES]>,
}

/// The steps by the width of remainders.
static UNPACK: [Unpack; MAX_REMAINDER_BITS as usize + 1] = {
    const NONE: Unpack = Unpack {
        loaded: [0; 2],
        pairs: Aligned([0; VECTOR_LEN]),
        bits: Aligned([0; VECTOR_LEN]),
        below: Aligned([0; LANES]),
        index: Aligned([0; LANES]),
    };
    let mut all = [NONE; MAX_REMAINDER_BITS as usize + 1];
    let mut r = 0;
    while r < all.len() {
        let load_len = if r > MAX_NARROW_BITS as usize { VECTOR_LEN } else { VECTOR_LEN / 2 };
        all[r].loaded = [load_len as u64, (load_len + (VECTORS - 1) * LANES / 8 * r) as u64];
        let mut lane = 0;
        while lane < LANES {
            let first_byte = (8 * load_len - 7 - (lane / 2 + 1) * 2 * r) / 8;
            let bit = 8 * load_len - (lane + 1) * r - first_byte * 8;
            let mut byte = 0;
            while byte < 4 {
                all[r].pairs.0[lane * 4 + byte] = ((first_byte + lane % 2 * 4 + byte) % VECTOR_LEN) as u8;
                all[r].bits.0[lane * 4 + byte] = (bit + 8 * byte) as u8;
                byte += 1;
            }
            all[r].below.0[lane] = ((lane + 1) * r) as u32;
            all[r].index.0[lane] = (lane as u32).wrapping_sub((lane << r) as u32);
            lane += 1;
        }
        r += 1;
    }
    all
};

/// 0, 1, 2, … in bytes.
static IOTA: Aligned<[u8; VECTOR_LEN]> = {
    let mut iota = [0; VECTOR_LEN];
    let mut i = 0;
    while i < VECTOR_LEN {
        iota[i] = i as u8;
        i += 1;
    }
    Aligned(iota)
};

/// Takes remainders from the last to the first before some end, 16 at a time.
struct Unpacker {
    unpack: &'static Unpack,
    /// The end of the byte that has the last remainder's end.
    end: *const u8,
    remainder_bits: u32,
    pairs: __m512i,
    bits: __m512i,
    mask: __m512i,
}

impl Unpacker {
    /// Prepares to take remainders up to bit `end`: a vector, or `all` of them. `None` if remainders are too wide or the
    /// loads would leave `codes`.
    #[inline(always)]
    fn new(proof: Avx512Vbmi2, codes: &[u8], remainder_bits: u32, end: u64, all: bool) -> Option<Self> {
        let (unpack, end_byte) = (UNPACK.get(remainder_bits as usize)?, end.div_ceil(8));
        if !(unpack.loaded[usize::from(all)]..=codes.len() as u64).contains(&end_byte) {
            return None;
        }
        // SAFETY: the proof is of the features, and `end_byte <= codes.len()`.
        unsafe {
            let bits = _mm512_sub_epi8(unpack.bits.load(proof), _mm512_set1_epi8((end.wrapping_neg() % 8) as i8));
            let (end, mask) = (codes.as_ptr().add(end_byte as usize), _mm512_set1_epi32((1 << remainder_bits) - 1));
            Some(Self { unpack, end, remainder_bits, pairs: unpack.pairs.load(proof), bits, mask })
        }
    }

    /// Returns the remainders of the vector that `index` others precede: those of the lanes in `lanes`, and zeros.
    ///
    /// # Safety
    /// The vector was prepared for, and `codes` are still there. The processor has the features.
    #[inline(always)]
    unsafe fn vector(&self, index: usize, lanes: u16) -> __m512i {
        // SAFETY: `new` checked that the loads are in `codes`, which are as far apart as the remainders of vectors. The
        // rest is this function's contract.
        unsafe {
            let end = self.end.sub(index * LANES / 8 * self.remainder_bits as usize);
            let packed = match self.remainder_bits > MAX_NARROW_BITS {
                true => _mm512_loadu_si512(end.sub(VECTOR_LEN).cast()),
                false => _mm512_castsi256_si512(_mm256_loadu_si256(end.sub(VECTOR_LEN / 2).cast())),
            };
            let words = _mm512_multishift_epi64_epi8(self.bits, _mm512_permutexvar_epi8(self.pairs, packed));
            _mm512_maskz_and_epi32(lanes, words, self.mask)
        }
    }
}

/// Returns the sums of each lane and those before it.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
unsafe fn prefix_sums(lanes: __m512i) -> __m512i {
    // SAFETY: the processor has AVX-512, by this function's contract; no memory is accessed.
    unsafe {
        let zero = _mm512_setzero_si512();
        let pairs = _mm512_add_epi32(lanes, _mm512_bslli_epi128::<4>(lanes));
        let quarters = _mm512_add_epi32(pairs, _mm512_bslli_epi128::<8>(pairs));
        let last = _mm512_shuffle_epi32::<0b11_11_11_11>(quarters);
        let (first, second) = (_mm512_alignr_epi32::<12>(last, zero), _mm512_alignr_epi32::<8>(last, zero));
        let third = _mm512_alignr_epi32::<4>(last, zero);
        _mm512_add_epi32(_mm512_add_epi32(quarters, first), _mm512_add_epi32(second, third))
    }
}

impl Lanes for Avx512Vbmi2 {
    const MAX_REMAINDER_BITS: u32 = MAX_REMAINDER_BITS;

    #[inline(always)]
    fn low_bits(self, word: u64, count: u64) -> u64 {
        // SAFETY: the proof includes BMI2.
        unsafe { _bzhi_u64(word, count as u32) }
    }

    #[inline(always)]
    fn sum(self, codes: &[u8], remainder_bits: u32, end: u64, count: u64) -> Option<u64> {
        let unpacker = Unpacker::new(self, codes, remainder_bits, end, true)?;
        if count > (VECTORS * LANES) as u64 {
            return None;
        }
        // SAFETY: the proof is of the features, and all vectors were prepared for.
        unsafe {
            let lanes = _bzhi_u64(u64::MAX, count as u32);
            let counted = |index: usize| unpacker.vector(index, (lanes >> (index * LANES)) as u16);
            let mut sums = _mm512_add_epi32(counted(0), counted(1));
            sums = _mm512_add_epi32(sums, _mm512_add_epi32(counted(2), counted(3)));
            if let Some(others) = count.checked_sub(4 * LANES as u64) {
                let lanes = _bzhi_u64(u64::MAX, others as u32) as u16;
                sums = _mm512_add_epi32(sums, unpacker.vector(4, lanes));
            }
            Some(u64::from(_mm512_reduce_add_epi32(sums) as u32))
        }
    }

    #[inline(always)]
    fn has_soon(self, codes: &[u8], remainder_bits: u32, cursor: Cursor, len: u64, window: u64) -> Option<bool> {
        let Cursor { left, unary, remainders } = cursor;
        let last = left.saturating_add(len);
        let unpacker = Unpacker::new(self, codes, remainder_bits, remainders, false)?;
        if last >> remainder_bits >= MOST_ZEROS {
            return None;
        }
        // SAFETY: the proof is of the features, and a vector was prepared for.
        unsafe {
            let sums = _mm512_add_epi32(prefix_sums(unpacker.vector(0, u16::MAX)), unpacker.unpack.index.load(self));
            let ones = _mm512_mask_compress_epi8(_mm512_set1_epi8(NO_ONE), window, IOTA.load(self));
            let ones = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(ones));
            let values = _mm512_sll_epi32(ones, _mm_cvtsi32_si128(remainder_bits as i32));
            let values = _mm512_add_epi32(values, sums);
            // A code is one only if its one precedes its remainder.
            let ends = _mm512_add_epi32(ones, unpacker.unpack.below.load(self));
            let sound = _mm512_cmplt_epu32_mask(ends, _mm512_set1_epi32((remainders - unary) as i32));
            let below = _mm512_mask_cmplt_epu32_mask(sound, values, _mm512_set1_epi32(left as i32));
            let within = _mm512_mask_cmple_epu32_mask(sound & !below, values, _mm512_set1_epi32(last as i32));
            if below == u16::MAX { None } else { Some(within != 0) }
        }
    }
}
