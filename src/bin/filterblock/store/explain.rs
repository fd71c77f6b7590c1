//! The tables that a lookup probed, and the answer of each.

use crate::output;
use filterblock::kv::{Outcome, Purpose, Store, TableStats};
use serde_json::{Value, json};
use std::fmt::Write;

/// The outcome of one lookup, from the ledger of a store that has served no other.
pub(crate) struct Explanation {
    asked: Vec<Asked>,
    num_not_asked: usize,
    /// Cells in the log only.
    num_in_log: u64,
}

/// A table that was probed.
struct Asked {
    table: String,
    level: usize,
    purpose: Purpose,
    /// Of the filter that answered; `None` without a usable one.
    kind: Option<&'static str>,
    predicted_fpr: Option<f64>,
    outcome: Outcome,
    data_block_reads: u64,
}

impl Explanation {
    pub(crate) fn of(store: &Store) -> Self {
        let stats = store.stats();
        let asked: Vec<Asked> = stats.tables.iter().filter_map(asked).collect();
        let num_not_asked = stats.tables.len() - asked.len();
        Self { asked, num_not_asked, num_in_log: stats.memtable_cells }
    }

    pub(crate) fn json(&self) -> Value {
        let asked = |asked: &Asked| {
            json!({
                "table": asked.table,
                "level": asked.level,
                "purpose": asked.purpose.name(),
                "kind": asked.kind,
                "predicted_fpr": asked.predicted_fpr,
                "outcome": asked.outcome.id(),
                "data_block_reads": asked.data_block_reads,
            })
        };
        json!({
            "tables": self.asked.iter().map(asked).collect::<Vec<_>>(),
            "tables_not_asked": self.num_not_asked,
            "cells_in_log": self.num_in_log,
        })
    }

    /// For people: a line per table, in the order of the lookup.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for Asked { table, level, purpose, kind, predicted_fpr, outcome, data_block_reads } in &self.asked {
            let filter = match (kind, predicted_fpr) {
                (Some(kind), Some(rate)) => format!("{purpose} filter {kind} ({})", output::rate(*rate)),
                _ => format!("no usable {purpose} filter"),
            };
            let reads = output::count(*data_block_reads, "read");
            // Writing to a string does not fail.
            let _ = writeln!(text, "{table}  level {level}  {filter}: {outcome}, {reads}");
        }
        let why = if self.asked.is_empty() && self.num_in_log > 0 { " (the log was searched first)" } else { "" };
        let _ = writeln!(
            text,
            "{} probed, {} not{why}",
            output::count(self.asked.len() as u64, "table"),
            self.num_not_asked
        );
        text
    }
}

/// The outcome of the one lookup of a table, if it was probed.
fn asked(table: &TableStats) -> Option<Asked> {
    let purpose = Purpose::ALL.into_iter().find(|&purpose| table.ledger.of(purpose).lookups > 0)?;
    let tally = table.ledger.of(purpose);
    let filter = table.filters.iter().find(|filter| filter.purpose == purpose);
    Some(Asked {
        table: table.file.clone(),
        level: table.level,
        purpose,
        kind: filter.map(|filter| filter.kind.name()),
        predicted_fpr: filter.map(|filter| filter.predicted_fpr),
        outcome: Outcome::ALL.into_iter().find(|&outcome| tally.count(outcome) > 0)?,
        data_block_reads: tally.data_block_reads,
    })
}
