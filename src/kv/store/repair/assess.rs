//! What is wrong with a store, and what is left of it. Changes nothing.

use super::super::super::batch;
use super::super::super::error::{Damage, Error};
use super::super::super::log::{LogContents, LogKind, SalvagedLog};
use super::super::super::manifest::{LogState, Rows, State, TableState};
use super::super::super::memtable::Memtable;
use super::super::super::names::FileName;
use super::super::super::purpose::Purpose;
use super::super::super::sstable::{FilterProblem, IoErrors, LostKeys, Salvage, Table, Warning};
use super::super::super::storage::Storage;
use super::super::core::Core;
use super::report::{LostRows, RenumberedTable, RepairReport, RepairedFilters, RepairedLog, RepairedTable, RowsFromTo};
use crate::DecodeErrorClass;
use core::convert::Infallible;
use std::sync::Arc;

/// The writes in logs, and the logs that are not whole.
pub(super) struct Logs {
    pub(super) memtable: Memtable,
    pub(super) damaged: Vec<DamagedLog>,
}

pub(super) struct DamagedLog {
    file: String,
    reason: Error,
    batches_kept: u64,
    bytes_lost: Option<u64>,
}

/// What is wrong with tables, each list in the order of files' numbers.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) damaged: Vec<DamagedTable>,
    /// Whole tables of level 0 that are newer than a damaged one there.
    pub(super) renumbered: Vec<Salvage>,
    /// Tables that stay as they are, with other filters.
    pub(super) filters: Vec<(Arc<Table>, String)>,
}

pub(super) struct DamagedTable {
    pub(super) salvage: Salvage,
    reason: Error,
}

/// Reads all logs, as far as they are right.
pub(super) fn read_logs(storage: &dyn Storage, logs: &[LogState], names: &[String]) -> Result<Logs, Error> {
    let mut found = Logs { memtable: Memtable::new(0), damaged: Vec::new() };
    for &LogState { number, sealed } in logs {
        let file = FileName::Log(number).to_string();
        if !names.contains(&file) {
            let reason = Error::Missing { file: file.clone() };
            found.damaged.push(DamagedLog { file, reason, batches_kept: 0, bytes_lost: sealed });
            continue;
        }
        let read = LogContents::read(storage, &file, number, LogKind::WriteAhead, sealed);
        let (contents, mut lost_bytes, mut reason) = match read {
            Ok(contents) => (contents, 0, None),
            Err(reason @ (Error::Damaged { .. } | Error::Misplaced { .. })) => {
                let salvaged = SalvagedLog::read(storage, &file, number, sealed)?;
                (salvaged.contents, salvaged.lost_bytes, Some(reason))
            }
            Err(error) => return Err(error),
        };
        let mut batches_kept = 0;
        for (offset, record) in contents.payloads() {
            match batch::decode(record) {
                Some(writes) => {
                    found.memtable.insert(writes);
                    batches_kept += 1;
                }
                None => {
                    let damage = Damage::CutOff { unit: "batch", len_bytes: record.len() as u64 };
                    reason.get_or_insert_with(|| Error::damaged(&file, offset, damage));
                    lost_bytes += record.len() as u64;
                }
            }
        }
        if let Some(reason) = reason {
            found.damaged.push(DamagedLog { file, reason, batches_kept, bytes_lost: Some(lost_bytes) });
        }
    }
    Ok(found)
}

/// Reads all tables, and probes every filter for every key of its table.
pub(super) fn assess(core: &Core, state: &State, io_errors: IoErrors) -> Result<Findings, Error> {
    let view = core.view();
    let storage = &*core.tables.storage;
    let mut findings = Findings::default();
    let mut damaged = |known: &TableState, reason: Error| {
        let reason = io_errors.check(reason)?;
        let salvage = Salvage::read(storage, known, io_errors)?;
        findings.damaged.push(DamagedTable { salvage, reason });
        Ok::<_, Error>(())
    };
    for known in state.tables.values() {
        if let Some(unreadable) = view.version.unreadable().iter().find(|table| table.number == known.number) {
            damaged(known, unreadable.error.clone())?;
            continue;
        }
        let Some(table) = view.version.tables().find(|table| table.number() == known.number) else { continue };
        match wrong_in(core, table) {
            Ok(None) => {}
            Ok(Some(reason)) => findings.filters.push((Arc::clone(table), reason)),
            Err(reason) => damaged(known, reason)?,
        }
    }
    renumber(storage, state, io_errors, &mut findings)?;
    Ok(findings)
}

/// Adds the tables of level 0 that are newer than one that gets a new number.
fn renumber(storage: &dyn Storage, state: &State, io_errors: IoErrors, findings: &mut Findings) -> Result<(), Error> {
    let is_rewritten = |table: &&DamagedTable| table.salvage.state.level == 0 && !table.salvage.is_empty();
    let rewritten = findings.damaged.iter().filter(is_rewritten).map(|table| table.salvage.state.number);
    let Some(oldest) = rewritten.min() else { return Ok(()) };
    for known in state.tables.values().filter(|known| known.level == 0 && known.number > oldest) {
        if findings.damaged.iter().any(|table| table.salvage.state.number == known.number) {
            continue;
        }
        let salvage = Salvage::read(storage, known, io_errors)?;
        findings.filters.retain(|(table, _)| table.number() != known.number);
        match salvage.lost.first().map(|lost| lost.reason.clone()) {
            // It was whole a moment ago.
            Some(reason) => findings.damaged.push(DamagedTable { salvage, reason }),
            None => findings.renumbered.push(salvage),
        }
    }
    Ok(())
}

/// What is wrong with a table's filters, if anything.
///
/// # Errors
/// What is wrong with its data.
fn wrong_in(core: &Core, table: &Arc<Table>) -> Result<Option<String>, Error> {
    let load = |purpose| Some((purpose, table.filters().load(purpose, table.counters())?));
    let (purposes, loaded): (Vec<_>, Vec<_>) = Purpose::ALL.into_iter().filter_map(load).unzip();
    let walk = table.reader().walk(&loaded)?;
    if let Some((_, error)) = walk.damaged.into_iter().next() {
        return Err(error);
    }
    for (purpose, probes) in purposes.iter().zip(walk.probes) {
        if probes.denied > 0 {
            return Ok(Some(format!("the {purpose} filter denies {} of its cells", probes.denied)));
        }
    }
    let filter_file = table.filters().file_number().map(|number| FileName::Filters(number).to_string());
    let warnings = core.tables.warnings.lock();
    let is_of_table = |warning: &&Warning| warning.file == table.file() || Some(&warning.file) == filter_file.as_ref();
    let wrong = warnings.iter().filter(is_of_table).find(|warning| is_damage(&warning.problem));
    Ok(wrong.map(|warning| warning.problem.to_string()))
}

/// Whether a filter cannot be used for another reason than that it is a later version's.
fn is_damage(problem: &FilterProblem) -> bool {
    match problem {
        FilterProblem::Decode(error) => error.class() != DecodeErrorClass::Newer,
        FilterProblem::Unreadable(_) | FilterProblem::TooManyEntries { .. } => true,
        FilterProblem::UnknownPurpose(_) | FilterProblem::UnknownParameter { .. } | FilterProblem::NotBuilt(_) => false,
    }
}

pub(super) fn report(core: &Core, findings: &Findings, logs: Vec<DamagedLog>) -> RepairReport {
    let table = |DamagedTable { salvage, reason }: &DamagedTable| {
        let state = &salvage.state;
        let lost = |LostKeys { rows, reason }: &LostKeys| LostRows {
            rows: rows.as_ref().map(|rows| (**rows).clone()),
            reason: reason.to_string(),
            older: older_rows(core, findings, Some(state), rows.as_ref()),
        };
        RepairedTable {
            file: salvage.file().to_owned(),
            level: state.level as usize,
            reason: reason.to_string(),
            cells_kept: salvage.num_cells,
            cells_lost: salvage.num_cells_written.map(|written| written.saturating_sub(salvage.num_cells)),
            lost: salvage.lost.iter().map(lost).collect(),
            kept_in: None,
        }
    };
    let renumbered = |salvage: &Salvage| RenumberedTable {
        file: salvage.file().to_owned(),
        num_cells: salvage.num_cells,
        kept_in: None,
    };
    let log = |DamagedLog { file, reason, batches_kept, bytes_lost }: DamagedLog| {
        let older = older_rows(core, findings, None, None);
        let lost = LostRows { rows: None, reason: reason.to_string(), older };
        RepairedLog { file, reason: reason.to_string(), batches_kept, bytes_lost, lost }
    };
    let filters = |(table, reason): &(Arc<Table>, String)| RepairedFilters {
        file: table.file().to_owned(),
        reason: reason.clone(),
    };
    RepairReport {
        is_applied: false,
        tables: findings.damaged.iter().map(table).collect(),
        renumbered: findings.renumbered.iter().map(renumbered).collect(),
        logs: logs.into_iter().map(log).collect(),
        filters: findings.filters.iter().map(filters).collect(),
        moved_aside: Vec::new(),
    }
}

/// Where tables older than `lost`, or than all logs if that is `None`, may have cells of `rows`, or of any row.
fn older_rows(core: &Core, findings: &Findings, lost: Option<&TableState>, rows: Option<&Rows>) -> Vec<RowsFromTo> {
    let is_older = |level: usize, number: u64| {
        lost.is_none_or(|lost| match (lost.level as usize, level) {
            (0, 0) => number < lost.number,
            (of_lost, level) => level > of_lost,
        })
    };
    let view = core.view();
    let is_damaged = |number| findings.damaged.iter().any(|table| table.salvage.state.number == number);
    let whole = view.version.tables().filter(|table| !is_damaged(table.number()));
    let whole = whole.filter(|table| is_older(table.level(), table.number()));
    let salvages = findings.damaged.iter().map(|table| &table.salvage);
    let salvages = salvages.filter(|salvage| is_older(salvage.state.level as usize, salvage.state.number));
    let mut older: Vec<RowsFromTo> = whole.filter_map(|table| table.reader().rows_within(rows)).collect();
    older.extend(salvages.filter_map(|salvage| within(salvage.kept.as_ref()?, rows)));
    if lost.is_none() {
        // Writes of a log that precede what is lost of it.
        let in_logs = view.memtables.iter().filter_map(|memtable| rows_of(memtable));
        older.extend(in_logs);
    }
    merged(older)
}

fn within(kept: &RowsFromTo, rows: Option<&Rows>) -> Option<RowsFromTo> {
    let Some(rows) = rows else { return Some(kept.clone()) };
    let (first, last) = ((&kept.0).max(&rows.0), (&kept.1).min(&rows.1));
    (first <= last).then(|| (first.clone(), last.clone()))
}

fn rows_of(memtable: &Memtable) -> Option<RowsFromTo> {
    let mut rows = None::<RowsFromTo>;
    let Ok(()) = memtable.for_each_newest(|cell| {
        let row = cell.key.row;
        rows.get_or_insert_with(|| (row.to_vec(), Vec::new())).1 = row.to_vec();
        Ok::<_, Infallible>(())
    });
    rows
}

/// The same rows in as few ranges, in order.
fn merged(mut ranges: Vec<RowsFromTo>) -> Vec<RowsFromTo> {
    ranges.sort_unstable();
    let mut merged: Vec<RowsFromTo> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut().filter(|before| first <= before.1) {
            Some(before) => before.1 = last.max(core::mem::take(&mut before.1)),
            None => merged.push((first, last)),
        }
    }
    merged
}
