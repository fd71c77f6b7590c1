//! Which columns of the tables' filters memory holds.
//!
//! Solved anew for the tables that have come and gone, and when lookups have moved: by
//! [`hold_columns`](crate::budget::hold_columns), with the lookups of absent keys that the ledger counted for each
//! filter, in what other kinds and the indexes of partitioned filters leave of the budget. A table holds what it is
//! told to from its opening on, so one with other columns takes its place in the view; nothing on the disk changes.

use super::super::error::Error;
use super::super::purpose::Purpose;
use super::super::sstable::Table;
use super::super::version::Version;
use super::core::{Core, MaintenanceState, View};
use crate::budget::{self, ElasticFilter};
use crate::ledger::{Outcome, Tally};
use core::sync::atomic::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lookups until what is held is solved anew.
const LOOKUPS_OF_A_SOLUTION: u64 = 1 << 15;

/// What was last solved, and for which lookups.
#[derive(Debug, Default)]
pub(super) struct ColumnState {
    /// Number and file of the filters of each table.
    tables: Vec<(u64, Option<u64>)>,
    num_lookups: u64,
    /// By table and purpose.
    popularity: BTreeMap<(u64, Purpose), Popularity>,
}

/// The lookups of absent keys that reached a filter.
#[derive(Clone, Copy, Debug, Default)]
struct Popularity {
    /// Those between two solutions count half as much at the next one.
    weight: f64,
    /// Those of the table's account that are in `weight`.
    counted: u64,
}

/// The lookups that a filter of enough columns would have denied.
fn num_absent(tally: &Tally) -> u64 {
    tally.absent_asked() + tally.count(Outcome::NoFilter).saturating_sub(tally.unfiltered_found)
}

impl Core {
    /// Counts a lookup that reaches tables. Now and then, wakes maintenance to solve anew.
    pub(super) fn note_lookup(&self) {
        if !self.tables.limits_columns {
            return;
        }
        let before = self.num_lookups.fetch_add(1, Ordering::Relaxed);
        if (before + 1) % LOOKUPS_OF_A_SOLUTION == 0 {
            self.want_work();
        }
    }

    /// Has the tables hold the columns that save the most reads. False if that was not due or changed nothing.
    pub(super) fn hold_columns(&self, maintenance: &mut MaintenanceState) -> Result<bool, Error> {
        let Some(budget_bytes) = self.options.filters.column_budget(self.options.filter_residence) else {
            return Ok(false);
        };
        let version = Arc::clone(&self.view().version);
        let tables: Vec<_> = version.tables().map(|table| (table.number(), table.filters().file_number())).collect();
        let num_lookups = self.num_lookups.load(Ordering::Relaxed);
        let state = &mut maintenance.columns;
        if state.tables == tables && num_lookups - state.num_lookups < LOOKUPS_OF_A_SOLUTION {
            return Ok(false);
        }
        (state.tables, state.num_lookups) = (tables, num_lookups);
        let changed = state.solve(&version, budget_bytes);
        if changed.is_empty() {
            return Ok(false);
        }
        self.replace(&changed)?;
        Ok(true)
    }

    /// Replaces tables by others of the same numbers, in memory only. The caller holds the maintenance lock.
    fn replace(&self, tables: &[Arc<Table>]) -> Result<(), Error> {
        let numbers: Vec<u64> = tables.iter().map(|table| table.number()).collect();
        // The view changes under the manifest's lock only.
        let _manifest = self.manifest.lock();
        let view = self.view();
        let version = Arc::new(view.version.changed(&numbers, tables)?);
        let before = core::mem::replace(&mut *self.view.write(), Arc::new(View { version, ..View::clone(&view) }));
        // Outside the lock, as in a commit.
        drop(before);
        Ok(())
    }
}

impl ColumnState {
    /// The tables whose columns change, with those that they are to hold.
    fn solve(&mut self, version: &Version, budget_bytes: u64) -> Vec<Arc<Table>> {
        let elastic = |table: &Arc<Table>| {
            let purposes = Purpose::ALL.into_iter().filter(|&purpose| table.by_columns(purpose).is_some());
            purposes.map(|purpose| (Arc::clone(table), purpose)).collect::<Vec<_>>()
        };
        let asked: Vec<(Arc<Table>, Purpose)> = version.tables().flat_map(elastic).collect();
        let weights = self.weights(version, &asked);
        let filters: Vec<ElasticFilter> = asked
            .iter()
            .zip(weights)
            .map(|((table, purpose), weight)| {
                let points = table.by_columns(*purpose).unwrap_or_default();
                ElasticFilter::new(points.iter().copied()).weight(weight)
            })
            .collect();
        let mut columns: BTreeMap<u64, [u32; Purpose::ALL.len()]> = BTreeMap::new();
        let fixed_bytes = version.tables().map(|table| table.fixed_filter_bytes()).fold(0, u64::saturating_add);
        let left_bytes = budget_bytes.saturating_sub(fixed_bytes);
        for ((table, purpose), held) in asked.iter().zip(budget::hold_columns(&filters, left_bytes)) {
            columns.entry(table.number()).or_default()[purpose.index()] = held;
        }
        let mut changed = Vec::new();
        for table in version.tables() {
            let held = columns.get(&table.number()).copied().unwrap_or_default();
            if Purpose::ALL.map(|purpose| table.num_held(purpose)) != held {
                changed.push(Arc::new(table.holding(held)));
                // It has a new account.
                let of_table =
                    (table.number(), Purpose::ALL[0])..=(table.number(), Purpose::ALL[Purpose::ALL.len() - 1]);
                self.popularity.range_mut(of_table).for_each(|(_, popularity)| popularity.counted = 0);
            }
        }
        changed
    }

    /// How many lookups of absent keys are expected of each filter, on a common scale: as many as there were, those of
    /// late above all. A new table's filter is taken for an average one; without any lookups, all tables are that a
    /// lookup reaches by chance: one of each level, and all of level 0.
    fn weights(&mut self, version: &Version, asked: &[(Arc<Table>, Purpose)]) -> Vec<f64> {
        let before = std::mem::take(&mut self.popularity);
        let mut known = Vec::new();
        for (table, purpose) in asked {
            let key = (table.number(), *purpose);
            let counted = num_absent(table.counters().ledger().of(*purpose));
            let weight = before.get(&key).map(|before| {
                // Another account, of filters that were rebuilt or of another level, begins at zero.
                let new = counted.checked_sub(before.counted).unwrap_or(counted);
                before.weight / 2.0 + new as f64
            });
            known.push(weight.is_some());
            self.popularity.insert(key, Popularity { weight: weight.unwrap_or(0.0), counted });
        }
        let weight_of = |(table, purpose): &(Arc<Table>, Purpose)| self.popularity[&(table.number(), *purpose)].weight;
        let num_known = known.iter().filter(|known| **known).count().max(1);
        let mean = asked.iter().map(weight_of).sum::<f64>() / num_known as f64;
        for ((table, purpose), is_known) in asked.iter().zip(known) {
            if let Some(new) = self.popularity.get_mut(&(table.number(), *purpose)).filter(|_| !is_known) {
                new.weight = mean;
            }
        }
        let by_chance = |table: &Table| match table.level() {
            0 => 1.0,
            level => 1.0 / version.level(level).len().max(1) as f64,
        };
        let weight = |(table, purpose): &(Arc<Table>, Purpose)| {
            self.popularity[&(table.number(), *purpose)].weight + by_chance(table)
        };
        asked.iter().map(weight).collect()
    }
}
