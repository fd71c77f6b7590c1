//! The size of a filter: a policy's, and the target of a plan.

/// The least legal size in thousandths of a bit per key.
pub(crate) const MIN_MILLIBITS: u32 = 2_000;
/// The greatest legal size in thousandths of a bit per key.
pub(crate) const MAX_MILLIBITS: u32 = 64_000;

/// The name of the setting of [`FilterPolicy::salt_bits`](crate::FilterPolicy::salt_bits).
pub(crate) const SALT_BITS: &str = "salt_bits";

/// The name of the setting of [`FilterPolicy::slots_per_key`](crate::FilterPolicy::slots_per_key), which is counted in
/// thousandths.
pub(crate) const MILLISLOTS: &str = "slots_per_key in thousandths";

/// The name of the setting of bloom filters of a fixed shape.
pub(crate) const PROBES: &str = "probes";

/// The size of a filter, made by the constructors of [`FilterPolicy`](crate::FilterPolicy), which check the range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilterSize {
    /// A number of thousandths of a bit for each distinct entry, the block's header included: 10 000 is 10 bits per
    /// key.
    MillibitsPerKey(u32),
    /// The smallest block whose expected false-positive rate is at most this; 0.01 is one per cent.
    FalsePositiveRate(f64),
    /// A greatest number of bytes, header included; never more than 64 bits per key.
    MaxBytes(u64),
    /// This number of bytes, header included, and of probes, whatever the number of entries: blocks of one shape can be
    /// united.
    FixedShape {
        /// The length of the block in bytes.
        block_len: u64,
        /// The number of bits that each entry sets.
        num_probes: u32,
    },
}

/// The target of a payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// A number of bits, approximately.
    Bits(Bits),
    /// A greatest false-positive rate.
    Rate(f64),
}

/// A number of bits to be used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bits {
    pub(crate) total: u64,
    /// The thousandths of a bit for each entry, at most [`MAX_MILLIBITS`].
    pub(crate) millibits_per_entry: u32,
    /// Whether rounding up must not exceed the number.
    pub(crate) is_cap: bool,
}

impl Bits {
    /// Returns `total` bits, but no more than the greatest legal size for `num_entries` (at least 1) entries.
    pub(crate) fn new(total: u64, num_entries: u64, is_cap: bool) -> Self {
        let most = u128::from(num_entries) * u128::from(MAX_MILLIBITS) / 1000;
        let total = u128::from(total).min(most);
        // The line above limits the quotient to MAX_MILLIBITS.
        let millibits_per_entry = (total * 1000 / u128::from(num_entries)) as u32;
        Self { total: u64::try_from(total).unwrap_or(u64::MAX), millibits_per_entry, is_cap }
    }

    /// Returns `total` bits, however few the entries are.
    pub(crate) fn fixed(total: u64, num_entries: u64) -> Self {
        Self { total, ..Self::new(total, num_entries, true) }
    }
}

/// The size that meets a rate in filters of many entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solution {
    pub(super) millibits: u32,
    pub(super) num_probes: u32,
}

/// Returns the bits of `num_entries` entries of `millibits` each, rounded up.
pub(crate) fn bits_of(num_entries: u64, millibits: u32) -> u64 {
    let bits = (u128::from(num_entries) * u128::from(millibits)).div_ceil(1000);
    u64::try_from(bits).unwrap_or(u64::MAX)
}
