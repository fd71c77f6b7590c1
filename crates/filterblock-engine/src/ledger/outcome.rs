//! The outcomes of a lookup in a table.

use core::fmt;

/// The outcome of a lookup in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Outcome {
    /// The key is outside the table's key range, or between two blocks of an engine that knows both ends of each:
    /// decided in memory, without the filter.
    OutOfKeyRange,
    /// The filter denied the key: exactly one data-block read saved.
    Avoided,
    /// The filter passed the key, and the table has it, with a value.
    TruePositive,
    /// The filter passed the key, and the table does not have it.
    FalsePositive,
    /// The filter passed the key, and the table has a tombstone of it: the read was needed. Lookups of ranges do not
    /// have this outcome: for them deleted keys count as keys.
    Tombstone,
    /// The table was written without a filter that could answer, or nothing of it is in memory.
    NoFilter,
    /// The table has a filter that could answer, but it is damaged or newer than this library.
    FilterUnusable,
    /// The lookup ended in an error.
    Failed,
}

impl Outcome {
    /// All outcomes. Later versions may have more.
    pub const ALL: &'static [Self] = &[
        Self::OutOfKeyRange,
        Self::Avoided,
        Self::TruePositive,
        Self::FalsePositive,
        Self::Tombstone,
        Self::NoFilter,
        Self::FilterUnusable,
        Self::Failed,
    ];

    /// Returns whether a lookup with this outcome has read at least one data block, from storage or from the cache.
    pub const fn costs_a_read(self) -> bool {
        match self {
            Self::TruePositive | Self::FalsePositive | Self::Tombstone | Self::NoFilter | Self::FilterUnusable => true,
            Self::OutOfKeyRange | Self::Avoided | Self::Failed => false,
        }
    }

    /// Returns the name in JSON and in labels.
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
