//! A store, as `filterblock verify` checks it: every table, every cell, and every filter against the cells of its
//! table.

use super::{open_quietly, unreadable_text, warn_of_seeds, warning_text};
use crate::answers;
use crate::exit::Failure;
use crate::open_args::HashKey;
use crate::output::{self, object, shell_word};
use crate::policy_args::RANGE;
use crate::table_file::denial;
use crate::verdict::Verdict;
use filterblock_kv::{FilterVerification, Purpose, StoreOptions, TableVerification, VerifyReport};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Checks the store in `dir`.
pub(crate) fn verify(dir: &Path, key: &HashKey) -> Result<Verdict, Failure> {
    let store = open_quietly(dir, StoreOptions::default(), key, "Nothing else was checked.")?;
    warn_of_seeds(dir, key, &store);
    let report = store.verify();
    let warnings = store.warnings();
    let mut failures: Vec<_> =
        warnings.iter().map(|warning| Failure::damaged(warning_text(dir, key, warning))).collect();
    failures.extend(report.unreadable.iter().map(|rows| Failure::damaged(unreadable_text(dir, key, rows))));
    for table in &report.tables {
        let path = dir.join(&table.file);
        let rebuild = key.command(format_args!("rebuild {}", shell_word(&path)));
        let of_keys =
            table.filters.iter().map(|filter| (filter.purpose, [filter.false_negatives, filter.present_asked]));
        let of_ranges =
            table.range_filter.map(|filter| (Purpose::Range, [filter.false_negatives, filter.present_asked]));
        let denials = of_keys.chain(of_ranges);
        failures.extend(denials.filter_map(|(purpose, counts)| denial(&path, purpose, counts, "store", &rebuild)));
    }
    let text = text(dir, &report, failures.is_empty());
    Ok(Verdict { failures, figures: figures(&report), text })
}

fn deviation_sigma(filter: &FilterVerification) -> Option<f64> {
    answers::deviation_sigma(filter.false_positives, filter.absent_asked, filter.predicted_fpr)
}

fn figures(report: &VerifyReport) -> Map<String, Value> {
    object([
        ("num_cells", num_cells(report).into()),
        ("cells_in_log", report.log_cells.into()),
        ("false_negatives", report.false_negatives().into()),
        ("unreadable", json!(report.unreadable)),
        ("tables", report.tables.iter().map(table_json).collect()),
    ])
}

fn num_cells(report: &VerifyReport) -> u64 {
    report.tables.iter().map(|table| table.num_cells).sum()
}

fn table_json(table: &TableVerification) -> Value {
    let filter = |filter: &FilterVerification| {
        let mut figures = json!(filter);
        figures["observed_fpr"] = filter.observed_fpr().into();
        figures["deviation_sigma"] = deviation_sigma(filter).into();
        figures
    };
    let mut figures = json!(table);
    figures["filters"] = table.filters.iter().map(filter).collect();
    figures
}

fn text(dir: &Path, report: &VerifyReport, is_ok: bool) -> String {
    let num_ranges = report.tables.iter().filter(|table| table.range_filter.is_some()).count();
    let (num_tables, num_filters) = (report.tables.len() as u64, (report.filters().count() + num_ranges) as u64);
    // The failures are on standard error.
    let verdict = if is_ok { "ok: " } else { "" };
    let summary = format!(
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
    );
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
        if let Some(filter) = table.range_filter {
            let (asked, missing) = (filter.present_asked.to_string(), filter.false_negatives.to_string());
            let start = [table.file.clone(), table.level.to_string(), Purpose::Range.to_string(), RANGE.to_owned()];
            rows.push(start.into_iter().chain([asked, missing]).chain(["-"; 5].map(str::to_owned)).collect());
        }
    }
    format!("{summary}\n{}", output::table(&rows))
}
