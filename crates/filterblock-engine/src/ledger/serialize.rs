//! The report for programs: the parts that serde's derive does not make. The rate of no queries is null.

use super::accounts::{ClassKind, LedgerReport};
use super::class::LookupClass;
use super::outcome::Outcome;
use super::tally::Tally;
use super::verdict::Verdict;
use filterblock::FilterKind;
use serde::{Serialize, Serializer};

/// A map from every outcome to its count.
pub(super) fn outcomes<S: Serializer>(counts: &[u64; Outcome::ALL.len()], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Outcome::ALL.iter().map(|outcome| outcome.id()).zip(counts))
}

/// The name of a kind of filter, or `null`.
pub(super) fn kind<S: Serializer>(kind: &Option<FilterKind>, serializer: S) -> Result<S::Ok, S::Error> {
    kind.map(FilterKind::name).serialize(serializer)
}

/// A map from every purpose to the kind of its filter.
pub(super) fn kinds<S: Serializer>(kinds: &[ClassKind], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(kinds.iter().map(|of| (of.purpose, of.kind.map(FilterKind::name))))
}

/// A map from every purpose to its sums.
pub(super) fn tallies<S: Serializer>(tallies: &[(LookupClass, Tally)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(tallies.iter().map(|(class, tally)| (class.purpose(), tally)))
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WithRates<'a> {
            #[serde(flatten, with = "Tally")]
            counts: &'a Tally,
            observed_fpr: Option<f64>,
            predicted_fpr: Option<f64>,
        }
        let (observed_fpr, predicted_fpr) = (self.observed_fpr(), self.predicted_fpr());
        WithRates { counts: self, observed_fpr, predicted_fpr }.serialize(serializer)
    }
}

impl Serialize for LedgerReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WithVerdict<'a> {
            #[serde(flatten, with = "LedgerReport")]
            counts: &'a LedgerReport,
            verdict: Verdict,
        }
        WithVerdict { counts: self, verdict: self.verdict() }.serialize(serializer)
    }
}
