//! Policies from the command line: a kind, or `auto` for the one that costs least, and a size.

use clap::builder::PossibleValuesParser;
use filterblock::{FilterKind, FilterPolicy, ParsePolicyError};
use std::fmt;

pub(crate) const AUTO: &str = "auto";
/// The kind that is not one of keys alone.
pub(crate) const RANGE: &str = "range";
pub(crate) const DEFAULT_BITS_PER_KEY: f64 = 10.0;
/// Enough to distinguish most keys of text.
pub(crate) const DEFAULT_RANGE_BITS: f64 = 14.0;

/// Accepts the kinds and `more` words.
pub(crate) fn kind_or(more: &[&'static str]) -> PossibleValuesParser {
    PossibleValuesParser::new(FilterKind::ALL.iter().map(|kind| kind.name()).chain(more.iter().copied()))
}

/// A size as it is given; its text is that in a policy's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    BitsPerKey(f64),
    FalsePositiveRate(f64),
    MaxBytes(u64),
}

impl Size {
    /// The policy of this size and a kind, which may be [`AUTO`].
    pub(crate) fn policy(self, kind: &str) -> Result<FilterPolicy, ParsePolicyError> {
        format!("{kind}:{self}").parse()
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitsPerKey(bits) => write!(f, "{bits}"),
            Self::FalsePositiveRate(rate) => write!(f, "fpr={rate}"),
            Self::MaxBytes(bytes) => write!(f, "max={bytes}"),
        }
    }
}
