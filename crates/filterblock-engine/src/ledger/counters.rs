//! The live counters of a table: relaxed atomics, no locks.

use super::accounts::ClassKind;
use super::class::LookupClass;
use super::outcome::Outcome;
use super::sums::Ledger;
use super::tally::Tally;
use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};
use filterblock::{FilterBlock, FilterKind};

pub(super) fn count(counter: &AtomicU64, more: u64) {
    // Counters publish no other memory, so their order does not matter.
    counter.fetch_add(more, Ordering::Relaxed);
}

pub(super) fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The live counters of one class of lookups in one table.
#[derive(Debug, Default)]
pub struct LookupCounters {
    lookups: AtomicU64,
    outcomes: [AtomicU64; Outcome::ALL.len()],
    unfiltered_found: AtomicU64,
    entry_only: AtomicU64,
    blocks: BlockCounters,
}

impl LookupCounters {
    /// Counts a lookup that begins.
    #[inline]
    pub fn begin(&self) -> Lookup<'_> {
        count(&self.lookups, 1);
        Lookup(self)
    }

    /// The data blocks that lookups take until they have their outcome.
    pub fn blocks(&self) -> &BlockCounters {
        &self.blocks
    }

    fn tally(&self, predicted_fpr: f64) -> Tally {
        let mut tally = Tally {
            lookups: load(&self.lookups),
            outcomes: core::array::from_fn(|i| load(&self.outcomes[i])),
            unfiltered_found: load(&self.unfiltered_found),
            entry_only: load(&self.entry_only),
            data_block_reads: load(&self.blocks.reads),
            data_block_bytes: load(&self.blocks.bytes),
            data_block_cache_hits: load(&self.blocks.cache_hits),
            expected_false_positives: 0.0,
        };
        tally.expected_false_positives = predicted_fpr * tally.absent_asked() as f64;
        tally
    }
}

/// A lookup in a table that has begun. Dropped before its end, as by an early return, it ends in [`Outcome::Failed`].
#[derive(Debug)]
#[must_use = "a lookup that is dropped has failed"]
pub struct Lookup<'a>(&'a LookupCounters);

impl<'a> Lookup<'a> {
    /// The data blocks that the lookup takes.
    pub fn blocks(&self) -> &'a BlockCounters {
        &self.0.blocks
    }

    /// Ends the lookup.
    #[inline]
    pub fn end(self, outcome: Outcome) {
        count(&self.0.outcomes[outcome as usize], 1);
        mem::forget(self);
    }

    /// Ends a lookup that no filter could answer: `outcome` is [`Outcome::NoFilter`] or [`Outcome::FilterUnusable`].
    pub fn end_unfiltered(self, outcome: Outcome, found: bool) {
        if found {
            count(&self.0.unfiltered_found, 1);
        }
        self.end(outcome);
    }

    /// Ends a lookup as [`Outcome::TruePositive`], which found nothing: the table has the filter's entry only, as the
    /// row of an absent cell. Not for classes of [points](LookupClass::point).
    pub fn end_entry_only(self) {
        count(&self.0.entry_only, 1);
        self.end(Outcome::TruePositive);
    }
}

impl Drop for Lookup<'_> {
    fn drop(&mut self) {
        count(&self.0.outcomes[Outcome::Failed as usize], 1);
    }
}

/// Blocks read, or found in the cache.
#[derive(Debug, Default)]
pub struct BlockCounters {
    reads: AtomicU64,
    bytes: AtomicU64,
    cache_hits: AtomicU64,
}

impl BlockCounters {
    /// Blocks of `len` bytes were read from storage, by one read.
    pub fn note_read(&self, len: usize) {
        count(&self.reads, 1);
        count(&self.bytes, len as u64);
    }

    /// A block was found in the cache.
    pub fn note_cache_hit(&self) {
        count(&self.cache_hits, 1);
    }
}

/// The facts about a filter that an account needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterFacts {
    kind: FilterKind,
    predicted_fpr: f64,
}

impl FilterFacts {
    /// A filter of `kind` with this predicted false-positive rate, 0 to 1.
    pub const fn new(kind: FilterKind, predicted_fpr: f64) -> Self {
        Self { kind, predicted_fpr }
    }

    /// The kind of an open filter, and the rate predicted from its bits: a walk over its payload.
    pub fn of(filter: &FilterBlock<impl AsRef<[u8]>>) -> Self {
        Self::new(filter.kind(), filter.false_positive_rate())
    }
}

/// The live counters of one table with one set of filters.
#[derive(Debug)]
pub struct TableCounters {
    pub(super) table: u64,
    pub(super) level: u32,
    classes: &'static [LookupClass],
    filters: Box<[Option<FilterFacts>]>,
    lookups: Box<[LookupCounters]>,
    scans: BlockCounters,
    filter_blocks: BlockCounters,
}

impl TableCounters {
    pub(super) fn new(
        table: u64,
        level: u32,
        classes: &'static [LookupClass],
        filters: impl IntoIterator<Item = Option<FilterFacts>>,
    ) -> Self {
        let filters = filters.into_iter().chain(core::iter::repeat(None)).take(classes.len()).collect();
        let lookups = classes.iter().map(|_| LookupCounters::default()).collect();
        let (scans, filter_blocks) = Default::default();
        Self { table, level, classes, filters, lookups, scans, filter_blocks }
    }

    /// The counters of a class, given by its place in the engine's list, or by a type of the engine's that converts to
    /// it.
    ///
    /// # Panics
    /// If there is no such class.
    #[inline]
    pub fn of(&self, class: impl Into<usize>) -> &LookupCounters {
        &self.lookups[class.into()]
    }

    /// Data blocks that scans read beyond their lookups.
    pub fn scans(&self) -> &BlockCounters {
        &self.scans
    }

    /// Filter blocks that are read through the cache.
    pub fn filter_blocks(&self) -> &BlockCounters {
        &self.filter_blocks
    }

    /// The classes and the kinds of their usable filters.
    pub(super) fn kinds(&self) -> Vec<ClassKind> {
        let kind = |(class, filter): (&LookupClass, &Option<FilterFacts>)| ClassKind {
            purpose: class.purpose(),
            kind: filter.map(|of| of.kind),
        };
        self.classes.iter().zip(&self.filters).map(kind).collect()
    }

    /// The sums of the table so far.
    pub fn ledger(&self) -> Ledger {
        let tally = |(i, class): (usize, &LookupClass)| {
            // Without a filter there are no false positives.
            (*class, self.lookups[i].tally(self.filters[i].map_or(0.0, |filter| filter.predicted_fpr)))
        };
        Ledger {
            tallies: self.classes.iter().enumerate().map(tally).collect(),
            scan_block_reads: load(&self.scans.reads),
            scan_block_bytes: load(&self.scans.bytes),
            scan_block_cache_hits: load(&self.scans.cache_hits),
            filter_block_reads: load(&self.filter_blocks.reads),
            filter_block_bytes: load(&self.filter_blocks.bytes),
            filter_block_cache_hits: load(&self.filter_blocks.cache_hits),
        }
    }
}
