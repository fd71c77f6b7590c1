//! What the filters of each table promised and what they did.

use super::lines::{Line, Lines, grouped, rate_or_dash};
use super::measure::Measurement;
use filterblock::kv::{Outcome, TableStats};
use serde::Serialize;

/// One table in one run. Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct TableReport {
    file: String,
    cells: u64,
    data_blocks: u64,
    filter_bytes: u64,
    bits_per_key: f64,
    /// Absent keys that the table's filters were asked.
    absent_asked: u64,
    false_positives: u64,
    pub(super) observed_fpr: Option<f64>,
    pub(super) predicted_fpr: Option<f64>,
    /// Four standard errors of the observed rate.
    pub(super) observed_fpr_four_sigma: Option<f64>,
}

impl TableReport {
    pub(super) fn new(table: &TableStats, run: &Measurement) -> Self {
        let total = table.ledger.total();
        Self {
            file: table.file.clone(),
            cells: table.num_cells,
            data_blocks: table.num_blocks,
            filter_bytes: table.filter_bytes,
            bits_per_key: table.filter_bytes as f64 * 8.0 / table.filter_entries.max(1) as f64,
            absent_asked: total.absent_asked(),
            false_positives: total.count(Outcome::FalsePositive),
            observed_fpr: total.observed_fpr(),
            predicted_fpr: total.predicted_fpr(),
            observed_fpr_four_sigma: run.four_sigma(&table.ledger),
        }
    }

    /// Whether the rates agree within four standard errors; `None` where no absent key was asked.
    pub(super) fn agrees(&self) -> Option<bool> {
        let (observed, predicted) = (self.observed_fpr?, self.predicted_fpr?);
        Some((observed - predicted).abs() <= self.observed_fpr_four_sigma?)
    }

    /// The figures of the tables of a run, which the JSON document has below `pointer`.
    pub(super) fn lines(tables: &[Self], pointer: &str) -> Vec<Line> {
        let mut lines = Lines::new(tables, pointer);
        lines.add("table", "file", |table| table.file.clone());
        lines.add("cells", "cells", |table| grouped(table.cells));
        lines.add("data blocks", "data_blocks", |table| grouped(table.data_blocks));
        lines.add("bits per key", "bits_per_key", |table| format!("{:.2}", table.bits_per_key));
        lines.add("absent keys asked", "absent_asked", |table| grouped(table.absent_asked));
        lines.add("false positives", "false_positives", |table| grouped(table.false_positives));
        lines.add("observed rate", "observed_fpr", |table| rate_or_dash(table.observed_fpr));
        lines.add("predicted rate", "predicted_fpr", |table| rate_or_dash(table.predicted_fpr));
        lines.add("four standard errors", "observed_fpr_four_sigma", |table| {
            rate_or_dash(table.observed_fpr_four_sigma)
        });
        lines.finish()
    }
}
