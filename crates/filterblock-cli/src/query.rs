//! `filterblock query`: maybe or no, for each key.

use crate::answers::entry_of_line;
use crate::block_file;
use crate::exit::{self, Code, Failure};
use crate::filter::{Filter, FilterArgs, Opener};
use crate::keys::Keys;
use crate::output::{self, Output, object, shell_word};
use crate::progress::Working;
use crate::range_query::{self, RangeArgs};
use crate::set;
use crate::table_file;
use filterblock::Query;
use filterblock::range::RangeFilter;
use serde_json::Map;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Query blocks for keys
///
/// Prints 'maybe' or 'no', a tab and the key, one line per key; with --in a line for each block, with its file before
/// the key. 'no' is certain; 'maybe' is wrong at the block's false-positive rate. With exactly one KEY, range or prefix
/// and no list of them the exit code is the answer, too: 1 if every block answers 'no'. A file of --in that cannot be used
/// is reported once and answers 'maybe', and the exit code is that of the worst such file: 2, 3 or 4.
#[derive(clap::Args)]
#[command(override_usage = USAGE)]
#[command(after_help = concat!(include_str!("help/keys.txt"), include_str!("help/lines.txt"), include_str!("help/ranges.txt"), include_str!("help/query.txt")))]
pub(crate) struct Args {
    /// The file with the block, unless --in names files, and the keys to query, taken byte by byte
    #[arg(value_name = "F|KEY", required_unless_present = "files")]
    words: Vec<OsString>,
    /// Query each of these blocks
    #[arg(long = "in", value_name = "F", num_args = 1..)]
    files: Vec<PathBuf>,
    /// Query the keys of this file as well; '-' is standard input
    #[arg(long, value_name = "FILE", group = LIST)]
    keys: Option<PathBuf>,
    /// Lines of the file end with NUL, not with a newline; answers still end with a newline
    #[arg(long, short = '0', requires = LIST)]
    null: bool,
    /// Query a filter set for values of this column: a line for each of its files
    #[arg(long, value_name = "NAME", conflicts_with_all = RANGE_FLAGS)]
    column: Option<OsString>,
    /// Print only the number of keys and of each answer
    #[arg(long)]
    summary: bool,
    /// Print a JSON object per line: the key as 'key', or as 'key_hex' if it is not UTF-8; so also from, to, to_including
    /// and prefix
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    ranges: RangeArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

const USAGE: &str = "filterblock query [OPTIONS] <F> <KEY>...
       filterblock query [OPTIONS] <KEY>... --in <F>...
       filterblock query [OPTIONS] <F> --from <KEY> --to <KEY>
       filterblock query [OPTIONS] <F> --prefix <PREFIX>
       filterblock query [OPTIONS] <SET> <VALUE>... --column <NAME>";
/// Flags that a set does not answer.
const RANGE_FLAGS: [&str; 6] = ["from", "to", "to_including", "prefix", "list", "compact_frame"];
/// Files of keys or ranges, at most one of which is given.
pub(crate) const LIST: &str = "list-file";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (files, words) = match &args.words[..] {
        words if !args.files.is_empty() => (args.files.clone(), words),
        [file, words @ ..] => (vec![PathBuf::from(file)], words),
        [] => (Vec::new(), &[][..]),
    };
    let (list, given) = (args.keys.as_ref().or(args.ranges.list.as_ref()), args.ranges.given());
    if words.is_empty() && list.is_none() && given.is_none() {
        return Err(Failure::usage("query", "no keys: give some, or a file of keys with --keys").into());
    }
    if let Some(column) = &args.column {
        return query_sets(args, &files, words, column);
    }
    let opener = args.filter.read("query", true)?;
    let read = |file: &PathBuf| match !args.filter.compact_frame && table_file::is_table(file) {
        true => Err(table_file::refuse_query(file, &opener.expected.key)),
        false => opener.read(file),
    };
    let working = Working::new(format!("reading {}", output::count(files.len() as u64, "file")));
    let contents: Vec<_> = files.iter().map(read).collect();
    let (mut filters, mut worst) = (Vec::new(), Code::Ok);
    for (file, bytes) in files.iter().zip(&contents) {
        let opened = bytes.as_ref().map_err(Failure::clone);
        match opened.and_then(|bytes| Queried::open(file, bytes, &opener, &args.ranges)) {
            Ok(filter) => filters.push(filter),
            Err(failure) if args.files.is_empty() => return Err(failure.into()),
            Err(failure) => {
                exit::message(&failure);
                worst = worst.max(failure.code());
                filters.push(Queried { file, filter: Opened::Unusable, num_maybe: 0 });
            }
        }
    }
    drop(working);
    let keys = list.map(|path| open_keys(args, path)).transpose()?;
    let mut session = Session { args, filters, out: Output::new(), num_queries: 0 };
    if let Some(message) =
        given.and_then(|given| range_query::reversed(given, &opener.expected, &args.files_shown(&files)))
    {
        exit::message(message);
    }
    for key in words {
        session.ask(Query::Key(key.as_encoded_bytes())).map_err(output::failure)?;
    }
    if let Some(range) = given {
        session.ask(range).map_err(output::failure)?;
    }
    if let Some(keys) = keys {
        session.ask_all(keys)?;
    }
    let answered_by_code = list.is_none() && words.len() + usize::from(given.is_some()) == 1;
    let is_denied = session.filters.iter().all(|filter| filter.num_maybe == 0);
    let code = if answered_by_code && is_denied { Code::Absent } else { Code::Ok };
    session.finish().map_err(output::failure)?;
    Ok(code.max(worst).into())
}

/// Queries sets, whose files answer.
fn query_sets(args: &Args, files: &[PathBuf], words: &[OsString], column: &OsStr) -> anyhow::Result<ExitCode> {
    for file in files {
        args.filter.expected.without_context("query", file)?;
    }
    let request = set::query::Request {
        sets: files,
        names_sets: !args.files.is_empty(),
        column,
        values: words,
        list: args.keys.as_ref().map(|path| open_keys(args, path)).transpose()?,
        summary: args.summary,
        json: args.json,
    };
    set::query::run(request, &args.filter.expected.read()?.key)
}

/// Opens the list of keys or ranges.
fn open_keys(args: &Args, path: &Path) -> Result<Keys, Failure> {
    let mut keys = Keys::open(path, args.null, "Not all keys were queried. Run `filterblock query --help`.")?;
    // The answers show how far it is.
    if !args.summary && io::stdout().is_terminal() {
        keys.hide_progress();
    }
    Ok(keys)
}

impl Args {
    /// The files as a command line names them.
    fn files_shown(&self, files: &[PathBuf]) -> String {
        let names: Vec<_> = files.iter().map(|file| shell_word(file)).collect();
        format!("{}{}", if self.files.is_empty() { "" } else { "--in " }, names.join(" "))
    }
}

enum Opened<'a> {
    /// Every answer is *maybe*.
    Unusable,
    Keys(Filter<'a>),
    Ranges(RangeFilter<&'a [u8]>),
}

/// A filter that is queried.
struct Queried<'a> {
    file: &'a Path,
    filter: Opened<'a>,
    num_maybe: u64,
}

impl<'a> Queried<'a> {
    /// Opens a filter that can answer, if not all that is given in `ranges`, then some of it.
    fn open(file: &'a Path, bytes: &'a [u8], opener: &'a Opener, ranges: &RangeArgs) -> Result<Self, Failure> {
        if let Some(filter) = opener.open_range(file, bytes) {
            return Ok(Self { file, filter: Opened::Ranges(filter?), num_maybe: 0 });
        }
        let filter = opener.open(file, bytes)?;
        ranges.check(file, &filter)?;
        let transform = filter.transform();
        if !block_file::takes_keys(transform) {
            exit::message(format_args!(
                "{}: its entries were derived by the transform {transform}, which is the engine's own code: every answer \
                 is 'maybe'",
                file.display()
            ));
        }
        filter.failures(file).iter().for_each(exit::message);
        Ok(Self { file, filter: Opened::Keys(filter), num_maybe: 0 })
    }

    fn answer(&self, query: Query<'_>) -> bool {
        match (&self.filter, query) {
            (Opened::Keys(filter), Query::Key(key)) => {
                // A key without an entry may be present.
                let hash = entry_of_line(filter.transform(), key).map(|entry| filter.hasher().hash(&entry));
                hash.is_none_or(|hash| filter.may_contain(key, hash))
            }
            (Opened::Keys(filter), Query::Prefix(prefix)) => filter.may_contain_prefix(prefix),
            // Refused when it was opened.
            (Opened::Unusable | Opened::Keys(_), _) => true,
            (Opened::Ranges(filter), query) => filter.may_match(query),
        }
    }

    fn ask(&mut self, args: &Args, out: &mut Output, query: Query<'_>) -> io::Result<()> {
        let maybe = self.answer(query);
        self.num_maybe += u64::from(maybe);
        if args.summary {
            return Ok(());
        }
        let (answer, file) = (if maybe { "maybe" } else { "no" }, self.file_shown(args));
        if args.json {
            let mut record = Map::new();
            file.into_iter().for_each(|file| output::put_path(&mut record, "file", file));
            range_query::fields(query).for_each(|(name, bytes)| output::put_bytes(&mut record, name, bytes));
            record.insert("answer".to_owned(), answer.into());
            return out.json(&record);
        }
        let file = file.map_or_else(Vec::new, |file| [file.as_os_str().as_encoded_bytes(), b"\t"].concat());
        out.write_all(&[answer.as_bytes(), b"\t", &file, &range_query::line(query), b"\n"].concat())
    }

    /// The name of the file, if several may be queried.
    fn file_shown(&self, args: &Args) -> Option<&'a Path> {
        (!args.files.is_empty()).then_some(self.file)
    }
}

/// The queries of all filters.
struct Session<'a> {
    args: &'a Args,
    filters: Vec<Queried<'a>>,
    out: Output,
    num_queries: u64,
}

impl Session<'_> {
    fn ask(&mut self, query: Query<'_>) -> io::Result<()> {
        self.num_queries += 1;
        self.filters.iter_mut().try_for_each(|filter| filter.ask(self.args, &mut self.out, query))
    }

    fn ask_all(&mut self, mut keys: Keys) -> Result<(), Failure> {
        let (mut num_reversed, mut first_reversed) = (0, 0);
        let mut line = 0;
        while let Some(key) = keys.next_key()? {
            let query = if self.args.keys.is_some() { Query::Key(key) } else { range_query::of_line(key) };
            line += 1;
            if range_query::is_reversed(query) {
                num_reversed += 1;
                first_reversed = if num_reversed == 1 { line } else { first_reversed };
            }
            self.ask(query).map_err(output::failure)?;
            // A person or a program may wait for the answers before it writes the next key.
            if keys.is_drained() {
                self.out.flush().map_err(output::failure)?;
            }
            if self.out.is_closed() {
                break;
            }
        }
        if num_reversed > 0 {
            exit::message(range_query::of_reversed_lines(&keys, num_reversed, first_reversed));
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        for filter in self.filters.iter().filter(|_| self.args.summary) {
            let (queries, maybe) = (self.num_queries, filter.num_maybe);
            let (no, file) = (queries - maybe, filter.file_shown(self.args));
            if self.args.json {
                let mut counts = Map::new();
                file.into_iter().for_each(|file| output::put_path(&mut counts, "file", file));
                counts.extend(object([("queries", queries.into()), ("maybe", maybe.into()), ("no", no.into())]));
                self.out.json(&counts)?;
            } else {
                let file = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
                writeln!(self.out, "{file}{queries} queries: {maybe} maybe, {no} no")?;
            }
        }
        self.out.flush()
    }
}
