//! The verdict on a report: whether the filters are in use, and what they save.

use super::accounts::{LedgerReport, LevelTally};
use super::outcome::Outcome;
use super::tally::Tally;
use core::fmt;
use filterblock::FilterKind;
use serde::Serialize;

/// Fewer lookups do not show what a workload is like, nor that a rate differs from the predicted one: with few keys, one
/// that is looked up again and again decides.
pub const MIN_LOOKUPS: u64 = 1_000;

/// A filter that denies half of the absent keys passes this number in a row with a probability of 2^-22: less than that
/// of five standard deviations.
pub const MIN_PASSED: u64 = 22;

/// An observed rate differs from the predicted one from this number of standard deviations on: if the filters are as
/// predicted, the probability is below e^(-6²/2), 1.6e-8.
pub const MIN_SIGMAS: f64 = 6.0;

/// A rate that is significantly but only slightly above the predicted one is not reported.
pub const MIN_TIMES_PREDICTED: f64 = 2.0;

/// The findings about filters from the counts of a report. See [`LedgerReport::verdict`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The reasons why filters are useless, or nearly; empty if they are in use and as good as predicted.
    pub findings: Vec<Finding>,
    /// The reads that the filters have saved.
    pub savings: Savings,
}

impl Verdict {
    /// Returns whether there is no finding.
    pub fn is_fine(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The reads that the filters have saved, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Savings {
    /// The number of lookups that a filter ended: each a read of a data block, or a hit of the cache, saved.
    pub reads_avoided: u64,
    /// About how many bytes these had, by the mean of those that were read; `None` before the first read.
    pub bytes_avoided: Option<u64>,
    /// The number of false positives: reads that found nothing.
    pub reads_wasted: u64,
    /// The number of lookups without a usable filter that found nothing: reads that a filter could have saved.
    pub reads_unfiltered: u64,
    /// The number of reads of filters from storage.
    pub filter_block_reads: u64,
    /// Their bytes.
    pub filter_block_bytes: u64,
}

/// One reason why filters are useless, or as good as that. `Display` has it in one line with its consequence and the
/// next step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finding {
    /// No lookup was counted.
    NoLookups,
    /// Tables have usable filters for this purpose, and no lookup has queried one.
    NeverQueried {
        /// The name of the class.
        purpose: &'static str,
        /// The lookups of the class, none of which reached a filter.
        lookups: u64,
    },
    /// Some lookups, or all, found filters that could not be opened: damaged, newer than the library, or not the
    /// expected ones.
    Unusable {
        /// The name of the class.
        purpose: &'static str,
        /// The lookups that found such a filter.
        lookups: u64,
        /// The lookups of the class that needed a filter.
        of: u64,
    },
    /// Some lookups, or all, were in tables without a filter.
    Missing {
        /// The name of the class.
        purpose: &'static str,
        /// The lookups in such tables.
        lookups: u64,
        /// The lookups of the class that needed a filter.
        of: u64,
    },
    /// Filters have passed every absent key, at least [`MIN_PASSED`] of them.
    NeverDenied {
        /// The level of their tables.
        level: u32,
        /// The name of the class.
        purpose: &'static str,
        /// Their kind; `None` for filters without one, as those of ranges.
        #[serde(serialize_with = "super::serialize::kind")]
        kind: Option<FilterKind>,
        /// The probes for absent keys, all of which were passed.
        absent: u64,
    },
    /// Of at least [`MIN_LOOKUPS`] probes for absent keys, filters have passed [`MIN_TIMES_PREDICTED`] times the
    /// predicted number or more, which is [`MIN_SIGMAS`] standard deviations above it or more.
    RateAbovePredicted {
        /// The level of their tables.
        level: u32,
        /// The name of the class.
        purpose: &'static str,
        /// Their kind.
        #[serde(serialize_with = "super::serialize::kind")]
        kind: Option<FilterKind>,
        /// The probes for absent keys.
        absent: u64,
        /// Those that were passed.
        passed: u64,
        /// Those that were expected to be passed.
        expected: f64,
        /// The distance between the two, in standard deviations.
        sigmas: f64,
    },
    /// Each of at least [`MIN_LOOKUPS`] probes was for a key that the table has, so there was nothing to deny.
    NothingAbsent {
        /// The name of the class.
        purpose: &'static str,
        /// The probes.
        lookups: u64,
    },
    /// Reading filters has taken [`MIN_LOOKUPS`] reads or more, and at least as many as the filters saved.
    CostlyReads {
        /// The reads of filters.
        filter_block_reads: u64,
        /// The reads that filters saved.
        reads_avoided: u64,
    },
    /// Filters could not be built, so their tables have none.
    NotBuilt {
        /// The number of such filters.
        filters: u64,
    },
}

impl LedgerReport {
    /// The verdict: whether the filters are in use and pay. A function of the counts alone, which include those of
    /// tables that are closed.
    ///
    /// A store whose filters are never queried, never opened or never deny gives right answers and is only slow, so
    /// nothing else reveals it. An engine prints this after a while, and asserts it in its tests:
    ///
    /// ```
    /// use filterblock_engine::ledger::{Accounts, FilterFacts, Finding, LookupClass, Outcome};
    /// use filterblock::FilterKind;
    ///
    /// static CLASSES: [LookupClass; 1] = [LookupClass::point("key")];
    /// let accounts = Accounts::new(&CLASSES);
    /// let table = accounts.open(7, 0, [Some(FilterFacts::new(FilterKind::Blocked, 0.01))]);
    /// # let lookup_of_absent_key = |passes: bool| {
    /// #     let lookup = table.of(0usize).begin();
    /// #     if passes { lookup.blocks().note_read(4096) }
    /// #     lookup.end(if passes { Outcome::FalsePositive } else { Outcome::Avoided });
    /// # };
    /// // 2000 lookups of absent keys, 20 of which the filter passes:
    /// (0..2000).for_each(|i| lookup_of_absent_key(i % 100 == 0));
    /// let verdict = accounts.report().verdict();
    /// assert!(verdict.is_fine(), "{verdict}");
    /// assert_eq!(verdict.savings.reads_avoided, 1980);
    ///
    /// // From now on it passes every key, because the engine looks up keys of another form:
    /// (0..2000).for_each(|_| lookup_of_absent_key(true));
    /// let verdict = accounts.report().verdict();
    /// assert!(matches!(verdict.findings[..], [Finding::RateAbovePredicted { passed: 2020, .. }]), "{verdict}");
    /// println!("{verdict}");
    /// ```
    ///
    /// Of the predicted rate, 6 standard deviations are meant: with an expected number μ of false positives, the
    /// probability of x or more is at most e^-(x ln(x/μ) - x + μ) (Chernoff), whatever the rates of the filters that
    /// contribute, and the deviation is the one whose bound e^(-σ²/2) is the same. It takes probes of different keys: an
    /// absent key that is looked up again and again and happens to pass is as wasteful, but the filter is as predicted.
    pub fn verdict(&self) -> Verdict {
        let total = self.total.total();
        let savings = self.savings(&total);
        let mut findings = Vec::new();
        if total.lookups == 0 {
            findings.push(Finding::NoLookups);
        }
        for (class, tally) in self.total.classes() {
            let purpose = class.purpose();
            let has_filters = self.by_level.iter().any(|line| line.purpose == purpose && line.kind.is_some());
            of_class(purpose, tally, has_filters && total.lookups > 0, &mut findings);
            findings.extend(self.by_level.iter().filter(|line| line.purpose == purpose).filter_map(of_level));
        }
        let Savings { filter_block_reads, reads_avoided, .. } = savings;
        if filter_block_reads >= reads_avoided.max(MIN_LOOKUPS) {
            findings.push(Finding::CostlyReads { filter_block_reads, reads_avoided });
        }
        if self.filters_not_built > 0 {
            findings.push(Finding::NotBuilt { filters: self.filters_not_built });
        }
        Verdict { findings, savings }
    }

    fn savings(&self, total: &Tally) -> Savings {
        let reads_avoided = total.count(Outcome::Avoided);
        let unfiltered = total.count(Outcome::NoFilter) + total.count(Outcome::FilterUnusable);
        let (reads, bytes) = (u128::from(total.data_block_reads), u128::from(total.data_block_bytes));
        let avoided = (u128::from(reads_avoided) * bytes).checked_div(reads);
        Savings {
            reads_avoided,
            bytes_avoided: avoided.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
            reads_wasted: total.count(Outcome::FalsePositive),
            reads_unfiltered: unfiltered.saturating_sub(total.unfiltered_found),
            filter_block_reads: self.total.filter_block_reads,
            filter_block_bytes: self.total.filter_block_bytes,
        }
    }
}

/// Adds the findings of a class's sums, given whether tables have usable filters for it while lookups are made.
fn of_class(purpose: &'static str, tally: &Tally, has_filters: bool, findings: &mut Vec<Finding>) {
    let present = tally.count(Outcome::TruePositive) + tally.count(Outcome::Tombstone);
    let (unusable, missing) = (tally.count(Outcome::FilterUnusable), tally.count(Outcome::NoFilter));
    let of = present + tally.absent_asked() + unusable + missing;
    if has_filters && present + tally.absent_asked() + unusable == 0 {
        findings.push(Finding::NeverQueried { purpose, lookups: tally.lookups });
    }
    if unusable > 0 {
        findings.push(Finding::Unusable { purpose, lookups: unusable, of });
    }
    if missing > 0 {
        findings.push(Finding::Missing { purpose, lookups: missing, of });
    }
    if present >= MIN_LOOKUPS && tally.absent_asked() == 0 {
        findings.push(Finding::NothingAbsent { purpose, lookups: present });
    }
}

/// Adds the findings of the rate of a level's filters.
fn of_level(of_level: &LevelTally) -> Option<Finding> {
    let &LevelTally { level, purpose, kind, tally } = of_level;
    let (absent, passed) = (tally.absent_asked(), tally.count(Outcome::FalsePositive));
    if passed == absent && absent >= MIN_PASSED {
        return Some(Finding::NeverDenied { level, purpose, kind, absent });
    }
    // Without a predicted rate there is nothing to compare.
    let expected = tally.predicted_fpr().filter(|_| absent >= MIN_LOOKUPS)? * absent as f64;
    let sigmas = sigmas_above(passed as f64, expected);
    let is_far = passed as f64 >= MIN_TIMES_PREDICTED * expected && sigmas >= MIN_SIGMAS;
    is_far.then_some(Finding::RateAbovePredicted { level, purpose, kind, absent, passed, expected, sigmas })
}

/// The distance of `count` above `expected`, which is positive, in standard deviations: σ of the bound e^(-σ²/2) to the
/// probability of at least `count` among independent events whose probabilities add up to `expected`.
pub(super) fn sigmas_above(count: f64, expected: f64) -> f64 {
    if count <= expected {
        return 0.0;
    }
    (2.0 * (count * (count / expected).ln() - count + expected)).max(0.0).sqrt()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all_of = |lookups: u64, of: u64| match lookups == of {
            true => format!("all {of}"),
            false => format!("{lookups} of {of}"),
        };
        let filters = |kind: Option<FilterKind>| kind.map_or("filters".to_owned(), |kind| format!("{kind} filters"));
        match *self {
            Self::NoLookups => write!(f, "no lookup was counted: nothing is known about the filters yet"),
            Self::NeverQueried { purpose, lookups } => write!(
                f,
                "{purpose}: the filters were never queried, in {lookups} lookups: they take memory and save nothing; query \
                 them before a table is read, or do not build them"
            ),
            Self::Unusable { purpose, lookups, of } => write!(
                f,
                "{purpose}: {} lookups found a filter that does not open: their tables are read; see the errors that were \
                 recorded (damage: rebuild the filters; a mismatch: compare seed, key and transform with the writer's)",
                all_of(lookups, of)
            ),
            Self::Missing { purpose, lookups, of } => write!(
                f,
                "{purpose}: {} lookups were in tables without a filter: they are read; rebuild their filters, or accept \
                 that a level or a memory budget has none",
                all_of(lookups, of)
            ),
            Self::NeverDenied { level, purpose, kind, absent } => write!(
                f,
                "level {level}, {purpose}: {} passed all {absent} absent keys: all these reads were wasted; \
                 compare the form of the keys that are looked up with the transform, and the filter's bits with what is \
                 asked of it",
                filters(kind)
            ),
            Self::RateAbovePredicted { level, purpose, kind, absent, passed, expected, sigmas } => write!(
                f,
                "level {level}, {purpose}: {} passed {passed} of {absent} absent keys, {expected:.0} predicted \
                 ({sigmas:.0} standard deviations): reads are wasted; compare the form of the keys that are looked up \
                 with the transform, unless few keys are looked up again and again",
                filters(kind)
            ),
            Self::NothingAbsent { purpose, lookups } => write!(
                f,
                "{purpose}: all {lookups} keys that were looked up exist: filters had nothing to deny; leave them out if \
                 it stays so"
            ),
            Self::CostlyReads { filter_block_reads, reads_avoided } => write!(
                f,
                "filters were read {filter_block_reads} times and saved {reads_avoided} reads: they cost more than they \
                 save; keep them in memory, or enlarge the cache"
            ),
            Self::NotBuilt { filters } => write!(
                f,
                "{filters} filters could not be built: their tables are read; see the errors that were recorded"
            ),
        }
    }
}

/// A line for each finding, and one for what was saved.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
        let Savings { reads_avoided, reads_wasted, reads_unfiltered, .. } = self.savings;
        write!(f, "filters saved {reads_avoided} reads")?;
        if let Some(bytes) = self.savings.bytes_avoided {
            write!(f, " (about {bytes} bytes)")?;
        }
        write!(f, "; {reads_wasted} were false positives, {reads_unfiltered} had no usable filter")
    }
}
