//! The uniform workload: each class of query by itself, every key with the same probability.

use super::ask::{self, Class, Observed};
use super::figures::Format::{Bits, Count, FilterCount, Micros, Rate, Share, Text, Times};
use super::figures::{Cell, Figure, Row, grouped, rows};
use super::measure::{self, Plan, Run};
use super::page::{Page, Plot};
use super::plot::bars::{Bar, Group, bars};
use super::plot::{latency, legend, rates, reference_swatch, series_of, sizes};
use super::report::{Account, Report, bits_per_key, merged};
use super::session::Demo;
use filterblock::FilterKind;
use filterblock::kv::{Purpose, TableStats};
use filterblock::ledger::{Ledger, Outcome, Tally};
use maud::{Markup, html};
use serde_json::{Value, json};
use std::process::ExitCode;

const FIGURES: [Figure<'_>; 16] = [
    ("", "filter", Text),
    ("filter size, bits per key", "bits_per_key", Bits),
    ("data-block reads", "data_block_reads", Count),
    ("  for absent rows", "classes/0/data_block_reads", Count),
    ("  for absent columns of present rows", "classes/1/data_block_reads", Count),
    ("  for present cells", "classes/2/data_block_reads", Count),
    ("reads avoided by the filters", "reads_avoided", Count),
    ("  share of reads for absent keys", "absent_reads_avoided_share", Share),
    ("false positives (wasted reads)", "false_positives", FilterCount),
    ("  rate observed", "observed_fpr", Rate),
    ("  rate predicted from the filters' bits", "predicted_fpr", Rate),
    ("time of an absent lookup, p50", "p50_us", Micros),
    ("  p99", "p99_us", Micros),
    ("  p50, times faster than without", "p50_times_faster", Times(0)),
    ("bytes read by the store's ledger", "ledger_read_bytes", Count),
    ("  by the operating system's count", "os_read_bytes", Count),
];

const TIMES: [Figure<'_>; 10] = [
    ("", "filter", Text),
    ("absent rows, p50", "classes/0/p50_us", Micros),
    ("  p99", "classes/0/p99_us", Micros),
    ("  p99.9", "classes/0/p999_us", Micros),
    ("absent columns of present rows, p50", "classes/1/p50_us", Micros),
    ("  p99", "classes/1/p99_us", Micros),
    ("  p99.9", "classes/1/p999_us", Micros),
    ("present cells, p50", "classes/2/p50_us", Micros),
    ("  p99", "classes/2/p99_us", Micros),
    ("  p99.9", "classes/2/p999_us", Micros),
];

const TABLE_FIGURES: [Figure<'_>; 9] = [
    ("table", "file", Text),
    ("cells", "cells", Count),
    ("data blocks", "data_blocks", Count),
    ("bits per key", "bits_per_key", Bits),
    ("absent keys tested", "absent_asked", Count),
    ("false positives", "false_positives", Count),
    ("observed rate", "observed_fpr", Rate),
    ("predicted rate", "predicted_fpr", Rate),
    ("four standard errors", "observed_fpr_four_sigma", Rate),
];

pub(super) fn run(demo: &Demo<'_>) -> anyhow::Result<ExitCode> {
    let mut plan = Plan::new(demo.args.lookups);
    let series = Class::ALL.map(|class| move |i| class.query(&demo.data, i));
    let runs = demo.each_policy(|policy| measure::run(&demo.data, &series, &mut plan, policy, demo.place.path()))?;
    let lookups = plan.num_lookups();
    let repetition = Class::ALL.map(|class| ask::repetition((0..lookups).map(|i| class.query(&demo.data, i))));
    let all: Vec<_> = runs.iter().map(|run| Observed::sum(&run.series)).collect();
    let account = |(run, observed): (&Run, _)| Account {
        name: run.filter.to_owned(),
        observed,
        unfiltered: &all[0],
        balanced: run.balanced,
    };
    let accounts: Vec<_> = runs.iter().zip(&all).map(account).collect();
    let queries = format!(
        "{} absent rows, as many absent columns of present rows, as many present cells",
        grouped(lookups as f64)
    );
    let warnings = runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect();
    let mut report = Report::new(demo.inputs(), &plan, &runs[0].stats, queries, &accounts, warnings);
    let fields = |(run, account)| merged(Account::json(account), run_json(run, &runs[0], &repetition));
    report.document["lookups_per_class"] = lookups.into();
    report.document["runs"] = runs.iter().zip(&accounts).map(fields).collect();
    report.tables = vec![("All runs", rows(&report.document, "/runs", &FIGURES))];
    demo.publish(&report, || page(&report, &runs))
}

/// The queries for absent keys as one series.
fn absent(run: &Run) -> Observed {
    Observed::sum(&run.series[..Class::NUM_ABSENT])
}

/// What the document has on a run besides its account. Times are those of absent keys.
fn run_json(run: &Run, unfiltered: &Run, repetition: &[f64; 3]) -> Value {
    let (absent, absent_unfiltered) = (absent(run), absent(unfiltered));
    let reads = |observed: &Observed| observed.ledger.data_block_reads() as f64;
    let class = |(class, observed): (Class, &Observed)| merged(observed.json(), json!({ "class": class.name() }));
    let all = run.series.iter().fold(Ledger::default(), |sum, series| sum + &series.ledger);
    json!({
        "filter": run.filter,
        "bits_per_key": bits_per_key(&run.stats),
        "filter_bytes": run.stats.tables.iter().map(|table| table.filter_bytes).sum::<u64>(),
        "load_seconds": run.load.as_secs_f64(),
        "absent_reads_avoided_share": 1.0 - reads(&absent) / reads(&absent_unfiltered).max(1.0),
        "observed_fpr_four_sigma": four_sigma(run, repetition, &all),
        "p50_us": absent.percentile_us(0.5),
        "p99_us": absent.percentile_us(0.99),
        "p999_us": absent.percentile_us(0.999),
        "p50_times_faster": absent_unfiltered.percentile_us(0.5) / absent.percentile_us(0.5),
        "classes": Class::ALL.into_iter().zip(&run.series).map(class).collect::<Vec<_>>(),
        "per_table": run.stats.tables.iter().map(|table| table_json(table, run, repetition)).collect::<Vec<_>>(),
        "warnings": run.warnings,
    })
}

fn table_json(table: &TableStats, run: &Run, repetition: &[f64; 3]) -> Value {
    let total = table.ledger.total();
    json!({
        "file": table.file,
        "cells": table.num_cells,
        "data_blocks": table.num_blocks,
        "filter_bytes": table.filter_bytes,
        "bits_per_key": table.filter_bytes as f64 * 8.0 / table.filter_entries.max(1) as f64,
        "absent_asked": total.absent_asked(),
        "false_positives": total.count(Outcome::FalsePositive),
        "observed_fpr": total.observed_fpr(),
        "predicted_fpr": total.predicted_fpr(),
        "observed_fpr_four_sigma": four_sigma(run, repetition, &table.ledger),
    })
}

/// Four standard errors of the false-positive rate in `ledger`, which covers some of the tables: binomial for each
/// purpose, widened for repeated queries. `None` before the first absent key.
fn four_sigma(run: &Run, repetition: &[f64; 3], ledger: &Ledger) -> Option<f64> {
    let variance = |tally: &Tally, classes: std::ops::Range<usize>| {
        // The repetition of these classes, weighted by how many of their queries filters were probed for.
        let tested: Vec<_> = run.series.iter().map(|series| series.ledger.total().absent_asked() as f64).collect();
        let weighted: f64 = classes.clone().map(|class| tested[class] * repetition[class]).sum();
        let sum: f64 = tested[classes].iter().sum();
        let rate = tally.predicted_fpr().unwrap_or(0.0);
        (if sum > 0.0 { weighted / sum } else { 1.0 }) * tally.absent_asked() as f64 * rate * (1.0 - rate)
    };
    let tested = ledger.total().absent_asked();
    let variance = variance(ledger.of(Purpose::Row), 0..1) + variance(ledger.of(Purpose::RowColumn), 1..3);
    (tested > 0).then(|| 4.0 * variance.sqrt() / tested as f64)
}

fn page(report: &Report, runs: &[Run]) -> anyhow::Result<Page> {
    let plots = vec![reads_plot(report), latency_plot(runs), rates_plot(report), sizes_plot(report)?];
    Ok(Page {
        title: "Reads that filters avoid",
        intro: "The same small row/column store, loaded with the same data and given the same queries, without filters \
                and with each kind. The same queries give the same counts and rates on every machine; times are this \
                machine's.",
        headline: headline(report),
        plots,
        tables: vec![
            ("Times by class of query", rows(&report.document, "/runs", &TIMES)),
            ("Filters table by table", tables(report)),
        ],
    })
}

/// Runs with filters, with their places.
fn filtered(report: &Report) -> impl Iterator<Item = (usize, &Value, &str)> {
    let name = |(i, run)| (i, run, filter_of(run));
    report.elements("/runs").iter().enumerate().map(name).filter(|(.., filter)| *filter != "none")
}

fn filter_of(run: &Value) -> &str {
    run["filter"].as_str().unwrap_or_default()
}

fn headline(report: &Report) -> Markup {
    let cell = |i, field, format| Cell::new(&report.document, format!("/runs/{i}/{field}"), format);
    html! {
        section.headline {
            h2 { "Of the data-block reads for absent keys, filters avoid" }
            ul {
                @for (i, _, filter) in filtered(report) {
                    li.{ "s" (series_of(filter)) } {
                        strong { (cell(i, "absent_reads_avoided_share", Share)) }
                        span.name { (filter) } " "
                        span.size { (cell(i, "bits_per_key", Bits)) " bits per key" }
                    }
                }
            }
        }
    }
}

fn reads_plot(report: &Report) -> Plot {
    let group = |(i, class): (usize, Class)| {
        let bar = |run: &Value| {
            let reads = run["classes"][i]["data_block_reads"].as_f64().unwrap_or(0.0);
            Bar { name: filter_of(run).to_owned(), value: reads }
        };
        Group { title: format!("for {}", class.plural()), bars: report.elements("/runs").iter().map(bar).collect() }
    };
    let groups: Vec<_> = Class::ALL.into_iter().enumerate().map(group).collect();
    let title = "Data-block reads with and without filters";
    Plot {
        id: "reads",
        title,
        legend: Vec::new(),
        drawing: bars(title, "data-block reads", &groups),
        caption: "Reads by class of query. A read for an absent key is wasted: those that a filter leaves are its \
                  false positives. A present cell takes one read with any filter; the others are of tables that do not \
                  have it."
            .to_owned(),
    }
}

fn latency_plot(runs: &[Run]) -> Plot {
    let title = "How long lookups of absent keys take";
    let curves: Vec<_> = runs.iter().map(|run| (run.filter, absent(run).nanos)).collect();
    Plot {
        id: "latency",
        title,
        legend: legend(runs.iter().map(|run| run.filter)),
        drawing: latency::latency(title, &curves),
        caption: "Cumulative: the share of the lookups of absent rows and columns that were answered within a time. \
                  Where a filter's curve turns to the right, its false positives begin: each costs a read. Markers: \
                  50, 90, 99, 99.9 and 99.99 per cent, as far as there are lookups."
            .to_owned(),
    }
}

fn rates_plot(report: &Report) -> Plot {
    let point = |filter, table: &Value| {
        let predicted = table["predicted_fpr"].as_f64().filter(|rate| *rate > 0.0)?;
        Some(rates::Point {
            filter,
            series: series_of(filter),
            ratio: table["observed_fpr"].as_f64()? / predicted,
            two_sigma: table["observed_fpr_four_sigma"].as_f64()? / 2.0 / predicted,
        })
    };
    let tables = filtered(report).flat_map(|(_, run, filter)| {
        run["per_table"].as_array().into_iter().flatten().filter_map(move |table| point(filter, table))
    });
    let points: Vec<_> = tables.collect();
    let agreeing = points.iter().filter(|point| point.agrees()).count();
    let title = "False positives of each table: observed rate / predicted rate";
    let mut legend = legend(filtered(report).map(|(.., filter)| filter));
    legend.push((reference_swatch(), "as predicted".to_owned()));
    Plot {
        id: "rates",
        title,
        legend,
        drawing: rates::rates(title, &points),
        caption: format!(
            "A point is a table. The prediction is made from the filter's bits; the bars are two standard errors of so \
             many lookups. {agreeing} of {} include 1; about 95 of 100 should.",
            points.len()
        ),
    }
}

fn sizes_plot(report: &Report) -> anyhow::Result<Plot> {
    let point = |(_, run, filter): (usize, &Value, &str)| {
        Some(sizes::Point {
            series: series_of(filter),
            bits_per_key: run["bits_per_key"].as_f64()?,
            observed: run["observed_fpr"].as_f64()?,
            four_sigma: run["observed_fpr_four_sigma"].as_f64()?,
        })
    };
    let points: Vec<_> = filtered(report).filter_map(point).collect();
    let title = "What a false-positive rate costs";
    let mut legend = legend(FilterKind::ALL.iter().map(|kind| kind.name()));
    legend.push((reference_swatch(), "log₂(1/ε), the lower bound for any filter".to_owned()));
    let unseen = points.iter().filter(|point| point.observed == 0.0).count();
    let mut caption =
        "Lines: blocks of each kind by their own prediction, header included. Markers: measured in this run, \
                       with four standard errors."
            .to_owned();
    if unseen > 0 {
        caption.push_str(&format!(" Not drawn: {unseen} runs without a false positive."));
    }
    Ok(Plot { id: "sizes", title, legend, drawing: sizes::sizes(title, &points)?, caption })
}

/// The filters of each table, a row each.
fn tables(report: &Report) -> Vec<Row> {
    let head = |(name, ..): &Figure<'_>| Cell { text: (*name).to_owned(), pointer: String::new() };
    let mut rows = vec![Row { name: "filter".to_owned(), cells: TABLE_FIGURES.iter().map(head).collect() }];
    for (i, run, filter) in filtered(report) {
        for table in 0..run["per_table"].as_array().map_or(0, Vec::len) {
            let cell = |(_, field, format): &Figure<'_>| {
                Cell::new(&report.document, format!("/runs/{i}/per_table/{table}/{field}"), *format)
            };
            rows.push(Row { name: filter.to_owned(), cells: TABLE_FIGURES.iter().map(cell).collect() });
        }
    }
    rows
}
