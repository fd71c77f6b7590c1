//! The plan: from a size to a range and to the width of remainders.

use super::{MAX_SHORT_REMAINDER_BITS, Params, short_range};
use crate::build::Output;
use crate::codes::{self, ANCHOR_LEN, Buckets, ENTRIES_PER_BUCKET, GROUP, MAX_REMAINDER_BITS, Source, sizing};
use crate::keys::kinds::seam::{Built, Hashes, KindPlan, KindSettings, Mode, Planned, TooLong, Unbuilt};
use crate::keys::kinds::size::Target;
use crate::keys::kinds::speed::Speed;
use crate::math::float::{exp, exp_m1, pow2};

pub(crate) use crate::codes::Plan;

/// The greatest range for an entry, 2⁴⁸: its best remainder is no wider than allowed.
const MAX_RANGE_PER_ENTRY: f64 = (1u64 << MAX_REMAINDER_BITS) as f64;
/// The least and the greatest legal rate.
const RATE_LIMITS: (f64, f64) = (1.0 / (1u64 << 40) as f64, 0.25);

/// The settings: none but the size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Settings;

impl KindSettings for Settings {
    type Plan = Plan;

    const SPEED: Speed = Speed { build_ns: 21.7, cached_query_ns: 21.5, uncached_query_ns: 90.5 };

    const LEN_DEPENDS_ON_KEYS: bool = true;

    fn rate_limits(&self) -> (f64, f64) {
        RATE_LIMITS
    }

    /// The codes' length is known only when they are written.
    fn min_payload_len(_num_entries: u64) -> u64 {
        0
    }

    /// Codes and directory are rounded to bytes. The sum of the gaps is given, so the remainders decide how much is
    /// left to the unary parts: their sum spreads by √(n/12) in units of a bit, and the ends of buckets by about √n /
    /// 6. Six times both is allowed, 2 · √n bits. Over several blocks the √n add up to at most √(n · blocks).
    fn max_overhead(num_entries: u64, num_blocks: u64) -> u64 {
        let luck = num_entries.saturating_mul(num_blocks).isqrt() / 4 + 1;
        num_blocks.saturating_mul(8).saturating_add(luck)
    }

    /// A plan is never too long for the format: the hash's 64 bits are the limit.
    fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        let num_buckets = num_entries.div_ceil(ENTRIES_PER_BUCKET);
        let range_per_entry = match target {
            Target::Rate(rate) => 1.0 / rate,
            Target::Bits(bits) => {
                let millibits = bits.millibits_per_entry;
                let directory = if num_buckets == 1 { 0 } else { expected_directory_millibits(millibits) };
                range_for(millibits.saturating_sub(directory))
            }
        };
        // Beyond these the hash's 64 bits, or the widest remainder, are the limit.
        let range_per_entry = range_per_entry.min(MAX_RANGE_PER_ENTRY).min(pow2(64) / num_entries as f64).max(1.0);
        let plan = Plan::new(num_entries, range_per_entry);
        let payload_bytes = expected_payload_bytes(plan.buckets, plan.remainder_bits.into(), num_entries);
        Ok(Planned { plan, payload_bytes })
    }
}

/// Returns the expected size of the directory, in thousandths of a bit an entry, if the codes take about
/// `code_millibits`. A bucket's length varies with its Poisson number of entries, so a group's last start lies some
/// √(GROUP · ENTRIES_PER_BUCKET) codes off the line, four times that at worst.
fn expected_directory_millibits(code_millibits: u32) -> u32 {
    let furthest_bits = 4 * (GROUP * ENTRIES_PER_BUCKET).isqrt() * u64::from(code_millibits) / 1000;
    let width = 1 + u64::BITS - furthest_bits.leading_zeros();
    let anchor_share = ANCHOR_LEN * 8 * 1000 / (GROUP * ENTRIES_PER_BUCKET);
    width * 1000 / ENTRIES_PER_BUCKET as u32 + anchor_share as u32
}

/// The expected length of codes and directory, in bytes.
///
/// If the range has M values an entry, a share of 1 − e^(−1/M) of them is taken. Gaps between values that are taken are
/// geometric, for which [`sizing::code_bits_per_entry`] is exact; but the first of a bucket is counted from the
/// bucket's start, which saves (1 − e^(−1/M)) 2^r q/(1 − q)² bits a bucket, q = e^(−2^r/M).
fn expected_payload_bytes(buckets: Buckets, remainder_bits: u32, num_entries: u64) -> u64 {
    let num_buckets = buckets.num as f64;
    let range = num_buckets * buckets.range as f64;
    let range_per_entry = range / num_entries as f64;
    let taken = -exp_m1(-1.0 / range_per_entry);
    let q = exp(-pow2(remainder_bits as i32) / range_per_entry);
    let saved_bits = taken * pow2(remainder_bits as i32) * q / ((1.0 - q) * (1.0 - q));
    let code_bits = range * taken * sizing::code_bits_per_entry(range_per_entry, remainder_bits);

    // A bucket's start deviates by the luck of the entries before it in its group, each of some r + 1/2 bits beyond
    // what its gap takes; over many groups the furthest of all lies at three standard deviations. A directory of one
    // group is pinned at both ends.
    let (luck, furthest) =
        (num_entries.min(GROUP * ENTRIES_PER_BUCKET).isqrt(), if buckets.num > GROUP { 3 } else { 1 });
    let width = 1 + u64::BITS - (luck * furthest * (2 * u64::from(remainder_bits) + 1) / 2).leading_zeros();
    let anchors_len = (buckets.num - 1) / GROUP * ANCHOR_LEN;
    let directory_bits = if buckets.num == 1 { 0.0 } else { num_buckets * f64::from(width) + anchors_len as f64 * 8.0 };
    ((code_bits - num_buckets * saved_bits + directory_bits) / 8.0) as u64 + 1
}

/// The range that an entry may have if the codes are to take `millibits` an entry. Entries that share an offset are
/// coded once: of n entries in a range of M·n, a share of M(1 − e^(−1/M)) is, each of them with M divided by that
/// share. And the formula's gaps start at 0 where distinct ones start at 1: −ln(1 − 1/M) is 1/(M − ½), except for terms
/// of 1/M³.
fn range_for(millibits: u32) -> f64 {
    let (mut range, mut share) = (1.0, 1.0);
    for _ in 0..4 {
        range = (sizing::range_for_millibits((f64::from(millibits) / share) as u32).max(0.5) + 0.5) * share;
        share = if range < 1e6 { range * (1.0 - exp(-1.0 / range)) } else { 1.0 };
    }
    range
}

impl KindPlan for Plan {
    type Params = Params;

    fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Params>, Unbuilt> {
        let Hashes { hashes, are_remapped, all } = hashes;
        let source = if are_remapped { Source::Remapped } else { Source::Hashes };
        codes::build(*self, source, hashes, all, out, mode.checks)
    }

    /// A single bucket's range becomes the next that two bytes describe. That takes at most log₂(1 + 1/2n) bits an
    /// entry of n, and saves four bytes.
    fn in_compact_frame(self) -> Self {
        if let (1, 1..=MAX_SHORT_REMAINDER_BITS) = (self.buckets.num, self.remainder_bits) {
            let buckets =
                Buckets { num: 1, range: self.buckets.range.next_multiple_of(1 << (self.remainder_bits - 1)) };
            if short_range(buckets, self.remainder_bits).is_some() {
                return Self { buckets, ..self };
            }
        }
        self
    }

    /// Each hash takes one of the range's values, and the values taken are the false positives.
    fn expected_fpr(&self, num_entries: u64) -> f64 {
        let range = self.buckets.num as f64 * self.buckets.range as f64;
        sizing::false_positive_rate(range / num_entries as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::kinds::size::Bits;

    fn plan(target: Target, num_entries: u64) -> Plan {
        Settings.plan(target, num_entries).expect("the hash is the limit").plan
    }

    #[test]
    fn more_entries_than_32_bits_count() {
        let (num_entries, total) = ((1 << 32) + 5, ((1 << 32) + 5) * 10 - 512);
        let buckets = plan(Target::Bits(Bits::new(total, num_entries, false)), num_entries).buckets;
        assert_eq!(buckets.num, num_entries.div_ceil(64));
        let range = buckets.num as f64 * buckets.range as f64;
        assert!((300.0..330.0).contains(&(range / num_entries as f64)), "1 / 0.0032");
    }

    #[test]
    fn a_range_larger_than_the_hash_is_cut_to_it() {
        let buckets = plan(Target::Rate(1e-12), 1 << 30).buckets;
        assert!(buckets.range <= u64::MAX / buckets.num);
        assert!(buckets.range > u64::MAX / buckets.num / 100 * 99);
        let buckets = plan(Target::Bits(Bits::new(u64::MAX, u64::MAX, false)), u64::MAX).buckets;
        assert!(buckets.num.checked_mul(buckets.range).is_some(), "no overflow");
    }
}
