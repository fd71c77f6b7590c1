//! From a policy and a number of entries to a kind's plan.
//!
//! Only integers and the basic operations of IEEE arithmetic decide here and in the kinds, so the same policy and
//! entries give the same dimensions on every machine.

use super::HEADER_LEN;
use crate::error::BuildError;
use crate::filter::size::{Bits, FilterSize, Target};
use crate::filter::{Plan, Planned, TooLong};
use crate::policy::SizedKind;

/// What the payload of a frame with a header of `header_len` bytes has to meet. `num_entries` is at least 1.
pub(crate) fn target(size: FilterSize, num_entries: u64, header_len: usize) -> Target {
    match size {
        FilterSize::FalsePositiveRate(rate) => Target::Rate(rate),
        FilterSize::MillibitsPerKey(millibits) => {
            let total = u128::from(num_entries) * u128::from(millibits) / 1000;
            let total = u64::try_from(total).unwrap_or(u64::MAX);
            // The header is paid for out of the budget, up to one part in 64.
            Target::Bits(Bits::new(total - (total / 64).min(header_len as u64 * 8), num_entries, false))
        }
        FilterSize::MaxBytes(bytes) => {
            let total = bytes.saturating_sub(HEADER_LEN as u64).saturating_mul(8);
            Target::Bits(Bits::new(total, num_entries, true))
        }
    }
}

/// The plan that meets `target` for `num_entries` (at least 1) distinct entries.
///
/// # Errors
/// [`BuildError::TooLarge`] beyond what the format can describe or this machine can address.
pub(crate) fn plan(of_kind: &SizedKind, target: Target, num_entries: u64) -> Result<Planned<Plan>, BuildError> {
    let max_bytes = isize::MAX as u64 - HEADER_LEN as u64;
    match of_kind.settings.plan(target, num_entries) {
        Ok(planned) if planned.payload_bytes <= max_bytes => Ok(planned),
        Ok(Planned { payload_bytes, .. }) | Err(TooLong { payload_bytes }) => {
            Err(BuildError::TooLarge { num_entries, payload_bytes, max_bytes })
        }
    }
}

/// Refuses a cap that leaves less than the kind's least payload.
pub(crate) fn check_cap(of_kind: &SizedKind, num_entries: u64) -> Result<(), BuildError> {
    let min_bytes = HEADER_LEN as u64 + of_kind.settings.min_payload_len(num_entries);
    match of_kind.size {
        FilterSize::MaxBytes(cap_bytes) if cap_bytes < min_bytes => {
            Err(BuildError::ByteCap { kind: of_kind.kind(), cap_bytes, min_bytes, num_entries })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_LEN, plan, target};
    use crate::error::BuildError;
    use crate::kind::FilterKind;
    use crate::policy::{FilterPolicy, SizedKind};

    fn with_bits(kind: FilterKind, bits_per_key: f64) -> SizedKind {
        let policy = FilterPolicy::with_bits_per_key(kind, bits_per_key).expect("legal");
        policy.named_kind().expect("a named kind")
    }

    #[test]
    fn sizes_past_the_format_are_errors() {
        // 2^59 entries of 64 bits are 2^62 bytes; 2^62 entries have more bits than 64 can count.
        for &kind in FilterKind::ALL {
            for num_entries in [1 << 59, 1 << 62, u64::MAX] {
                let of_kind = with_bits(kind, 64.0);
                let planned = plan(&of_kind, target(of_kind.size, num_entries, HEADER_LEN), num_entries);
                // A kind whose length varies is limited by the hash, and then fits 64 bits.
                assert!(planned.is_err() || of_kind.settings.len_depends_on_keys(), "{kind} {num_entries}");
            }
        }
    }

    #[test]
    fn sizes_past_the_memory_are_errors() {
        // 2^31 entries of 10 bits are 2.5 GiB: more than an object may have where addresses have 32 bits.
        for &kind in FilterKind::ALL {
            let of_kind = with_bits(kind, 10.0);
            let planned = plan(&of_kind, target(of_kind.size, 1 << 31, HEADER_LEN), 1 << 31);
            assert_eq!(planned.is_err(), usize::BITS == 32, "{kind}: {planned:?}");
            if let Err(error) = planned {
                let BuildError::TooLarge { payload_bytes, max_bytes, .. } = error else { panic!("{error}") };
                assert_eq!(max_bytes, (1 << 31) - 1 - 64);
                // Fingerprints of fuse have whole bits: nine, in 1.07 slots.
                let min_bytes = if kind == FilterKind::Fuse { 2_580_000_000 } else { 2_600_000_000 };
                assert!((min_bytes..2_750_000_000).contains(&payload_bytes), "{kind}: {payload_bytes}");
            }
        }
    }
}
