//! The sums of one class of lookups, and the identities that hold among them.

use super::class::{LookupClass, Shape};
use super::outcome::Outcome;
use super::sums::Imbalance;
use core::ops::Add;
use serde::Serialize;

/// The sums of one class of lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct Tally {
    /// The number of lookups begun, one for each table that an engine's lookup reaches.
    pub lookups: u64,
    #[serde(serialize_with = "super::serialize::outcomes")]
    pub(super) outcomes: [u64; Outcome::ALL.len()],
    /// The number of lookups without a usable filter that found their key, or a tombstone of it.
    pub unfiltered_found: u64,
    /// The number of true positives that found nothing: the table has the filter's entry, as the row of an absent cell,
    /// or as a prefix without a key in the range.
    pub entry_only: u64,
    /// The number of data blocks read from storage.
    pub data_block_reads: u64,
    /// Their bytes.
    pub data_block_bytes: u64,
    /// The number of data blocks found in the cache.
    pub data_block_cache_hits: u64,
    /// The expected number of false positives: the sum of the filters' predicted rates over their probes for absent
    /// keys.
    pub expected_false_positives: f64,
}

impl Tally {
    /// Returns the number of lookups that ended in `outcome`.
    pub const fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Returns the number of probes for absent keys: avoided lookups and false positives.
    pub const fn absent_asked(&self) -> u64 {
        self.count(Outcome::Avoided).saturating_add(self.count(Outcome::FalsePositive))
    }

    /// Returns the false positives per probe for an absent key; `None` before the first.
    pub fn observed_fpr(&self) -> Option<f64> {
        ratio(self.count(Outcome::FalsePositive) as f64, self.absent_asked())
    }

    /// Returns the rate expected from the filters that were probed; `None` before the first absent key, and where no
    /// filter has an expected rate, as those of ranges.
    pub fn predicted_fpr(&self) -> Option<f64> {
        ratio(self.expected_false_positives, self.absent_asked()).filter(|&rate| rate > 0.0)
    }

    /// Returns the difference to `earlier`, a snapshot of the same account.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.zip(earlier, u64::saturating_sub, |now, then| (now - then).max(0.0))
    }

    fn zip(&self, other: &Self, count: fn(u64, u64) -> u64, expected: fn(f64, f64) -> f64) -> Self {
        Self {
            lookups: count(self.lookups, other.lookups),
            outcomes: core::array::from_fn(|i| count(self.outcomes[i], other.outcomes[i])),
            unfiltered_found: count(self.unfiltered_found, other.unfiltered_found),
            entry_only: count(self.entry_only, other.entry_only),
            data_block_reads: count(self.data_block_reads, other.data_block_reads),
            data_block_bytes: count(self.data_block_bytes, other.data_block_bytes),
            data_block_cache_hits: count(self.data_block_cache_hits, other.data_block_cache_hits),
            expected_false_positives: expected(self.expected_false_positives, other.expected_false_positives),
        }
    }

    /// The identities that hold for any sequence of lookups.
    pub(super) fn check(&self, class: LookupClass) -> Result<(), Imbalance> {
        let purpose = class.purpose();
        let require = |holds, rule, left, right| match holds {
            true => Ok(()),
            false => Err(Imbalance { purpose, rule, left, right }),
        };
        let equal = |rule, left: u64, right: u64| require(left == right, rule, left, right);
        let at_most = |rule, left: u64, right: u64| require(left <= right, rule, left, right);

        equal("lookups = sum of outcomes", self.lookups, self.outcomes.iter().sum())?;
        let unfiltered = self.count(Outcome::NoFilter) + self.count(Outcome::FilterUnusable);
        at_most("unfiltered found ≤ no filter + filter unusable", self.unfiltered_found, unfiltered)?;

        let true_positives = self.count(Outcome::TruePositive);
        at_most("entry only ≤ true positives", self.entry_only, true_positives)?;
        match class.shape() {
            Shape::Point => equal("entry only, for points = 0", self.entry_only, 0)?,
            Shape::Group => {}
            Shape::Range => equal("tombstones of ranges = 0", self.count(Outcome::Tombstone), 0)?,
        }

        let costly = Outcome::ALL.iter().filter(|outcome| outcome.costs_a_read());
        let costly: u64 = costly.map(|&outcome| self.count(outcome)).sum();
        let blocks = self.data_block_reads + self.data_block_cache_hits;
        at_most("outcomes that cost a read ≤ data-block reads + cache hits", costly, blocks)?;
        if class.shape() == Shape::Point {
            // Groups and ranges may take several blocks, so those have no upper bound.
            let most = costly + self.count(Outcome::Failed);
            at_most("data-block reads + cache hits ≤ outcomes that cost a read + failed", blocks, most)?;
        }
        let max_bytes = if self.data_block_reads == 0 { 0 } else { u64::MAX };
        at_most("no bytes without data-block reads", self.data_block_bytes, max_bytes)
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(&other, u64::saturating_add, |a, b| a + b)
    }
}

fn ratio(part: f64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::{LookupClass, Outcome, Tally};

    const POINT: LookupClass = LookupClass::point("key");
    const GROUP: LookupClass = LookupClass::group("row");
    const RANGE: LookupClass = LookupClass::range("prefix");

    fn tally(lookups: u64, outcomes: &[(Outcome, u64)]) -> Tally {
        let mut tally = Tally { lookups, ..Tally::default() };
        outcomes.iter().for_each(|&(outcome, count)| tally.outcomes[outcome as usize] = count);
        tally
    }

    fn rule(tally: Tally, class: LookupClass) -> &'static str {
        tally.check(class).map_or_else(|imbalance| imbalance.rule, |()| "balanced")
    }

    #[test]
    fn each_identity_is_noticed_when_it_breaks() {
        use Outcome::{Failed, FalsePositive, NoFilter, OutOfKeyRange, Tombstone, TruePositive};
        let lost = tally(2, &[(OutOfKeyRange, 1)]);
        assert_eq!(rule(lost, GROUP), "lookups = sum of outcomes");

        let read = |tally: Tally| Tally { data_block_reads: tally.lookups, ..tally };
        let found = Tally { unfiltered_found: 2, ..read(tally(1, &[(NoFilter, 1)])) };
        assert_eq!(rule(found, GROUP), "unfiltered found ≤ no filter + filter unusable");

        let passed = read(tally(3, &[(TruePositive, 3)]));
        let too_many = "entry only ≤ true positives";
        for (class, rule_of_three) in [(GROUP, "balanced"), (POINT, "entry only, for points = 0"), (RANGE, "balanced")]
        {
            assert_eq!(rule(Tally { entry_only: 3, ..passed }, class), rule_of_three);
            assert_eq!(rule(Tally { entry_only: 4, ..passed }, class), too_many);
        }

        let deleted = read(tally(1, &[(Tombstone, 1)]));
        assert_eq!(rule(deleted, GROUP), "balanced");
        assert_eq!(rule(deleted, RANGE), "tombstones of ranges = 0");

        let unread = tally(1, &[(FalsePositive, 1)]);
        assert_eq!(rule(unread, RANGE), "outcomes that cost a read ≤ data-block reads + cache hits");
        let hit = Tally { data_block_cache_hits: 1, ..unread };
        assert_eq!(rule(hit, POINT), "balanced");

        let twice = Tally { data_block_reads: 1, ..hit };
        assert_eq!(rule(twice, GROUP), "balanced");
        let upper = "data-block reads + cache hits ≤ outcomes that cost a read + failed";
        assert_eq!(rule(twice, POINT), upper);
        let failed = Tally { data_block_reads: 1, ..tally(1, &[(Failed, 1)]) };
        assert_eq!(rule(failed, POINT), "balanced");

        let bytes = Tally { data_block_bytes: 4096, ..hit };
        assert_eq!(rule(bytes, POINT), "no bytes without data-block reads");
    }

    #[test]
    fn a_snapshot_and_what_happened_since_add_up() {
        let first = Tally { entry_only: 1, ..tally(3, &[(Outcome::TruePositive, 3)]) };
        let later = Tally { data_block_cache_hits: 9, expected_false_positives: 0.5, ..first };
        let sum = first + later;
        assert_eq!((sum.since(&first), sum.lookups, sum.entry_only), (later, 6, 2));
    }
}
