//! The classic Bloom filter: an array of `num_bits` bits, of which each entry sets `num_probes` (B. H. Bloom,
//! *Space/time trade-offs in hash coding with allowable errors*, CACM 13, 1970).
//!
//! `format/bloom.md` states the bytes. This kind is the reference for the others, and the only one whose
//! filters can be combined: the OR of two arrays of equal shape is the filter of the union, and the number of set bits
//! estimates the number of entries (`filter/combine.rs`).
//!
//! # What is stored, and why a query is right
//!
//! The builder sets the bits of every entry and clears none. A query computes the same positions (one function serves
//! both, [`Params::positions`]) and passes a hash if all of its bits are set. So an entry always passes. An absent hash
//! passes if its bits happen to be set by others: (X/m)^k for k probes if X of the m bits are set.
//!
//! # Why it is as small as it is
//!
//! With c bits an entry the rate is close to (1 − e^(−k/c))^k, which is least near k = c · ln 2, where half of the bits
//! are set. Then c = 1.44 · log₂(1/p): 44 % above the least possible size, at every rate. Independent uniform positions
//! cannot do better. `blocked` chooses among several sets of positions, and the other kinds do not set bits.
//!
//! `sizing` computes the exact rate (Bose et al. 2008, Christensen et al. 2010), the familiar approximation,
//! which is too low for small arrays, and an upper bound. A plan by rate adds the few bytes that a small array needs to
//! meet it exactly (`plan.rs`).
//!
//! # The probes
//!
//! Probe *i* of hash *h* is bit ⌊x_i · m / 2⁶⁴⌋ with x_0 = h and x_{i+1} = x_i · A mod 2⁶⁴: a multiplicative
//! congruential generator whose seed is the hash. So every m ≥ 1 and every k will do, and no division is needed. A is
//! from G. Steele and S. Vigna, *Computationally easy, spectrally good multipliers for congruential pseudorandom number
//! generators* (2022), table for 64-bit generators of this form.
//!
//! Double hashing, plain or enhanced, was the alternative. It spends half of its hash on a step, and the small
//! multiples of that step make the probes of small filters collide more often than the exact formula states. The
//! generator's probes follow the formula from one entry on, for any number of bits and probes; `tests/format/rates.rs`
//! measures it.
//!
//! # Why a query is fast
//!
//! Most absent keys need few of their bits: with half of the bits set, one in sixteen passes four. So a query tests
//! four bits before its first branch, which is then seldom mispredicted, and the others before its second. A branch
//! after each bit would be mispredicted as often as not. Eight probes in a vector, whose bits one gather loads, were
//! tried and removed: on a Zen 5 processor with AVX-512 the plain code takes .74 of that time for an absent key among
//! ten thousand, .67 among a million, and .71 and .80 where the caller branches on the answer. Batches alone lost, 1.12
//! and 1.01. The kind needs neither engines nor unsafe code now. Beyond the caches each probe may cost a line of
//! memory: batches prefetch the lines of the first four, and `blocked` exists for this reason.
//!
//! # How the builder works
//!
//! Hashes are inserted in any order, 32 at a time: positions are computed and their lines prefetched first, and then
//! the bits are set (`build.rs`). Without the self-check, paired with the code that prefetched key by key, 10 bits an
//! entry take .89 of the time at ten thousand entries, .77 at a million and .65 at ten million. The numbers of probes
//! for 10, 12 and 16 bits are compiled in, which is a sixth faster. A repeated hash finds all of its bits already set:
//! hashes that do are suspects, and only these are looked up among the others. Arrays of 16 MiB and more are built window
//! by window (`parted.rs`).

#[cfg(feature = "std")]
mod build;
#[cfg(feature = "std")]
mod parted;
#[cfg(feature = "std")]
mod plan;
mod probe;
pub(crate) mod sizing;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::combine::BitArray;
use super::seam::{KindParams, KindView, PARAMS_LEN, StoredParams};
use super::trailer::Trailer;
use crate::bits;
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};
use crate::math::float::powi;
use sizing::MAX_NUM_PROBES;

const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// The greatest number of bits, 2⁵⁶, so that byte lengths stay far from overflow.
const MAX_BITS: u64 = 1 << 56;

/// Dimensions: stored as `num_probes: u8` at 0, zeros at 1..4, `num_bits: u64` at 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    num_probes: u8,
    num_bits: u64,
}

impl Params {
    /// Refuses numbers outside 1 to [`MAX_NUM_PROBES`] probes or 1 to [`MAX_BITS`] bits.
    fn new(num_bits: u64, num_probes: u32) -> Result<Self, DecodeError> {
        DecodeError::check_params(&[
            ("num_probes", num_probes.into(), 1, MAX_NUM_PROBES.into()),
            ("num_bits", num_bits, 1, MAX_BITS),
        ])?;
        Ok(Self { num_probes: num_probes as u8, num_bits })
    }

    const fn num_probes(&self) -> u32 {
        self.num_probes as u32
    }

    const fn payload_len(&self) -> u64 {
        self.num_bits.div_ceil(8)
    }

    /// Returns the bit positions of `hash`: the probe sequence for building and for querying.
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

/// A compact frame stores `num_probes: u8`; `num_bits` is 8 for each byte of the payload.
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

    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        out[0] = self.num_probes;
        bytes::put_u64(&mut out, 4, self.num_bits);
        out
    }

    fn encode_trailer(&self, out: &mut impl Extend<u8>) {
        out.extend([self.num_probes]);
    }
}

/// The layout: without its bits, a filter has only parameters.
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
        DecodeError::check_len(params.payload_len(), payload.len() as u64)?;
        if let Some(found) = bits::padding(payload, params.num_bits) {
            return Err(DecodeError::Padding { offset_bytes: base + payload.len() as u64 - 1, found });
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

    fn bit_array(&self) -> Option<BitArray<'a>> {
        let Params { num_bits, .. } = *self.params();
        Some(BitArray { num_bits, num_probes: self.params().num_probes(), bytes: self.bits })
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
