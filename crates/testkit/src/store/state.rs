//! The answers that a store must give, and asking it for everything.

use filterblock_kv::{Cell, Error, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The live cells.
pub type Cells = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// The live cells and the answers that follow from them, computed once and compared often.
pub struct State {
    gets: Vec<Get>,
    rows: Vec<GetRow>,
    pub ranges: Vec<Range>,
    pub prefixes: Vec<(Vec<u8>, Vec<Cell>)>,
    all: Vec<Cell>,
}

struct Get {
    row: Vec<u8>,
    column: Vec<u8>,
    value: Option<Vec<u8>>,
}

struct GetRow {
    row: Vec<u8>,
    columns: BTreeMap<Vec<u8>, Vec<u8>>,
}

pub struct Range {
    pub bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    cells: Vec<Cell>,
}

/// The number of answers, and of errors among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub answers: u64,
    pub errors: u64,
}

fn listed<'a>(cells: &'a Cells, is_in: impl Fn(&[u8]) -> bool + 'a) -> Vec<Cell> {
    let cell = |((row, column), value): (&(Vec<u8>, Vec<u8>), &Vec<u8>)| Cell::new(&row[..], &column[..], &value[..]);
    cells.iter().filter(|((row, _), _)| is_in(row)).map(cell).collect()
}

impl State {
    /// The answers for `rows` and `columns`, which should include absent ones.
    pub fn new(cells: &Cells, rows: &[Vec<u8>], columns: &[Vec<u8>]) -> Self {
        let mut gets = Vec::new();
        for row in rows {
            for column in columns {
                let (row, column) = (row.clone(), column.clone());
                let value = cells.get(&(row.clone(), column.clone())).cloned();
                gets.push(Get { row, column, value });
            }
        }
        let of_row = |row: &Vec<u8>| {
            let columns = cells.iter().filter(|((other, _), _)| other == row);
            let columns = columns.map(|((_, column), value)| (column.clone(), value.clone())).collect();
            GetRow { row: row.clone(), columns }
        };
        let bounds: Vec<Vec<u8>> = rows.iter().step_by(5).cloned().collect();
        let all = listed(cells, |_| true);
        let mut ranges = vec![Range { bounds: (Bound::Unbounded, Bound::Unbounded), cells: all.clone() }];
        for pair in bounds.windows(2) {
            let cells = listed(cells, |row| *row > *pair[0] && *row <= *pair[1]);
            ranges.push(Range { bounds: (Bound::Excluded(pair[0].clone()), Bound::Included(pair[1].clone())), cells });
        }
        let prefixes: BTreeSet<Vec<u8>> = rows.iter().map(|row| row[..row.len().min(2)].to_vec()).collect();
        let of_prefix = |prefix: Vec<u8>| {
            let found = listed(cells, |row| row.starts_with(&prefix));
            (prefix, found)
        };
        let prefixes = prefixes.into_iter().map(of_prefix).collect();
        Self { gets, rows: rows.iter().map(of_row).collect(), ranges, prefixes, all }
    }

    /// All live cells in order.
    pub fn all(&self) -> &[Cell] {
        &self.all
    }

    /// Asks for every cell, row, range and prefix. A wrong answer is a panic; errors are counted.
    pub fn ask(&self, store: &Store) -> Asked {
        let mut asked = Asked::default();
        let mut settle = |error: Option<Error>| {
            asked.answers += 1;
            if let Some(error) = error {
                assert_typed(&error);
                asked.errors += 1;
            }
        };
        for Get { row, column, value } in &self.gets {
            let found = store.get(row, column);
            settle(found.map(|found| assert_eq!(found, *value, "cell {row:?} {column:?}")).err());
        }
        for GetRow { row, columns } in &self.rows {
            let found = store.get_row(row);
            settle(found.map(|found| assert_eq!(found, *columns, "row {row:?}")).err());
        }
        for Range { bounds: (start, end), cells } in &self.ranges {
            let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
            settle(compare(store.scan(range), cells, "range").err());
        }
        for (prefix, expected) in &self.prefixes {
            settle(compare(store.scan_prefix(prefix), expected, "prefix").err());
        }
        assert_eq!(store.ledger_report().check(), Ok(()));
        asked
    }
}

/// A scan yields the expected cells; or the first of them, then an error, then nothing.
fn compare(mut scan: impl Iterator<Item = Result<Cell, Error>>, expected: &[Cell], what: &str) -> Result<(), Error> {
    let mut expected = expected.iter();
    while let Some(cell) = scan.next() {
        match cell {
            Ok(cell) => assert_eq!(Some(&cell), expected.next(), "{what}: a cell that is not there"),
            Err(error) => {
                assert!(scan.next().is_none(), "{what}: goes on after an error");
                return Err(error);
            }
        }
    }
    assert_eq!(expected.next(), None, "{what}: a cell is missing");
    Ok(())
}

/// Damage is reported as such, not as an error of the system, of the caller or of the store.
pub fn assert_typed(error: &Error) {
    let is_typed = matches!(
        error,
        Error::Damaged { .. }
            | Error::Misplaced { .. }
            | Error::NewerVersion { .. }
            | Error::Missing { .. }
            | Error::NoManifest { .. }
    );
    assert!(is_typed, "not a typed error of damage: {error:?}");
}
