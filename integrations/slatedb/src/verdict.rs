//! The verdict on a policy's counts: whether its filters are in use.

use crate::outcomes::Outcomes;
use std::fmt;

/// Fewer queries without a denial may be chance.
pub const MIN_QUERIES: u64 = 1_000;

/// Whether the filters of a policy are in use and deny something, since the policy was made. Useless filters change no
/// answer, so nothing else reveals them.
///
/// ```
/// use filterblock_slatedb::{FilterBlockPolicy, Finding};
///
/// let policy: FilterBlockPolicy = "blocked:10".parse().unwrap();
/// assert_eq!(policy.verdict().findings, [Finding::NothingRead]);
/// ```
///
/// Of queries that were passed, SlateDB itself counts which found nothing (`sst_filter_false_positive_count` and its
/// siblings): that is the rate to compare with the policy's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The reasons why filters are useless; empty if they are in use.
    pub findings: Vec<Finding>,
    /// The queries that filters denied.
    pub denied: u64,
    /// The queries that filters answered.
    pub queries: u64,
}

/// One reason why filters are useless. `Display` has it in one line with its consequence and the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// No stored filter was read.
    NothingRead,
    /// Some stored filters that were read, or all, do not open.
    Unusable {
        /// Those that do not.
        filters: u64,
        /// Those that were read.
        of: u64,
    },
    /// Some tables, or all, were written with nothing in the filter's place.
    Missing {
        /// Those tables, counted at each read.
        tables: u64,
        /// All whose filter was read.
        of: u64,
    },
    /// Filters are read and never queried.
    NeverQueried {
        /// The filters that were opened.
        filters: u64,
    },
    /// Each of at least [`MIN_QUERIES`] queries was passed.
    NeverDenied {
        /// The queries.
        queries: u64,
    },
    /// Tables were written without a filter, as it could not be built.
    NotBuilt {
        /// Those tables.
        tables: u64,
    },
}

impl Verdict {
    pub(crate) fn of(outcomes: &Outcomes) -> Self {
        let &Outcomes { opened, missing, denied, passed, failed, .. } = outcomes;
        let (ignored, queries) = (outcomes.ignored(), denied + passed);
        let (unusable, of) = (ignored - missing, opened + ignored);
        let findings = [
            // A writer queries nothing: what it has built is in order.
            (of == 0 && queries == 0 && outcomes.built == 0, Finding::NothingRead),
            (unusable > 0, Finding::Unusable { filters: unusable, of }),
            (missing > 0, Finding::Missing { tables: missing, of }),
            (opened > 0 && queries == 0, Finding::NeverQueried { filters: opened }),
            (queries >= MIN_QUERIES && denied == 0, Finding::NeverDenied { queries }),
            (failed > 0, Finding::NotBuilt { tables: failed }),
        ];
        let findings = findings.into_iter().filter_map(|(is_so, finding)| is_so.then_some(finding)).collect();
        Self { findings, denied, queries }
    }

    /// Returns whether there is no finding.
    pub fn is_fine(&self) -> bool {
        self.findings.is_empty()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |some: u64, all: u64| if some == all { format!("all {all}") } else { format!("{some} of {all}") };
        match *self {
            Self::NothingRead => write!(
                f,
                "no stored filter was read: either nothing was looked up, or the tables were written without this \
                 policy: give it to the writer and the compactor, too"
            ),
            Self::Unusable { filters, of: all } => write!(
                f,
                "{} stored filters do not open: their tables are read; first_failure() has the reason",
                of(filters, all)
            ),
            Self::Missing { tables, of: all } => write!(
                f,
                "{} tables were written without a filter: they are read until they are compacted; see the writer's \
                 first_failure()",
                of(tables, all)
            ),
            Self::NeverQueried { filters } => write!(
                f,
                "{filters} filters were read and never queried: they cost requests and save none; scans need a \
                 RangeBlockPolicy or a transform with prefixes, lookups a FilterBlockPolicy"
            ),
            Self::NeverDenied { queries } => write!(
                f,
                "filters passed all {queries} queries: they cost requests and save none; either every key that is looked \
                 up exists, or keys have another form than those that were written"
            ),
            Self::NotBuilt { tables } => {
                write!(f, "{tables} filters could not be built: their tables are read; first_failure() has the reason")
            }
        }
    }
}

/// A line for each finding, and one for what was denied.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
        write!(f, "filters denied {} of {} queries", self.denied, self.queries)
    }
}
