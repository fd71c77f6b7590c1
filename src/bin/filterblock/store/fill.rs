//! `filterblock fill`: writes lines as the cells of a store.

use super::filters::FilterArgs;
use super::memory::FilterMemoryArgs;
use super::{MANIFEST_NAME, cells, failure, synthetic, warning_text, with_key};
use crate::exit::{self, Code, Failure};
use crate::expected::{HashKey, HashKeyArgs};
use crate::interrupt;
use crate::keys::{self, Keys};
use crate::output::{self, Output, shell_word};
use crate::units::{parse_bytes, parse_count, parse_u64};
use filterblock::kv::{Durability, Error, MAX_VALUE_LEN, Stats, Store, StoreOptions, TableStats, WriteBatch};
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  filterblock fill db cells.tsv
  filterblock fill db --rows-only keys.txt --kind golomb --fpr 0.1%
  filterblock fill db --synthetic 1M --level-kind 0=bloom --budget 2MiB --compact
  filterblock scan old --prefix user | filterblock fill new";

/// Cells of one write, unless another number is given.
const CELLS_PER_WRITE: u64 = 1000;
/// The approximate greatest length of a write.
const MAX_WRITE_BYTES: usize = 4 << 20;

/// Write cells into a store, and create it if it does not exist
///
/// Reads one cell per line and writes them in their order, so that the last of several values of a cell counts. The
/// given filters are for tables that are written now; existing tables keep theirs until they are compacted. At the end
/// all cells are in tables.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES, after_help = cells::NOTATION)]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// File of cells; standard input if omitted, or for '-'
    #[arg(value_name = "CELLS", default_value = "-", hide_default_value = true)]
    cells: PathBuf,
    /// Lines are rows, taken byte by byte as `build` takes keys
    #[arg(long)]
    rows_only: bool,
    /// Write N synthetic rows instead of reading any
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with_all = ["cells", "rows_only", "null"])]
    synthetic: Option<u64>,
    /// The column of the rows of --rows-only or --synthetic [default: column]
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    /// The value of the rows of --rows-only [default: empty]
    #[arg(long, value_name = "VALUE", default_value = "", hide_default_value = true, requires = "rows_only")]
    value: String,
    /// Length of the values of --synthetic [default: 100]
    #[arg(long, value_name = "N", value_parser = parse_bytes)]
    value_bytes: Option<u64>,
    /// Lines end with NUL, not with a newline
    #[arg(long, short = '0')]
    null: bool,
    #[command(flatten)]
    filters: FilterArgs,
    /// Seed of the hash for the filters of a new store, decimal or 0x… [default: random]
    #[arg(long, value_name = "S", value_parser = parse_u64, conflicts_with = "hash_key_file")]
    seed: Option<u64>,
    #[command(flatten)]
    memory: FilterMemoryArgs,
    #[command(flatten)]
    key: HashKeyArgs,
    /// When a write is durable: always (before it is acknowledged), interval:MS, or never (when a log is full)
    #[arg(long, value_name = "WHEN", default_value = "always", value_parser = parse_sync)]
    sync: Durability,
    /// Cells of one atomic write [default: 1000, or 1 with --ack]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    batch: Option<u64>,
    /// After each write print 'ok N', where N cells are acknowledged so far
    #[arg(long)]
    ack: bool,
    /// At the end, merge everything into the deepest level
    #[arg(long)]
    compact: bool,
    /// Flush cells to a table when they take about this much memory [default: 8MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memtable_bytes: Option<u64>,
    /// Compact level 1 from this length on, each deeper level from ten times as much [default: 64MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    level_bytes: Option<u64>,
    /// Begin another table in a compaction at this length [default: 16MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    table_bytes: Option<u64>,
    /// Print the summary as JSON, and with --ack an object per line
    #[arg(long)]
    json: bool,
}

fn parse_sync(text: &str) -> Result<Durability, String> {
    let interval = |text: &str| text.parse().ok().filter(|&ms| ms > 0).map(Duration::from_millis);
    match (text, text.strip_prefix("interval:").and_then(interval)) {
        ("always", _) => Ok(Durability::Always),
        ("never", _) => Ok(Durability::Never),
        (_, Some(interval)) => Ok(Durability::Interval(interval)),
        _ => Err("expected always, never or a number of milliseconds as in interval:100".to_owned()),
    }
}

impl Args {
    fn options(&self, key: &HashKey) -> Result<StoreOptions, Failure> {
        let mut options = with_key(self.filters.options("fill")?.durability(self.sync), key);
        if let Some(seed) = self.seed {
            options = options.seed(seed);
        }
        if let Some(bytes) = self.memtable_bytes {
            options = options.memtable_bytes_max(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if let Some(bytes) = self.level_bytes {
            options = options.level_bytes(bytes, 10);
        }
        if let Some(bytes) = self.table_bytes {
            options = options.table_bytes_max(bytes);
        }
        Ok(self.memory.limit(options))
    }

    /// Refuses flags that would have no effect.
    fn check(&self, created: bool) -> Result<(), Failure> {
        if self.column.is_some() && !self.rows_only && self.synthetic.is_none() {
            return Err(Failure::usage("fill", "--column is for --rows-only or --synthetic: cells have a column"));
        }
        if self.value_bytes.is_some() && self.synthetic.is_none() {
            return Err(Failure::usage("fill", "--value-bytes is for --synthetic: cells have a value"));
        }
        match self.seed {
            Some(seed) if !created => Err(self.refuse_seed(seed)),
            _ => Ok(()),
        }
    }

    fn refuse_seed(&self, seed: u64) -> Failure {
        let (dir, options) = (&self.dir, StoreOptions::default().read_only(true));
        if let Err(error @ Error::HashKey { .. }) = Store::open_dir(dir, options) {
            let done = "--seed is for a new store without a key: leave it out. Nothing was written.";
            return failure(dir, &HashKey::none(), &error, done);
        }
        let message = format!(
            "--seed is for a new store, and {} has one. To change it, run `filterblock rebuild {} --seed {seed}`",
            dir.display(),
            shell_word(dir)
        );
        Failure::usage("fill", message)
    }

    fn value_bytes(&self) -> u64 {
        self.value_bytes.unwrap_or(100)
    }

    fn column(&self) -> &[u8] {
        self.column.as_deref().unwrap_or("column").as_bytes()
    }

    fn input_name(&self) -> String {
        if keys::is_dash(&self.cells) { "standard input".to_owned() } else { self.cells.display().to_string() }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let key = args.key.read()?;
    let options = args.options(&key)?;
    let created = !args.dir.join(MANIFEST_NAME).exists();
    args.check(created)?;
    if args.value_bytes() > MAX_VALUE_LEN as u64 {
        return Err(Failure::usage("fill", format_args!("values have at most {MAX_VALUE_LEN} bytes")).into());
    }
    let input = match args.synthetic {
        None => Some(Keys::open(&args.cells, args.null, "Not all cells were written. Run `filterblock fill --help`.")?),
        Some(_) => None,
    };
    let store = Store::open_dir(&args.dir, options);
    let store = store.map_err(|error| failure(&args.dir, &key, &error, "Nothing was written."))?;
    interrupt::will_remove_unfinished(&args.dir);
    let mut filler = Filler::new(args, &key, &store);
    match (input, args.synthetic) {
        (Some(input), _) => filler.read(input)?,
        (None, num_rows) => keys::with_spinner("writing", || filler.synthesize(num_rows.unwrap_or(0)))?,
    }
    filler.write()?;
    let Filler { mut out, num_cells, num_deletions, num_writes, .. } = filler;
    let done = format!("Cells written: {num_cells}, which are in its log and tables.");
    let result = keys::with_spinner("finishing", || finish(args, &key, store));
    let (stats, warnings) = result.map_err(|error| failure(&args.dir, &key, &error, &done))?;
    warnings.iter().for_each(exit::message);
    let counts = [num_cells, num_deletions, num_writes];
    print_summary(args, &mut out, created, counts, &stats).map_err(output::failure)?;
    out.finish()?;
    Ok(Code::Ok.into())
}

/// Writes everything to tables, and closes the store. Returns its statistics and warnings.
fn finish(args: &Args, key: &HashKey, store: Store) -> Result<(Stats, Vec<String>), Error> {
    store.flush()?;
    store.settle()?;
    if args.compact {
        store.compact()?;
    }
    let warnings = store.warnings().iter().map(|warning| warning_text(&args.dir, key, warning)).collect();
    let stats = store.stats();
    interrupt::forget_unfinished(&args.dir);
    store.close()?;
    Ok((stats, warnings))
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
    num_writes: u64,
}

impl<'a> Filler<'a> {
    fn new(args: &'a Args, key: &'a HashKey, store: &'a Store) -> Self {
        let default = if args.ack { 1 } else { CELLS_PER_WRITE };
        let cells_per_write = args.batch.unwrap_or(default).max(1);
        let (out, batch) = (Output::new(), WriteBatch::new());
        let (num_cells, num_deletions, num_writes) = (0, 0, 0);
        Self { args, key, store, out, batch, batch_bytes: 0, cells_per_write, num_cells, num_deletions, num_writes }
    }

    fn read(&mut self, input: Keys) -> Result<(), Failure> {
        let acks_on_terminal = self.args.ack && io::stdout().is_terminal();
        let mut input = if acks_on_terminal { input.without_progress() } else { input };
        let mut number = 0;
        while let Some(line) = input.next_key()? {
            number += 1;
            self.take_line(line, number)?;
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], number: u64) -> Result<(), Failure> {
        let Args { rows_only, value, .. } = self.args;
        let taken = if *rows_only {
            self.take(line, self.args.column(), Some(value.as_bytes())).map_err(|error| error.to_string())
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

    /// A line that is no cell ends the input; the cells before it are kept.
    fn refuse(&mut self, line: u64, reason: &str) -> Result<(), Failure> {
        self.write()?;
        let message = format!(
            "{}: line {line}: {reason}. Cells written before it: {}. Run `filterblock fill --help`.",
            self.args.input_name(),
            self.num_cells
        );
        Err(Failure::new(Code::Usage, message))
    }

    fn synthesize(&mut self, num_rows: u64) -> Result<(), Failure> {
        // Checked before: at most `MAX_VALUE_LEN`.
        let value_len = self.args.value_bytes() as usize;
        for number in 0..num_rows {
            let (row, value) = (synthetic::row(number), synthetic::value(number, value_len));
            let taken = self.take(row.as_bytes(), self.args.column(), Some(&value));
            taken.map_err(|error| self.failed(&error))?;
            self.write_if_full()?;
        }
        Ok(())
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
        self.num_writes += 1;
        if !self.args.ack {
            return Ok(());
        }
        let written = match self.args.json {
            true => self.out.json(&json!({ "ok": self.num_cells })),
            false => writeln!(self.out, "ok {}", self.num_cells),
        };
        written.and_then(|()| self.out.flush()).map_err(output::failure)
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

/// The store after its filling, and how many cells, deletions and writes were acknowledged.
fn print_summary(
    args: &Args,
    out: &mut Output,
    created: bool,
    [num_cells, num_deletions, num_writes]: [u64; 3],
    stats: &Stats,
) -> io::Result<()> {
    let sum = |of: fn(&TableStats) -> u64| stats.tables.iter().map(of).sum::<u64>();
    let (file_bytes, filter_bytes) = (sum(|table| table.file_bytes), sum(|table| table.filter_bytes));
    let filter_entries = sum(|table| table.filter_entries);
    if args.json {
        return out.json(&json!({
            "store": args.dir.to_string_lossy(),
            "created": created,
            "cells_written": num_cells,
            "deletions": num_deletions,
            "writes": num_writes,
            "tables": stats.tables.len(),
            "file_bytes": file_bytes,
            "filter_bytes": filter_bytes,
            "filter_entries": filter_entries,
        }));
    }
    let bits = match filter_entries {
        0 => String::new(),
        entries => format!(" ({:.3} bits/key)", filter_bytes as f64 * 8.0 / entries as f64),
    };
    writeln!(
        out,
        "{}: {}, {} written ({}); the store has {} of {file_bytes} bytes, filters of {filter_bytes} bytes{bits}",
        args.dir.display(),
        if created { "created" } else { "opened" },
        output::count(num_cells, "cell"),
        output::count(num_deletions, "deletion"),
        output::count(stats.tables.len() as u64, "table"),
    )
}
