//! Leveled compaction: which tables are merged into which level.
//!
//! A level that is too large passes tables to the next: level 0 all of them, as they overlap; a deeper level one at a
//! time, the one that rewrites the least. They are merged with the tables of the next level that they overlap.

use super::cell::CellKey;
use super::manifest::NUM_LEVELS;
use super::options::{SLOW_LEVEL0_FACTOR, StoreOptions};
use super::sstable::Table;
use super::version::Version;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tables to be merged, and the level that takes them.
#[derive(Clone, Debug)]
pub(crate) struct Compaction {
    /// Tables that are disjoint and in key order; everything in a run is newer than the same cell in those after it.
    pub(crate) runs: Vec<Vec<Arc<Table>>>,
    pub(crate) to_level: usize,
}

impl Compaction {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.runs.iter().flatten()
    }

    /// The inputs that are not in the level yet.
    pub(crate) fn upper(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.inputs().filter(|table| table.level != self.to_level)
    }

    /// Returns whether its tables can be in that level as they are: no overlap among them, and no tombstone that a
    /// merge might drop.
    pub(crate) fn is_move(&self) -> bool {
        let mut ranges: Vec<_> = self.inputs().map(|table| (table.first_key(), table.last_key())).collect();
        ranges.sort_unstable();
        let disjoint = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        disjoint && self.inputs().all(|table| table.footer().num_tombstones == 0)
    }
}

/// Returns the compaction to run next, if any is due. It is in the deepest level that is too large, so that tables that
/// come down are merged with no more than there should be, or in level 0 when that slows writers down. After a failure
/// it is in the fullest level: a level with a damaged table must not keep the others from being compacted.
pub(crate) fn pick(version: &Version, options: &StoreOptions, has_failed: bool) -> Option<Compaction> {
    let is_due = |level: &usize| score(version, options, *level) >= 1.0;
    let mut due = (0..NUM_LEVELS - 1).rev().filter(is_due);
    let by_score = |a: &usize, b: &usize| score(version, options, *a).total_cmp(&score(version, options, *b));
    let level = match score(version, options, 0) >= SLOW_LEVEL0_FACTOR as f64 {
        true => 0,
        false if has_failed => due.max_by(by_score)?,
        false => due.next()?,
    };
    cheapest(version, level)
}

/// Returns the compaction of a level that rewrites the least.
fn cheapest(version: &Version, level: usize) -> Option<Compaction> {
    if level == 0 {
        return into_next(version, 0, version.level(0));
    }
    let cost = |table: &Arc<Table>| {
        let overlapping = version.overlapping(level + 1, table.first_key(), table.last_key());
        let bytes: u64 = version.level(level + 1)[overlapping].iter().map(|table| table.reader().file_len).sum();
        bytes as f64 / table.reader().file_len as f64
    };
    let cheapest = version.level(level).iter().map(|table| (table, cost(table))).min_by(|a, b| a.1.total_cmp(&b.1));
    into_next(version, level, core::slice::from_ref(cheapest?.0))
}

/// The bytes of the largest compaction that may be next, at whatever level: it writes as many before its inputs go.
pub(crate) fn most_bytes(version: &Version) -> u64 {
    let bytes = |compaction: Compaction| compaction.inputs().map(|table| table.reader().file_len).sum();
    (0..NUM_LEVELS - 1).filter_map(|level| cheapest(version, level)).map(bytes).max().unwrap_or(0)
}

/// Returns the fill of a level: 1 is full.
fn score(version: &Version, options: &StoreOptions, level: usize) -> f64 {
    if level == 0 {
        return version.level(0).len() as f64 / options.max_level0_tables as f64;
    }
    let ratio = f64::from(options.level_ratio).powi(level as i32 - 1);
    let bytes: u64 = version.level(level).iter().map(|table| table.reader().file_len).sum();
    bytes as f64 / (options.level_bytes_base as f64 * ratio).max(1.0)
}

/// Returns the compaction of `upper`, tables of a level, into the next level.
fn into_next(version: &Version, level: usize, upper: &[Arc<Table>]) -> Option<Compaction> {
    let first = upper.iter().map(|table| table.first_key()).min()?;
    let last = upper.iter().map(|table| table.last_key()).max()?;
    let to_level = level + 1;
    let overlapping = version.overlapping(to_level, first, last);
    let lower = version.level(to_level)[overlapping].to_vec();
    // Tables of level 0 may overlap: each is a run.
    let len = if level == 0 { 1 } else { upper.len() };
    let mut runs: Vec<Vec<Arc<Table>>> = upper.chunks(len).map(<[_]>::to_vec).collect();
    runs.push(lower);
    Some(Compaction { runs, to_level })
}

/// Returns the compactions that bring every table into the deepest level, without tombstones. Each cell is rewritten at
/// most once.
///
/// Tables whose ranges overlap, directly or through others, are one compaction.
pub(crate) fn whole_store(version: &Version) -> Vec<Compaction> {
    let to_level = version.deepest().max(1);
    let mut tables: Vec<_> = version.tables().collect();
    tables.sort_by_key(|table| table.first_key());
    let (mut group_of, mut num_groups) = (BTreeMap::new(), 0);
    let mut last: Option<CellKey<'_>> = None;
    for table in tables {
        num_groups += usize::from(last.is_none_or(|last| last < table.first_key()));
        last = last.max(Some(table.last_key()));
        group_of.insert(table.number(), num_groups - 1);
    }
    let mut compactions = vec![Compaction { runs: Vec::new(), to_level }; num_groups];
    for (level, tables) in version.levels().enumerate() {
        // The tables are in the order of a run; a group's tables are neighbours in a deeper level.
        for table in tables {
            let runs = &mut compactions[group_of[&table.number()]].runs;
            match runs.last_mut().filter(|run| level > 0 && run[0].level == level) {
                Some(run) => run.push(Arc::clone(table)),
                None => runs.push(vec![Arc::clone(table)]),
            }
        }
    }
    compactions
        .retain(|all| all.upper().next().is_some() || all.inputs().any(|table| table.footer().num_tombstones > 0));
    compactions
}
