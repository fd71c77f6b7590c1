//! `filterblock get`: a cell, or the cells of a row.

use super::explain::Explanation;
use super::memory::FilterMemoryArgs;
use super::{cells, failure, open_for_reading};
use crate::exit::{self, Code};
use crate::expected::HashKeyArgs;
use crate::output::{self, Output};
use filterblock::kv::{Error, Store};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock get db some-row                  exit code 0: it exists; 1: it does not
  filterblock get db some-row some-column > value
  filterblock get db some-row some-column --explain";

/// Print the value of a cell, or the columns of a row
///
/// With a column the value is printed byte for byte; without one, a line for each column: column, a tab, value. If
/// there is no such cell or row, nothing is printed and the exit code is 1.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES, after_help = cells::NOTATION)]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The row
    #[arg(value_name = "ROW")]
    row: OsString,
    /// The column
    #[arg(value_name = "COLUMN")]
    column: Option<OsString>,
    /// Report on standard error which tables were probed, and how their filters answered
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    memory: FilterMemoryArgs,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

enum Found {
    Cell(Option<Vec<u8>>),
    Row(BTreeMap<Vec<u8>, Vec<u8>>),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let row = cells::argument("get", &args.row)?;
    let column = args.column.as_deref().map(|column| cells::argument("get", column)).transpose()?;
    let key = args.key.read()?;
    let store = open_for_reading(&args.dir, &key, &args.memory)?;
    let found = look_up(&store, &row, column.as_deref());
    let explanation = args.explain.then(|| Explanation::of(&store));
    // After a failed lookup the explanation names the table.
    if let Some(explanation) = explanation.as_ref().filter(|_| !args.json || found.is_err()) {
        exit::message(explanation.text());
    }
    let found = found.map_err(|error| failure(&args.dir, &key, &error, "The answer is unknown."))?;
    output::print(|out| match args.json {
        true => out.json(&json(&row, column.as_deref(), &found, explanation.as_ref())),
        false => print(out, &found),
    })?;
    let exists = match &found {
        Found::Cell(value) => value.is_some(),
        Found::Row(columns) => !columns.is_empty(),
    };
    Ok(if exists { Code::Ok } else { Code::Absent }.into())
}

fn look_up(store: &Store, row: &[u8], column: Option<&[u8]>) -> Result<Found, Error> {
    match column {
        Some(column) => store.get(row, column).map(Found::Cell),
        None => store.get_row(row).map(Found::Row),
    }
}

fn print(out: &mut Output, found: &Found) -> io::Result<()> {
    match found {
        Found::Cell(None) => Ok(()),
        Found::Cell(Some(value)) => {
            out.write_all(value)?;
            // So that the prompt begins a line.
            if io::stdout().is_terminal() { writeln!(out) } else { Ok(()) }
        }
        Found::Row(columns) => columns
            .iter()
            .try_for_each(|(column, value)| writeln!(out, "{}\t{}", output::field(column), output::field(value))),
    }
}

fn json(row: &[u8], column: Option<&[u8]>, found: &Found, explanation: Option<&Explanation>) -> Value {
    let mut object = Map::new();
    output::put_bytes(&mut object, "row", row);
    if let Some(column) = column {
        output::put_bytes(&mut object, "column", column);
    }
    match found {
        Found::Cell(value) => {
            object.insert("found".to_owned(), value.is_some().into());
            value.iter().for_each(|value| output::put_bytes(&mut object, "value", value));
        }
        Found::Row(columns) => {
            object.insert("found".to_owned(), (!columns.is_empty()).into());
            let cell = |(column, value)| output::bytes_object([("column", column), ("value", value)]);
            object.insert("columns".to_owned(), columns.iter().map(cell).collect());
        }
    }
    if let Some(explanation) = explanation {
        object.insert("explain".to_owned(), explanation.json());
    }
    object.into()
}
