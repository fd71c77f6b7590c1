//! What all workloads need, and the way to publish their reports.

use super::args::{Args, Workload};
use super::data::{self, BYTES_PER_WEB_ROW, Dataset};
use super::elastic;
use super::page::Page;
use super::place::{self, Place};
use super::report::Report;
use super::residence;
use super::webtable;
use crate::exit::{Code, Failure, message};
use crate::keys;
use crate::output;
use crate::target::Target;
use filterblock::FilterPolicy;
use indicatif::ProgressBar;
use std::path::Path;
use std::process::ExitCode;

/// What follows if the report cannot be written.
const NOT_RUN: &str = "Nothing was run. Name a file in a directory that can be written to.";

/// What all runs have in common.
pub(super) struct Demo<'a> {
    pub(super) args: &'a Args,
    pub(super) data: Dataset,
    /// No filter first: the other runs are compared with it.
    policies: Vec<Option<FilterPolicy>>,
    pub(super) place: Place,
    page: Option<Target>,
    progress: ProgressBar,
}

fn web_table(num_rows: u64) -> Result<Dataset, Failure> {
    data::require_memory(num_rows, BYTES_PER_WEB_ROW, 0).map_err(|error| {
        let message = format!(
            "web table: cannot keep {num_rows} rows in memory: {error}. Nothing was run. Run `filterblock demo --rows \
             N` with fewer rows."
        );
        Failure::new(Code::Io, message)
    })?;
    Ok(webtable::generate(num_rows))
}

impl<'a> Demo<'a> {
    pub(super) fn new(args: &'a Args) -> anyhow::Result<Self> {
        if args.workload != Workload::Zipfian && !args.absent_percents.is_empty() {
            return Err(Failure::usage("demo", "--absent-share is for --workload zipfian").into());
        }
        let has_limit = matches!(args.workload, Workload::Elastic | Workload::Residence);
        if !has_limit && args.filter_memory_bytes.is_some() {
            let message = "--filter-memory-bytes is for --workload elastic and for --workload residence";
            return Err(Failure::usage("demo", message).into());
        }
        if args.absent.is_some() != args.keys.is_some() {
            return Err(Failure::usage("demo", "--keys and --absent are for each other: give both").into());
        }
        if args.report.as_deref().is_some_and(keys::is_dash) {
            let message = "--report needs a file: standard output has the figures";
            return Err(Failure::usage("demo", message).into());
        }
        let policies = args.policies()?;
        let page = args.report.as_deref().map(|path| Target::new(path, NOT_RUN)).transpose()?;
        let mut lists = [&args.keys, &args.absent].into_iter().flatten().filter_map(|list| list.canonicalize().ok());
        if page.as_ref().is_some_and(|page| lists.any(|list| page.path() == Some(&list))) {
            return Err(Failure::usage("demo", "the report would replace a list of rows").into());
        }
        let place = place::choose(args.dir.as_deref())?;
        let num_steps = match args.workload {
            Workload::Elastic => elastic::NUM_STEPS,
            Workload::Residence => residence::NUM_STEPS,
            Workload::Uniform | Workload::Zipfian | Workload::Adversary => policies.len() as u64,
        };
        let progress = ProgressBar::new(num_steps + 1);
        let progress = keys::progress(progress, "{bar:20} {pos}/{len} {msg} {elapsed}");
        progress.set_message("making the data");
        let data = match (&args.keys, &args.absent) {
            (Some(keys), Some(absent)) => Dataset::from_files(keys, absent)?,
            _ => web_table(args.rows)?,
        };
        data.check().map_err(|reason| Failure::usage("demo", reason))?;
        Ok(Self { args, data, policies, place, page, progress })
    }

    /// What a report describes.
    pub(super) fn inputs(&self) -> (&Args, &Dataset, &Place) {
        (self.args, &self.data, &self.place)
    }

    /// Calls `run` without filters first.
    pub(super) fn each_policy<T>(
        &self,
        mut run: impl FnMut(Option<FilterPolicy>) -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        let mut runs = Vec::new();
        for &policy in &self.policies {
            self.note(match policy {
                None => "running without filters".to_owned(),
                Some(policy) => format!("running with {policy}"),
            });
            runs.push(run(policy)?);
        }
        self.finish_progress();
        Ok(runs)
    }

    /// Shows what is being done.
    pub(super) fn note(&self, what: String) {
        self.progress.inc(1);
        self.progress.set_message(what);
    }

    pub(super) fn finish_progress(&self) {
        self.progress.finish_and_clear();
    }

    /// Writes the page if one was requested, prints the report, and its failures to standard error.
    pub(super) fn publish(
        &self,
        report: &Report,
        page: impl FnOnce() -> anyhow::Result<Page>,
    ) -> anyhow::Result<ExitCode> {
        if let Some(target) = &self.page {
            let page = page()?;
            let is_picture = target.path().and_then(Path::extension).is_some_and(|extension| extension == "svg");
            target.write(if is_picture { page.picture() } else { page.render(report) }.as_bytes())?;
        }
        output::print(|out| if self.args.json { out.json(&report.document) } else { report.print(out) })?;
        for failure in &report.failures {
            message(format_args!("error: {failure}"));
        }
        Ok(if report.failures.is_empty() { Code::Ok } else { Code::Damaged }.into())
    }
}
