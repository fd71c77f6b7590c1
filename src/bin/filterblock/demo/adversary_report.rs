//! What the attack came to, for people and for programs.

use super::account::{Account, Verdict, os_counter};
use super::adversary::{AdversaryMeasurement, Step, StepMeasurement};
use super::ask::percentile_us;
use super::craft::KNOWN_SEED;
use super::data::Dataset;
use super::describe;
use super::lines::{Line, Lines, grouped, micros, rate_or_dash, share};
use super::measure::Plan;
use super::place::Place;
use super::setting::{DataFacts, Setting, bits_per_key};
use crate::output::hex;
use filterblock::FilterKind;
use filterblock::kv::{CacheBypass, Outcome, Tally};
use serde::Serialize;

/// Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct AdversaryReport {
    workload: &'static str,
    #[serde(flatten)]
    data: DataFacts,
    /// Fewer were asked where fewer could be crafted.
    crafted_rows_max: u64,
    lookups_shortened: bool,
    absent_rows_dropped: u64,
    bits_per_key_asked: f64,
    seed_known: String,
    direct_io: bool,
    io: String,
    /// Which counters of `/proc/self/io` the reads were checked against; `null` where there are none.
    os_counter: Option<&'static str>,
    answers_identical: bool,
    answers_wrong: u64,
    pub(super) runs: Vec<AttackReport>,
    warnings: Vec<String>,
    #[serde(skip)]
    pub(super) setting: Setting,
}

/// The attack on the filters of one kind.
#[derive(Serialize)]
pub(super) struct AttackReport {
    #[serde(skip)]
    pub(super) kind: FilterKind,
    pub(super) filter: &'static str,
    bits_per_key: f64,
    /// Absent rows that the attacker asked his copy of the filters.
    candidates_tried: u64,
    candidates_passed: u64,
    candidates_per_crafted_row: f64,
    crafting_seconds: f64,
    crafted_rows: u64,
    /// Length of the files of filters that were written with the first secret seed.
    rebuild_bytes: u64,
    rebuild_seconds: f64,
    /// Whether the tables' files are after building filters again twice as they were before.
    tables_untouched: bool,
    /// Of all steps.
    ledger_read_bytes: u64,
    os_read_bytes: Option<u64>,
    pub(super) steps: Vec<StepReport>,
}

#[derive(Serialize)]
pub(super) struct StepReport {
    #[serde(skip)]
    step: Step,
    #[serde(rename = "step")]
    name: &'static str,
    /// Whether the attacker knows the seed.
    seed: &'static str,
    lookups: u64,
    lookups_with_reads: u64,
    lookups_with_reads_share: Option<f64>,
    pub(super) data_block_reads: u64,
    reads_avoided: u64,
    /// Reads that the store without filters made beyond these for the same questions. What the ledger says was avoided
    /// must be this.
    reads_fewer_than_unfiltered: i64,
    false_positives: u64,
    expected_false_positives: f64,
    observed_fpr: Option<f64>,
    predicted_fpr: Option<f64>,
    /// Four standard errors of the observed rate, were the rows not chosen.
    observed_fpr_four_sigma: Option<f64>,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    #[serde(flatten)]
    account: Account,
}

impl AdversaryReport {
    pub(super) fn new(
        bits_per_key: f64,
        data: &Dataset,
        plan: &Plan,
        place: &Place,
        runs: &[AdversaryMeasurement],
    ) -> Self {
        let direct_io = runs.iter().all(|run| run.bypass == CacheBypass::Active);
        let facts = DataFacts::new(data, runs.first().map(|run| &run.stats));
        let io = describe(place.bypass());
        let steps = || runs.iter().flat_map(|run| &run.steps);
        Self {
            workload: "adversary",
            setting: setting(&facts, data, plan, &io),
            data: facts,
            crafted_rows_max: plan.num_lookups(),
            lookups_shortened: plan.is_shortened(),
            absent_rows_dropped: data.num_absent_dropped,
            bits_per_key_asked: bits_per_key,
            seed_known: hex(KNOWN_SEED),
            direct_io,
            io,
            os_counter: os_counter(direct_io, steps().map(|step| step.observed.os)),
            answers_identical: steps().all(|step| step.answers_identical),
            answers_wrong: steps().map(|step| step.observed.asked.num_wrong).sum(),
            runs: runs.iter().map(AttackReport::new).collect(),
            warnings: runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict<'_> {
        Verdict {
            answers_identical: self.answers_identical,
            answers_wrong: self.answers_wrong,
            os_counter: self.os_counter,
            accounts: self.runs.iter().flat_map(|run| &run.steps).map(|step| &step.account).collect(),
            warnings: self.warnings.iter().collect(),
        }
    }

    /// Why the demo has failed; empty if it has not.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = self.verdict().failures();
        for run in &self.runs {
            if !run.tables_untouched {
                failures.push(format!("{}: building filters again has changed a table", run.filter));
            }
            failures.extend(run.steps.iter().flat_map(|step| step.failures(run.filter)));
        }
        failures
    }

    /// The figures of all kinds side by side.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Lines::new(&self.runs, "/runs");
        lines.add("", "filter", |run| run.filter.to_owned());
        lines.add("filter size, bits per key", "bits_per_key", |run| format!("{:.2}", run.bits_per_key));
        lines.add("absent rows tried by the attacker at home", "candidates_tried", |run| grouped(run.candidates_tried));
        lines.add("  time", "crafting_seconds", |run| seconds(run.crafting_seconds));
        lines.add("  crafted rows: those that a filter passes", "crafted_rows", |run| grouped(run.crafted_rows));
        lines.add("  tried for each", "candidates_per_crafted_row", |run| {
            format!("{:.0}", run.candidates_per_crafted_row)
        });
        add_step(&mut lines, "seed known: reads for ordinary absent rows", Step::Ordinary, READS);
        add_step(&mut lines, "  reads for crafted rows, as many", Step::Crafted, READS);
        add_step(&mut lines, "  ordinary rows that cost a read", Step::Ordinary, SHARE);
        add_step(&mut lines, "  crafted rows that cost a read", Step::Crafted, SHARE);
        lines.add("filters built again, data untouched: time", "rebuild_seconds", |run| seconds(run.rebuild_seconds));
        lines.add("  bytes written", "rebuild_bytes", |run| grouped(run.rebuild_bytes));
        add_step(&mut lines, "secret seed: reads for the crafted rows", Step::CraftedSecret, READS);
        add_step(&mut lines, "  crafted rows that cost a read", Step::CraftedSecret, SHARE);
        let rate: Figure = ("observed_fpr", |step| rate_or_dash(step.observed_fpr));
        add_step(&mut lines, "  rate of false positives observed", Step::CraftedSecret, rate);
        let rate: Figure = ("predicted_fpr", |step| rate_or_dash(step.predicted_fpr));
        add_step(&mut lines, "  rate predicted from the filters' bits", Step::CraftedSecret, rate);
        let rate: Figure = ("observed_fpr_four_sigma", |step| rate_or_dash(step.observed_fpr_four_sigma));
        add_step(&mut lines, "  four standard errors", Step::CraftedSecret, rate);
        let asked: Figure = ("lookups", |step| grouped(step.lookups));
        add_step(&mut lines, "replay: rows seen to cost a read, asked again", Step::Replay, asked);
        add_step(&mut lines, "  that cost a read", Step::Replay, SHARE);
        add_step(&mut lines, "  with another secret seed", Step::ReplayRenewed, SHARE);
        let p50: Figure = ("p50_us", |step| micros(step.p50_us));
        add_step(&mut lines, "time of a lookup, p50: ordinary absent row", Step::Ordinary, p50);
        add_step(&mut lines, "  crafted row, seed known", Step::Crafted, p50);
        add_step(&mut lines, "  crafted row, secret seed", Step::CraftedSecret, p50);
        lines.add("bytes read by the store's ledger", "ledger_read_bytes", |run| grouped(run.ledger_read_bytes));
        lines.add("  by the operating system's count", "os_read_bytes", |run| {
            run.os_read_bytes.map_or("not checked".to_owned(), grouped)
        });
        lines.finish()
    }
}

fn setting(facts: &DataFacts, data: &Dataset, plan: &Plan, io: &str) -> Setting {
    let questions = format!(
        "{} absent rows crafted against each kind of filter, as many ordinary ones, as many present cells",
        grouped(plan.num_lookups())
    );
    let mut setting = Setting::new(facts, data.num_absent_dropped, questions, plan, io);
    let attacker = [
        format!("knows what is in each table, and the seed of its filters: {KNOWN_SEED}, as a default would be"),
        "tries absent rows of natural form on filters of his own, and keeps what one lets pass".to_owned(),
    ];
    setting.facts.push(("Attacker", attacker.to_vec()));
    setting
}

/// A field of a step's JSON object, and its text.
type Figure = (&'static str, fn(&StepReport) -> String);

const READS: Figure = ("data_block_reads", |step| grouped(step.data_block_reads));
const SHARE: Figure = ("lookups_with_reads_share", |step| step.lookups_with_reads_share.map_or("-".to_owned(), share));

fn add_step(lines: &mut Lines<'_, AttackReport>, name: &str, step: Step, (field, text): Figure) {
    let place = step as usize;
    lines.add(name, &format!("steps/{place}/{field}"), |run| text(&run.steps[place]));
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

impl AttackReport {
    fn new(run: &AdversaryMeasurement) -> Self {
        let crafted_rows = run.crafted.rows.len() as u64;
        let steps: Vec<_> = run.steps.iter().map(|step| StepReport::new(step, run.imbalance.is_none())).collect();
        Self {
            kind: run.policy.kind(),
            filter: run.policy.kind().name(),
            bits_per_key: bits_per_key(&run.stats),
            candidates_tried: run.crafted.num_tried,
            candidates_passed: run.crafted.num_passed,
            candidates_per_crafted_row: run.crafted.num_tried as f64 / crafted_rows.max(1) as f64,
            crafting_seconds: run.crafted.time.as_secs_f64(),
            crafted_rows,
            rebuild_bytes: run.rebuild.bytes,
            rebuild_seconds: run.rebuild.time.as_secs_f64(),
            tables_untouched: run.tables_untouched,
            ledger_read_bytes: steps.iter().map(|step| step.account.ledger_read_bytes).sum(),
            os_read_bytes: steps.iter().map(|step| step.account.os_read_bytes).sum(),
            steps,
        }
    }
}

impl StepReport {
    fn new(measured: &StepMeasurement, balanced: bool) -> Self {
        let (step, observed) = (measured.step, &measured.observed);
        let (ledger, nanos) = (observed.asked.ledger, &observed.asked.nanos);
        let (total, lookups) = (ledger.total(), nanos.len() as u64);
        let lookups_with_reads = observed.reads.iter().filter(|reads| **reads > 0).count() as u64;
        Self {
            step,
            name: step.name(),
            seed: step.seed(),
            lookups,
            lookups_with_reads,
            lookups_with_reads_share: (lookups > 0).then(|| lookups_with_reads as f64 / lookups as f64),
            data_block_reads: ledger.data_block_reads(),
            reads_avoided: total.count(Outcome::Avoided),
            reads_fewer_than_unfiltered: measured.unfiltered_reads as i64 - ledger.data_block_reads() as i64,
            false_positives: total.count(Outcome::FalsePositive),
            expected_false_positives: total.expected_false_positives,
            observed_fpr: total.observed_fpr(),
            predicted_fpr: total.predicted_fpr(),
            observed_fpr_four_sigma: four_sigma(&total),
            p50_us: percentile_us(nanos, 500),
            p99_us: percentile_us(nanos, 990),
            p999_us: percentile_us(nanos, 999),
            account: Account::new(&ledger, observed.os, balanced, observed.answers),
        }
    }

    /// What is not as it must be with the filter `filter`: who knows the seed, or has seen which rows are slow, makes
    /// every question cost a read, and to everybody else filters are as good as they predict.
    fn failures(&self, filter: &str) -> Vec<String> {
        let name = format!("{filter}, {}", self.name);
        let mut failures = self.account.failures(&name, self.reads_avoided, self.reads_fewer_than_unfiltered);
        match self.step {
            Step::Crafted | Step::Replay if self.lookups_with_reads < self.lookups => {
                failures.push(format!("{name}: only {} of {} rows cost a read", self.lookups_with_reads, self.lookups));
            }
            Step::Ordinary | Step::CraftedSecret if !self.agrees() => failures.push(format!(
                "{name}: {} false positives, {:.1} predicted: not within four standard errors",
                self.false_positives, self.expected_false_positives
            )),
            // A cell takes one read; of the few rows that were slow, too few are left to hold a rate against.
            _ => {}
        }
        failures
    }

    /// Whether the observed rate of false positives is the predicted one, within four standard errors.
    fn agrees(&self) -> bool {
        match (self.observed_fpr, self.predicted_fpr, self.observed_fpr_four_sigma) {
            (Some(observed), Some(predicted), Some(four_sigma)) => (observed - predicted).abs() <= four_sigma,
            _ => false,
        }
    }
}

/// Four standard errors of a rate of false positives, binomial: each row is asked once.
fn four_sigma(tally: &Tally) -> Option<f64> {
    let rate = tally.predicted_fpr()?;
    Some(4.0 * (rate * (1.0 - rate) / tally.absent_asked() as f64).sqrt())
}
