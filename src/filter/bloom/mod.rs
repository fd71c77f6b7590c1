//! The classic Bloom filter: `num_bits` bits, each entry sets `num_probes` of them.
//!
//! Probe *i* of hash *h* is bit ⌊x_i · m / 2⁶⁴⌋ with x_0 = h and x_{i+1} = x_i · A mod 2⁶⁴: a multiplicative
//! congruential generator seeded with the hash, so any m ≥ 1 and any k do, without a division. (Double
//! hashing spends its second hash on a step; that step's small multiples make the probes of small filters
//! collide more often than the exact formula says. The generator's probes follow the formula from one entry
//! on; `tests/format/rates.rs` measures it.) A is from Steele and Vigna, "Computationally easy, spectrally good
//! multipliers for congruential pseudorandom number generators" (2022), table for 64-bit MCGs.

#[cfg(feature = "std")]
mod build;
#[cfg(feature = "std")]
mod plan;
mod probe;
pub mod sizing;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{KindParams, KindView, StoredParams};
use super::trailer::Trailer;
use crate::bits;
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};
use crate::math::float::powi;
use sizing::MAX_NUM_PROBES;

#[cfg(feature = "std")]
use super::combine::BitArray;
#[cfg(feature = "std")]
use super::seam::PARAMS_LEN;

const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// 2⁵⁶ bits, so that byte lengths stay far from overflow.
const MAX_BITS: u64 = 1 << 56;

/// Dimensions: stored as `num_probes: u8` at 0, zeros at 1..4, `num_bits: u64` at 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    num_probes: u8,
    num_bits: u64,
}

impl Params {
    /// Refuses what is outside 1 to [`MAX_NUM_PROBES`] probes or 1 to [`MAX_BITS`] bits.
    fn new(num_bits: u64, num_probes: u32) -> Result<Self, DecodeError> {
        if !(1..=MAX_NUM_PROBES).contains(&num_probes) {
            let (value, max) = (u64::from(num_probes), u64::from(MAX_NUM_PROBES));
            return Err(DecodeError::Parameter { name: "num_probes", value, min: 1, max });
        }
        if !(1..=MAX_BITS).contains(&num_bits) {
            return Err(DecodeError::Parameter { name: "num_bits", value: num_bits, min: 1, max: MAX_BITS });
        }
        Ok(Self { num_probes: num_probes as u8, num_bits })
    }

    const fn num_probes(&self) -> u32 {
        self.num_probes as u32
    }

    const fn payload_len(&self) -> u64 {
        self.num_bits.div_ceil(8)
    }

    /// The bit positions of `hash`: the probe sequence, of building and of querying.
    #[inline]
    fn positions(self, hash: KeyHash) -> impl Iterator<Item = u64> {
        let mut x = hash.get();
        (0..self.num_probes).map(move |_| {
            let position = fast_range(x, self.num_bits);
            x = x.wrapping_mul(MULTIPLIER);
            position
        })
    }
}

/// In a compact frame: `num_probes: u8`; `num_bits` is 8 for each byte of the payload.
impl KindParams for Params {
    const COMBINES: bool = true;

    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(1..4)?;
        Self::new(bytes::u64_at(stored.bytes, 4), u32::from(stored.bytes[0]))
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let num_probes = u32::from(trailer.pop()?);
        Self::new(trailer.payload_len() * 8, num_probes)
    }

    #[cfg(feature = "std")]
    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        out[0] = self.num_probes;
        bytes::put_u64(&mut out, 4, self.num_bits);
        out
    }

    #[cfg(feature = "std")]
    fn encode_trailer(&self, out: &mut std::vec::Vec<u8>) {
        out.push(self.num_probes);
    }
}

/// Nothing else is known of a filter without its bits.
pub(crate) type Layout = Params;

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    params: &'a Params,
    bits: &'a [u8],
}

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], base: u64) -> Result<Params, DecodeError> {
        let (declared_bytes, actual_bytes) = (params.payload_len(), payload.len() as u64);
        if declared_bytes != actual_bytes {
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
        }
        if let Some(found) = bits::padding(payload, params.num_bits) {
            return Err(DecodeError::Padding { offset_bytes: base + actual_bytes - 1, found });
        }
        Ok(params)
    }

    #[inline(always)]
    fn new(params: &'a Params, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 == params.payload_len(), "the bytes of a filter changed their length");
        Self { params, bits: payload }
    }

    fn params(&self) -> &Params {
        self.params
    }

    #[inline(always)]
    fn may_contain(&self, hash: KeyHash) -> bool {
        probe::may_contain(self.params, self.bits, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        probe::all_may_contain(self.params, self.bits, hashes, answers);
    }

    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        probe::prefetch_first(self.params, self.bits, hash);
    }

    fn fill(&self) -> f64 {
        let num_bits_set: u64 = self.bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        num_bits_set as f64 / self.params().num_bits as f64
    }

    /// (X / m)^k: each of an absent key's probes is uniform over the bits.
    fn predicted_fpr(&self) -> f64 {
        powi(self.fill(), self.params().num_probes())
    }

    fn num_probes(&self) -> Option<u32> {
        Some(self.params().num_probes())
    }

    #[cfg(feature = "std")]
    fn bit_array(&self) -> Option<BitArray<'a>> {
        let Params { num_bits, .. } = *self.params();
        Some(BitArray { num_bits, num_probes: self.params().num_probes(), bytes: self.bits })
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
