//! `filterblock query --column`: which files of a set may have a value.

use super::{SetFile, value};
use crate::block_file;
use crate::exit::{self, Code, Failure};
use crate::keys::Keys;
use crate::open_args::HashKey;
use crate::output::{self, Output, field, object, printable, put_bytes, put_path};
use filterblock_set::{FileMask, Selection, Value, ValueClass};
use serde_json::Map;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Ranges with fewer bytes between them are read at once.
const MAX_GAP_BYTES: u64 = 64 << 10;
/// The values of a list that are looked up at once.
const AT_ONCE: usize = 1024;

/// A query of sets.
pub(crate) struct Request<'a> {
    pub(crate) sets: &'a [PathBuf],
    /// Whether several sets may be queried: each answer then names its set, and one that cannot be used is *maybe*.
    pub(crate) names_sets: bool,
    pub(crate) column: &'a OsStr,
    pub(crate) values: &'a [OsString],
    pub(crate) list: Option<Keys>,
    pub(crate) summary: bool,
    pub(crate) json: bool,
}

/// A set that is queried.
struct Queried<'a> {
    path: &'a Path,
    /// `None`: it cannot be used.
    set: Option<(SetFile<'a>, Selection)>,
    class: Option<ValueClass>,
    /// The names of the set's files; one without a name for all files of a set that cannot be used.
    files: Vec<Vec<u8>>,
    /// The number of values that each file may have.
    num_maybe: Vec<u64>,
    /// Whether a lookup has met damage.
    is_damaged: bool,
}

pub(crate) fn run(mut request: Request<'_>, key: &HashKey) -> anyhow::Result<ExitCode> {
    let (mut sets, mut code) = (Vec::new(), Code::Ok);
    for path in request.sets {
        match open(path, request.column, key) {
            Ok(set) => sets.push(set),
            Err(failure) if !request.names_sets => return Err(failure.into()),
            Err(failure) => {
                exit::message(&failure);
                code = code.max(failure.code());
                let (files, num_maybe) = (vec![Vec::new()], vec![0]);
                sets.push(Queried { path, set: None, class: None, files, num_maybe, is_damaged: false });
            }
        }
    }
    let (list, num_values) = (request.list.take(), request.values.len());
    let answered_by_code = list.is_none() && num_values == 1;
    let mut session = Session { request: &request, sets, out: Output::new(), num_queries: 0, code };
    let values: Vec<_> = request.values.iter().map(|value| value.as_encoded_bytes().to_vec()).collect();
    session.ask(&values)?;
    if let Some(list) = list {
        session.ask_all(list)?;
    }
    for set in &session.sets {
        for failure in set.failures(request.column, key)? {
            exit::message(&failure);
            session.code = session.code.max(failure.code());
        }
    }
    // A set without files knows nothing of any, and one that another writer has continued has files that it does not show.
    let denies = |set: &Queried<'_>| {
        let is_whole = set.set.as_ref().is_some_and(|set| set.0.index.foreign_append().is_none());
        is_whole && !set.num_maybe.is_empty() && set.num_maybe.iter().all(|&num_maybe| num_maybe == 0)
    };
    let code =
        if answered_by_code && session.sets.iter().all(denies) { session.code.max(Code::Absent) } else { session.code };
    session.finish().map_err(output::failure)?;
    Ok(code.into())
}

fn open<'a>(path: &'a Path, column: &OsStr, key: &HashKey) -> Result<Queried<'a>, Failure> {
    if !block_file::is_set(path) {
        std::fs::metadata(path).map_err(|error| block_file::unreadable(path, &error))?;
        let message = format!(
            "{} is not a filter set: leave out --column. If it was one, its end is damaged or missing: restore it from a copy",
            path.display()
        );
        return Err(Failure::usage("query", message));
    }
    let set = SetFile::open(path, key)?;
    let Some((_, class)) = set.index.columns().find(|(name, _)| *name == column.as_encoded_bytes()) else {
        let names: Vec<_> = set.index.columns().map(|(name, _)| format!("\"{}\"", printable(name))).collect();
        let message = format!(
            "{} has no column \"{}\", so every file is 'maybe'. Its columns: {}",
            path.display(),
            printable(column.as_encoded_bytes()),
            names.join(", ")
        );
        return Err(Failure::usage("query", message));
    };
    if class.is_none() {
        exit::message(format_args!(
            "{}: the values of the column are of a class that this filterblock does not know: every answer is 'maybe'. A \
             newer one reads it; `filterblock --version` shows this one's.",
            path.display()
        ));
    }
    let files: Vec<_> = set.index.files().map(|(name, _)| name.to_vec()).collect();
    if files.is_empty() {
        exit::message(format_args!("{}: a filter set of no files, so there is no answer", path.display()));
    }
    let selection = set.index.select(set.index.files());
    let num_maybe = vec![0; files.len()];
    Ok(Queried { path, set: Some((set, selection)), class, files, num_maybe, is_damaged: false })
}

impl Queried<'_> {
    /// For each value, an answer for each file.
    fn answer(&mut self, column: &OsStr, texts: &[Vec<u8>]) -> Result<Vec<FileMask>, Failure> {
        let answers = match &self.set {
            None => vec![FileMask::all(self.files.len()); texts.len()],
            Some((set, selection)) => {
                let mut is_damaged = self.is_damaged;
                let mut look_up = |values: Vec<Value<'_>>| {
                    let query = set.index.query(column.as_encoded_bytes(), values);
                    let mut lookup = set.index.lookup(&query, selection);
                    let loaded = lookup.load(MAX_GAP_BYTES, |range| set.read(range));
                    loaded.map_err(|error| block_file::unreadable(self.path, &error))?;
                    is_damaged |= !lookup.bad_units().is_empty();
                    Ok(lookup.each())
                };
                let values = texts.iter().map(|text| self.value(column, text)).collect::<Result<Vec<_>, _>>()?;
                let mut answers = look_up(values)?;
                // Bytes that may have been written as digits are denied only if they are denied as both.
                let digits = texts.iter().map(|text| value::bytes_of_digits(self.class, text)).enumerate();
                let digits: Vec<_> = digits.filter_map(|(number, bytes)| Some((number, bytes?))).collect();
                let values = digits.iter().map(|(_, bytes)| value::parse(self.class, bytes));
                let as_digits = look_up(values.filter_map(Result::ok).collect())?;
                for ((number, _), files) in digits.iter().zip(&as_digits) {
                    answers[*number].or(files);
                }
                self.is_damaged = is_damaged;
                answers
            }
        };
        answers.iter().flat_map(FileMask::iter).for_each(|file| self.num_maybe[file] += 1);
        Ok(answers)
    }

    fn value<'t>(&self, column: &OsStr, text: &'t [u8]) -> Result<Value<'t>, Failure> {
        value::parse(self.class, text).map_err(|expected| {
            let message = format!(
                "\"{}\" is not {expected}, as the values of column \"{}\" of {} are. It was not queried, nor were those after \
                 it",
                printable(text),
                printable(column.as_encoded_bytes()),
                self.path.display()
            );
            Failure::usage("query", message)
        })
    }

    /// If damage was met, failures of all units of the column that do not check.
    fn failures(&self, column: &OsStr, key: &HashKey) -> Result<Vec<Failure>, Failure> {
        let damaged = self.set.as_ref().filter(|_| self.is_damaged);
        damaged.map_or(Ok(Vec::new()), |(set, _)| set.unit_failures(Some(column.as_encoded_bytes()), key))
    }
}

struct Session<'a> {
    request: &'a Request<'a>,
    sets: Vec<Queried<'a>>,
    out: Output,
    num_queries: u64,
    /// The worst so far.
    code: Code,
}

impl Session<'_> {
    fn ask_all(&mut self, mut list: Keys) -> Result<(), Failure> {
        let mut values = Vec::new();
        while let Some(value) = list.next_key()? {
            values.push(value.to_vec());
            // A person or a program may wait for the answers before it writes the next value.
            let is_drained = list.is_drained();
            if is_drained || values.len() == AT_ONCE {
                self.ask(&std::mem::take(&mut values))?;
            }
            if is_drained {
                self.out.flush().map_err(output::failure)?;
            }
            if self.out.is_closed() {
                return Ok(());
            }
        }
        self.ask(&values)
    }

    fn ask(&mut self, values: &[Vec<u8>]) -> Result<(), Failure> {
        self.num_queries += values.len() as u64;
        let mut answers = Vec::new();
        for set in &mut self.sets {
            answers.push(set.answer(self.request.column, values)?);
        }
        if self.request.summary {
            return Ok(());
        }
        for (number, value) in values.iter().enumerate() {
            for (set, answers) in self.sets.iter().zip(&answers) {
                for (at, file) in set.files.iter().enumerate() {
                    let maybe = answers[number].contains(at);
                    print(self.request, &mut self.out, set.path, file, value, maybe).map_err(output::failure)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        let names_sets = self.request.names_sets;
        for set in self.sets.iter().filter(|_| self.request.summary) {
            for (file, &maybe) in set.files.iter().zip(&set.num_maybe) {
                let (queries, no) = (self.num_queries, self.num_queries - maybe);
                if self.request.json {
                    let mut counts = place(names_sets, set.path, file);
                    counts.extend(object([("queries", queries.into()), ("maybe", maybe.into()), ("no", no.into())]));
                    self.out.json(&counts)?;
                } else {
                    let set_shown = if names_sets { format!("{}: ", set.path.display()) } else { String::new() };
                    let file = field(file);
                    writeln!(self.out, "{set_shown}{file}: {queries} queries: {maybe} maybe, {no} no")?;
                }
            }
        }
        self.out.flush()
    }
}

/// The set and the file in JSON.
fn place(names_sets: bool, set: &Path, file: &[u8]) -> Map<String, serde_json::Value> {
    let mut place = Map::new();
    if names_sets {
        put_path(&mut place, "set", set);
    }
    put_bytes(&mut place, "file", file);
    place
}

fn print(
    request: &Request<'_>,
    out: &mut Output,
    set: &Path,
    file: &[u8],
    value: &[u8],
    maybe: bool,
) -> io::Result<()> {
    let answer = if maybe { "maybe" } else { "no" };
    if request.json {
        let mut record = place(request.names_sets, set, file);
        put_bytes(&mut record, "value", value);
        record.insert("answer".to_owned(), answer.into());
        return out.json(&record);
    }
    let set = if request.names_sets { [set.as_os_str().as_encoded_bytes(), b"\t"].concat() } else { Vec::new() };
    out.write_all(&[answer.as_bytes(), b"\t", &set, file, b"\t", value, b"\n"].concat())
}
