//! `filterblock scan`: the cells of a range of rows, in order.

use super::{cells, failure, open_for_reading};
use crate::exit::{self, Code, Failure};
use crate::open_args::HashKeyArgs;
use crate::output::{self, Output};
use crate::table_file;
use crate::units::parse_count;
use filterblock_kv::{Error, TableCell};
use std::ffi::OsString;
use std::io::Write;
use std::ops::Bound;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the cells of a range of rows
///
/// A line for each cell, in the order of rows and columns, as `fill` reads it. Scans use the range filters of tables that
/// have them, those of one prefix also the prefix filters. Of a single table, which needs neither manifest nor key, all cells and deletions
/// are printed but those in damaged blocks; other tables may have newer ones.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("../help/cells.txt"), include_str!("../help/scan.txt")))]
pub(crate) struct Args {
    /// The directory of the store, or one of its tables
    #[arg(value_name = "DIR|TABLE")]
    dir: PathBuf,
    /// Begin at this row, or the next one
    #[arg(long, value_name = "ROW")]
    from: Option<OsString>,
    /// End before this row
    #[arg(long, value_name = "ROW")]
    to: Option<OsString>,
    /// All rows with this prefix
    #[arg(long, value_name = "PREFIX", conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,
    /// End after N cells
    #[arg(long, value_name = "N", value_parser = parse_count)]
    limit: Option<u64>,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print an object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let argument = |text: &Option<OsString>| text.as_deref().map(|text| cells::argument("scan", text)).transpose();
    let (from, to, prefix) = (argument(&args.from)?, argument(&args.to)?, argument(&args.prefix)?);
    let key = args.key.read()?;
    let start = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let end = to.as_deref().filter(|to| !to.is_empty()).map_or(Bound::Unbounded, Bound::Excluded);
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut out = Output::new();
    let mut code = Code::Ok;
    if table_file::is_table(&args.dir) {
        let table = table_file::open(&args.dir, &key)?;
        let report = |error: &Error, _| {
            let failure = Failure::table(error, "Its cells are left out, and those after it follow.");
            exit::message(&failure);
            code = code.max(failure.code());
            Ok(())
        };
        match prefix {
            Some(prefix) => print(args, &mut out, limit, table.cells_with_prefix(&prefix), report)?,
            None => print(args, &mut out, limit, table.cells(start, end), report)?,
        }
    } else {
        let store = open_for_reading(&args.dir, &key)?;
        let cells = prefix.map_or_else(|| store.scan((start, end)), |prefix| store.scan_prefix(&prefix));
        let report = |error: &Error, num_printed| {
            let done = format!("{} printed; the rest is unknown.", output::count(num_printed, "cell"));
            Err(failure(&args.dir, &key, error, &done))
        };
        print(args, &mut out, limit, cells.map(|cell| cell.map(TableCell::from)), report)?;
    }
    out.finish()?;
    Ok(code.into())
}

/// Prints at most `limit` cells, and passes errors to `report` with the number of cells before them.
fn print(
    args: &Args,
    out: &mut Output,
    limit: u64,
    cells: impl Iterator<Item = Result<TableCell, Error>>,
    mut report: impl FnMut(&Error, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut num_printed = 0;
    for cell in cells {
        if num_printed == limit || out.is_closed() {
            break;
        }
        let written = match cell {
            Ok(cell) if args.json => out.json(&cells::json(&cell)),
            Ok(cell) => writeln!(out, "{}", cells::line(&cell)),
            Err(error) => {
                // The cells before the damage are right.
                out.flush().map_err(output::failure)?;
                report(&error, num_printed)?;
                continue;
            }
        };
        written.map_err(output::failure)?;
        num_printed += 1;
    }
    Ok(())
}
