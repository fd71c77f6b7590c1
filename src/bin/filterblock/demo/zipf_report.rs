//! What zipfian reads came to, for people and for programs.

use super::account::{Account, Verdict, os_counter};
use super::ask::percentile_us;
use super::data::Dataset;
use super::describe;
use super::lines::{Line, Lines, grouped, micros, share};
use super::measure::Plan;
use super::place::Place;
use super::setting::{DataFacts, Setting, bits_per_key};
use super::zipf::{Questions, ShareMeasurement, THETA, ZipfMeasurement};
use filterblock::FilterKind;
use filterblock::kv::{CacheBypass, Outcome};
use serde::Serialize;
use std::collections::HashSet;

/// Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct ZipfReport {
    workload: &'static str,
    theta: f64,
    #[serde(flatten)]
    data: DataFacts,
    lookups_per_share: u64,
    lookups_shortened: bool,
    absent_rows_dropped: u64,
    bits_per_key_asked: f64,
    direct_io: bool,
    io: String,
    /// Which counters of `/proc/self/io` the reads were checked against; `null` where there are none.
    os_counter: Option<&'static str>,
    answers_identical: bool,
    answers_wrong: u64,
    pub(super) shares: Vec<ShareReport>,
    warnings: Vec<String>,
    #[serde(skip)]
    pub(super) setting: Setting,
}

/// One share of absent cells.
#[derive(Serialize)]
pub(super) struct ShareReport {
    pub(super) absent_percent: u8,
    lookups: u64,
    absent_lookups: u64,
    /// Skew makes them fewer than lookups.
    distinct_cells: u64,
    pub(super) runs: Vec<ShareRunReport>,
}

#[derive(Serialize)]
pub(super) struct ShareRunReport {
    #[serde(skip)]
    pub(super) kind: Option<FilterKind>,
    pub(super) filter: &'static str,
    bits_per_key: f64,
    pub(super) data_block_reads: u64,
    reads_avoided: u64,
    /// Reads that the run without filters made beyond this one's. What the ledger says was avoided must be this.
    reads_fewer_than_unfiltered: i64,
    reads_avoided_share: f64,
    false_positives: u64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    pub(super) lookups_per_second: f64,
    throughput_times: f64,
    #[serde(flatten)]
    account: Account,
}

impl ZipfReport {
    /// `runs` begins with the one without filters.
    pub(super) fn new(
        bits_per_key: f64,
        (data, questions): (&Dataset, &Questions<'_>),
        absent_percents: &[u8],
        plan: &Plan,
        place: &Place,
        runs: &[ZipfMeasurement],
    ) -> Self {
        let direct_io = runs.iter().all(|run| run.bypass == CacheBypass::Active);
        let facts = DataFacts::new(data, runs.first().map(|run| &run.stats));
        let io = describe(place.bypass());
        let text = format!(
            "{} lookups of one cell for each share, zipfian (θ = {THETA}), popular keys scattered",
            grouped(plan.num_lookups())
        );
        let shares = || runs.iter().flat_map(|run| &run.shares);
        let share = |(i, percent): (usize, &u8)| ShareReport::new(*percent, questions, i, runs);
        Self {
            workload: "zipfian",
            theta: THETA,
            setting: Setting::new(&facts, data.num_absent_dropped, text, plan, &io),
            data: facts,
            lookups_per_share: plan.num_lookups(),
            lookups_shortened: plan.is_shortened(),
            absent_rows_dropped: data.num_absent_dropped,
            bits_per_key_asked: bits_per_key,
            direct_io,
            io,
            os_counter: os_counter(direct_io, shares().map(|share| share.os)),
            answers_identical: runs.windows(2).all(|pair| {
                let answers = |run: &ZipfMeasurement| run.shares.iter().map(|share| share.answers).collect::<Vec<_>>();
                answers(&pair[0]) == answers(&pair[1])
            }),
            answers_wrong: shares().map(|share| share.asked.num_wrong).sum(),
            shares: absent_percents.iter().enumerate().map(share).collect(),
            warnings: runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict<'_> {
        Verdict {
            answers_identical: self.answers_identical,
            answers_wrong: self.answers_wrong,
            os_counter: self.os_counter,
            accounts: self.shares.iter().flat_map(|share| &share.runs).map(|run| &run.account).collect(),
            warnings: self.warnings.iter().collect(),
        }
    }

    /// Why the demo has failed; empty if it has not.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = self.verdict().failures();
        for share in &self.shares {
            for run in &share.runs {
                let name = format!("{}, {} % absent", run.filter, share.absent_percent);
                failures.extend(run.account.failures(&name, run.reads_avoided, run.reads_fewer_than_unfiltered));
            }
        }
        failures
    }

    /// The figures of each share, the runs side by side.
    pub(super) fn lines(&self) -> Vec<Vec<Line>> {
        self.shares.iter().enumerate().map(|(i, share)| share.lines(&format!("/shares/{i}/runs"))).collect()
    }
}

impl ShareReport {
    fn new(percent: u8, questions: &Questions<'_>, place: usize, runs: &[ZipfMeasurement]) -> Self {
        let lookups = runs.first().map_or(0, |run| run.shares[place].asked.nanos.len() as u64);
        let questions = || questions.all(percent, lookups);
        Self {
            absent_percent: percent,
            lookups,
            absent_lookups: questions().filter(|question| question.expected.is_none()).count() as u64,
            distinct_cells: questions().map(|question| (question.row, question.column)).collect::<HashSet<_>>().len()
                as u64,
            runs: runs.iter().map(|run| ShareRunReport::new(run, place, &runs[0].shares[place])).collect(),
        }
    }

    fn lines(&self, pointer: &str) -> Vec<Line> {
        let of_filter = |run: &ShareRunReport, text: String| if run.kind.is_none() { "-".to_owned() } else { text };
        let mut lines = Lines::new(&self.runs, pointer);
        lines.add(&format!("{} % of lookups absent", self.absent_percent), "filter", |run| run.filter.to_owned());
        lines.add("data-block reads", "data_block_reads", |run| grouped(run.data_block_reads));
        lines.add("  avoided by the filters", "reads_avoided", |run| grouped(run.reads_avoided));
        lines.add("  share of all reads", "reads_avoided_share", |run| of_filter(run, share(run.reads_avoided_share)));
        lines.add("time of a lookup, p50", "p50_us", |run| micros(run.p50_us));
        lines.add("  p99", "p99_us", |run| micros(run.p99_us));
        lines.add("  p99.9", "p999_us", |run| micros(run.p999_us));
        lines.add("lookups per second", "lookups_per_second", |run| grouped(run.lookups_per_second.round() as u64));
        lines.add("  times as many as without", "throughput_times", |run| {
            of_filter(run, format!("{:.1} x", run.throughput_times))
        });
        lines.finish()
    }
}

impl ShareRunReport {
    fn new(run: &ZipfMeasurement, place: usize, unfiltered: &ShareMeasurement) -> Self {
        let share = &run.shares[place];
        let (ledger, nanos) = (share.asked.ledger, &share.asked.nanos);
        let (reads, unfiltered_reads) = (ledger.data_block_reads(), unfiltered.asked.ledger.data_block_reads());
        Self {
            kind: run.policy.map(|policy| policy.kind()),
            filter: run.policy.map_or("none", |policy| policy.kind().name()),
            bits_per_key: bits_per_key(&run.stats),
            data_block_reads: reads,
            reads_avoided: ledger.total().count(Outcome::Avoided),
            reads_fewer_than_unfiltered: unfiltered_reads as i64 - reads as i64,
            reads_avoided_share: 1.0 - reads as f64 / unfiltered_reads.max(1) as f64,
            false_positives: ledger.total().count(Outcome::FalsePositive),
            p50_us: percentile_us(nanos, 500),
            p99_us: percentile_us(nanos, 990),
            p999_us: percentile_us(nanos, 999),
            lookups_per_second: share.lookups_per_second(),
            throughput_times: share.lookups_per_second() / unfiltered.lookups_per_second(),
            account: Account::new(&ledger, share.os, run.imbalance.is_none(), share.answers),
        }
    }
}
