//! The hash of an entry, which in debug builds knows the hasher that made it.

use super::XXH3_ID;
use crate::error::TransformId;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// The 64-bit hash of an entry.
///
/// Filters assume that all 64 bits are uniform: compute hashes with [`KeyHasher`](crate::KeyHasher), or pass
/// [`KeyHash::from_raw`] a hash of at least its quality.
///
/// A hash belongs to the hasher and to the transform that made it: filters of another seed, secret key or transform
/// deny keys that are stored. In builds with debug assertions a hash therefore carries both, and the first filter or
/// builder that receives it with other ones panics and names both. In other builds nothing is checked.
///
/// Its size is 8 bytes without debug assertions, and larger with them: no code may depend on it, nor reinterpret a
/// slice of hashes as one of integers.
///
/// ```should_panic
/// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHasher};
/// # fn main() -> Result<(), filterblock::BuildError> {
/// # if cfg!(not(debug_assertions)) { panic!("nothing is checked") }
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_seed(1);
/// FilterBlockBuilder::new(&policy).add_hash(KeyHasher::new(2).hash(b"key")); // panics in a debug build
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

/// The mark of a hash: the id of the function, its seed or the id of its secret key, and the transform that makes only
/// entries of this form, if it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) hash_id: u8,
    pub(super) seed: u64,
    pub(super) form: Option<TransformId>,
}

impl KeyHash {
    /// Takes over a hash that was computed elsewhere.
    ///
    /// The caller promises that it is the hash of an entry under the function, seed and secret key of every builder and
    /// every filter that will receive it. Nothing checks this in any build: filters deny stored keys if the promise is
    /// broken.
    #[inline]
    pub const fn from_raw(hash: u64) -> Self {
        Self {
            hash,
            #[cfg(debug_assertions)]
            mark: None,
        }
    }

    /// Returns the 64 bits.
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

    /// Returns the same hash, marked as one of an entry of `form`.
    #[inline(always)]
    pub(crate) fn of_form(self, form: impl FnOnce() -> TransformId) -> Self {
        #[cfg(not(debug_assertions))]
        let (_, hash) = (form, self);
        #[cfg(debug_assertions)]
        let hash = Self { mark: self.mark.map(|mark| Mark { form: Some(form()), ..mark }), ..self };
        hash
    }

    #[cfg(debug_assertions)]
    pub(super) fn check_mark(self, expected: &Mark, forms: [Option<TransformId>; 2]) {
        let Some(found) = self.mark else { return };
        assert!(
            (found.hash_id, found.seed) == (expected.hash_id, expected.seed),
            "a hash made by {found} was given to a filter of {expected}: it would deny keys that are stored"
        );
        if let Some(form) = found.form.filter(|&form| !forms.contains(&Some(form))) {
            let expected = forms[0].unwrap_or(form);
            panic!(
                "the hash of an entry of the transform {form} was given to a filter of {expected}: it would deny keys \
                 that are stored"
            );
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
