//! The answers that a store must give.

use crate::workload::{Batch, COLUMNS, PREFIX_LEN, ROWS};
use filterblock_engine::ledger::Outcome;
use filterblock_kv::{Cell, Error, Snapshot, Store, WriteBatch};
use std::collections::BTreeMap;

/// Cells by row and column.
pub(crate) type State = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

pub(crate) fn applied(state: &State, batch: &Batch) -> State {
    let mut state = state.clone();
    for write in batch {
        let key = (write.row.to_vec(), write.column.to_vec());
        match &write.value {
            Some(value) => state.insert(key, value.clone()),
            None => state.remove(&key),
        };
    }
    state
}

pub(crate) fn write(store: &Store, batch: &Batch) -> Result<(), Error> {
    // A single write uses the shorter calls.
    if let [write] = &batch[..] {
        return match &write.value {
            Some(value) => store.put(write.row, write.column, value),
            None => store.delete(write.row, write.column),
        };
    }
    let mut writes = WriteBatch::new();
    for write in batch {
        match &write.value {
            Some(value) => writes.put(write.row, write.column, value)?,
            None => writes.delete(write.row, write.column)?,
        };
    }
    store.write(writes)
}

fn collect(cells: impl Iterator<Item = Result<Cell, Error>>) -> Result<State, Error> {
    cells.map(|cell| cell.map(|cell| ((cell.row, cell.column), cell.value))).collect()
}

pub(crate) fn contents(store: &Store) -> Result<State, Error> {
    collect(store.scan(..))
}

pub(crate) fn snapshot_contents(snapshot: &Snapshot) -> Result<State, Error> {
    collect(snapshot.scan(..))
}

/// Asks for every cell, row and prefix, absent ones too. Returns errors; panics at a wrong answer.
pub(crate) fn ask_everything(store: &Store, expected: &State, context: &dyn Fn() -> String) -> Result<(), Error> {
    for row in ROWS.into_iter().chain([&b"ac"[..], b"zz"]) {
        for column in COLUMNS.into_iter().chain([&b"none"[..]]) {
            let found = store.get(row, column)?;
            let right = expected.get(&(row.to_vec(), column.to_vec()));
            assert!(found.as_ref() == right, "get of {row:?} {column:?} is wrong: {}", context());
        }
        let of_row = expected.iter().filter(|((of, _), _)| of == row);
        let right: BTreeMap<_, _> = of_row.map(|((_, column), value)| (column.clone(), value.clone())).collect();
        assert!(store.get_row(row)? == right, "row {row:?} is wrong: {}", context());
    }
    for row in ROWS.into_iter().chain([&b"zz"[..]]) {
        let prefix = &row[..row.len().min(PREFIX_LEN.into())];
        let mut right = expected.clone();
        right.retain(|(row, _), _| row.starts_with(prefix));
        assert!(collect(store.scan_prefix(prefix))? == right, "prefix {prefix:?} is wrong: {}", context());
    }
    Ok(())
}

/// The ledger balances and has every lookup.
pub(crate) fn check_ledger(store: &Store, failed: bool, context: &dyn Fn() -> String) {
    let ledger = store.ledger();
    assert_eq!(ledger.check(), Ok(()), "{}", context());
    assert!(failed || ledger.total().count(Outcome::Failed) == 0, "failed lookups: {}", context());
}

/// No filter denies a key of its table. Costs far more than all other checks, as it probes for many absent keys too.
pub(crate) fn check_filters(store: &Store, context: &dyn Fn() -> String) {
    let report = store.verify();
    assert!(report.unreadable.is_empty(), "{:?}: {}", report.unreadable, context());
    let unusable = report.tables.iter().any(|table| !table.unusable.is_empty());
    assert!(report.false_negatives() == 0 && !unusable, "{report:?}: {}", context());
}
