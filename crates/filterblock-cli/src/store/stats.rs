//! `filterblock stats`: what a store holds, level by level and table by table.

use super::{failure, open_for_reading, unreadable_json, warning_text};
use crate::exit::{Code, Failure};
use crate::keys::Keys;
use crate::open_args::{HashKey, HashKeyArgs};
use crate::output::{self, Output};
use crate::units::parse_bytes;
use filterblock_kv::{FilterStats, LevelStats, Stats, Store, StoreOptions};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show levels, tables and filters of a store
///
/// False-positive rates are predicted from the filters' bits as they are. With --ask rows are looked up first, and
/// the ledger shows the outcome of each lookup in each table. With --filter-memory-bytes the rates are those of what
/// memory holds, chosen by the tables' sizes.
#[derive(clap::Args)]
#[command(after_help = include_str!("../help/stats.txt"))]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Look up the rows of this file first, one a line, byte by byte; '-' is standard input
    #[arg(long, value_name = "FILE")]
    ask: Option<PathBuf>,
    /// Greatest length of the filters in memory, as 64KiB: of filters with columns, those columns are held that save
    /// the most reads; one of which none is held is not probed. Other kinds are held whole, and first
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    filter_memory_bytes: Option<u64>,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.key.read()?;
    let options = StoreOptions::default();
    let options = match args.filter_memory_bytes {
        Some(bytes) => options.with_filter_memory_bytes(bytes),
        None => options,
    };
    let store = open_for_reading(&args.dir, &key, options)?;
    if let Some(rows) = &args.ask {
        ask(args, &key, &store, rows)?;
    }
    let mut out = Output::new();
    let written = if args.json { out.json(&json(args, &key, &store)) } else { print(&mut out, args, &store) };
    written.map_err(output::failure)?;
    out.finish()?;
    // They are named on standard error.
    let is_whole = store.stats().unreadable.is_empty();
    Ok(if is_whole { Code::Ok } else { Code::Damaged }.into())
}

fn ask(args: &Args, key: &HashKey, store: &Store, rows: &Path) -> Result<(), Failure> {
    let mut rows = Keys::open(rows, false, "Not all rows were looked up. Run `filterblock stats --help`.")?;
    while let Some(row) = rows.next_key()? {
        store.get_row(row).map_err(|error| failure(&args.dir, key, &error, "Not all rows were looked up."))?;
    }
    Ok(())
}

fn json(args: &Args, key: &HashKey, store: &Store) -> Value {
    let stats = store.stats();
    let warnings: Vec<String> = store.warnings().iter().map(|warning| warning_text(&args.dir, key, warning)).collect();
    let ledger = args.ask.as_ref().map(|_| store.ledger_report());
    json!({
        "store": args.dir.to_string_lossy(),
        "hash_key_id": stats.hash_key_id.map(output::hex),
        "cells_in_log": stats.memtable_cells,
        "levels": stats.levels(),
        "tables": stats.tables,
        "unreadable": unreadable_json(&stats.unreadable),
        "filter_memory_bytes": stats.filter_memory_bytes,
        "filter_memory_bytes_max": stats.max_filter_memory_bytes,
        "warnings": warnings,
        "ledger": ledger,
    })
}

fn print(out: &mut Output, args: &Args, store: &Store) -> io::Result<()> {
    let stats = store.stats();
    let titles = ["level", "tables", "cells", "tombstones", "data bytes", "file bytes", "filter bytes"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for of_level in stats.levels() {
        let LevelStats { num_tables, num_cells, num_tombstones, data_bytes, file_bytes, filter_bytes, .. } = of_level;
        let level = of_level.level as u64;
        let counts = [level, num_tables, num_cells, num_tombstones, data_bytes, file_bytes, filter_bytes];
        rows.push(counts.map(|count| count.to_string()).to_vec());
    }
    let (num_tables, in_log) = (stats.tables.len() as u64, output::count(stats.memtable_cells, "cell"));
    writeln!(out, "{}: {}, {in_log} in the log only", args.dir.display(), output::count(num_tables, "table"))?;
    if let Some(id) = stats.hash_key_id {
        writeln!(out, "filters are hashed under the secret key {}", output::hex(id))?;
    }
    writeln!(out)?;
    write!(out, "{}", output::table(&rows))?;
    writeln!(out)?;
    write!(out, "{}", output::table(&filter_rows(&stats)))?;
    if let Some(max) = stats.max_filter_memory_bytes {
        writeln!(
            out,
            "
filters in memory: {} bytes of at most {max}",
            stats.filter_memory_bytes
        )?;
    }
    if args.ask.is_some() {
        write!(out, "\n{}", store.ledger_report())?;
    }
    Ok(())
}

/// Returns a line for each filter, and for each table without any.
fn filter_rows(stats: &Stats) -> Vec<Vec<String>> {
    let titles =
        ["table", "level", "cells", "filter", "kind", "entries", "bytes", "columns", "bits/key", "predicted FPR"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for table in &stats.tables {
        let of_filter = |filter: &FilterStats| {
            vec![
                filter.purpose.name().to_owned(),
                filter.kind.name().to_owned(),
                filter.num_entries.to_string(),
                filter.bytes.to_string(),
                filter
                    .columns
                    .map_or_else(|| "-".to_owned(), |columns| format!("{} of {}", columns.held, columns.stored)),
                filter.bits_per_key.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}")),
                output::rate(filter.predicted_fpr),
            ]
        };
        let without = |purpose: &str, kind: &str| [purpose, kind, "-", "-", "-", "-", "-"].map(str::to_owned).to_vec();
        let unusable = table.unusable.iter().map(|purpose| without(purpose.name(), "unusable"));
        let mut filters: Vec<_> = table.filters.iter().map(of_filter).chain(unusable).collect();
        if filters.is_empty() {
            filters.push(without("-", "none"));
        }
        let start = [table.file.clone(), table.level.to_string(), table.num_cells.to_string()];
        rows.extend(filters.into_iter().map(|filter| start.iter().cloned().chain(filter).collect()));
    }
    rows
}
