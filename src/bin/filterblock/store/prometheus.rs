//! What a store holds, in Prometheus' text exposition format, before what became of its lookups.

use super::stats::{Level, levels};
use filterblock::kv::{Purpose, Stats, Store};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A gauge of each level.
type LevelGauge = (&'static str, &'static str, fn(&Level) -> u64);

const LEVEL_GAUGES: [LevelGauge; 5] = [
    ("filterblock_store_tables", "Tables.", |level| level.num_tables),
    ("filterblock_store_cells", "Cells in tables, tombstones included.", |level| level.num_cells),
    ("filterblock_store_tombstones", "Tombstones in tables.", |level| level.num_tombstones),
    ("filterblock_store_data_bytes", "Bytes of data blocks.", |level| level.data_bytes),
    ("filterblock_store_file_bytes", "Bytes of tables.", |level| level.file_bytes),
];

/// The filters of one level, purpose and kind.
#[derive(Clone, Copy, Default)]
struct Filters {
    bytes: u64,
    num_entries: u64,
}

/// A gauge of each level, purpose and kind.
type FilterGauge = (&'static str, &'static str, fn(&Filters) -> u64);

const FILTER_GAUGES: [FilterGauge; 2] = [
    ("filterblock_store_filter_bytes", "Bytes of usable filters.", |filters| filters.bytes),
    ("filterblock_store_filter_entries", "Distinct entries of usable filters.", |filters| filters.num_entries),
];

/// Levels, filters, and the ledger of the lookups that the process has made.
pub(super) fn text(store: &Store) -> String {
    let stats = store.stats();
    let mut text = String::new();
    // A string takes whatever is written to it.
    let _ = write_stats(&mut text, &stats);
    text + &store.ledger_report().to_prometheus()
}

fn write_stats(out: &mut String, stats: &Stats) -> std::fmt::Result {
    let levels = levels(stats);
    for (name, help, value) in LEVEL_GAUGES {
        write!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n")?;
        for (number, level) in &levels {
            writeln!(out, "{name}{{level=\"{number}\"}} {}", value(level))?;
        }
    }
    let filters = filters(stats);
    for (name, help, value) in FILTER_GAUGES {
        write!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n")?;
        for ((level, purpose, kind), filters) in &filters {
            // Names of purposes and kinds hold nothing that must be escaped.
            let labels = format!("level=\"{level}\",purpose=\"{purpose}\",kind=\"{kind}\"");
            writeln!(out, "{name}{{{labels}}} {}", value(filters))?;
        }
    }
    let unusable: usize = stats.tables.iter().map(|table| table.unusable.len()).sum();
    for (name, help, value) in [
        ("filterblock_store_unusable_filters", "Filters that cannot be used.", unusable as u64),
        ("filterblock_store_log_cells", "Cells that stand in the log only.", stats.memtable_cells),
    ] {
        write!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n")?;
    }
    Ok(())
}

fn filters(stats: &Stats) -> BTreeMap<(usize, Purpose, &'static str), Filters> {
    let mut sums: BTreeMap<_, Filters> = BTreeMap::new();
    for table in &stats.tables {
        for filter in &table.filters {
            let sum = sums.entry((table.level, filter.purpose, filter.kind.name())).or_default();
            sum.bytes += filter.bytes;
            sum.num_entries += filter.num_entries;
        }
    }
    sums
}
