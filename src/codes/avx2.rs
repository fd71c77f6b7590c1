//! The search with AVX2: 16 remainders are unpacked and summed at a time; of 16 codes the remainders are summed by
//! prefix, which leaves the zeros that must precede the code sought among the unary bits.

use super::decode::Cursor;
use super::search::{self, CODES as LANES, Lanes, MOST_ZEROS};
use super::{Layout, portable};
use crate::cpu::{Avx2, Portable, avx2};
use core::arch::x86_64::*;

/// The widest remainder.
const MAX_REMAINDER_BITS: u32 = Avx2::MAX_REMAINDER_BITS;
/// The number of bytes of a load, which contains the remainders of half a vector.
const LOAD_LEN: usize = 16;
/// The number of vectors of remainders that are added up.
const VECTORS: usize = 5;
const MOST_SUMMED: usize = VECTORS * LANES;
/// The greatest number of bytes that the loads of a vector take, and that the loads of all vectors take.
const VECTOR_LEN: u64 = LOAD_LEN as u64 + MAX_REMAINDER_BITS as u64;
const SUMMED_LEN: u64 = VECTOR_LEN + 2 * (VECTORS - 1) as u64 * MAX_REMAINDER_BITS as u64;

avx2! {
    pub(super) fn may_contain(proof, layout: &Layout, payload: &[u8], bucket: u64, offset: u64) -> bool {
        search::may_have(proof, layout, payload, bucket, offset, offset)
    }
}

avx2! {
    pub(super) fn may_have(_proof, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
        // Codes are looked up by the zeros that precede a single value.
        portable::may_have(Portable, layout, payload, bucket, from, to)
    }
}

/// The steps from the 16 bytes up to the last remainder's end to eight remainders, the first of them uppermost: the two
/// bytes of each, and the factor that moves it to the top of its lane.
#[repr(C, align(32))]
struct Unpack {
    bytes: [u8; LOAD_LEN],
    factors: [u16; LANES / 2],
}

/// The steps by the width of remainders and by the bits of the last byte that are beyond the last remainder's end.
static UNPACK: [[Unpack; 8]; MAX_REMAINDER_BITS as usize + 1] = {
    const NONE: Unpack = Unpack { bytes: [0x80; LOAD_LEN], factors: [0; LANES / 2] };
    let mut all = [const { [NONE; 8] }; MAX_REMAINDER_BITS as usize + 1];
    let mut r = 1;
    while r < all.len() {
        let mut beyond = 0;
        while beyond < 8 {
            let unpack = &mut all[r][beyond];
            let mut lane = 0;
            while lane < LANES / 2 {
                let bit = 8 * LOAD_LEN - beyond - (lane + 1) * r;
                unpack.bytes[2 * lane] = (bit / 8) as u8;
                if bit / 8 + 1 < LOAD_LEN {
                    unpack.bytes[2 * lane + 1] = (bit / 8 + 1) as u8;
                }
                unpack.factors[lane] = 1 << (16 - r - bit % 8);
                lane += 1;
            }
            beyond += 1;
        }
        r += 1;
    }
    all
};

/// A table of masks: from lane `MOST_SUMMED - count` on, the first `count` lanes are ones.
static FIRST: [u16; 2 * MOST_SUMMED] = {
    let mut lanes = [0; 2 * MOST_SUMMED];
    let mut i = 0;
    while i < MOST_SUMMED {
        lanes[i] = u16::MAX;
        i += 1;
    }
    lanes
};

#[repr(C, align(32))]
struct Aligned([u16; LANES]);

static IOTA: Aligned = Aligned([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// The bits of a lane that are zero if the number of zeros left is whole and not negative.
static UNFIT: [u16; MAX_REMAINDER_BITS as usize + 1] = {
    let mut unfit = [0; MAX_REMAINDER_BITS as usize + 1];
    let mut r = 0;
    while r < unfit.len() {
        unfit[r] = 0x8000 | ((1 << r) - 1);
        r += 1;
    }
    unfit
};

/// Takes remainders from the last to the first before some end, 16 at a time.
struct Unpacker {
    bytes: __m256i,
    factors: __m256i,
    shift: __m128i,
    width: usize,
}

impl Unpacker {
    /// Prepares to take remainders of `width` bits up to bit `end`.
    #[inline(always)]
    fn new(_proof: Avx2, width: usize, end: u64) -> Option<Self> {
        let unpack = &UNPACK.get(width)?[(end.wrapping_neg() % 8) as usize];
        // SAFETY: `_proof` is of AVX2. Both arrays have 16 bytes and are aligned to them, by the `repr` of `Unpack`.
        unsafe {
            let bytes = _mm256_broadcastsi128_si256(_mm_load_si128(unpack.bytes.as_ptr().cast()));
            let factors = _mm256_broadcastsi128_si256(_mm_load_si128(unpack.factors.as_ptr().cast()));
            Some(Self { bytes, factors, shift: _mm_cvtsi32_si128(16 - width as i32), width })
        }
    }

    /// Returns the remainders of the vector that `index` others precede and whose last byte is before `end`.
    ///
    /// # Safety
    /// The bytes from `end - LOAD_LEN - 2 * index * width - width` to `end` are valid for reads. The processor has
    /// AVX2.
    #[inline(always)]
    unsafe fn vector(&self, end: *const u8, index: usize) -> __m256i {
        // SAFETY: the caller's `end` has the bytes before it from which both halves are loaded, and the processor has
        // AVX2: this function's contract.
        unsafe {
            let low = end.sub(LOAD_LEN + 2 * index * self.width);
            let high = low.sub(self.width);
            let packed = _mm256_inserti128_si256::<1>(
                _mm256_castsi128_si256(_mm_loadu_si128(low.cast())),
                _mm_loadu_si128(high.cast()),
            );
            let moved = _mm256_mullo_epi16(_mm256_shuffle_epi8(packed, self.bytes), self.factors);
            _mm256_srl_epi16(moved, self.shift)
        }
    }
}

impl Lanes for Avx2 {
    /// A remainder is within two bytes, from any bit of the first on.
    const MAX_REMAINDER_BITS: u32 = 9;

    #[inline(always)]
    fn low_bits(self, word: u64, count: u64) -> u64 {
        // SAFETY: the proof includes BMI2.
        unsafe { _bzhi_u64(word, count as u32) }
    }

    #[inline(always)]
    fn sum(self, codes: &[u8], remainder_bits: u32, end: u64, count: u64) -> Option<u64> {
        let (end_byte, count) = (end.div_ceil(8), count as usize);
        let is_inside = (SUMMED_LEN..=codes.len() as u64).contains(&end_byte);
        if !is_inside || count > MOST_SUMMED {
            return None;
        }
        let unpacker = Unpacker::new(self, remainder_bits as usize, end)?;
        // SAFETY: the proof is of AVX2. `SUMMED_LEN <= end_byte <= codes.len()` was checked, and `Unpacker::new` that a
        // remainder has at most MAX_REMAINDER_BITS, so that SUMMED_LEN bytes are enough for all VECTORS. And `FIRST`
        // has VECTORS vectors from any lane up to MOST_SUMMED on, which `count` was compared with.
        unsafe {
            let end = codes.as_ptr().add(end_byte as usize);
            let first = FIRST.as_ptr().add(MOST_SUMMED).sub(count);
            let counted = |index: usize| {
                let mask = _mm256_loadu_si256(first.add(index * LANES).cast());
                _mm256_and_si256(unpacker.vector(end, index), mask)
            };
            let mut sums = _mm256_add_epi16(counted(0), counted(1));
            sums = _mm256_add_epi16(sums, _mm256_add_epi16(counted(2), counted(3)));
            if count > 4 * LANES {
                sums = _mm256_add_epi16(sums, counted(4));
            }
            let sums = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
            let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums));
            Some(u64::from(_mm_cvtsi128_si32(sums) as u32))
        }
    }

    /// For each code the number of zeros is computed that must precede it if it is the one sought. Where that number is
    /// whole, the one that ends the zeros is looked up.
    #[inline(always)]
    fn has_soon(self, codes: &[u8], remainder_bits: u32, cursor: Cursor, _len: u64, window: u64) -> Option<bool> {
        let Cursor { left, unary, remainders } = cursor;
        let (end_byte, width) = (remainders.div_ceil(8), u64::from(remainder_bits));
        if !(VECTOR_LEN..=codes.len() as u64).contains(&end_byte) || left >> remainder_bits >= MOST_ZEROS {
            return None;
        }
        let unpacker = Unpacker::new(self, remainder_bits as usize, remainders)?;
        let unfit = *UNFIT.get(remainder_bits as usize)?;
        let mut zeros = Aligned([0; LANES]);
        // SAFETY: the proof is of AVX2. `VECTOR_LEN <= end_byte <= codes.len()` was checked, and `Unpacker::new` that a
        // remainder has at most MAX_REMAINDER_BITS. `zeros` is as long as a vector, and aligned like one.
        let mut candidates = unsafe {
            let gaps = unpacker.vector(codes.as_ptr().add(end_byte as usize), 0);
            let sums = prefix_sums(gaps);
            let before = _mm256_add_epi16(sums, _mm256_load_si256(IOTA.0.as_ptr().cast()));
            let rest = _mm256_sub_epi16(_mm256_set1_epi16(left as i16), before);
            _mm256_store_si256(zeros.0.as_mut_ptr().cast(), rest);
            let unfit = _mm256_and_si256(rest, _mm256_set1_epi16(unfit as i16));
            // A lane has two bits; one of them is taken.
            _mm256_movemask_epi8(_mm256_cmpeq_epi16(unfit, _mm256_setzero_si256())) as u32 & 0x5555_5555
        };
        // SAFETY: the proof includes BMI2.
        let position = |code: u64| u64::from(unsafe { _pdep_u64(1 << code, window) }.trailing_zeros());

        let last = LANES as u64 - 1;
        let last_one = position(last);
        let passed = ((last_one - last) << remainder_bits) as i64 >= i64::from(zeros.0[LANES - 1] as i16);
        let exhausted = unary + last_one + (last + 1) * width >= remainders;
        if !(passed | exhausted) {
            return None;
        }
        // Mostly there is none or one. The first is examined in any case, which takes less than a mispredicted branch.
        loop {
            let lane = u64::from(candidates.trailing_zeros()) / 2;
            let one = position(lane);
            let fits = one == u64::from(zeros.0[lane as usize % LANES] >> remainder_bits) + lane;
            // A code is one only if its one precedes its remainder.
            let found = (candidates != 0) & fits & (unary + one + (lane + 1) * width < remainders);
            candidates &= candidates.wrapping_sub(1);
            if candidates == 0 || found {
                return Some(found);
            }
        }
    }
}

/// Returns the sums of each lane and those before it.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn prefix_sums(lanes: __m256i) -> __m256i {
    // SAFETY: the processor has AVX2, by this function's contract; no memory is accessed.
    unsafe {
        let pairs = _mm256_add_epi16(lanes, _mm256_slli_si256::<2>(lanes));
        let quadruples = _mm256_add_epi16(pairs, _mm256_slli_si256::<4>(pairs));
        let halves = _mm256_add_epi16(quadruples, _mm256_slli_si256::<8>(quadruples));
        let lower = _mm256_permute2x128_si256::<0x08>(halves, halves);
        let last = _mm256_set1_epi16(0x0f0e);
        _mm256_add_epi16(halves, _mm256_shuffle_epi8(lower, last))
    }
}
