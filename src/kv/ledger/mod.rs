//! The account of every lookup in every table, and of its cost.
//!
//! A lookup of one cell, one row or one prefix in one table ends in exactly one [`Outcome`]. It is counted under the
//! [`Purpose`] of the filter that answers it: row lookups under [`Purpose::Row`]; cell lookups under
//! [`Purpose::RowColumn`], except in tables that have a row filter only, where that one answers. In a table without
//! either, row lookups count under row and cell lookups under row+column, as [`Outcome::NoFilter`]. A scan whose rows
//! all share a prefix of the store's prefix length makes one prefix lookup in each table that it reaches.
//!
//! A positive is true or false by what the filter could know. A row filter that passes a cell lookup is right if the
//! table has the row, with or without the column; those without it are counted in [`Tally::column_absent`], as they
//! cost a read that only a row+column filter saves. A prefix filter is right if the table has a row with the prefix;
//! where no such row is in the scan's range, [`Tally::range_absent`] counts it. Lookups without a usable filter are
//! counted as such whether they find the key or not, and those that do in [`Tally::unfiltered_found`]: the rest is what
//! a filter could have saved.
//!
//! Data blocks that a lookup reads until it has its outcome count under its purpose, those that a scan reads afterwards
//! under scans. Reads are those of storage; blocks found in the cache are hits.
//!
//! | file | |
//! |---|---|
//! | `outcome`, `tally` | how a lookup ends; sums of one purpose and their identities |
//! | `counters` | the live counters of a table, without locks |
//! | `accounts` | an account for each open table, and the sums of closed ones |
//! | `text`, `json`, `prometheus` | a report for people, for programs, for monitoring |

mod accounts;
mod counters;
pub(crate) mod json;
mod outcome;
mod prometheus;
mod tally;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use accounts::Accounts;
pub use accounts::{Account, LedgerReport, LevelTally};
pub(crate) use counters::{BlockCounters, FilterAccount, PurposeCounters, TableCounters};
pub use outcome::Outcome;
pub use tally::Tally;

use super::purpose::Purpose;
use core::fmt;
use core::ops::Add;
use serde::Serialize;

/// A snapshot of the account of a store or a table. Exact while no lookup is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// Lookups that count under row filters.
    pub row: Tally,
    /// Lookups that count under row+column filters.
    pub row_column: Tally,
    /// Lookups that count under prefix filters.
    pub prefix: Tally,
    /// Data blocks read by scans, beyond those of prefix lookups.
    pub scan_block_reads: u64,
    /// Their bytes.
    pub scan_block_bytes: u64,
    /// Data blocks that scans found in the cache.
    pub scan_block_cache_hits: u64,
    /// Filter blocks read from storage after their table was opened, because the cache did not have them.
    pub filter_block_reads: u64,
    /// Their bytes.
    pub filter_block_bytes: u64,
    /// Filter blocks found in the cache. Pinned filters are not counted.
    pub filter_block_cache_hits: u64,
}

impl Ledger {
    /// The sums of one purpose.
    pub const fn of(&self, purpose: Purpose) -> &Tally {
        match purpose {
            Purpose::Row => &self.row,
            Purpose::RowColumn => &self.row_column,
            Purpose::Prefix => &self.prefix,
        }
    }

    /// The sums over all purposes.
    pub fn total(&self) -> Tally {
        self.row + self.row_column + self.prefix
    }

    /// Data blocks read from storage by lookups and scans.
    pub fn data_block_reads(&self) -> u64 {
        self.total().data_block_reads + self.scan_block_reads
    }

    /// Their bytes: what a storage that bypasses the page cache has read from the device for data blocks.
    pub fn data_block_bytes(&self) -> u64 {
        self.total().data_block_bytes + self.scan_block_bytes
    }

    /// Data blocks that lookups and scans found in the cache.
    pub fn data_block_cache_hits(&self) -> u64 {
        self.total().data_block_cache_hits + self.scan_block_cache_hits
    }

    /// What happened since `earlier`, a snapshot of the same store.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.zip(earlier, |now, then| now.since(&then), u64::saturating_sub)
    }

    fn zip(&self, other: &Self, tally: fn(Tally, Tally) -> Tally, count: fn(u64, u64) -> u64) -> Self {
        Self {
            row: tally(self.row, other.row),
            row_column: tally(self.row_column, other.row_column),
            prefix: tally(self.prefix, other.prefix),
            scan_block_reads: count(self.scan_block_reads, other.scan_block_reads),
            scan_block_bytes: count(self.scan_block_bytes, other.scan_block_bytes),
            scan_block_cache_hits: count(self.scan_block_cache_hits, other.scan_block_cache_hits),
            filter_block_reads: count(self.filter_block_reads, other.filter_block_reads),
            filter_block_bytes: count(self.filter_block_bytes, other.filter_block_bytes),
            filter_block_cache_hits: count(self.filter_block_cache_hits, other.filter_block_cache_hits),
        }
    }

    /// Checks the identities of every purpose; first, that every lookup ended in exactly one outcome. They hold while
    /// no lookup is running.
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
        self.zip(&other, Tally::add, u64::saturating_add)
    }
}

/// An identity of the ledger that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// The purpose whose sums do not balance.
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
