//! Hash functions: from an entry's bytes to its 64-bit [`KeyHash`], the only thing that a filter sees of an entry.
//!
//! A store hashes a key once, with one hasher for all its tables, and probes any number of filters with the result.
//! There are two functions:
//!
//! - Seeded one-shot XXH3-64 (`XXH3_64bits_withSeed`, xxHash 0.8 and later), [`KeyHasher::new`]: fast and well
//!   distributed, but not a pseudo-random function. An adversary who may choose keys and knows the seed can construct
//!   absent keys that every filter passes, and entries whose hashes are equal. A secret seed hinders this, but does not
//!   exclude it: pairs of entries are known that have equal hashes under one seed in 2^10.5 (xxHash, issue 1127).
//! - SipHash-1-3 under a secret key of 128 bits, [`KeyHasher::keyed`]: its hashes reveal nothing without the key.
//!   Slower, and a block can be queried for keys only with its secret key.

mod entry_hasher;
mod key_hash;
mod set_seed;
mod siphash;
mod transform;

use crate::bytes;
use crate::error::TransformId;
use core::fmt;
use key_hash::Mark;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

pub use entry_hasher::EntryHasher;
pub use key_hash::KeyHash;
pub(crate) use set_seed::SetSeed;
pub use transform::{CustomTransform, KeyTransform};

/// The format's id of XXH3-64 with a seed.
pub(crate) const XXH3_ID: u8 = 1;
/// The format's id of SipHash-1-3.
pub(crate) const SIPHASH_ID: u8 = 2;

/// The entry whose hash is the id of a secret key.
const KEY_ID_ENTRY: &[u8] = b"filterblock key id";

/// Hashes entries: a function and its seed or secret key. Its `Debug` output does not reveal the key.
///
/// ```
/// use filterblock::KeyHasher;
/// let hasher = KeyHasher::new(42);
/// assert_eq!(hasher.hash(b"row"), hasher.hash(b"row"));
/// assert_ne!(hasher.hash(b"row"), KeyHasher::new(43).hash(b"row"));
/// ```
// Not `Copy`: it may hold a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyHasher {
    /// The seed of XXH3-64, or the id of the secret key.
    seed: u64,
    /// The secret key of SipHash-1-3.
    secret_key: Option<[u64; 2]>,
}

impl KeyHasher {
    /// Returns the hasher of XXH3-64 with the given seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        Self { seed, secret_key: None }
    }

    /// Returns the hasher of SipHash-1-3 under a secret key, for entries that an adversary may choose.
    ///
    /// Draw the key from the operating system's random numbers and keep it where the store keeps its secrets. Blocks do
    /// not contain it, only an id: they open if the key is given by
    /// [`OpenOptions::expect`](crate::OpenOptions::expect).
    ///
    /// ```
    /// use filterblock::{DecodeError, FilterBlockBuilder, OpenOptions};
    /// use filterblock::{FilterKind, FilterPolicy, KeyHasher};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let hasher = KeyHasher::keyed(*b"drawn at random!");
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_hasher(hasher.clone());
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"key");
    /// let block = builder.finish()?;
    /// assert!(OpenOptions::new().expect(&policy).open(&block)?.may_contain(b"key"));
    /// let refused = OpenOptions::new().open(&block).unwrap_err();
    /// assert_eq!(refused, DecodeError::KeyNeeded { key_id: hasher.seed() });
    /// # Ok(())
    /// # }
    /// ```
    pub fn keyed(key: [u8; 16]) -> Self {
        let key = [0, 8].map(|at| bytes::u64_at(&key, at));
        Self { seed: siphash::siphash13(&key, KEY_ID_ENTRY), secret_key: Some(key) }
    }

    /// Returns the format's id of the function: 1 is XXH3-64, 2 is SipHash-1-3.
    #[inline]
    pub const fn hash_id(&self) -> u8 {
        match self.secret_key {
            None => XXH3_ID,
            Some(_) => SIPHASH_ID,
        }
    }

    /// Returns the seed, or the id of the secret key, which does not reveal the key. A block records it beside the
    /// function.
    #[inline]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the hash of `entry`.
    #[inline]
    pub fn hash(&self, entry: &[u8]) -> KeyHash {
        match &self.secret_key {
            None => self.hash_unkeyed(entry),
            Some(key) => KeyHash::marked(siphash::siphash13(key, entry), self.mark()),
        }
    }

    /// Returns [`KeyHasher::hash`] of a hasher without a secret key.
    #[inline(always)]
    pub(crate) fn hash_unkeyed(&self, entry: &[u8]) -> KeyHash {
        debug_assert!(self.secret_key.is_none());
        KeyHash::marked(xxh3_64_with_seed(entry, self.seed), self.mark())
    }

    /// Returns the hash of the entry of a row and a column under
    /// [`KeyTransform::RowColumn`](crate::KeyTransform::RowColumn), without joining them in memory of its own.
    ///
    /// ```
    /// use filterblock::{KeyHasher, KeyTransform};
    /// let (hasher, mut entry) = (KeyHasher::new(42), Vec::new());
    /// KeyTransform::row_column_entry(b"com.example", b"title", &mut entry);
    /// assert_eq!(hasher.hash_row_column(b"com.example", b"title"), hasher.hash(&entry));
    /// ```
    pub fn hash_row_column(&self, row: &[u8], column: &[u8]) -> KeyHash {
        let mut row_len = [0; 4];
        bytes::put_u32(&mut row_len, 0, row.len() as u32);
        self.hash_parts([row, column, &row_len])
    }

    /// Returns the hash of the entry that consists of `parts`, one after the other.
    fn hash_parts(&self, parts: [&[u8]; 3]) -> KeyHash {
        let mut joined = [0; MAX_JOINED_LEN];
        let mut len = 0;
        for part in parts {
            let Some(place) = joined.get_mut(len..).and_then(|rest| rest.get_mut(..part.len())) else {
                return self.hash_long(parts);
            };
            place.copy_from_slice(part);
            len += part.len();
        }
        self.hash(&joined[..len])
    }

    #[cold]
    fn hash_long(&self, parts: [&[u8]; 3]) -> KeyHash {
        let hash = match &self.secret_key {
            None => {
                let mut state = Xxh3::with_seed(self.seed);
                parts.iter().for_each(|part| state.update(part));
                state.digest()
            }
            Some(key) => siphash::siphash13_of_parts(*key, parts),
        };
        KeyHash::marked(hash, self.mark())
    }

    /// Returns the mark of hashes by this hasher in debug builds.
    #[inline]
    const fn mark(&self) -> Mark {
        Mark { hash_id: self.hash_id(), seed: self.seed(), form: None }
    }

    /// Checks, in debug builds only, that `hash` was not made by another hasher, nor from an entry of a form that is
    /// not in `forms`.
    ///
    /// # Panics
    /// If it was made by another hasher: a defect of the caller, which in a release build would deny stored keys.
    #[inline(always)]
    pub(crate) fn check_made(&self, hash: KeyHash, forms: impl Fn() -> [Option<TransformId>; 2]) {
        #[cfg(not(debug_assertions))]
        let _ = (hash, forms);
        #[cfg(debug_assertions)]
        hash.check_mark(&self.mark(), forms());
    }
}

/// The greatest length of entries that are joined on the stack.
const MAX_JOINED_LEN: usize = 256;

/// The hasher of XXH3-64 with seed 0.
impl Default for KeyHasher {
    fn default() -> Self {
        Self::new(0)
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHasher").field("hash_id", &self.hash_id()).field("seed", &self.seed()).finish()
    }
}

/// Maps a uniform 64-bit value to a uniform index below `range`: the upper half of their 128-bit product
/// (Lemire, "Fast random integer generation in an interval", 2019). Monotone in `value`.
#[inline]
pub(crate) const fn fast_range(value: u64, range: u64) -> u64 {
    ((value as u128 * range as u128) >> 64) as u64
}

/// Returns XXH3-64 of a payload.
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

    #[cfg(feature = "std")]
    #[test]
    fn debug_output_does_not_reveal_the_key() {
        let hasher = super::KeyHasher::keyed([0xab; 16]);
        let shown = std::format!("{hasher:?} {hasher:#?} {hasher:x?}");
        assert!(shown.contains(&hasher.seed().to_string()), "{shown}");
        let word = 0xabab_abab_abab_abab_u64;
        assert!(![std::format!("{word}"), std::format!("{word:x}")].iter().any(|key| shown.contains(key)), "{shown}");
    }

    /// Entries are joined on the stack and beyond it, with an empty row, an empty column and both.
    #[cfg(feature = "std")]
    #[test]
    fn rows_and_columns_are_hashed_as_their_joined_entry() {
        use crate::hash::KeyTransform;
        let bytes: std::vec::Vec<u8> = (0..700).map(|i| (157 + 151 * i) as u8).collect();
        let mut entry = std::vec::Vec::new();
        for hasher in [super::KeyHasher::new(7), super::KeyHasher::keyed([7; 16])] {
            for len in (0..300).chain([699]) {
                for row_len in [0, 1, len / 2, len] {
                    let (row, column) = bytes[..len].split_at(row_len.min(len));
                    KeyTransform::row_column_entry(row, column, &mut entry);
                    assert_eq!(hasher.hash_row_column(row, column), hasher.hash(&entry), "{row_len} of {len} bytes");
                }
            }
        }
    }

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
