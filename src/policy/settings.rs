//! [`FilterPolicy`]: kind, size, seed, transform.

use super::{EntryHasher, KeyTransform};
use crate::error::BuildError;
use crate::filter::Settings;
use crate::filter::size::{FilterSize, MAX_MILLIBITS, MILLISLOTS, MIN_MILLIBITS, SALT_BITS};
use crate::hash::KeyHasher;
use crate::kind::FilterKind;

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
#[derive(Clone, Copy, PartialEq)]
pub struct FilterPolicy {
    size: FilterSize,
    settings: Settings,
    hasher: KeyHasher,
    transform: KeyTransform,
    self_check: bool,
}

impl FilterPolicy {
    fn new(kind: FilterKind, size: FilterSize) -> Self {
        Self {
            size,
            settings: Settings::new(kind).solved(size),
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
    /// [`BuildError::FalsePositiveRate`] outside 2⁻⁴⁰ to 0.25 (golomb), 2⁻³² to 0.5 (ribbon, fuse), or
    /// outside what 2 to 64 bits per key give (bloom, blocked).
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

    /// Least and greatest false-positive rate that is legal for `kind`.
    pub fn rate_limits(kind: FilterKind) -> (f64, f64) {
        Settings::new(kind).rate_limits()
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
    /// building time in proportion; queries cost the same. Other kinds ignore it.
    ///
    /// # Errors
    /// [`BuildError::Setting`] above 6, [`BuildError::FalsePositiveRate`] if the policy's rate is out of reach with this
    /// number of salts.
    pub fn salt_bits(mut self, salt_bits: u32) -> Result<Self, BuildError> {
        // A value that is illegal for the kind with salts is refused for every kind.
        for &kind in FilterKind::ALL {
            Settings::new(kind).set(SALT_BITS, salt_bits.into())?;
        }
        let settings = self.settings.set(SALT_BITS, salt_bits.into())?;
        if let FilterSize::FalsePositiveRate(asked) = self.size {
            let (kind, (min, max)) = (self.kind(), settings.rate_limits());
            if !(min..=max).contains(&asked) {
                return Err(BuildError::FalsePositiveRate { kind, asked, min, max });
            }
        }
        self.settings = settings.solved(self.size);
        Ok(self)
    }

    /// The setting of [`FilterPolicy::salt_bits`]; `None` for kinds that have no salts.
    pub fn num_salt_bits(&self) -> Option<u32> {
        self.settings.get(SALT_BITS).and_then(|bits| u32::try_from(bits).ok())
    }

    /// Slots of the ribbon kind's first layer for each entry, 0.95 to 1.2, kept to a thousandth. Fewer make the filter
    /// smaller, and building slower; at [`SMALL_MILLISLOTS`](crate::sizing::ribbon::SMALL_MILLISLOTS), 0.965, it is within
    /// 0.5 % of the least possible size, and at [`FAST_BUILD_MILLISLOTS`](crate::sizing::ribbon::FAST_BUILD_MILLISLOTS),
    /// 1.075, it is built fastest. Other kinds ignore it.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let small = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, 0.001)?.slots_per_key(0.965)?;
    /// assert_eq!(small.num_slots_per_key(), Some(0.965));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::Setting`], in thousandths, outside the range.
    pub fn slots_per_key(mut self, slots_per_key: f64) -> Result<Self, BuildError> {
        // A value that is no number, or negative, becomes 0.
        let millislots = (slots_per_key * 1e3 + 0.5) as u64;
        for &kind in FilterKind::ALL {
            Settings::new(kind).set(MILLISLOTS, millislots)?;
        }
        self.settings = self.settings.set(MILLISLOTS, millislots)?;
        Ok(self)
    }

    /// The setting of [`FilterPolicy::slots_per_key`]; `None` for kinds that have no slots.
    pub fn num_slots_per_key(&self) -> Option<f64> {
        self.settings.get(MILLISLOTS).map(|millislots| millislots as f64 / 1e3)
    }

    /// Whether a finished block is queried for every hash it was built from before it is returned. On by
    /// default: a hardware fault caught here costs a rebuild, caught later it costs data.
    #[must_use]
    pub fn self_check(mut self, self_check: bool) -> Self {
        self.self_check = self_check;
        self
    }

    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.settings.kind()
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

    /// The setting of [`FilterPolicy::self_check`].
    pub fn self_checks(&self) -> bool {
        self.self_check
    }

    /// What makes hashes of keys: the hasher and the transform. For engines that hash a key once for many tables.
    #[inline]
    pub fn entry_hasher(&self) -> EntryHasher {
        EntryHasher::new(self.hasher, self.transform)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }
}
