//! `filterblock thin`: a block of fewer columns.

use crate::block_file;
use crate::exit::{Code, Failure};
use crate::filter::Filter;
use crate::open_args::ExpectedArgs;
use crate::output::shell_word;
use crate::output_file::{OutputArgs, OutputFile};
use serde_json::Map;
use std::path::PathBuf;
use std::process::ExitCode;

/// Leave out columns of a block, without its keys
///
/// For blocks of kind ribbon. A block of fewer columns is smaller in proportion, holds the same entries, and passes
/// twice as many absent keys for each column left out. It keeps its hash and the number that it is bound to, and names
/// the columns that it was thinned from. `filterblock inspect` shows how many columns a block has.
#[derive(clap::Args)]
#[command(after_help = include_str!("help/thin.txt"))]
pub(crate) struct Args {
    /// The file with the block
    #[arg(value_name = "F")]
    file: PathBuf,
    /// Columns to keep, at least 1 and fewer than there are
    #[arg(long, value_name = "N")]
    columns: u32,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    expected: ExpectedArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let target = OutputFile::new(&args.output, &[&args.file], &args.expected.key.hash_key_file, "Nothing was read.")?;
    let expected = args.expected.read()?;
    let bytes = block_file::read(&args.file, &expected)?;
    let reader = block_file::open(&args.file, &bytes, &expected)?;
    let thinned = reader.thin(args.columns, expected.options().context()).map_err(|error| {
        let inspect = expected.command(format_args!("inspect {}", shell_word(&args.file)));
        let (file, output) = (args.file.display(), args.output.path.display());
        Failure::usage("thin", format_args!("{file}: {error}. {output} was not written. Run {inspect}"))
    })?;
    target.write(&thinned)?;
    let filter = Filter::Block(block_file::open(&args.output.path, &thinned, &expected)?);
    filter.report(&args.output.path, args.output.json, Map::new(), "")?;
    Ok(Code::Ok.into())
}
