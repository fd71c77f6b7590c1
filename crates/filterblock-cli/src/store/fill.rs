//! `filterblock fill`: writes lines as the cells of a store.

use super::filters::FilterArgs;
use super::{MANIFEST_NAME, cells, failure, of_store, warning_text, with_key};
use crate::exit::{self, Code, Failure};
use crate::keys::{self, Keys};
use crate::open_args::{HashKey, HashKeyArgs};
use crate::output::{self, Output};
use crate::progress::Working;
use crate::units::{parse_bytes, parse_count, parse_u64};
use filterblock_kv::{Durability, Error, Stats, Store, StoreOptions, TableStats, WriteBatch};
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Cells of one write.
const CELLS_PER_WRITE: u64 = 1000;
/// The column of the rows of --rows-only.
const COLUMN: &[u8] = b"column";
/// The approximate greatest length of a write.
const MAX_WRITE_BYTES: usize = 4 << 20;

/// Write cells into a store, and create it if it does not exist
///
/// Reads one cell per line and writes them in their order, so that the last of several values of a cell counts. The
/// given filters are for tables that are written now; existing tables keep theirs until they are compacted. At the end
/// all cells are in tables.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("../help/cells.txt"), include_str!("../help/fill.txt")))]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// File of cells; standard input if omitted, or for '-'
    #[arg(value_name = "CELLS", default_value = "-", hide_default_value = true)]
    cells: PathBuf,
    /// Lines are rows, taken byte by byte as `build` takes keys, each with one empty cell in a column named "column"
    #[arg(long)]
    rows_only: bool,
    /// Lines end with NUL, not with a newline
    #[arg(long, short = '0')]
    null: bool,
    #[command(flatten)]
    filters: FilterArgs,
    /// Seed of the hash for the filters of a new store, decimal or 0x… [default: random]
    #[arg(long, value_name = "S", value_parser = parse_u64, conflicts_with = "hash_key_file")]
    seed: Option<u64>,
    #[command(flatten)]
    key: HashKeyArgs,
    /// At the end, merge everything into the deepest level
    #[arg(long)]
    merge: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tested: TestedArgs,
}

/// Settings for tests that kill this process or fill its disk, and then count what was acknowledged. Hidden from help
/// and manual: the defaults suit every input, and a store that is filled in one run needs no others.
#[derive(clap::Args)]
struct TestedArgs {
    /// When a write is durable: always (before it is acknowledged), interval:MS, or never (when a log is full)
    #[arg(long, hide = true, value_name = "WHEN", default_value = "always", value_parser = parse_sync)]
    sync: Durability,
    /// Write N cells at a time, atomically, and after each write print 'ok' and the number of cells acknowledged so far
    #[arg(long, hide = true, value_name = "N", value_parser = parse_count)]
    ack: Option<u64>,
    /// Flush cells to a table when they take about this much memory; levels and tables grow with it
    #[arg(long, hide = true, value_name = "BYTES", default_value = "8MiB", value_parser = parse_bytes)]
    memtable_bytes: u64,
}

fn parse_sync(text: &str) -> Result<Durability, String> {
    match (text, text.strip_prefix("interval:").and_then(|ms| ms.parse().ok())) {
        ("always", _) => Ok(Durability::Always),
        ("never", _) => Ok(Durability::Never),
        (_, Some(ms @ 1..)) => Ok(Durability::Interval(Duration::from_millis(ms))),
        _ => Err("expected always, never or a number of milliseconds as in interval:100".to_owned()),
    }
}

impl Args {
    fn options(&self, key: &HashKey) -> Result<StoreOptions, Failure> {
        let TestedArgs { sync, memtable_bytes, .. } = self.tested;
        let options = with_key(self.filters.options("fill")?.with_durability(sync), key)
            .with_max_memtable_bytes(usize::try_from(memtable_bytes).unwrap_or(usize::MAX))
            .with_level_bytes(memtable_bytes.saturating_mul(8), 10)
            .with_max_table_bytes(memtable_bytes.saturating_mul(2));
        Ok(match self.seed {
            Some(seed) => options.with_seed(seed),
            None => options,
        })
    }

    fn input_name(&self) -> String {
        if keys::is_dash(&self.cells) { "standard input".to_owned() } else { self.cells.display().to_string() }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.key.read()?;
    let options = args.options(&key)?;
    let created = !args.dir.join(MANIFEST_NAME).exists();
    if args.seed.is_some() && !created {
        let message = "--seed is for a new store; `filterblock rebuild --help` shows how to change that of a store";
        return Err(Failure::usage("fill", message).into());
    }
    let input = Keys::open(&args.cells, args.null, "Not all cells were written. Run `filterblock fill --help`.")?;
    let store = Store::open_dir(&args.dir, options);
    let store = store.map_err(|error| failure(&args.dir, &key, &error, "Nothing was written."))?;
    let mut filler = Filler::new(args, &key, &store);
    filler.read(input)?;
    filler.write()?;
    let Filler { mut out, num_cells, num_deletions, .. } = filler;
    let working = Working::new(format!("writing the tables of {}", args.dir.display()));
    let finished = finish(args, &store);
    drop(working);
    let warnings: Vec<_> = store.warnings().iter().map(|warning| warning_text(&args.dir, &key, warning)).collect();
    let stats = store.stats();
    finished.and_then(|()| store.close()).map_err(|error| {
        let done = format!("Cells written: {num_cells}, which are in its log and tables.");
        failure(&args.dir, &key, &error, &done)
    })?;
    warnings.iter().for_each(exit::message);
    print_summary(args, &mut out, created, [num_cells, num_deletions], &stats).map_err(output::failure)?;
    out.finish()?;
    Ok(Code::Ok.into())
}

/// Writes everything to tables.
fn finish(args: &Args, store: &Store) -> Result<(), Error> {
    store.flush()?;
    store.settle()?;
    if args.merge { store.compact() } else { Ok(()) }
}

/// Collects cells and writes them.
struct Filler<'a> {
    args: &'a Args,
    key: &'a HashKey,
    store: &'a Store,
    out: Output,
    batch: WriteBatch,
    batch_bytes: usize,
    cells_per_write: u64,
    /// Cells that are acknowledged.
    num_cells: u64,
    num_deletions: u64,
}

impl<'a> Filler<'a> {
    fn new(args: &'a Args, key: &'a HashKey, store: &'a Store) -> Self {
        let cells_per_write = args.tested.ack.unwrap_or(CELLS_PER_WRITE);
        let (out, batch) = (Output::new(), WriteBatch::new());
        let (num_cells, num_deletions) = (0, 0);
        Self { args, key, store, out, batch, batch_bytes: 0, cells_per_write, num_cells, num_deletions }
    }

    fn read(&mut self, mut input: Keys) -> Result<(), Failure> {
        let mut number = 0;
        while let Some(line) = input.next_key()? {
            number += 1;
            self.take_line(line, number)?;
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], number: u64) -> Result<(), Failure> {
        let taken = if self.args.rows_only {
            self.take(line, COLUMN, Some(b"")).map_err(|error| error.to_string())
        } else {
            cells::parse(line).and_then(|cells::Line { row, column, value }| {
                self.take(&row, &column, value.as_deref()).map_err(|error| error.to_string())
            })
        };
        match taken {
            Ok(()) => self.write_if_full(),
            Err(reason) => self.refuse(number, &reason),
        }
    }

    /// A line that is not a cell ends the input; the cells before it are kept.
    fn refuse(&mut self, line: u64, reason: &str) -> Result<(), Failure> {
        self.write()?;
        let message = format!(
            "{}: line {line}: {reason}. Cells written before it: {}. Run `filterblock fill --help`.",
            self.args.input_name(),
            self.num_cells
        );
        Err(Failure::new(Code::Usage, message))
    }

    fn take(&mut self, row: &[u8], column: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        match value {
            Some(value) => self.batch.put(row, column, value)?,
            None => self.batch.delete(row, column)?,
        };
        self.num_deletions += u64::from(value.is_none());
        self.batch_bytes += row.len() + column.len() + value.map_or(0, <[u8]>::len);
        Ok(())
    }

    fn write_if_full(&mut self) -> Result<(), Failure> {
        let is_full = self.batch.len() as u64 >= self.cells_per_write || self.batch_bytes >= MAX_WRITE_BYTES;
        if is_full { self.write() } else { Ok(()) }
    }

    /// Writes the collected cells, and prints the acknowledgement.
    fn write(&mut self) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        let len = batch.len() as u64;
        self.batch_bytes = 0;
        self.store.write(batch).map_err(|error| self.failed(&error))?;
        self.num_cells += len;
        if self.args.tested.ack.is_none() {
            return Ok(());
        }
        writeln!(self.out, "ok {}", self.num_cells).and_then(|()| self.out.flush()).map_err(output::failure)
    }

    fn failed(&self, error: &Error) -> Failure {
        failure(
            &self.args.dir,
            self.key,
            error,
            &format!("Cells written before: {}, which are in its log and tables.", self.num_cells),
        )
    }
}

/// Prints the store after its filling, and how many cells and deletions were acknowledged.
fn print_summary(
    args: &Args,
    out: &mut Output,
    created: bool,
    [num_cells, num_deletions]: [u64; 2],
    stats: &Stats,
) -> io::Result<()> {
    let sum = |of: fn(&TableStats) -> u64| stats.tables.iter().map(of).sum::<u64>();
    let (filter_bytes, filter_entries) = (sum(|table| table.filter_bytes), sum(|table| table.filter_entries));
    if args.json {
        out.json(&of_store(
            &args.dir,
            json!({
                "created": created,
                "cells_written": num_cells,
                "deletions": num_deletions,
                    "tables": stats.tables.len(),
                "file_bytes": sum(|table| table.file_bytes),
                "filter_bytes": filter_bytes,
                "filter_entries": filter_entries,
            }),
        ))
    } else {
        let bits = filter_bytes as f64 * 8.0 / filter_entries.max(1) as f64;
        writeln!(
            out,
            "{}: {}, {} written ({}); the store has {} of {} bytes, filters of {filter_bytes} bytes ({bits:.3} bits/key)",
            args.dir.display(),
            if created { "created" } else { "opened" },
            output::count(num_cells, "cell"),
            output::count(num_deletions, "deletion"),
            output::count(stats.tables.len() as u64, "table"),
            sum(|table| table.file_bytes),
        )
    }
}
