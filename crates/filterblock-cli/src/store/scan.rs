//! `filterblock scan`: the cells of a range of rows, in order.

use super::{cells, failure, open_for_reading};
use crate::exit::Code;
use crate::open_args::HashKeyArgs;
use crate::output::{self, Output};
use crate::units::parse_count;
use filterblock_kv::{Scan, Store, StoreOptions};
use std::ffi::OsString;
use std::io::Write;
use std::ops::Bound;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the cells of a range of rows
///
/// A line for each cell, in the order of rows and columns, as `fill` reads it. Scans of one prefix use the prefix
/// filters of tables that have them.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("../help/cells.txt"), include_str!("../help/scan.txt")))]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
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
    let store = open_for_reading(&args.dir, &key, StoreOptions::default())?;
    let cells = match prefix {
        Some(prefix) => store.scan_prefix(&prefix),
        None => scan(&store, from.as_deref(), to.as_deref()),
    };
    let mut out = Output::new();
    let limit = usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    for (num_cells, cell) in (0..).zip(cells.take(limit)) {
        let cell = match cell {
            Ok(cell) => cell,
            Err(error) => {
                // The cells before the damage are right.
                out.flush().map_err(output::failure)?;
                let done = format!("{} printed; the rest is unknown.", output::count(num_cells, "cell"));
                return Err(failure(&args.dir, &key, &error, &done).into());
            }
        };
        let written = if args.json { out.json(&cells::json(&cell)) } else { writeln!(out, "{}", cells::line(&cell)) };
        written.map_err(output::failure)?;
        if out.is_closed() {
            break;
        }
    }
    out.finish()?;
    Ok(Code::Ok.into())
}

fn scan(store: &Store, from: Option<&[u8]>, to: Option<&[u8]>) -> Scan {
    store.scan((from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded)))
}
