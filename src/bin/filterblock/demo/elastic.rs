//! The elastic workload: the same memory for filters of several levels, divided by the tables' sizes alone, and by the
//! lookups that were counted as well.

use super::ask::{self, Observed, Query};
use super::data::{Dataset, random};
use super::figures::Format::{Count, Micros, Text, Times};
use super::figures::{Figure, grouped, rows};
use super::measure::{NUM_WARM_UP, Plan};
use super::page::{Page, Plot};
use super::plot::bars::{Bar, Group, bars};
use super::report::{Account, Report, merged};
use super::session::Demo;
use super::stage::Levels;
use super::zipfian::{Ranks, THETA};
use crate::exit::Failure;
use filterblock::kv::{ColumnStats, Purpose, Stats, Store};
use filterblock::ledger::{Outcome, Tally};
use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterPolicy};
use maud::html;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

/// The part of the filters' bytes that memory holds unless a number is given.
const HELD_SHARE: f64 = 0.4;

/// Lookups that are counted before those that are measured: more than a store needs to solve anew.
const NUM_COUNTED: u64 = 40_000;

/// One lookup in this many is for a present cell.
const PRESENT_SHARE: u64 = 16;

/// What memory holds in each run. The first one's reads are those without filters.
const RUNS: [&str; 4] = ["nothing", "by sizes", "by sizes and lookups", "all columns"];

/// Loading, and the runs with either order.
pub(super) const NUM_STEPS: u64 = 1 + (Order::ALL.len() * RUNS.len()) as u64;

/// Below the row that names how popular rows lie.
const FIGURES: [Figure<'_>; 9] = [
    ("filters in memory, bytes", "filter_memory_bytes", Count),
    ("  columns held of each, least to most", "columns", Text),
    ("data-block reads", "data_block_reads", Count),
    ("  in vain: not denied, and not there", "reads_in_vain", Count),
    ("  as predicted from the filters' bits", "expected_reads_in_vain", Count),
    ("  in vain, times those by sizes alone", "reads_in_vain_times", Times(2)),
    ("time of a lookup, p50", "p50_us", Micros),
    ("  p99", "p99_us", Micros),
    ("  p99.9", "p999_us", Micros),
];

/// How popular rows lie among the others.
#[derive(Clone, Copy)]
enum Order {
    SideBySide,
    Scattered,
}

impl Order {
    const ALL: [Self; 2] = [Self::SideBySide, Self::Scattered];

    const fn name(self) -> &'static str {
        match self {
            Self::SideBySide => "side by side",
            Self::Scattered => "scattered",
        }
    }
}

/// The queries of all runs.
struct Queries<'a> {
    data: &'a Dataset,
    ranks: Ranks,
    /// Columns that no row has, one for each query: a key that comes again would be the same false positive each time.
    absent_columns: Vec<Vec<u8>>,
}

impl<'a> Queries<'a> {
    fn new(data: &'a Dataset, num: u64) -> Result<Self, Failure> {
        let column = |i: u64| format!("absent:{i}").into_bytes();
        Ok(Self { data, ranks: Ranks::new(data)?, absent_columns: (0..num).map(column).collect() })
    }

    fn query(&'a self, order: Order, i: u64) -> Query<'a> {
        let rank = self.ranks.draw(b"elastic rank", i);
        let place = match order {
            Order::SideBySide => rank - 1,
            Order::Scattered => random(b"elastic place", rank) % self.data.rows.len() as u64,
        };
        let row = &self.data.rows[place as usize];
        let choice = random(b"elastic choice", i);
        if choice % PRESENT_SHARE == 0 {
            let (column, value) = &row.columns[((choice >> 32) % row.columns.len() as u64) as usize];
            return Query { row: &row.row, column: Some(column), expected: Some(value) };
        }
        Query { row: &row.row, column: Some(&self.absent_columns[i as usize]), expected: None }
    }
}

/// Queries on a store as it was opened for one run.
struct Run {
    stats: Stats,
    observed: Observed,
    balanced: bool,
    warnings: Vec<String>,
}

/// Whether filters of this policy have columns.
fn has_columns(policy: &FilterPolicy) -> bool {
    let mut builder = FilterBlockBuilder::new(*policy);
    builder.add_key(b"key");
    let block = builder.finish().ok();
    block.is_some_and(|block| FilterBlockReader::open(&block).is_ok_and(|filter| filter.num_columns().is_some()))
}

pub(super) fn run(demo: &Demo<'_>) -> anyhow::Result<ExitCode> {
    let policies = demo.args.policies()?;
    let Some(policy) = policies.into_iter().flatten().find(has_columns) else {
        return Err(Failure::usage("demo", "filters of these kinds have no columns that could be left out").into());
    };
    demo.note("loading several levels".to_owned());
    let levels = Levels::set(&demo.data, policy, demo.place.path())?;
    let stored_bytes = levels.open(u64::MAX, true)?.stats().filter_memory_bytes;
    let memory_bytes = demo.args.filter_memory_bytes.unwrap_or((stored_bytes as f64 * HELD_SHARE) as u64);
    let mut plan = Plan::new(demo.args.lookups);
    let warm_up = Queries::new(&demo.data, NUM_WARM_UP)?;
    let store = levels.open(0, true)?;
    let started = Instant::now();
    ask::ask(&store, (0..NUM_WARM_UP).map(|i| warm_up.query(Order::SideBySide, i)))?;
    drop(store);
    let lookups = plan.decide(started.elapsed());
    let queries = Queries::new(&demo.data, NUM_COUNTED + lookups)?;
    let mut runs = Vec::new();
    for order in Order::ALL {
        for (name, bytes) in RUNS.into_iter().zip([0, memory_bytes, memory_bytes, u64::MAX]) {
            demo.note(format!("popular rows {}: {name}", order.name()));
            let is_counted = name == RUNS[2];
            let store = levels.open(bytes, !is_counted)?;
            if is_counted {
                ask::ask(&store, (0..NUM_COUNTED).map(|i| queries.query(order, i)))?;
                store.settle()?;
            }
            runs.push(measure(&store, (NUM_COUNTED..NUM_COUNTED + lookups).map(|i| queries.query(order, i)))?);
        }
    }
    levels.strike()?;
    demo.finish_progress();
    let report = report(demo, &plan, policy, (stored_bytes, memory_bytes), &runs);
    demo.publish(&report, || Ok(page(&report)))
}

fn measure<'a>(store: &Store, queries: impl Iterator<Item = Query<'a>>) -> anyhow::Result<Run> {
    let observed = ask::ask(store, queries)?;
    let warnings = store.warnings().iter().map(ToString::to_string).collect();
    Ok(Run { stats: store.stats(), observed, balanced: store.ledger_report().check().is_ok(), warnings })
}

fn report(
    demo: &Demo<'_>,
    plan: &Plan,
    policy: FilterPolicy,
    (stored_bytes, memory_bytes): (u64, u64),
    runs: &[Run],
) -> Report {
    let orders: Vec<&[Run]> = runs.chunks(RUNS.len()).collect();
    let mut accounts = Vec::new();
    for (order, &runs) in Order::ALL.into_iter().zip(&orders) {
        accounts.extend(RUNS.iter().zip(runs).map(|(name, run)| Account {
            name: format!("{name}, popular rows {}", order.name()),
            observed: &run.observed,
            unfiltered: &runs[0].observed,
            balanced: run.balanced,
        }));
    }
    let num_levels = runs[0].stats.tables.iter().map(|table| table.level).collect::<BTreeSet<_>>().len();
    let text = format!(
        "{} lookups of one cell, zipfian (θ = {THETA}), {} in {PRESENT_SHARE} of a column that its row does not have",
        grouped(plan.num_lookups() as f64),
        PRESENT_SHARE - 1
    );
    let warnings = runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect();
    let mut report = Report::new(demo.inputs(), plan, &runs[0].stats, text, &accounts, warnings);
    let kind = policy.kind_name();
    let filters = format!(
        "{kind}, {} bytes in tables of {num_levels} levels; memory for {} bytes",
        grouped(stored_bytes as f64),
        grouped(memory_bytes as f64)
    );
    report.facts.push(("Filters", vec![filters]));
    let lookups = format!("{} lookups counted before those that are measured", grouped(NUM_COUNTED as f64));
    report.facts.push(("Ledger", vec![lookups]));
    let of_order = |((order, runs), accounts): ((Order, &&[Run]), &[Account<'_>])| {
        let by_sizes = in_vain(&runs[1].observed).0;
        let fields = |index: usize| merged(accounts[index].json(), run_json(RUNS[index], &runs[index], by_sizes));
        json!({ "popular_rows": order.name(), "runs": (0..RUNS.len()).map(fields).collect::<Vec<_>>() })
    };
    let with_accounts = Order::ALL.into_iter().zip(&orders).zip(accounts.chunks(RUNS.len()));
    let document = json!({
        "theta": THETA,
        "kind": kind,
        "levels": num_levels,
        "lookups_counted": NUM_COUNTED,
        "lookups_per_run": plan.num_lookups(),
        "filter_bytes_stored": stored_bytes,
        "filter_memory_bytes_max": memory_bytes,
        "orders": with_accounts.map(of_order).collect::<Vec<_>>(),
    });
    report.document = merged(std::mem::take(&mut report.document), document);
    let table = |(i, order): (usize, Order)| {
        let head = format!("popular rows {}", order.name());
        let figures = [&[(head.as_str(), "held", Text)], &FIGURES[..]].concat();
        ("", rows(&report.document, &format!("/orders/{i}/runs"), &figures))
    };
    report.tables = Order::ALL.into_iter().enumerate().map(table).collect();
    report
}

/// Data blocks read for keys that their tables do not have: how many, and how many were expected of the filters.
fn in_vain(observed: &Observed) -> (u64, f64) {
    let tally: &Tally = observed.ledger.of(Purpose::RowColumn);
    let unfiltered = tally.count(Outcome::NoFilter) - tally.unfiltered_found;
    (tally.count(Outcome::FalsePositive) + unfiltered, tally.expected_false_positives + unfiltered as f64)
}

fn run_json(name: &str, run: &Run, by_sizes: u64) -> Value {
    let columns = || {
        let filters = run.stats.tables.iter().flat_map(|table| &table.filters);
        filters.filter_map(|filter| filter.columns).map(|columns: ColumnStats| columns.held)
    };
    let (observed, expected) = in_vain(&run.observed);
    json!({
        "held": name,
        "filter_memory_bytes": run.stats.filter_memory_bytes,
        "columns": format!("{} to {}", columns().min().unwrap_or(0), columns().max().unwrap_or(0)),
        "reads_in_vain": observed,
        "expected_reads_in_vain": expected,
        "reads_in_vain_times": observed as f64 / by_sizes.max(1) as f64,
    })
}

fn page(report: &Report) -> Page {
    let bar = |run: &Value| Bar {
        name: run["held"].as_str().unwrap_or_default().to_owned(),
        value: run["reads_in_vain"].as_f64().unwrap_or(0.0),
    };
    let group = |order: &Value| Group {
        title: format!("popular rows {}", order["popular_rows"].as_str().unwrap_or_default()),
        // Without filters all reads are, and the others' bars would be too short to be compared.
        bars: order["runs"].as_array().into_iter().flatten().skip(1).map(bar).collect(),
    };
    let groups: Vec<_> = report.elements("/orders").iter().map(group).collect();
    let title = "Reads in vain with the same memory for filters";
    Page {
        title,
        intro: "Tables store more columns of their filters than memory holds. Which it holds is chosen for each table, \
                first by the tables' sizes alone, then by the lookups that the ledger counted as well.",
        headline: html! {},
        plots: vec![Plot {
            id: "in-vain",
            title,
            legend: Vec::new(),
            drawing: bars(title, "reads in vain", &groups),
            caption: "Where popular rows lie side by side, few tables get most lookups, and their filters the memory. \
                      Where they are scattered, tables of a level are as popular as each other, and sizes tell all."
                .to_owned(),
        }],
        tables: Vec::new(),
    }
}
