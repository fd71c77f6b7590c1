//! One bad table is one bad table: each table of a store in turn, each kind of its bytes.

use crate::*;
use std::ops::RangeInclusive;

pub(crate) const NUM_ROWS: u32 = 400;
pub(crate) const PAGE: usize = 4096;

pub(crate) type Cells = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn options() -> StoreOptions {
    let options =
        StoreOptions::default().with_seed(4).with_maintenance(Maintenance::Inline { seed: 2 }).with_cache_bytes(0);
    options
        .with_max_memtable_bytes(16_000)
        .with_max_table_bytes(8_000)
        .with_level_bytes(60_000, 2)
        .with_max_level0_tables(4)
}

pub(crate) fn row(i: u32) -> Vec<u8> {
    format!("row{i:04}").into_bytes()
}

/// A store of many tables in several levels, with overwritten and deleted cells, and a log.
pub(crate) fn store() -> (SimStorage, Cells) {
    let (storage, mut cells) = (SimStorage::new(), Cells::new());
    let store = Store::open(Arc::new(storage.clone()), options()).unwrap();
    let mut put = |i: u32, round: u32| {
        let value = format!("{round:<300}").into_bytes();
        if (i + round) % 11 == 0 {
            store.delete(&row(i), b"column").unwrap();
            cells.remove(&row(i));
        } else {
            store.put(&row(i), b"column", &value).unwrap();
            cells.insert(row(i), value);
        }
    };
    (0..NUM_ROWS).for_each(|i| put(i, 0));
    for round in 1..4 {
        (0..NUM_ROWS).filter(|i| i % (3 * round) == 1).for_each(|i| put(i, round));
    }
    store.settle().unwrap();
    for (first, round) in [(0, 5), (200, 6)] {
        (first..first + 20).for_each(|i| put(i, round));
        store.flush().unwrap();
    }
    (100..105).for_each(|i| put(i, 7));
    let stats = store.stats();
    let levels: BTreeSet<usize> = stats.tables.iter().map(|table| table.level).collect();
    assert!(stats.tables.len() >= 20 && levels.len() >= 3, "{} tables in {levels:?}", stats.tables.len());
    store.close().unwrap();
    (storage, cells)
}

/// First and last row of a table.
fn rows_of(bytes: &[u8]) -> RangeInclusive<Vec<u8>> {
    let (_dir, table) = table_file(bytes);
    let keys = table.key_range().unwrap();
    keys.start().row.to_vec()..=keys.end().row.to_vec()
}

/// Every answer is right or an error, and outside of `hidden` it is right. Returns the errors.
fn ask(store: &Store, cells: &Cells, hidden: &RangeInclusive<Vec<u8>>, context: &str) -> u32 {
    let is_hidden = |row: &Vec<u8>| hidden.contains(row);
    let mut errors = 0;
    for i in 0..NUM_ROWS + 1 {
        let row = row(i);
        let expected = cells.get(&row);
        match store.get(&row, b"column") {
            Ok(value) => assert_eq!(value.as_ref(), expected, "{context}: {i}"),
            Err(error) => {
                assert!(is_hidden(&row), "{context}: {i}: {error}");
                errors += 1;
            }
        }
        match store.get_row(&row) {
            Ok(columns) => assert_eq!(columns.get(&b"column"[..]), expected, "{context}: {i}"),
            Err(error) => assert!(is_hidden(&row), "{context}: {i}: {error}"),
        }
    }
    // Scans of ten rows each, up to the first error.
    for start in (0..NUM_ROWS).step_by(10) {
        let (from, to) = (row(start), row(start + 10));
        let mut expected = cells.range(from.clone()..to.clone());
        for cell in store.scan(&from[..]..&to[..]) {
            match cell {
                Ok(cell) => assert_eq!(expected.next(), Some((&cell.row, &cell.value)), "{context}: {start}"),
                Err(error) => {
                    assert!(*hidden.start() < to && from <= *hidden.end(), "{context}: {start}: {error}");
                    expected = cells.range(to.clone()..to.clone());
                }
            }
        }
        assert_eq!(expected.next(), None, "{context}: {start}: cells are missing");
    }
    errors
}

#[test]
fn each_table_in_turn_costs_its_own_rows() {
    let (storage, cells) = store();
    let tables = tables(&storage);
    let (mut num_damaged, mut num_errors) = (0, 0);
    for (table, other) in tables.iter().zip(tables.iter().cycle().skip(1)) {
        let intact = storage.contents(table).unwrap();
        let own = rows_of(&intact);
        let footer = intact.len() - PAGE;
        let index = Parts::of(&intact).unwrap().index;
        let (data_len, index_len) = (index.start, index.len());
        let flipped = |at: usize| {
            let mut bytes = intact.clone();
            bytes[at] ^= 4;
            Some(bytes)
        };
        let mut cases: Vec<(String, Option<Vec<u8>>)> = vec![
            ("missing".to_owned(), None),
            ("empty".to_owned(), Some(Vec::new())),
            ("cut by a page".to_owned(), Some(intact[..footer].to_vec())),
            ("another".to_owned(), storage.contents(other)),
        ];
        cases.extend([0, 8, 40, 80, 100, PAGE - 1].map(|at| (format!("footer at {at}"), flipped(footer + at))));
        cases.extend([0, index_len / 2, index_len - 1].map(|at| (format!("index at {at}"), flipped(data_len + at))));
        let num_whole = cases.len();
        cases.extend((0..data_len).step_by(PAGE).map(|at| (format!("block at {at}"), flipped(at + 50))));
        for (position, (what, bytes)) in cases.into_iter().enumerate() {
            let context = format!("{table}, {what}");
            let image = storage.crash_image(CrashKind::Everything);
            match bytes {
                Some(bytes) => image.replace(table, bytes),
                None => filterblock_kv::Storage::remove(&image, table).unwrap(),
            }
            let before: Vec<_> = image.names().into_iter().map(|name| image.contents(&name)).collect();
            let reader = Store::open(Arc::new(image.clone()), options().with_read_only(true)).unwrap();
            let is_whole = position < num_whole;
            let errors = ask(&reader, &cells, &own, &context);
            let of_stats = reader.stats().unreadable;
            assert_eq!(of_stats.len(), usize::from(is_whole), "{context}");
            // Verifying probes each filter ten thousand times: it is done once for each sort of damage.
            let unreadable = if position == 0 || position == num_whole {
                let report = reader.verify();
                assert_eq!(report.log_cells, 5);
                assert_eq!(report.tables.len() + usize::from(is_whole), tables.len(), "{context}");
                report.unreadable
            } else {
                of_stats
            };
            if is_whole || !unreadable.is_empty() {
                let [unreadable] = &unreadable[..] else { panic!("{context}: {unreadable:?}") };
                let rows = unreadable.rows.clone();
                assert_eq!(&unreadable.file, table, "{context}");
                assert!(own.contains(rows.start()) && own.contains(rows.end()), "{context}: {rows:?} of {own:?}");
                if is_whole {
                    assert_eq!(rows, own, "{context}");
                } else {
                    // A block hides its own rows only.
                    ask(&reader, &cells, &rows, &context);
                }
            }
            if is_whole {
                assert!(matches!(
                    Store::open(Arc::new(image.clone()), options()),
                    Err(Error::Missing { .. } | Error::Damaged { .. } | Error::Misplaced { .. })
                ));
                let after: Vec<_> = image.names().into_iter().map(|name| image.contents(&name)).collect();
                assert!(before == after, "{context}: something was changed");
            }
            assert_eq!(reader.ledger_report().check(), Ok(()), "{context}");
            num_damaged += 1;
            num_errors += errors;
        }
    }
    assert!(num_errors > num_damaged, "{num_errors} errors of {num_damaged} damaged stores");
    let num_tables = tables.len();
    println!(
        "counted: {num_damaged} damaged tables of {num_tables}, each named; {num_errors} answers refused, 0 wrong"
    );
}
