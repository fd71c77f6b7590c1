//! The zipfian workload: reads as skewed as those of YCSB's workload C, one cell at a time.

use super::ask::{Observed, Query};
use super::data::{Dataset, random};
use super::figures::Format::{Count, Micros, Share, Text, Times};
use super::figures::{Figure, grouped, rows};
use super::measure::{self, Plan, Run};
use super::page::{Page, Plot};
use super::plot::bars::{Bar, Group, bars};
use super::report::{Account, Report, bits_per_key, merged};
use super::session::Demo;
use crate::exit::Failure;
use maud::html;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Zipf};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::process::ExitCode;

/// YCSB's default skew (Cooper et al., *Benchmarking Cloud Serving Systems with YCSB*, SoCC 2010; `ZIPFIAN_CONSTANT` in
/// its sources).
pub(super) const THETA: f64 = 0.99;

const DEFAULT_ABSENT_PERCENTS: [u8; 5] = [0, 10, 50, 90, 100];

/// Below the row that names the share.
const FIGURES: [Figure<'_>; 8] = [
    ("data-block reads", "data_block_reads", Count),
    ("  avoided by the filters", "reads_avoided", Count),
    ("  share of all reads", "reads_avoided_share", Share),
    ("time of a lookup, p50", "p50_us", Micros),
    ("  p99", "p99_us", Micros),
    ("  p99.9", "p999_us", Micros),
    ("lookups per second", "lookups_per_second", Count),
    ("  times as many as without", "throughput_times", Times(1)),
];

/// The popularity of the rows, by rank: from 1, the most popular.
pub(super) struct Ranks(Zipf<f64>);

impl Ranks {
    pub(super) fn new(data: &Dataset) -> Result<Self, Failure> {
        Ok(Self(Zipf::new(data.rows.len() as f64, THETA).map_err(|error| Failure::usage("demo", error))?))
    }

    /// Rank `i` of a stream, the same on every machine.
    pub(super) fn draw(&self, stream: &[u8], i: u64) -> u64 {
        self.0.sample(&mut Xoshiro256PlusPlus::seed_from_u64(random(stream, i))) as u64
    }
}

/// The queries of all shares, the same for every run.
struct Queries<'a> {
    data: &'a Dataset,
    ranks: Ranks,
}

impl<'a> Queries<'a> {
    fn new(data: &'a Dataset) -> Result<Self, Failure> {
        Ok(Self { data, ranks: Ranks::new(data)? })
    }

    /// Query `i` where `absent_percent` of all are for absent cells: half of them for a column that its row does not
    /// have, half for a column of an absent row.
    ///
    /// Ranks are scattered over the key space by a hash, as in YCSB's scrambled distribution, so that popular keys do
    /// not lie side by side.
    fn query(&self, absent_percent: u8, i: u64) -> Query<'a> {
        let scattered = random(b"zipfian place", self.ranks.draw(b"zipfian rank", i));
        let row = &self.data.rows[(scattered % self.data.rows.len() as u64) as usize];
        let choice = random(b"zipfian choice", i);
        let (column, value) = &row.columns[((choice >> 32) % row.columns.len() as u64) as usize];
        if choice % 100 >= u64::from(absent_percent) {
            return Query { row: &row.row, column: Some(column), expected: Some(value) };
        }
        if (choice >> 16) % 2 == 0 {
            return Query { row: &row.row, column: Some(&row.absent_column), expected: None };
        }
        let absent_row = &self.data.absent_rows[(scattered % self.data.absent_rows.len() as u64) as usize];
        Query { row: absent_row, column: Some(column), expected: None }
    }

    fn all(&self, absent_percent: u8, num: u64) -> impl Iterator<Item = Query<'a>> {
        (0..num).map(move |i| self.query(absent_percent, i))
    }
}

pub(super) fn run(demo: &Demo<'_>) -> anyhow::Result<ExitCode> {
    let percents = match demo.args.absent_percents.as_slice() {
        [] => &DEFAULT_ABSENT_PERCENTS,
        percents => percents,
    };
    let queries = &Queries::new(&demo.data)?;
    let mut plan = Plan::new(demo.args.lookups);
    let series: Vec<_> = percents.iter().map(|&percent| move |i| queries.query(percent, i)).collect();
    let runs = demo.each_policy(|policy| measure::run(&demo.data, &series, &mut plan, policy, demo.place.path()))?;
    let mut accounts = Vec::new();
    for (place, percent) in percents.iter().enumerate() {
        accounts.extend(runs.iter().map(|run| Account {
            name: format!("{}, {percent} % absent", run.filter),
            observed: &run.series[place],
            unfiltered: &runs[0].series[place],
            balanced: run.balanced,
        }));
    }
    let lookups = plan.num_lookups();
    let text = format!(
        "{} lookups of one cell for each share, zipfian (θ = {THETA}), popular keys scattered",
        grouped(lookups as f64)
    );
    let warnings = runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect();
    let mut report = Report::new(demo.inputs(), &plan, &runs[0].stats, text, &accounts, warnings);
    let share = |(percent, accounts): (&u8, &[Account<'_>])| {
        let fields = |(run, account): (&Run, &Account<'_>)| run_json(run, account);
        let absent = queries.all(*percent, lookups).filter(|query| query.expected.is_none()).count();
        // Skew makes them fewer than lookups.
        let distinct: HashSet<_> = queries.all(*percent, lookups).map(|query| (query.row, query.column)).collect();
        json!({
            "absent_percent": percent,
            "lookups": lookups,
            "absent_lookups": absent,
            "distinct_cells": distinct.len(),
            "runs": runs.iter().zip(accounts).map(fields).collect::<Vec<_>>(),
        })
    };
    report.document["theta"] = THETA.into();
    report.document["lookups_per_share"] = lookups.into();
    report.document["shares"] = percents.iter().zip(accounts.chunks(runs.len())).map(share).collect();
    let table = |(i, percent): (usize, &u8)| {
        let head = format!("{percent} % of lookups absent");
        let figures = [&[(head.as_str(), "filter", Text)], &FIGURES[..]].concat();
        ("", rows(&report.document, &format!("/shares/{i}/runs"), &figures))
    };
    report.tables = percents.iter().enumerate().map(table).collect();
    demo.publish(&report, || Ok(page(&report)))
}

fn run_json(run: &Run, account: &Account<'_>) -> Value {
    let reads = |observed: &Observed| observed.ledger.data_block_reads() as f64;
    let (observed, unfiltered) = (account.observed, account.unfiltered);
    let fields = json!({
        "filter": run.filter,
        "bits_per_key": bits_per_key(&run.stats),
        "reads_avoided_share": 1.0 - reads(observed) / reads(unfiltered).max(1.0),
        "lookups_per_second": lookups_per_second(observed),
        "throughput_times": lookups_per_second(observed) / lookups_per_second(unfiltered),
    });
    merged(account.json(), fields)
}

/// By the total duration of the lookups, one at a time.
fn lookups_per_second(observed: &Observed) -> f64 {
    observed.nanos.len() as f64 * 1e9 / observed.nanos.iter().sum::<u64>().max(1) as f64
}

fn page(report: &Report) -> Page {
    let plot = |id, title, field, measured, caption: &str| {
        let bar = |run: &Value| Bar {
            name: run["filter"].as_str().unwrap_or_default().to_owned(),
            value: run[field].as_f64().unwrap_or(0.0),
        };
        let group = |share: &Value| Group {
            title: format!("{} % absent", share["absent_percent"]),
            bars: share["runs"].as_array().into_iter().flatten().map(bar).collect(),
        };
        let groups: Vec<_> = report.elements("/shares").iter().map(group).collect();
        let drawing = bars(title, measured, &groups);
        Plot { id, title, legend: Vec::new(), drawing, caption: caption.to_owned() }
    };
    Page {
        title: "Zipfian reads with and without filters",
        intro: "One cell at a time, popular cells far more often than others, and a share of the lookups for absent \
                cells. The same queries give the same counts on every machine; times are this machine's.",
        headline: html! {},
        plots: vec![
            plot(
                "reads",
                "Data-block reads by the share of lookups that are absent",
                "data_block_reads",
                "data-block reads",
                "A present cell takes one read with any filter; the others are of tables that do not have it. A \
                 popular key that is a false positive costs its read each time.",
            ),
            plot(
                "throughput",
                "Throughput by the share of lookups that are absent",
                "lookups_per_second",
                "lookups per second",
                "One thread, one lookup after the other.",
            ),
        ],
        tables: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::webtable;
    use super::{Queries, THETA};

    /// Each of the first ranks comes as often as its probability says, within four standard deviations.
    #[test]
    fn ranks_follow_the_distribution() {
        const NUM_DRAWN: u64 = 200_000;
        let data = webtable::generate(1000);
        let ranks = Queries::new(&data).expect("rows").ranks;
        let num_ranks = data.rows.len();
        let mut counts = vec![0u64; num_ranks + 1];
        (0..NUM_DRAWN).for_each(|i| counts[ranks.draw(b"test", i) as usize] += 1);
        assert_eq!(counts[0], 0);
        let zeta: f64 = (1..=num_ranks).map(|rank| (rank as f64).powf(-THETA)).sum();
        for (rank, count) in counts.iter().enumerate().skip(1).take(20) {
            let probability = (rank as f64).powf(-THETA) / zeta;
            let expected = probability * NUM_DRAWN as f64;
            let sigma = (expected * (1.0 - probability)).sqrt();
            assert!((*count as f64 - expected).abs() < 4.0 * sigma, "rank {rank}: {count} for {expected} ± {sigma}");
        }
    }

    #[test]
    fn queries_are_absent_as_often_as_given_and_have_the_expected_answer() {
        const NUM: u64 = 10_000;
        let data = webtable::generate(1000);
        let queries = Queries::new(&data).expect("rows");
        for percent in [0, 10, 50, 100] {
            let absent = queries.all(percent, NUM).filter(|query| query.expected.is_none()).count() as f64;
            let (expected, share) = (NUM as f64 * f64::from(percent) / 100.0, f64::from(percent) / 100.0);
            assert!((absent - expected).abs() <= 4.0 * (expected * (1.0 - share)).sqrt(), "{absent} for {expected}");
        }
        for query in queries.all(50, NUM) {
            let row = data.rows.iter().find(|row| row.row == query.row);
            let value = row.and_then(|row| {
                let cell = row.columns.iter().find(|(column, _)| Some(column.as_slice()) == query.column);
                cell.map(|(_, value)| value.as_slice())
            });
            assert_eq!(value, query.expected);
        }
    }

    /// Popular rows lie all over the key range, and few rows get most of the queries.
    #[test]
    fn popular_keys_are_scattered() {
        const NUM: u64 = 10_000;
        let data = webtable::generate(1000);
        let mut counts = vec![0u64; data.rows.len()];
        for query in Queries::new(&data).expect("rows").all(0, NUM) {
            let place = data.rows.binary_search_by(|row| row.row.as_slice().cmp(query.row));
            counts[place.expect("a present row")] += 1;
        }
        let quarters: Vec<u64> = counts.chunks(counts.len().div_ceil(4)).map(|quarter| quarter.iter().sum()).collect();
        assert!(quarters.iter().all(|count| *count > NUM / 10), "{quarters:?}");
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(counts.iter().take(100).sum::<u64>() > NUM / 2);
    }
}
