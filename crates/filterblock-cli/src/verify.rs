//! `filterblock verify`: checksums, structure, and with keys the two promises of a filter: none of its keys is
//! missing, and absent keys pass no more often than predicted.

use crate::answers;
use crate::block_file;
use crate::exit::{Code, Failure};
use crate::filter::{FilterArgs, Opener};
use crate::keys::{self, Keys};
use crate::output::{self, Output, object, shell_word};
use crate::policy_args::RANGE;
use crate::progress::Working;
use crate::range_filter;
use crate::set;
use crate::store;
use crate::table_file;
use crate::verdict::Verdict;
use filterblock::KeyTransform;
use filterblock::range::RangeFilter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check blocks, tables and stores, and the answers of filters against keys
///
/// Checks checksums and structure (of a compact frame the structure only); for a table also every cell, and that its filters miss none; for a store the same,
/// and how often its filters answer 'maybe' for absent keys. With --keys, for a block, also that no key of the list is
/// missing, and how often absent keys, derived from those of the list, are answered 'maybe' (8 bytes of memory for each
/// key); for a range filter only that no key is missing. Of a filter set, the index and every unit are checked. Continues after a bad file; the exit code is the worst of all.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("help/keys.txt"), include_str!("help/verify.txt")))]
pub(crate) struct Args {
    /// Files with a block each, tables of a store, filter sets, or directories of stores
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
    filter: FilterArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.files.len() > 1 && args.keys.as_deref().is_some_and(keys::is_dash) {
        let message = "standard input can be read only once: name a file of keys, or a single block";
        return Err(Failure::usage("verify", message).into());
    }
    let opener = args.filter.read("verify", args.keys.is_some())?;
    let mut out = Output::new();
    let mut worst = Code::Ok;
    for (path, number) in args.files.iter().zip(1..) {
        let is_store = path.is_dir();
        let is_table = !args.filter.compact_frame && table_file::is_table(path);
        let is_set = !args.filter.compact_frame && block_file::is_set(path);
        if is_store || is_table || is_set {
            args.filter.expected.without_context("verify", path)?;
        }
        // The list of keys has a progress of its own.
        let verifying = || format!("verifying {}, {number} of {}", path.display(), args.files.len());
        let working = args.keys.is_none().then(|| Working::new(verifying()));
        let verdict = if !is_store && !is_table && !is_set {
            verify_filter(args, &opener, path)?
        } else if args.keys.is_some() {
            let path = path.display();
            let message = match is_set {
                true => format!("{path} is a filter set, which has the keys of many files: leave out --keys"),
                false => {
                    let what = if is_store { "store" } else { "table" };
                    format!("{path} is a {what}, which is checked against its own cells: leave out --keys")
                }
            };
            Failure::usage("verify", message).into()
        } else {
            let verify = match () {
                () if is_set => set::verify,
                () if is_store => store::verify::verify,
                () => table_file::verify,
            };
            verify(path, &opener.expected.key).unwrap_or_else(Verdict::from)
        };
        drop(working);
        worst = worst.max(verdict.print(path, args.json, &mut out).map_err(output::failure)?);
    }
    out.finish()?;
    Ok(worst.into())
}

/// Checks one filter. An error is one of the list of keys, which every other filter would meet as well.
fn verify_filter(args: &Args, opener: &Opener, path: &Path) -> Result<Verdict, Failure> {
    let bytes = match opener.read(path) {
        Ok(bytes) => bytes,
        Err(failure) => return Ok(failure.into()),
    };
    if let Some(filter) = opener.open_range(path, &bytes) {
        return filter.map_or_else(|failure| Ok(failure.into()), |filter| verify_range(args, opener, path, &filter));
    }
    let filter = match opener.open(path, &bytes) {
        Ok(filter) => filter,
        Err(failure) => return Ok(failure.into()),
    };
    let (place, len, kind) = (path.display(), bytes.len(), filter.kind_name());
    let (what, checked, kind) = match filter.num_entries() {
        Some(entries) => {
            let kind = format!("{kind} v{}", block_file::version(&bytes));
            let what = if filter.is_partitioned() { "partitioned filter" } else { "filter block" };
            (what, format!("{kind}, {entries} entries, {len} bytes; checksums and structure are right"), kind)
        }
        None => {
            let checked = format!("compact frame, {kind}, {len} bytes; its structure is right, it has no checksums");
            ("compact frame", checked, kind.to_owned())
        }
    };
    let described = format!("{place}: {what} at offset 0 ({len} bytes, {kind})");
    if args.keys.is_some() && !block_file::takes_keys(filter.transform()) {
        let verify = opener.expected.command(format_args!("verify {}", shell_word(path)));
        return Ok(without_keys(&described, filter.transform(), &verify).into());
    }
    let mut verdict = Verdict {
        figures: filter.figures(),
        text: format!("{place}: ok: {checked}\n"),
        failures: filter.failures(path),
    };
    if let Some(list) = &args.keys {
        let keys = open_keys(args, list)?;
        let (answers, predicted_fpr) = (answers::ask(&filter, keys)?, filter.false_positive_rate());
        verdict.text.push_str(&answers.text(filter.num_entries(), predicted_fpr));
        verdict.figures.extend(answers.figures(predicted_fpr));
        if let Some((key, hash)) = &answers.first_missing {
            let first = format!("\"{}\" (hash {})", output::printable(key), output::hex(hash.get()));
            verdict.failures.push(missing(&described, answers.num_missing, answers.num_keys, &first));
        }
    }
    if !verdict.failures.is_empty() {
        verdict.text.clear();
    }
    Ok(verdict)
}

/// Checks a range filter, whose absent keys have no predicted rate.
fn verify_range(args: &Args, opener: &Opener, path: &Path, filter: &RangeFilter<&[u8]>) -> Result<Verdict, Failure> {
    let (place, len, num_entries) = (path.display(), filter.as_bytes().len(), filter.num_entries());
    let kind = format!("{RANGE} v{}", block_file::version(filter.as_bytes()));
    let mut verdict = Verdict {
        figures: range_filter::figures(filter, opener.expected.options().context()),
        text: format!("{place}: ok: {kind}, {num_entries} entries, {len} bytes; checksums and header are right\n"),
        failures: Vec::new(),
    };
    let Some(list) = &args.keys else { return Ok(verdict) };
    let (mut keys, mut num_missing, mut first_missing) = (open_keys(args, list)?, 0u64, None);
    while let Some(key) = keys.next_key()? {
        if !filter.may_contain(key) || !filter.may_contain_prefix(key) {
            num_missing += 1;
            first_missing.get_or_insert_with(|| key.to_vec());
        }
    }
    let num_keys = keys.num_keys();
    verdict.figures.extend(object([("keys_asked", num_keys.into()), ("keys_missing", num_missing.into())]));
    if let Some(key) = first_missing {
        let described = format!("{place}: filter block at offset 0 ({len} bytes, {kind})");
        let first = format!("\"{}\"", output::printable(&key));
        verdict.failures.push(missing(&described, num_missing, num_keys, &first));
        verdict.text.clear();
        return Ok(verdict);
    }
    verdict.text.push_str(&format!("  keys    {num_keys} queried, none missing\n"));
    if num_keys < num_entries {
        verdict.text.push_str(&answers::note_of_incomplete_list(num_entries));
    }
    Ok(verdict)
}

fn open_keys(args: &Args, list: &Path) -> Result<Keys, Failure> {
    Keys::open(list, args.null, "Not all keys were checked. Run `filterblock verify --help`.")
}

/// Refuses a list of keys for a block whose entries only an engine can make.
fn without_keys(block: &str, transform: KeyTransform, verify: &str) -> Failure {
    Failure::damaged(format!(
        "{block}: no key was checked: its entries (transform {transform}) are made by the engine's own code, which this \
         tool does not have. Its checksums and its structure are right. Leave out --keys: run {verify}."
    ))
}

/// The worst failure of a filter: it denies keys of its table.
fn missing(block: &str, num_missing: u64, num_keys: u64, first: &str) -> Failure {
    Failure::damaged(format!(
        "{block}: {num_missing} of {num_keys} keys are answered 'no', the first {first}. Do not use it for a table of \
         these keys: lookups would not find them. If it is the filter of other keys, name their list. {}",
        block_file::BUILD_AGAIN
    ))
}
