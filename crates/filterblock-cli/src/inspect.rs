//! `filterblock inspect`: the figures of a block.

use crate::block_file;
use crate::exit::{self, Code, Failure};
use crate::filter::{FilterArgs, print_figures};
use crate::output;
use crate::range_filter;
use crate::set;
use crate::table_file;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show a block's kind, size, rate and fill
///
/// The block is checked before anything is shown. The false-positive rate is predicted from the payload; the fill is
/// the share of set bits (golomb: of the hash range that is occupied). For a table of the store all filters are shown,
/// each with its offset in the file. Of a partitioned filter, rate and fill are those of a partition. Of a filter set its
/// columns are shown, and only its index is checked; `verify` checks its units. A range filter has neither, unless it is
/// one of integers, whose rates are shown for some lengths of ranges: its leaves are the keys and groups of keys that it
/// distinguishes, and its parameters are named as in the format's specification.
#[derive(clap::Args)]
#[command(after_help = include_str!("help/inspect.txt"))]
pub(crate) struct Args {
    /// The file with the block, a table of the store, or a filter set
    #[arg(value_name = "F")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.filter.compact_frame && table_file::is_table(&args.file) {
        args.filter.expected.without_context("inspect", &args.file)?;
        return table_file::inspect(&args.file, &args.filter.expected.read()?.key, args.json);
    }
    if !args.filter.compact_frame && block_file::is_set(&args.file) {
        args.filter.expected.without_context("inspect", &args.file)?;
        return set::inspect(&args.file, &args.filter.expected.read()?.key, args.json);
    }
    let opener = args.filter.read("inspect", false)?;
    let bytes = opener.read(&args.file)?;
    let (figures, failures) = match opener.open_range(&args.file, &bytes) {
        Some(filter) => (range_filter::figures(&filter?, opener.expected.options().context()), Vec::new()),
        None => {
            let filter = opener.open(&args.file, &bytes)?;
            filter.remark(&args.file).iter().for_each(exit::message);
            (filter.figures(), filter.failures(&args.file))
        }
    };
    failures.iter().for_each(exit::message);
    output::print(|out| if args.json { out.json(&figures) } else { print_figures(out, &figures, "") })?;
    Ok(failures.iter().map(Failure::code).max().unwrap_or(Code::Ok).into())
}
