//! [`FilterChoice`]: the filters of a database, as text.

use crate::{FilterBlockPolicy, PolicyError, RangeBlockPolicy};
use slatedb::BloomFilterPolicy;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The filters of a database.
#[derive(Clone, Debug)]
pub enum FilterChoice {
    /// None.
    None,
    /// SlateDB's own Bloom filter.
    Bloom {
        /// Bits for each key.
        bits_per_key: u32,
    },
    /// Filter blocks.
    Blocks(FilterBlockPolicy),
    /// Filter blocks, and range filters.
    Ranges(FilterBlockPolicy, RangeBlockPolicy),
}

const NONE: &str = "none";
const BLOOM: &str = "slatedb:";
const RANGES: &str = "+range:";

impl FilterChoice {
    /// Returns the policies that SlateDB's builders take.
    pub fn policies(&self) -> Vec<Arc<dyn slatedb::FilterPolicy>> {
        match self {
            Self::None => Vec::new(),
            Self::Bloom { bits_per_key } => vec![Arc::new(BloomFilterPolicy::new(*bits_per_key))],
            Self::Blocks(policy) => vec![Arc::new(policy.clone())],
            Self::Ranges(keys, ranges) => vec![Arc::new(keys.clone()), Arc::new(ranges.clone())],
        }
    }

    /// The policy of filter blocks.
    pub fn blocks(&self) -> Option<&FilterBlockPolicy> {
        match self {
            Self::Blocks(policy) | Self::Ranges(policy, _) => Some(policy),
            _ => None,
        }
    }

    /// The policy of range filters.
    pub fn ranges(&self) -> Option<&RangeBlockPolicy> {
        match self {
            Self::Ranges(_, policy) => Some(policy),
            _ => None,
        }
    }
}

/// `none`, `slatedb:BITS` for SlateDB's own filter, or the text of a policy of filter blocks, with `+range:BITS` or without.
impl FromStr for FilterChoice {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        if text == NONE {
            return Ok(Self::None);
        }
        if let Some(at) = text.find(RANGES) {
            return Ok(Self::Ranges(text[..at].parse()?, text[at + 1..].parse()?));
        }
        match text.strip_prefix(BLOOM).map(str::parse) {
            Some(Ok(bits_per_key)) => Ok(Self::Bloom { bits_per_key }),
            _ => text.parse().map(Self::Blocks),
        }
    }
}

impl fmt::Display for FilterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str(NONE),
            Self::Bloom { bits_per_key } => write!(f, "{BLOOM}{bits_per_key}"),
            Self::Blocks(policy) => policy.fmt(f),
            Self::Ranges(keys, ranges) => write!(f, "{keys}+{ranges}"),
        }
    }
}
