//! `filterblock demo`: the same store with and without filters, on the same questions, counted by the operating
//! system.

mod account;
mod adversary;
mod adversary_report;
mod ask;
mod craft;
mod data;
mod lines;
mod measure;
mod os;
mod page;
mod place;
mod plot;
mod report;
mod setting;
mod stage;
mod tables;
mod terminal;
mod webtable;
mod zipf;
mod zipf_report;

use crate::args::parse_count;
use crate::exit::{Code, Failure, message};
use crate::output::{self, Output};
use crate::target::Target;
use adversary::Unfiltered;
use adversary_report::AdversaryReport;
use anyhow::Context;
use clap::value_parser;
use data::Dataset;
use filterblock::kv::CacheBypass;
use filterblock::{FilterKind, FilterPolicy};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::{Measurement, Plan};
use place::Place;
use report::Report;
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use zipf::{Questions, ZipfMeasurement};
use zipf_report::ZipfReport;

const EXAMPLES: &str = "\
Examples:
  filterblock demo
  filterblock demo --report demo.html
  filterblock demo --workload zipfian --absent-share 10,90
  filterblock demo --workload adversary
  filterblock demo --kind blocked --bits-per-key 12 --json
  filterblock demo --keys present.txt --absent absent.txt --dir /mnt/disk";

/// What follows where the report cannot be written.
const NOT_RUN: &str = "Nothing was run. Name a file in a directory that exists.";

/// Loads a small row/column store, asks it for what is and what is not there, and shows which disk reads filters avoid
///
/// Every run holds the same data and is asked the same questions: rows that do not exist, columns that existing rows do
/// not have, and cells that exist. Absent keys lie between present ones, and key ranges are asked before filters, which take no credit for
/// what those settle. Data blocks are read past the page cache where the file system allows it. Reads are counted by the store and, beside
/// it, by the operating system; if the two disagree, or the answers of two runs do, the demo fails.
///
/// With --workload zipfian the questions are like those of YCSB's workload C instead: one cell at a time, some far more
/// often than others. In each round, --absent-share per cent of them are for cells that are not there.
///
/// With --workload adversary somebody who knows the data and the filters' seed, 0, tries absent rows on filters of his own
/// and asks for those that one lets pass: each costs a read. Then the store builds its filters again with a seed that he
/// does not know, and leaves the data as it is: the same rows cost what any absent rows do, or the demo fails. What was slow
/// then he asks again.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows of the built-in web table
    #[arg(long, default_value = "200_000", value_parser = parse_count, conflicts_with = "keys")]
    rows: u64,
    /// Questions of each sort; unless given, 10 000, or fewer where the disk is slow
    #[arg(long, value_parser = parse_count)]
    lookups: Option<u64>,
    /// Size of each filter, in bits per key
    #[arg(long, default_value_t = 10.0, value_name = "BITS")]
    bits_per_key: f64,
    /// Kinds of filter to run beside none, with commas between; bloom,blocked,golomb unless given
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<FilterKind>,
    /// How questions are drawn
    #[arg(long, value_enum, default_value_t = Workload::Uniform)]
    workload: Workload,
    /// Per cent of zipfian lookups whose cell is not there, with commas between; 0,10,50,90,100 unless given
    #[arg(long = "absent-share", value_name = "PERCENT", value_delimiter = ',')]
    #[arg(value_parser = value_parser!(u8).range(0..=100))]
    absent_percents: Vec<u8>,
    /// Rows to load instead of the web table, one a line
    #[arg(long, value_name = "FILE", requires = "absent")]
    keys: Option<PathBuf>,
    /// Rows that are not in --keys, one a line
    #[arg(long, value_name = "FILE", requires = "keys")]
    absent: Option<PathBuf>,
    /// Where to put the store [default: a temporary directory on a disk]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Write the figures and their plots as a page for browsers, too
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Workload {
    /// Each class of question by itself, every key as often as any other
    Uniform,
    /// One cell at a time, some far more often than others
    Zipfian,
    /// Absent rows that somebody has crafted against the filters
    Adversary,
}

const DEFAULT_ABSENT_PERCENTS: [u8; 5] = [0, 10, 50, 90, 100];

/// What all runs have in common.
struct Demo<'a> {
    args: &'a Args,
    data: Dataset,
    /// No filter first: the other runs are compared with it.
    policies: Vec<Option<FilterPolicy>>,
    place: Place,
    page: Option<Target>,
    progress: ProgressBar,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.workload != Workload::Zipfian && !args.absent_percents.is_empty() {
        return Err(Failure::usage("demo", "--absent-share is for --workload zipfian").into());
    }
    let policies = policies(args)?;
    let page = args.report.as_deref().map(|path| Target::new(path, NOT_RUN)).transpose()?;
    let lists = [&args.keys, &args.absent].into_iter().flatten().filter_map(|list| list.canonicalize().ok());
    if page.as_ref().is_some_and(|page| lists.into_iter().any(|list| list == page.path())) {
        return Err(Failure::usage("demo", "the report would replace a list of rows").into());
    }
    let progress = progress_bar(policies.len() as u64 + 1);
    progress.set_message("making the data");
    let data = match (&args.keys, &args.absent) {
        (Some(keys), Some(absent)) => Dataset::from_files(keys, absent)?,
        _ => webtable::generate(args.rows),
    };
    data.check().map_err(|reason| Failure::usage("demo", reason))?;
    let place = place::choose(args.dir.as_deref()).context("cannot make a directory for the store")?;
    let demo = Demo { args, data, policies, place, page, progress };
    match args.workload {
        Workload::Uniform => demo.uniform(),
        Workload::Zipfian => demo.zipfian(),
        Workload::Adversary => demo.adversary(),
    }
}

impl Demo<'_> {
    fn uniform(&self) -> anyhow::Result<ExitCode> {
        let mut plan = Plan::new(self.args.lookups);
        let run = |policy| measure::run(&self.data, &mut plan, policy, self.place.path());
        let runs: Vec<Measurement> = self.each_policy(run)?;
        let report = Report::new(self.args.bits_per_key, &self.data, &plan, &self.place, &runs);
        let page = || page::uniform(&report, &runs);
        self.publish(&report, page, |out| terminal::print_uniform(&report, out), &report.failures())
    }

    fn zipfian(&self) -> anyhow::Result<ExitCode> {
        let percents = match self.args.absent_percents.as_slice() {
            [] => &DEFAULT_ABSENT_PERCENTS,
            percents => percents,
        };
        let questions = Questions::new(&self.data);
        let mut plan = Plan::new(self.args.lookups);
        let run = |policy| zipf::run(&self.data, &questions, percents, &mut plan, policy, self.place.path());
        let runs: Vec<ZipfMeasurement> = self.each_policy(run)?;
        let asked = (&self.data, &questions);
        let report = ZipfReport::new(self.args.bits_per_key, asked, percents, &plan, &self.place, &runs);
        let page = || page::zipfian(&report);
        self.publish(&report, page, |out| terminal::print_zipfian(&report, out), &report.failures())
    }

    fn adversary(&self) -> anyhow::Result<ExitCode> {
        let mut plan = Plan::new(self.args.lookups);
        self.announce(None);
        let unfiltered = Unfiltered::set(&self.data, &mut plan, self.place.path())?;
        let mut runs = Vec::new();
        for &policy in self.policies.iter().flatten() {
            self.announce(Some(policy));
            runs.push(adversary::run(&self.data, &unfiltered, policy, self.place.path())?);
        }
        self.progress.finish_and_clear();
        unfiltered.strike()?;
        let report = AdversaryReport::new(self.args.bits_per_key, &self.data, &plan, &self.place, &runs);
        let page = || page::adversary(&report);
        self.publish(&report, page, |out| terminal::print_adversary(&report, out), &report.failures())
    }

    fn each_policy<T>(&self, mut run: impl FnMut(Option<FilterPolicy>) -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
        let mut runs = Vec::new();
        for &policy in &self.policies {
            self.announce(policy);
            runs.push(run(policy)?);
        }
        self.progress.finish_and_clear();
        Ok(runs)
    }

    fn announce(&self, policy: Option<FilterPolicy>) {
        self.progress.inc(1);
        self.progress.set_message(match policy {
            None => "running without filters".to_owned(),
            Some(policy) => format!("running with {}", policy.kind()),
        });
    }

    /// Writes the page where one is asked for, prints, and tells of failures.
    fn publish(
        &self,
        report: &impl Serialize,
        page: impl FnOnce() -> anyhow::Result<String>,
        print: impl FnOnce(&mut Output) -> io::Result<()>,
        failures: &[String],
    ) -> anyhow::Result<ExitCode> {
        if let Some(target) = &self.page {
            target.write(page()?.as_bytes())?;
        }
        let mut out = Output::new();
        match self.args.json {
            true => out.json(&serde_json::to_value(report)?).map_err(output::failure)?,
            false => print(&mut out).map_err(output::failure)?,
        }
        out.finish()?;
        for failure in failures {
            message(format_args!("error: {failure}"));
        }
        Ok(if failures.is_empty() { Code::Ok } else { Code::Damaged }.into())
    }
}

/// No filter first: the other runs are compared with it.
fn policies(args: &Args) -> Result<Vec<Option<FilterPolicy>>, Failure> {
    let mut kinds = args.kinds.clone();
    if kinds.is_empty() {
        kinds.extend(FilterKind::ALL);
    }
    let mut policies = vec![None];
    for kind in kinds {
        let policy = FilterPolicy::with_bits_per_key(kind, args.bits_per_key);
        policies.push(Some(policy.map_err(|error| Failure::usage("demo", error))?));
    }
    Ok(policies)
}

fn progress_bar(num_steps: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(num_steps), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:20} {pos}/{len} {msg} {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Whether and how the page cache is bypassed, for people.
fn describe(bypass: &CacheBypass) -> String {
    match bypass {
        CacheBypass::Active => "page cache bypassed (O_DIRECT): a data-block read is a read of the device".to_owned(),
        CacheBypass::NotAsked => "through the page cache: times are those of cached reads".to_owned(),
        CacheBypass::Refused { reason } => {
            format!("through the page cache, so times are those of cached reads: {reason}")
        }
    }
}
