//! The sums of a table or of an engine, and the error if they do not balance.

use super::class::LookupClass;
use super::tally::Tally;
use core::fmt;
use core::ops::Add;
use serde::Serialize;

/// A snapshot of the account of an engine or a table. It is exact while no lookup is running.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ledger {
    #[serde(flatten, serialize_with = "super::serialize::tallies")]
    pub(super) tallies: Vec<(LookupClass, Tally)>,
    /// The number of data blocks that scans read after their lookups had an outcome.
    pub scan_block_reads: u64,
    /// Their bytes.
    pub scan_block_bytes: u64,
    /// The number of data blocks that scans found in the cache.
    pub scan_block_cache_hits: u64,
    /// The number of filter blocks read from storage after their table was opened, because the cache did not have them.
    pub filter_block_reads: u64,
    /// Their bytes.
    pub filter_block_bytes: u64,
    /// The number of filter blocks found in the cache. Filters that are always in memory are not counted.
    pub filter_block_cache_hits: u64,
}

impl Ledger {
    /// The sums of a class, given by its place in the engine's list, or by a type of the engine's that converts to it.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn of(&self, class: impl Into<usize>) -> &Tally {
        &self.tallies[class.into()].1
    }

    /// The classes and their sums, in the order of the engine's list.
    pub(super) fn classes(&self) -> impl Iterator<Item = (LookupClass, &Tally)> {
        self.tallies.iter().map(|(class, tally)| (*class, tally))
    }

    /// The sums over all classes.
    pub fn total(&self) -> Tally {
        self.classes().fold(Tally::default(), |sum, (_, tally)| sum + *tally)
    }

    /// Returns the number of data blocks read from storage by lookups and scans.
    pub fn data_block_reads(&self) -> u64 {
        self.total().data_block_reads.saturating_add(self.scan_block_reads)
    }

    /// Returns their bytes: the bytes that a storage without the page cache has read from the device for data blocks.
    pub fn data_block_bytes(&self) -> u64 {
        self.total().data_block_bytes.saturating_add(self.scan_block_bytes)
    }

    /// Returns the number of data blocks that lookups and scans found in the cache.
    pub fn data_block_cache_hits(&self) -> u64 {
        self.total().data_block_cache_hits.saturating_add(self.scan_block_cache_hits)
    }

    /// Returns the difference to `earlier`, a snapshot of the same account.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.zip(earlier, |now, then| now.since(&then), u64::saturating_sub)
    }

    /// A ledger without classes, as [`Default`] makes it, counts as one whose sums are 0.
    fn zip(&self, other: &Self, tally: fn(Tally, Tally) -> Tally, count: fn(u64, u64) -> u64) -> Self {
        let classes = if self.tallies.is_empty() { &other.tallies } else { &self.tallies };
        let of =
            |ledger: &Self, index: usize| ledger.tallies.get(index).map_or_else(Tally::default, |(_, tally)| *tally);
        let tallies = classes.iter().enumerate().map(|(i, (class, _))| (*class, tally(of(self, i), of(other, i))));
        Self {
            tallies: tallies.collect(),
            scan_block_reads: count(self.scan_block_reads, other.scan_block_reads),
            scan_block_bytes: count(self.scan_block_bytes, other.scan_block_bytes),
            scan_block_cache_hits: count(self.scan_block_cache_hits, other.scan_block_cache_hits),
            filter_block_reads: count(self.filter_block_reads, other.filter_block_reads),
            filter_block_bytes: count(self.filter_block_bytes, other.filter_block_bytes),
            filter_block_cache_hits: count(self.filter_block_cache_hits, other.filter_block_cache_hits),
        }
    }

    /// Checks the identities of every class; first, that every lookup ended in exactly one outcome. They hold while no
    /// lookup is running.
    ///
    /// # Errors
    /// The first identity that does not hold: a defect of the engine.
    pub fn check(&self) -> Result<(), Imbalance> {
        self.classes().try_for_each(|(class, tally)| tally.check(class))
    }
}

impl Add<&Self> for Ledger {
    type Output = Self;

    fn add(self, other: &Self) -> Self {
        self.zip(other, Tally::add, u64::saturating_add)
    }
}

/// An identity of the ledger that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imbalance {
    /// The name of the class whose sums do not balance.
    pub purpose: &'static str,
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
