//! `filterblock verify`: checksums, structure, and with keys the two promises of a filter: none of its keys is
//! missing, and absent keys pass no more often than predicted.

use crate::answers::{self, Answers};
use crate::block;
use crate::exit::{Code, Failure};
use crate::expected::{Expected, ExpectedArgs};
use crate::keys::{self, Keys};
use crate::output::{self, Output, shell_word};
use crate::store;
use crate::table;
use filterblock::FilterBlockReader;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock verify table.fb
  filterblock verify table.fb --keys keys.txt
  filterblock verify *.fb --json
  filterblock verify db                        a store: tables and filters, against its cells
  filterblock verify db/*.sst                  its tables, each by itself";

/// Check blocks, tables and stores, and the answers of filters against keys
///
/// Checks checksums and structure; for a table also every cell, and that its filters miss none; for a store the same,
/// and how often its filters answer 'maybe' for absent keys. With --keys, for a block, also that no key of the list is
/// missing, and how often absent keys, derived from those of the list, are answered 'maybe' (8 bytes of memory for each
/// key). Continues after a bad file; the exit code is the worst of all.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES, after_help = keys::NOTATION)]
pub(crate) struct Args {
    /// Files with a block each, tables of a store, or directories of stores
    #[arg(value_name = "F", required = true)]
    files: Vec<PathBuf>,
    /// The keys that each of the blocks was built from; '-' is standard input, for one block
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Keys end with NUL, not with a newline
    #[arg(long, short = '0', requires = "keys")]
    null: bool,
    /// Print a JSON object for each file, one per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    expected: ExpectedArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.files.len() > 1 && args.keys.as_deref().is_some_and(keys::is_dash) {
        let message = "standard input can be read only once: name a file of keys, or a single block";
        return Err(Failure::usage("verify", message).into());
    }
    let expected = args.expected.read()?;
    let mut out = Output::new();
    let mut worst = Code::Ok;
    for path in &args.files {
        if path.is_dir() || table::is_table(path) {
            args.expected.without_context("verify", path)?;
        }
        let code = if path.is_dir() {
            store::verify::verify(path, &expected.key, args.keys.is_some(), args.json, &mut out)?
        } else if table::is_table(path) {
            table::verify(path, &expected.key, args.keys.is_some(), args.json, &mut out)?
        } else {
            verify_block(args, &expected, path, &mut out)?
        };
        worst = worst.max(code);
    }
    out.finish()?;
    Ok(worst.into())
}

/// Checks one block. An error is one of the list of keys, which every other block would meet as well.
fn verify_block(args: &Args, expected: &Expected, path: &Path, out: &mut Output) -> Result<Code, Failure> {
    let bytes = block::read(path, expected);
    let opened = bytes.as_ref().map_err(Clone::clone).and_then(|bytes| {
        let reader = block::open(path, bytes, expected)?;
        args.keys.as_ref().map_or(Ok(()), |_| require_keys(path, bytes, &reader, expected))?;
        Ok((block::figures(bytes, &reader), reader))
    });
    let (mut failures, mut checked) = (Vec::new(), None);
    match opened {
        Ok((figures, reader)) => {
            let consequence = "Not all keys were checked. Run `filterblock verify --help`.";
            let keys = args.keys.as_deref().map(|list| Keys::open(list, args.null, consequence)).transpose()?;
            let answers = keys.map(|keys| answers::ask(&reader, keys)).transpose()?;
            let kind_and_version = format!("{} v{}", reader.kind(), figures["version"]);
            failures.extend(answers.as_ref().and_then(|answers| missing(path, &kind_and_version, &reader, answers)));
            checked = Some(Checked { kind_and_version, figures, reader, answers });
        }
        Err(failure) => failures.push(failure),
    }
    let is_ok = failures.is_empty();
    let figures = args.json.then(|| checked.as_ref().map_or(json!({}), Checked::json));
    output::verdict(out, path, &failures, figures, |out| match checked.filter(|_| is_ok) {
        Some(checked) => checked.print(path, out),
        None => Ok(()),
    })
}

/// Refuses a list of keys for a block whose entries only an engine can make.
fn require_keys(path: &Path, block: &[u8], reader: &FilterBlockReader<'_>, expected: &Expected) -> Result<(), Failure> {
    let transform = reader.transform();
    if block::takes_keys(transform) {
        return Ok(());
    }
    let verify = expected.command(format_args!("verify {}", shell_word(path)));
    Err(Failure::damaged(format!(
        "{}: filter block at offset 0 ({} bytes, {} v{}): keys cannot be looked up in it: its entries (transform \
         {transform}) are made from keys by the engine's own code, which this tool does not have. Its checksums and its \
         structure are right, but a file of keys cannot tell whether entries are missing, nor how often absent keys \
         pass: no key was checked; only that engine can tell. Leave out --keys: run {verify}.",
        path.display(),
        reader.block_len(),
        reader.kind(),
        block::version(block),
    )))
}

/// The worst failure of a filter: it denies keys of its table.
fn missing(path: &Path, kind_and_version: &str, reader: &FilterBlockReader<'_>, answers: &Answers) -> Option<Failure> {
    let (key, hash) = answers.first_missing.as_ref()?;
    Some(Failure::damaged(format!(
        "{}: filter block at offset 0 ({} bytes, {kind_and_version}): {} of {} keys are answered 'no', the first \
         \"{}\" (hash {}). Do not use it for a table of these keys: lookups would not find them. If it is the filter of \
         other keys, name their list. {}",
        path.display(),
        reader.block_len(),
        answers.num_missing,
        answers.num_keys,
        output::printable(key),
        output::hex(hash.get()),
        block::BUILD_AGAIN
    )))
}

/// A block that could be opened.
struct Checked<'a> {
    /// As in `bloom v1`.
    kind_and_version: String,
    figures: Map<String, Value>,
    reader: FilterBlockReader<'a>,
    answers: Option<Answers>,
}

impl Checked<'_> {
    fn predicted_fpr(&self) -> f64 {
        self.figures["predicted_fpr"].as_f64().unwrap_or(1.0)
    }

    fn json(&self) -> Value {
        let names = ["kind", "version", "num_entries", "block_len_bytes", "predicted_fpr"];
        let figure = |name: &str| (name.to_owned(), self.figures[name].clone());
        let mut fields = Value::Object(names.into_iter().map(figure).collect());
        if let Some(answers) = &self.answers {
            fields["keys_asked"] = answers.num_keys.into();
            fields["keys_distinct"] = answers.num_distinct.into();
            fields["keys_missing"] = answers.num_missing.into();
            fields["absent_asked"] = answers.num_absent.into();
            fields["false_positives"] = answers.num_false_positives.into();
            fields["observed_fpr"] = answers.observed_fpr().into();
            fields["deviation_sigma"] = answers.deviation_sigma(self.predicted_fpr()).into();
        }
        fields
    }

    fn print(&self, path: &Path, out: &mut Output) -> io::Result<()> {
        let (num_entries, file) = (self.reader.num_entries(), path.display());
        let (what, len) = (&self.kind_and_version, self.reader.block_len());
        writeln!(out, "{file}: ok: {what}, {num_entries} entries, {len} bytes; checksums and structure are right")?;
        let Some(answers) = &self.answers else {
            return Ok(());
        };
        writeln!(out, "  keys    {} queried ({} distinct), none missing", answers.num_keys, answers.num_distinct)?;
        if answers.num_distinct < num_entries {
            writeln!(out, "  note    the block has {num_entries} entries: the list is not all of its keys")?;
        }
        let predicted = self.predicted_fpr();
        let observed = answers.observed_fpr().map_or_else(|| "-".to_owned(), output::rate);
        let deviation = answers.deviation_sigma(predicted).map(|sigma| format!(" ({sigma:+.1} standard deviations)"));
        writeln!(
            out,
            "  absent  {} queried, {} maybe: observed rate {observed}, predicted {}{}",
            answers.num_absent,
            answers.num_false_positives,
            output::rate(predicted),
            deviation.unwrap_or_default()
        )
    }
}
