//! The dimensions of large blocks without building them: as planned where a kind's length does not depend on the keys,
//! otherwise those of a block of at most [`SAMPLE_ENTRIES`] pseudo-random entries, scaled to the given number.
//!
//! The code that builds real blocks plans them and builds the sample, so nothing here knows the layout of a kind. Up to
//! the sample's size the result is that of a real block with other keys; above it, where the size per entry of a kind
//! whose length depends on the keys has become constant, it is accurate to about a thousandth.

use crate::units::{GOLDEN_GAMMA, splitmix64};
use filterblock::sizing;
use filterblock::{BuildError, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, HEADER_LEN, KeyHash};

/// The largest block that is built.
const SAMPLE_ENTRIES: u64 = 1 << 17;
/// Entries of all small blocks together, and the greatest number of such blocks.
const AVERAGED_ENTRIES: u64 = 1 << 15;
const MAX_BLOCKS: u64 = 16;
const HEADER_BYTES: u64 = HEADER_LEN as u64;

/// The figures of a block of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimensions {
    pub(crate) entries: u64,
    /// Length of the block, header included.
    pub(crate) bytes: u64,
    pub(crate) fpr: f64,
    pub(crate) num_probes: Option<u32>,
}

impl Dimensions {
    pub(crate) fn bits_per_key(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.entries as f64
    }
}

/// `value` × `numerator` / `denominator`, rounded up; the greatest value where it does not fit.
fn scale(value: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = (u128::from(value) * u128::from(numerator)).div_ceil(u128::from(denominator));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// `entries` must be at least 1, here and below.
pub(crate) fn with_bits_per_key(kind: FilterKind, entries: u64, bits_per_key: f64) -> Result<Dimensions, BuildError> {
    let policy = FilterPolicy::with_bits_per_key(kind, bits_per_key)?;
    if entries <= SAMPLE_ENTRIES {
        return measure(policy, entries);
    }
    // The header's share differs between the sample and the block, so the budget is taken as a number of bytes.
    let sampled = with_sampled_bytes(kind, entries, (entries as f64 * bits_per_key / 8.0) as u64);
    planned(policy, kind, entries, sampled)
}

pub(crate) fn with_false_positive_rate(kind: FilterKind, entries: u64, rate: f64) -> Result<Dimensions, BuildError> {
    let policy = FilterPolicy::with_false_positive_rate(kind, rate)?;
    let measured = measure(policy, entries);
    if entries <= SAMPLE_ENTRIES { measured } else { planned(policy, kind, entries, measured) }
}

pub(crate) fn with_max_bytes(kind: FilterKind, entries: u64, max_bytes: u64) -> Result<Dimensions, BuildError> {
    let policy = FilterPolicy::with_max_bytes(kind, max_bytes)?;
    if entries <= SAMPLE_ENTRIES {
        return measure(policy, entries);
    }
    planned(policy, kind, entries, with_sampled_bytes(kind, entries, max_bytes))
}

/// The sampled dimensions, with the length and the rate that the library plans for a kind whose length does not depend
/// on the keys. For more entries than a block can have, those sampled remain.
fn planned(
    policy: FilterPolicy,
    kind: FilterKind,
    entries: u64,
    sampled: Result<Dimensions, BuildError>,
) -> Result<Dimensions, BuildError> {
    if FilterPolicy::len_depends_on_keys(kind) {
        return sampled;
    }
    let figures = |bytes| Ok::<_, BuildError>((bytes, policy.expected_false_positive_rate(entries)?));
    match policy.expected_block_len(entries).and_then(figures) {
        Ok((bytes, fpr)) => {
            let num_probes = sampled.map_or(None, |sampled| sampled.num_probes);
            Ok(Dimensions { entries, bytes, fpr, num_probes })
        }
        Err(BuildError::TooLarge { .. }) => sampled,
        Err(error) => Err(error),
    }
}

/// The sample's dimensions under its part of `max_bytes`, scaled.
fn with_sampled_bytes(kind: FilterKind, entries: u64, max_bytes: u64) -> Result<Dimensions, BuildError> {
    let payload_bytes = u128::from(max_bytes - HEADER_BYTES);
    // Rounded down: the block must not come out above the cap.
    let sample_bytes = payload_bytes * u128::from(SAMPLE_ENTRIES) / u128::from(entries);
    let sample_bytes = u64::try_from(sample_bytes).unwrap_or(u64::MAX - HEADER_BYTES);
    let policy = FilterPolicy::with_max_bytes(kind, HEADER_BYTES + sample_bytes)?;
    measure(policy, entries).map_err(|error| match error {
        BuildError::ByteCap { min_bytes, num_entries, .. } => {
            let min_bytes = HEADER_BYTES + scale(min_bytes - HEADER_BYTES, entries, num_entries);
            BuildError::ByteCap { kind, cap_bytes: max_bytes, min_bytes, num_entries: entries }
        }
        other => other,
    })
}

/// The most entries whose block under `policy` takes at most `max_bytes`; `dimensions_of` gives the block of a number
/// of entries.
pub(crate) fn most_entries(
    kind: FilterKind,
    max_bytes: u64,
    policy: Result<FilterPolicy, BuildError>,
    dimensions_of: impl Fn(u64) -> Result<Dimensions, BuildError>,
) -> Result<Dimensions, BuildError> {
    // Refuses what is less than a header.
    FilterPolicy::with_max_bytes(kind, max_bytes)?;
    let sample = dimensions_of(SAMPLE_ENTRIES)?;
    let payload_bytes = u128::from(max_bytes - HEADER_BYTES);
    let about = payload_bytes * u128::from(SAMPLE_ENTRIES) / u128::from(sample.bytes - HEADER_BYTES);
    let about = u64::try_from(about).unwrap_or(u64::MAX);
    if about >= SAMPLE_ENTRIES {
        let planned = most_planned(policy?, kind, max_bytes);
        return largest_fitting(max_bytes, planned.unwrap_or(about), dimensions_of);
    }
    // Small blocks come in steps: 64 bytes for a line, a byte for a directory. Bisection finds the last that fits.
    let (mut fitting, mut least, mut least_too_many) = (None, 0, about + about / 8 + 64);
    while least + 1 < least_too_many {
        let middle = least + (least_too_many - least) / 2;
        let dimensions = dimensions_of(middle)?;
        if dimensions.bytes <= max_bytes {
            (fitting, least) = (Some(dimensions), middle);
        } else {
            least_too_many = middle;
        }
    }
    match fitting {
        Some(dimensions) => Ok(dimensions),
        None => {
            let min_bytes = dimensions_of(1)?.bytes;
            Err(BuildError::ByteCap { kind, cap_bytes: max_bytes, min_bytes, num_entries: 1 })
        }
    }
}

/// The most entries whose block is planned with at most `max_bytes`; `None` where lengths depend on the keys, or the
/// format and not `max_bytes` is the limit.
fn most_planned(policy: FilterPolicy, kind: FilterKind, max_bytes: u64) -> Option<u64> {
    if FilterPolicy::len_depends_on_keys(kind) {
        return None;
    }
    let entries = policy.expected_num_entries(max_bytes);
    policy.expected_block_len(entries + 1).is_ok().then_some(entries)
}

/// Of large blocks, whose length is nearly in proportion to their entries, one that fits; `about` is nearly right.
fn largest_fitting(
    max_bytes: u64,
    about: u64,
    dimensions_of: impl Fn(u64) -> Result<Dimensions, BuildError>,
) -> Result<Dimensions, BuildError> {
    let mut entries = about;
    loop {
        let dimensions = dimensions_of(entries)?;
        if dimensions.bytes <= max_bytes || entries == 1 {
            return Ok(dimensions);
        }
        let in_proportion = u128::from(entries) * u128::from(max_bytes) / u128::from(dimensions.bytes);
        // Below `entries`, since `max_bytes` is below the block's length.
        entries = (in_proportion as u64).max(1);
    }
}

/// Builds a block of `entries` entries, or the sample, and measures it. Small blocks differ by their keys, so several
/// are built and the mean is taken.
fn measure(policy: FilterPolicy, entries: u64) -> Result<Dimensions, BuildError> {
    let num_sampled = entries.min(SAMPLE_ENTRIES);
    let num_blocks = (AVERAGED_ENTRIES / num_sampled).clamp(1, MAX_BLOCKS);
    let mut builder = FilterBlockBuilder::new(policy.self_check(false));
    let (mut total_bytes, mut total_rate, mut num_probes, mut block) = (0, 0.0, None, Vec::new());
    for first in (0..num_blocks).map(|number| number * num_sampled) {
        (first..first + num_sampled)
            .for_each(|number| builder.add_hash(KeyHash::from_raw(splitmix64(number.wrapping_mul(GOLDEN_GAMMA)))));
        block.clear();
        total_bytes += builder.finish_into(&mut block)? as u64 - HEADER_BYTES;
        // A block straight from the builder always opens.
        let reader = FilterBlockReader::open(&block);
        total_rate += reader.as_ref().map_or(1.0, FilterBlockReader::false_positive_rate);
        num_probes = reader.as_ref().map_or(None, FilterBlockReader::num_probes);
    }
    let payload_bytes = scale(total_bytes, entries, num_blocks * num_sampled);
    let max_bytes = isize::MAX as u64 - HEADER_BYTES;
    if payload_bytes > max_bytes {
        return Err(BuildError::TooLarge { num_entries: entries, payload_bytes, max_bytes });
    }
    let floor = sizing::hash_collision_rate(entries);
    let fpr = floor + (1.0 - floor) * (total_rate / num_blocks as f64);
    Ok(Dimensions { entries, bytes: HEADER_BYTES + payload_bytes, fpr, num_probes })
}
