//! `filterblock combine`: the union or the intersection of bloom blocks.

use crate::block_file;
use crate::exit::{Code, Failure};
use crate::filter::Filter;
use crate::open_args::ExpectedArgs;
use crate::output::shell_word;
use crate::output_file::{OutputArgs, OutputFile};
use clap::ValueEnum;
use serde_json::Map;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Clone, Copy, ValueEnum)]
enum Operation {
    /// A block of the keys of any of the blocks
    Union,
    /// A block of the keys that all blocks have; it passes more absent keys than one that is built from them
    Intersection,
}

/// Make the union or the intersection of bloom blocks, without their keys
///
/// The blocks must be of kind bloom, with equal hash, seed or secret key, transform, number of bits and of probes: build
/// them, from any numbers of keys, with one policy of a fixed shape, such as --policy bloom:bytes=131072,probes=7,seed=5.
/// The number of entries of the result is an estimate.
#[derive(clap::Args)]
#[command(after_help = include_str!("help/combine.txt"))]
pub(crate) struct Args {
    #[arg(value_enum)]
    operation: Operation,
    /// The files with the blocks
    #[arg(value_name = "F", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    expected: ExpectedArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let target = OutputFile::new(&args.output, &inputs, &args.expected.key.hash_key_file, "Nothing was read.")?;
    let expected = args.expected.read()?;
    let context = expected.options().context();
    let mut combined = block_file::read(inputs[0], &expected)?;
    for (before, path) in inputs.iter().zip(&inputs[1..]) {
        let bytes = block_file::read(path, &expected)?;
        let (a, b) = (block_file::open(before, &combined, &expected)?, block_file::open(path, &bytes, &expected)?);
        let result = match args.operation {
            Operation::Union => a.union(&b, context),
            Operation::Intersection => a.intersection(&b, context),
        };
        let inspect = expected.command(format_args!("inspect {}", shell_word(path)));
        combined = result.map_err(|error| {
            Failure::usage("combine", format_args!("{}: {error}. Nothing was written. Run {inspect}", path.display()))
        })?;
    }
    target.write(&combined)?;
    let filter = Filter::Block(block_file::open(&args.output.path, &combined, &expected)?);
    filter.report(&args.output.path, args.output.json, Map::new(), "")?;
    Ok(Code::Ok.into())
}
