//! The contents of a store in figures.

use super::{
    Arc, BTreeMap, CacheStats, FileName, FilterStats, HasherId, OpenFilter, Purpose, RangeFilterStats, Shared, Table,
    UnreadableRows,
};
use filterblock::KeyTransform;
use filterblock_engine::ledger::{Ledger, Verdict};
use serde::Serialize;

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
    /// [set](super::super::StoreOptions::with_filter_memory_bytes).
    pub max_filter_memory_bytes: Option<u64>,
    /// The bytes of filters that stay in memory: the sum of [`FilterStats::held_bytes`], range filters included. More than
    /// the limit only where filters without columns and indexes of partitions already are, and then no column is held.
    pub filter_memory_bytes: u64,
    /// Counters and contents of the cache.
    pub cache: CacheStats,
    /// Whether the filters are in use and pay, by the lookups since the store was opened.
    pub verdict: Verdict,
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
    /// Its usable filters of hashed keys.
    pub filters: Vec<FilterStats>,
    /// Its range filter, if it is usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_filter: Option<RangeFilterStats>,
    /// The purposes whose filters exist but cannot be used.
    #[serde(rename = "unusable_filters")]
    pub unusable: Vec<Purpose>,
    /// The transform of its prefix filter, if it was written with one, usable or not.
    #[serde(skip)]
    pub prefixes: Option<KeyTransform>,
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
}

pub(super) fn stats(shared: &Shared) -> Stats {
    let view = shared.view();
    let tables: Vec<TableStats> = view.version.tables().map(table_stats).collect();
    let held = |table: &TableStats| {
        let of_range = table.range_filter.map_or(0, |filter| filter.held_bytes);
        table.filters.iter().map(|filter| filter.held_bytes).sum::<u64>() + of_range
    };
    Stats {
        max_filter_memory_bytes: shared.options.filters.column_budget(shared.options.filter_residence),
        filter_memory_bytes: tables.iter().map(held).sum(),
        memtable_cells: view.memtables.iter().map(|memtable| memtable.num_entries()).sum(),
        memtable_bytes: view.memtables.iter().map(|memtable| memtable.bytes() as u64).sum(),
        hash_key_id: HasherId::of(&shared.hasher()).key_id(),
        cache: shared.tables.cache.stats(),
        verdict: shared.tables.accounts.report().verdict(),
        unreadable: view.version.unreadable.iter().map(|table| UnreadableRows::of_table(table)).collect(),
        tables,
    }
}

fn table_stats(table: &Arc<Table>) -> TableStats {
    let footer = table.footer();
    let filters: Vec<FilterStats> = table.filters.usable().map(OpenFilter::stats).collect();
    let range_filter = table.filters.range().map(|filter| filter.stats);
    let purposes = Purpose::ALL.into_iter();
    TableStats {
        file: table.file().to_owned(),
        number: table.number(),
        level: table.level,
        num_cells: footer.num_cells,
        num_tombstones: footer.num_tombstones,
        num_blocks: table.num_blocks(),
        data_bytes: footer.data_len,
        file_bytes: table.reader().file_len,
        filter_bytes: table.filters.bytes(),
        filter_entries: filters.iter().map(|filter| filter.num_entries).chain(range_filter.map(|of| of.num_keys)).sum(),
        filter_file: table.filters.file_number().map(|number| FileName::Filters(number).to_string()),
        filters,
        range_filter,
        unusable: purposes.filter(|&purpose| table.filters.is_unusable(purpose)).collect(),
        prefixes: table.filters.stored_prefixes,
        ledger: table.counters.ledger(),
    }
}
