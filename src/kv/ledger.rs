//! The account of every lookup in every table, and what it cost.
//!
//! A lookup of one cell or one row in one table ends in exactly one [`Outcome`]. It is booked under the
//! [`Purpose`] of the filter that was responsible for it: row lookups under [`Purpose::Row`]; cell lookups under
//! [`Purpose::RowColumn`], except in tables that have a row filter only, where that one answers. A table without
//! either books row lookups under row, cell lookups under row+column, as [`Outcome::NoFilter`].
//!
//! What a filter could know decides between true and false positive. A row filter that passes a cell lookup is right
//! if the table has the row, with or without the column; the latter are counted in [`Tally::column_absent`], for they
//! cost a read that only a row+column filter saves. Lookups without a usable filter are booked as such whether they
//! find the key or not, and [`Tally::unfiltered_found`] says how many did: the rest is what a filter could have saved.

use super::options::Purpose;
use core::fmt;
use core::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a lookup in a table ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The key lies outside the key range of every block of the table: settled in memory, without the filter.
    OutOfKeyRange,
    /// The filter said no. One data-block read saved, exactly.
    Avoided,
    /// The filter said maybe, and the table has what it was asked for, with a value.
    TruePositive,
    /// The filter said maybe, and the table does not have what it was asked for.
    FalsePositive,
    /// The filter said maybe, and the table has a deletion of what was asked for: a read that was needed.
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

    /// Whether a lookup that ends so has read at least one data block.
    pub const fn costs_a_read(self) -> bool {
        match self {
            Self::TruePositive | Self::FalsePositive | Self::Tombstone | Self::NoFilter | Self::FilterUnusable => true,
            Self::OutOfKeyRange | Self::Avoided | Self::Failed => false,
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

/// The sums of one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Lookups begun, one for each key and table.
    pub lookups: u64,
    outcomes: [u64; Outcome::ALL.len()],
    /// Of the lookups without a usable filter, those that found a value or a tombstone.
    pub unfiltered_found: u64,
    /// Of a row filter's true positives, those where the row is there and the column asked for is not.
    pub column_absent: u64,
    /// Data blocks read from storage.
    pub data_block_reads: u64,
    /// Their bytes.
    pub data_block_bytes: u64,
    /// False positives to be expected: each filter's predicted rate, once for every absent key it was asked.
    pub expected_false_positives: f64,
}

impl Tally {
    /// Lookups that ended so.
    pub const fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Absent keys that filters were asked: avoided lookups and false positives.
    pub const fn absent_asked(&self) -> u64 {
        self.count(Outcome::Avoided) + self.count(Outcome::FalsePositive)
    }

    /// False positives per absent key asked; `None` before the first.
    pub fn observed_fpr(&self) -> Option<f64> {
        ratio(self.count(Outcome::FalsePositive) as f64, self.absent_asked())
    }

    /// The rate to be expected from the filters that were asked; `None` before the first absent key.
    pub fn predicted_fpr(&self) -> Option<f64> {
        ratio(self.expected_false_positives, self.absent_asked())
    }

    /// What happened since `earlier`, a snapshot of the same store.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.zip(earlier, u64::saturating_sub, |now, then| (now - then).max(0.0))
    }

    fn zip(&self, other: &Self, count: fn(u64, u64) -> u64, expected: fn(f64, f64) -> f64) -> Self {
        Self {
            lookups: count(self.lookups, other.lookups),
            outcomes: core::array::from_fn(|i| count(self.outcomes[i], other.outcomes[i])),
            unfiltered_found: count(self.unfiltered_found, other.unfiltered_found),
            column_absent: count(self.column_absent, other.column_absent),
            data_block_reads: count(self.data_block_reads, other.data_block_reads),
            data_block_bytes: count(self.data_block_bytes, other.data_block_bytes),
            expected_false_positives: expected(self.expected_false_positives, other.expected_false_positives),
        }
    }

    /// The identities that hold whatever was asked, as (what, left side, right side).
    fn check(&self, purpose: Purpose) -> Result<(), Imbalance> {
        let equal = |rule, left, right| match left == right {
            true => Ok(()),
            false => Err(Imbalance { purpose, rule, left, right }),
        };
        let at_most = |rule, left, right| match left <= right {
            true => Ok(()),
            false => Err(Imbalance { purpose, rule, left, right }),
        };
        equal("lookups = sum of outcomes", self.lookups, self.outcomes.iter().sum())?;
        let unfiltered = self.count(Outcome::NoFilter) + self.count(Outcome::FilterUnusable);
        at_most("unfiltered found ≤ no filter + filter unusable", self.unfiltered_found, unfiltered)?;
        at_most("column absent ≤ true positives", self.column_absent, self.count(Outcome::TruePositive))?;
        let reading = Outcome::ALL.into_iter().filter(|o| o.costs_a_read()).map(|o| self.count(o)).sum();
        at_most("outcomes that cost a read ≤ data-block reads", reading, self.data_block_reads)?;
        if purpose == Purpose::RowColumn {
            // A cell lives in one block. A row may take several, so there is no upper bound for row lookups.
            let most = reading + self.count(Outcome::Failed);
            at_most("data-block reads ≤ outcomes that cost a read + failed", self.data_block_reads, most)?;
        }
        Ok(())
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

/// A snapshot of the account of a store or a table. Exact while no lookup is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ledger {
    /// What row filters were responsible for.
    pub row: Tally,
    /// What row+column filters were responsible for.
    pub row_column: Tally,
    /// Data blocks read by scans, which no filter of rows or cells can shorten.
    pub scan_block_reads: u64,
    /// Their bytes.
    pub scan_block_bytes: u64,
}

impl Ledger {
    /// The sums of one purpose.
    pub const fn of(&self, purpose: Purpose) -> &Tally {
        match purpose {
            Purpose::Row => &self.row,
            Purpose::RowColumn => &self.row_column,
        }
    }

    /// The sums over both purposes.
    pub fn total(&self) -> Tally {
        self.row + self.row_column
    }

    /// Data blocks read by lookups and scans.
    pub fn data_block_reads(&self) -> u64 {
        self.total().data_block_reads + self.scan_block_reads
    }

    /// Their bytes: what a storage that bypasses the page cache has read from the device.
    pub fn data_block_bytes(&self) -> u64 {
        self.total().data_block_bytes + self.scan_block_bytes
    }

    /// What happened since `earlier`, a snapshot of the same store.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            row: self.row.since(&earlier.row),
            row_column: self.row_column.since(&earlier.row_column),
            scan_block_reads: self.scan_block_reads.saturating_sub(earlier.scan_block_reads),
            scan_block_bytes: self.scan_block_bytes.saturating_sub(earlier.scan_block_bytes),
        }
    }

    /// Checks the identities of both purposes; first of all, that every lookup ended in exactly one outcome.
    ///
    /// # Errors
    /// The first identity that does not hold: a defect of the store.
    pub fn check(&self) -> Result<(), Imbalance> {
        Purpose::ALL.into_iter().try_for_each(|purpose| self.of(purpose).check(purpose))
    }
}

impl Add for Ledger {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            row: self.row + other.row,
            row_column: self.row_column + other.row_column,
            scan_block_reads: self.scan_block_reads + other.scan_block_reads,
            scan_block_bytes: self.scan_block_bytes + other.scan_block_bytes,
        }
    }
}

/// An identity of the ledger that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// Whose sums.
    pub purpose: Purpose,
    /// The identity.
    pub rule: &'static str,
    /// Its left side.
    pub left: u64,
    /// Its right side.
    pub right: u64,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { purpose, rule, left, right } = self;
        write!(f, "{purpose} ledger out of balance: {rule}, but {left} against {right}")
    }
}

impl std::error::Error for Imbalance {}

/// The live counters of one purpose in one table.
#[derive(Debug, Default)]
pub(crate) struct PurposeCounters {
    lookups: AtomicU64,
    outcomes: [AtomicU64; Outcome::ALL.len()],
    unfiltered_found: AtomicU64,
    column_absent: AtomicU64,
    blocks: BlockCounters,
}

impl PurposeCounters {
    pub(crate) fn begin(&self) {
        self.lookups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_unfiltered_found(&self) {
        self.unfiltered_found.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_column_absent(&self) {
        self.column_absent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn blocks(&self) -> &BlockCounters {
        &self.blocks
    }

    fn tally(&self, predicted_fpr: f64) -> Tally {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut tally = Tally {
            lookups: load(&self.lookups),
            outcomes: core::array::from_fn(|i| load(&self.outcomes[i])),
            unfiltered_found: load(&self.unfiltered_found),
            column_absent: load(&self.column_absent),
            data_block_reads: load(&self.blocks.reads),
            data_block_bytes: load(&self.blocks.bytes),
            expected_false_positives: 0.0,
        };
        tally.expected_false_positives = predicted_fpr * tally.absent_asked() as f64;
        tally
    }
}

/// Data blocks read on one account.
#[derive(Debug, Default)]
pub(crate) struct BlockCounters {
    reads: AtomicU64,
    bytes: AtomicU64,
}

impl BlockCounters {
    pub(crate) fn add(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The live counters of one table.
#[derive(Debug, Default)]
pub(crate) struct TableCounters {
    purposes: [PurposeCounters; Purpose::ALL.len()],
    pub(crate) scans: BlockCounters,
}

impl TableCounters {
    pub(crate) fn of(&self, purpose: Purpose) -> &PurposeCounters {
        &self.purposes[purpose.index()]
    }

    /// A snapshot, given the rate that each purpose's filter is expected to err at.
    pub(crate) fn ledger(&self, predicted_fpr: impl Fn(Purpose) -> f64) -> Ledger {
        let tally = |purpose| self.of(purpose).tally(predicted_fpr(purpose));
        Ledger {
            row: tally(Purpose::Row),
            row_column: tally(Purpose::RowColumn),
            scan_block_reads: self.scans.reads.load(Ordering::Relaxed),
            scan_block_bytes: self.scans.bytes.load(Ordering::Relaxed),
        }
    }
}
