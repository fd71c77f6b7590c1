//! What the runs came to, on a terminal.

use super::account::Verdict;
use super::adversary_report::AdversaryReport;
use super::lines;
use super::report::Report;
use super::zipf_report::ZipfReport;
use crate::output::Output;
use std::io::{self, Write};

pub(super) fn print_uniform(report: &Report, out: &mut Output) -> io::Result<()> {
    report.setting.print(out)?;
    lines::print(out, &report.lines())?;
    writeln!(out)?;
    print_verdict(&report.verdict(), out)
}

pub(super) fn print_zipfian(report: &ZipfReport, out: &mut Output) -> io::Result<()> {
    report.setting.print(out)?;
    for lines in report.lines() {
        lines::print(out, &lines)?;
        writeln!(out)?;
    }
    print_verdict(&report.verdict(), out)
}

pub(super) fn print_adversary(report: &AdversaryReport, out: &mut Output) -> io::Result<()> {
    report.setting.print(out)?;
    lines::print(out, &report.lines())?;
    writeln!(out)?;
    print_verdict(&report.verdict(), out)
}

fn print_verdict(verdict: &Verdict<'_>, out: &mut Output) -> io::Result<()> {
    for (check, outcome, _) in verdict.lines() {
        writeln!(out, "{:<37} {outcome}", format!("{check}:"))?;
    }
    for warning in &verdict.warnings {
        writeln!(out, "Warning: {warning}")?;
    }
    Ok(())
}
