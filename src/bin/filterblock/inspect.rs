//! `filterblock inspect`: the figures of a block.

use crate::block;
use crate::exit::Code;
use crate::expected::{ExpectedArgs, FrameArgs};
use crate::frame;
use crate::output;
use crate::table;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock inspect table.fb
  filterblock inspect table.fb --json
  filterblock inspect store/000001.sst         the filters of a table, with their offsets
  filterblock inspect small.fb --compact       a compact frame";

/// Show a block's kind, size, rate and fill
///
/// The block is checked before anything is shown. The false-positive rate is predicted from the payload; the fill is
/// the share of set bits (golomb: of the hash range that is occupied). For a table of the store all filters are shown,
/// each with its offset in the file.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file with the block, or a table of the store
    #[arg(value_name = "F")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    expected: ExpectedArgs,
    #[command(flatten)]
    frame: FrameArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.frame.is_given() {
        let of_frame = args.frame.read(&args.expected.read()?.key);
        args.expected.without_context_of_frame("inspect")?;
        let bytes = frame::read(&args.file)?;
        let figures = frame::figures(&frame::open(&args.file, &bytes, of_frame)?);
        output::print(
            |out| if args.json { out.json(&figures.into()) } else { block::print_figures(out, &figures, "") },
        )?;
        return Ok(Code::Ok.into());
    }
    if table::is_table(&args.file) {
        args.expected.without_context("inspect", &args.file)?;
        return table::inspect(&args.file, &args.expected.read()?.key, args.json);
    }
    let expected = args.expected.read()?;
    let bytes = block::read(&args.file, &expected)?;
    let reader = block::open(&args.file, &bytes, &expected)?;
    let figures = block::figures(&bytes, &reader);
    output::print(|out| if args.json { out.json(&figures.into()) } else { block::print_figures(out, &figures, "") })?;
    Ok(Code::Ok.into())
}
