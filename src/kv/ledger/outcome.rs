//! How a lookup in a table ends.

use core::fmt;

/// How a lookup in a table ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// What was asked for lies outside the key range of every block of the table: settled in memory, without the
    /// filter.
    OutOfKeyRange,
    /// The filter said no. One data-block read saved, exactly.
    Avoided,
    /// The filter said maybe, and the table has what it was asked for, with a value.
    TruePositive,
    /// The filter said maybe, and the table does not have what it was asked for.
    FalsePositive,
    /// The filter said maybe, and the table has a deletion of what was asked for: a read that was needed. Not an
    /// outcome of prefix lookups, whose question is about rows, deleted or not.
    Tombstone,
    /// The table was written without a filter that could answer.
    NoFilter,
    /// The table has a filter that could answer, but it is damaged or newer than this library.
    FilterUnusable,
    /// The lookup ended in an error.
    Failed,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::OutOfKeyRange,
        Self::Avoided,
        Self::TruePositive,
        Self::FalsePositive,
        Self::Tombstone,
        Self::NoFilter,
        Self::FilterUnusable,
        Self::Failed,
    ];

    /// Whether a lookup that ends so has read at least one data block, from storage or from a cache.
    pub const fn costs_a_read(self) -> bool {
        match self {
            Self::TruePositive | Self::FalsePositive | Self::Tombstone | Self::NoFilter | Self::FilterUnusable => true,
            Self::OutOfKeyRange | Self::Avoided | Self::Failed => false,
        }
    }

    /// The name as a field of JSON and as a label's value.
    pub const fn id(self) -> &'static str {
        match self {
            Self::OutOfKeyRange => "out_of_key_range",
            Self::Avoided => "avoided",
            Self::TruePositive => "true_positive",
            Self::FalsePositive => "false_positive",
            Self::Tombstone => "tombstone",
            Self::NoFilter => "no_filter",
            Self::FilterUnusable => "filter_unusable",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OutOfKeyRange => "out of key range",
            Self::Avoided => "avoided by filter",
            Self::TruePositive => "true positive",
            Self::FalsePositive => "false positive",
            Self::Tombstone => "tombstone",
            Self::NoFilter => "no filter",
            Self::FilterUnusable => "filter unusable",
            Self::Failed => "failed",
        })
    }
}
