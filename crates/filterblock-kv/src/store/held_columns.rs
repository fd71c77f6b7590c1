//! The choice of the columns of tables' filters that are in memory.
//!
//! The choice is solved anew when tables have come and gone, and when lookups have moved: by
//! [`hold_columns`](filterblock_engine::budget::hold_columns), with the lookups of absent keys that the ledger counted
//! for each filter, in the part of the budget that other kinds and the indexes of partitioned filters leave. A table's
//! columns are chosen when it is opened, so another one with other columns takes its place in the view; nothing on the
//! disk changes.

use super::{Arc, BTreeMap, Error, MaintenanceState, Ordering, Purpose, Shared, Table, Version, View};
use filterblock_engine::budget::{self, ColumnPoint, ElasticFilter};
use filterblock_engine::ledger::{Outcome, Tally};

/// Lookups until what is held is solved anew.
const LOOKUPS_OF_A_SOLUTION: u64 = 1 << 15;

/// The last solution, and the lookups for which it was made.
#[derive(Debug, Default)]
pub(super) struct ColumnState {
    /// Number and file of the filters of each table.
    tables: Vec<(u64, Option<u64>)>,
    num_lookups: u64,
    /// The lookups by table and purpose.
    popularity: BTreeMap<(u64, Purpose), Popularity>,
}

/// The lookups of absent keys that reached a filter.
#[derive(Clone, Copy, Debug, Default)]
struct Popularity {
    /// The weight of lookups, which halves from one solution to the next.
    weight: f64,
    /// The lookups of the table's account that `weight` includes.
    counted: u64,
}

/// The lookups that a filter of enough columns would have denied.
fn num_absent(tally: &Tally) -> u64 {
    tally.absent_asked() + tally.count(Outcome::NoFilter).saturating_sub(tally.unfiltered_found)
}

/// Counts a lookup that reaches tables. Now and then, wakes maintenance to solve anew.
pub(super) fn note_lookup(shared: &Shared) {
    if !shared.tables.limits_columns {
        return;
    }
    let before = shared.num_lookups.fetch_add(1, Ordering::Relaxed);
    if (before + 1) % LOOKUPS_OF_A_SOLUTION == 0 {
        shared.want_work();
    }
}

/// Has the tables hold the columns that save the most reads. False if that was not due or changed nothing.
pub(super) fn hold_columns(shared: &Shared, maintenance: &mut MaintenanceState) -> Result<bool, Error> {
    let Some(budget_bytes) = shared.options.filters.column_budget(shared.options.filter_residence) else {
        return Ok(false);
    };
    let version = Arc::clone(&shared.view().version);
    let tables: Vec<_> = version.tables().map(|table| (table.number(), table.filters.file_number())).collect();
    let num_lookups = shared.num_lookups.load(Ordering::Relaxed);
    let state = &mut maintenance.columns;
    if state.tables == tables && num_lookups - state.num_lookups < LOOKUPS_OF_A_SOLUTION {
        return Ok(false);
    }
    (state.tables, state.num_lookups) = (tables, num_lookups);
    let changed = state.solve(&version, budget_bytes);
    let numbers: Vec<u64> = changed.iter().map(|table| table.number()).collect();
    // The view changes under the manifest's lock only.
    let _manifest = shared.manifest.lock();
    let view = shared.view();
    let version = Arc::new(view.version.changed(&numbers, &changed)?);
    let before = core::mem::replace(&mut *shared.view.write(), Arc::new(View { version, ..View::clone(&view) }));
    // This is done outside the lock, as in a commit.
    drop(before);
    Ok(!changed.is_empty())
}

impl ColumnState {
    /// The tables whose columns change, with those that they are to hold.
    fn solve(&mut self, version: &Version, budget_bytes: u64) -> Vec<Arc<Table>> {
        let (mut elastic, mut fixed_bytes) = (Vec::new(), 0);
        for (table, filter) in
            version.tables().flat_map(|table| table.filters.usable().map(move |filter| (table, filter)))
        {
            fixed_bytes += filter.stored_stats.held_bytes;
            elastic.extend(filter.points().map(|points| (table, filter.stored_stats.purpose, points)));
        }
        let of_ranges = version.tables().filter_map(|table| table.filters.range());
        fixed_bytes += of_ranges.map(|filter| filter.stats.held_bytes).sum::<u64>();
        let popularity = self.popularity(&elastic);
        // Without any lookups, all tables are that a lookup reaches by chance: one of each level, and all of level 0.
        let by_chance = |table: &Table| match table.level {
            0 => 1.0,
            level => 1.0 / version.level(level).len().max(1) as f64,
        };
        let filters: Vec<ElasticFilter> = elastic
            .iter()
            .zip(&popularity)
            .map(|((table, _, points), popularity)| {
                ElasticFilter::new(points.iter().copied()).with_weight(popularity.weight + by_chance(table))
            })
            .collect();
        let mut columns: BTreeMap<u64, [u32; Purpose::OF_KEYS.len()]> = BTreeMap::new();
        let held = budget::hold_columns(&filters, budget_bytes.saturating_sub(fixed_bytes));
        for ((table, purpose, _), held) in elastic.iter().zip(held) {
            columns.entry(table.number()).or_default()[purpose.index()] = held;
        }
        let changed = |table: &Arc<Table>| {
            let held = columns.get(&table.number()).copied().unwrap_or_default();
            (table.filters.num_held() != held).then(|| Arc::new(table.holding(held)))
        };
        let changed: Vec<Arc<Table>> = version.tables().filter_map(changed).collect();
        for ((table, purpose, _), popularity) in elastic.iter().zip(popularity) {
            // A table that changes has a new account.
            let is_changed = changed.iter().any(|changed| changed.number() == table.number());
            let counted = if is_changed { 0 } else { popularity.counted };
            self.popularity.insert((table.number(), *purpose), Popularity { counted, ..popularity });
        }
        changed
    }

    /// Returns the expected lookups of absent keys for each filter, on a common scale: the counted ones, of which
    /// recent ones weigh most. A new table's filter is assumed to be average.
    fn popularity(&mut self, elastic: &[(&Arc<Table>, Purpose, &[ColumnPoint])]) -> Vec<Popularity> {
        let before = core::mem::take(&mut self.popularity);
        let updated = |(table, purpose, _): &(&Arc<Table>, Purpose, &[ColumnPoint])| {
            let counted = num_absent(table.counters.ledger().of(*purpose));
            let weight = before.get(&(table.number(), *purpose)).map(|before| {
                // Another account, of filters that were rebuilt or of another level, begins at zero.
                let new = counted.checked_sub(before.counted).unwrap_or(counted);
                before.weight / 2.0 + new as f64
            });
            (weight, counted)
        };
        let updated: Vec<(Option<f64>, u64)> = elastic.iter().map(updated).collect();
        let known: Vec<f64> = updated.iter().filter_map(|(weight, _)| *weight).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        updated.into_iter().map(|(weight, counted)| Popularity { weight: weight.unwrap_or(mean), counted }).collect()
    }
}
