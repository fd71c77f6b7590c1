//! The limit of the memory of filters, and what a store holds under it.

use crate::output;
use crate::units::parse_bytes;
use filterblock::kv::{FilterStats, Purpose, Stats, StoreOptions};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Lookups that expected reads in vain are given for.
const LOOKUPS: f64 = 1000.0;

#[derive(clap::Args)]
pub(crate) struct FilterMemoryArgs {
    /// Greatest length of the filters in memory, as 64KiB: of filters with columns, those columns are held that save
    /// the most reads; one of which none is held is not probed. Other kinds are held whole, and first
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    filter_memory_bytes: Option<u64>,
}

impl FilterMemoryArgs {
    pub(crate) fn limit(&self, options: StoreOptions) -> StoreOptions {
        self.filter_memory_bytes.map_or(options, |bytes| options.filter_memory_bytes(bytes))
    }
}

/// As `3 of 16`, columns in memory and in the file; `None` for what is held whole.
pub(crate) fn columns(filter: &FilterStats) -> Option<String> {
    filter.columns.map(|columns| format!("{} of {}", columns.held, columns.stored))
}

/// Of a table in `level`: the data blocks that a lookup of an absent key is expected to read in vain.
fn reads_in_vain(stats: &Stats, level: usize, filter: &FilterStats) -> f64 {
    stats.lookups_share(level) * filter.predicted_fpr
}

/// The titles of [`cells`].
pub(crate) const TITLES: [&str; 3] = ["columns held", "bytes held", "in vain of 1000"];

/// Columns and bytes of a filter in memory, and the reads in vain of a thousand lookups of absent keys.
pub(crate) fn cells(stats: &Stats, level: usize, filter: &FilterStats) -> [String; 3] {
    let in_vain = LOOKUPS * reads_in_vain(stats, level, filter);
    [columns(filter).unwrap_or_else(|| "all".to_owned()), filter.held_bytes.to_string(), format!("{in_vain:.4}")]
}

/// The sums, if there is a limit: bytes held, and reads in vain by purpose.
pub(crate) fn print(out: &mut impl Write, stats: &Stats) -> io::Result<()> {
    let (bytes, Some(max)) = (stats.filter_memory_bytes, stats.filter_memory_bytes_max) else { return Ok(()) };
    writeln!(out, "filters in memory: {bytes} bytes of at most {max}")?;
    let filters = || stats.tables.iter().flat_map(|table| &table.filters);
    let num_elastic = filters().filter(|filter| filter.columns.is_some()).count() as u64;
    let num_unheld = filters().filter(|filter| filter.columns.is_some_and(|columns| columns.held == 0)).count();
    if bytes > max {
        writeln!(out, "  that is more: filters without columns and indexes of partitions are held whatever the limit")?;
    }
    if num_unheld > 0 {
        let filters = output::count(num_elastic, "filter");
        writeln!(out, "  of {num_unheld} of {filters} with columns none is held: lookups read from their tables")?;
    }
    let expected = |purpose: Purpose| Some((purpose, stats.expected_reads_in_vain(purpose)?));
    for (purpose, in_vain) in Purpose::ALL.into_iter().filter_map(expected) {
        writeln!(out, "reads in vain expected of 1000 lookups of an absent {purpose}: {:.2}", LOOKUPS * in_vain)?;
    }
    Ok(())
}

/// The same; null without a limit.
pub(crate) fn json(stats: &Stats) -> Value {
    let Some(max) = stats.filter_memory_bytes_max else { return Value::Null };
    let expected = |purpose: Purpose| Some((purpose.name().to_owned(), stats.expected_reads_in_vain(purpose)?.into()));
    let expected: serde_json::Map<String, Value> = Purpose::ALL.into_iter().filter_map(expected).collect();
    json!({
        "bytes": stats.filter_memory_bytes,
        "bytes_max": max,
        "expected_reads_in_vain": expected,
    })
}

/// The tables, and under a limit with each filter its expected reads in vain for a lookup of an absent key.
pub(crate) fn tables_json(stats: &Stats) -> Value {
    let mut tables = json!(stats.tables);
    if stats.filter_memory_bytes_max.is_none() {
        return tables;
    }
    for (at, table) in stats.tables.iter().enumerate() {
        for (index, filter) in table.filters.iter().enumerate() {
            let in_vain = reads_in_vain(stats, table.level, filter);
            tables[at]["filters"][index]["expected_reads_in_vain"] = in_vain.into();
        }
    }
    tables
}
