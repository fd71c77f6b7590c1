//! What was run, and on what.

use super::data::Dataset;
use super::lines::grouped;
use super::measure::Plan;
use filterblock::kv::Stats;
use serde::Serialize;
use std::io::{self, Write};

/// The data of all runs. Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct DataFacts {
    dataset: String,
    rows: u64,
    cells: u64,
    tables: u64,
    data_blocks: u64,
    data_bytes: u64,
}

impl DataFacts {
    pub(super) fn new(data: &Dataset, stats: Option<&Stats>) -> Self {
        let tables = stats.map_or(&[][..], |stats| &stats.tables);
        Self {
            dataset: data.name.clone(),
            rows: data.rows.len() as u64,
            cells: data.num_cells(),
            tables: tables.len() as u64,
            data_blocks: tables.iter().map(|table| table.num_blocks).sum(),
            data_bytes: tables.iter().map(|table| table.data_bytes).sum(),
        }
    }

    fn size(&self) -> String {
        format!(
            "{} rows, {} cells, {} tables of {} data blocks, {} MiB",
            grouped(self.rows),
            grouped(self.cells),
            self.tables,
            grouped(self.data_blocks),
            self.data_bytes >> 20
        )
    }
}

/// What is said before any figure, for people.
pub(super) struct Setting {
    /// A name and the lines behind it.
    pub(super) facts: Vec<(&'static str, Vec<String>)>,
}

impl Setting {
    pub(super) fn new(data: &DataFacts, num_absent_dropped: u64, mut questions: String, plan: &Plan, io: &str) -> Self {
        if plan.is_shortened() {
            questions.push_str(" (fewer than usual: the disk is slow)");
        }
        let mut questions = vec![questions];
        if num_absent_dropped > 0 {
            let dropped = grouped(num_absent_dropped);
            questions.push(format!("{dropped} absent rows not used: repeated, present, or outside the key range"));
        }
        let data = vec![data.dataset.clone(), data.size()];
        Self { facts: vec![("Data", data), ("Questions", questions), ("Reads", vec![io.to_owned()])] }
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for (name, lines) in &self.facts {
            for (i, line) in lines.iter().enumerate() {
                let name = if i == 0 { format!("{name}:") } else { String::new() };
                writeln!(out, "{name:<10} {line}")?;
            }
        }
        writeln!(out)
    }
}

/// Of all filters together.
pub(super) fn bits_per_key(stats: &Stats) -> f64 {
    let filter_bytes: u64 = stats.tables.iter().map(|table| table.filter_bytes).sum();
    let filter_entries: u64 = stats.tables.iter().map(|table| table.filter_entries).sum();
    filter_bytes as f64 * 8.0 / filter_entries.max(1) as f64
}
