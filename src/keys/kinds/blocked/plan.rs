//! The plan: from a size to a number of lines and probes.

use super::build::build;
use super::sizing::{self, DEFAULT_SALT_BITS, MAX_SALT_BITS};
use super::{LINE_LEN, MAX_LINES, Params};
use crate::build::Output;
use crate::error::BuildError;
use crate::keys::kinds::seam::{Built, Hashes, KindPlan, KindSettings, Mode, Planned, TooLong, Unbuilt};
use crate::keys::kinds::size::{MAX_MILLIBITS, MIN_MILLIBITS, SALT_BITS, Solution, Target, bits_of};
use crate::keys::kinds::speed::Speed;

const LINE_BITS: u64 = LINE_LEN as u64 * 8;
/// The number of lines below which a single line makes a difference.
const FEW_LINES: u64 = 64;

/// The plan is the parameters: all of a filter's dimensions are known before it is built.
pub(crate) type Plan = Params;

/// The settings: 2^`salt_bits` salts are tried for each word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    salt_bits: u32,
    solution: Option<Solution>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { salt_bits: DEFAULT_SALT_BITS, solution: None }
    }
}

impl Settings {
    fn solve(&self, rate: f64) -> Solution {
        let (millibits, num_probes) = sizing::millibits_for_false_positive_rate(rate, self.salt_bits);
        Solution { millibits, num_probes }
    }
}

impl KindSettings for Settings {
    type Plan = Plan;

    const SPEED: Speed = Speed { build_ns: 12.9, cached_query_ns: 2.7, uncached_query_ns: 23.2 };

    fn get(&self, name: &str) -> Option<u64> {
        (name == SALT_BITS).then_some(self.salt_bits.into())
    }

    fn set(self, name: &'static str, value: u64) -> Result<Self, BuildError> {
        let max = u64::from(MAX_SALT_BITS);
        match (name, u32::try_from(value)) {
            (SALT_BITS, Ok(salt_bits @ ..=MAX_SALT_BITS)) => Ok(Self { salt_bits, solution: None }),
            (SALT_BITS, _) => Err(BuildError::Setting { name, asked: value, min: 0, max }),
            _ => Ok(self),
        }
    }

    fn rate_limits(&self) -> (f64, f64) {
        let rate = |millibits| {
            let num_probes = sizing::num_probes(millibits, self.salt_bits);
            sizing::false_positive_rate(millibits, num_probes, self.salt_bits)
        };
        (rate(MAX_MILLIBITS), rate(MIN_MILLIBITS))
    }

    /// Finding the size that meets a rate takes up to a millisecond.
    fn solved(self, rate: f64) -> Self {
        Self { solution: Some(self.solve(rate)), ..self }
    }

    /// A block has at least one line, and with less than a bit an entry it would pass nearly every key.
    fn min_payload_len(num_entries: u64) -> u64 {
        num_entries.div_ceil(8).max(LINE_LEN as u64)
    }

    /// A block has at least one line, and a few lines are rounded to their nearest number.
    fn max_overhead(_num_entries: u64, num_blocks: u64) -> u64 {
        num_blocks.saturating_mul(LINE_LEN as u64)
    }

    fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        let (num_lines, num_probes) = match target {
            Target::Rate(rate) => {
                let Solution { millibits, num_probes } = self.solution.unwrap_or_else(|| self.solve(rate));
                (bits_of(num_entries, millibits).div_ceil(LINE_BITS).max(1), num_probes)
            }
            Target::Bits(bits) => {
                // A few lines are rounded to the nearest number, but never beyond a cap.
                let rounding = if bits.is_cap || bits.total >= FEW_LINES * LINE_BITS { 0 } else { LINE_BITS / 2 };
                let num_lines = (bits.total.saturating_add(rounding) / LINE_BITS).max(1);
                // The number of probes is chosen for the actual lines, not for the requested bits.
                let millibits = u128::from(num_lines) * u128::from(LINE_BITS) * 1000 / u128::from(num_entries);
                let millibits = millibits.clamp(u128::from(MIN_MILLIBITS), u128::from(MAX_MILLIBITS)) as u32;
                (num_lines, sizing::num_probes(millibits, self.salt_bits))
            }
        };
        let payload_bytes = num_lines.saturating_mul(LINE_LEN as u64);
        if num_lines > MAX_LINES {
            return Err(TooLong { payload_bytes, max_bytes: MAX_LINES * LINE_LEN as u64 });
        }
        let plan = Params { num_probes: num_probes as u8, salt_bits: self.salt_bits as u8, num_lines };
        Ok(Planned { plan, payload_bytes })
    }
}

impl KindPlan for Plan {
    type Params = Params;

    fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Params>, Unbuilt> {
        build(self, hashes, out, mode).map(|is_checked| Built { params: *self, is_checked })
    }

    fn expected_fpr(&self, num_entries: u64) -> f64 {
        let millibits = u128::from(self.payload_len()) * 8_000 / u128::from(num_entries);
        let millibits = u32::try_from(millibits).unwrap_or(u32::MAX);
        sizing::false_positive_rate(millibits, self.num_probes(), self.salt_bits.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::kinds::size::Bits;

    fn plan(total: u64, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        Settings::default().plan(Target::Bits(Bits::new(total, num_entries, false)), num_entries)
    }

    #[test]
    fn more_entries_than_32_bits_count() {
        let (num_entries, total) = ((1 << 32) + 5, ((1 << 32) + 5) * 10 - 512);
        let planned = plan(total, num_entries).expect("within the format");
        assert_eq!((planned.plan.num_lines, planned.payload_bytes), (total / 512, total / 512 * 64));
    }

    #[test]
    fn more_lines_than_the_format_has_are_refused() {
        let bits = MAX_LINES * LINE_BITS;
        assert_eq!(plan(bits, 1 << 40).map(|planned| planned.plan.num_lines), Ok(MAX_LINES));
        let refused = TooLong { payload_bytes: (MAX_LINES + 1) * 64, max_bytes: MAX_LINES * 64 };
        assert_eq!(plan(bits + LINE_BITS, 1 << 40), Err(refused));
    }
}
