//! The plan: from a size to a number of bits and probes.

use super::build::build;
use super::sizing::MAX_NUM_PROBES;
use super::{MAX_BITS, Params, sizing};
use crate::build::Output;
use crate::error::BuildError;
use crate::keys::kinds::seam::{Built, Hashes, KindPlan, KindSettings, Mode, Planned, TooLong, Unbuilt};
use crate::keys::kinds::size::{MAX_MILLIBITS, MIN_MILLIBITS, PROBES, Solution, Target, bits_of};
use crate::keys::kinds::speed::Speed;
use crate::math::fewest_millibits as fewest;

/// The number of sizes that are tried to meet a rate.
const MAX_TRIES: u32 = 1000;
/// The greatest number of bits for which the rate is computed exactly; above, the familiar formula is right to 1e-4.
const EXACT_BITS_MAX: u64 = 1 << 16;

/// The plan is the parameters: all of a filter's dimensions are known before it is built.
pub(crate) type Plan = Params;

/// The settings: none but the size, and for a fixed shape the number of probes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    solution: Option<Solution>,
    num_probes: Option<u32>,
}

impl KindSettings for Settings {
    type Plan = Plan;

    const SPEED: Speed = Speed { build_ns: 17.5, cached_query_ns: 6.9, uncached_query_ns: 45.1 };

    fn set(self, name: &'static str, value: u64) -> Result<Self, BuildError> {
        match (name, u32::try_from(value)) {
            (PROBES, Ok(num_probes @ 1..=MAX_NUM_PROBES)) => Ok(Self { num_probes: Some(num_probes), ..self }),
            (PROBES, _) => Err(BuildError::Setting { name, asked: value, min: 1, max: MAX_NUM_PROBES.into() }),
            _ => Ok(self),
        }
    }

    fn rate_limits(&self) -> (f64, f64) {
        let rate = |millibits| sizing::asymptotic_false_positive_rate(millibits, sizing::best_num_probes(millibits));
        (rate(MAX_MILLIBITS), rate(MIN_MILLIBITS))
    }

    fn solved(self, rate: f64) -> Self {
        Self { solution: Some(solve(rate)), ..self }
    }

    /// A filter with less than a bit an entry would pass nearly every key.
    fn min_payload_len(num_entries: u64) -> u64 {
        num_entries.div_ceil(8)
    }

    /// A block has at least one byte.
    fn max_overhead(_num_entries: u64, num_blocks: u64) -> u64 {
        num_blocks
    }

    fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        let (num_bytes, num_probes) = match target {
            Target::Rate(rate) => {
                let Solution { millibits, num_probes } = self.solution.unwrap_or_else(|| solve(rate));
                let num_bytes = bits_of(num_entries, millibits).div_ceil(8).max(1);
                (bytes_that_meet(rate, num_bytes, num_entries, num_probes), num_probes)
            }
            Target::Bits(bits) => {
                let best = || sizing::best_num_probes(bits.millibits_per_entry.max(MIN_MILLIBITS));
                (bits.total / 8, self.num_probes.unwrap_or_else(best))
            }
        };
        let payload_bytes = num_bytes.max(1);
        match payload_bytes.checked_mul(8) {
            Some(num_bits @ ..=MAX_BITS) => {
                Ok(Planned { plan: Params { num_probes: num_probes as u8, num_bits }, payload_bytes })
            }
            _ => Err(TooLong { payload_bytes, max_bytes: MAX_BITS / 8 }),
        }
    }
}

fn solve(rate: f64) -> Solution {
    let (millibits, num_probes) = sizing::millibits_for_false_positive_rate(rate);
    Solution { millibits, num_probes }
}

/// Returns `num_bytes`, which meets `rate` in large filters, or the few more bytes that a small filter needs: it errs
/// more than a large one with equal bits an entry.
fn bytes_that_meet(rate: f64, num_bytes: u64, num_entries: u64, num_probes: u32) -> u64 {
    let size = |number| (0..number).fold(num_bytes, |tried: u64, _| tried.saturating_add(1 + tried / 4096));
    // Takes microseconds for few probes, and milliseconds for 64: so tries are left out, and then bisected.
    let meets = |number| sizing::false_positive_rate(size(number).saturating_mul(8), num_entries, num_probes) <= rate;
    let (mut least, mut most) = (0, 0);
    // The excess is a few bytes in all; the bound keeps any formula from making a build hang.
    while most < MAX_TRIES && !meets(most) {
        (least, most) = (most + 1, (2 * most + 1).min(MAX_TRIES));
    }
    size(fewest(least, most, meets))
}

impl KindPlan for Plan {
    type Params = Params;

    fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Params>, Unbuilt> {
        build(self, hashes, out, mode).map(|is_checked| Built { params: *self, is_checked })
    }

    fn expected_fpr(&self, num_entries: u64) -> f64 {
        let rate = match self.num_bits {
            ..=EXACT_BITS_MAX => sizing::false_positive_rate,
            _ => sizing::approximate_false_positive_rate,
        };
        rate(self.num_bits, num_entries, self.num_probes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::kinds::size::Bits;

    /// One try after the other.
    #[test]
    fn no_size_that_is_left_out_meets_the_rate() {
        let mut num_more = 0;
        for exponent in 1..=40 {
            let rate = 0.4_f64.powi(exponent).max(5e-14);
            let Solution { millibits, num_probes } = solve(rate);
            for num_entries in [1, 2, 3, 5, 10, 37, 300, 5_000] {
                let num_bytes = bits_of(num_entries, millibits).div_ceil(8).max(1);
                let meets = |bytes: u64| sizing::false_positive_rate(bytes * 8, num_entries, num_probes) <= rate;
                let mut tried = num_bytes;
                for _ in 0..MAX_TRIES {
                    if meets(tried) {
                        break;
                    }
                    tried += 1 + tried / 4096;
                }
                assert_eq!(bytes_that_meet(rate, num_bytes, num_entries, num_probes), tried, "{rate} {num_entries}");
                num_more += usize::from(tried > num_bytes + 3);
            }
        }
        assert!(num_more > 10, "{num_more}");
    }

    #[test]
    fn more_entries_than_32_bits_count() {
        let (num_entries, total) = ((1 << 32) + 5, ((1 << 32) + 5) * 10 - 512);
        let planned = Settings::default().plan(Target::Bits(Bits::new(total, num_entries, false)), num_entries);
        let plan = planned.expect("within the format").plan;
        assert_eq!((plan.num_bits, plan.num_probes()), (total / 8 * 8, 7));
    }

    #[test]
    fn more_bits_than_the_format_has_are_refused() {
        let plan = |total| Settings::default().plan(Target::Bits(Bits::new(total, 1 << 52, false)), 1 << 52);
        assert_eq!(plan(MAX_BITS).map(|planned| planned.plan.num_bits), Ok(MAX_BITS));
        assert_eq!(plan(MAX_BITS + 8), Err(TooLong { payload_bytes: MAX_BITS / 8 + 1, max_bytes: MAX_BITS / 8 }));
    }
}
