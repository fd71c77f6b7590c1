//! A store, as `filterblock verify` checks it: every table, every cell, and every filter against the cells of its
//! table.

use super::{open_quietly, unreadable_json, unreadable_text, warn_of_seeds, warning_text};
use crate::exit::{Code, Failure};
use crate::expected::HashKey;
use crate::keys;
use crate::output::{self, Output, shell_word};
use filterblock::kv::{FilterVerification, StoreOptions, TableVerification, VerifyReport};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

/// Checks the store in `dir`. Reports failures on standard error and returns the worst code.
pub(crate) fn verify(
    dir: &Path,
    key: &HashKey,
    with_keys: bool,
    json: bool,
    out: &mut Output,
) -> Result<Code, Failure> {
    let mut failures = Vec::new();
    let checked = keys::with_spinner("verifying", || check(dir, key, with_keys, &mut failures));
    let figures = json.then(|| checked.as_ref().map_or(json!({}), figures));
    output::verdict(out, dir, &failures, figures, |out| match &checked {
        Some(checked) => print(out, dir, checked, failures.is_empty()),
        None => Ok(()),
    })
}

fn check(dir: &Path, key: &HashKey, with_keys: bool, failures: &mut Vec<Failure>) -> Option<VerifyReport> {
    if with_keys {
        let message = format!("{} is a store, which is checked against its own cells: leave out --keys", dir.display());
        failures.push(Failure::usage("verify", message));
        return None;
    }
    let opened = open_quietly(dir, StoreOptions::default(), key, "Nothing else was checked.");
    let store = opened.map_err(|failure| failures.push(failure)).ok()?;
    warn_of_seeds(dir, key, &store);
    let report = store.verify();
    failures.extend(store.warnings().iter().map(|warning| Failure::damaged(warning_text(dir, key, warning))));
    failures.extend(report.unreadable.iter().map(|rows| Failure::damaged(unreadable_text(dir, key, rows))));
    for table in &report.tables {
        failures.extend(table.filters.iter().filter_map(|filter| hidden(dir, key, table, filter)));
    }
    Some(report)
}

/// The worst that a filter can do.
fn hidden(dir: &Path, key: &HashKey, table: &TableVerification, filter: &FilterVerification) -> Option<Failure> {
    let path = dir.join(&table.file);
    (filter.false_negatives > 0).then(|| {
        Failure::damaged(format!(
            "{}: the {} filter answers 'no' for {} of {} cells that the table holds. Lookups do not find them: stop \
             using the store. Run {}.",
            path.display(),
            filter.purpose,
            filter.false_negatives,
            filter.present_asked,
            key.command(format_args!("rebuild {}", shell_word(&path)))
        ))
    })
}

/// How far the observed rate is from the predicted one, in standard deviations of a binomial count.
fn deviation_sigma(filter: &FilterVerification) -> Option<f64> {
    let (asked, rate) = (filter.absent_asked as f64, filter.predicted_fpr);
    let sigma = (asked * rate * (1.0 - rate)).sqrt();
    (sigma > 0.0).then(|| (filter.false_positives as f64 - asked * rate) / sigma)
}

fn figures(report: &VerifyReport) -> Value {
    json!({
        "num_cells": num_cells(report),
        "cells_in_log": report.log_cells,
        "false_negatives": report.false_negatives(),
        "unreadable": unreadable_json(&report.unreadable),
        "tables": report.tables.iter().map(table_json).collect::<Vec<_>>(),
    })
}

fn num_cells(report: &VerifyReport) -> u64 {
    report.tables.iter().map(|table| table.num_cells).sum()
}

fn table_json(table: &TableVerification) -> Value {
    let filter = |filter: &FilterVerification| {
        json!({
            "purpose": filter.purpose.name(),
            "kind": filter.kind.name(),
            "keys_asked": filter.present_asked,
            "false_negatives": filter.false_negatives,
            "absent_asked": filter.absent_asked,
            "false_positives": filter.false_positives,
            "observed_fpr": filter.observed_fpr(),
            "predicted_fpr": filter.predicted_fpr,
            "deviation_sigma": deviation_sigma(filter),
        })
    };
    json!({
        "file": table.file,
        "level": table.level,
        "num_cells": table.num_cells,
        "filters": table.filters.iter().map(filter).collect::<Vec<_>>(),
        "unusable_filters": table.unusable.iter().map(|purpose| purpose.name()).collect::<Vec<_>>(),
    })
}

fn print(out: &mut Output, dir: &Path, report: &VerifyReport, is_ok: bool) -> io::Result<()> {
    let (num_tables, num_filters) = (report.tables.len() as u64, report.filters().count() as u64);
    // The failures are on standard error.
    let verdict = if is_ok { "ok: " } else { "" };
    writeln!(
        out,
        "{}: {verdict}{} in {}, {}; {}, {} missing in a filter{}",
        dir.display(),
        output::count(num_cells(report), "cell"),
        output::count(num_tables, "table"),
        output::count(num_filters, "filter"),
        match report.unreadable.len() as u64 {
            0 => "every data block is right".to_owned(),
            ranges => format!("{} of rows cannot be read", output::count(ranges, "range")),
        },
        output::count(report.false_negatives(), "cell"),
        match report.log_cells {
            0 => String::new(),
            cells => format!("; {} in the log only", output::count(cells, "cell")),
        }
    )?;
    let titles =
        ["table", "level", "filter", "kind", "asked", "missing", "absent", "maybe", "observed", "predicted", "sigma"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for table in &report.tables {
        for filter in &table.filters {
            let sigma = deviation_sigma(filter).map_or_else(|| "-".to_owned(), |sigma| format!("{sigma:+.1}"));
            rows.push(vec![
                table.file.clone(),
                table.level.to_string(),
                filter.purpose.to_string(),
                filter.kind.to_string(),
                filter.present_asked.to_string(),
                filter.false_negatives.to_string(),
                filter.absent_asked.to_string(),
                filter.false_positives.to_string(),
                output::rate(filter.observed_fpr()),
                output::rate(filter.predicted_fpr),
                sigma,
            ]);
        }
    }
    output::table(out, &rows)
}
