//! Opening a store of any files and asking it for everything, within bounds that must hold for any bytes.

use crate::sample::{Files, files, storage};
use crate::sim::{OperationKind, SimStorage};
use crate::state::assert_typed;
use filterblock_kv::{Cell, Damage, Error, Store, StoreOptions};
use std::sync::Arc;

/// The least length of a cell in a file: the header of a write in a log.
const MIN_CELL_LEN: usize = 9;
/// Cells that are looked up one by one.
const MAX_GETS: usize = 48;

/// An error of damage has a fitting type and a text. A forged manifest may call for a secret key, which nobody gave.
pub fn check_error(error: &Error) {
    if !matches!(error, Error::HashKey { given: None, .. }) {
        assert_typed(error);
    }
    assert!(!error.to_string().is_empty(), "{error:?}");
}

/// A store and where it is.
pub struct Opened {
    storage: SimStorage,
    options: StoreOptions,
    pub store: Store,
}

/// Opens a store of these files for reading, then for writing. Opening for reading changes nothing, and neither does
/// opening that fails. Where writing is refused, so is reading, or a scan of everything.
pub fn open(files: &Files, options: StoreOptions) -> Option<Opened> {
    let storage = storage(files);
    let read_only = open_unchanged(&storage, options.clone().with_read_only(true), files);
    let opened = Store::open(Arc::new(storage.clone()), options.clone());
    match (read_only, opened) {
        (Some(before), Ok(store)) => {
            assert_eq!(before, all(&store).ok(), "opened for reading and for writing");
            Some(Opened { storage, options, store })
        }
        // For reading a store opens without a table that cannot be read, and a scan that may need it fails.
        (None | Some(None), Err(error)) => {
            check_error(&error);
            check_unchanged(&storage, files);
            None
        }
        (read_only, opened) => panic!("for reading {:?}, for writing {opened:?}", read_only.is_some()),
    }
}

/// The cells of a full scan, if the store opens; an inner `None` for a scan that fails.
fn open_unchanged(storage: &SimStorage, options: StoreOptions, files: &Files) -> Option<Option<Vec<Cell>>> {
    let opened = Store::open(Arc::new(storage.clone()), options);
    let found = match &opened {
        Ok(store) => {
            assert!(matches!(store.put(b"row", b"column", b"value"), Err(Error::ReadOnly)));
            Some(all(store).ok())
        }
        Err(error) => {
            check_error(error);
            None
        }
    };
    drop(opened);
    check_unchanged(storage, files);
    found
}

fn check_unchanged(storage: &SimStorage, before: &Files) {
    let log = storage.log();
    assert!(log.iter().all(|operation| operation.kind == OperationKind::Lock), "{log:?}");
    let mut now = files(storage);
    now.retain(|name, _| name != "LOCK" || before.contains_key(name));
    assert!(now == *before, "files have changed");
}

/// All live cells, which must not be more than the files can hold.
pub fn all(store: &Store) -> Result<Vec<Cell>, Error> {
    let mut room = file_bytes(store);
    let (mut cells, mut scan) = (Vec::new(), store.scan(..));
    while let Some(cell) = scan.next() {
        let cell = match cell {
            Ok(cell) => cell,
            Err(error) => {
                check_error(&error);
                assert!(scan.next().is_none(), "a scan goes on after an error");
                return Err(error);
            }
        };
        let len = MIN_CELL_LEN + cell.row.len() + cell.column.len() + cell.value.len();
        room = room.checked_sub(len).expect("more cells than bytes");
        cells.push(cell);
    }
    Ok(cells)
}

fn file_bytes(store: &Store) -> usize {
    let storage = store.storage();
    let names = storage.list().expect("a listing").into_iter();
    names.filter_map(|name| Some(storage.open(&name).ok()?.len().expect("a length") as usize)).sum()
}

/// The least string above all that start with `prefix`, if there is one.
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    Some([&prefix[..last], &[prefix[last] + 1]].concat())
}

/// Returns whether cells are in strictly ascending order.
pub fn is_ascending(cells: &[Cell]) -> bool {
    cells.windows(2).all(|pair| (&pair[0].row, &pair[0].column) < (&pair[1].row, &pair[1].column))
}

fn settle<T>(answer: Result<T, Error>) -> Option<T> {
    answer.inspect_err(check_error).ok()
}

/// Asks for `cells`, their rows and prefixes, and for what lies between them. Where `consistent`, nothing fails and
/// every answer is that of `cells`, all that the store holds; where not, nothing panics.
pub fn ask(store: &Store, cells: &[Cell], consistent: bool) {
    let step = cells.len().div_ceil(MAX_GETS).max(1);
    for cell in cells.iter().step_by(step) {
        let Cell { row, column, value, .. } = cell;
        let found = settle(store.get(row, column)).map(|found| found.as_ref() == Some(value));
        assert!(!consistent || found == Some(true), "get {row:?} {column:?}: {found:?}");
        let beside = [&row[..], b"\0"].concat();
        let absent = cells.iter().all(|other| other.row != beside);
        let found = settle(store.get(&beside, column));
        assert!(!(consistent && absent) || found == Some(None), "get {beside:?} {column:?}: {found:?}");
        let found = settle(store.get_row(row));
        let expected = cells.iter().filter(|other| other.row == *row);
        let expected = expected.map(|other| (other.column.clone(), other.value.clone())).collect();
        assert!(!consistent || found == Some(expected), "row {row:?}: {found:?}");
        let prefix = &row[..row.len().min(2)];
        let found: Result<Vec<Cell>, Error> = store.scan_prefix(prefix).collect();
        let found = settle(found);
        let expected: Vec<&Cell> = cells.iter().filter(|other| other.row.starts_with(prefix)).collect();
        let equal = found.is_some_and(|found| found.iter().eq(expected));
        assert!(!consistent || equal, "prefix {prefix:?}");
        let found: Result<Vec<Cell>, Error> = store.scan(&row[..]..=&beside[..]).collect();
        let equal = settle(found).is_some_and(|found| {
            found.iter().eq(cells.iter().filter(|other| other.row >= *row && other.row <= beside))
        });
        assert!(!consistent || equal, "range {row:?}");
    }
    for (row, column) in [(&b""[..], &b""[..]), (b"\xff\xff\xff", b"x"), (b"b", b"\xff")] {
        let found = settle(store.get(row, column));
        let expected = cells.iter().find(|cell| cell.row == row && cell.column == column);
        let expected = expected.map(|cell| cell.value.clone());
        assert!(!consistent || found == Some(expected), "get {row:?} {column:?}: {found:?}");
    }
    assert_eq!(store.ledger_report().check(), Ok(()));
    for warning in store.warnings() {
        assert!(!warning.to_string().is_empty());
    }
    let stats = store.stats();
    assert!(stats.tables.iter().all(|table| table.level < 7), "{stats:?}");
}

/// Returns whether a store has used up its sequence numbers or its files' numbers. That takes 2^56 writes or 2^53
/// files; a forged file can claim that there were as many.
fn is_at_last_number(error: &Error) -> bool {
    let Error::Damaged { damage: Damage::Contradiction { name, found }, .. } = error else { return false };
    let last: u64 = match *name {
        "next number" => 1 << 53,
        "last sequence number" => 1 << 56,
        _ => return false,
    };
    (last..last + 100).contains(found)
}

/// Writes, closes, opens and compacts a store that holds `cells`. Where `consistent`, nothing fails and everything is
/// answered as before.
pub fn go_on(opened: Opened, mut cells: Vec<Cell>, consistent: bool) {
    let Opened { storage, options, store } = opened;
    let (first, last) = (cells.first().cloned(), cells.last().cloned());
    let new = Cell::new(b"new row", b"column", b"value");
    let mut write = |cell: &Cell, value: Option<&[u8]>| {
        let Cell { row, column, .. } = cell;
        let written = match value {
            Some(value) => store.put(row, column, value),
            None => store.delete(row, column),
        };
        // Maintenance may read a forged table.
        assert!(settle(written).is_some() || !consistent, "write {row:?}");
        cells.retain(|other| (&other.row, &other.column) != (row, column));
        cells.extend(value.map(|value| Cell::new(&cell.row[..], &cell.column[..], value)));
    };
    write(&new, Some(&new.value));
    first.iter().for_each(|cell| write(cell, Some(b"another value")));
    last.iter().filter(|last| Some(*last) != first.as_ref()).for_each(|cell| write(cell, None));
    cells.sort();
    let check = |store: &Store, when: &str| {
        let found = all(store);
        assert!(!consistent || found.as_ref().ok() == Some(&cells), "{when}: {found:?}, not {cells:?}");
        let got = settle(store.get(&new.row, &new.column));
        assert!(!consistent || got == Some(Some(new.value.clone())), "{when}: {got:?}");
    };
    check(&store, "written");
    assert!(settle(store.close()).is_some() || !consistent, "closed");
    for compact in [true, false] {
        let store = match Store::open(Arc::new(storage.clone()), options.clone()) {
            Ok(store) => store,
            Err(error) if !consistent || is_at_last_number(&error) => return check_error(&error),
            Err(error) => panic!("a store that opened does not open again: {error}"),
        };
        check(&store, "opened again");
        if compact {
            assert!(settle(store.compact()).is_some() || !consistent, "compaction");
            check(&store, "compacted");
        }
        assert!(settle(store.close()).is_some() || !consistent, "closed");
    }
}
