//! [`FilterPolicy`]: kind, size, seed, transform.

use super::KeyTransform;
use crate::error::BuildError;
use crate::hash::KeyHasher;
use crate::kind::FilterKind;
use crate::sizing;

/// Legal sizes in thousandths of a bit per key.
pub(crate) const MIN_MILLIBITS: u32 = 2_000;
pub(crate) const MAX_MILLIBITS: u32 = 64_000;

/// How large a filter is to be. Made by [`FilterPolicy`]'s constructors, which check the range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterSize {
    /// Thousandths of a bit for each distinct entry, the block's header included: 10 000 is 10 bits per key.
    MillibitsPerKey(u32),
    /// The smallest block whose expected false-positive rate is at most this; 0.01 is one per cent.
    FalsePositiveRate(f64),
    /// At most so many bytes, header included; never more than 64 bits per key.
    MaxBytes(u64),
}

/// What a builder needs to know.
///
/// ```
/// use filterblock::{FilterKind, FilterPolicy, KeyTransform};
///
/// # fn main() -> Result<(), filterblock::BuildError> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 9.9)?
///     .seed(0x5eed)
///     .transform(KeyTransform::RowColumn);
/// assert_eq!(policy.kind(), FilterKind::Blocked);
///
/// let refused = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 1.5).unwrap_err();
/// assert!(refused.to_string().contains("legal range"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterPolicy {
    kind: FilterKind,
    size: FilterSize,
    /// For a size by rate: thousandths of a bit an entry, and probes, that meet it.
    solution: (u32, u32),
    salt_bits: u32,
    hasher: KeyHasher,
    transform: KeyTransform,
    self_check: bool,
}

impl FilterPolicy {
    /// Salts tried for each word of a blocked filter unless [`FilterPolicy::salt_bits`] says otherwise: 2³.
    pub const DEFAULT_SALT_BITS: u32 = 3;

    fn new(kind: FilterKind, size: FilterSize) -> Self {
        let salt_bits = Self::DEFAULT_SALT_BITS;
        let solution = Self::solve(kind, size, salt_bits);
        Self {
            kind,
            size,
            solution,
            salt_bits,
            hasher: KeyHasher::new(0),
            transform: KeyTransform::WholeKey,
            self_check: true,
        }
    }

    /// A filter of `bits_per_key` bits for each distinct entry, 2 to 64, kept to a thousandth.
    ///
    /// The header's 64 bytes are paid for out of this, up to one part in 64: very small blocks come out larger.
    ///
    /// # Errors
    /// [`BuildError::BitsPerKey`] outside the range.
    pub fn with_bits_per_key(kind: FilterKind, bits_per_key: f64) -> Result<Self, BuildError> {
        let (min, max) = (f64::from(MIN_MILLIBITS) / 1e3, f64::from(MAX_MILLIBITS) / 1e3);
        if !(min..=max).contains(&bits_per_key) {
            return Err(BuildError::BitsPerKey { kind, asked: bits_per_key, min, max });
        }
        Ok(Self::new(kind, FilterSize::MillibitsPerKey((bits_per_key * 1e3 + 0.5) as u32)))
    }

    /// The smallest filter whose expected false-positive rate is at most `rate`.
    ///
    /// # Errors
    /// [`BuildError::FalsePositiveRate`] outside 2⁻⁴⁰ to 0.25 (golomb), or outside what 2 to 64 bits per key give
    /// (bloom, blocked).
    pub fn with_false_positive_rate(kind: FilterKind, rate: f64) -> Result<Self, BuildError> {
        let (min, max) = Self::rate_limits(kind);
        if !(min..=max).contains(&rate) {
            return Err(BuildError::FalsePositiveRate { kind, asked: rate, min, max });
        }
        Ok(Self::new(kind, FilterSize::FalsePositiveRate(rate)))
    }

    /// The lowest expected rate that fits into `max_bytes` bytes, header included.
    ///
    /// The size depends on the keys, so a cap that is too small for them shows when the block is finished, as
    /// [`BuildError::ByteCap`].
    ///
    /// # Errors
    /// [`BuildError::Setting`] below 64 bytes, the length of a header.
    pub fn with_max_bytes(kind: FilterKind, max_bytes: u64) -> Result<Self, BuildError> {
        if max_bytes < 64 {
            return Err(BuildError::Setting { name: "max_bytes", asked: max_bytes, min: 64, max: u64::MAX });
        }
        Ok(Self::new(kind, FilterSize::MaxBytes(max_bytes)))
    }

    /// Least and greatest false-positive rate that `kind` can be asked for.
    pub fn rate_limits(kind: FilterKind) -> (f64, f64) {
        match kind {
            FilterKind::Golomb => (1.0 / (1u64 << 40) as f64, 0.25),
            FilterKind::Bloom => {
                let rate = |millibits| {
                    sizing::bloom::asymptotic_false_positive_rate(millibits, sizing::bloom::best_num_probes(millibits))
                };
                (rate(MAX_MILLIBITS), rate(MIN_MILLIBITS))
            }
            FilterKind::Blocked => Self::blocked_rate_limits(Self::DEFAULT_SALT_BITS),
        }
    }

    /// The smallest size that meets a rate takes up to a millisecond to find: once for all blocks.
    fn solve(kind: FilterKind, size: FilterSize, salt_bits: u32) -> (u32, u32) {
        match (kind, size) {
            (FilterKind::Bloom, FilterSize::FalsePositiveRate(rate)) => {
                sizing::bloom::millibits_for_false_positive_rate(rate)
            }
            (FilterKind::Blocked, FilterSize::FalsePositiveRate(rate)) => {
                sizing::blocked::millibits_for_false_positive_rate(rate, salt_bits)
            }
            _ => (0, 0),
        }
    }

    fn blocked_rate_limits(salt_bits: u32) -> (f64, f64) {
        let rate = |millibits| {
            let num_probes = sizing::blocked::num_probes(millibits, salt_bits);
            sizing::blocked::false_positive_rate(millibits, num_probes, salt_bits)
        };
        (rate(MAX_MILLIBITS), rate(MIN_MILLIBITS))
    }

    /// Hashes entries by XXH3-64 with this seed. Give all tables of a store the same, so that one hash probes them all;
    /// make it random and secret where strangers choose keys, or see [`KeyHasher::keyed`]. 0 unless set.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.hashed_by(KeyHasher::new(seed))
    }

    /// Hashes entries by `hasher`, the same for all tables of a store. XXH3-64 with seed 0 unless set.
    #[must_use]
    pub fn hashed_by(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// What the entries are made from. Whole keys unless set.
    #[must_use]
    pub fn transform(mut self, transform: KeyTransform) -> Self {
        self.transform = transform;
        self
    }

    /// Salts of the blocked kind: 2^`salt_bits` are tried for each word. More give fewer false positives and cost
    /// building time in proportion; queries cost the same. Other kinds take no notice.
    ///
    /// # Errors
    /// [`BuildError::Setting`] above 6, [`BuildError::FalsePositiveRate`] if the rate asked for is out of reach with so
    /// few salts.
    pub fn salt_bits(mut self, salt_bits: u32) -> Result<Self, BuildError> {
        let max = sizing::blocked::MAX_SALT_BITS;
        if salt_bits > max {
            let (asked, max) = (u64::from(salt_bits), u64::from(max));
            return Err(BuildError::Setting { name: "salt_bits", asked, min: 0, max });
        }
        if let (FilterKind::Blocked, FilterSize::FalsePositiveRate(asked)) = (self.kind, self.size) {
            let (kind, (min, max)) = (self.kind, Self::blocked_rate_limits(salt_bits));
            if !(min..=max).contains(&asked) {
                return Err(BuildError::FalsePositiveRate { kind, asked, min, max });
            }
        }
        self.salt_bits = salt_bits;
        self.solution = Self::solve(self.kind, self.size, salt_bits);
        Ok(self)
    }

    /// Whether a finished block is asked for every hash it was built from before it is handed out. On unless
    /// turned off: a hardware fault caught here costs a rebuild, caught later it costs data.
    #[must_use]
    pub fn self_check(mut self, self_check: bool) -> Self {
        self.self_check = self_check;
        self
    }

    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// The size.
    pub fn size(&self) -> FilterSize {
        self.size
    }

    /// The hasher of entries.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// What the entries are made from.
    pub fn key_transform(&self) -> KeyTransform {
        self.transform
    }

    /// Thousandths of a bit an entry, and probes, that meet the rate asked for (bloom, blocked).
    pub(crate) fn solution(&self) -> (u32, u32) {
        self.solution
    }

    pub(crate) fn num_salt_bits(&self) -> u32 {
        self.salt_bits
    }

    pub(crate) fn checks_itself(&self) -> bool {
        self.self_check
    }
}
