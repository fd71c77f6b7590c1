//! From an entry's bytes to its 64-bit [`KeyHash`], the only thing a filter ever sees.
//!
//! A store hashes a key once, with one seed for all its tables, and probes any number of filters with the
//! result. The function is one-shot seeded XXH3-64 (`XXH3_64bits_withSeed`, xxHash 0.8 and later). It is fast
//! and well distributed, but no pseudo-random function: who may choose keys and knows the seed can make
//! absent keys that every filter passes. Give each store a random seed and keep it to yourself.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The 64-bit hash of an entry.
///
/// Filters assume uniform bits in all 64 positions, so make hashes with [`KeyHasher`], or pass a hash of
/// at least its quality to [`KeyHash::from_raw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Takes a hash computed elsewhere.
    #[inline]
    pub const fn from_raw(hash: u64) -> Self {
        Self(hash)
    }

    /// The 64 bits.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Hashes entries under one seed.
///
/// ```
/// use filterblock::KeyHasher;
/// let hasher = KeyHasher::new(42);
/// assert_eq!(hasher.hash(b"row"), hasher.hash(b"row"));
/// assert_ne!(hasher.hash(b"row"), KeyHasher::new(43).hash(b"row"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeyHasher {
    seed: u64,
}

impl KeyHasher {
    /// A hasher with the given seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed.
    #[inline]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of `entry`.
    #[inline]
    pub fn hash(&self, entry: &[u8]) -> KeyHash {
        KeyHash(xxh3_64_with_seed(entry, self.seed))
    }
}

/// Maps a uniform 64-bit value to a uniform index below `range`: the upper half of their 128-bit product
/// (Lemire, "Fast random integer generation in an interval", 2019). Monotone in `value`.
#[inline]
pub(crate) const fn fast_range(value: u64, range: u64) -> u64 {
    ((value as u128 * range as u128) >> 64) as u64
}

/// XXH3-64 of a payload.
pub(crate) fn digest(payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, 0)
}

/// A bijection of the 64-bit integers that maps 0 to 0 (the finaliser of MurmurHash3).
pub(crate) const fn mix(mut z: u64) -> u64 {
    z ^= z >> 33;
    z = z.wrapping_mul(0xff51_afd7_ed55_8ccd);
    z ^= z >> 33;
    z = z.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// The inverse of [`mix`].
pub(crate) const fn unmix(mut z: u64) -> u64 {
    z ^= z >> 33;
    z = z.wrapping_mul(0x9cb4_b2f8_1293_37db);
    z ^= z >> 33;
    z = z.wrapping_mul(0x4f74_430c_22a5_4005);
    z ^ (z >> 33)
}

#[cfg(test)]
mod tests {
    use super::{mix, unmix};

    #[test]
    fn unmix_inverts_mix() {
        for i in 0..10_000u64 {
            let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            assert_eq!(unmix(mix(z)), z);
            assert_eq!(mix(unmix(z)), z);
        }
        assert_eq!(mix(0), 0);
    }
}
