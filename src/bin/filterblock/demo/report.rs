//! What the runs came to, for people and for programs.

use super::data::Dataset;
use super::describe;
use super::measure::{Class, ClassMeasurement, Measurement, Plan};
use super::place::Place;
use crate::output::{Output, rate, table};
use filterblock::kv::{CacheBypass, Outcome};
use serde::Serialize;
use std::io::{self, Write};

/// Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct Report {
    dataset: String,
    rows: u64,
    cells: u64,
    tables: u64,
    data_blocks: u64,
    data_bytes: u64,
    lookups_per_class: u64,
    lookups_shortened: bool,
    absent_rows_dropped: u64,
    bits_per_key_asked: f64,
    direct_io: bool,
    io: String,
    /// Which counters of `/proc/self/io` the reads were checked against; `null` where there are none.
    os_counter: Option<&'static str>,
    answers_identical: bool,
    answers_wrong: u64,
    runs: Vec<RunReport>,
}

#[derive(Serialize)]
struct RunReport {
    filter: &'static str,
    bits_per_key: f64,
    filter_bytes: u64,
    load_seconds: f64,
    data_block_reads: u64,
    reads_avoided: u64,
    /// Reads that the run without filters made beyond this one's. What the ledger says was avoided must be this.
    reads_fewer_than_unfiltered: i64,
    absent_reads_avoided_share: f64,
    false_positives: u64,
    expected_false_positives: f64,
    observed_fpr: Option<f64>,
    predicted_fpr: Option<f64>,
    /// Of lookups for what is not there.
    p50_us: f64,
    p99_us: f64,
    p50_times_faster: f64,
    ledger_reads: u64,
    os_reads: Option<u64>,
    ledger_read_bytes: u64,
    os_read_bytes: Option<u64>,
    reads_match_os: Option<bool>,
    ledger_balanced: bool,
    answers_hash: String,
    classes: Vec<ClassReport>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ClassReport {
    class: &'static str,
    lookups: u64,
    table_lookups: u64,
    out_of_key_range: u64,
    avoided: u64,
    true_positives: u64,
    false_positives: u64,
    tombstones: u64,
    no_filter: u64,
    filter_unusable: u64,
    data_block_reads: u64,
    observed_fpr: Option<f64>,
    predicted_fpr: Option<f64>,
    p50_us: f64,
    p99_us: f64,
    answers_wrong: u64,
}

impl Report {
    /// `runs` begins with the one without filters.
    pub(super) fn new(bits_per_key: f64, data: &Dataset, plan: &Plan, place: &Place, runs: &[Measurement]) -> Self {
        let direct_io = runs.iter().all(|run| run.bypass == CacheBypass::Active);
        let os_counter = runs.iter().all(|run| run.os.is_some()).then_some(match direct_io {
            true => "syscr, read_bytes",
            false => "syscr, rchar",
        });
        let tables = runs.first().map_or(&[][..], |run| &run.stats.tables);
        Self {
            dataset: data.name.clone(),
            rows: data.rows.len() as u64,
            cells: data.num_cells(),
            tables: tables.len() as u64,
            data_blocks: tables.iter().map(|table| table.num_blocks).sum(),
            data_bytes: tables.iter().map(|table| table.data_bytes).sum(),
            lookups_per_class: plan.num_lookups(),
            lookups_shortened: plan.is_shortened(),
            absent_rows_dropped: data.num_absent_dropped,
            bits_per_key_asked: bits_per_key,
            direct_io,
            io: describe(place.bypass()),
            os_counter,
            answers_identical: runs.windows(2).all(|pair| pair[0].answers == pair[1].answers),
            answers_wrong: runs.iter().flat_map(|run| &run.classes).map(|class| class.num_wrong).sum(),
            runs: runs.iter().map(|run| RunReport::new(run, &runs[0])).collect(),
        }
    }

    /// Why the demo has failed; empty if it has not.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if !self.answers_identical {
            failures.push("the runs do not give identical answers".to_owned());
        }
        if self.answers_wrong > 0 {
            failures.push(format!("{} answers are wrong", self.answers_wrong));
        }
        for run in &self.runs {
            let name = run.filter;
            if run.reads_match_os == Some(false) {
                let of = |reads: Option<u64>| reads.map_or("?".to_owned(), |reads| reads.to_string());
                failures.push(format!(
                    "{name}: the ledger says {} reads of {} bytes, the operating system {} of {}",
                    run.ledger_reads,
                    run.ledger_read_bytes,
                    of(run.os_reads),
                    of(run.os_read_bytes)
                ));
            }
            if !run.ledger_balanced {
                failures.push(format!("{name}: the ledger's sums do not agree"));
            }
            if i64::try_from(run.reads_avoided) != Ok(run.reads_fewer_than_unfiltered) {
                failures.push(format!(
                    "{name}: the ledger says {} reads were avoided, but without filters there were {} more",
                    run.reads_avoided, run.reads_fewer_than_unfiltered
                ));
            }
        }
        failures
    }

    pub(super) fn print(&self, out: &mut Output) -> io::Result<()> {
        self.print_setting(out)?;
        let mut rows = vec![self.line("", |run| run.filter.to_owned())];
        rows.push(self.line("filter size, bits per key", |run| match run.filter_bytes {
            0 => "-".to_owned(),
            _ => format!("{:.2}", run.bits_per_key),
        }));
        rows.push(self.line("data-block reads", |run| grouped(run.data_block_reads)));
        for (i, class) in Class::ALL.into_iter().enumerate() {
            let name = format!("  for {}", plural(class));
            rows.push(self.line(&name, |run| grouped(run.classes[i].data_block_reads)));
        }
        rows.push(self.line("reads avoided by the filters", |run| grouped(run.reads_avoided)));
        rows.push(self.line("  share of reads for what is absent", |run| match run.filter_bytes {
            0 => "-".to_owned(),
            _ => format!("{:.2} %", run.absent_reads_avoided_share * 100.0),
        }));
        let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), rate);
        rows.push(self.line("false positives (reads in vain)", |run| match run.observed_fpr {
            None => "-".to_owned(),
            Some(_) => grouped(run.false_positives),
        }));
        rows.push(self.line("  rate observed", |run| or_dash(run.observed_fpr)));
        rows.push(self.line("  rate predicted from the filters' bits", |run| or_dash(run.predicted_fpr)));
        rows.push(self.line("time of an absent lookup, p50", |run| format!("{:.1} µs", run.p50_us)));
        rows.push(self.line("  p99", |run| format!("{:.1} µs", run.p99_us)));
        rows.push(self.line("  p50, times faster than without", |run| match run.filter_bytes {
            0 => "-".to_owned(),
            _ => format!("{:.0} x", run.p50_times_faster),
        }));
        rows.push(self.line("bytes read by the store's ledger", |run| grouped(run.ledger_read_bytes)));
        rows.push(self.line("  by the operating system's count", |run| match run.os_read_bytes {
            None => "not checked".to_owned(),
            Some(bytes) => grouped(bytes),
        }));
        table(out, &rows)?;
        self.print_verdict(out)
    }

    fn line(&self, name: &str, cell: impl Fn(&RunReport) -> String) -> Vec<String> {
        core::iter::once(name.to_owned()).chain(self.runs.iter().map(cell)).collect()
    }

    fn print_setting(&self, out: &mut Output) -> io::Result<()> {
        writeln!(out, "Data:      {}", self.dataset)?;
        writeln!(
            out,
            "           {} rows, {} cells, {} tables of {} data blocks, {} MiB",
            grouped(self.rows),
            grouped(self.cells),
            self.tables,
            grouped(self.data_blocks),
            self.data_bytes >> 20
        )?;
        let shortened = if self.lookups_shortened { " (fewer than usual: the disk is slow)" } else { "" };
        writeln!(
            out,
            "Questions: {} absent rows, as many absent columns of present rows, as many present cells{shortened}",
            grouped(self.lookups_per_class)
        )?;
        if self.absent_rows_dropped > 0 {
            let dropped = grouped(self.absent_rows_dropped);
            writeln!(out, "           {dropped} absent rows not used: repeated, present, or outside the key range")?;
        }
        writeln!(out, "Reads:     {}\n", self.io)
    }

    fn print_verdict(&self, out: &mut Output) -> io::Result<()> {
        let yes = |yes: bool| if yes { "yes" } else { "NO" };
        writeln!(out, "\nAnswers identical in all runs:        {}", yes(self.answers_identical))?;
        writeln!(out, "Answers right:                        {}", yes(self.answers_wrong == 0))?;
        let matches = match self.os_counter {
            None => "not checked: no /proc/self/io here".to_owned(),
            Some(counters) => {
                let all = self.runs.iter().all(|run| run.reads_match_os == Some(true));
                format!("{} ({counters} of /proc/self/io)", yes(all))
            }
        };
        writeln!(out, "Reads equal to the system's count:    {matches}")?;
        for warning in self.runs.iter().flat_map(|run| &run.warnings) {
            writeln!(out, "Warning: {warning}")?;
        }
        Ok(())
    }
}

impl RunReport {
    fn new(run: &Measurement, unfiltered: &Measurement) -> Self {
        let (ledger, nanos) = (run.ledger(), run.absent_nanos());
        let total = ledger.total();
        let filter_bytes = run.stats.tables.iter().map(|table| table.filter_bytes).sum();
        let filter_entries: u64 = run.stats.tables.iter().map(|table| table.filter_entries).sum();
        let absent_reads = |run: &Measurement| run.absent_ledger().data_block_reads() as f64;
        let ledger_reads = ledger.data_block_reads();
        let ledger_read_bytes = ledger.data_block_bytes();
        let unfiltered_reads = unfiltered.ledger().data_block_reads();
        Self {
            filter: run.policy.map_or("none", |policy| policy.kind().name()),
            bits_per_key: filter_bytes as f64 * 8.0 / filter_entries.max(1) as f64,
            filter_bytes,
            load_seconds: run.load.as_secs_f64(),
            data_block_reads: ledger_reads,
            reads_avoided: run.reads_avoided(),
            reads_fewer_than_unfiltered: unfiltered_reads as i64 - ledger_reads as i64,
            absent_reads_avoided_share: 1.0 - absent_reads(run) / absent_reads(unfiltered).max(1.0),
            false_positives: total.count(Outcome::FalsePositive),
            expected_false_positives: total.expected_false_positives,
            observed_fpr: total.observed_fpr(),
            predicted_fpr: total.predicted_fpr(),
            p50_us: percentile_us(&nanos, 50),
            p99_us: percentile_us(&nanos, 99),
            p50_times_faster: percentile_us(&unfiltered.absent_nanos(), 50) / percentile_us(&nanos, 50),
            ledger_reads,
            os_reads: run.os.map(|os| os.calls),
            ledger_read_bytes,
            os_read_bytes: run.os.map(|os| os.bytes),
            reads_match_os: run.os.map(|os| os.calls == ledger_reads && os.bytes == ledger_read_bytes),
            ledger_balanced: run.imbalance.is_none(),
            answers_hash: format!("{:#018x}", run.answers),
            classes: run.classes.iter().map(ClassReport::new).collect(),
            warnings: run.warnings.clone(),
        }
    }
}

impl ClassReport {
    fn new(class: &ClassMeasurement) -> Self {
        let total = class.ledger.total();
        Self {
            class: match class.class {
                Class::AbsentRow => "absent_row",
                Class::AbsentColumn => "absent_column",
                Class::PresentCell => "present_cell",
            },
            lookups: class.nanos.len() as u64,
            table_lookups: total.lookups,
            out_of_key_range: total.count(Outcome::OutOfKeyRange),
            avoided: total.count(Outcome::Avoided),
            true_positives: total.count(Outcome::TruePositive),
            false_positives: total.count(Outcome::FalsePositive),
            tombstones: total.count(Outcome::Tombstone),
            no_filter: total.count(Outcome::NoFilter),
            filter_unusable: total.count(Outcome::FilterUnusable),
            data_block_reads: total.data_block_reads,
            observed_fpr: total.observed_fpr(),
            predicted_fpr: total.predicted_fpr(),
            p50_us: percentile_us(&class.nanos, 50),
            p99_us: percentile_us(&class.nanos, 99),
            answers_wrong: class.num_wrong,
        }
    }
}

fn plural(class: Class) -> &'static str {
    match class {
        Class::AbsentRow => "absent rows",
        Class::AbsentColumn => "absent columns of present rows",
        Class::PresentCell => "present cells",
    }
}

/// The nearest-rank percentile of ascending `nanos`, in microseconds; 0 of none.
fn percentile_us(nanos: &[u64], percent: usize) -> f64 {
    let rank = (nanos.len() * percent).div_ceil(100).max(1);
    nanos.get(rank - 1).map_or(0.0, |&nanos| nanos as f64 / 1e3)
}

/// Digits in groups of three.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}
