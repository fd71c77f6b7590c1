//! Tables of the store, and the filters in them, for `inspect` and `verify`.

use crate::block;
use crate::exit::{self, Code, Failure};
use crate::expected::HashKey;
use crate::output::{self, Output, shell_word};
use filterblock::kv::{TableCheck, TableFile, TableFilter, TablePartitions};
use filterblock::partition::PartitionHandle;
use filterblock::{DecodeError, DecodeErrorClass, FilterKind};
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
pub(crate) fn refuse_query(path: &Path, key: &HashKey) -> Failure {
    let message = format!(
        "{} is a table of the store, not a filter block. To see its filters, run {}",
        path.display(),
        inspect_command(path, key)
    );
    Failure::usage("query", message)
}

/// A command that shows the filters of a table.
fn inspect_command(path: &Path, key: &HashKey) -> String {
    key.command(format_args!("inspect {}", shell_word(path)))
}

/// A filter that does not open; `next` is the sentence that names the next command.
fn filter_failure(path: &Path, filter: &TableFilter, error: &DecodeError, next: &str) -> Failure {
    let what = match filter.is_partitioned() {
        true => {
            let offset = filter.offset + filter.len.saturating_sub(filter.index_len.into());
            format!("{}: index of partitions at offset {offset} ({} bytes): {error}", path.display(), filter.index_len)
        }
        false => block::what_failed(path, filter.offset, &filter.bytes, error),
    };
    let next = match (error, error.class()) {
        (DecodeError::KeyNeeded { .. }, _) => "Run the command again with `--hash-key-file KEY`, the file of that key.",
        (_, DecodeErrorClass::Newer) => "A newer filterblock reads it; `filterblock --version` shows this one's.",
        _ => next,
    };
    Failure::damaged(format!("{what}. Filter ignored: lookups stay correct but slower. {next}"))
}

/// A partition that does not open costs the keys in it; `next` is as for [`filter_failure`].
fn partition_failure(
    path: &Path,
    filter: &TableFilter,
    partition: PartitionHandle,
    error: &DecodeError,
    next: &str,
) -> Failure {
    let block = &filter.bytes[partition.offset as usize..][..partition.len as usize];
    let what = block::what_failed(path, filter.offset + partition.offset, block, error);
    Failure::damaged(format!(
        "{what}. Partition {} of the {} filter ignored: lookups of its keys stay correct but slower. {next}",
        partition.number, filter.purpose
    ))
}

/// The figures of a filter, and a failure for each part that does not open; `next` as for [`filter_failure`].
fn open_filter(path: &Path, filter: &TableFilter, next: &str) -> (Map<String, Value>, Vec<Failure>) {
    let opened = match filter.is_partitioned() {
        true => filter.open_partitions().map(|partitions| {
            let failure = |(handle, opened): (_, &Result<_, _>)| {
                opened.as_ref().err().map(|error| partition_failure(path, filter, handle, error, next))
            };
            let failures: Vec<_> = partitions.partitions().filter_map(failure).collect();
            (partitions_figures(filter, &partitions, failures.len()), failures)
        }),
        false => filter.open().map(|reader| (block::figures(&filter.bytes, &reader), Vec::new())),
    };
    opened.unwrap_or_else(|error| {
        let failure = filter_failure(path, filter, &error, next);
        (Map::from_iter([("error".to_owned(), json!(error.to_string()))]), vec![failure])
    })
}

/// The figures of a partitioned filter, those of a block as far as they hold for all partitions together.
fn partitions_figures(
    filter: &TableFilter,
    partitions: &TablePartitions<'_>,
    num_unusable: usize,
) -> Map<String, Value> {
    let index = partitions.index();
    let (num_entries, bytes) = (index.num_entries(), partitions.len_bytes());
    let bits_per_key = (num_entries > 0).then(|| bytes as f64 * 8.0 / num_entries as f64);
    let fields = [
        ("kind", json!(partitions.kind().map(FilterKind::name))),
        ("num_partitions", json!(index.partitions().len())),
        ("num_unusable_partitions", json!(num_unusable)),
        ("index_len_bytes", json!(filter.index_len)),
        ("num_entries", json!(num_entries)),
        ("bits_per_key", json!(bits_per_key)),
        ("predicted_fpr", json!(partitions.false_positive_rate())),
        ("block_len_bytes", json!(bytes)),
    ];
    let hash = block::hash_figures(index.hasher());
    let rest = [("transform", json!(index.transform().to_string())), ("fill", json!(partitions.fill()))];
    fields.into_iter().chain(hash).chain(rest).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn open(path: &Path, key: &HashKey) -> Result<TableFile, Failure> {
    let table = TableFile::open(path).map_err(|error| {
        let consequence = format!(
            "The store cannot read this table. Restore the file from a copy, then run {}.",
            key.command(format_args!("verify {}", shell_word(path)))
        );
        Failure::table(&error, &consequence)
    })?;
    let Some(hasher) = key.hasher else {
        return Ok(table);
    };
    let opens = |filter: &TableFilter| match filter.is_partitioned() {
        true => filter.open_partitions().is_ok(),
        false => filter.open().is_ok(),
    };
    if table.seed() != hasher.seed() && table.filters().iter().any(opens) {
        let path = path.display();
        let message = format!("{path}: its filters are not hashed under a secret key. Leave out --hash-key-file.");
        return Err(Failure::damaged(message));
    }
    Ok(table.hashed_by(hasher))
}

/// Shows a table and its filters.
pub(crate) fn inspect(path: &Path, key: &HashKey, json: bool) -> anyhow::Result<ExitCode> {
    let table = open(path, key)?;
    let mut code = Code::Ok;
    let mut filters = Vec::new();
    let next = format!("Run {}.", key.command(format_args!("verify {}", shell_word(path))));
    for filter in table.filters() {
        let (fields, failures) = open_filter(path, filter, &next);
        for failure in failures {
            exit::message(&failure);
            code = code.max(failure.code());
        }
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
    key: &HashKey,
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

fn check(path: &Path, key: &HashKey, with_keys: bool, failures: &mut Vec<Failure>) -> Option<(TableFile, TableCheck)> {
    if with_keys {
        let message =
            format!("{} is a table, which is checked against its own cells: leave out --keys", path.display());
        failures.push(Failure::usage("verify", message));
        return None;
    }
    let table = open(path, key).map_err(|failure| failures.push(failure)).ok()?;
    let inspect = inspect_command(path, key);
    let next = format!("No data is lost: a filter holds nothing that the cells do not. Run {inspect}.");
    failures.extend(table.filters().iter().flat_map(|filter| open_filter(path, filter, &next).1));
    let consequence = format!("Lookups in it fail. Restore the file from a copy. To see its filters, run {inspect}.");
    let check = table.check().map_err(|error| failures.push(Failure::table(&error, &consequence))).ok()?;
    for (purpose, num_missing) in [
        ("row", check.missing_in_row_filter),
        ("row+column", check.missing_in_row_column_filter),
        ("prefix", check.missing_in_prefix_filter),
    ] {
        if num_missing > 0 {
            failures.push(Failure::damaged(format!(
                "{}: the {purpose} filter answers 'no' for {num_missing} of {} cells that the table holds. Lookups do \
                 not find them: stop using the table. Run {inspect}.",
                path.display(),
                check.num_cells,
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
