//! A report for people: a table with aligned columns.

use super::outcome::Outcome;
use super::tally::Tally;
use super::{Ledger, LedgerReport};
use core::fmt;

/// Columns of words, aligned left; numbers follow, aligned right.
const NUM_LABELS: usize = 3;

const HEADINGS: [&str; 17] = [
    "level",
    "purpose",
    "filter",
    "lookups",
    "out of range",
    "avoided",
    "true pos",
    "false pos",
    "tombstone",
    "no filter",
    "unusable",
    "failed",
    "reads",
    "hits",
    "bytes",
    "observed FPR",
    "predicted FPR",
];

type Row = [String; HEADINGS.len()];

fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.4} %", rate * 100.0))
}

fn row(level: &str, purpose: &str, filter: &str, tally: &Tally) -> Row {
    let mut row = Row::default();
    let labels = [level, purpose, filter].map(str::to_owned);
    let counts = core::iter::once(tally.lookups).chain(Outcome::ALL.iter().map(|&outcome| tally.count(outcome)));
    let blocks = [tally.data_block_reads, tally.data_block_cache_hits, tally.data_block_bytes];
    let numbers = counts.chain(blocks).map(|count| count.to_string());
    let rates = [tally.observed_fpr(), tally.predicted_fpr()].map(rate);
    let cells = labels.into_iter().chain(numbers).chain(rates);
    row.iter_mut().zip(cells).for_each(|(to, from)| *to = from);
    row
}

fn write_aligned(f: &mut fmt::Formatter<'_>, rows: &[Row]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; HEADINGS.len()] = core::array::from_fn(width);
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            match column < NUM_LABELS {
                true => write!(f, "{gap}{cell:<width$}")?,
                false => write!(f, "{gap}{cell:>width$}")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// The sums that have no column.
fn write_rest(f: &mut fmt::Formatter<'_>, ledger: &Ledger) -> fmt::Result {
    let total = ledger.total();
    writeln!(f, "found without a filter: {}", total.unfiltered_found)?;
    writeln!(f, "true positives of the entry only: {}", total.entry_only)?;
    let Ledger { scan_block_reads, scan_block_bytes, scan_block_cache_hits, .. } = ledger;
    writeln!(f, "scans: {scan_block_reads} reads ({scan_block_bytes} bytes), {scan_block_cache_hits} hits")?;
    let Ledger { filter_block_reads, filter_block_bytes, filter_block_cache_hits, .. } = ledger;
    writeln!(
        f,
        "filter blocks: {filter_block_reads} reads ({filter_block_bytes} bytes), {filter_block_cache_hits} hits"
    )
}

/// A line for each level, class and kind, the sums of each class, what scans and filter blocks cost, and the verdict.
impl fmt::Display for LedgerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![HEADINGS.map(str::to_owned)];
        for of_level in &self.by_level {
            // A filter without a kind has answered, as one of ranges.
            let unnamed = if of_level.tally.absent_asked() > 0 { "-" } else { "none" };
            let filter = of_level.kind.map_or(unnamed, |kind| kind.name());
            rows.push(row(&of_level.level.to_string(), of_level.purpose, filter, &of_level.tally));
        }
        rows.extend(self.total.classes().map(|(class, tally)| row("all", class.purpose(), "all", tally)));
        write_aligned(f, &rows)?;
        write_rest(f, &self.total)?;
        writeln!(f, "filters not built: {}", self.filters_not_built)?;
        writeln!(f, "{}", self.verdict())
    }
}
