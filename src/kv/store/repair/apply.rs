//! Making the repair.

use super::super::super::error::Error;
use super::super::super::manifest::{Edit, HasherId, Manifest, State};
use super::super::super::memtable::Memtable;
use super::super::super::names::FileName;
use super::super::super::purpose::Purpose;
use super::super::super::sstable::{Salvage, Table};
use super::super::super::version::Version;
use super::super::core::{Core, View};
use super::super::filter_policies::entries_of;
use super::super::open::{is_unfinished, number_of};
use super::assess::Findings;
use super::report::RepairReport;
use core::sync::atomic::Ordering;
use std::io::Write;
use std::sync::Arc;

/// The report of a repair, among the files that it has moved aside.
const REPORT_NAME: &str = "REPAIR.txt";

pub(super) fn apply(
    core: &Core,
    names: &[String],
    mut state: State,
    findings: &Findings,
    report: &mut RepairReport,
) -> Result<(), Error> {
    let _turn = core.maintenance.lock();
    let storage = &core.tables.storage;
    // No manifest names them, and the disk may be full of them.
    names.iter().filter(|name| is_unfinished(name)).for_each(|name| drop(storage.remove(name)));
    let dropped = dropped_files(names, &state, findings, report);
    for name in &dropped {
        report.moved_aside.push(keep_aside(core, name, name)?);
    }
    if has_losses(report) {
        keep_report(core, report)?;
    }
    state.next_number = core.next_number.load(Ordering::Relaxed);
    state.last_seq = core.visible.load(Ordering::Relaxed);
    let (logs, stored_hasher) = (state.logs.clone(), state.hasher);
    // The same state, written anew: the last records of the old manifest may not be durable.
    *core.manifest.lock() = Some(Manifest::create(Arc::clone(storage), state)?);

    let mut written = Written::default();
    write_tables(core, findings, &mut written, report).inspect_err(|_| core.discard(&written.tables))?;
    let number = core.new_number();
    let log = core.begin_log(number).inspect_err(|_| core.discard(&written.tables))?;
    let mut edits: Vec<Edit> = written.gone.iter().copied().map(Edit::TableRemoved).collect();
    edits.extend(written.tables.iter().map(|table| Edit::TableAdded(table.state())));
    edits.extend(logs.iter().map(|log| Edit::LogEnded(log.number)));
    let hasher = HasherId::of(core.hasher());
    edits.extend((hasher != stored_hasher).then_some(Edit::Hasher(hasher)));
    edits.push(Edit::LogBegun(number));
    let committed = core.commit(&edits, |view| {
        let stays = view.version.tables().filter(|table| !written.gone.contains(&table.number()));
        let version = Arc::new(Version::new(stays.chain(&written.tables).map(Arc::clone))?);
        Ok(View { memtables: vec![Arc::new(Memtable::new(number))], version })
    });
    committed.inspect_err(|_| {
        core.discard(&written.tables);
        core.discard_log(number);
    })?;
    core.writer.lock().log = Some(log);
    report.is_applied = true;

    logs.iter().for_each(|log| core.remove_file(FileName::Log(log.number)));
    dropped.iter().for_each(|name| drop(storage.remove(name)));
    for (table, _) in &findings.filters {
        let version = Arc::clone(&core.view().version);
        let policies = core.filter_policies(&version, &[table.number()], table.level(), entries_of([table]));
        core.rebuild_table(table, &policies)?;
    }
    core.seal()
}

/// The files that are no part of the repaired store, and exist.
fn dropped_files(names: &[String], state: &State, findings: &Findings, report: &RepairReport) -> Vec<String> {
    let replaced = findings.damaged.iter().map(|table| &table.salvage).chain(&findings.renumbered);
    let is_replaced = |name: &String| {
        replaced.clone().any(|salvage| {
            let filters = salvage.state.filter_file.map(|number| FileName::Filters(number).to_string());
            salvage.file() == name || filters.as_ref() == Some(name)
        })
    };
    let is_damaged_log = |name: &String| report.logs.iter().any(|log| log.file == *name);
    // What an interrupted compaction or flush has left may have cells that are lost now.
    let has_losses = has_losses(report);
    let is_obsolete =
        |name: &String| has_losses && !is_unfinished(name) && number_of(name).is_some() && !is_named(state, name);
    let is_dropped = |name: &&String| is_replaced(name) || is_damaged_log(name) || is_obsolete(name);
    names.iter().filter(is_dropped).cloned().collect()
}

fn has_losses(report: &RepairReport) -> bool {
    !report.tables.is_empty() || !report.logs.is_empty()
}

fn is_named(state: &State, name: &str) -> bool {
    FileName::parse(name).is_some_and(|file| match file {
        FileName::Log(number) => state.logs.iter().any(|log| log.number == number),
        FileName::Table(number) => state.tables.contains_key(&number),
        FileName::Filters(number) => state.tables.values().any(|table| table.filter_file == Some(number)),
    })
}

fn keep_aside(core: &Core, name: &str, kept: &str) -> Result<String, Error> {
    let kept = core.tables.storage.keep_aside(name, kept);
    kept.map_err(|error| Error::io(name, "keep it in the directory lost", error))
}

/// Keeps the report beside the files that are moved aside: a crash must not lose the names of what is lost.
fn keep_report(core: &Core, report: &mut RepairReport) -> Result<(), Error> {
    let storage = &core.tables.storage;
    // A name that the next opening removes, if this is interrupted.
    let tmp = FileName::Table(core.new_number()).tmp();
    let write = || {
        let mut file = storage.create(&tmp)?;
        file.write_all(report.to_string().as_bytes())?;
        file.sync()
    };
    write().map_err(|error| Error::io(&tmp, "write", error))?;
    let kept = keep_aside(core, &tmp, REPORT_NAME)?;
    let _ = storage.remove(&tmp);
    report.moved_aside.push(kept);
    Ok(())
}

/// The tables that replace others.
#[derive(Default)]
struct Written {
    gone: Vec<u64>,
    tables: Vec<Arc<Table>>,
}

/// Writes what is left of damaged tables, and of level 0 what is newer, in the order of their numbers; then what was in
/// logs.
fn write_tables(
    core: &Core,
    findings: &Findings,
    written: &mut Written,
    report: &mut RepairReport,
) -> Result<(), Error> {
    let mut replaced: Vec<&Salvage> = findings.damaged.iter().map(|table| &table.salvage).collect();
    replaced.extend(&findings.renumbered);
    replaced.sort_by_key(|salvage| salvage.state.number);
    written.gone = replaced.iter().map(|salvage| salvage.state.number).collect();
    let version = Arc::clone(&core.view().version);
    for salvage in replaced {
        if salvage.is_empty() {
            continue;
        }
        let level = salvage.state.level as usize;
        // Rows and prefixes are not counted, but there are at most as many as cells.
        let entries = [salvage.num_cells; Purpose::ALL.len()];
        let policies = core.filter_policies(&version, &written.gone, level, entries);
        let mut output = core.begin_table(&policies)?;
        let added = salvage.for_each_cell(|cell| output.writer.add(cell));
        added.inspect_err(|_| core.abandon(output.number))?;
        let table = core.finish_table(output, level)?;
        let file = salvage.file();
        let of_damaged = report.tables.iter_mut().filter(|table| table.file == file).map(|table| &mut table.kept_in);
        let of_whole = report.renumbered.iter_mut().filter(|table| table.file == file).map(|table| &mut table.kept_in);
        of_damaged.chain(of_whole).for_each(|kept_in| *kept_in = Some(table.file().to_owned()));
        written.tables.push(table);
    }
    let view = core.view();
    for memtable in view.memtables.iter().filter(|memtable| !memtable.is_empty()) {
        written.tables.push(core.write_memtable(memtable, &version)?);
    }
    Ok(())
}
