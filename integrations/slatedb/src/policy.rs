//! [`FilterBlockPolicy`]: which filters SlateDB's tables have.

use crate::builder::{Keys, TableFilterBuilder};
use crate::filter::TableFilter;
use crate::outcomes::{Outcomes, Tally};
use crate::verdict::Verdict;
use filterblock::{
    AlignedBytes, DecodeError, FilterBlockBuilder, FilterPolicy, KeyTransform, OpenOptions, ParsePolicyError,
};
use slatedb::Filter;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A filter policy for SlateDB. Clones share their counts.
///
/// The policy decides what filters are written. Stored filters are read if any policy wrote them; only one that was
/// hashed under a secret key needs a policy with this key.
#[derive(Clone, Debug)]
pub struct FilterBlockPolicy {
    policy: FilterPolicy,
    tally: Arc<Tally>,
}

/// Why a policy cannot be SlateDB's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The text is not a policy.
    Parse(ParsePolicyError),
    /// SlateDB's keys, which are byte strings, have no entries under this transform, or only code knows them.
    Transform {
        /// The transform.
        found: KeyTransform,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::Transform { found } => {
                write!(f, "transform {found} is none of whole-key, prefix:LEN, whole-key+prefix:LEN and delimited:BYTE")
            }
        }
    }
}

impl std::error::Error for PolicyError {}

impl From<ParsePolicyError> for PolicyError {
    fn from(error: ParsePolicyError) -> Self {
        Self::Parse(error)
    }
}

impl FilterBlockPolicy {
    /// The name, which all policies share, as the blocks themselves state what a reader must know: a name that changed
    /// with the policy would have SlateDB skip every filter that was written before.
    pub const NAME: &'static str = "filterblock";

    /// A policy whose counts are zero.
    ///
    /// # Errors
    /// [`PolicyError::Transform`] for transforms other than whole keys, prefixes, or both.
    pub fn new(policy: FilterPolicy) -> Result<Self, PolicyError> {
        match policy.transform() {
            KeyTransform::WholeKey
            | KeyTransform::FixedPrefix { .. }
            | KeyTransform::WholeKeyAndPrefix { .. }
            | KeyTransform::DelimitedPrefix { .. } => Ok(Self { policy, tally: Arc::default() }),
            found => Err(PolicyError::Transform { found }),
        }
    }

    /// The policy of the filters that are written.
    pub fn policy(&self) -> &FilterPolicy {
        &self.policy
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

    /// Opens a block of any policy. SlateDB gives a filter keys, not hashes, so each block's own seed and transform are
    /// applied, and blocks that were written before the policy changed stay in use: nothing is expected of them. One
    /// under a secret key, which it does not contain, needs that of this policy.
    fn open(&self, block: AlignedBytes) -> Result<TableFilter, DecodeError> {
        // What was verified once is not verified again.
        let options = match OpenOptions::new().open(block.as_ref()) {
            Err(DecodeError::KeyNeeded { .. }) => OpenOptions::new().expect_hasher(self.policy.hasher()),
            checked => checked.map(|_| OpenOptions::new().with_digest_check(false))?,
        };
        Ok(TableFilter::of_keys(options.open_owned(block)?, &self.tally))
    }

    /// Returns the options for blocks of this policy.
    fn own_options(&self) -> OpenOptions {
        OpenOptions::new().expect(&self.policy)
    }
}

impl slatedb::FilterPolicy for FilterBlockPolicy {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn builder(&self) -> Box<dyn slatedb::FilterBuilder> {
        let keys = Keys::Points(Box::new(FilterBlockBuilder::new(&self.policy)), self.own_options());
        Box::new(TableFilterBuilder { keys, tally: self.tally.clone() })
    }

    /// Bytes that are not a usable filter match every query.
    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        TableFilter::decoded(data, &self.tally, |block| self.open(block))
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        let num_entries = match self.policy.transform() {
            // A key has at most two entries.
            KeyTransform::WholeKeyAndPrefix { .. } => 2 * num_keys as u64,
            _ => num_keys as u64,
        };
        self.policy.expected_block_len(num_entries).ok().and_then(|len| usize::try_from(len).ok()).unwrap_or(0)
    }

    fn supports_prefix_queries(&self) -> bool {
        self.policy.transform() != KeyTransform::WholeKey
    }
}

/// Parses the policy's text, such as `blocked:10,seed=7` or `ribbon:fpr=1%,transform=whole-key+prefix:8`.
impl FromStr for FilterBlockPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::new(text.parse()?)
    }
}

/// The policy's text.
impl fmt::Display for FilterBlockPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}
