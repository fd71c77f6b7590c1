//! `filterblock get`: a cell, or the cells of a row.

use super::explain::Explanation;
use super::{cells, failure, open_for_reading};
use crate::exit::{self, Code};
use crate::open_args::HashKeyArgs;
use crate::output::{self, Output};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the value of a cell, or the columns of a row
///
/// With a column the value is printed byte for byte; without one, a line for each column: column, a tab, value. If
/// there is no such cell or row, nothing is printed and the exit code is 1.
#[derive(clap::Args)]
#[command(after_help = concat!(include_str!("../help/cells.txt"), include_str!("../help/get.txt")))]
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
    key: HashKeyArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

enum Found {
    Cell(Option<Vec<u8>>),
    /// Columns and values.
    Row(BTreeMap<Vec<u8>, Vec<u8>>),
}

impl Found {
    fn exists(&self) -> bool {
        match self {
            Self::Cell(value) => value.is_some(),
            Self::Row(columns) => !columns.is_empty(),
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let row = cells::argument("get", &args.row)?;
    let column = args.column.as_deref().map(|column| cells::argument("get", column)).transpose()?;
    let key = args.key.read()?;
    let store = open_for_reading(&args.dir, &key)?;
    let found = match &column {
        Some(column) => store.get(&row, column).map(Found::Cell),
        None => store.get_row(&row).map(Found::Row),
    };
    let explanation = args.explain.then(|| Explanation::of(&store));
    // The explanation of a failed lookup names the table.
    if let Some(explanation) = explanation.as_ref().filter(|_| !args.json || found.is_err()) {
        exit::message(explanation.text());
    }
    let found = found.map_err(|error| failure(&args.dir, &key, &error, "The answer is unknown."))?;
    output::print(|out| match args.json {
        true => out.json(&json(&row, column.as_deref(), &found, explanation.as_ref())),
        false => print(out, &found),
    })?;
    Ok(if found.exists() { Code::Ok } else { Code::Absent }.into())
}

fn print(out: &mut Output, found: &Found) -> io::Result<()> {
    match found {
        Found::Cell(None) => Ok(()),
        Found::Cell(Some(value)) => {
            out.write_all(value)?;
            // The prompt should begin a line.
            if io::stdout().is_terminal() { writeln!(out) } else { Ok(()) }
        }
        Found::Row(columns) => {
            columns.iter().try_for_each(|(column, value)| writeln!(out, "{}", cells::column_line(column, Some(value))))
        }
    }
}

fn json(row: &[u8], column: Option<&[u8]>, found: &Found, explanation: Option<&Explanation>) -> Value {
    let mut object = Map::new();
    output::put_bytes(&mut object, "row", row);
    if let Some(column) = column {
        output::put_bytes(&mut object, "column", column);
    }
    object.insert("found".to_owned(), found.exists().into());
    match found {
        Found::Cell(value) => value.iter().for_each(|value| output::put_bytes(&mut object, "value", value)),
        Found::Row(columns) => {
            let cell = |(column, value): (&Vec<u8>, &Vec<u8>)| cells::column_json(column, Some(value));
            object.insert("columns".to_owned(), columns.iter().map(cell).collect());
        }
    }
    if let Some(explanation) = explanation {
        object.insert("explain".to_owned(), explanation.json());
    }
    object.into()
}
