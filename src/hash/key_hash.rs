//! The hash of an entry, which in debug builds knows the hasher that made it.

use super::XXH3_ID;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// The 64-bit hash of an entry.
///
/// Filters assume that all 64 bits are uniform: compute hashes with [`KeyHasher`](crate::KeyHasher), or pass
/// [`KeyHash::from_raw`] a hash of at least its quality.
///
/// A hash belongs to the hasher that made it: under another seed or secret key, filters deny keys that are stored. In
/// builds with debug assertions a hash therefore knows its hasher, and the first filter or builder of another hasher
/// that it is given to panics with both seeds. In other builds it is 64 bits, and nothing is checked.
///
/// ```should_panic
/// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHasher};
/// # fn main() -> Result<(), filterblock::BuildError> {
/// # if cfg!(not(debug_assertions)) { panic!("nothing is checked") }
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.seed(1);
/// FilterBlockBuilder::new(policy).add_hash(KeyHasher::new(2).hash(b"key")); // panics in a debug build
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
#[cfg_attr(not(debug_assertions), repr(transparent))]
pub struct KeyHash {
    hash: u64,
    #[cfg(debug_assertions)]
    mark: Option<Mark>,
}

/// What a hasher is recognised by: the id of its function, and its seed or the id of its secret key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) hash_id: u8,
    pub(super) seed: u64,
}

impl KeyHash {
    /// Takes over a hash that was computed elsewhere.
    ///
    /// The caller promises that it is the hash of an entry under the function, seed and secret key of every builder and
    /// every filter that it will be given to. Nothing checks this, in any build: where it is not so, filters deny keys
    /// that are stored.
    #[inline]
    pub const fn from_raw(hash: u64) -> Self {
        Self {
            hash,
            #[cfg(debug_assertions)]
            mark: None,
        }
    }

    /// The 64 bits.
    #[inline]
    pub const fn get(self) -> u64 {
        self.hash
    }

    #[inline(always)]
    pub(super) const fn marked(hash: u64, mark: Mark) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = mark;
        Self {
            hash,
            #[cfg(debug_assertions)]
            mark: Some(mark),
        }
    }

    #[inline(always)]
    pub(super) fn check_mark(self, expected: Mark) {
        #[cfg(not(debug_assertions))]
        let _ = expected;
        #[cfg(debug_assertions)]
        if let Some(found) = self.mark.filter(|&found| found != expected) {
            panic!("a hash made by {found} was given to a filter of {expected}: it would deny keys that are stored");
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = if self.hash_id == XXH3_ID { "XXH3 with the seed" } else { "SipHash under the secret key" };
        write!(f, "{function} {:#018x}", self.seed)
    }
}

impl PartialEq for KeyHash {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for KeyHash {}

impl PartialOrd for KeyHash {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyHash {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.hash.cmp(&other.hash)
    }
}

impl Hash for KeyHash {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHash({:#018x})", self.hash)
    }
}
