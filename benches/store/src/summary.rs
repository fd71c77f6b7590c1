//! The comparison of filters in short: a line for each, with all sorts of queries side by side.

use crate::phases::{Phase, Popularity, Subject};
use crate::report::{Row, digits, line};

const PHASES: [(Phase, &str); 4] = [
    (Phase::Absent, "absent"),
    (Phase::Present, "present"),
    (Phase::PrefixAbsent, "absent prefix"),
    (Phase::PrefixPresent, "present prefix"),
];

/// A table for each popularity of keys, as far as they were measured.
pub fn markdown(text: &mut String, rows: &[Row]) {
    for (popularity, name) in [(Popularity::Uniform, "uniform"), (Popularity::Zipfian, "Zipfian")] {
        let of_popularity = |row: &&Row| row.subject.popularity == Some(popularity);
        let rows: Vec<&Row> = rows.iter().filter(of_popularity).collect();
        if !rows.is_empty() {
            table(text, &rows, name);
        }
    }
}

fn table(text: &mut String, rows: &[&Row], popularity: &str) {
    let phases: Vec<_> =
        PHASES.iter().filter(|(phase, _)| rows.iter().any(|row| row.subject.phase == *phase)).collect();
    line(text, &format!("\n## Filters, {popularity} keys, per query\n"));
    let head: Vec<_> = phases.iter().map(|(_, name)| format!("{name}: cpu µs | reads | disk KiB")).collect();
    line(text, &format!("| engine | {} |", head.join(" | ")));
    line(text, &format!("|---|{}", "---:|".repeat(3 * phases.len())));
    for (at, first) in rows.iter().enumerate() {
        if rows[..at].iter().any(|row| is_same(row, first)) {
            continue;
        }
        let of_phase = |&&(phase, _): &&(Phase, &str)| {
            let row = rows.iter().find(|row| is_same(row, first) && row.subject.phase == phase);
            row.map_or_else(|| "- | - | -".to_owned(), |row| figures(row))
        };
        let figures: Vec<_> = phases.iter().map(of_phase).collect();
        line(text, &format!("| {} | {} |", first.subject.label(), figures.join(" | ")));
    }
}

/// Whether both are of the same engine and filters.
fn is_same(a: &Row, b: &Row) -> bool {
    let store = |Subject { kind, filters, .. }: &Subject| (*kind, *filters);
    store(&a.subject) == store(&b.subject)
}

fn figures(row: &Row) -> String {
    let sum = |names: &[&str]| names.iter().map(|name| row.median(name)).sum::<Option<f64>>();
    let reads = sum(&["data_reads", "filter_reads", "index_reads"]);
    let disk_kib = row.median("disk_bytes").map(|bytes| bytes / 1024.0);
    [row.median("cpu_us"), reads, disk_kib].map(digits).join(" | ")
}
