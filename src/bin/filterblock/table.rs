//! Tables of the store, and the filters in them, for `inspect` and `verify`.

use crate::block::{self, shell_word};
use crate::exit::{self, Code, Failure};
use crate::output::{self, Output};
use filterblock::kv::{TableCheck, TableFile, TableFilter};
use filterblock::{DecodeError, DecodeErrorClass, KeyHasher};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Whether the file begins or ends as a table does.
pub(crate) fn is_table(path: &Path) -> bool {
    // After an error, reading it as a block will report the same error.
    TableFile::is_table(path).unwrap_or(false)
}

/// A table's filters are probed by its store, with rows and columns.
pub(crate) fn refuse_query(path: &Path) -> Failure {
    let message = format!(
        "{} is a table of the store, not a filter block. To see its filters, run `filterblock inspect {}`",
        path.display(),
        shell_word(path)
    );
    Failure::usage("query", message)
}

/// A filter that does not open; `next` is the sentence that names the next command.
fn filter_failure(path: &Path, filter: &TableFilter, error: &DecodeError, next: &str) -> Failure {
    let what = block::what_failed(path, filter.offset, &filter.bytes, error);
    let next = match (error, error.class()) {
        (DecodeError::KeyNeeded { .. }, _) => "Run the command again with `--hash-key-file KEY`, the file of that key.",
        (_, DecodeErrorClass::Newer) => "A newer filterblock reads it; `filterblock --version` shows this one's.",
        _ => next,
    };
    Failure::damaged(format!("{what}. Filter ignored: lookups stay correct but slower. {next}"))
}

fn open(path: &Path, key: Option<KeyHasher>) -> Result<TableFile, Failure> {
    let table = TableFile::open(path).map_err(|error| {
        let consequence = format!(
            "The store cannot read this table. Restore the file from a copy, then run `filterblock verify {}`.",
            shell_word(path)
        );
        Failure::table(&error, &consequence)
    })?;
    let Some(key) = key else {
        return Ok(table);
    };
    let has_seed = table.seed() != key.seed() && table.filters().iter().any(|filter| filter.open().is_ok());
    if has_seed {
        let path = path.display();
        let message = format!("{path}: its filters are not hashed under a secret key. Leave out --hash-key-file.");
        return Err(Failure::damaged(message));
    }
    Ok(table.hashed_by(key))
}

/// Shows a table and its filters.
pub(crate) fn inspect(path: &Path, key: Option<KeyHasher>, json: bool) -> anyhow::Result<ExitCode> {
    let table = open(path, key)?;
    let mut code = Code::Ok;
    let mut filters = Vec::new();
    for filter in table.filters() {
        let fields = match filter.open() {
            Ok(reader) => block::figures(&filter.bytes, &reader),
            Err(error) => {
                let next = format!("Run `filterblock verify {}`.", shell_word(path));
                let failure = filter_failure(path, filter, &error, &next);
                exit::message(&failure);
                code = code.max(failure.code());
                Map::from_iter([("error".to_owned(), json!(error.to_string()))])
            }
        };
        filters.push(place(filter).into_iter().chain(fields).collect::<Map<_, _>>());
    }
    let mut figures = table_figures(path, &table);
    output::print(|out| {
        if json {
            figures.insert("filters".to_owned(), filters.into());
            return out.json(&figures.into());
        }
        block::print_figures(out, &figures, "")?;
        filters.iter().try_for_each(|filter| {
            writeln!(out, "filter")?;
            block::print_figures(out, filter, "  ")
        })
    })?;
    Ok(code.into())
}

fn table_figures(path: &Path, table: &TableFile) -> Map<String, Value> {
    let fields = [
        ("file", json!(path.to_string_lossy())),
        ("table", json!(table.number())),
        ("num_cells", json!(table.num_cells())),
        ("num_tombstones", json!(table.num_tombstones())),
        ("num_data_blocks", json!(table.num_blocks())),
        ("data_len_bytes", json!(table.data_len())),
        ("num_unknown_filters", json!(table.num_unknown_filters())),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The figures of a filter that its table knows.
fn place(filter: &TableFilter) -> Map<String, Value> {
    let fields = [
        ("purpose", json!(filter.purpose.to_string())),
        ("offset", json!(filter.offset)),
        ("len_bytes", json!(filter.len)),
        ("context", json!(output::hex(filter.context))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Checks a table: structure, every cell, and that its filters miss none of them. Reports failures on standard error
/// and returns the worst code.
pub(crate) fn verify(
    path: &Path,
    key: Option<KeyHasher>,
    with_keys: bool,
    json: bool,
    out: &mut Output,
) -> Result<Code, Failure> {
    let mut failures = Vec::new();
    let checked = check(path, key, with_keys, &mut failures);
    let is_ok = failures.is_empty();
    let figures = json.then(|| checked.as_ref().map_or(json!({}), |(table, check)| check_figures(table, check)));
    output::verdict(out, path, &failures, figures, |out| match checked.filter(|_| is_ok) {
        Some((table, check)) => print_verified(out, path, &table, &check),
        None => Ok(()),
    })
}

fn check(
    path: &Path,
    key: Option<KeyHasher>,
    with_keys: bool,
    failures: &mut Vec<Failure>,
) -> Option<(TableFile, TableCheck)> {
    if with_keys {
        let message =
            format!("{} is a table, which is checked against its own cells: leave out --keys", path.display());
        failures.push(Failure::usage("verify", message));
        return None;
    }
    let table = open(path, key).map_err(|failure| failures.push(failure)).ok()?;
    let next = format!(
        "No data is lost: a filter holds nothing that the cells do not. Run `filterblock inspect {}`.",
        shell_word(path)
    );
    for filter in table.filters() {
        if let Err(error) = filter.open() {
            failures.push(filter_failure(path, filter, &error, &next));
        }
    }
    let consequence = "Lookups in it fail. Restore the file from a copy. Run `filterblock inspect` to see its filters.";
    let check = table.check().map_err(|error| failures.push(Failure::table(&error, consequence))).ok()?;
    for (purpose, num_missing) in [
        ("row", check.missing_in_row_filter),
        ("row+column", check.missing_in_row_column_filter),
        ("prefix", check.missing_in_prefix_filter),
    ] {
        if num_missing > 0 {
            failures.push(Failure::damaged(format!(
                "{}: the {purpose} filter answers 'no' for {num_missing} of {} cells that the table holds. Lookups do \
                 not find them: stop using the table. Run `filterblock inspect {}`.",
                path.display(),
                check.num_cells,
                shell_word(path)
            )));
        }
    }
    Some((table, check))
}

fn check_figures(table: &TableFile, check: &TableCheck) -> Value {
    json!({
        "table": table.number(),
        "num_cells": check.num_cells,
        "num_tombstones": check.num_tombstones,
        "num_filters": table.filters().len(),
        "missing_in_row_filter": check.missing_in_row_filter,
        "missing_in_row_column_filter": check.missing_in_row_column_filter,
        "missing_in_prefix_filter": check.missing_in_prefix_filter,
    })
}

fn print_verified(out: &mut Output, path: &Path, table: &TableFile, check: &TableCheck) -> io::Result<()> {
    writeln!(
        out,
        "{}: ok: table {}, {} cells in {} data blocks, {} filters; checksums and structure are right, no cell is \
         missing in a filter",
        path.display(),
        table.number(),
        check.num_cells,
        table.num_blocks(),
        table.filters().len()
    )
}
