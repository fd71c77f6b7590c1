//! What a store holds.

use super::super::cache::CacheStats;
use super::super::ledger::Ledger;
use super::super::names::FileName;
use super::super::purpose::Purpose;
use super::super::sstable::{FilterStats, Table};
use super::core::Core;
use std::sync::Arc;

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Versions of cells and tombstones in memory.
    pub memtable_cells: u64,
    /// What they take of memory, about.
    pub memtable_bytes: u64,
    /// What the cache has done and holds.
    pub cache: CacheStats,
    /// The tables, in the order in which lookups ask them.
    pub tables: Vec<TableStats>,
}

/// What a table holds, and what became of its lookups.
#[derive(Clone, Debug, PartialEq)]
pub struct TableStats {
    /// Its file.
    pub file: String,
    /// Its number.
    pub number: u64,
    /// Its level, from 0.
    pub level: usize,
    /// Cells, tombstones included.
    pub num_cells: u64,
    /// Tombstones.
    pub num_tombstones: u64,
    /// Data blocks.
    pub num_blocks: u64,
    /// Length of the data blocks.
    pub data_bytes: u64,
    /// Length of its file.
    pub file_bytes: u64,
    /// Length of its usable filters.
    pub filter_bytes: u64,
    /// Distinct entries of its usable filters.
    pub filter_entries: u64,
    /// Its usable filters.
    pub filters: Vec<FilterStats>,
    /// The filters that it has and that cannot be used.
    pub unusable: Vec<Purpose>,
    /// The file of its filters, if they were built again; otherwise they stand in its own.
    pub filter_file: Option<String>,
    /// The length of the prefixes in its prefix filter, if it has a usable one.
    pub prefix_len: Option<u16>,
    /// The account of its lookups.
    pub ledger: Ledger,
}

impl Core {
    pub(super) fn stats(&self) -> Stats {
        let view = self.view();
        Stats {
            memtable_cells: view.memtables.iter().map(|memtable| memtable.num_entries()).sum(),
            memtable_bytes: view.memtables.iter().map(|memtable| memtable.bytes() as u64).sum(),
            cache: self.tables.cache.stats(),
            tables: view.version.tables().map(table_stats).collect(),
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
        filters,
        unusable: Purpose::ALL.into_iter().filter(|&purpose| table.filters().is_unusable(purpose)).collect(),
        filter_file: table.filters().file_number().map(|number| FileName::Filters(number).to_string()),
        prefix_len: table.filters().prefix_len(),
        ledger: table.counters().ledger(),
    }
}
