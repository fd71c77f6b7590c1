//! Making the repair.

use super::super::filter_policies::entries_of;
use super::super::open::is_unfinished;
use super::super::shared::Shared;
use super::super::{filter_policies, flush, open, rebuild, write};
use super::assess::Findings;
use super::report::RepairReport;
use super::{Error, FileName, Purpose, State, Table};
use std::io::Write;
use std::sync::Arc;

/// The report of a repair, among the files that it has moved aside.
const REPORT_NAME: &str = "REPAIR.txt";

pub(super) fn apply(
    store: &Shared,
    names: &[String],
    state: &State,
    findings: &Findings,
    report: &mut RepairReport,
) -> Result<(), Error> {
    let _turn = store.maintenance.lock();
    // No manifest names them, and the disk may be full of them.
    open::remove_files(store, names, is_unfinished);
    let gone: Vec<u64> = findings.damaged.iter().map(|table| table.state.number).collect();
    let mut dropped = Vec::new();
    if !report.tables.is_empty() || !report.logs.is_empty() {
        dropped = dropped_files(names, state, findings);
        for name in &dropped {
            report.moved_aside.push(keep_aside(store, name, name)?);
        }
        keep_report(store, report)?;
    }
    open::begin_manifest(store, state)?;
    let mut written = Vec::new();
    write_tables(store, findings, &gone, &mut written, report).inspect_err(|_| store.discard(&written))?;
    open::replace_logs(store, &state.logs, &gone, &written)?;
    report.is_applied = true;

    open::remove_files(store, &dropped, |_| true);
    for (table, _) in &findings.filters {
        let version = Arc::clone(&store.view().version);
        let policies = filter_policies::choose(store, &version, &[table.number()], table.level, entries_of([table]));
        rebuild::rebuild_table(store, table, &policies)?;
    }
    write::seal(store)
}

/// Returns the files that are not part of the repaired store: those that are damaged, and what an interrupted
/// compaction or flush has left, which may have cells that are lost now.
fn dropped_files(names: &[String], state: &State, findings: &Findings) -> Vec<String> {
    let mut kept = state.clone();
    kept.tables.retain(|number, _| findings.damaged.iter().all(|table| table.state.number != *number));
    kept.logs.retain(|log| findings.logs.iter().all(|damaged| damaged.number != log.number));
    let is_dropped = |name: &&String| FileName::parse(name).is_some_and(|file| !kept.has(file));
    names.iter().filter(is_dropped).cloned().collect()
}

fn keep_aside(store: &Shared, name: &str, kept: &str) -> Result<String, Error> {
    let kept = store.tables.storage.keep_aside(name, kept);
    kept.map_err(|error| Error::io(name, "keep it in the directory lost", error))
}

/// Keeps the report beside the files that are moved aside: a crash must not lose the names of what is lost.
fn keep_report(store: &Shared, report: &mut RepairReport) -> Result<(), Error> {
    let storage = &store.tables.storage;
    // A name that the next opening removes, if this is interrupted.
    let tmp = FileName::Table(store.new_number()).tmp();
    let write = || {
        let mut file = storage.create(&tmp)?;
        file.write_all(report.to_string().as_bytes())?;
        file.sync()
    };
    write().map_err(|error| Error::io(&tmp, "write", error))?;
    report.moved_aside.push(keep_aside(store, &tmp, REPORT_NAME)?);
    let _ = storage.remove(&tmp);
    Ok(())
}

/// Writes what is left of each damaged table, and what was in logs.
fn write_tables(
    store: &Shared,
    findings: &Findings,
    gone: &[u64],
    written: &mut Vec<Arc<Table>>,
    report: &mut RepairReport,
) -> Result<(), Error> {
    let version = Arc::clone(&store.view().version);
    for (salvage, repaired) in findings.damaged.iter().zip(&mut report.tables) {
        if salvage.num_cells == 0 {
            continue;
        }
        let level = salvage.state.level;
        // Rows and prefixes are not counted, but there are no more of them than cells.
        let entries = [salvage.num_cells; Purpose::OF_KEYS.len()];
        let mut output = flush::begin_table(store, &filter_policies::choose(store, &version, gone, level, entries))?;
        let added = salvage.for_each_cell(|cell| output.writer.add(cell));
        added.inspect_err(|_| store.abandon(output.number))?;
        let table = flush::finish_table(store, output, level)?;
        repaired.kept_in = Some(table.file().to_owned());
        written.push(table);
    }
    written.extend(open::write_replayed(store)?);
    Ok(())
}
