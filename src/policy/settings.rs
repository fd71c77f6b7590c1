//! [`FilterPolicy`]: kind, size, seed, transform.

use super::{EntryHasher, KeyTransform, Workload};
use crate::error::BuildError;
use crate::filter::Settings;
use crate::filter::size::{FilterSize, MAX_MILLIBITS, MILLISLOTS, MIN_MILLIBITS, SALT_BITS};
use crate::hash::KeyHasher;
use crate::kind::FilterKind;

/// In the place of a kind's name, for policies that choose it.
pub(super) const AUTO: &str = "auto";

/// What a builder needs to know.
///
/// ```
/// use filterblock::{FilterKind, FilterPolicy, KeyTransform};
///
/// # fn main() -> Result<(), filterblock::BuildError> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 9.9)?
///     .seed(0x5eed)
///     .transform(KeyTransform::RowColumn);
/// assert_eq!(policy.kind(), Some(FilterKind::Blocked));
///
/// let refused = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 1.5).unwrap_err();
/// assert!(refused.to_string().contains("legal range"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct FilterPolicy {
    size: FilterSize,
    kind: KindChoice,
    hasher: KeyHasher,
    transform: KeyTransform,
    self_check: bool,
}

/// Where the kind of a policy's blocks comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum KindChoice {
    /// The policy names it.
    Named(Settings),
    /// The cheapest for each block, each kind with its defaults.
    Cheapest(Workload),
}

/// A named kind in a size: what the plan of a block is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SizedKind {
    pub(crate) size: FilterSize,
    pub(crate) settings: Settings,
}

impl SizedKind {
    fn new(kind: FilterKind, size: FilterSize) -> Self {
        Self { size, settings: Settings::new(kind).solved(size) }
    }

    pub(crate) fn kind(&self) -> FilterKind {
        self.settings.kind()
    }

    /// A size that the kind cannot have is refused as by its own constructor.
    fn checked(kind: FilterKind, size: FilterSize) -> Result<Self, BuildError> {
        match size {
            FilterSize::MillibitsPerKey(millibits) => check_bits(kind, f64::from(millibits) / 1e3)?,
            FilterSize::FalsePositiveRate(rate) => check_rate(kind, &Settings::new(kind), rate)?,
            FilterSize::MaxBytes(max_bytes) => check_cap(max_bytes)?,
        }
        Ok(Self::new(kind, size))
    }
}

fn check_bits(kind: FilterKind, asked: f64) -> Result<(), BuildError> {
    let (min, max) = (f64::from(MIN_MILLIBITS) / 1e3, f64::from(MAX_MILLIBITS) / 1e3);
    if (min..=max).contains(&asked) { Ok(()) } else { Err(BuildError::BitsPerKey { kind, asked, min, max }) }
}

fn check_cap(asked: u64) -> Result<(), BuildError> {
    let (min, max) = (64, u64::MAX);
    if asked < min { Err(BuildError::Setting { name: "max_bytes", asked, min, max }) } else { Ok(()) }
}

fn check_rate(kind: FilterKind, settings: &Settings, asked: f64) -> Result<(), BuildError> {
    let (min, max) = settings.rate_limits();
    if (min..=max).contains(&asked) { Ok(()) } else { Err(BuildError::FalsePositiveRate { kind, asked, min, max }) }
}

impl FilterPolicy {
    fn new(kind: FilterKind, size: FilterSize) -> Self {
        Self::of_sized(SizedKind::new(kind, size))
    }

    fn of_sized(SizedKind { size, settings }: SizedKind) -> Self {
        Self {
            size,
            kind: KindChoice::Named(settings),
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
        check_bits(kind, bits_per_key)?;
        Ok(Self::new(kind, FilterSize::MillibitsPerKey((bits_per_key * 1e3 + 0.5) as u32)))
    }

    /// The smallest filter whose expected false-positive rate is at most `rate`.
    ///
    /// # Errors
    /// [`BuildError::FalsePositiveRate`] outside 2⁻⁴⁰ to 0.25 (golomb), 2⁻³² to 0.5 (ribbon, fuse), or
    /// outside what 2 to 64 bits per key give (bloom, blocked).
    pub fn with_false_positive_rate(kind: FilterKind, rate: f64) -> Result<Self, BuildError> {
        check_rate(kind, &Settings::new(kind), rate)?;
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
        check_cap(max_bytes)?;
        Ok(Self::new(kind, FilterSize::MaxBytes(max_bytes)))
    }

    /// For each block the kind that costs least in this size under this workload. [`FilterPolicy::choice`] shows what
    /// is compared, and what is chosen for a number of entries. The block is an ordinary one of that kind.
    ///
    /// ```
    /// use filterblock::{FilterPolicy, FilterSize, Workload};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let deep = FilterPolicy::auto(FilterSize::FalsePositiveRate(0.01), Workload::of_level(5))?;
    /// assert_eq!(deep.kind(), None);
    /// let choice = deep.choice(1_000_000)?;
    /// assert!(choice.costs().all(|cost| choice.cost().total_ns() <= cost.total_ns()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where no kind can have the size, the error of the one that comes closest; see the constructors above.
    pub fn auto(size: FilterSize, workload: Workload) -> Result<Self, BuildError> {
        let mut refusal = None;
        for &kind in FilterKind::ALL {
            match (SizedKind::checked(kind, size), refusal) {
                (Ok(sized), _) => {
                    let kind = KindChoice::Cheapest(workload);
                    return Ok(Self { kind, ..Self::of_sized(sized) });
                }
                (Err(error), Some(other)) => refusal = Some(closer(other, error)),
                (Err(error), None) => refusal = Some(error),
            }
        }
        // The list of kinds is not empty.
        Err(refusal.unwrap_or(BuildError::Setting { name: "kinds", asked: 0, min: 1, max: u64::MAX }))
    }

    /// [`FilterPolicy::auto`] with a kind that is named.
    pub(super) fn with_kind_and_size(kind: FilterKind, size: FilterSize) -> Result<Self, BuildError> {
        SizedKind::checked(kind, size).map(Self::of_sized)
    }

    /// An automatic policy with another workload.
    pub(super) fn with_workload(self, workload: Workload) -> Self {
        Self { kind: KindChoice::Cheapest(workload), ..self }
    }

    /// The policy for tables of `level`, where the policy is [automatic](FilterPolicy::auto): see
    /// [`Workload::at_level`]. Other policies are the same at all levels.
    #[must_use]
    pub fn at_level(mut self, level: u8) -> Self {
        if let KindChoice::Cheapest(workload) = self.kind {
            self.kind = KindChoice::Cheapest(workload.at_level(level));
        }
        self
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
    /// building time in proportion; queries cost the same. Other kinds ignore it, and so does an automatic policy.
    ///
    /// # Errors
    /// [`BuildError::Setting`] above 6, [`BuildError::FalsePositiveRate`] if the policy's rate is out of reach with
    /// this number of salts.
    pub fn salt_bits(mut self, salt_bits: u32) -> Result<Self, BuildError> {
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

    /// The setting of [`FilterPolicy::salt_bits`]; `None` for kinds that have no salts.
    pub fn num_salt_bits(&self) -> Option<u32> {
        self.setting(SALT_BITS).and_then(|bits| u32::try_from(bits).ok())
    }

    /// Slots of the ribbon kind's first layer for each entry, 0.95 to 1.2, kept to a thousandth. Fewer make the filter
    /// smaller, and building slower; at [`SMALL_MILLISLOTS`](crate::sizing::ribbon::SMALL_MILLISLOTS), 0.965, it is
    /// within 0.5 % of the least possible size, and at
    /// [`FAST_BUILD_MILLISLOTS`](crate::sizing::ribbon::FAST_BUILD_MILLISLOTS), 1.075, it is built fastest. Other kinds
    /// ignore it, and so does an automatic policy.
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
        if let KindChoice::Named(settings) = self.kind {
            self.kind = KindChoice::Named(settings.set(MILLISLOTS, millislots)?);
        }
        Ok(self)
    }

    /// The setting of [`FilterPolicy::slots_per_key`]; `None` for kinds that have no slots.
    pub fn num_slots_per_key(&self) -> Option<f64> {
        self.setting(MILLISLOTS).map(|millislots| millislots as f64 / 1e3)
    }

    /// Whether a finished block is queried for every hash it was built from before it is returned. On by
    /// default: a hardware fault caught here costs a rebuild, caught later it costs data.
    #[must_use]
    pub fn self_check(mut self, self_check: bool) -> Self {
        self.self_check = self_check;
        self
    }

    /// The kind; `None` where it is [chosen](FilterPolicy::auto) for each block.
    pub fn kind(&self) -> Option<FilterKind> {
        match &self.kind {
            KindChoice::Named(settings) => Some(settings.kind()),
            KindChoice::Cheapest(_) => None,
        }
    }

    /// The kind's name as the policy's text has it: `auto` where the kind is [chosen](FilterPolicy::auto) for each
    /// block.
    pub fn kind_name(&self) -> &'static str {
        self.kind().map_or(AUTO, FilterKind::name)
    }

    /// By what the kind is chosen; `None` where the policy names it.
    pub fn workload(&self) -> Option<Workload> {
        match self.kind {
            KindChoice::Named(_) => None,
            KindChoice::Cheapest(workload) => Some(workload),
        }
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

    fn setting(&self, name: &str) -> Option<u64> {
        match &self.kind {
            KindChoice::Named(settings) => settings.get(name),
            KindChoice::Cheapest(_) => None,
        }
    }

    /// The kind that the policy names.
    pub(crate) fn named_kind(&self) -> Option<SizedKind> {
        match self.kind {
            KindChoice::Named(settings) => Some(SizedKind { size: self.size, settings }),
            KindChoice::Cheapest(_) => None,
        }
    }

    /// The kinds that a block may have, or why one cannot have the size: the named one alone, or all with their
    /// defaults.
    pub(crate) fn sized_kinds(&self) -> impl Iterator<Item = (FilterKind, Result<SizedKind, BuildError>)> {
        let (size, named) = (self.size, self.named_kind());
        let all = if named.is_some() { &[] } else { FilterKind::ALL };
        let named = named.map(|of_kind| (of_kind.kind(), Ok(of_kind)));
        named.into_iter().chain(all.iter().map(move |&kind| (kind, SizedKind::checked(kind, size))))
    }

    /// The same, with a kind that is named.
    pub(crate) fn with_kind(self, of_kind: SizedKind) -> Self {
        Self { size: of_kind.size, kind: KindChoice::Named(of_kind.settings), ..self }
    }
}

/// Of two refusals of one size, that of the kind which comes closer to it.
pub(crate) fn closer(a: BuildError, b: BuildError) -> BuildError {
    let is_closer = match (a, b) {
        (BuildError::ByteCap { min_bytes: a, .. }, BuildError::ByteCap { min_bytes: b, .. }) => b < a,
        (BuildError::TooLarge { payload_bytes: a, .. }, BuildError::TooLarge { payload_bytes: b, .. }) => b < a,
        (
            BuildError::FalsePositiveRate { asked, min: min_a, max: max_a, .. },
            BuildError::FalsePositiveRate { min: min_b, max: max_b, .. },
        ) => {
            if asked < min_a {
                min_b < min_a
            } else {
                max_b > max_a
            }
        }
        _ => false,
    };
    if is_closer { b } else { a }
}
