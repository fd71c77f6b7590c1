//! The classic Bloom filter: `num_bits` bits, each entry sets `num_probes` of them.
//!
//! Probe *i* of hash *h* is bit ⌊x_i · m / 2⁶⁴⌋ with x_0 = h and x_{i+1} = x_i · A mod 2⁶⁴: a multiplicative
//! congruential generator seeded with the hash, so any m ≥ 1 and any k do, without a division. (Double
//! hashing spends its second hash on a step; that step's small multiples make the probes of small filters
//! collide more often than the exact formula says. The generator's probes follow the formula from one entry
//! on; `tests/format/rates.rs` measures it.) A is from Steele and Vigna, "Computationally easy, spectrally good
//! multipliers for congruential pseudorandom number generators" (2022), table for 64-bit MCGs.

use super::{PARAMS_LEN, check_reserved};
use crate::bits;
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};
use crate::prefetch::prefetch;
use crate::sizing::float::powi;

const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// More probes than this never help within the legal bits per key.
pub(crate) const MAX_PROBES: u32 = 64;
/// 2⁵⁶ bits, so that byte lengths stay far from overflow.
pub(crate) const MAX_BITS: u64 = 1 << 56;

/// Dimensions: stored as `num_probes: u8` at 0, zeros at 1..4, `num_bits: u64` at 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    num_probes: u8,
    num_bits: u64,
}

impl Params {
    /// Refuses what is outside 1 to [`MAX_PROBES`] probes or 1 to [`MAX_BITS`] bits.
    pub(crate) fn new(num_bits: u64, num_probes: u32) -> Result<Self, DecodeError> {
        if !(1..=MAX_PROBES).contains(&num_probes) {
            let (value, max) = (u64::from(num_probes), u64::from(MAX_PROBES));
            return Err(DecodeError::Parameter { name: "num_probes", value, min: 1, max });
        }
        if !(1..=MAX_BITS).contains(&num_bits) {
            return Err(DecodeError::Parameter { name: "num_bits", value: num_bits, min: 1, max: MAX_BITS });
        }
        Ok(Self { num_probes: num_probes as u8, num_bits })
    }

    pub(crate) const fn num_probes(&self) -> u32 {
        self.num_probes as u32
    }

    #[cfg(feature = "std")]
    pub(crate) const fn num_bits(&self) -> u64 {
        self.num_bits
    }

    pub(crate) const fn payload_len(&self) -> u64 {
        self.num_bits.div_ceil(8)
    }

    #[cfg(feature = "std")]
    pub(crate) fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        out[0] = self.num_probes;
        bytes::put_u64(&mut out, 4, self.num_bits);
        out
    }

    pub(crate) fn decode(params: &[u8; PARAMS_LEN], base: u64) -> Result<Self, DecodeError> {
        check_reserved(params, 1..4, base)?;
        Self::new(bytes::u64_at(params, 4), u32::from(params[0]))
    }

    /// The bit positions of `hash`: the one probe sequence, for building and for asking.
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

/// Appends the bits of `hashes` to `out`.
#[cfg(feature = "std")]
pub(crate) fn build(params: &Params, hashes: &[u64], out: &mut std::vec::Vec<u8>) {
    let start = out.len();
    out.resize(start + params.payload_len() as usize, 0);
    let bits = &mut out[start..];
    for &hash in hashes {
        for position in params.positions(KeyHash::from_raw(hash)) {
            bits[(position / 8) as usize] |= 1 << (position % 8);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    params: Params,
    bits: &'a [u8],
}

impl<'a> View<'a> {
    pub(crate) fn new(params: Params, payload: &'a [u8], base: u64) -> Result<Self, DecodeError> {
        let (declared_bytes, actual_bytes) = (params.payload_len(), payload.len() as u64);
        if declared_bytes != actual_bytes {
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
        }
        if let Some(found) = bits::padding(payload, params.num_bits) {
            return Err(DecodeError::Padding { offset_bytes: base + actual_bytes - 1, found });
        }
        Ok(Self { params, bits: payload })
    }

    /// The view over `payload`, which has passed [`View::new`] with these parameters.
    pub(crate) fn with_params(params: Params, payload: &'a [u8]) -> Self {
        Self { params, bits: payload }
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    #[cfg(feature = "std")]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.bits
    }

    #[inline]
    pub(crate) fn may_contain(&self, hash: KeyHash) -> bool {
        // In bounds: a position is below num_bits, and `new` compared num_bits with the slice's length.
        self.params.positions(hash).all(|p| self.bits[(p / 8) as usize] >> (p % 8) & 1 == 1)
    }

    /// Asks for the lines of all probes.
    #[inline]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        self.params.positions(hash).for_each(|p| prefetch(self.bits, (p / 8) as usize));
    }

    pub(crate) fn num_bits_set(&self) -> u64 {
        self.bits.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    pub(crate) fn fill(&self) -> f64 {
        self.num_bits_set() as f64 / self.params.num_bits as f64
    }

    /// (X / m)^k: each of an absent key's probes is uniform over the bits.
    pub(crate) fn predicted_fpr(&self) -> f64 {
        powi(self.fill(), self.params.num_probes())
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{MAX_PROBES, Params, View, build};
    use crate::hash::{KeyHash, mix};
    use crate::sizing::bloom::exact_false_positive_rate;

    /// Any number of bits, also odd ones, with any number of probes: nothing is missing, nothing stands behind the
    /// last bit, and over many filters absent keys pass at the exact formula's rate.
    #[test]
    fn any_number_of_bits_and_probes_will_do() {
        for num_bits in [1, 2, 7, 8, 9, 61, 64, 101, 1_000, 10_007] {
            for num_probes in [1, 2, 3, 7, 20, MAX_PROBES] {
                let params = Params::new(num_bits, num_probes).expect("legal");
                let num_entries = num_bits / 10 + 1;
                let (mut passed, mut filters, mut squares) = (0.0, 0.0, 0.0);
                for round in 0..200 {
                    let hashes: Vec<u64> = (0..num_entries).map(|i| mix(1 + i + round * 1_000_003)).collect();
                    let mut payload = Vec::new();
                    build(&params, &hashes, &mut payload);
                    let view = View::new(params, &payload, 0).expect("no bit behind the last");
                    assert!(hashes.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash))));
                    let absent =
                        (0..500).filter(|i| view.may_contain(KeyHash::from_raw(mix(!(i + round * 500))))).count();
                    let share = absent as f64 / 500.0;
                    (passed, filters, squares) = (passed + share, filters + 1.0, squares + share * share);
                }
                let exact = exact_false_positive_rate(num_bits, num_entries, num_probes);
                let mean = passed / filters;
                let sigma =
                    ((squares / filters - mean * mean) / filters).sqrt().max((exact / (filters * 500.0)).sqrt());
                assert!((mean - exact).abs() <= 4.0 * sigma, "{params:?}: {mean} passed, {exact} expected, ± {sigma}");
            }
        }
    }
}
