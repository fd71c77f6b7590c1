//! The interface of a store under measurement.

use crate::cells::Key;
use crate::filters::Filters;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Settings that are the same for all engines.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Settings {
    pub memtable_bytes: u64,
    /// For data blocks, and for filters that are not kept in memory. Filters that are, and indexes, come in addition.
    pub cache_bytes: u64,
    /// The table size that compactions aim at.
    pub table_bytes: u64,
    /// Level 0 is compacted when it has this many tables.
    pub level0_tables: u8,
    /// Size of the filters once all cells are written.
    pub filter_bytes: u64,
    pub filters: Filters,
    /// Whether there are filters of the rows' prefixes, too.
    pub has_prefixes: bool,
    /// Whether an engine that counts its reads only on demand does so.
    pub counts: bool,
}

impl Settings {
    pub const BITS_PER_KEY: u32 = 10;
    pub const BLOCK_BYTES: u32 = 4096;
    pub const LEVEL_RATIO: u8 = 10;
    /// In the comparison of stores.
    pub const LEVEL0_TABLES: u8 = 4;
    /// A store that has fewer tables in level 0 compacts nothing by itself.
    pub const LEVEL0_TABLES_MAX: u8 = u8::MAX;

    /// Bytes of the filters that are in memory outside the block cache.
    pub fn held_filter_bytes(&self) -> u64 {
        self.filter_bytes * self.filters.held_percent() / 100
    }

    /// Capacity of level 1. fjall supports no other than this product.
    pub fn level_base_bytes(&self) -> u64 {
        self.table_bytes * u64::from(self.level0_tables)
    }
}

/// The counts of an engine since the store was opened; `None` for what it does not count.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Data blocks read from files, into the block cache.
    pub data_reads: Option<u64>,
    pub data_bytes: Option<u64>,
    /// Index blocks.
    pub index_reads: Option<u64>,
    /// Filters and partitions of filters.
    pub filter_reads: Option<u64>,
    pub filter_bytes: Option<u64>,
    /// Probes that a filter answered with *no*.
    pub negatives: Option<u64>,
    /// Probes that it answered with *maybe*.
    pub positives: Option<u64>,
    /// Positives whose key is not in the table.
    pub false_positives: Option<u64>,
}

impl Counts {
    /// Returns the difference to `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            data_reads: since(self.data_reads, earlier.data_reads),
            data_bytes: since(self.data_bytes, earlier.data_bytes),
            index_reads: since(self.index_reads, earlier.index_reads),
            filter_reads: since(self.filter_reads, earlier.filter_reads),
            filter_bytes: since(self.filter_bytes, earlier.filter_bytes),
            negatives: since(self.negatives, earlier.negatives),
            positives: since(self.positives, earlier.positives),
            false_positives: since(self.false_positives, earlier.false_positives),
        }
    }
}

/// A store under measurement. Opened by [`crate::engines::open`]; dropping it closes it cleanly.
pub trait Engine: Send + Sync {
    /// Writes a cell: through the log to the operating system, without waiting for the disk.
    fn put(&self, key: &Key, value: &[u8]) -> Result<()>;

    /// Passes the cell's value to `seen`, in place if the engine can.
    fn get(&self, key: &Key, seen: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// Passes the row and the value of every cell to `seen`, in the order of their keys.
    fn scan(&self, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;

    /// As `scan`, of the cells whose rows start with `prefix`, which has [`crate::cells::PREFIX_LEN`] bytes.
    fn scan_prefix(&self, prefix: &[u8], seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;

    /// Writes the memtable to a table.
    fn flush(&self) -> Result<()>;

    /// Moves everything that is in tables to the deepest level.
    fn compact(&self) -> Result<()>;

    /// Returns the counts since the store was opened. An engine may need [`Settings::counts`] for them.
    fn counts(&self) -> Result<Counts>;

    /// Bytes of the filters in all tables.
    fn filter_bytes(&self) -> Result<u64>;
}
