//! Tables of the store, and the filters in them, for `inspect` and `verify`.

use crate::block_file;
use crate::exit::{self, Code, Failure};
use crate::filter::{Filter, hash_figures, print_figures};
use crate::open_args::HashKey;
use crate::output::{self, object, shell_word};
use crate::range_filter;
use crate::verdict::Verdict;
use filterblock::partition::{Family, Keys, PartitionHandle, Ranges};
use filterblock::range::RangeFilter;
use filterblock::{DecodeError, DecodeErrorClass, FilterKind};
use filterblock_kv::{Purpose, TableFile, TableFilter, TablePartitions};
use serde_json::{Map, Value};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Returns whether the file begins or ends as a table does.
pub(crate) fn is_table(path: &Path) -> bool {
    // A pipe is not opened: it may have no end. If this fails, reading it as a block will report the same error.
    path.is_file() && TableFile::is_table(path).unwrap_or(false)
}

/// A table's filters are probed by its store, with rows and columns.
pub(crate) fn refuse_query(path: &Path, key: &HashKey) -> Failure {
    let (path, inspect) = (path.display(), inspect_command(path, key));
    let message = format!("{path} is a table of the store, not a filter block. To see its filters, run {inspect}");
    Failure::usage("query", message)
}

/// A command that shows the filters of a table.
fn inspect_command(path: &Path, key: &HashKey) -> String {
    key.command(format_args!("inspect {}", shell_word(path)))
}

/// A filter that does not open, whose last `index_len` bytes are an index unless that is 0; `next` is the sentence that
/// names the next command.
fn filter_failure(path: &Path, offset: u64, bytes: &[u8], index_len: u32, error: &DecodeError, next: &str) -> Failure {
    let what = match index_len > 0 {
        true => {
            let offset = offset + (bytes.len() as u64).saturating_sub(index_len.into());
            format!("{}: index of partitions at offset {offset} ({index_len} bytes): {error}", path.display())
        }
        false => block_file::what_failed(path, offset, bytes, error),
    };
    ignored(&what, error, next)
}

fn ignored(what: &str, error: &DecodeError, next: &str) -> Failure {
    let next = match (error, error.class()) {
        (DecodeError::KeyNeeded { .. }, _) => "Run the command again with `--hash-key-file KEY`, the file of that key.",
        (_, DecodeErrorClass::Newer) => "A newer filterblock reads it; `filterblock --version` shows this one's.",
        _ => next,
    };
    Failure::damaged(format!("{what}. Filter ignored: lookups stay correct but slower. {next}"))
}

/// A partition that does not open costs the keys in it. `bytes` are its filter's, at `offset`; `next` is as for
/// [`filter_failure`].
fn partition_failure(
    path: &Path,
    purpose: Purpose,
    (offset, bytes): (u64, &[u8]),
    at: PartitionHandle,
    error: &DecodeError,
    next: &str,
) -> Failure {
    let block = &bytes[at.offset as usize..][..at.len as usize];
    let what = block_file::what_failed(path, offset + at.offset, block, error);
    let number = at.number;
    Failure::damaged(format!(
        "{what}. Partition {number} of the {purpose} filter ignored: lookups of its keys stay correct but slower. {next}"
    ))
}

/// The worst that a filter of a table can do: it answers *no* for cells that the table holds. `stop` is the thing that
/// must not be used any more, `next` the next command.
pub(crate) fn denial(
    path: &Path,
    purpose: Purpose,
    [missing, cells]: [u64; 2],
    stop: &str,
    next: &str,
) -> Option<Failure> {
    let path = path.display();
    (missing > 0).then(|| {
        Failure::damaged(format!(
            "{path}: the {purpose} filter answers 'no' for {missing} of {cells} cells that the table holds. Lookups do not \
             find them: stop using the {stop}. Run {next}."
        ))
    })
}

/// The figures of a filter, and a failure for each part that does not open; `next` as for [`filter_failure`].
fn open_filter(path: &Path, filter: &TableFilter, next: &str) -> (Map<String, Value>, Vec<Failure>) {
    let of_keys = |partitions: &TablePartitions<'_>, num_unusable| partitions_figures(filter, partitions, num_unusable);
    let of_ranges = |partitions: &TablePartitions<'_, Ranges>, num_unusable| {
        range_filter::partitions_figures(partitions.index(), num_unusable)
    };
    let of_range = |reader: RangeFilter<&[u8]>| range_filter::figures(&reader, filter.context);
    match filter.purpose {
        Purpose::Range => open_as::<Ranges>(path, filter, next, of_range, of_ranges),
        _ => open_as::<Keys>(path, filter, next, |reader| Filter::Block(reader).figures(), of_keys),
    }
}

/// [`open_filter`] of a family, given the figures of its blocks and partitions.
fn open_as<'a, F: Family>(
    path: &Path,
    filter: &'a TableFilter,
    next: &str,
    figures: impl FnOnce(F::Filter<&'a [u8]>) -> Map<String, Value>,
    partitions_figures: impl FnOnce(&TablePartitions<'a, F>, usize) -> Map<String, Value>,
) -> (Map<String, Value>, Vec<Failure>) {
    let opened = match filter.is_partitioned() {
        true => filter.open_partitions::<F>().map(|partitions| {
            let failure = |(handle, opened): (_, &Result<_, _>)| {
                let (place, error) = ((filter.offset, &filter.bytes[..]), opened.as_ref().err()?);
                Some(partition_failure(path, filter.purpose, place, handle, error, next))
            };
            let failures: Vec<_> = partitions.partitions().filter_map(failure).collect();
            (partitions_figures(&partitions, failures.len()), failures)
        }),
        false => filter.open::<F>().map(|reader| (figures(reader), Vec::new())),
    };
    opened.unwrap_or_else(|error| {
        let failure = filter_failure(path, filter.offset, &filter.bytes, filter.index_len, &error, next);
        (object([("error", error.to_string().into())]), vec![failure])
    })
}

/// The figures of a partitioned filter: a block's, as far as they hold for all partitions together.
fn partitions_figures(
    filter: &TableFilter,
    partitions: &TablePartitions<'_>,
    num_unusable: usize,
) -> Map<String, Value> {
    let (index, bytes) = (partitions.index(), partitions.unpadded_len());
    let num_entries = index.num_entries();
    let mut figures = object([
        ("kind", partitions.kind().map(FilterKind::name).into()),
        ("num_partitions", index.partitions().len().into()),
        ("num_unusable_partitions", num_unusable.into()),
        ("index_len_bytes", filter.index_len.into()),
        ("num_entries", num_entries.into()),
        ("bits_per_key", (num_entries > 0).then(|| bytes as f64 * 8.0 / num_entries as f64).into()),
        ("predicted_fpr", partitions.false_positive_rate().into()),
        ("block_len_bytes", bytes.into()),
    ]);
    figures.extend(hash_figures(index.entry_hasher().hasher()));
    figures.extend(object([
        ("transform", index.entry_hasher().transform().to_string().into()),
        ("fill", partitions.fill().into()),
    ]));
    figures
}

/// Opens a table; its filters under the secret key, if one is given. Rebuilt filters are read with their table only.
pub(crate) fn open(path: &Path, key: &HashKey) -> Result<TableFile, Failure> {
    if path.extension().is_some_and(|extension| extension == "flt") {
        let what =
            "has filters that were rebuilt for a table of a store. They are read with it: give the store's directory";
        return Err(Failure::usage("verify", format_args!("{} {what}", path.display())));
    }
    let table = TableFile::open(path).map_err(|error| {
        let consequence = format!(
            "The store cannot read this table. Restore the file from a copy, then run {}.",
            key.command(format_args!("verify {}", shell_word(path)))
        );
        Failure::table(&error, &consequence)
    })?;
    let Some(hasher) = key.hasher.clone() else {
        return Ok(table);
    };
    let opens = |filter: &TableFilter| match filter.is_partitioned() {
        true => filter.open_partitions::<Keys>().is_ok(),
        false => filter.open::<Keys>().is_ok(),
    };
    if table.seed() != hasher.seed() && table.filters().iter().any(opens) {
        let path = path.display();
        let message = format!("{path}: its filters are not hashed under a secret key. Leave out --hash-key-file.");
        return Err(Failure::damaged(message));
    }
    Ok(table.with_hasher(hasher))
}

/// Shows a table and its filters.
pub(crate) fn inspect(path: &Path, key: &HashKey, json: bool) -> anyhow::Result<ExitCode> {
    let table = open(path, key)?;
    let (mut code, mut filters) = (Code::Ok, Vec::new());
    let next = format!("Run {}.", key.command(format_args!("verify {}", shell_word(path))));
    for (figures, failures) in open_filters(path, &table, &next) {
        for failure in failures {
            exit::message(&failure);
            code = code.max(failure.code());
        }
        filters.push(figures);
    }
    let mut figures = table_figures(path, &table);
    output::print(|out| {
        if json {
            figures.insert("filters".to_owned(), filters.into());
            return out.json(&figures);
        }
        print_figures(out, &figures, "")?;
        filters.iter().try_for_each(|filter| {
            writeln!(out, "filter")?;
            print_figures(out, filter, "  ")
        })
    })?;
    Ok(code.into())
}

fn table_figures(path: &Path, table: &TableFile) -> Map<String, Value> {
    let mut figures = Map::new();
    output::put_path(&mut figures, "file", path);
    figures.extend(object([
        ("table", table.number().into()),
        ("num_cells", table.num_cells().into()),
        ("num_tombstones", table.num_tombstones().into()),
        ("num_data_blocks", table.num_blocks().into()),
        ("data_len_bytes", table.data_len().into()),
        ("num_unknown_filters", table.num_unknown_filters().into()),
    ]));
    figures
}

/// The figures of each filter, and a failure for each part that does not open; `next` as for [`filter_failure`].
fn open_filters(path: &Path, table: &TableFile, next: &str) -> Vec<(Map<String, Value>, Vec<Failure>)> {
    let of_filter = |filter: &TableFilter| {
        let (fields, failures) = open_filter(path, filter, next);
        let location = object([
            ("purpose", filter.purpose.to_string().into()),
            ("offset", filter.offset.into()),
            ("len_bytes", filter.len.into()),
            ("context", output::hex(filter.context).into()),
        ]);
        (location.into_iter().chain(fields).collect(), failures)
    };
    table.filters().iter().map(of_filter).collect()
}

/// Checks a table: structure, every cell, and that its filters miss none of them.
pub(crate) fn verify(path: &Path, key: &HashKey) -> Result<Verdict, Failure> {
    let table = open(path, key)?;
    let inspect = inspect_command(path, key);
    let next = format!("No data is lost: a filter holds nothing that the cells do not. Run {inspect}.");
    let mut failures: Vec<Failure> =
        open_filters(path, &table, &next).into_iter().flat_map(|(_, failures)| failures).collect();
    let check = match table.check() {
        Ok(check) => check,
        Err(error) => {
            let next = format!("Lookups in it fail. Restore the file from a copy. To see its filters, run {inspect}.");
            failures.push(Failure::table(&error, &next));
            return Ok(Verdict { failures, ..Verdict::default() });
        }
    };
    failures.extend(
        [
            (Purpose::Row, check.missing_in_row_filter),
            (Purpose::RowColumn, check.missing_in_row_column_filter),
            (Purpose::Prefix, check.missing_in_prefix_filter),
            (Purpose::Range, check.missing_in_range_filter),
        ]
        .into_iter()
        .filter_map(|(purpose, missing)| denial(path, purpose, [missing, check.num_cells], "table", &inspect)),
    );
    let figures = object([
        ("table", table.number().into()),
        ("num_cells", check.num_cells.into()),
        ("num_tombstones", check.num_tombstones.into()),
        ("num_filters", table.filters().len().into()),
        ("missing_in_row_filter", check.missing_in_row_filter.into()),
        ("missing_in_row_column_filter", check.missing_in_row_column_filter.into()),
        ("missing_in_prefix_filter", check.missing_in_prefix_filter.into()),
        ("missing_in_range_filter", check.missing_in_range_filter.into()),
    ]);
    let mut text = format!(
        "{}: ok: table {}, {} cells in {} data blocks, {} filters; checksums and structure are right, no cell is \
         missing in a filter\n",
        path.display(),
        table.number(),
        check.num_cells,
        table.num_blocks(),
        table.filters().len()
    );
    if !failures.is_empty() {
        text.clear();
    }
    Ok(Verdict { failures, figures, text })
}
