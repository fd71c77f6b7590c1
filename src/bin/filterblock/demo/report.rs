//! The results of a demo, for programs and for people.

use super::args::Args;
use super::ask::Observed;
use super::data::Dataset;
use super::figures::{self, Row, grouped};
use super::machine::Machine;
use super::measure::Plan;
use super::place::Place;
use crate::output::{Output, hex};
use filterblock::kv::{CacheBypass, Stats};
use filterblock::ledger::{Ledger, Outcome};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Queries on one store, and what they are checked against.
pub(super) struct Account<'a> {
    pub(super) name: String,
    pub(super) observed: &'a Observed,
    /// The same queries on the store without filters.
    pub(super) unfiltered: &'a Observed,
    /// Whether the store's whole ledger is consistent.
    pub(super) balanced: bool,
}

impl Account<'_> {
    /// Data blocks that the store without filters took, from storage or from a cache, beyond those of this one. Must
    /// equal the reads that the ledger counts as avoided.
    fn reads_fewer(&self) -> i64 {
        let taken = |ledger: &Ledger| ledger.data_block_reads() + ledger.data_block_cache_hits();
        taken(&self.unfiltered.ledger) as i64 - taken(&self.observed.ledger) as i64
    }

    /// Reads of data blocks and of filter blocks, and their bytes.
    fn ledger_reads(&self) -> (u64, u64) {
        let ledger = &self.observed.ledger;
        let reads = ledger.data_block_reads() + ledger.filter_block_reads;
        (reads, ledger.data_block_bytes() + ledger.filter_block_bytes)
    }

    fn reads_avoided(&self) -> u64 {
        self.observed.ledger.total().count(Outcome::Avoided)
    }

    fn matches_os(&self) -> Option<bool> {
        self.observed.os.map(|os| (os.calls, os.bytes) == self.ledger_reads())
    }

    pub(super) fn json(&self) -> Value {
        let ((reads, bytes), os) = (self.ledger_reads(), self.observed.os);
        let account = json!({
            "reads_avoided": self.reads_avoided(),
            "reads_fewer_than_unfiltered": self.reads_fewer(),
            "ledger_reads": reads,
            "os_reads": os.map(|os| os.calls),
            "ledger_read_bytes": bytes,
            "os_read_bytes": os.map(|os| os.bytes),
            "reads_match_os": self.matches_os(),
            "ledger_balanced": self.balanced,
            "answers_hash": hex(self.observed.answers),
        });
        merged(self.observed.json(), account)
    }

    fn failures(&self) -> Vec<String> {
        let (name, (reads, bytes), avoided) = (&self.name, self.ledger_reads(), self.reads_avoided());
        let mut failures = Vec::new();
        if let (Some(false), Some(os)) = (self.matches_os(), self.observed.os) {
            failures.push(format!(
                "{name}: the ledger has {reads} reads of {bytes} bytes, the operating system {} of {}",
                os.calls, os.bytes
            ));
        }
        if !self.balanced {
            failures.push(format!("{name}: the ledger's sums do not agree"));
        }
        if i64::try_from(avoided) != Ok(self.reads_fewer()) {
            failures.push(format!(
                "{name}: the ledger has {avoided} reads avoided, but without filters there were {} more",
                self.reads_fewer()
            ));
        }
        failures
    }
}

/// The fields of both objects; those of `b` where both have one.
pub(super) fn merged(mut a: Value, b: Value) -> Value {
    if let (Value::Object(a), Value::Object(b)) = (&mut a, b) {
        a.extend(b);
    }
    a
}

/// A check, its outcome, and whether it passed; `None` where it could not be made.
type Check = (&'static str, String, Option<bool>);

pub(super) struct Report {
    /// Names of fields are part of the interface: add, but do not rename.
    pub(super) document: Value,
    /// The data, the queries and the kind of reads: a name and its lines.
    pub(super) facts: Vec<(&'static str, Vec<String>)>,
    /// The machine, its disk, its kernel, and the date: on the page only.
    pub(super) machine: Vec<(&'static str, Vec<String>)>,
    pub(super) checks: [Check; 3],
    pub(super) warnings: Vec<String>,
    /// Why the demo has failed; empty if it has not.
    pub(super) failures: Vec<String>,
    /// The tables that the terminal shows, with the captions that the page gives them.
    pub(super) tables: Vec<(&'static str, Vec<Row>)>,
}

impl Report {
    /// What all workloads report. `stats` are those of any store, because all hold the same tables; `queries` describes
    /// the queries, and `accounts` covers all of them.
    pub(super) fn new(
        (args, data, place): (&Args, &Dataset, &Place),
        plan: &Plan,
        stats: &Stats,
        queries: String,
        accounts: &[Account<'_>],
        warnings: Vec<String>,
    ) -> Self {
        let (bypass, machine) = (place.bypass(), Machine::of(place.path()));
        let direct_io = *bypass == CacheBypass::Active;
        let has_os_counts = accounts.iter().all(|account| account.observed.os.is_some());
        let os_counter = has_os_counts.then_some(if direct_io { "syscr, read_bytes" } else { "syscr, rchar" });
        let identical = accounts.iter().all(|account| account.observed.answers == account.unfiltered.answers);
        let num_wrong: u64 = accounts.iter().map(|account| account.observed.num_wrong).sum();
        let mut failures: Vec<String> = accounts.iter().flat_map(Account::failures).collect();
        if !identical {
            failures.push("the runs do not give identical answers".to_owned());
        }
        if num_wrong > 0 {
            failures.push(format!("{num_wrong} answers are wrong"));
        }
        let document = json!({
            "workload": args.workload.to_string(),
            "dataset": data.name,
            "rows": data.rows.len(),
            "cells": data.num_cells(),
            "tables": stats.tables.len(),
            "data_blocks": stats.tables.iter().map(|table| table.num_blocks).sum::<u64>(),
            "data_bytes": stats.tables.iter().map(|table| table.data_bytes).sum::<u64>(),
            "lookups_shortened": plan.is_shortened(),
            "absent_rows_dropped": data.num_absent_dropped,
            "bits_per_key_asked": args.bits_per_key,
            "direct_io": direct_io,
            "io": describe(bypass),
            "os_counter": os_counter,
            "answers_identical": identical,
            "answers_wrong": num_wrong,
            "warnings": warnings,
            "machine": machine.json(),
        });
        let matches_os = os_counter.map(|_| accounts.iter().all(|account| account.matches_os() == Some(true)));
        let yes = |yes: bool| if yes { "yes" } else { "NO" }.to_owned();
        let reads = match (os_counter, matches_os) {
            (Some(counter), Some(matches)) => format!("{} ({counter} of /proc/self/io)", yes(matches)),
            _ => "not checked: no /proc/self/io here".to_owned(),
        };
        let checks = [
            ("Answers identical in all runs", yes(identical), Some(identical)),
            ("Answers right", yes(num_wrong == 0), Some(num_wrong == 0)),
            ("Reads equal to the system's count", reads, matches_os),
        ];
        let facts = facts(&document, queries);
        Self { facts, machine: machine.facts(), document, checks, warnings, failures, tables: Vec::new() }
    }

    /// The array at `pointer` in the document.
    pub(super) fn elements(&self, pointer: &str) -> &[Value] {
        self.document.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) fn print(&self, out: &mut Output) -> io::Result<()> {
        for (name, lines) in &self.facts {
            for (i, line) in lines.iter().enumerate() {
                let name = if i == 0 { format!("{name}:") } else { String::new() };
                writeln!(out, "{name:<10} {line}")?;
            }
        }
        writeln!(out)?;
        for (_, rows) in &self.tables {
            figures::print(out, rows)?;
            writeln!(out)?;
        }
        for (check, outcome, _) in &self.checks {
            writeln!(out, "{:<37} {outcome}", format!("{check}:"))?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "Warning: {warning}"))
    }
}

fn facts(document: &Value, mut queries: String) -> Vec<(&'static str, Vec<String>)> {
    let count = |field: &str| document[field].as_f64().unwrap_or(0.0);
    let text = |field: &str| document[field].as_str().unwrap_or_default().to_owned();
    let size = format!(
        "{} rows, {} cells, {} tables of {} data blocks, {} MiB",
        grouped(count("rows")),
        grouped(count("cells")),
        count("tables"),
        grouped(count("data_blocks")),
        (count("data_bytes") / 1_048_576.0).floor()
    );
    if document["lookups_shortened"] == true {
        queries.push_str(" (fewer than usual: the disk is slow)");
    }
    let mut queries = vec![queries];
    let dropped = count("absent_rows_dropped");
    if dropped > 0.0 {
        let (dropped, s) = (grouped(dropped), if dropped == 1.0 { "" } else { "s" });
        queries.push(format!("{dropped} absent row{s} not used: repeated, present, or outside the key range"));
    }
    vec![("Data", vec![text("dataset"), size]), ("Queries", queries), ("Reads", vec![text("io")])]
}

/// Whether and how the page cache is bypassed.
fn describe(bypass: &CacheBypass) -> String {
    match bypass {
        CacheBypass::Active => "page cache bypassed (O_DIRECT): a data-block read is a read of the device".to_owned(),
        CacheBypass::NotAsked => "through the page cache: times are those of cached reads".to_owned(),
        CacheBypass::Refused { reason } => {
            format!("through the page cache, so times are those of cached reads: {reason}")
        }
    }
}

/// All filters of a store together.
pub(super) fn bits_per_key(stats: &Stats) -> f64 {
    let filter_bytes: u64 = stats.tables.iter().map(|table| table.filter_bytes).sum();
    let filter_entries: u64 = stats.tables.iter().map(|table| table.filter_entries).sum();
    filter_bytes as f64 * 8.0 / filter_entries.max(1) as f64
}
