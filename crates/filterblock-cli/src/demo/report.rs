//! The results of a demo, for programs and for people.

use super::data::Dataset;
use super::queries::{Class, Observed};
use super::run::{Plan, Run};
use crate::output::{self, Output, hex, rate};
use filterblock_engine::ledger::{Outcome, Tally};
use filterblock_kv::{CacheBypass, Purpose};
use serde::Serialize;
use std::io::{self, Write};

/// The outcomes of queries of one class, or of all for absent keys.
#[derive(Serialize)]
struct Figures {
    class: &'static str,
    queries: usize,
    /// A lookup is one query in one table.
    #[serde(flatten)]
    tally: Tally,
    p50_us: f64,
    p99_us: f64,
    answers_wrong: u64,
}

impl Figures {
    fn new(class: &'static str, observed: &Observed) -> Self {
        let mut tally = observed.ledger.total();
        // Those of scans after their first block, too.
        tally.data_block_reads = observed.ledger.data_block_reads();
        Self {
            class,
            queries: observed.num_queries(),
            tally,
            p50_us: observed.percentile_us(0.5),
            p99_us: observed.percentile_us(0.99),
            answers_wrong: observed.num_wrong,
        }
    }
}

/// One run. A filter is compared with none, so the run without filters lacks some figures.
#[derive(Serialize)]
struct RunFigures {
    filter: &'static str,
    bits_per_key: Option<f64>,
    range_bits_per_row: Option<f64>,
    /// With filters of directories in place of range filters.
    directory_bits_per_row: Option<f64>,
    directory_reads: Option<u64>,
    data_block_reads: u64,
    reads_avoided: u64,
    /// Data blocks that the store without filters read and this one did not. Must equal `reads_avoided`.
    reads_fewer_than_unfiltered: i64,
    absent_reads_avoided_share: Option<f64>,
    false_positives: Option<u64>,
    range_false_positives: Option<u64>,
    range_observed_fpr: Option<f64>,
    observed_fpr: Option<f64>,
    predicted_fpr: Option<f64>,
    /// Queries for absent keys.
    absent: Figures,
    p50_times_faster: Option<f64>,
    os_reads: Option<u64>,
    ledger_read_bytes: u64,
    os_read_bytes: Option<u64>,
    reads_match_os: Option<bool>,
    ledger_balanced: bool,
    answers_hash: String,
    answers_wrong: u64,
    classes: Vec<Figures>,
    warnings: Vec<String>,
}

impl RunFigures {
    fn of(run: &Run, unfiltered: &Run) -> Self {
        let (all, all_unfiltered) = (Observed::sum(&run.series), Observed::sum(&unfiltered.series));
        let absent = |run: &Run| Observed::sum(&run.series[..Class::NUM_ABSENT]);
        let (absent, absent_unfiltered) = (absent(run), absent(unfiltered));
        let (total, keys) = (all.ledger.total(), *all.ledger.of(Purpose::Row) + *all.ledger.of(Purpose::RowColumn));
        let (ranges, reads) = (all.ledger.of(Purpose::Range), |observed: &Observed| observed.ledger.data_block_reads());
        let filters = || run.stats.tables.iter().flat_map(|table| &table.filters);
        let entries = filters().map(|filter| filter.num_entries).sum::<u64>().max(1);
        let bits_per_key = filters().map(|filter| filter.bytes).sum::<u64>() as f64 * 8.0 / entries as f64;
        let range_filters = run.stats.tables.iter().filter_map(|table| table.range_filter);
        let (range_bytes, rows) = range_filters.fold((0, 0), |sum, of| (sum.0 + of.bytes, sum.1 + of.num_keys));
        let absent_share = 1.0 - reads(&absent) as f64 / reads(&absent_unfiltered).max(1) as f64;
        let times_faster = absent_unfiltered.percentile_us(0.5) / absent.percentile_us(0.5);
        let (data_block_reads, ledger_read_bytes) = (reads(&all), all.ledger.data_block_bytes());
        let has_filter = run.filter != unfiltered.filter;
        let class = |(class, observed): (Class, &Observed)| Figures::new(class.name(), observed);
        Self {
            filter: run.filter,
            bits_per_key: has_filter.then_some(bits_per_key),
            range_bits_per_row: has_filter.then_some(range_bytes as f64 * 8.0 / rows.max(1) as f64),
            directory_bits_per_row: run.directories.as_ref().map(|(bytes, _)| *bytes as f64 * 8.0 / rows.max(1) as f64),
            directory_reads: run.directories.as_ref().map(|(_, observed)| reads(observed)),
            data_block_reads,
            reads_avoided: total.count(Outcome::Avoided),
            reads_fewer_than_unfiltered: reads(&all_unfiltered) as i64 - data_block_reads as i64,
            absent_reads_avoided_share: has_filter.then_some(absent_share),
            false_positives: has_filter.then_some(keys.count(Outcome::FalsePositive)),
            range_false_positives: has_filter.then_some(ranges.count(Outcome::FalsePositive)),
            range_observed_fpr: ranges.observed_fpr().filter(|_| has_filter),
            observed_fpr: keys.observed_fpr(),
            predicted_fpr: keys.predicted_fpr(),
            absent: Figures::new("absent", &absent),
            p50_times_faster: has_filter.then_some(times_faster),
            os_reads: all.system.map(|system| system.calls),
            ledger_read_bytes,
            os_read_bytes: all.system.map(|system| system.bytes),
            reads_match_os: all
                .system
                .map(|system| (system.calls, system.bytes) == (data_block_reads, ledger_read_bytes)),
            ledger_balanced: run.balanced,
            answers_hash: hex(all.answers),
            answers_wrong: all.num_wrong + run.directories.as_ref().map_or(0, |(_, observed)| observed.num_wrong),
            classes: Class::ALL.into_iter().zip(&run.series).map(class).collect(),
            warnings: run.warnings.clone(),
        }
    }

    fn failures(&self) -> Vec<String> {
        let Self { filter, data_block_reads, ledger_read_bytes, reads_avoided, reads_fewer_than_unfiltered, .. } = self;
        let mut failures = Vec::new();
        if let (Some(false), Some(reads), Some(bytes)) = (self.reads_match_os, self.os_reads, self.os_read_bytes) {
            failures.push(format!(
                "{filter}: the ledger has {data_block_reads} reads of {ledger_read_bytes} bytes, the operating system \
                 {reads} of {bytes}"
            ));
        }
        if !self.ledger_balanced {
            failures.push(format!("{filter}: the ledger's sums do not agree"));
        }
        if i64::try_from(*reads_avoided) != Ok(*reads_fewer_than_unfiltered) {
            failures.push(format!(
                "{filter}: the ledger has {reads_avoided} reads avoided, but without filters there were \
                 {reads_fewer_than_unfiltered} more"
            ));
        }
        failures
    }
}

/// A line of the table: a name, indented by two spaces where it details the line above, and the figure of a run.
type Line = (&'static str, fn(&RunFigures) -> Option<String>);

const LINES: [Line; 25] = [
    ("", |run| Some(run.filter.to_owned())),
    ("filter size, bits per key", |run| run.bits_per_key.map(|bits| format!("{bits:.2}"))),
    ("  of range filters, bits per row", |run| run.range_bits_per_row.map(|bits| format!("{bits:.2}"))),
    ("data-block reads", |run| Some(grouped(run.data_block_reads))),
    ("  for absent rows", |run| reads_of_class(run, 0)),
    ("  for absent columns of present rows", |run| reads_of_class(run, 1)),
    ("  for present cells", |run| reads_of_class(run, 2)),
    ("  for scans of absent hosts", |run| reads_of_class(run, 3)),
    ("  for scans of absent directories", |run| reads_of_class(run, 4)),
    ("    by filters of directories instead", |run| run.directory_reads.map(grouped)),
    ("      their size, bits per row", |run| run.directory_bits_per_row.map(|bits| format!("{bits:.2}"))),
    ("  for scans of present directories", |run| reads_of_class(run, 5)),
    ("reads avoided by the filters", |run| Some(grouped(run.reads_avoided))),
    ("  share of reads for absent keys", |run| {
        run.absent_reads_avoided_share.map(|share| format!("{:.2} %", share * 100.0))
    }),
    ("false positives (wasted reads)", |run| run.false_positives.map(grouped)),
    ("  rate observed", |run| run.observed_fpr.map(rate)),
    ("  rate predicted from the filters' bits", |run| run.predicted_fpr.map(rate)),
    ("false positives of range filters", |run| run.range_false_positives.map(grouped)),
    ("  rate observed", |run| run.range_observed_fpr.map(rate)),
    ("time of an absent lookup, p50", |run| Some(format!("{:.1} µs", run.absent.p50_us))),
    ("  p99", |run| Some(format!("{:.1} µs", run.absent.p99_us))),
    ("  p50, times faster than without", |run| run.p50_times_faster.map(|times| format!("{times:.0} x"))),
    ("time of a scan of an absent host, p50", |run| Some(format!("{:.1} µs", run.classes[3].p50_us))),
    ("bytes read by the store's ledger", |run| Some(grouped(run.ledger_read_bytes))),
    ("  by the operating system's count", |run| run.os_read_bytes.map(grouped)),
];

fn reads_of_class(run: &RunFigures, class: usize) -> Option<String> {
    Some(grouped(run.classes[class].tally.data_block_reads))
}

/// Digits in groups of three.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(" ")
}

#[derive(Serialize)]
pub(super) struct Report {
    dataset: String,
    rows: usize,
    cells: u64,
    tables: usize,
    data_blocks: u64,
    data_bytes: u64,
    lookups_per_class: u64,
    absent_rows_dropped: u64,
    bits_per_key_asked: f64,
    direct_io: bool,
    /// The way in which blocks are read, for people.
    io: String,
    os_counter: Option<&'static str>,
    answers_identical: bool,
    answers_wrong: u64,
    runs: Vec<RunFigures>,
    /// Why the demo has failed; empty if it has not.
    pub(super) failures: Vec<String>,
}

impl Report {
    /// The first of `runs` is that without filters.
    pub(super) fn new(bits_per_key: f64, data: &Dataset, bypass: &CacheBypass, plan: &Plan, runs: &[Run]) -> Self {
        let direct_io = *bypass == CacheBypass::Active;
        let figures: Vec<_> = runs.iter().map(|run| RunFigures::of(run, &runs[0])).collect();
        let has_os_counts = figures.iter().all(|run| run.os_reads.is_some());
        let answers_identical = figures.iter().all(|run| run.answers_hash == figures[0].answers_hash);
        let answers_wrong = figures.iter().map(|run| run.answers_wrong).sum();
        let mut failures: Vec<String> = figures.iter().flat_map(RunFigures::failures).collect();
        if !answers_identical {
            failures.push("the runs do not give identical answers".to_owned());
        }
        if answers_wrong > 0 {
            failures.push(format!("{answers_wrong} answers are wrong"));
        }
        // All stores hold the same tables.
        let tables = &runs[0].stats.tables;
        Self {
            dataset: data.name.clone(),
            rows: data.rows.len(),
            cells: data.num_cells(),
            tables: tables.len(),
            data_blocks: tables.iter().map(|table| table.num_blocks).sum(),
            data_bytes: tables.iter().map(|table| table.data_bytes).sum(),
            lookups_per_class: plan.num_lookups(),
            absent_rows_dropped: data.num_absent_dropped,
            bits_per_key_asked: bits_per_key,
            direct_io,
            io: describe(bypass),
            os_counter: has_os_counts.then_some(if direct_io { "syscr, read_bytes" } else { "syscr, rchar" }),
            answers_identical,
            answers_wrong,
            runs: figures,
            failures,
        }
    }

    pub(super) fn print(&self, out: &mut Output) -> io::Result<()> {
        let mib = self.data_bytes >> 20;
        writeln!(out, "Data:      {}", self.dataset)?;
        writeln!(
            out,
            "           {} rows, {} cells, {} tables of {} data blocks, {mib} MiB",
            grouped(self.rows as u64),
            grouped(self.cells),
            self.tables,
            grouped(self.data_blocks)
        )?;
        writeln!(
            out,
            "Queries:   {} absent rows, as many absent columns of present rows, as many present cells,\n           \
             as many scans of absent hosts, of absent directories, and of present ones",
            grouped(self.lookups_per_class)
        )?;
        let (dropped, s) = (self.absent_rows_dropped, if self.absent_rows_dropped == 1 { "" } else { "s" });
        if dropped > 0 {
            let dropped = grouped(dropped);
            writeln!(out, "           {dropped} absent row{s} not used: repeated, present, or outside the key range")?;
        }
        writeln!(out, "Reads:     {}\n", self.io)?;
        let cell = |run, figure: fn(&RunFigures) -> Option<String>| figure(run).unwrap_or_else(|| "-".to_owned());
        let line = |(name, figure): &Line| {
            std::iter::once((*name).to_owned()).chain(self.runs.iter().map(|run| cell(run, *figure))).collect()
        };
        write!(out, "{}", output::table(&LINES.iter().map(line).collect::<Vec<_>>()))?;
        let yes = |yes| if yes { "yes" } else { "NO" };
        let matches = yes(self.runs.iter().all(|run| run.reads_match_os == Some(true)));
        writeln!(out, "\nAnswers identical in all runs:        {}", yes(self.answers_identical))?;
        writeln!(out, "Answers right:                        {}", yes(self.answers_wrong == 0))?;
        match self.os_counter {
            Some(counter) => {
                writeln!(out, "Reads equal to the system's count:    {matches} ({counter} of /proc/self/io)")?
            }
            None => writeln!(out, "Reads equal to the system's count:    not checked: no /proc/self/io here")?,
        }
        let warnings = self.runs.iter().flat_map(|run| &run.warnings);
        warnings.into_iter().try_for_each(|warning| writeln!(out, "Warning: {warning}"))
    }
}

/// The way in which the page cache is bypassed, if it is.
fn describe(bypass: &CacheBypass) -> String {
    match bypass {
        CacheBypass::Active => "page cache bypassed (O_DIRECT): a data-block read is a read of the device".to_owned(),
        CacheBypass::NotAsked => "through the page cache: times are those of cached reads".to_owned(),
        CacheBypass::Refused { reason } => {
            format!("through the page cache, so times are those of cached reads: {reason}")
        }
        other => format!("{other:?}"),
    }
}
