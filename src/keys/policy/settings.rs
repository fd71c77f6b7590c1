//! [`FilterPolicy`]: kind, size, seed, transform.

use super::Workload;
use super::sized_kind::{SizedKind, check_bits, check_byte_cap, check_rate, check_shape, closer};
use crate::error::BuildError;
use crate::hash::{CustomTransform, EntryHasher, KeyHasher, KeyTransform};
use crate::keys::kinds::Settings;
use crate::keys::kinds::size::{FilterSize, MILLISLOTS, SALT_BITS};
use crate::kind::FilterKind;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// The name in place of a kind's, for policies that choose it.
pub(super) const AUTO: &str = "auto";

/// The configuration of a builder.
///
/// ```
/// use filterblock::{FilterKind, FilterPolicy, KeyTransform};
///
/// # fn main() -> Result<(), filterblock::BuildError> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 9.9)?
///     .with_seed(0x5eed)
///     .with_transform(KeyTransform::RowColumn);
/// assert_eq!(policy.kind(), Some(FilterKind::Blocked));
///
/// let refused = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 1.5).unwrap_err();
/// assert!(refused.to_string().contains("legal range"));
/// # Ok(())
/// # }
/// ```
// Not `Copy`: it may hold a secret.
#[derive(Clone, PartialEq)]
pub struct FilterPolicy {
    size: FilterSize,
    kind: KindChoice,
    entries: EntryHasher,
    self_check: bool,
}

/// The source of the kind of a policy's blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum KindChoice {
    /// The policy names it.
    Named(Settings),
    /// The cheapest kind for each block, each with its defaults.
    Cheapest(Workload),
}

impl FilterPolicy {
    fn new(kind: FilterKind, size: FilterSize) -> Self {
        Self::of_sized(SizedKind::new(kind, size))
    }

    fn of_sized(SizedKind { size, settings }: SizedKind) -> Self {
        Self {
            size,
            kind: KindChoice::Named(settings),
            entries: EntryHasher::new(KeyHasher::new(0), KeyTransform::WholeKey),
            self_check: true,
        }
    }

    /// Returns the policy of a filter of `bits_per_key` bits for each distinct entry, 2 to 64, kept to a thousandth.
    ///
    /// The header's 64 bytes are paid for out of this, up to one part in 64: very small blocks come out larger. So are the
    /// fixed parts of the kinds ribbon and fuse, which leave few bits for less than about a hundred entries: of twenty, a
    /// ribbon filter of 10 bits passes half of the absent keys. [`FilterPolicy::expected_false_positive_rate`] returns the
    /// rate, and [`FilterPolicy::with_false_positive_rate`] keeps one for any number of entries.
    ///
    /// # Errors
    /// [`BuildError::BitsPerKey`] outside the range.
    pub fn with_bits_per_key(kind: FilterKind, bits_per_key: f64) -> Result<Self, BuildError> {
        check_bits(kind, bits_per_key)?;
        Ok(Self::new(kind, FilterSize::MillibitsPerKey((bits_per_key * 1e3 + 0.5) as u32)))
    }

    /// Returns the policy of the smallest filter whose expected false-positive rate is at most `rate`.
    ///
    /// # Errors
    /// [`BuildError::FalsePositiveRate`] outside 2⁻⁴⁰ to 0.25 (golomb), 2⁻³² to 0.5 (ribbon, fuse), or
    /// outside what 2 to 64 bits per key give (bloom, blocked).
    pub fn with_false_positive_rate(kind: FilterKind, rate: f64) -> Result<Self, BuildError> {
        check_rate(kind, &Settings::new(kind), rate)?;
        Ok(Self::new(kind, FilterSize::FalsePositiveRate(rate)))
    }

    /// Returns the policy of the lowest expected rate that fits into `max_bytes` bytes, header included. The block has at
    /// most 64 bits per key, so few keys make it shorter; bloom's number of probes follows from the number of keys, too.
    ///
    /// The size depends on the keys, so a cap that is too small for them shows when the block is finished, as
    /// [`BuildError::ByteCap`].
    ///
    /// # Errors
    /// [`BuildError::Setting`] below 64 bytes, the length of a header.
    pub fn with_max_bytes(kind: FilterKind, max_bytes: u64) -> Result<Self, BuildError> {
        check_byte_cap(max_bytes)?;
        Ok(Self::new(kind, FilterSize::MaxBytes(max_bytes)))
    }

    /// Returns the policy of blocks that have `block_len` bytes, header included, and set `num_probes` bits for each
    /// entry, whatever the number of entries: blocks of one shape, seed and transform can be
    /// [united](crate::FilterBlockReader::union), if their parts were built apart and are of unequal size, too.
    ///
    /// Choose both for the union: of *n* entries in all, 1.44 · log₂(1/rate) bits each, and 0.69 probes for each bit an
    /// entry. A block of fewer entries is as long; one with more passes more absent keys than planned
    /// ([`FilterPolicy::expected_false_positive_rate`]). A block [of at most some bytes](FilterPolicy::with_max_bytes)
    /// has its number of probes, and under 64 bits per key its length, from its number of entries.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_fixed_shape(FilterKind::Bloom, 4096, 7)?;
    /// assert_eq!(policy.to_string(), "bloom:bytes=4096,probes=7");
    /// let part = |keys: std::ops::Range<u32>| {
    ///     let mut builder = FilterBlockBuilder::new(&policy);
    ///     keys.for_each(|key| builder.add_key(&key.to_be_bytes()));
    ///     builder.finish()
    /// };
    /// let (few, many) = (part(0..10)?, part(10..3_000)?);
    /// assert_eq!((few.len(), many.len()), (4096, 4096));
    /// let options = OpenOptions::new().expect(&policy);
    /// let union = options.open(&few)?.union(&options.open(&many)?, 0)?;
    /// let union = options.open_owned(union)?;
    /// assert!((0..3_000u32).all(|key| union.may_contain(&key.to_be_bytes())));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::NoFixedShape`] for kinds whose blocks cannot be united, [`BuildError::Setting`] outside 65 bytes to
    /// 4 GiB, and outside 1 to 64 probes. A shape that leaves less than a bit an entry shows when the block is
    /// finished, as [`BuildError::ByteCap`].
    pub fn with_fixed_shape(kind: FilterKind, block_len: u64, num_probes: u32) -> Result<Self, BuildError> {
        check_shape(kind, block_len, num_probes)?;
        Ok(Self::new(kind, FilterSize::FixedShape { block_len, num_probes }))
    }

    /// Returns a policy that takes for each block the kind that costs least in this size under this workload.
    /// [`FilterPolicy::choice`] shows the comparison and the choice for a number of entries. The block is an ordinary
    /// one of that kind.
    ///
    /// ```
    /// use filterblock::{FilterPolicy, FilterSize, Workload};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let deep = FilterPolicy::auto(FilterSize::FalsePositiveRate(0.01), Workload::default().with_level(5))?;
    /// assert_eq!(deep.kind(), None);
    /// let choice = deep.choice(1_000_000)?;
    /// assert!(choice.costs().all(|cost| choice.cost().total_ns() <= cost.total_ns()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of the kind that comes closest, if no kind can have the size; see the constructors above.
    pub fn auto(size: FilterSize, workload: Workload) -> Result<Self, BuildError> {
        let mut refusal = None;
        for &kind in FilterKind::ALL {
            match SizedKind::checked(kind, size) {
                Ok(sized) => return Ok(Self::of_sized(sized).with_workload(workload)),
                Err(error) => refusal = Some(refusal.map_or(error, |other| closer(other, error))),
            }
        }
        // The list of kinds is not empty.
        Err(refusal.unwrap_or(BuildError::Setting { name: "kinds", asked: 0, min: 1, max: u64::MAX }))
    }

    /// Returns [`FilterPolicy::auto`] with a kind that is named.
    pub(super) fn with_kind_and_size(kind: FilterKind, size: FilterSize) -> Result<Self, BuildError> {
        SizedKind::checked(kind, size).map(Self::of_sized)
    }

    /// Returns an automatic policy with another workload.
    pub(super) fn with_workload(self, workload: Workload) -> Self {
        Self { kind: KindChoice::Cheapest(workload), ..self }
    }

    /// Returns the policy for tables of `level`, if it is [automatic](FilterPolicy::auto): see
    /// [`Workload::with_level`]. Other policies are the same at all levels.
    #[must_use]
    pub fn with_level(mut self, level: u8) -> Self {
        if let KindChoice::Cheapest(workload) = self.kind {
            self.kind = KindChoice::Cheapest(workload.with_level(level));
        }
        self
    }

    /// Hashes entries by XXH3-64 with this seed. Give all tables of a store the same, so that one hash probes them all;
    /// make it random and secret where strangers choose keys, or see [`KeyHasher::keyed`]. It is 0 unless set.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        self.with_hasher(KeyHasher::new(seed))
    }

    /// Hashes entries by `hasher`, the same for all tables of a store. It is XXH3-64 with seed 0 unless set.
    #[must_use]
    pub fn with_hasher(self, hasher: KeyHasher) -> Self {
        Self { entries: self.entries.with_hasher(hasher), ..self }
    }

    /// Makes the entries by `transform`: of whole keys unless set. An engine's own transform has no code, and drops the
    /// code given before.
    #[must_use]
    pub fn with_transform(self, transform: KeyTransform) -> Self {
        Self { entries: self.entries.with_transform(transform), ..self }
    }

    /// Makes the entries by an engine's own transform and its code, which is applied wherever a key is given, also by
    /// the readers that [expect](crate::OpenOptions::expect) this policy: a block stores no code. It is called as
    /// [`EntryHasher::with_custom_transform`] describes.
    ///
    /// ```
    /// use filterblock::{CustomTransform, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // The bytes before the last 8, a version number.
    /// let version_len = 8;
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_custom_transform(
    ///     CustomTransform::new(200, version_len)?,
    ///     move |key, take| {
    ///         if let Some(len) = key.len().checked_sub(version_len.into()) {
    ///             take(&key[..len]);
    ///         }
    ///     },
    /// );
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"apple.version1");
    /// let block = builder.finish()?;
    ///
    /// let filter = OpenOptions::new().expect(&policy).open(&block)?;
    /// assert!(filter.may_contain(b"apple.version9"));
    /// assert!(filter.may_contain(b"short"), "a key without an entry");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_custom_transform<F>(self, transform: CustomTransform, entry_of: F) -> Self
    where
        F: Fn(&[u8], &mut dyn FnMut(&[u8])) + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    {
        Self { entries: self.entries.with_custom_transform(transform, entry_of), ..self }
    }

    /// Sets the salts of the blocked kind: 2^`salt_bits` are tried for each word. More salts give fewer false positives
    /// and cost building time in proportion; queries cost the same. Other kinds ignore it, and so does an automatic
    /// policy.
    ///
    /// # Errors
    /// [`BuildError::Setting`] above 6, [`BuildError::FalsePositiveRate`] if the policy's rate is out of reach with
    /// this number of salts.
    pub fn with_salt_bits(mut self, salt_bits: u32) -> Result<Self, BuildError> {
        // A value that is illegal for the kind with salts is refused for every kind.
        for &kind in FilterKind::ALL {
            Settings::new(kind).set(SALT_BITS, salt_bits.into())?;
        }
        if let KindChoice::Named(settings) = self.kind {
            let settings = settings.set(SALT_BITS, salt_bits.into())?;
            if let FilterSize::FalsePositiveRate(asked) = self.size {
                check_rate(settings.kind(), &settings, asked)?;
            }
            self.kind = KindChoice::Named(settings.solved(self.size));
        }
        Ok(self)
    }

    /// Returns the number of salts of [`FilterPolicy::with_salt_bits`]; `None` for kinds that have no salts.
    pub fn salt_bits(&self) -> Option<u32> {
        self.setting(SALT_BITS).and_then(|bits| u32::try_from(bits).ok())
    }

    /// Sets the slots of the ribbon kind's first layer for each entry, 0.95 to 1.2, kept to a thousandth. Fewer make
    /// the filter smaller, and building slower; at 0.965 it is within 0.5 % of the least possible size, and at 1.075 it
    /// is built fastest. Other kinds ignore it, and so does an automatic policy.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let small = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, 0.001)?.with_slots_per_key(0.965)?;
    /// assert_eq!(small.to_string(), "ribbon:fpr=0.001,slots_per_key=0.965");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::Setting`], in thousandths, outside the range.
    pub fn with_slots_per_key(mut self, slots_per_key: f64) -> Result<Self, BuildError> {
        // A value that is not a number, or negative, becomes 0.
        let millislots = (slots_per_key * 1e3 + 0.5) as u64;
        for &kind in FilterKind::ALL {
            Settings::new(kind).set(MILLISLOTS, millislots)?;
        }
        if let KindChoice::Named(settings) = self.kind {
            self.kind = KindChoice::Named(settings.set(MILLISLOTS, millislots)?);
        }
        Ok(self)
    }

    /// Returns the slots of [`FilterPolicy::with_slots_per_key`]; `None` for kinds that have no slots.
    pub(super) fn slots_per_key(&self) -> Option<f64> {
        self.setting(MILLISLOTS).map(|millislots| millislots as f64 / 1e3)
    }

    /// Sets whether a build checks what it has written against every hash, and then queries the finished block for some of
    /// them, before the block is returned. It is on by default: a hardware fault caught here costs a rebuild, caught later it costs data.
    #[must_use]
    pub fn with_self_check(mut self, self_check: bool) -> Self {
        self.self_check = self_check;
        self
    }

    /// Returns the kind; `None` if it is [chosen](FilterPolicy::auto) for each block.
    pub fn kind(&self) -> Option<FilterKind> {
        match &self.kind {
            KindChoice::Named(settings) => Some(settings.kind()),
            KindChoice::Cheapest(_) => None,
        }
    }

    /// Returns the kind's name in the policy's text: `auto` if the kind is [chosen](FilterPolicy::auto) for each block.
    pub fn kind_name(&self) -> &'static str {
        self.kind().map_or(AUTO, FilterKind::name)
    }

    /// Returns the workload by which the kind is chosen; `None` if the policy names it.
    pub fn workload(&self) -> Option<Workload> {
        match self.kind {
            KindChoice::Named(_) => None,
            KindChoice::Cheapest(workload) => Some(workload),
        }
    }

    /// Returns the size.
    pub fn size(&self) -> FilterSize {
        self.size
    }

    /// Returns the hasher of entries.
    pub fn hasher(&self) -> &KeyHasher {
        self.entries.hasher()
    }

    /// Returns the transform that makes entries from keys.
    pub fn transform(&self) -> KeyTransform {
        self.entries.transform()
    }

    /// Returns the setting of [`FilterPolicy::with_self_check`].
    pub(crate) fn self_check(&self) -> bool {
        self.self_check
    }

    /// Returns the hasher and the transform, which make hashes of keys, for engines that hash a key once for many
    /// tables.
    #[inline]
    pub fn entry_hasher(&self) -> &EntryHasher {
        &self.entries
    }

    fn setting(&self, name: &str) -> Option<u64> {
        match &self.kind {
            KindChoice::Named(settings) => settings.get(name),
            KindChoice::Cheapest(_) => None,
        }
    }

    /// Returns the kind that the policy names.
    pub(crate) fn named_kind(&self) -> Option<SizedKind> {
        match self.kind {
            KindChoice::Named(settings) => Some(SizedKind { size: self.size, settings }),
            KindChoice::Cheapest(_) => None,
        }
    }

    /// Returns the kinds that a block may have, or the reasons why one cannot have the size: the named kind alone, or
    /// all with their defaults.
    pub(crate) fn sized_kinds(&self) -> impl Iterator<Item = Result<SizedKind, BuildError>> {
        let (size, named) = (self.size, self.named_kind());
        let all = if named.is_some() { &[] } else { FilterKind::ALL };
        named.map(Ok).into_iter().chain(all.iter().map(move |&kind| SizedKind::checked(kind, size)))
    }

    /// Returns the same policy with a named kind.
    pub(crate) fn with_kind(self, of_kind: SizedKind) -> Self {
        Self { size: of_kind.size, kind: KindChoice::Named(of_kind.settings), ..self }
    }
}

/// The hasher and the transform, which a reader must share with the writer.
impl AsRef<EntryHasher> for FilterPolicy {
    fn as_ref(&self) -> &EntryHasher {
        &self.entries
    }
}
