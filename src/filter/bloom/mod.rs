//! The classic Bloom filter: `num_bits` bits, each entry sets `num_probes` of them.
//!
//! Probe *i* of hash *h* is bit ⌊x_i · m / 2⁶⁴⌋ with x_0 = h and x_{i+1} = x_i · A mod 2⁶⁴: a multiplicative
//! congruential generator seeded with the hash, so any m ≥ 1 and any k do, without a division. (Double
//! hashing spends its second hash on a step; that step's small multiples make the probes of small filters
//! collide more often than the exact formula says. The generator's probes follow the formula from one entry
//! on; `tests/format/rates.rs` measures it.) A is from Steele and Vigna, "Computationally easy, spectrally good
//! multipliers for congruential pseudorandom number generators" (2022), table for 64-bit MCGs.

#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
mod engine;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod guard_pages;
mod portable;

use self::engine::Engine;
use super::{PARAMS_LEN, check_reserved};
use crate::bits;
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};
#[cfg(feature = "std")]
use crate::hashes::{Repeated, check_suspects};
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

    /// The bit positions of `hash`: the probe sequence, for building and for asking.
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
///
/// # Errors
/// [`Repeated`] if a hash occurs twice; then `out` may have grown.
#[cfg(feature = "std")]
pub(crate) fn build(params: &Params, hashes: &[u64], out: &mut std::vec::Vec<u8>) -> Result<(), Repeated> {
    let start = out.len();
    out.resize(start + params.payload_len() as usize, 0);
    let bits = &mut out[start..];
    // Who came twice had all bits set at the second.
    let mut suspects = std::vec::Vec::new();
    // The best numbers at 10, 12 and 16 bits an entry, known when compiling: a sixth faster.
    match params.num_probes {
        7 => insert(Params { num_probes: 7, ..*params }, bits, hashes, &mut suspects),
        8 => insert(Params { num_probes: 8, ..*params }, bits, hashes, &mut suspects),
        11 => insert(Params { num_probes: 11, ..*params }, bits, hashes, &mut suspects),
        _ => insert(*params, bits, hashes, &mut suspects),
    }
    check_suspects(hashes, &mut suspects)
}

/// Sets the bits of `hashes` and appends to `present` those that had all of theirs set before.
#[cfg(feature = "std")]
#[inline(always)]
fn insert(params: Params, bits: &mut [u8], hashes: &[u64], present: &mut std::vec::Vec<u64>) {
    for &hash in hashes {
        let mut missing = 0;
        for position in params.positions(KeyHash::from_raw(hash)) {
            let (byte, bit) = (&mut bits[(position / 8) as usize], 1u8 << (position % 8));
            missing |= bit & !*byte;
            *byte |= bit;
        }
        if missing == 0 {
            present.push(hash);
        }
    }
}

/// What a view has beside the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    engine: Engine,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    layout: Layout,
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
        Ok(Self { layout: Layout { params, engine: Engine::best(&params) }, bits: payload })
    }

    /// The view over `payload`, which has passed [`View::new`] with this layout. Its length is compared again: probes
    /// without bounds checks rely on it.
    pub(crate) fn with_layout(layout: Layout, payload: &'a [u8]) -> Self {
        assert_eq!(payload.len() as u64, layout.params.payload_len(), "the bytes of a filter changed their length");
        Self { layout, bits: payload }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn params(&self) -> &Params {
        &self.layout.params
    }

    #[cfg(feature = "std")]
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.bits
    }

    #[inline(always)]
    pub(crate) fn may_contain(&self, hash: KeyHash) -> bool {
        self.layout.engine.may_contain(self.params(), self.bits, hash)
    }

    /// An answer for each hash.
    pub(crate) fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        self.layout.engine.all_may_contain(self.params(), self.bits, hashes, answers);
    }

    /// Whether prefetching gains anything across filters.
    #[inline]
    pub(crate) fn gains_by_prefetch(&self) -> bool {
        self.layout.engine.gains_by_prefetch()
    }

    /// Prefetches the lines of the first probes.
    #[inline]
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        portable::prefetch_first(self.params(), self.bits, hash);
    }

    pub(crate) fn num_bits_set(&self) -> u64 {
        self.bits.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    pub(crate) fn fill(&self) -> f64 {
        self.num_bits_set() as f64 / self.params().num_bits as f64
    }

    /// (X / m)^k: each of an absent key's probes is uniform over the bits.
    pub(crate) fn predicted_fpr(&self) -> f64 {
        powi(self.fill(), self.params().num_probes())
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{DecodeError, Engine, MAX_PROBES, Params, Repeated, View, build, insert};
    use crate::hash::{KeyHash, mix};
    use crate::sizing::bloom::exact_false_positive_rate;

    /// One bit is set by the first of all: from then on every hash finds its bits set, and only one that came twice is
    /// told.
    #[test]
    fn a_repeated_hash_is_told_though_its_first_found_every_bit_set() {
        let params = Params::new(1, 1).expect("legal");
        for count in [2, 3, 10, 300] {
            let distinct: Vec<u64> = (1..=count).map(mix).collect();
            assert_eq!(build(&params, &distinct, &mut Vec::new()), Ok(()), "{count}");
            for again in 0..distinct.len() {
                let hashes = [&distinct[..], &distinct[again..=again]].concat();
                assert_eq!(build(&params, &hashes, &mut Vec::new()), Err(Repeated), "{count}, again {again}");
            }
        }
    }

    /// Who comes twice is searched among all, so only who found every bit set is to be suspected.
    #[test]
    fn only_who_finds_every_bit_set_is_suspected() {
        let params = Params::new(1_000, 7).expect("legal");
        let (mut bits, mut present) = (vec![0; 125], Vec::new());
        let [first, second, third] = [1, 2, 3].map(mix);
        insert(params, &mut bits, &[first, second, first, third, second], &mut present);
        assert_eq!(present, [first, second]);
    }

    #[test]
    fn a_bit_behind_the_last_is_named_by_its_place() {
        let params = Params::new(61, 3).expect("legal");
        assert!(View::new(params, &[0xff; 8], 100).is_err());
        let error = View::new(params, &[0, 0, 0, 0, 0, 0, 0, 0x20], 100).expect_err("bit 61");
        assert_eq!(error, DecodeError::Padding { offset_bytes: 107, found: 0x20 });
        assert!(View::new(params, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f], 100).is_ok());
    }

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
                    build(&params, &hashes, &mut payload).expect("distinct");
                    let view = View::new(params, &payload, 0).expect("no bit behind the last");
                    assert!(hashes.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash))));
                    let absent = (0..500)
                        .filter(|i| {
                            let hash = KeyHash::from_raw(mix(!(i + round * 500)));
                            let answer = view.may_contain(hash);
                            for engine in Engine::all(&params) {
                                assert_eq!(
                                    engine.may_contain(&params, &payload, hash),
                                    answer,
                                    "{engine:?} {params:?}"
                                );
                            }
                            answer
                        })
                        .count();
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
