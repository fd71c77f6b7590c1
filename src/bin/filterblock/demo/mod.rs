//! `filterblock demo`: the same store with and without filters, on the same questions, counted by the operating
//! system.

mod data;
mod measure;
mod os;
mod place;
mod report;
mod webtable;

use crate::args::parse_count;
use crate::exit::{Code, Failure, message};
use crate::output::{self, Output};
use anyhow::Context;
use data::Dataset;
use filterblock::kv::CacheBypass;
use filterblock::{FilterKind, FilterPolicy};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::{Measurement, Plan};
use report::Report;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock demo
  filterblock demo --kind blocked --bits-per-key 12 --json
  filterblock demo --keys present.txt --absent absent.txt --dir /mnt/disk";

/// Loads a small row/column store, asks it for what is and what is not there, and shows which disk reads filters avoid
///
/// Every run holds the same data and is asked the same questions: rows that do not exist, columns that existing rows do
/// not have, and cells that exist. Absent keys lie between present ones, and key ranges are asked before filters, which take no credit for
/// what those settle. Data blocks are read past the page cache where the file system allows it. Reads are counted by the store and, beside
/// it, by the operating system; if the two disagree, or the answers of two runs do, the demo fails.
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
    /// Rows to load instead of the web table, one a line
    #[arg(long, value_name = "FILE", requires = "absent")]
    keys: Option<PathBuf>,
    /// Rows that are not in --keys, one a line
    #[arg(long, value_name = "FILE", requires = "keys")]
    absent: Option<PathBuf>,
    /// Where to put the store [default: a temporary directory on a disk]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let policies = policies(args)?;
    let progress = progress_bar(policies.len() as u64 + 1);
    progress.set_message("making the data");
    let data = match (&args.keys, &args.absent) {
        (Some(keys), Some(absent)) => Dataset::from_files(keys, absent)?,
        _ => webtable::generate(args.rows),
    };
    data.check().map_err(|reason| Failure::usage("demo", reason))?;
    let place = place::choose(args.dir.as_deref()).context("cannot make a directory for the store")?;

    let mut plan = Plan::new(args.lookups);
    let mut runs: Vec<Measurement> = Vec::new();
    for policy in policies {
        progress.inc(1);
        progress.set_message(match policy {
            None => "running without filters".to_owned(),
            Some(policy) => format!("running with {}", policy.kind()),
        });
        runs.push(measure::run(&data, &mut plan, policy, place.path())?);
    }
    progress.finish_and_clear();

    let report = Report::new(args.bits_per_key, &data, &plan, &place, &runs);
    let mut out = Output::new();
    match args.json {
        true => out.json(&serde_json::to_value(&report)?).map_err(output::failure)?,
        false => report.print(&mut out).map_err(output::failure)?,
    }
    out.finish()?;
    let failures = report.failures();
    for failure in &failures {
        message(format_args!("error: {failure}"));
    }
    Ok(if failures.is_empty() { Code::Ok } else { Code::Damaged }.into())
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
