//! `filterblock stats`: what a store holds, level by level and table by table.

use super::memory::{self, FilterMemoryArgs};
use super::{failure, open_for_reading, unreadable_json, warning_text};
use crate::exit::{Code, Failure};
use crate::expected::{HashKey, HashKeyArgs};
use crate::keys::Keys;
use crate::output::{self, Output};
use filterblock::kv::{LevelStats, Stats, Store};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock stats db
  filterblock stats db --ask rows.txt          how its filters answer for these rows
  filterblock stats db --filter-memory-bytes 64KiB    what of its filters as much memory would hold
  filterblock stats db --json
  filterblock stats db --prometheus > /var/lib/node_exporter/db.prom";

/// Show levels, tables and filters of a store
///
/// False-positive rates are predicted from the filters' bits as they are. With --ask rows are looked up first, and
/// the ledger shows what became of each lookup in each table. With --filter-memory-bytes the rates are those of what
/// memory holds, chosen by the tables' sizes; expected reads in vain are for lookups of absent keys, any of them as
/// probable.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Look up the rows of this file first, one a line, byte by byte; '-' is standard input
    #[arg(long, value_name = "FILE")]
    ask: Option<PathBuf>,
    #[command(flatten)]
    memory: FilterMemoryArgs,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print one JSON object
    #[arg(long, conflicts_with = "prometheus")]
    json: bool,
    /// Print Prometheus' text exposition format, with --ask that of the ledger, too
    #[arg(long)]
    prometheus: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.key.read()?;
    let store = open_for_reading(&args.dir, &key, &args.memory)?;
    if let Some(rows) = &args.ask {
        ask(args, &key, &store, rows)?;
    }
    let mut out = Output::new();
    let written = if args.prometheus {
        // The ledger is this process's: without lookups of its own it has nothing but zeros.
        let ledger = args.ask.as_ref().map(|_| store.ledger_report().to_prometheus());
        write!(out, "{}{}", store.stats().to_prometheus(), ledger.unwrap_or_default())
    } else if args.json {
        out.json(&json(args, &key, &store))
    } else {
        print(&mut out, args, &store)
    };
    written.map_err(output::failure)?;
    out.finish()?;
    // Those are named on standard error.
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
        "tables": memory::tables_json(&stats),
        "unreadable": unreadable_json(&stats.unreadable),
        "filter_memory": memory::json(&stats),
        "warnings": warnings,
        "ledger": ledger,
    })
}

fn print(out: &mut Output, args: &Args, store: &Store) -> io::Result<()> {
    let stats = store.stats();
    let titles = ["level", "tables", "cells", "tombstones", "data bytes", "file bytes", "filter bytes"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for of_level in stats.levels() {
        let LevelStats { level, num_tables, num_cells, num_tombstones, data_bytes, file_bytes, filter_bytes, .. } =
            of_level;
        let counts = [level as u64, num_tables, num_cells, num_tombstones, data_bytes, file_bytes, filter_bytes];
        rows.push(counts.map(|count| count.to_string()).to_vec());
    }
    let (num_tables, in_log) = (stats.tables.len() as u64, output::count(stats.memtable_cells, "cell"));
    writeln!(out, "{}: {}, {in_log} in the log only", args.dir.display(), output::count(num_tables, "table"))?;
    if let Some(id) = stats.hash_key_id {
        writeln!(out, "filters are hashed under the secret key {}", output::hex(id))?;
    }
    writeln!(out)?;
    output::table(out, &rows)?;
    writeln!(out)?;
    output::table(out, &filter_rows(&stats))?;
    if stats.filter_memory_bytes_max.is_some() {
        writeln!(out)?;
        memory::print(out, &stats)?;
    }
    if args.ask.is_some() {
        write!(out, "\n{}", store.ledger_report())?;
    }
    Ok(())
}

/// A line for each filter, and for each table without any.
fn filter_rows(stats: &Stats) -> Vec<Vec<String>> {
    let titles = ["table", "level", "cells", "filter", "kind", "entries", "bytes", "bits/key", "predicted FPR"];
    let of_memory = if stats.filter_memory_bytes_max.is_some() { &memory::TITLES[..] } else { &[] };
    let titles: Vec<String> = titles.iter().chain(of_memory).map(|title| (*title).to_owned()).collect();
    let num_columns = titles.len();
    let mut rows = vec![titles];
    for table in &stats.tables {
        let start = [table.file.clone(), table.level.to_string(), table.num_cells.to_string()];
        let mut row = |purpose: &str, kind: &str, figures: Vec<String>| {
            let words = [purpose, kind].map(str::to_owned);
            let mut row: Vec<String> = start.iter().cloned().chain(words).chain(figures).collect();
            row.resize(num_columns, "-".to_owned());
            rows.push(row);
        };
        for filter in &table.filters {
            let bits = filter.bits_per_key.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}"));
            let (entries, bytes) = (filter.num_entries.to_string(), filter.bytes.to_string());
            let mut figures = vec![entries, bytes, bits, output::rate(filter.predicted_fpr)];
            if !of_memory.is_empty() {
                figures.extend(memory::cells(stats, table.level, filter));
            }
            row(filter.purpose.name(), filter.kind.name(), figures);
        }
        table.unusable.iter().for_each(|purpose| row(purpose.name(), "unusable", Vec::new()));
        if table.filters.is_empty() && table.unusable.is_empty() {
            row("-", "none", Vec::new());
        }
    }
    rows
}
