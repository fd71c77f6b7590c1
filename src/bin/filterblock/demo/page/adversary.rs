//! The page of the attack.

use super::super::adversary::Step;
use super::super::adversary_report::{AdversaryReport, AttackReport};
use super::super::lines::grouped;
use super::super::plot::Series;
use super::super::plot::bars::{Bar, Group, bars};
use super::html::Html;

pub(in super::super) fn adversary(report: &AdversaryReport) -> anyhow::Result<String> {
    let mut html = Html::new("Filters under attack");
    html.push("<header><h1>Filters under attack</h1>");
    html.push(
        "<p>Somebody who knows the data and the seed of the filters asks for rows that are not there and that the \
         filters let pass. Then the filters are built again with a seed that he does not know. The same questions give \
         the same counts on every machine; times are this machine's.</p></header>",
    );
    html.setting(&report.setting, &report.verdict(), &report.failures());
    let title = "Data-block reads for absent rows";
    let svg = bars(title, "data-block reads", &groups(report), |reads| grouped(reads as u64))?;
    let caption = "As many ordinary rows as crafted ones, each asked once. A crafted row costs a read as long as the filters \
                   are those that it was crafted against.";
    html.figure("reads", title, &[], &svg, caption);
    html.heading("Figures");
    html.table("All kinds", &report.lines());
    Ok(html.finish())
}

fn groups(report: &AdversaryReport) -> Vec<Group> {
    let group = |(title, step): (&str, Step)| {
        let bar = |run: &AttackReport| {
            let reads = run.steps[step as usize].data_block_reads;
            let series = Series::of(Some(run.kind));
            Bar { series, name: run.filter.to_owned(), value: reads as f64, text: grouped(reads) }
        };
        Group { title: title.to_owned(), bars: report.runs.iter().map(bar).collect() }
    };
    let steps = [
        ("ordinary rows, seed known", Step::Ordinary),
        ("crafted rows, seed known", Step::Crafted),
        ("the same, secret seed", Step::CraftedSecret),
    ];
    steps.into_iter().map(group).collect()
}
