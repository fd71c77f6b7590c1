//! The search with AVX-512: up to 32 codes at a time, all their offsets at once, and few branches that depend on the
//! codes.
//!
//! The remainders of such a window are unpacked to lanes of 16 bits and summed by prefix; the positions of the ones
//! among its unary bits give the quotients; the sum of both is compared with the offset sought. Three windows hold
//! nearly every bucket: on average it has 64 codes in 135 (at 1 %) or 160 unary bits (at 0.1 %), and the number of
//! unary bits varies little, as more codes mean smaller quotients. The number of windows is guessed from the offset
//! sought alone, so a branch on it is resolved before any code is decoded. A wrong guess costs time only. Where the
//! loads would leave the payload, and beyond the third window, the portable search takes over.

use super::decode::Bucket;
use super::{Params, View, portable};
use crate::cpu::{Portable, avx512_vbmi2};
use crate::hash::KeyHash;
use core::arch::x86_64::*;

/// Widest remainder: each of 64 unary bits advances by at most 2^r, and 64 · 2⁹ is still far within a lane.
const MAX_REMAINDER_BITS: u32 = 9;
/// Codes of a window, and lanes of a vector.
const LANES: usize = 32;
const WINDOWS: u64 = 3;
const VECTOR_LEN: u64 = 64;
/// Unary bits that one window, and two, nearly always consume, less what their codes deviate from the mean.
const LIKELY_BITS: [u64; 2] = [52, 114];
/// Bytes from that of a bucket's start on which the windows' unary bits are loaded from: each but the last consumes at
/// most 64 bits.
const UNARY_LEN: u64 = WINDOWS * 8;

/// Filters whose remainders and offsets fit a lane. (No bound depends on it: `may_contain` checks loads for any width.)
pub(super) fn suits(params: &Params) -> bool {
    params.remainder_bits() <= MAX_REMAINDER_BITS && params.buckets.range <= 1 << 16
}

avx512_vbmi2! {
    pub(super) fn may_contain(_proof, view: &View<'_>, hash: KeyHash) -> bool {
        let (bucket, sought) = view.layout.params.buckets.locate(hash);
        let Some(bucket) = view.bucket(bucket) else { return true };
        let width = u64::from(bucket.remainder_bits);
        // The lowest load of remainders ends 64 of them below the bucket's end. And what is sought, with one added,
        // must fit a lane.
        let loads_fit = bucket.end >= VECTOR_LEN * 8 + (WINDOWS - 1) * LANES as u64 * width
            && bucket.start / 8 + UNARY_LEN <= bucket.codes.len() as u64;
        if !loads_fit || sought >= u64::from(u16::MAX) {
            return elsewhere(view, hash);
        }
        let bits = view.layout.tuning.unary_bits_before(sought);
        let likely_windows = 1 + LIKELY_BITS.iter().filter(|&&likely| bits >= likely).count();
        // SAFETY: `loads_fit` is the contract's first two conditions; the third, `bucket.end <= 8 * codes.len()`, was
        // checked by `View::bucket` against `codes_end`, which `View::new` compares with the payload's length.
        match unsafe { search(bucket, sought as i64, likely_windows) } {
            Some(answer) => answer,
            None => elsewhere(view, hash),
        }
    }
}

#[repr(C, align(64))]
struct Bytes([u8; 64]);

impl Bytes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(&self) -> __m512i {
        // SAFETY: `Bytes` is 64 bytes, aligned to 64 by its `repr`.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }

    /// Two bytes a lane.
    const fn from_lanes(lanes: [u16; LANES]) -> Self {
        let mut bytes = [0; 64];
        let mut i = 0;
        while i < 64 {
            bytes[i] = (lanes[i / 2] >> (i % 2 * 8)) as u8;
            i += 1;
        }
        Self(bytes)
    }
}

/// How 32 remainders come from the 64 bytes up to the last one's end, the first of them uppermost.
struct Unpack {
    /// For each group of four, the eight bytes that hold it wherever in its byte it starts.
    groups: Bytes,
    /// For each remainder, the bits of its group from which on its lane's two bytes are taken, if the last byte is
    /// full.
    bits: Bytes,
    /// The remainder's bits of a lane.
    mask: u16,
    /// The bits of the remainders that precede a lane's own, which lie between it and the bucket's end.
    below: Bytes,
}

/// By the width of remainders.
static UNPACK: [Unpack; MAX_REMAINDER_BITS as usize + 1] = {
    const NONE: Unpack = Unpack { groups: Bytes([0; 64]), bits: Bytes([0; 64]), mask: 0, below: Bytes([0; 64]) };
    let mut all = [NONE; MAX_REMAINDER_BITS as usize + 1];
    let mut r = 0;
    while r < all.len() {
        let mut below = [0; LANES];
        let mut lane = 0;
        while lane < LANES {
            let group_end = (lane / 4 + 1) * 4;
            let first_byte = (512 - 7 - group_end * r) / 8;
            let bit = 512 - (lane + 1) * r - first_byte * 8;
            let mut byte = 0;
            while byte < 2 {
                all[r].groups.0[lane * 2 + byte] = ((first_byte + lane % 4 * 2 + byte) % 64) as u8;
                all[r].bits.0[lane * 2 + byte] = (bit + 8 * byte) as u8;
                byte += 1;
            }
            below[lane] = (lane * r) as u16;
            lane += 1;
        }
        all[r].mask = (1 << r) - 1;
        all[r].below = Bytes::from_lanes(below);
        r += 1;
    }
    all
};

/// 0, 1, 2, … in bytes.
static IOTA: Bytes = {
    let mut iota = [0; 64];
    let mut i = 0;
    while i < 64 {
        iota[i] = i as u8;
        i += 1;
    }
    Bytes(iota)
};

/// 0, 1, 2, … in lanes.
static LANE_IOTA: Bytes = {
    let mut iota = [0; LANES];
    let mut i = 0;
    while i < LANES {
        iota[i] = i as u16;
        i += 1;
    }
    Bytes::from_lanes(iota)
};

/// Spreads the totals of quadruples of lanes: lane k of a quadruple gets that of quadruple k (`first` 0) or 4 + k
/// (`first` 4) if that one comes before its own. Bytes to take, and a bit for each that is taken.
const fn earlier_totals(first: usize) -> (Bytes, u64) {
    let (mut bytes, mut taken) = ([0; 64], 0);
    let mut i = 0;
    while i < 64 {
        let quadruple = first + i / 2 % 4;
        if quadruple < i / 8 {
            bytes[i] = (quadruple * 8 + 6 + i % 2) as u8;
            taken |= 1 << i;
        }
        i += 1;
    }
    (Bytes(bytes), taken)
}

static EARLIER_LOW: (Bytes, u64) = earlier_totals(0);
static EARLIER_HIGH: (Bytes, u64) = earlier_totals(4);

/// The sums of each lane and those before it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn prefix_sums(lanes: __m512i) -> __m512i {
    let pairs = _mm512_add_epi16(lanes, _mm512_slli_epi64::<16>(lanes));
    let quadruples = _mm512_add_epi16(pairs, _mm512_slli_epi64::<32>(pairs));
    let low = _mm512_maskz_permutexvar_epi8(EARLIER_LOW.1, EARLIER_LOW.0.load(), quadruples);
    let high = _mm512_maskz_permutexvar_epi8(EARLIER_HIGH.1, EARLIER_HIGH.0.load(), quadruples);
    let earlier = _mm512_add_epi16(low, high);
    let earlier = _mm512_add_epi16(earlier, _mm512_rol_epi64::<32>(earlier));
    let earlier = _mm512_add_epi16(earlier, _mm512_rol_epi64::<16>(earlier));
    _mm512_add_epi16(quadruples, earlier)
}

/// Overfull buckets, and those at the ends of a payload.
#[cold]
#[inline(never)]
fn elsewhere(view: &View<'_>, hash: KeyHash) -> bool {
    portable::may_contain(Portable, view, hash)
}

/// `None` if the bucket has codes beyond the third window and `sought` was not found before.
///
/// # Safety
/// `codes` has [`UNARY_LEN`] bytes from that of bit `start` on, and [`VECTOR_LEN`] bytes before the bit that lies two
/// windows of remainders before `end`. `end` is at most `8 * codes.len()`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt,bmi1,bmi2")]
unsafe fn search(bucket: Bucket<'_>, sought: i64, likely_windows: usize) -> Option<bool> {
    let Bucket { codes, start, end, remainder_bits } = bucket;
    let width = u64::from(remainder_bits);
    let unpack = &UNPACK[remainder_bits as usize];
    let (groups, bits, below) = (unpack.groups.load(), unpack.bits.load(), unpack.below.load());
    let mask = _mm512_set1_epi16(unpack.mask as i16);
    let shift = _mm_cvtsi32_si128(remainder_bits as i32);
    let (iota, lane_iota, one) = (IOTA.load(), LANE_IOTA.load(), _mm512_set1_epi16(1));
    let last_lane = _mm512_set1_epi16(0x3f3e);

    let (mut unary, mut remainders, mut zeros) = (start, end, 0);
    // What the remainders of the windows before add, each with the one that its gap is stored less.
    let mut before = _mm512_setzero_si512();
    let mut found = 0;
    for window in 1..=WINDOWS as usize {
        // SAFETY: `unary / 8 + 8 <= start / 8 + UNARY_LEN`, which is within `codes` by this function's contract:
        // `consumed` moves `unary` by at most 8 bytes a window, and UNARY_LEN has 8 for each of WINDOWS.
        let word = unsafe { codes.as_ptr().add((unary / 8) as usize).cast::<u64>().read_unaligned() } >> (unary % 8);
        let ones = u64::from(word.count_ones()).min(LANES as u64);
        // Up to the 32nd one, or all that the load had.
        let consumed = (u64::from(_pdep_u64(1 << (LANES - 1), word).trailing_zeros()) + 1).min(64 - unary % 8);
        let live = _bzhi_u32(u32::MAX, ones as u32);
        let positions = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(word, iota));
        let positions = _mm512_cvtepu8_epi16(positions);
        let quotients = _mm512_sll_epi16(_mm512_sub_epi16(positions, lane_iota), shift);

        let load_end = remainders.div_ceil(8);
        // SAFETY: `VECTOR_LEN <= load_end <= codes.len()` by this function's contract: `remainders` is at most `end`,
        // and at least `end` less the remainders of the windows before, of which there are at most two with LANES each.
        let packed = unsafe { _mm512_loadu_si512(codes.as_ptr().add((load_end - VECTOR_LEN) as usize).cast()) };
        let from = _mm512_sub_epi8(bits, _mm512_set1_epi8((load_end * 8 - remainders) as i8));
        let fields = _mm512_multishift_epi64_epi8(from, _mm512_permutexvar_epi8(groups, packed));
        let gaps = _mm512_maskz_add_epi16(live, _mm512_and_si512(fields, mask), one);
        let sums = prefix_sums(gaps);

        // A code is one only if its one precedes its remainder.
        let room = (remainders as i64 - (unary + width) as i64).clamp(0, i64::from(i16::MAX));
        let ends = _mm512_add_epi16(positions, below);
        let sound = _mm512_mask_cmplt_epi16_mask(live, ends, _mm512_set1_epi16(room as i16));
        // Where nothing is left this is 0, and no lane is.
        let left = (sought + 1 - ((zeros as i64) << remainder_bits)).max(0);
        let left = _mm512_subs_epu16(_mm512_set1_epi16(left as i16), before);
        found |= _mm512_mask_cmpeq_epi16_mask(sound, _mm512_add_epi16(quotients, sums), left);

        before = _mm512_adds_epu16(before, _mm512_permutexvar_epi8(last_lane, sums));
        (unary, remainders, zeros) = (unary + consumed, remainders - ones * width, zeros + consumed - ones);
        if window >= likely_windows {
            let passed = ((zeros as i64) << remainder_bits)
                + i64::from(_mm_cvtsi128_si32(_mm512_castsi512_si128(before)) as u16);
            if (sought < passed) | (unary + width >= remainders) {
                return Some(found != 0);
            }
        }
    }
    None
}
