//! The plan: from a size to fingerprints and segments.

use super::Params;
use super::build::build;
use super::sizing::{self, MAX_FINGERPRINT_BITS};
use crate::build::Output;
use crate::keys::kinds::seam::{Built, Hashes, KindPlan, KindSettings, Mode, Planned, TooLong, Unbuilt};
use crate::keys::kinds::size::Target;
use crate::keys::kinds::speed::Speed;

/// The plan is the parameters: all dimensions but the seed, which is 0, are known before a filter is built.
pub(crate) type Plan = Params;

/// The settings: none but the size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Settings;

impl KindSettings for Settings {
    type Plan = Plan;

    const SPEED: Speed = Speed { build_ns: 36.1, cached_query_ns: 6.2, uncached_query_ns: 62.5 };

    const RATE_HAS_STEPS: bool = true;

    fn rate_limits(&self) -> (f64, f64) {
        (sizing::false_positive_rate(MAX_FINGERPRINT_BITS), sizing::false_positive_rate(1))
    }

    /// The least payload has fingerprints of one bit.
    fn min_payload_len(num_entries: u64) -> u64 {
        match plan_of(1, num_entries) {
            Ok(Planned { payload_bytes, .. }) | Err(TooLong { payload_bytes, .. }) => payload_bytes,
        }
    }

    /// The overhead of few entries is a byte, and the bytes that follow the slots: with fingerprints of one bit, slots
    /// take less than the fewest bits per key.
    fn max_overhead(_num_entries: u64, num_blocks: u64) -> u64 {
        num_blocks.saturating_mul(super::WORD_LEN + 1)
    }

    fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        let fingerprint_bits = match target {
            Target::Rate(rate) => sizing::fingerprint_bits_for_false_positive_rate(rate),
            Target::Bits(bits) => {
                let fits = |&fingerprint_bits: &u32| {
                    plan_of(fingerprint_bits, num_entries).is_ok_and(|planned| planned.payload_bytes <= bits.total / 8)
                };
                (2..=MAX_FINGERPRINT_BITS).rev().find(fits).unwrap_or(1)
            }
        };
        plan_of(fingerprint_bits, num_entries)
    }
}

/// Returns the plan with fingerprints of `fingerprint_bits` bits.
fn plan_of(fingerprint_bits: u32, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
    let (log2_segment_len, num_segments) = sizing::dimensions(num_entries);
    match u32::try_from(num_segments) {
        Ok(num_segments) => {
            let (fingerprint_bits, log2_segment_len) = (fingerprint_bits as u8, log2_segment_len as u8);
            let plan = Params { fingerprint_bits, log2_segment_len, seed: 0, num_segments };
            Ok(Planned { plan, payload_bytes: plan.payload_len() })
        }
        Err(_) => {
            let bytes_of = |num_segments: u64| {
                let num_bits = (u128::from(num_segments) << log2_segment_len) * u128::from(fingerprint_bits);
                u64::try_from(num_bits / 8).unwrap_or(u64::MAX)
            };
            Err(TooLong { payload_bytes: bytes_of(num_segments), max_bytes: bytes_of(u32::MAX.into()) })
        }
    }
}

impl KindPlan for Plan {
    type Params = Params;

    fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Params>, Unbuilt> {
        build(*self, hashes, out, mode.checks)
    }

    fn expected_fpr(&self, _num_entries: u64) -> f64 {
        sizing::false_positive_rate(self.fingerprint_bits.into())
    }
}
