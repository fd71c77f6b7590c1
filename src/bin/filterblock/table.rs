//! Tables of the store: what `inspect` and `verify` say of them and of the filters in them.

use crate::block::{self, shell_word};
use crate::exit::{self, Code, Failure};
use crate::inspect;
use crate::output::{self, Output};
use filterblock::kv::{TableCheck, TableFile, TableFilter};
use filterblock::{DecodeError, DecodeErrorClass};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Whether the file begins or ends as a table does.
pub(crate) fn is_table(path: &Path) -> Result<bool, Failure> {
    match TableFile::is_table(path) {
        Ok(is_table) => Ok(is_table),
        // Reading it as a block will meet the same error and say so.
        Err(_) => Ok(false),
    }
}

/// A table's filters are asked by its store, with rows and columns.
pub(crate) fn refuse_query(path: &Path) -> Failure {
    let message = format!(
        "{} is a table of the store, not a filter block. To see its filters, run 'filterblock inspect {}'",
        path.display(),
        shell_word(path)
    );
    Failure::usage("query", message)
}

/// A filter that does not open; `next` is the sentence that names the next command.
fn filter_failure(path: &Path, filter: &TableFilter, error: &DecodeError, next: &str) -> Failure {
    let what = block::what_failed(path, filter.offset, &filter.bytes, error);
    let next = match error.class() {
        DecodeErrorClass::Newer => "A newer filterblock reads it; 'filterblock --version' shows this one's.",
        _ => next,
    };
    Failure::damaged(format!("{what}. Filter ignored: lookups stay correct but slower. {next}"))
}

fn open(path: &Path) -> Result<TableFile, Failure> {
    TableFile::open(path).map_err(|error| {
        let consequence = format!(
            "The store cannot read this table. Restore the file from a copy, then run 'filterblock verify {}'.",
            shell_word(path)
        );
        Failure::table(&error, &consequence)
    })
}

/// Shows a table and its filters.
pub(crate) fn inspect(path: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let table = open(path)?;
    let mut code = Code::Ok;
    let mut filters = Vec::new();
    for filter in table.filters() {
        let fields = match filter.open() {
            Ok(reader) => inspect::fields(&filter.bytes, &reader),
            Err(error) => {
                let next = format!("Run 'filterblock verify {}'.", shell_word(path));
                let failure = filter_failure(path, filter, &error, &next);
                exit::message(&failure);
                code = code.max(failure.code());
                Map::from_iter([("error".to_owned(), json!(error.to_string()))])
            }
        };
        filters.push(place(filter).into_iter().chain(fields).collect::<Map<_, _>>());
    }
    let mut out = Output::new();
    let written = if json {
        let mut fields = table_fields(path, &table);
        fields.insert("filters".to_owned(), filters.into());
        out.json(&fields.into())
    } else {
        print(&mut out, &table_fields(path, &table), &filters)
    };
    written.map_err(output::failure)?;
    out.finish()?;
    Ok(code.into())
}

fn table_fields(path: &Path, table: &TableFile) -> Map<String, Value> {
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

/// Where a filter lies, before anything that its own bytes say.
fn place(filter: &TableFilter) -> Map<String, Value> {
    let fields = [
        ("purpose", json!(filter.purpose.to_string())),
        ("offset", json!(filter.offset)),
        ("len_bytes", json!(filter.len)),
        ("context", json!(output::hex(filter.context))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn print(out: &mut Output, table: &Map<String, Value>, filters: &[Map<String, Value>]) -> io::Result<()> {
    inspect::print(out, table, "")?;
    for filter in filters {
        writeln!(out, "filter")?;
        inspect::print(out, filter, "  ")?;
    }
    Ok(())
}

/// Checks a table: structure, every cell, and that its filters miss none of them. Tells of failures on standard error
/// and returns the worst code.
pub(crate) fn verify(path: &Path, with_keys: bool, json: bool, out: &mut Output) -> Result<Code, Failure> {
    let mut failures = Vec::new();
    let checked = check(path, with_keys, &mut failures);
    out.flush().map_err(output::failure)?;
    let worst = failures.iter().map(Failure::code).max().unwrap_or(Code::Ok);
    failures.iter().for_each(exit::message);
    let written = match (json, &checked) {
        (true, _) => out.json(&report(path, checked.as_ref(), &failures, worst)),
        (false, Some((table, check))) if failures.is_empty() => print_verified(out, path, table, check),
        (false, _) => Ok(()),
    };
    written.map_err(output::failure)?;
    Ok(worst)
}

fn check(path: &Path, with_keys: bool, failures: &mut Vec<Failure>) -> Option<(TableFile, TableCheck)> {
    if with_keys {
        let message =
            format!("{} is a table, which is checked against its own cells: leave out --keys", path.display());
        failures.push(Failure::usage("verify", message));
        return None;
    }
    let table = open(path).map_err(|failure| failures.push(failure)).ok()?;
    let next = format!("The cells hold all that it did. Run 'filterblock inspect {}'.", shell_word(path));
    for filter in table.filters() {
        if let Err(error) = filter.open() {
            failures.push(filter_failure(path, filter, &error, &next));
        }
    }
    let consequence = "Lookups in it fail. Restore the file from a copy. Run 'filterblock inspect' to see its filters.";
    let check = table.check().map_err(|error| failures.push(Failure::table(&error, consequence))).ok()?;
    for (purpose, num_missing) in [
        ("row", check.missing_in_row_filter),
        ("row+column", check.missing_in_row_column_filter),
        ("prefix", check.missing_in_prefix_filter),
    ] {
        if num_missing > 0 {
            failures.push(Failure::damaged(format!(
                "{}: the {purpose} filter answers 'no' for {num_missing} of {} cells that the table holds. Lookups do not \
                 find them: stop using the table. Run 'filterblock inspect {}'.",
                path.display(),
                check.num_cells,
                shell_word(path)
            )));
        }
    }
    Some((table, check))
}

fn report(path: &Path, checked: Option<&(TableFile, TableCheck)>, failures: &[Failure], worst: Code) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("file", json!(path.to_string_lossy()));
    put("ok", json!(failures.is_empty()));
    if !failures.is_empty() {
        put("errors", failures.iter().map(Failure::to_string).collect());
        put("exit_code", json!(worst as u8));
    }
    if let Some((table, check)) = checked {
        put("table", json!(table.number()));
        put("num_cells", json!(check.num_cells));
        put("num_tombstones", json!(check.num_tombstones));
        put("num_filters", json!(table.filters().len()));
        put("missing_in_row_filter", json!(check.missing_in_row_filter));
        put("missing_in_row_column_filter", json!(check.missing_in_row_column_filter));
        put("missing_in_prefix_filter", json!(check.missing_in_prefix_filter));
    }
    fields.into()
}

fn print_verified(out: &mut Output, path: &Path, table: &TableFile, check: &TableCheck) -> io::Result<()> {
    writeln!(
        out,
        "{}: ok: table {}, {} cells in {} data blocks, {} filters; checksums and structure are right, no cell is missing \
         in a filter",
        path.display(),
        table.number(),
        check.num_cells,
        table.num_blocks(),
        table.filters().len()
    )
}
