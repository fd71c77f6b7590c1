//! The size at which a partition is full.

use crate::error::BuildError;
use crate::keys::kinds::size::FilterSize;
use crate::keys::policy::FilterPolicy;
use crate::ranges::RangePolicy;

/// The size at which a partition is closed, given in bytes or in entries. Entries of one order key are not separated,
/// so a partition may have a few more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartitionLimit {
    /// The greatest number of entries whose block has at most this number of bytes, header included: 256 to 2³⁰.
    /// Blocks of a kind whose length depends on the keys have about this length.
    Bytes(u64),
    /// A number of entries, 1 to 2³².
    Entries(u64),
}

/// The default is 32 KiB.
impl Default for PartitionLimit {
    fn default() -> Self {
        Self::Bytes(32 << 10)
    }
}

impl PartitionLimit {
    /// Returns the policy with a kind that is chosen for a full partition, so that all partitions have the same.
    pub(super) fn with_kind(self, policy: &FilterPolicy) -> Result<FilterPolicy, BuildError> {
        match policy.kind() {
            Some(_) => Ok(policy.clone()),
            None => Ok(policy.choice(self.max_entries(policy)?)?.policy()),
        }
    }

    /// Returns the number of entries at which a partition is full.
    pub(super) fn max_entries(self, policy: &FilterPolicy) -> Result<u64, BuildError> {
        if let FilterSize::MaxBytes(cap_bytes) | FilterSize::FixedShape { block_len: cap_bytes, .. } = policy.size() {
            return Err(BuildError::CappedPartitions { cap_bytes });
        }
        self.entries_by(|bytes| policy.expected_num_entries(bytes))
    }

    /// Returns the number of keys at which a partition of a range filter is full.
    pub(super) fn max_keys(self, policy: RangePolicy) -> Result<u64, BuildError> {
        self.entries_by(|bytes| policy.expected_num_keys(bytes))
    }

    /// Returns the number of entries at which a partition is full. `of_bytes` returns the number that a block of some
    /// length holds.
    fn entries_by(self, of_bytes: impl FnOnce(u64) -> u64) -> Result<u64, BuildError> {
        match self {
            // One entry always fits.
            Self::Bytes(bytes) => Ok(of_bytes(legal("partition bytes", bytes, 256, 1 << 30)?).max(1)),
            Self::Entries(entries) => legal("partition entries", entries, 1, 1 << 32),
        }
    }
}

/// Returns the setting `asked` if it is legal.
fn legal(name: &'static str, asked: u64, min: u64, max: u64) -> Result<u64, BuildError> {
    match (min..=max).contains(&asked) {
        true => Ok(asked),
        false => Err(BuildError::Setting { name, asked, min, max }),
    }
}

#[cfg(test)]
mod tests {
    use super::PartitionLimit;
    use crate::error::BuildError;
    use crate::keys::kinds::Settings;
    use crate::keys::policy::FilterPolicy;
    use crate::kind::FilterKind;

    #[test]
    fn as_many_entries_as_fit() {
        for &kind in FilterKind::ALL {
            for bits in [4.0, 10.0, 64.0] {
                let policy = FilterPolicy::with_bits_per_key(kind, bits).unwrap();
                for bytes in [256, 1 << 15, 1 << 30] {
                    let entries = PartitionLimit::Bytes(bytes).max_entries(&policy).unwrap();
                    let len = |entries| policy.expected_block_len(entries).unwrap();
                    assert!(len(entries) <= bytes, "{kind} {bits} {bytes}: {entries}");
                    let more = entries + entries / 16 + 16;
                    assert!(len(more) > bytes, "{kind} {bits} {bytes}: {entries} and {more}");
                }
            }
            let (least, most) = Settings::new(kind).rate_limits();
            for rate in [least, most] {
                let policy = FilterPolicy::with_false_positive_rate(kind, rate).unwrap();
                assert!(PartitionLimit::Bytes(256).max_entries(&policy).unwrap() >= 1);
            }
        }
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::ALL[0], 10.0).unwrap();
        for limit in [
            PartitionLimit::Bytes(255),
            PartitionLimit::Bytes((1 << 30) + 1),
            PartitionLimit::Bytes(u64::MAX),
            PartitionLimit::Entries(0),
            PartitionLimit::Entries((1 << 32) + 1),
        ] {
            assert!(matches!(limit.max_entries(&policy), Err(BuildError::Setting { .. })), "{limit:?}");
        }
        let capped = FilterPolicy::with_max_bytes(FilterKind::ALL[0], 1000).unwrap();
        let refused = PartitionLimit::default().max_entries(&capped);
        assert_eq!(refused, Err(BuildError::CappedPartitions { cap_bytes: 1000 }));
        let fixed = FilterPolicy::with_fixed_shape(FilterKind::Bloom, 1000, 7).unwrap();
        let refused = PartitionLimit::default().max_entries(&fixed);
        assert_eq!(refused, Err(BuildError::CappedPartitions { cap_bytes: 1000 }));
    }
}
