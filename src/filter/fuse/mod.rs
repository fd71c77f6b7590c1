//! Binary fuse filter of four slots a key, with fingerprints of any number of bits
//! (Graf, Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters", 2022).
//!
//! A table of *slots* of *f* bits, cut into *segments*. A hash has four slots, one in each of four neighbouring
//! segments, and a *fingerprint* of *f* bits; the builder fills the table so that the four slots of every entry add up
//! (XOR) to its fingerprint. A query reads four slots, wherever it ends, and compares. An absent hash passes if its
//! fingerprint agrees by chance: 2⁻ᶠ, whatever the entries are.
//!
//! Slots are packed without gaps. At the payload's end there are as many zero bytes as let a query read eight bytes
//! from the first one of any slot.

#[cfg(feature = "std")]
mod build;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod guard_pages;
#[cfg(feature = "std")]
mod peel;
#[cfg(feature = "std")]
mod plan;
pub mod sizing;
mod slots;
#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{KindParams, KindView, PARAMS_LEN, StoredParams, in_batches};
use super::trailer::Trailer;
use crate::bytes;
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use sizing::{MAX_FINGERPRINT_BITS, MAX_LOG2_SEGMENT_LEN, MAX_SEEDS};
use slots::{Slots, fingerprint};

/// Slots of a hash.
const ARITY: usize = 4;
/// Bytes that are read for a slot, from its first one on: more than its bits and those before them in that byte take.
const WORD_LEN: u64 = 8;

/// Dimensions: stored as `fingerprint_bits: u8` at 0, `log2_segment_len: u8` at 1, `seed: u8` at 2, zero at 3,
/// `num_segments: u32` at 4, zeros at 8..12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    fingerprint_bits: u8,
    log2_segment_len: u8,
    /// Seeds that failed.
    seed: u8,
    /// Segments that hashes start in; three more follow.
    num_segments: u32,
}

/// In a compact frame: `num_segments` without its leading zero bytes, `seed`, `fingerprint_bits`, and a byte of
/// `log2_segment_len` in the upper five bits and the length of `num_segments` in the lower three.
impl KindParams for Params {
    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(3..4)?;
        stored.check_reserved(8..PARAMS_LEN)?;
        let [fingerprint_bits, log2_segment_len, seed] = [0, 1, 2].map(|i| stored.bytes[i]);
        Self::new(fingerprint_bits, log2_segment_len, seed, bytes::u32_at(stored.bytes, 4).into())
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let lens = trailer.pop()?;
        let (fingerprint_bits, seed) = (trailer.pop()?, trailer.pop()?);
        let num_segments = trailer.pop_short(lens & 7)?;
        Self::new(fingerprint_bits, lens >> 3, seed, num_segments)
    }

    #[cfg(feature = "std")]
    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1], out[2]) = (self.fingerprint_bits, self.log2_segment_len, self.seed);
        bytes::put_u32(&mut out, 4, self.num_segments);
        out
    }

    #[cfg(feature = "std")]
    fn encode_trailer(&self, out: &mut std::vec::Vec<u8>) {
        let len = bytes::push_short(out, self.num_segments.into());
        out.extend([self.seed, self.fingerprint_bits, self.log2_segment_len << 3 | len]);
    }
}

impl Params {
    fn new(fingerprint_bits: u8, log2_segment_len: u8, seed: u8, num_segments: u64) -> Result<Self, DecodeError> {
        for (name, value, min, max) in [
            ("fingerprint_bits", u64::from(fingerprint_bits), 1, u64::from(MAX_FINGERPRINT_BITS)),
            ("log2_segment_len", u64::from(log2_segment_len), 0, u64::from(MAX_LOG2_SEGMENT_LEN)),
            ("seed", u64::from(seed), 0, u64::from(MAX_SEEDS - 1)),
            ("num_segments", num_segments, 1, u64::from(u32::MAX)),
        ] {
            if !(min..=max).contains(&value) {
                return Err(DecodeError::Parameter { name, value, min, max });
            }
        }
        Ok(Self { fingerprint_bits, log2_segment_len, seed, num_segments: num_segments as u32 })
    }

    /// At least 4 and below 2⁵¹, so that all that is computed from it is far from overflow.
    const fn num_slots(&self) -> u64 {
        (self.num_segments as u64 + ARITY as u64 - 1) << self.log2_segment_len
    }

    /// Bits that slots take.
    const fn num_bits(&self) -> u64 {
        self.num_slots() * self.fingerprint_bits as u64
    }

    /// Up to the last byte that is read for the last slot.
    const fn payload_len(&self) -> u64 {
        (self.num_bits() - self.fingerprint_bits as u64) / 8 + WORD_LEN
    }
}

/// Where slots are: what is known of a filter without its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    slots: Slots,
    payload_len: u64,
    fingerprint_mask: u32,
    fingerprint_bits: u32,
}

impl Layout {
    fn new(params: Params) -> Self {
        let fingerprint_bits = params.fingerprint_bits.into();
        let fingerprint_mask = u32::MAX >> (u32::BITS - fingerprint_bits);
        let (slots, payload_len) = (Slots::new(&params), params.payload_len());
        Self { params, slots, payload_len, fingerprint_mask, fingerprint_bits }
    }

    /// Byte and bit of that byte at which `slot` begins.
    #[inline(always)]
    fn place(&self, slot: u64) -> (usize, u32) {
        let bit = slot * u64::from(self.fingerprint_bits);
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    /// Whether the sum of the four slots of `hash` is its fingerprint.
    #[inline(always)]
    fn may_contain(&self, payload: &[u8], hash: KeyHash) -> bool {
        match self.fingerprint_bits {
            8 => self.may_contain_in_bytes(payload, hash),
            _ => self.may_contain_called(payload, hash),
        }
    }

    /// Out of line: slots of whole bytes need few registers, so none are saved for them.
    #[inline(never)]
    fn may_contain_called(&self, payload: &[u8], hash: KeyHash) -> bool {
        self.may_contain_in_bits(payload, hash)
    }

    /// For slots of whole bytes.
    #[inline(always)]
    fn may_contain_in_bytes(&self, payload: &[u8], hash: KeyHash) -> bool {
        self.agrees(hash, |slot| payload.get(slot as usize).copied().map(u32::from))
    }

    /// For slots of any length.
    #[inline(always)]
    fn may_contain_in_bits(&self, payload: &[u8], hash: KeyHash) -> bool {
        self.agrees(hash, |slot| {
            let (at, shift) = self.place(slot);
            // One comparison: the index is far from overflow.
            let word = payload.get(at..at + WORD_LEN as usize)?.first_chunk().copied()?;
            Some((bytes::u64_from(word) >> shift) as u32)
        })
    }

    /// Whether the sum of what `read` gives for the four slots of `hash` is its fingerprint, in the bits that count. It
    /// is if one is beyond the payload, as none is in one of the layout's length.
    #[inline(always)]
    fn agrees(&self, hash: KeyHash, read: impl Fn(u64) -> Option<u32>) -> bool {
        let seeded = self.slots.seeded(hash.get());
        let sum = self.slots.of(seeded).into_iter().try_fold(fingerprint(seeded), |sum, slot| Some(sum ^ read(slot)?));
        sum.is_none_or(|sum| sum & self.fingerprint_mask == 0)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    layout: &'a Layout,
    payload: &'a [u8],
}

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        let (declared_bytes, actual_bytes) = (params.payload_len(), payload.len() as u64);
        if declared_bytes != actual_bytes {
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
        }
        // At most eight bytes, of which the first may hold bits of the last slot.
        let used = params.num_bits();
        let is_unused = |at: u64| payload[at as usize] >> if at == used / 8 { used % 8 } else { 0 } != 0;
        if let Some(at) = (used / 8..actual_bytes).find(|&at| is_unused(at)) {
            return Err(DecodeError::Padding { offset_bytes: base + at, found: payload[at as usize] });
        }
        Ok(Layout::new(params))
    }

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 == layout.payload_len, "the bytes of a filter changed their length");
        Self { layout, payload }
    }

    fn params(&self) -> &Params {
        &self.layout.params
    }

    #[inline(always)]
    fn may_contain(&self, hash: KeyHash) -> bool {
        self.layout.may_contain(self.payload, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        let (Self { layout, payload }, prefetch) = (*self, |hash| self.prefetch(hash));
        match layout.fingerprint_bits {
            8 => in_batches(payload, hashes, answers, prefetch, |hash| layout.may_contain_in_bytes(payload, hash)),
            _ => in_batches(payload, hashes, answers, prefetch, |hash| layout.may_contain_in_bits(payload, hash)),
        }
    }

    /// Prefetches the lines in which the four slots begin.
    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        let slots = self.layout.slots.of(self.layout.slots.seeded(hash.get()));
        slots.into_iter().for_each(|slot| prefetch(self.payload, self.layout.place(slot).0));
    }

    /// An absent hash agrees with a fingerprint of *f* bits by 2⁻ᶠ, and its fingerprint depends on none of its slots.
    fn predicted_fpr(&self) -> f64 {
        sizing::false_positive_rate(self.layout.fingerprint_bits)
    }

    /// The share of the slots' bits that are set.
    fn fill(&self) -> f64 {
        let num_set: u64 = self.payload.iter().map(|byte| u64::from(byte.count_ones())).sum();
        num_set as f64 / self.layout.params.num_bits() as f64
    }
}
