//! `filterblock stats`: what a store holds, level by level and table by table.

use super::{of_store, open_for_reading, warning_text};
use crate::exit::Code;
use crate::open_args::{HashKey, HashKeyArgs};
use crate::output::{self, Output, USELESS_RATE, shell_word};
use crate::policy_args::RANGE;
use filterblock::FilterKind;
use filterblock_kv::{FilterStats, LevelStats, Purpose, Stats, Store, TableStats};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show levels, tables and filters of a store
///
/// False-positive rates are predicted from the filters' bits as they are. At the end stands what makes filters useless,
/// or that nothing does; the number of queries is known to the process that makes them, by the store's statistics.
#[derive(clap::Args)]
#[command(after_help = include_str!("../help/stats.txt"))]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.key.read()?;
    let store = open_for_reading(&args.dir, &key)?;
    output::print(|out| if args.json { out.json(&json(args, &key, &store)) } else { print(out, args, &key, &store) })?;
    // They are named on standard error.
    let is_whole = store.stats().unreadable.is_empty();
    Ok(if is_whole { Code::Ok } else { Code::Damaged }.into())
}

fn json(args: &Args, key: &HashKey, store: &Store) -> Value {
    let stats = store.stats();
    let warnings: Vec<String> = store.warnings().iter().map(|warning| warning_text(&args.dir, key, warning)).collect();
    of_store(
        &args.dir,
        json!({
            "hash_key_id": stats.hash_key_id.map(output::hex),
            "cells_in_log": stats.memtable_cells,
            "levels": stats.levels(),
            "tables": stats.tables,
            "findings": findings(args, key, &stats),
            "unreadable": stats.unreadable,
            "warnings": warnings,
        }),
    )
}

/// The reasons why filters are useless, a line each, with its consequence and the next command.
fn findings(args: &Args, key: &HashKey, stats: &Stats) -> Vec<String> {
    let tables = &stats.tables;
    let rebuild = key.command(format_args!("rebuild {}", shell_word(&args.dir)));
    let rebuild_all = key.command(format_args!("rebuild {} --kind {}", shell_word(&args.dir), FilterKind::default()));
    let is_without =
        |table: &&TableStats| table.filters.is_empty() && table.range_filter.is_none() && table.unusable.is_empty();
    let num_without = tables.iter().filter(is_without).count();
    let num_unusable: usize = tables.iter().map(|table| table.unusable.len()).sum();
    let useless = tables.iter().flat_map(|table| table.filters.iter().map(move |filter| (table, filter)));
    let useless = useless.filter(|(_, filter)| filter.predicted_fpr >= USELESS_RATE).map(|(table, filter)| {
        format!(
            "{}: the {} filter passes {} of absent keys: it saves few reads. For filters of 10 bits per key, run {rebuild_all}.",
            table.file,
            filter.purpose,
            output::rate(filter.predicted_fpr)
        )
    });
    let of_tables = format!("of {}", output::count(tables.len() as u64, "table"));
    let missing = format!(
        "{num_without} {of_tables} have no filter: every lookup in their rows reads them. Unless a level is meant to have \
         none, run {rebuild_all}."
    );
    let unusable = format!(
        "{} cannot be used: lookups read their tables. Run {rebuild}.",
        output::count(num_unusable as u64, "filter")
    );
    [(num_without > 0, missing), (num_unusable > 0, unusable)]
        .into_iter()
        .filter_map(|(is_found, text)| is_found.then_some(text))
        .chain(useless)
        .collect()
}

fn print(out: &mut Output, args: &Args, key: &HashKey, store: &Store) -> io::Result<()> {
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
    let findings = findings(args, key, &stats);
    if findings.is_empty() && !stats.tables.is_empty() {
        return writeln!(out, "\nevery table has filters, all of them can be used, and each denies most absent keys");
    }
    findings.iter().try_for_each(|finding| writeln!(out, "\n{finding}"))
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
                filter.columns.map_or_else(|| "-".to_owned(), |columns| columns.stored.to_string()),
                filter.bits_per_key.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}")),
                output::rate(filter.predicted_fpr),
            ]
        };
        let without = |purpose: &str, kind: &str| [purpose, kind, "-", "-", "-", "-", "-"].map(str::to_owned).to_vec();
        let unusable = table.unusable.iter().map(|purpose| without(purpose.name(), "unusable"));
        let of_range = table.range_filter.map(|filter| {
            let (keys, bytes) = (filter.num_keys.to_string(), filter.bytes.to_string());
            let bits = filter.bits_per_key.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}"));
            [Purpose::Range.name(), RANGE, &keys, &bytes, "-", &bits, "-"].map(str::to_owned).to_vec()
        });
        let mut filters: Vec<_> = table.filters.iter().map(of_filter).chain(of_range).chain(unusable).collect();
        if filters.is_empty() {
            filters.push(without("-", "none"));
        }
        let start = [table.file.clone(), table.level.to_string(), table.num_cells.to_string()];
        rows.extend(filters.into_iter().map(|filter| start.iter().cloned().chain(filter).collect()));
    }
    rows
}
