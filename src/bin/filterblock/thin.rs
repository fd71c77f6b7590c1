//! `filterblock thin`: a block of fewer columns.

use crate::block;
use crate::exit::{self, Code, Failure};
use crate::expected::{Expected, ExpectedArgs};
use crate::keys::is_dash;
use crate::output::{self, shell_word};
use crate::target::Target;
use filterblock::{FilterBlockReader, ThinError};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock thin --columns 4 --output small.fb table.fb
  filterblock thin --columns 4 --output - table.fb | ssh host 'cat > small.fb'";

/// Leave out columns of a block, without its keys
///
/// For blocks of kind ribbon. A block of fewer columns is smaller in proportion, holds the same entries, and passes
/// twice as many absent keys for each column left out. It keeps its hash and the number that it is bound to, and names
/// the columns that it was thinned from. `filterblock inspect` shows how many columns a block has.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file with the block
    #[arg(value_name = "F")]
    file: PathBuf,
    /// Columns to keep, at least 1 and fewer than there are
    #[arg(long, value_name = "N")]
    columns: u32,
    /// The file to write, replaced if it exists; '-' is standard output, and then the summary goes to standard error
    #[arg(long, short, value_name = "F")]
    output: PathBuf,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    expected: ExpectedArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let target = Target::new(&args.output, "Nothing was read. Name a file in a directory that can be written to.")?;
    if fs::canonicalize(&args.file).is_ok_and(|file| target.path() == Some(&file)) {
        let message = "the block and the output are one file, whose columns would be lost";
        return Err(Failure::usage("thin", message).into());
    }
    let expected = args.expected.read()?;
    let bytes = block::read(&args.file, &expected)?;
    let reader = block::open(&args.file, &bytes, &expected)?;
    let context = expected.options().given_context();
    let thinned = reader.thin(args.columns, context).map_err(|error| refused(args, &expected, error))?;
    target.write(&thinned)?;
    summarize(args, &block::open(&args.output, &thinned, &expected)?)?;
    Ok(Code::Ok.into())
}

fn refused(args: &Args, expected: &Expected, error: ThinError) -> Failure {
    let inspect = expected.command(format_args!("inspect {}", shell_word(&args.file)));
    let (file, output) = (args.file.display(), args.output.display());
    Failure::usage("thin", format_args!("{file}: {error}. {output} was not written. Run {inspect}"))
}

fn summarize(args: &Args, thinned: &FilterBlockReader<'_>) -> Result<(), Failure> {
    let (num_entries, predicted_fpr) = (thinned.num_entries(), thinned.false_positive_rate());
    let (columns, from) = (thinned.num_columns(), thinned.thinned_from());
    let summary = match args.json {
        true => {
            let fields = json!({
                "output": args.output.to_string_lossy(),
                "kind": thinned.kind().name(),
                "num_columns": columns,
                "thinned_from": from,
                "num_entries": num_entries,
                "block_len_bytes": thinned.block_len(),
                "bits_per_key": thinned.bits_per_key(),
                "predicted_fpr": predicted_fpr,
            });
            fields.to_string()
        }
        false => {
            let of_columns = columns.zip(from).map(|(columns, from)| format!(", {columns} of {from} columns"));
            let bits = thinned.bits_per_key().map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}"));
            format!(
                "{}: {}{}, {num_entries} distinct entries, {} bytes, {bits} bits/key, predicted false-positive rate {}",
                args.output.display(),
                thinned.kind(),
                of_columns.unwrap_or_default(),
                thinned.block_len(),
                output::rate(predicted_fpr)
            )
        }
    };
    if is_dash(&args.output) {
        exit::message(summary);
        return Ok(());
    }
    output::print(|out| writeln!(out, "{summary}"))
}
