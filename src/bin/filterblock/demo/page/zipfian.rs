//! The page of zipfian reads.

use super::super::lines::grouped;
use super::super::plot::Series;
use super::super::plot::bars::{Bar, Group, bars};
use super::super::zipf_report::{ShareRunReport, ZipfReport};
use super::html::Html;

pub(in super::super) fn zipfian(report: &ZipfReport) -> anyhow::Result<String> {
    let mut html = Html::new("Zipfian reads with and without filters");
    html.push("<header><h1>Zipfian reads with and without filters</h1>");
    html.push(
        "<p>One cell at a time, popular cells far more often than others, and a share of the lookups for cells that are \
         not there. The same questions give the same counts on every machine; times are this machine's.</p></header>",
    );
    html.setting(&report.setting, &report.verdict(), &report.failures());
    let title = "Data-block reads by the share of lookups that are absent";
    let svg = bars(title, "data-block reads", &groups(report, |run| run.data_block_reads as f64), axis_label)?;
    let caption = "A present cell takes one read with any filter; the others are of tables that do not have it. A popular \
                   key that a filter is wrong about costs its read each time.";
    html.figure("reads", title, &[], &svg, caption);
    let title = "Throughput by the share of lookups that are absent";
    let svg = bars(title, "lookups per second", &groups(report, |run| run.lookups_per_second), axis_label)?;
    html.figure("throughput", title, &[], &svg, "One thread, one lookup after the other.");
    html.heading("Figures");
    for lines in report.lines() {
        html.table("", &lines);
    }
    Ok(html.finish())
}

fn groups(report: &ZipfReport, value: impl Fn(&ShareRunReport) -> f64) -> Vec<Group> {
    let bar = |run: &ShareRunReport| Bar {
        series: Series::of(run.kind),
        name: run.filter.to_owned(),
        value: value(run),
        text: axis_label(value(run)),
    };
    let groups = report.shares.iter().map(|share| Group {
        title: format!("{} % absent", share.absent_percent),
        bars: share.runs.iter().map(bar).collect(),
    });
    groups.collect()
}

fn axis_label(value: f64) -> String {
    grouped(value.round() as u64)
}
