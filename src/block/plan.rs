//! From a policy and a number of entries to a kind's dimensions.
//!
//! Only integers and the basic operations of IEEE arithmetic decide here, so the same policy and entries give the
//! same dimensions on every machine.

use super::HEADER_LEN;
use crate::error::{BuildError, DecodeError};
use crate::filter::{Params, blocked, bloom, golomb};
use crate::kind::FilterKind;
use crate::policy::{FilterPolicy, FilterSize, MAX_MILLIBITS, MIN_MILLIBITS};
use crate::sizing;

// The formulas and the kinds are of one mind about what there is.
const _: () = assert!(
    bloom::MAX_PROBES == sizing::bloom::MAX_NUM_PROBES
        && blocked::MAX_PROBES == sizing::blocked::MAX_NUM_PROBES
        && blocked::MAX_SALT_BITS == sizing::blocked::MAX_SALT_BITS
);

const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

/// What the payload is to meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// About so many thousandths of a bit an entry, and not more bits in all where the kind can keep to it.
    Millibits { per_entry: u32, total_bits: u64 },
    /// At most this false-positive rate.
    Rate(f64),
}

impl Target {
    /// `num_entries` is at least 1; `header_len` is the frame's, in bytes.
    pub(crate) fn new(policy: &FilterPolicy, num_entries: u64, header_len: usize) -> Self {
        match policy.size() {
            FilterSize::FalsePositiveRate(rate) => Self::Rate(rate),
            FilterSize::MillibitsPerKey(millibits) => {
                let total = u128::from(num_entries) * u128::from(millibits) / 1000;
                let total = u64::try_from(total).unwrap_or(u64::MAX);
                // The header is paid for out of the budget, up to one part in 64.
                Self::from_bits(total - (total / 64).min(header_len as u64 * 8), num_entries)
            }
            FilterSize::MaxBytes(bytes) => {
                Self::from_bits(bytes.saturating_sub(HEADER_LEN as u64).saturating_mul(8), num_entries)
            }
        }
    }

    pub(crate) fn from_bits(total_bits: u64, num_entries: u64) -> Self {
        let most = u128::from(num_entries) * u128::from(MAX_MILLIBITS) / 1000;
        let total = u128::from(total_bits).min(most);
        // At most MAX_MILLIBITS, by the line above.
        let per_entry = (total * 1000 / u128::from(num_entries)) as u32;
        Self::Millibits { per_entry, total_bits: u64::try_from(total).unwrap_or(u64::MAX) }
    }
}

/// Dimensions of the filter that meets `target` for `num_entries` (at least 1) distinct entries.
pub(crate) fn plan(policy: &FilterPolicy, target: Target, num_entries: u64) -> Result<Params, BuildError> {
    let max_bytes = isize::MAX as u64 - HEADER_LEN as u64;
    match dimensions(policy, target, num_entries) {
        (Ok(params), payload_bytes) if payload_bytes <= max_bytes => Ok(params),
        (_, payload_bytes) => Err(BuildError::TooLarge { num_entries, payload_bytes, max_bytes }),
    }
}

/// Dimensions and about the length of the payload, whether this machine's memory has room for it or not.
fn dimensions(policy: &FilterPolicy, target: Target, num_entries: u64) -> Planned {
    match policy.kind() {
        FilterKind::Bloom => plan_bloom(target, num_entries, policy.solution()),
        FilterKind::Blocked => plan_blocked(target, num_entries, policy),
        FilterKind::Golomb => plan_golomb(target, num_entries),
    }
}

/// Bits of `num_entries` entries of `millibits` each, rounded up.
fn bits_of(num_entries: u64, millibits: u32) -> u64 {
    let bits = (u128::from(num_entries) * u128::from(millibits)).div_ceil(1000);
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// Below so many lines, a whole line more or less is felt.
const FEW_LINES: u64 = 64;
/// Sizes tried to meet a rate.
const MAX_TRIES: u32 = 1000;

type Planned = (Result<Params, DecodeError>, u64);

fn plan_bloom(target: Target, num_entries: u64, (millibits, probes): (u32, u32)) -> Planned {
    let (num_bytes, num_probes) = match target {
        Target::Rate(rate) => {
            let num_bytes = bits_of(num_entries, millibits).div_ceil(8).max(1);
            (bytes_that_meet(rate, num_bytes, num_entries, probes), probes)
        }
        Target::Millibits { per_entry, total_bits } => {
            (total_bits / 8, sizing::bloom::best_num_probes(per_entry.max(MIN_MILLIBITS)))
        }
    };
    let num_bytes = num_bytes.max(1);
    (bloom::Params::new(num_bytes.saturating_mul(8), num_probes).map(Params::Bloom), num_bytes)
}

/// A filter of few bits errs more than one of many with as many bits an entry: `num_bytes`, which does for many, or
/// the few more that meet `rate` exactly.
fn bytes_that_meet(rate: f64, num_bytes: u64, num_entries: u64, num_probes: u32) -> u64 {
    let mut tried = num_bytes;
    // The excess is a few bytes in all; the bound is there so that no formula can make a build hang.
    for _ in 0..MAX_TRIES {
        let num_bits = tried.saturating_mul(8);
        if sizing::bloom::exact_false_positive_rate(num_bits, num_entries, num_probes) <= rate {
            break;
        }
        tried = tried.saturating_add(1 + tried / 4096);
    }
    tried
}

fn plan_blocked(target: Target, num_entries: u64, policy: &FilterPolicy) -> Planned {
    let (salt_bits, line_bits) = (policy.num_salt_bits(), blocked::LINE_LEN as u64 * 8);
    let (num_lines, num_probes) = match target {
        Target::Rate(_) => {
            let (millibits, num_probes) = policy.solution();
            (bits_of(num_entries, millibits).div_ceil(line_bits).max(1), num_probes)
        }
        Target::Millibits { total_bits, .. } => {
            // Where lines are few, half of one decides; but never beyond a cap.
            let capped = matches!(policy.size(), FilterSize::MaxBytes(_));
            let rounding = if capped || total_bits >= FEW_LINES * line_bits { 0 } else { line_bits / 2 };
            let num_lines = (total_bits.saturating_add(rounding) / line_bits).max(1);
            // Probes for the lines there are, not for the bits that were asked for.
            let millibits = u128::from(num_lines) * u128::from(line_bits) * 1000 / u128::from(num_entries);
            let millibits = millibits.clamp(u128::from(MIN_MILLIBITS), u128::from(MAX_MILLIBITS)) as u32;
            (num_lines, sizing::blocked::num_probes(millibits, salt_bits))
        }
    };
    let payload_bytes = num_lines.saturating_mul(blocked::LINE_LEN as u64);
    (blocked::Params::new(num_lines, num_probes, salt_bits).map(Params::Blocked), payload_bytes)
}

fn plan_golomb(target: Target, num_entries: u64) -> Planned {
    let num_buckets = golomb::num_buckets(num_entries);
    let range_per_entry = match target {
        Target::Rate(rate) => 1.0 / rate,
        Target::Millibits { per_entry, .. } => {
            let directory = if num_buckets == 1 { 0 } else { golomb::expected_directory_millibits(per_entry) };
            range_for(per_entry.saturating_sub(directory))
        }
    };
    // Beyond these the hash's 64 bits, or the widest remainder, are the limit.
    let range_per_entry =
        range_per_entry.min(golomb::MAX_RANGE_PER_ENTRY).min(TWO_POW_64 / num_entries as f64).max(1.0);
    let remainder_bits = sizing::golomb::best_remainder_bits(range_per_entry);
    let entries_per_bucket = num_entries as f64 / num_buckets as f64;
    let bucket_range = ((range_per_entry * entries_per_bucket) as u64).saturating_add(1).min(u64::MAX / num_buckets);
    let code_bits = sizing::golomb::code_bits_per_entry(range_per_entry, remainder_bits);
    let payload_bytes = (num_entries as f64 * code_bits / 8.0) as u64;
    let params = golomb::Params::new(num_buckets, bucket_range, remainder_bits as u8, 0);
    (params.map(Params::Golomb), payload_bytes)
}

/// The range an entry may have if the codes are to take `millibits` an entry. Entries that share an offset are coded
/// once: of n entries in a range of M·n, a share of M(1 − e^(−1/M)) is, each of them with M divided by that share. And
/// the formula's gaps start at 0 where distinct ones start at 1: −ln(1 − 1/M) is 1/(M − ½), but for terms of 1/M³.
fn range_for(millibits: u32) -> f64 {
    let (mut range, mut share) = (1.0, 1.0);
    for _ in 0..4 {
        range = (sizing::golomb::range_for_millibits((f64::from(millibits) / share) as u32).max(0.5) + 0.5) * share;
        share = if range < 1e6 { range * (1.0 - sizing::float::exp(-1.0 / range)) } else { 1.0 };
    }
    range
}

#[cfg(test)]
mod tests {
    use super::{HEADER_LEN, Target, dimensions, plan};
    use crate::error::{BuildError, DecodeError};
    use crate::filter::Params;
    use crate::kind::FilterKind;
    use crate::policy::FilterPolicy;

    fn with_bits(kind: FilterKind, bits_per_key: f64) -> FilterPolicy {
        FilterPolicy::with_bits_per_key(kind, bits_per_key).expect("legal")
    }

    fn target(policy: &FilterPolicy, num_entries: u64) -> Target {
        Target::new(policy, num_entries, HEADER_LEN)
    }

    /// Dimensions on a machine of any size.
    fn dimensions_of(policy: &FilterPolicy, num_entries: u64) -> Result<Params, DecodeError> {
        dimensions(policy, target(policy, num_entries), num_entries).0
    }

    #[test]
    fn more_entries_than_32_bits_count() {
        let num_entries = (1 << 32) + 5;
        let bits = |kind| dimensions_of(&with_bits(kind, 10.0), num_entries);
        let Ok(Params::Bloom(p)) = bits(FilterKind::Bloom) else { panic!("bloom") };
        assert_eq!((p.num_bits(), p.num_probes()), ((num_entries * 10 - 512) / 8 * 8, 7));
        let Ok(Params::Blocked(p)) = bits(FilterKind::Blocked) else { panic!("blocked") };
        assert_eq!(p.payload_len(), (num_entries * 10 - 512) / 512 * 64);
        let Ok(Params::Golomb(p)) = bits(FilterKind::Golomb) else { panic!("golomb") };
        assert_eq!(p.num_buckets(), num_entries.div_ceil(64));
        let range = p.num_buckets() as f64 * p.bucket_range() as f64;
        assert!((300.0..330.0).contains(&(range / num_entries as f64)), "1 / 0.0032");
    }

    #[test]
    fn sizes_past_the_format_are_errors() {
        let bits = |kind, num_entries| {
            let policy = with_bits(kind, 64.0);
            plan(&policy, target(&policy, num_entries), num_entries)
        };
        // 2^40 entries of 64 bits are 2^37 lines, past 2^32; 2^62 entries are more bits than 64 can count.
        let error = bits(FilterKind::Blocked, 1 << 40).expect_err("too many lines");
        assert!(matches!(error, BuildError::TooLarge { num_entries: 0x100_0000_0000, .. }), "{error}");
        for kind in FilterKind::ALL {
            for num_entries in [1 << 59, 1 << 62, u64::MAX] {
                assert!(bits(kind, num_entries).is_err() || kind == FilterKind::Golomb, "{kind} {num_entries}");
            }
        }
        let golomb = dimensions_of(&with_bits(FilterKind::Golomb, 64.0), u64::MAX);
        assert!(golomb.is_ok(), "the hash is the limit, not an overflow");
    }

    #[test]
    fn sizes_past_the_memory_are_errors() {
        // 2^31 entries of 10 bits are 2.5 GiB: more than an object may have where addresses have 32 bits.
        for kind in FilterKind::ALL {
            let policy = with_bits(kind, 10.0);
            let planned = plan(&policy, target(&policy, 1 << 31), 1 << 31);
            assert_eq!(planned.is_err(), usize::BITS == 32, "{kind}: {planned:?}");
            if let Err(error) = planned {
                let BuildError::TooLarge { payload_bytes, max_bytes, .. } = error else { panic!("{error}") };
                assert_eq!(max_bytes, (1 << 31) - 1 - 64);
                assert!((2_600_000_000..2_750_000_000).contains(&payload_bytes), "{kind}: {payload_bytes}");
            }
        }
    }

    #[test]
    fn a_range_larger_than_the_hash_is_cut_to_it() {
        let policy = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 1e-12).expect("legal");
        let Ok(Params::Golomb(p)) = dimensions_of(&policy, 1 << 30) else { panic!("golomb") };
        assert!(p.bucket_range() <= u64::MAX / p.num_buckets());
        assert!(p.bucket_range() > u64::MAX / p.num_buckets() / 100 * 99);
    }
}
