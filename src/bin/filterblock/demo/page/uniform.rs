//! The page of the questions by class.

use super::super::ask::Class;
use super::super::lines::{Cell, Line, grouped, share};
use super::super::measure::Measurement;
use super::super::plot::bars::{Bar, Group, bars};
use super::super::plot::latency::{Curve, latency};
use super::super::plot::{self, Series, rates, reference_swatch, sizes, swatch};
use super::super::report::{Report, RunReport};
use super::super::tables::TableReport;
use super::html::{Html, escape, figure_markup};

/// The page of `report`; `runs` are the measurements behind it.
pub(in super::super) fn uniform(report: &Report, runs: &[Measurement]) -> anyhow::Result<String> {
    let mut html = Html::new("Reads that filters avoid");
    html.push("<header><h1>Reads that filters avoid</h1>");
    html.push(
        "<p>The same small row/column store, loaded with the same data and asked the same questions, without filters \
         and with each kind. The same questions give the same counts and rates on every machine; times are this \
         machine's.</p></header>",
    );
    headline(&mut html, report);
    html.setting(&report.setting, &report.verdict(), &report.failures());
    reads_figure(&mut html, report)?;
    latency_figure(&mut html, report, runs)?;
    rates_figure(&mut html, report)?;
    sizes_figure(&mut html, report)?;
    html.heading("Figures");
    html.table("All runs", &report.lines());
    html.table("Times by class of question", &report.time_lines());
    html.table_of_columns("Filters table by table", "filter", &tables(report));
    Ok(html.finish())
}

/// Runs with filters, and their places.
fn filtered(report: &Report) -> impl Iterator<Item = (usize, &RunReport)> {
    report.runs.iter().enumerate().filter(|(_, run)| run.kind.is_some())
}

fn headline(html: &mut Html, report: &Report) {
    html.push("<section class=\"headline\"><h2>Of the data-block reads for absent keys, filters avoid</h2><ul>");
    for (i, run) in filtered(report) {
        let cell = |text, field| figure_markup(&Cell { text, pointer: format!("/runs/{i}/{field}") });
        html.push(format_args!(
            "<li class=\"s{}\"><strong>{}</strong><span class=\"name\">{}</span> <span class=\"size\">{} bits per \
             key</span></li>",
            Series::of(run.kind).index(),
            cell(share(run.absent_reads_avoided_share), "absent_reads_avoided_share"),
            escape(run.filter),
            cell(format!("{:.2}", run.bits_per_key), "bits_per_key")
        ));
    }
    html.push("</ul></section>");
}

/// What the lines of `runs` look like.
fn legend<'a>(runs: impl Iterator<Item = &'a RunReport>) -> Result<Vec<(String, String)>, plot::Error> {
    runs.map(|run| Ok((swatch(Series::of(run.kind))?, run.filter.to_owned()))).collect()
}

fn reads_figure(html: &mut Html, report: &Report) -> anyhow::Result<()> {
    let group = |(i, class): (usize, Class)| {
        let bar = |run: &RunReport| Bar {
            series: Series::of(run.kind),
            name: run.filter.to_owned(),
            value: run.classes[i].data_block_reads as f64,
            text: grouped(run.classes[i].data_block_reads),
        };
        Group { title: format!("for {}", class.plural()), bars: report.runs.iter().map(bar).collect() }
    };
    let groups: Vec<_> = Class::ALL.into_iter().enumerate().map(group).collect();
    let title = "Data-block reads with and without filters";
    let svg = bars(title, "data-block reads", &groups, |reads| grouped(reads as u64))?;
    let caption = "Reads by class of question. A read for something absent is in vain: those that a filter leaves are its \
                   false positives. A present cell takes one read with any filter; the others are of tables that do not \
                   have it.";
    html.figure("reads", title, &[], &svg, caption);
    Ok(())
}

fn latency_figure(html: &mut Html, report: &Report, runs: &[Measurement]) -> anyhow::Result<()> {
    let curve = |run: &Measurement| Curve {
        series: Series::of(run.policy.map(|policy| policy.kind())),
        nanos: run.absent_nanos(),
    };
    let title = "How long lookups of absent keys take";
    let svg = latency(title, &runs.iter().map(curve).collect::<Vec<_>>())?;
    let caption = "Cumulative: how many of the lookups of absent rows and columns were answered within a time. Where a \
                   filter's curve turns to the right, its false positives begin: each costs a read. Markers: 50, 90, 99, 99.9 and 99.99 per cent, as far as there \
                   are lookups.";
    html.figure("latency", title, &legend(report.runs.iter())?, &svg, caption);
    Ok(())
}

fn rates_figure(html: &mut Html, report: &Report) -> anyhow::Result<()> {
    let points = |(_, run): (usize, &RunReport)| -> Vec<_> {
        let point = |table: &TableReport| {
            Some(rates::Point {
                series: Series::of(run.kind),
                predicted: table.predicted_fpr?,
                observed: table.observed_fpr?,
                four_sigma: table.observed_fpr_four_sigma?,
            })
        };
        run.per_table.iter().filter_map(point).collect()
    };
    let points: Vec<_> = filtered(report).flat_map(points).collect();
    let agreeing: Vec<bool> =
        filtered(report).flat_map(|(_, run)| &run.per_table).filter_map(TableReport::agrees).collect();
    let title = "False positives of each table: observed against predicted";
    let svg = rates::rates(title, &points)?;
    let mut legend = legend(filtered(report).map(|(_, run)| run))?;
    legend.push((reference_swatch()?, "observed = predicted".to_owned()));
    let caption = format!(
        "{} of {} agree within four standard errors. Tables of one kind have nearly one prediction and are drawn side by \
         side; the short stroke on each bar is the table's own prediction.",
        agreeing.iter().filter(|agrees| **agrees).count(),
        agreeing.len()
    );
    html.figure("rates", title, &legend, &svg, &caption);
    Ok(())
}

fn sizes_figure(html: &mut Html, report: &Report) -> anyhow::Result<()> {
    let point = |(_, run): (usize, &RunReport)| {
        Some(sizes::Point {
            series: Series::of(run.kind),
            bits_per_key: run.bits_per_key,
            observed: run.observed_fpr?,
            four_sigma: run.observed_fpr_four_sigma?,
        })
    };
    let points: Vec<_> = filtered(report).filter_map(point).collect();
    let title = "What a false-positive rate costs";
    let svg = sizes::sizes(title, &points)?;
    let mut legend = Vec::new();
    for kind in filterblock::FilterKind::ALL {
        legend.push((swatch(Series::of(Some(kind)))?, kind.name().to_owned()));
    }
    legend.push((reference_swatch()?, "log₂(1/ε), the least of any filter".to_owned()));
    let unseen = points.iter().filter(|point| point.observed == 0.0).count();
    let caption = format!(
        "Lines: blocks of each kind by their own prediction, header included. Markers: what this run measured, with four \
         standard errors.{}",
        if unseen == 0 { String::new() } else { format!(" Not drawn: {unseen} runs without a false positive.") }
    );
    html.figure("sizes", title, &legend, &svg, &caption);
    Ok(())
}

fn tables(report: &Report) -> Vec<(String, Vec<Line>)> {
    let of_run = |(i, run): (usize, &RunReport)| {
        (run.filter.to_owned(), TableReport::lines(&run.per_table, &format!("/runs/{i}/per_table")))
    };
    filtered(report).map(of_run).collect()
}
