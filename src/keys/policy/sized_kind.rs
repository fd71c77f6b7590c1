//! [`SizedKind`]: a named kind in a size, and the plans of its blocks.
//!
//! Only integers and the basic operations of IEEE arithmetic decide here and in the kinds, so the same policy and
//! entries give the same dimensions on every machine.

use crate::error::BuildError;
use crate::frame::HEADER_LEN;
use crate::hash::SetSeed;
use crate::keys::kinds::size::{Bits, FilterSize, MAX_MILLIBITS, MIN_MILLIBITS, PROBES, Target};
use crate::keys::kinds::{Plan, Planned, Settings, TooLong, combines, remaps};
use crate::kind::FilterKind;
use crate::math::hash_collision_rate;

/// A named kind in a size, from which the plan of a block is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SizedKind {
    pub(crate) size: FilterSize,
    pub(crate) settings: Settings,
}

impl SizedKind {
    pub(super) fn new(kind: FilterKind, size: FilterSize) -> Self {
        Self { size, settings: Settings::new(kind).solved(size) }
    }

    pub(crate) fn kind(&self) -> FilterKind {
        self.settings.kind()
    }

    /// A size that the kind cannot have is refused as by its own constructor.
    pub(super) fn checked(kind: FilterKind, size: FilterSize) -> Result<Self, BuildError> {
        match size {
            FilterSize::MillibitsPerKey(millibits) => check_bits(kind, f64::from(millibits) / 1e3)?,
            FilterSize::FalsePositiveRate(rate) => check_rate(kind, &Settings::new(kind), rate)?,
            FilterSize::MaxBytes(max_bytes) => check_byte_cap(max_bytes)?,
            FilterSize::FixedShape { block_len, num_probes } => check_shape(kind, block_len, num_probes)?,
        }
        Ok(Self::new(kind, size))
    }

    /// Returns the target of the payload of a frame with a header of `header_len` bytes. `num_entries` is at least 1.
    pub(crate) fn target(&self, num_entries: u64, header_len: usize) -> Target {
        match self.size {
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
            FilterSize::FixedShape { block_len, .. } => {
                let total = block_len.saturating_sub(HEADER_LEN as u64).saturating_mul(8);
                Target::Bits(Bits::fixed(total, num_entries))
            }
        }
    }

    /// Returns the plan that meets `target` for `num_entries` (at least 1) distinct entries.
    ///
    /// # Errors
    /// [`BuildError::TooLarge`] beyond what the format can describe or this machine can address.
    pub(crate) fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, BuildError> {
        let of_machine = isize::MAX as u64 - HEADER_LEN as u64;
        let (payload_bytes, max_bytes) = match self.settings.plan(target, num_entries) {
            Ok(planned) if planned.payload_bytes <= of_machine => return Ok(planned),
            Ok(Planned { payload_bytes, .. }) => (payload_bytes, of_machine),
            Err(TooLong { payload_bytes, max_bytes }) => (payload_bytes, max_bytes.min(of_machine)),
        };
        Err(BuildError::TooLarge { num_entries, payload_bytes, max_bytes })
    }

    /// Refuses a cap, or a fixed shape, that leaves less than the kind's least payload.
    pub(crate) fn check_cap(&self, num_entries: u64) -> Result<(), BuildError> {
        let min_bytes = HEADER_LEN as u64 + self.settings.min_payload_len(num_entries);
        match self.size {
            FilterSize::MaxBytes(cap_bytes) | FilterSize::FixedShape { block_len: cap_bytes, .. }
                if cap_bytes < min_bytes =>
            {
                Err(BuildError::ByteCap { kind: self.kind(), cap_bytes, min_bytes, num_entries })
            }
            _ => Ok(()),
        }
    }

    /// See [`FilterPolicy::expected_false_positive_rate`](super::FilterPolicy::expected_false_positive_rate).
    pub(super) fn expected_fpr(&self, num_entries: u64) -> Result<f64, BuildError> {
        if num_entries == 0 {
            return Ok(0.0);
        }
        let plan = self.plan(self.target(num_entries, HEADER_LEN), num_entries)?.plan;
        let floor = hash_collision_rate(num_entries);
        Ok(floor + (1.0 - floor) * plan.expected_fpr(num_entries))
    }

    /// See [`FilterPolicy::expected_block_len`](super::FilterPolicy::expected_block_len).
    pub(super) fn expected_block_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        match num_entries {
            0 => Ok(HEADER_LEN as u64),
            _ => Ok(HEADER_LEN as u64 + self.expected_payload_len(num_entries, HEADER_LEN)?),
        }
    }

    /// Returns the length of the payload in a frame with a header of `header_len` bytes. `num_entries` is at least 1.
    fn expected_payload_len(&self, num_entries: u64, header_len: usize) -> Result<u64, BuildError> {
        self.check_cap(num_entries)?;
        let target = self.target(num_entries, header_len);
        let planned_bytes = |target| self.plan(target, num_entries).map(|plan| plan.payload_bytes);
        let expected_bytes = planned_bytes(target)?;
        let Target::Bits(bits) = target else { return Ok(expected_bytes) };
        if !self.settings.len_depends_on_keys() {
            return Ok(expected_bytes);
        }
        let min_payload_bytes = planned_bytes(Target::Bits(Bits::new(0, num_entries, true)))?;
        let min_bytes = HEADER_LEN as u64 + min_payload_bytes;
        if let FilterSize::MaxBytes(cap_bytes) = self.size {
            if cap_bytes < min_bytes {
                return Err(BuildError::ByteCap { kind: self.kind(), cap_bytes, min_bytes, num_entries });
            }
        }
        Ok(min_payload_bytes.max(bits.total / 8))
    }

    /// Returns the greatest length of a payload in a frame with a header of `header_len` bytes. `num_entries` is at
    /// least 1.
    pub(super) fn max_payload_len(&self, num_entries: u64, header_len: usize) -> Result<u64, BuildError> {
        let expected_bytes = self.expected_payload_len(num_entries, header_len)?;
        match self.settings.len_depends_on_keys() {
            // The margin of `expected_block_len`. Under a byte cap a first attempt may take it.
            true => {
                let margin_bytes =
                    expected_bytes / 100 + 1 + self.settings.max_overhead(num_entries, 1) + remapped_bytes(self.kind());
                Ok(expected_bytes.saturating_add(margin_bytes))
            }
            false => Ok(expected_bytes.saturating_add(remapped_bytes(self.kind()))),
        }
    }

    /// Returns the greatest number of entries whose block is expected to have at most `block_len` bytes.
    pub(super) fn expected_num_entries(&self, block_len: u64) -> u64 {
        let fits = |num_entries| self.expected_block_len(num_entries).is_ok_and(|len| len <= block_len);
        // An entry takes half a bit at least.
        let (mut least, mut beyond) = (0, block_len.saturating_mul(16).saturating_add(2).min(1 << 60));
        while least + 1 < beyond {
            let middle = least + (beyond - least) / 2;
            if fits(middle) { least = middle } else { beyond = middle }
        }
        least
    }
}

/// Returns the number of bytes by which a remapped filter of `kind` is longer than another.
pub(super) fn remapped_bytes(kind: FilterKind) -> u64 {
    if remaps(kind) { SetSeed::LEN as u64 } else { 0 }
}

pub(super) fn check_bits(kind: FilterKind, asked: f64) -> Result<(), BuildError> {
    let (min, max) = (f64::from(MIN_MILLIBITS) / 1e3, f64::from(MAX_MILLIBITS) / 1e3);
    if (min..=max).contains(&asked) { Ok(()) } else { Err(BuildError::BitsPerKey { kind, asked, min, max }) }
}

pub(super) fn check_byte_cap(asked: u64) -> Result<(), BuildError> {
    let (min, max) = (64, u64::MAX);
    if asked < min { Err(BuildError::Setting { name: "max_bytes", asked, min, max }) } else { Ok(()) }
}

/// The greatest length of a block of a fixed shape, 4 GiB: it is allocated for one entry, too, so a slip of a few digits
/// must not end the process.
const MAX_SHAPE_LEN: u64 = 1 << 32;

/// Refuses kinds whose filters cannot be combined, and what the format cannot describe.
pub(super) fn check_shape(kind: FilterKind, block_len: u64, num_probes: u32) -> Result<(), BuildError> {
    if !combines(kind) {
        return Err(BuildError::NoFixedShape { kind });
    }
    let (min, max) = (HEADER_LEN as u64 + 1, MAX_SHAPE_LEN);
    if !(min..=max).contains(&block_len) {
        return Err(BuildError::Setting { name: "bytes", asked: block_len, min, max });
    }
    Settings::new(kind).set(PROBES, num_probes.into()).map(|_| ())
}

pub(super) fn check_rate(kind: FilterKind, settings: &Settings, asked: f64) -> Result<(), BuildError> {
    let (min, max) = settings.rate_limits();
    if (min..=max).contains(&asked) { Ok(()) } else { Err(BuildError::FalsePositiveRate { kind, asked, min, max }) }
}

/// Returns the refusal of the kind that comes closer to a size that two kinds refuse.
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
        // The other kind has no such size at all.
        (BuildError::NoFixedShape { .. }, _) => true,
        // It is about no size.
        (_, BuildError::SelfCheck { .. } | BuildError::OutputTooShort { .. }) => true,
        _ => false,
    };
    if is_closer { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_LEN, SizedKind};
    use crate::error::BuildError;
    use crate::keys::policy::FilterPolicy;
    use crate::kind::FilterKind;

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
                let planned = of_kind.plan(of_kind.target(num_entries, HEADER_LEN), num_entries);
                // A kind whose length varies is limited by the hash, and then fits 64 bits.
                assert!(planned.is_err() || of_kind.settings.len_depends_on_keys(), "{kind} {num_entries}");
                // The limit in the error is the one that was exceeded.
                if let Err(BuildError::TooLarge { payload_bytes, max_bytes, .. }) = planned {
                    assert!(payload_bytes > max_bytes, "{kind} {num_entries}: {payload_bytes} of {max_bytes}");
                }
            }
        }
    }

    #[test]
    fn sizes_past_the_memory_are_errors() {
        // 2^31 entries of 10 bits are 2.5 GiB: more than an object may have where addresses have 32 bits.
        for &kind in FilterKind::ALL {
            let of_kind = with_bits(kind, 10.0);
            let planned = of_kind.plan(of_kind.target(1 << 31, HEADER_LEN), 1 << 31);
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
