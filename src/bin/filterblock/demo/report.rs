//! What the runs came to, for people and for programs.

use super::account::{Account, Verdict, os_counter};
use super::ask::{Class, percentile_us};
use super::data::Dataset;
use super::describe;
use super::lines::{Line, Lines, grouped, micros, rate_or_dash, share};
use super::measure::{ClassMeasurement, Measurement, Plan};
use super::place::Place;
use super::setting::{DataFacts, Setting, bits_per_key};
use super::tables::TableReport;
use filterblock::FilterKind;
use filterblock::kv::{CacheBypass, Outcome};
use serde::Serialize;

/// Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    data: DataFacts,
    lookups_per_class: u64,
    lookups_shortened: bool,
    absent_rows_dropped: u64,
    pub(super) bits_per_key_asked: f64,
    direct_io: bool,
    io: String,
    /// Which counters of `/proc/self/io` the reads were checked against; `null` where there are none.
    os_counter: Option<&'static str>,
    answers_identical: bool,
    answers_wrong: u64,
    workload: &'static str,
    pub(super) runs: Vec<RunReport>,
    #[serde(skip)]
    pub(super) setting: Setting,
}

#[derive(Serialize)]
pub(super) struct RunReport {
    #[serde(skip)]
    pub(super) kind: Option<FilterKind>,
    pub(super) filter: &'static str,
    pub(super) bits_per_key: f64,
    pub(super) filter_bytes: u64,
    load_seconds: f64,
    pub(super) data_block_reads: u64,
    reads_avoided: u64,
    /// Reads that the run without filters made beyond this one's. What the ledger says was avoided must be this.
    reads_fewer_than_unfiltered: i64,
    pub(super) absent_reads_avoided_share: f64,
    false_positives: u64,
    expected_false_positives: f64,
    pub(super) observed_fpr: Option<f64>,
    predicted_fpr: Option<f64>,
    /// Four standard errors of the observed rate.
    pub(super) observed_fpr_four_sigma: Option<f64>,
    /// Of lookups for what is not there.
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    p50_times_faster: f64,
    #[serde(flatten)]
    account: Account,
    pub(super) classes: Vec<ClassReport>,
    pub(super) per_table: Vec<TableReport>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct ClassReport {
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
    pub(super) data_block_reads: u64,
    observed_fpr: Option<f64>,
    predicted_fpr: Option<f64>,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    answers_wrong: u64,
}

impl Report {
    /// `runs` begins with the one without filters.
    pub(super) fn new(bits_per_key: f64, data: &Dataset, plan: &Plan, place: &Place, runs: &[Measurement]) -> Self {
        let direct_io = runs.iter().all(|run| run.bypass == CacheBypass::Active);
        let facts = DataFacts::new(data, runs.first().map(|run| &run.stats));
        let io = describe(place.bypass());
        let questions = format!(
            "{} absent rows, as many absent columns of present rows, as many present cells",
            grouped(plan.num_lookups())
        );
        Self {
            setting: Setting::new(&facts, data.num_absent_dropped, questions, plan, &io),
            data: facts,
            lookups_per_class: plan.num_lookups(),
            lookups_shortened: plan.is_shortened(),
            absent_rows_dropped: data.num_absent_dropped,
            bits_per_key_asked: bits_per_key,
            direct_io,
            io,
            os_counter: os_counter(direct_io, runs.iter().map(|run| run.os)),
            answers_identical: runs.windows(2).all(|pair| pair[0].answers == pair[1].answers),
            answers_wrong: runs.iter().flat_map(|run| &run.classes).map(|class| class.asked.num_wrong).sum(),
            workload: "uniform",
            runs: runs.iter().map(|run| RunReport::new(run, &runs[0])).collect(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict<'_> {
        Verdict {
            answers_identical: self.answers_identical,
            answers_wrong: self.answers_wrong,
            os_counter: self.os_counter,
            accounts: self.runs.iter().map(|run| &run.account).collect(),
            warnings: self.runs.iter().flat_map(|run| &run.warnings).collect(),
        }
    }

    /// Why the demo has failed; empty if it has not.
    pub(super) fn failures(&self) -> Vec<String> {
        let of_run =
            |run: &RunReport| run.account.failures(run.filter, run.reads_avoided, run.reads_fewer_than_unfiltered);
        [self.verdict().failures(), self.runs.iter().flat_map(of_run).collect()].concat()
    }

    /// The figures of the runs side by side.
    pub(super) fn lines(&self) -> Vec<Line> {
        let of_filter = |run: &RunReport, text: String| if run.kind.is_none() { "-".to_owned() } else { text };
        let mut lines = Lines::new(&self.runs, "/runs");
        lines.add("", "filter", |run| run.filter.to_owned());
        lines
            .add("filter size, bits per key", "bits_per_key", |run| of_filter(run, format!("{:.2}", run.bits_per_key)));
        lines.add("data-block reads", "data_block_reads", |run| grouped(run.data_block_reads));
        for (i, class) in Class::ALL.into_iter().enumerate() {
            let (name, field) = (format!("  for {}", class.plural()), format!("classes/{i}/data_block_reads"));
            lines.add(&name, &field, |run| grouped(run.classes[i].data_block_reads));
        }
        lines.add("reads avoided by the filters", "reads_avoided", |run| grouped(run.reads_avoided));
        lines.add("  share of reads for what is absent", "absent_reads_avoided_share", |run| {
            of_filter(run, share(run.absent_reads_avoided_share))
        });
        lines.add("false positives (reads in vain)", "false_positives", |run| match run.observed_fpr {
            None => "-".to_owned(),
            Some(_) => grouped(run.false_positives),
        });
        lines.add("  rate observed", "observed_fpr", |run| rate_or_dash(run.observed_fpr));
        lines.add("  rate predicted from the filters' bits", "predicted_fpr", |run| rate_or_dash(run.predicted_fpr));
        lines.add("time of an absent lookup, p50", "p50_us", |run| micros(run.p50_us));
        lines.add("  p99", "p99_us", |run| micros(run.p99_us));
        lines.add("  p50, times faster than without", "p50_times_faster", |run| {
            of_filter(run, format!("{:.0} x", run.p50_times_faster))
        });
        let bytes = |run: &RunReport| grouped(run.account.ledger_read_bytes);
        lines.add("bytes read by the store's ledger", "ledger_read_bytes", bytes);
        lines.add("  by the operating system's count", "os_read_bytes", |run| match run.account.os_read_bytes {
            None => "not checked".to_owned(),
            Some(bytes) => grouped(bytes),
        });
        lines.finish()
    }

    /// Times of each class of question.
    pub(super) fn time_lines(&self) -> Vec<Line> {
        let mut lines = Lines::new(&self.runs, "/runs");
        lines.add("", "filter", |run| run.filter.to_owned());
        for (i, class) in Class::ALL.into_iter().enumerate() {
            let field = |name: &str| format!("classes/{i}/{name}");
            lines.add(&format!("{}, p50", class.plural()), &field("p50_us"), |run| micros(run.classes[i].p50_us));
            lines.add("  p99", &field("p99_us"), |run| micros(run.classes[i].p99_us));
            lines.add("  p99.9", &field("p999_us"), |run| micros(run.classes[i].p999_us));
        }
        lines.finish()
    }
}

impl RunReport {
    fn new(run: &Measurement, unfiltered: &Measurement) -> Self {
        let (ledger, nanos) = (run.ledger(), run.absent_nanos());
        let total = ledger.total();
        let filter_bytes = run.stats.tables.iter().map(|table| table.filter_bytes).sum();
        let absent_reads = |run: &Measurement| run.absent_ledger().data_block_reads() as f64;
        let ledger_reads = ledger.data_block_reads();
        let unfiltered_reads = unfiltered.ledger().data_block_reads();
        Self {
            kind: run.policy.map(|policy| policy.kind()),
            filter: run.policy.map_or("none", |policy| policy.kind().name()),
            bits_per_key: bits_per_key(&run.stats),
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
            observed_fpr_four_sigma: run.four_sigma(&ledger),
            p50_us: percentile_us(&nanos, 500),
            p99_us: percentile_us(&nanos, 990),
            p999_us: percentile_us(&nanos, 999),
            p50_times_faster: percentile_us(&unfiltered.absent_nanos(), 500) / percentile_us(&nanos, 500),
            account: Account::new(&ledger, run.os, run.imbalance.is_none(), run.answers),
            classes: run.classes.iter().map(ClassReport::new).collect(),
            per_table: run.stats.tables.iter().map(|table| TableReport::new(table, run)).collect(),
            warnings: run.warnings.clone(),
        }
    }
}

impl ClassReport {
    fn new(class: &ClassMeasurement) -> Self {
        let (total, nanos) = (class.asked.ledger.total(), &class.asked.nanos);
        Self {
            class: class.class.name(),
            lookups: nanos.len() as u64,
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
            p50_us: percentile_us(nanos, 500),
            p99_us: percentile_us(nanos, 990),
            p999_us: percentile_us(nanos, 999),
            answers_wrong: class.asked.num_wrong,
        }
    }
}
