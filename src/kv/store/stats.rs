//! The contents of a store in figures.

use super::super::cache::CacheStats;
use super::super::manifest::HasherId;
use super::super::names::FileName;
use super::super::purpose::Purpose;
use super::super::sstable::{FilterStats, Table};
use super::core::Core;
use super::verify::UnreadableRows;
use crate::ledger::{Exposition, Ledger};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The contents of a store in figures.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Entries of memtables: every write, tombstones included.
    pub memtable_cells: u64,
    /// About how much memory they take, in bytes.
    pub memtable_bytes: u64,
    /// The id of the secret key under which filters are hashed, if they are.
    pub hash_key_id: Option<u64>,
    /// The most bytes that filters in memory may take; `None` unless
    /// [set](super::super::StoreOptions::filter_memory_bytes).
    pub filter_memory_bytes_max: Option<u64>,
    /// The bytes of filters that stay in memory: the sum of [`FilterStats::held_bytes`]. More than the limit only where
    /// filters without columns and indexes of partitions already are, and then no column is held.
    pub filter_memory_bytes: u64,
    /// Counters and contents of the cache.
    pub cache: CacheStats,
    /// The tables, in the order in which lookups search them.
    pub tables: Vec<TableStats>,
    /// The tables that could not be opened, which only a store that is open for reading has.
    pub unreadable: Vec<UnreadableRows>,
}

/// The contents of a table in figures, and its lookups. Serialized without the sums over its filters and its ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TableStats {
    /// Its file.
    pub file: String,
    /// Its number.
    #[serde(skip)]
    pub number: u64,
    /// Its level, from 0.
    pub level: usize,
    /// Cells, tombstones included.
    #[serde(rename = "cells")]
    pub num_cells: u64,
    /// Tombstones.
    #[serde(rename = "tombstones")]
    pub num_tombstones: u64,
    /// Data blocks.
    #[serde(rename = "data_blocks")]
    pub num_blocks: u64,
    /// Length of the data blocks.
    pub data_bytes: u64,
    /// Length of its file.
    pub file_bytes: u64,
    /// Length of its usable filters.
    #[serde(skip)]
    pub filter_bytes: u64,
    /// Distinct entries of its usable filters.
    #[serde(skip)]
    pub filter_entries: u64,
    /// The file of its filters, if they were rebuilt; otherwise they are in its own.
    pub filter_file: Option<String>,
    /// Its usable filters.
    pub filters: Vec<FilterStats>,
    /// The purposes whose filters exist but cannot be used.
    #[serde(rename = "unusable_filters")]
    pub unusable: Vec<Purpose>,
    /// The length of the prefixes in its prefix filter, if it was written with one, usable or not.
    #[serde(skip)]
    pub prefix_len: Option<u16>,
    /// The account of its lookups.
    #[serde(skip)]
    pub ledger: Ledger,
}

/// Sums over the tables of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelStats {
    /// The level, from 0.
    pub level: usize,
    /// Tables.
    #[serde(rename = "tables")]
    pub num_tables: u64,
    /// Cells, tombstones included.
    #[serde(rename = "cells")]
    pub num_cells: u64,
    /// Tombstones.
    #[serde(rename = "tombstones")]
    pub num_tombstones: u64,
    /// Length of the data blocks.
    pub data_bytes: u64,
    /// Length of the files.
    pub file_bytes: u64,
    /// Length of the usable filters.
    pub filter_bytes: u64,
}

/// Name, help and value of a gauge of each level.
type LevelGauge = (&'static str, &'static str, fn(&LevelStats) -> u64);

const LEVEL_GAUGES: [LevelGauge; 5] = [
    ("filterblock_store_tables", "Tables.", |level| level.num_tables),
    ("filterblock_store_cells", "Cells in tables, tombstones included.", |level| level.num_cells),
    ("filterblock_store_tombstones", "Tombstones in tables.", |level| level.num_tombstones),
    ("filterblock_store_data_bytes", "Bytes of data blocks.", |level| level.data_bytes),
    ("filterblock_store_file_bytes", "Bytes of tables.", |level| level.file_bytes),
];

impl Stats {
    /// The levels that have tables, in ascending order.
    pub fn levels(&self) -> Vec<LevelStats> {
        let mut levels: BTreeMap<usize, LevelStats> = BTreeMap::new();
        for table in &self.tables {
            let level = levels.entry(table.level).or_default();
            level.level = table.level;
            level.num_tables += 1;
            level.num_cells += table.num_cells;
            level.num_tombstones += table.num_tombstones;
            level.data_bytes += table.data_bytes;
            level.file_bytes += table.file_bytes;
            level.filter_bytes += table.filter_bytes;
        }
        levels.into_values().collect()
    }

    /// The share of lookups that reach a table of this level, if they may be for any key: all of them in level 0, one
    /// table of each deeper level.
    pub fn lookups_share(&self, level: usize) -> f64 {
        let num_tables = self.tables.iter().filter(|table| table.level == level).count();
        if level == 0 { 1.0 } else { 1.0 / num_tables.max(1) as f64 }
    }

    /// The data blocks that a lookup of an absent key is expected to read in vain, by the [predicted
    /// rates](FilterStats::predicted_fpr) of one purpose's filters: their sum over the tables, each weighted by its
    /// [share of lookups](Self::lookups_share). A table without a usable filter counts as a rate of 1. `None` where no
    /// table has one.
    pub fn expected_reads_in_vain(&self, purpose: Purpose) -> Option<f64> {
        let of = |table: &TableStats| table.filters.iter().find(|filter| filter.purpose == purpose).copied();
        let rate = |table: &TableStats| of(table).map_or(1.0, |filter| filter.predicted_fpr);
        let any = self.tables.iter().any(|table| of(table).is_some());
        any.then(|| self.tables.iter().map(|table| self.lookups_share(table.level) * rate(table)).sum())
    }

    /// Levels and filters in Prometheus' text exposition format, to be served as `text/plain; version=0.0.4`. The text
    /// of [`LedgerReport::to_prometheus`](crate::ledger::LedgerReport::to_prometheus) may follow it.
    pub fn to_prometheus(&self) -> String {
        let mut out = Exposition::default();
        let levels = self.levels();
        for (name, help, value) in LEVEL_GAUGES {
            out.metric(name, help, levels.iter().map(|level| (vec![("level", level.level.to_string())], value(level))));
        }
        let (mut bytes, mut entries) = (BTreeMap::new(), BTreeMap::new());
        for (table, filter) in self.tables.iter().flat_map(|table| table.filters.iter().map(move |f| (table, f))) {
            let key = (table.level, filter.purpose, filter.kind.name());
            *bytes.entry(key).or_insert(0) += filter.bytes;
            *entries.entry(key).or_insert(0) += filter.num_entries;
        }
        for (name, help, sums) in [
            ("filterblock_store_filter_bytes", "Bytes of usable filters.", bytes),
            ("filterblock_store_filter_entries", "Distinct entries of usable filters.", entries),
        ] {
            let sample = |((level, purpose, kind), sum): ((usize, Purpose, &str), u64)| {
                let (level, purpose, kind) = (level.to_string(), purpose.to_string(), kind.to_owned());
                (vec![("level", level), ("purpose", purpose), ("kind", kind)], sum)
            };
            out.metric(name, help, sums.into_iter().map(sample));
        }
        let unusable: usize = self.tables.iter().map(|table| table.unusable.len()).sum();
        out.single("filterblock_store_unusable_filters", "Filters that cannot be used.", unusable as u64);
        let held_bytes = self.filter_memory_bytes;
        out.single("filterblock_store_filter_memory_bytes", "Bytes of filters that stay in memory.", held_bytes);
        if let Some(max) = self.filter_memory_bytes_max {
            out.single("filterblock_store_filter_memory_bytes_max", "The most that these may be.", max);
        }
        out.single("filterblock_store_log_cells", "Cells that are in the log only.", self.memtable_cells);
        out.into_text()
    }
}

impl Core {
    pub(super) fn stats(&self) -> Stats {
        let view = self.view();
        let tables: Vec<TableStats> = view.version.tables().map(table_stats).collect();
        let filters = tables.iter().flat_map(|table| &table.filters);
        Stats {
            filter_memory_bytes_max: self.options.filters.column_budget(self.options.filter_residence),
            filter_memory_bytes: filters.map(|filter| filter.held_bytes).sum(),
            memtable_cells: view.memtables.iter().map(|memtable| memtable.num_entries()).sum(),
            memtable_bytes: view.memtables.iter().map(|memtable| memtable.bytes() as u64).sum(),
            hash_key_id: HasherId::of(self.hasher()).key_id(),
            cache: self.tables.cache.stats(),
            unreadable: view.version.unreadable().iter().map(|table| UnreadableRows::of_table(table)).collect(),
            tables,
        }
    }
}

fn table_stats(table: &Arc<Table>) -> TableStats {
    let footer = table.footer();
    let filters = table.filter_stats();
    TableStats {
        file: table.file().to_owned(),
        number: table.number(),
        level: table.level(),
        num_cells: footer.num_cells,
        num_tombstones: footer.num_tombstones,
        num_blocks: table.num_blocks(),
        data_bytes: footer.data_len,
        file_bytes: table.file_len(),
        filter_bytes: filters.iter().map(|filter| filter.bytes).sum(),
        filter_entries: filters.iter().map(|filter| filter.num_entries).sum(),
        filter_file: table.filters().file_number().map(|number| FileName::Filters(number).to_string()),
        filters,
        unusable: Purpose::ALL.into_iter().filter(|&purpose| table.filters().is_unusable(purpose)).collect(),
        prefix_len: table.filters().stored_prefix_len(),
        ledger: table.counters().ledger(),
    }
}
