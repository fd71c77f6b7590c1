//! [`RangeBlockPolicy`]: range filters of SlateDB's tables.

use crate::builder::{Keys, TableFilterBuilder};
use crate::filter::TableFilter;
use crate::outcomes::{Outcomes, Tally};
use crate::verdict::Verdict;
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock::{OpenOptions, ParsePolicyError};
use slatedb::Filter;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A filter policy for SlateDB whose filters answer scans. Given beside a [`FilterBlockPolicy`](crate::FilterBlockPolicy),
/// and after it, it has each table store both filters, each under its policy's name:
///
/// ```
/// use filterblock_slatedb::{FilterBlockPolicy, RangeBlockPolicy};
/// use slatedb::FilterPolicy;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys: FilterBlockPolicy = "blocked:10".parse()?;
/// let ranges: RangeBlockPolicy = "range:14".parse()?;
/// let policies: Vec<Arc<dyn FilterPolicy>> = vec![Arc::new(keys), Arc::new(ranges)];
/// # assert!(policies[1].supports_range_queries() && !policies[0].supports_range_queries());
/// # Ok(())
/// # }
/// ```
///
/// The filter of keys has the bytes that it has alone. Programs without this policy pass over the range filters, and
/// tables without them are read as before. Clones share their counts.
#[derive(Clone, Debug)]
pub struct RangeBlockPolicy {
    policy: RangePolicy,
    tally: Arc<Tally>,
}

impl RangeBlockPolicy {
    /// The name, which all policies share, as a block states what a reader must know.
    pub const NAME: &'static str = "filterblock-range";

    /// A policy whose counts are zero.
    pub fn new(policy: RangePolicy) -> Self {
        Self { policy, tally: Arc::default() }
    }

    /// The policy of the filters that are written.
    pub fn policy(&self) -> RangePolicy {
        self.policy
    }

    /// Returns the outcomes of the filters that were built and read.
    pub fn outcomes(&self) -> Outcomes {
        self.tally.outcomes()
    }

    /// Returns whether the filters are in use and deny something. See [`Verdict`].
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.outcomes())
    }

    /// The first failure, which was logged as a warning, too; later ones are counted only.
    pub fn first_failure(&self) -> Option<&str> {
        self.tally.first_failure()
    }
}

impl slatedb::FilterPolicy for RangeBlockPolicy {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn builder(&self) -> Box<dyn slatedb::FilterBuilder> {
        let keys = Keys::Ranges(RangeFilterBuilder::new(self.policy));
        Box::new(TableFilterBuilder { keys, tally: self.tally.clone() })
    }

    /// Bytes that are not a usable filter match every query.
    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        TableFilter::decoded(data, &self.tally, |block| {
            Ok(TableFilter::of_ranges(OpenOptions::new().open_ranges(block)?, &self.tally))
        })
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        usize::try_from(self.policy.expected_block_len(num_keys as u64)).unwrap_or(0)
    }

    fn supports_range_queries(&self) -> bool {
        true
    }

    /// Prefixes are answered if another policy has SlateDB query them. Otherwise it queries the range of a scan of a
    /// prefix, which is narrower where the scan is of a part of the prefix.
    fn supports_prefix_queries(&self) -> bool {
        false
    }
}

/// Parses the policy's text, such as `range:14`.
impl FromStr for RangeBlockPolicy {
    type Err = ParsePolicyError;

    fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
        text.parse().map(Self::new)
    }
}

/// The policy's text.
impl fmt::Display for RangeBlockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}
