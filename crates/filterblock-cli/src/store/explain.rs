//! The tables that a lookup probed, and the answer of each.

use crate::output;
use filterblock_engine::ledger::Outcome;
use filterblock_kv::{Purpose, Store, TableStats};
use serde_json::{Value, json};

/// The outcome of one lookup, from the ledger of a store that has served no other.
pub(crate) struct Explanation {
    /// The explanation as JSON and as text, in the order of the lookup.
    probed: Vec<(Value, String)>,
    num_not_probed: usize,
    /// Cells in the log only.
    num_in_log: u64,
}

impl Explanation {
    pub(crate) fn of(store: &Store) -> Self {
        let stats = store.stats();
        let probed: Vec<_> = stats.tables.iter().filter_map(probed).collect();
        let num_not_probed = stats.tables.len() - probed.len();
        Self { probed, num_not_probed, num_in_log: stats.memtable_cells }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "tables": self.probed.iter().map(|(table, _)| table).collect::<Vec<_>>(),
            "tables_not_asked": self.num_not_probed,
            "cells_in_log": self.num_in_log,
        })
    }

    /// Returns the explanation for people: a line per table, and a sum.
    pub(crate) fn text(&self) -> String {
        let tables: String = self.probed.iter().map(|(_, text)| text.as_str()).collect();
        let why = if self.probed.is_empty() && self.num_in_log > 0 { " (the log was searched first)" } else { "" };
        let num_probed = output::count(self.probed.len() as u64, "table");
        format!("{tables}{num_probed} probed, {} not{why}", self.num_not_probed)
    }
}

/// The outcome of the one lookup of a table, if it was probed.
fn probed(table: &TableStats) -> Option<(Value, String)> {
    let TableStats { file, level, .. } = table;
    let purpose = Purpose::OF_KEYS.into_iter().find(|&purpose| table.ledger.of(purpose).lookups > 0)?;
    let tally = table.ledger.of(purpose);
    let outcome = Outcome::ALL.iter().copied().find(|&outcome| tally.count(outcome) > 0)?;
    let filter = table.filters.iter().find(|filter| filter.purpose == purpose);
    let json = json!({
        "table": file,
        "level": level,
        "purpose": purpose.name(),
        "kind": filter.map(|filter| filter.kind.name()),
        "predicted_fpr": filter.map(|filter| filter.predicted_fpr),
        "outcome": outcome.id(),
        "data_block_reads": tally.data_block_reads,
    });
    let what = match filter {
        Some(filter) => {
            format!("{purpose} filter {} ({})", filter.kind, output::rate(filter.predicted_fpr))
        }
        None => format!("no usable {purpose} filter"),
    };
    let reads = output::count(tally.data_block_reads, "read");
    Some((json, format!("{file}  level {level}  {what}: {outcome}, {reads}\n")))
}
