//! The test whether a set is in use and pays: a useless one makes no answer wrong, so nothing else reveals it.

use crate::doubt::{Counts, Doubt, Outcomes};
use std::fmt;

/// Fewer files than these, in all lookups together, show nothing of the share that was left out.
const MIN_FILES: u64 = 1000;

/// The reasons that keep a set from being of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// No query has used the set.
    NeverAsked,
    /// Of the files of the tables, the set knows none in the state in which they are.
    KnowsNone {
        /// The files.
        files: u64,
    },
    /// It does not know some of them.
    Unknown {
        /// Files that it does not know.
        unknown: u64,
        /// All files.
        files: u64,
    },
    /// More than half of the files that it knows, at least a thousand, were read: most have what queries look for, or the
    /// filters pass far more than their rate, as too small ones do, and long lists.
    MostRead {
        /// Files that the set knows and did not deny.
        read: u64,
        /// Files that it knows.
        known: u64,
    },
    /// Requests failed, or indexes and units of rows are not usable.
    Errors {
        /// Their number.
        errors: u64,
    },
    /// All filters of queries are such as no set answers.
    Unanswered {
        /// Their number.
        filters: u64,
    },
    /// Tables have an adapter of their own, and are read as a whole.
    Adapter {
        /// Queries of such tables.
        queries: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverAsked => f.write_str("no query has asked the set: compare indexed columns by = or IN"),
            Self::KnowsNone { files } => {
                write!(f, "the set knows none of {files} files: compare its names and tags with the table's")
            }
            Self::Unknown { unknown, files } => {
                write!(
                    f,
                    "the set does not know {unknown} of {files} files, which are read: continue it when files are written"
                )
            }
            Self::MostRead { read, known } => {
                write!(
                    f,
                    "{read} of {known} files that the set knows were read: values are in most files, or the rate is too high"
                )
            }
            Self::Errors { errors } => {
                write!(f, "{errors} reads or units of the set failed: see what was logged first")
            }
            Self::Unanswered { filters } => {
                write!(f, "none of {filters} filters of queries is one that the set answers")
            }
            Self::Adapter { queries } => {
                write!(f, "{queries} queries read whole tables, which have adapters of their own")
            }
        }
    }
}

impl Outcomes {
    /// Returns what keeps the set from being of use; nothing if it is in use and pays.
    pub fn verdict(&self) -> Vec<Finding> {
        let Counts { files, known, skipped, errors, unanswered, .. } = self.counts;
        let (read, adapted) = (known.saturating_sub(skipped), self.doubts(Doubt::Adapter));
        let findings = [
            (self.lookups == 0, Finding::NeverAsked),
            (files > 0 && known == 0, Finding::KnowsNone { files }),
            (known > 0 && known < files, Finding::Unknown { unknown: files.saturating_sub(known), files }),
            (known >= MIN_FILES && read > known / 2, Finding::MostRead { read, known }),
            (errors > 0, Finding::Errors { errors }),
            (unanswered > 0 && self.lookups == 0, Finding::Unanswered { filters: unanswered }),
            (adapted > 0, Finding::Adapter { queries: adapted }),
        ];
        findings.into_iter().filter(|(is_found, _)| *is_found).map(|(_, finding)| finding).collect()
    }
}
