//! `filterblock demo`: the same store with and without filters, given the same queries, with its reads counted by the
//! operating system.

mod data;
mod directory;
mod queries;
mod report;
mod run;
mod store;
mod system_reads;
mod webtable;

use crate::exit::{Code, Failure, message};
use crate::output;
use crate::units::parse_count;
use data::Dataset;
use directory::Directory;
use filterblock::{FilterKind, FilterPolicy};
use report::Report;
use run::{Plan, Run};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// The most rows of the built-in table: each takes some 1300 bytes of memory.
const MAX_ROWS: u64 = 10_000_000;

/// Load a small row/column store, look up present and absent keys, and show which disk reads filters avoid
///
/// Every run holds the same data and is given the same queries: rows that do not exist, columns that existing rows do
/// not have, and cells that exist; then scans of hosts and of directories without rows, and of directories with some: a
/// host is the beginning of a row up to its first slash, a directory up to its last, and each is all of a row without
/// slashes. Range filters of 14 bits a row answer these, and filters of the directories the scans of absent ones again.
/// Absent keys lie between present ones, and a table's key range is
/// checked before its filters, which take no credit for what the range rules out. Data blocks are read past the page
/// cache where the file system allows it. Reads are counted by the store and, independently, by the operating system; if
/// the two disagree, or the answers of two runs do, the demo fails.
#[derive(clap::Args)]
#[command(after_help = include_str!("../help/demo.txt"))]
pub(crate) struct Args {
    /// Rows of the built-in web table
    #[arg(long, value_name = "N", default_value = "200_000", value_parser = parse_rows, conflicts_with = "keys")]
    rows: u64,
    /// Queries of each class [default: 10 000, or fewer where the disk is slow]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    lookups: Option<u64>,
    /// Size of each filter, in bits per key
    #[arg(long, default_value_t = 10.0, value_name = "BITS")]
    bits_per_key: f64,
    /// Kinds of filter to compare with none, separated by commas [default: all]
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<FilterKind>,
    /// Rows to load instead of the web table, one a line
    #[arg(long, value_name = "FILE", requires = "absent")]
    keys: Option<PathBuf>,
    /// Rows that are not in --keys, one a line
    #[arg(long, value_name = "FILE", requires = "keys", conflicts_with = "rows")]
    absent: Option<PathBuf>,
    /// Existing directory to make the store in; only the store is removed at the end [default: a temporary directory on
    /// a disk]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn parse_rows(text: &str) -> Result<u64, String> {
    Some(parse_count(text)?).filter(|&rows| rows <= MAX_ROWS).ok_or_else(|| format!("at most {MAX_ROWS} rows"))
}

impl Args {
    /// No filter first: the other runs are compared with it.
    fn policies(&self) -> Result<Vec<Option<FilterPolicy>>, Failure> {
        let kinds = if self.kinds.is_empty() { FilterKind::ALL } else { &self.kinds };
        let policy = |kind: &FilterKind| FilterPolicy::with_bits_per_key(*kind, self.bits_per_key).map(Some);
        let policies = std::iter::once(Ok(None)).chain(kinds.iter().map(policy));
        policies.collect::<Result<_, _>>().map_err(|error| Failure::usage("demo", error))
    }

    fn data(&self) -> Result<Dataset, Failure> {
        let data = match (&self.keys, &self.absent) {
            (Some(keys), Some(absent)) => Dataset::from_files(keys, absent)?,
            _ => Dataset::web_table(self.rows),
        };
        data.check().map_err(|reason| Failure::usage("demo", reason))?;
        Ok(data)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let policies = args.policies()?;
    let directory = Directory::choose(args.dir.as_deref())?;
    note("making the data");
    let data = args.data()?;
    let mut plan = Plan::new(args.lookups);
    let mut runs = Vec::new();
    for policy in policies {
        note(&policy.as_ref().map_or("running without filters".to_owned(), |policy| format!("running with {policy}")));
        runs.push(Run::new(&data, &mut plan, policy, directory.path())?);
    }
    let report = Report::new(args.bits_per_key, &data, directory.bypass(), &plan, &runs);
    output::print(|out| if args.json { out.json(&report) } else { report.print(out) })?;
    report.failures.iter().for_each(|failure| message(format_args!("error: {failure}")));
    Ok(if report.failures.is_empty() { Code::Ok } else { Code::Damaged }.into())
}

/// Shows what is being done, if standard error is a terminal.
fn note(what: &str) {
    if std::io::stderr().is_terminal() {
        message(what);
    }
}
