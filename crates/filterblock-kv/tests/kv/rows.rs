//! Rows for tests that need many.

use crate::*;

/// Rows in no order, all different: the first number of each seed is another one.
pub(crate) fn scattered(i: u64) -> Vec<u8> {
    format!("{:016x}", Random::new(i).next()).into_bytes()
}

/// Rows in order.
pub(crate) fn row(i: u32) -> Vec<u8> {
    format!("row{i:05}").into_bytes()
}

/// Writes a cell of row `i` whose value has this length.
pub(crate) fn put(store: &Store, i: u32, len: usize) -> Result<(), Error> {
    store.put(&row(i), b"column", &vec![i as u8; len])
}

/// Writes the rows from `first` on, until one is refused: which, and why.
pub(crate) fn put_until_refused(store: &Store, first: u32, len: usize) -> (u32, Error) {
    let refused = |i| put(store, i, len).err().map(|error| (i, error));
    (first..).find_map(refused).expect("a row that is refused")
}

/// Checks that the cells of these rows are as [`put`] writes them.
#[track_caller]
pub(crate) fn has(store: &Store, rows: impl Iterator<Item = u32>, len: usize) {
    for i in rows {
        assert!(store.get(&row(i), b"column").unwrap() == Some(vec![i as u8; len]), "{i}");
    }
}
