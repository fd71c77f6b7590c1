//! `filterblock query`: maybe or no, for each key.

use crate::answers::entry_of_line;
use crate::block_file;
use crate::exit::{self, Code, Failure};
use crate::filter::{Filter, FilterArgs};
use crate::keys::Keys;
use crate::output::{self, Output};
use crate::table_file;
use filterblock::KeyTransform;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Query a block for keys
///
/// Prints 'maybe' or 'no', a tab and the key, one line per key. 'no' is certain; 'maybe' is wrong at the block's
/// false-positive rate. With exactly one KEY and no --keys the exit code is the answer, too.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("help/keys.txt"), include_str!("help/lines.txt"), include_str!("help/query.txt")))]
pub(crate) struct Args {
    /// The file with the block
    #[arg(value_name = "F")]
    file: PathBuf,
    /// Keys to query, taken byte by byte
    #[arg(value_name = "KEY", required_unless_present = "keys")]
    key: Vec<OsString>,
    /// Query the keys of this file as well; '-' is standard input
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Keys of the file end with NUL, not with a newline; answers still end with a newline
    #[arg(long, short = '0', requires = "keys")]
    null: bool,
    /// Explain each answer, in an indented line below it
    #[arg(long, conflicts_with = "summary")]
    explain: bool,
    /// Print only the number of keys and of each answer
    #[arg(long)]
    summary: bool,
    /// Print a JSON object per line: the key as 'key', or as 'key_hex' if it is not UTF-8
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.filter.require_for_queries()?;
    if !args.filter.compact_frame && table_file::is_table(&args.file) {
        return Err(table_file::refuse_query(&args.file, &args.filter.expected.read()?.key).into());
    }
    args.filter.with_filter(&args.file, |filter| answer(args, filter))
}

fn answer(args: &Args, filter: Filter<'_>) -> anyhow::Result<ExitCode> {
    let transform = filter.transform();
    if !block_file::takes_keys(transform) {
        exit::message(format_args!(
            "{}: its entries were derived by the transform {transform}, which is the engine's own code: every answer is \
             'maybe'",
            args.file.display()
        ));
    }
    let keys = match &args.keys {
        Some(path) => Some(Keys::open(path, args.null, "Not all keys were queried. Run `filterblock query --help`.")?),
        None => None,
    };
    let mut session = Session::new(args, filter);
    for key in &args.key {
        session.ask(key.as_encoded_bytes()).map_err(output::failure)?;
    }
    if let Some(keys) = keys {
        session.ask_all(keys)?;
    }
    let answered_by_code = args.keys.is_none() && args.key.len() == 1;
    let code = if answered_by_code && session.num_maybe == 0 { Code::Absent } else { Code::Ok };
    session.finish()?;
    Ok(code.into())
}

/// The queries of one filter.
struct Session<'a> {
    args: &'a Args,
    filter: Filter<'a>,
    /// The words for *no* and for *maybe*, if answers are to be explained.
    reasons: Option<[String; 2]>,
    out: Output,
    num_queries: u64,
    num_maybe: u64,
}

impl<'a> Session<'a> {
    fn new(args: &'a Args, filter: Filter<'a>) -> Self {
        let reasons = args.explain.then(|| reasons(&filter));
        Self { args, filter, reasons, out: Output::new(), num_queries: 0, num_maybe: 0 }
    }

    fn ask(&mut self, key: &[u8]) -> io::Result<()> {
        let entry = entry_of_line(self.filter.transform(), key);
        let hash = entry.map(|entry| self.filter.hasher().hash(&entry));
        let maybe = hash.is_none_or(|hash| self.filter.may_contain_hash(hash));
        self.num_queries += 1;
        self.num_maybe += u64::from(maybe);
        if self.args.summary {
            return Ok(());
        }
        let answer = if maybe { "maybe" } else { "no" };
        let why = self.reasons.as_ref().map(|reasons| match hash {
            Some(_) => reasons[usize::from(maybe)].clone(),
            None => without_entry(self.filter.transform()).to_owned(),
        });
        let hash = hash.map(|hash| output::hex(hash.get()));
        if self.args.json {
            return self.out.json(&record(key, answer, hash, why));
        }
        self.out.write_all(answer.as_bytes())?;
        self.out.write_all(b"\t")?;
        self.out.write_all(key)?;
        self.out.write_all(b"\n")?;
        match why {
            Some(why) => writeln!(self.out, "\thash {}: {why}", hash.as_deref().unwrap_or("none")),
            None => Ok(()),
        }
    }

    fn ask_all(&mut self, mut keys: Keys) -> Result<(), Failure> {
        while let Some(key) = keys.next_key()? {
            self.ask(key).map_err(output::failure)?;
            // A person or a program may wait for the answers before it writes the next key.
            if keys.is_drained() {
                self.out.flush().map_err(output::failure)?;
            }
            if self.out.is_closed() {
                break;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        let (queries, maybe) = (self.num_queries, self.num_maybe);
        let no = queries - maybe;
        let written = match (self.args.summary, self.args.json) {
            (false, _) => Ok(()),
            (true, true) => self.out.json(&json!({ "queries": queries, "maybe": maybe, "no": no })),
            (true, false) => writeln!(self.out, "{queries} queries: {maybe} maybe, {no} no"),
        };
        written.map_err(output::failure)?;
        self.out.finish()
    }
}

/// Why a line has no entry.
fn without_entry(transform: KeyTransform) -> &'static str {
    match transform {
        KeyTransform::RowColumn => "a row without a tab and a column has no entry",
        KeyTransform::Custom(_) => "only the engine's own code makes entries of keys",
        _ => "the key is shorter than the prefix that the entries are made of",
    }
}

fn record(key: &[u8], answer: &str, hash: Option<String>, why: Option<String>) -> Value {
    let mut record = Map::new();
    output::put_bytes(&mut record, "key", key);
    record.insert("answer".to_owned(), answer.into());
    if let Some(why) = why {
        record.extend([("hash".to_owned(), hash.into()), ("why".to_owned(), why.into())]);
    }
    record.into()
}

/// The reasons for *no* and for *maybe*. The predicted rate takes a pass over the whole payload.
fn reasons(filter: &Filter<'_>) -> [String; 2] {
    let kind = filter.kind_name();
    if filter.is_empty() {
        return [format!("{kind}: the filter has no entries"), String::new()];
    }
    let rate = output::rate(filter.false_positive_rate());
    [
        format!("{kind}: it is not among the entries"),
        format!("{kind}: it passes the filter; so do {rate} of absent keys"),
    ]
}
