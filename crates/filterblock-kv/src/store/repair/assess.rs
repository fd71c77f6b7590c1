//! The assessment of a damaged store: its damage and its intact parts. It changes nothing.

use super::super::open::DamagedLog;
use super::super::shared::Shared;
use super::report::{LostRows, RepairReport, RepairedFilters, RepairedLog, RepairedTable};
use super::{Error, FileName, FilterProblem, IoErrors, LostKeys, Purpose, Salvage, State, Table, TableState, Warning};
use filterblock::DecodeErrorClass;
use std::sync::Arc;

/// The damage, each list in the order of files' numbers.
pub(super) struct Findings {
    pub(super) damaged: Vec<Salvage>,
    pub(super) logs: Vec<DamagedLog>,
    /// Tables that stay as they are, with other filters.
    pub(super) filters: Vec<(Arc<Table>, String)>,
}

/// Reads all tables, and probes every filter for every key of its table.
pub(super) fn assess(
    store: &Shared,
    state: &State,
    logs: Vec<DamagedLog>,
    io_errors: IoErrors,
) -> Result<Findings, Error> {
    let version = &store.view().version;
    let mut findings = Findings { damaged: Vec::new(), logs, filters: Vec::new() };
    for known in state.tables.values() {
        let unreadable = version.unreadable.iter().find(|table| table.state.number == known.number);
        let table = version.tables().find(|table| table.number() == known.number);
        let found = match (unreadable, table) {
            (Some(unreadable), _) => Err(unreadable.error.clone()),
            (None, Some(table)) => wrong_in(store, table).map(|wrong| wrong.map(|wrong| (Arc::clone(table), wrong))),
            (None, None) => Ok(None),
        };
        match found {
            Ok(filters) => findings.filters.extend(filters),
            Err(reason) => {
                let reason = io_errors.check(reason)?;
                findings.damaged.push(Salvage::read(&*store.tables.storage, known, reason, io_errors)?);
            }
        }
    }
    Ok(findings)
}

/// Returns the damage of a table's filters, if any.
///
/// # Errors
/// What is wrong with its data.
fn wrong_in(store: &Shared, table: &Arc<Table>) -> Result<Option<String>, Error> {
    let (loaded, walk) = table.verify()?;
    let of_range = walk.of_range.map(|probes| (Purpose::Range, probes));
    if let Some((_, error)) = walk.damaged.into_iter().next() {
        return Err(error);
    }
    let purposes = loaded.iter().map(|filter| filter.filter.stored_stats.purpose);
    for (purpose, probes) in purposes.zip(walk.probes).chain(of_range) {
        if probes.denied > 0 {
            return Ok(Some(format!("the {purpose} filter denies {} of its cells", probes.denied)));
        }
    }
    let filter_file = table.filters.file_number().map(|number| FileName::Filters(number).to_string());
    let warnings = store.tables.warnings.lock();
    let is_of_table = |warning: &&Warning| warning.file == table.file() || Some(&warning.file) == filter_file.as_ref();
    let wrong = warnings.iter().filter(is_of_table).find(|warning| is_damage(&warning.problem));
    Ok(wrong.map(|warning| warning.problem.to_string()))
}

/// Returns whether the filter is damaged, and not merely newer.
fn is_damage(problem: &FilterProblem) -> bool {
    match problem {
        FilterProblem::Decode(error) => error.class() != DecodeErrorClass::Newer,
        FilterProblem::Unreadable(_) | FilterProblem::TooManyEntries { .. } | FilterProblem::NotAllRows { .. } => true,
        FilterProblem::UnknownPurpose(_) | FilterProblem::UnknownParameter { .. } => false,
        FilterProblem::NotBuilt(_) | FilterProblem::NotIndexed { .. } => false,
    }
}

pub(super) fn report(store: &Shared, state: &State, findings: &Findings) -> RepairReport {
    let is_left = |table: &&TableState| {
        findings.damaged.iter().all(|damaged| damaged.state.number != table.number || damaged.num_cells > 0)
    };
    let left: Vec<&TableState> = state.tables.values().filter(is_left).collect();
    let table = |salvage: &Salvage| {
        let lost = |LostKeys { rows, reason }: &LostKeys| LostRows {
            rows: Some((**rows).clone()),
            reason: reason.to_string(),
            has_older: left.iter().any(|table| {
                table.search_order() > salvage.state.search_order()
                    && table.rows.start() <= rows.end()
                    && rows.start() <= table.rows.end()
            }),
        };
        RepairedTable {
            file: salvage.file.clone(),
            level: salvage.state.level,
            reason: salvage.reason.to_string(),
            cells_kept: salvage.num_cells,
            cells_lost: salvage.num_cells_written.map(|written| written.saturating_sub(salvage.num_cells)),
            lost: salvage.lost.iter().map(lost).collect(),
            kept_in: None,
        }
    };
    let has_older = !left.is_empty() || store.view().memtables.iter().any(|memtable| !memtable.is_empty());
    let log = |&DamagedLog { number, ref reason, batches_kept, bytes_lost }: &DamagedLog| {
        let (file, reason) = (FileName::Log(number).to_string(), reason.to_string());
        let lost = LostRows { rows: None, reason: reason.clone(), has_older };
        RepairedLog { file, reason, batches_kept, bytes_lost, lost }
    };
    let filters = |(table, reason): &(Arc<Table>, String)| RepairedFilters {
        file: table.file().to_owned(),
        reason: reason.clone(),
    };
    RepairReport {
        is_applied: false,
        tables: findings.damaged.iter().map(table).collect(),
        logs: findings.logs.iter().map(log).collect(),
        filters: findings.filters.iter().map(filters).collect(),
        moved_aside: Vec::new(),
    }
}
