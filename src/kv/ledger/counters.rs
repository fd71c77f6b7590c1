//! The live counters of a table: relaxed atomics, no locks.

use super::super::purpose::Purpose;
use super::Ledger;
use super::outcome::Outcome;
use super::tally::Tally;
use crate::FilterKind;
use std::sync::atomic::{AtomicU64, Ordering};

fn count(counter: &AtomicU64, more: u64) {
    // Counters publish no other memory, so their order does not matter.
    counter.fetch_add(more, Ordering::Relaxed);
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The live counters of one purpose in one table.
#[derive(Debug, Default)]
pub(crate) struct PurposeCounters {
    lookups: AtomicU64,
    outcomes: [AtomicU64; Outcome::ALL.len()],
    unfiltered_found: AtomicU64,
    column_absent: AtomicU64,
    range_absent: AtomicU64,
    blocks: BlockCounters,
}

impl PurposeCounters {
    /// Every lookup that begins must [end](Self::end) exactly once.
    pub(crate) fn begin(&self) {
        count(&self.lookups, 1);
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        count(&self.outcomes[outcome as usize], 1);
    }

    pub(crate) fn note_unfiltered_found(&self) {
        count(&self.unfiltered_found, 1);
    }

    pub(crate) fn note_column_absent(&self) {
        count(&self.column_absent, 1);
    }

    pub(crate) fn note_range_absent(&self) {
        count(&self.range_absent, 1);
    }

    pub(crate) fn blocks(&self) -> &BlockCounters {
        &self.blocks
    }

    fn tally(&self, predicted_fpr: f64) -> Tally {
        let mut tally = Tally {
            lookups: load(&self.lookups),
            outcomes: core::array::from_fn(|i| load(&self.outcomes[i])),
            unfiltered_found: load(&self.unfiltered_found),
            column_absent: load(&self.column_absent),
            range_absent: load(&self.range_absent),
            data_block_reads: load(&self.blocks.reads),
            data_block_bytes: load(&self.blocks.bytes),
            data_block_cache_hits: load(&self.blocks.cache_hits),
            expected_false_positives: 0.0,
        };
        tally.expected_false_positives = predicted_fpr * tally.absent_asked() as f64;
        tally
    }
}

/// Blocks read, or found in the cache.
#[derive(Debug, Default)]
pub(crate) struct BlockCounters {
    reads: AtomicU64,
    bytes: AtomicU64,
    cache_hits: AtomicU64,
}

impl BlockCounters {
    /// A block of `len_bytes` was read from storage.
    pub(crate) fn note_read(&self, len_bytes: usize) {
        count(&self.reads, 1);
        count(&self.bytes, len_bytes as u64);
    }

    /// A block was found in the cache.
    pub(crate) fn note_cache_hit(&self) {
        count(&self.cache_hits, 1);
    }
}

/// What an account needs to know about a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FilterAccount {
    pub(crate) kind: FilterKind,
    /// The false-positive rate predicted from the filter's bits.
    pub(crate) predicted_fpr: f64,
}

/// The live counters of one table with one set of filters.
#[derive(Debug)]
pub(crate) struct TableCounters {
    pub(super) table: u64,
    pub(super) level: u32,
    pub(super) filters: [Option<FilterAccount>; Purpose::ALL.len()],
    purposes: [PurposeCounters; Purpose::ALL.len()],
    scans: BlockCounters,
    filter_blocks: BlockCounters,
}

impl TableCounters {
    pub(super) fn new(table: u64, level: u32, filters: [Option<FilterAccount>; Purpose::ALL.len()]) -> Self {
        Self {
            table,
            level,
            filters,
            purposes: Default::default(),
            scans: BlockCounters::default(),
            filter_blocks: BlockCounters::default(),
        }
    }

    pub(crate) fn of(&self, purpose: Purpose) -> &PurposeCounters {
        &self.purposes[purpose.index()]
    }

    /// Data blocks that scans read beyond prefix lookups.
    pub(crate) fn scans(&self) -> &BlockCounters {
        &self.scans
    }

    /// Filter blocks that are read through the cache.
    pub(crate) fn filter_blocks(&self) -> &BlockCounters {
        &self.filter_blocks
    }

    pub(super) fn kinds(&self) -> [Option<FilterKind>; Purpose::ALL.len()] {
        self.filters.map(|filter| filter.map(|filter| filter.kind))
    }

    pub(crate) fn ledger(&self) -> Ledger {
        let tally = |purpose: Purpose| {
            // Without a filter there are no false positives.
            let predicted_fpr = self.filters[purpose.index()].map_or(0.0, |filter| filter.predicted_fpr);
            self.of(purpose).tally(predicted_fpr)
        };
        Ledger {
            row: tally(Purpose::Row),
            row_column: tally(Purpose::RowColumn),
            prefix: tally(Purpose::Prefix),
            scan_block_reads: load(&self.scans.reads),
            scan_block_bytes: load(&self.scans.bytes),
            scan_block_cache_hits: load(&self.scans.cache_hits),
            filter_block_reads: load(&self.filter_blocks.reads),
            filter_block_bytes: load(&self.filter_blocks.bytes),
            filter_block_cache_hits: load(&self.filter_blocks.cache_hits),
        }
    }
}
