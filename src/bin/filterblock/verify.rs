//! `filterblock verify`: checksums, structure, and with keys the two promises of a filter: none of its keys is
//! missing, and absent keys pass no more often than predicted.

use crate::answers::{self, Answers};
use crate::block;
use crate::exit::{self, Code, Failure};
use crate::expected::ExpectedArgs;
use crate::keys::{self, Keys};
use crate::output::{self, Output};
use crate::store;
use crate::table;
use filterblock::{FilterBlockReader, OpenOptions};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock verify table.fb
  filterblock verify table.fb --keys keys.txt
  filterblock verify *.fb --json
  filterblock verify db                        a store: tables and filters, against the cells they hold
  filterblock verify db/*.sst                  its tables, each by itself";

/// Check blocks, tables and stores, and the answers of filters against keys
///
/// Checks checksums and structure; of a table every cell too, and that its filters miss none; of a store the same, and
/// how often its filters answer 'maybe' for absent keys. With --keys, of a block, also that no key of the list is
/// missing, and how often absent keys, derived from those of the list, are answered 'maybe' (8 bytes of memory for
/// each key). Goes on after a bad file; the exit code is the worst of all.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES, after_help = keys::NOTATION)]
pub(crate) struct Args {
    /// Files that hold a block each, tables of a store, or directories of stores
    #[arg(value_name = "F", required = true)]
    files: Vec<PathBuf>,
    /// The keys that every one of the blocks was built from; '-' is standard input, for one block
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Keys end in NUL, not in a newline
    #[arg(long, short = '0', requires = "keys")]
    null: bool,
    /// Print a JSON object a line, one for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    expected: ExpectedArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.files.len() > 1 && args.keys.as_deref().is_some_and(keys::is_stdin) {
        let message = "standard input can be read only once: name a file of keys, or a single block";
        return Err(Failure::usage("verify", message).into());
    }
    let options = args.expected.options()?;
    let mut out = Output::new();
    let mut worst = Code::Ok;
    for path in &args.files {
        if path.is_dir() {
            worst = worst.max(store::verify::verify(path, args.keys.is_some(), args.json, &mut out)?);
            continue;
        }
        if table::is_table(path).unwrap_or(false) {
            worst = worst.max(table::verify(path, args.keys.is_some(), args.json, &mut out)?);
            continue;
        }
        let report = match block::read(path) {
            Ok(bytes) => check(args, options, path, &bytes)?,
            Err(failure) => Report::failed(path, failure),
        };
        if let Some(failure) = &report.failure {
            // Both streams may be the same terminal: keep the files in order.
            out.flush().map_err(output::failure)?;
            worst = worst.max(failure.code());
            exit::message(failure);
        }
        let written = if args.json { out.json(&report.json()) } else { report.print(&mut out) };
        written.map_err(output::failure)?;
    }
    out.finish()?;
    Ok(worst.into())
}

/// Checks one block. An error is one of the list of keys, which no other block will fare better with.
fn check<'a>(args: &Args, options: OpenOptions, path: &'a Path, bytes: &[u8]) -> Result<Report<'a>, Failure> {
    let opened = block::open(path, bytes, options);
    let reader = match opened.and_then(|reader| match args.keys {
        Some(_) => block::require_keys(path, &reader).map(|()| reader),
        None => Ok(reader),
    }) {
        Ok(reader) => reader,
        Err(failure) => return Ok(Report::failed(path, failure)),
    };
    let answers = match &args.keys {
        Some(list) => {
            let keys = Keys::open(list, args.null, "Not all keys were checked. Run 'filterblock verify --help'.")?;
            Some(answers::ask(&reader, keys)?)
        }
        None => None,
    };
    let block = Block {
        kind: reader.kind().name(),
        version: block::version(bytes),
        num_entries: reader.num_entries(),
        len_bytes: reader.block_len(),
        predicted_fpr: reader.false_positive_rate(),
    };
    let failure = answers.as_ref().and_then(|answers| missing(path, &block, &reader, answers));
    Ok(Report { path, block: Some(block), answers, failure })
}

/// The worst that a filter can do: deny keys of its table.
fn missing(path: &Path, block: &Block, reader: &FilterBlockReader<'_>, answers: &Answers) -> Option<Failure> {
    let (key, hash) = answers.first_missing.as_ref()?;
    let Block { kind, version, len_bytes, .. } = block;
    Some(Failure::damaged(format!(
        "{}: filter block at offset 0 ({len_bytes} bytes, {kind} v{version}): {} of {} keys are answered 'no', the first \
         \"{}\" (hash {} under seed {}). Do not use it for a table of these keys: lookups would not find them. Run \
         'filterblock build --kind {kind} --output {} KEYS'.",
        path.display(),
        answers.num_missing,
        answers.num_keys,
        output::printable(key),
        output::hex(hash.get()),
        output::hex(reader.hasher().seed()),
        block::shell_word(path)
    )))
}

/// What was found out about one file.
struct Report<'a> {
    path: &'a Path,
    /// Of a block that could be opened.
    block: Option<Block>,
    answers: Option<Answers>,
    failure: Option<Failure>,
}

struct Block {
    kind: &'static str,
    version: u8,
    num_entries: u64,
    len_bytes: usize,
    predicted_fpr: f64,
}

impl<'a> Report<'a> {
    fn failed(path: &'a Path, failure: Failure) -> Self {
        Self { path, block: None, answers: None, failure: Some(failure) }
    }

    fn json(&self) -> Value {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("file", json!(self.path.to_string_lossy()));
        put("ok", json!(self.failure.is_none()));
        if let Some(failure) = &self.failure {
            put("errors", json!([failure.to_string()]));
            put("exit_code", json!(failure.code() as u8));
        }
        if let Some(block) = &self.block {
            put("kind", json!(block.kind));
            put("version", json!(block.version));
            put("num_entries", json!(block.num_entries));
            put("block_len_bytes", json!(block.len_bytes));
            put("predicted_fpr", json!(block.predicted_fpr));
            if let Some(answers) = &self.answers {
                put("keys_asked", json!(answers.num_keys));
                put("keys_distinct", json!(answers.num_distinct));
                put("keys_missing", json!(answers.num_missing));
                put("absent_asked", json!(answers.num_absent));
                put("false_positives", json!(answers.num_false_positives));
                put("observed_fpr", json!(answers.observed_fpr()));
                put("deviation_sigma", json!(answers.deviation_sigma(block.predicted_fpr)));
            }
        }
        fields.into()
    }

    /// Nothing for a file whose failure was told on standard error.
    fn print(&self, out: &mut Output) -> io::Result<()> {
        let (Some(block), None) = (&self.block, &self.failure) else {
            return Ok(());
        };
        let Block { kind, version, num_entries, len_bytes, predicted_fpr } = *block;
        let file = self.path.display();
        writeln!(
            out,
            "{file}: ok: {kind} v{version}, {num_entries} entries, {len_bytes} bytes; checksums and structure are right"
        )?;
        let Some(answers) = &self.answers else {
            return Ok(());
        };
        writeln!(out, "  keys    {} asked ({} distinct), none missing", answers.num_keys, answers.num_distinct)?;
        if answers.num_distinct < num_entries {
            writeln!(out, "  note    the block has {num_entries} entries: the list is not all of its keys")?;
        }
        let observed = answers.observed_fpr().map_or_else(|| "-".to_owned(), output::rate);
        let deviation =
            answers.deviation_sigma(predicted_fpr).map(|sigma| format!(" ({sigma:+.1} standard deviations)"));
        writeln!(
            out,
            "  absent  {} asked, {} maybe: observed rate {observed}, predicted {}{}",
            answers.num_absent,
            answers.num_false_positives,
            output::rate(predicted_fpr),
            deviation.unwrap_or_default()
        )
    }
}
