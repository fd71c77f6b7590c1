//! The store against an ordered map, with every kind of filter and without.

use crate::faulty::MemStorage;
use filterblock::kv::{Cell, Purpose, Store, StoreOptions};
use filterblock::{FilterKind, FilterPolicy};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const ROWS: u8 = 7;
const COLUMNS: u8 = 4;

type Model = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
enum Op {
    Put {
        row: u8,
        column: u8,
        value: Vec<u8>,
    },
    Delete {
        row: u8,
        column: u8,
    },
    Flush,
    Reopen,
    /// Opens again without a flush: what was not flushed is gone.
    Crash,
}

fn row(i: u8) -> Vec<u8> {
    // The empty row, rows that are prefixes of others, and bytes ≥ 0x80.
    [&b""[..], b"a", b"a\0", b"aa", b"b", b"b\xff\xfe", b"\xff"][usize::from(i)].to_vec()
}

fn column(i: u8) -> Vec<u8> {
    [&b""[..], b"\0", b"a", b"contents:"][usize::from(i)].to_vec()
}

fn op() -> impl Strategy<Value = Op> {
    // Values around the size of a block, for blocks of one cell and of several pages.
    let value_len = prop_oneof![4 => 0..40usize, 1 => 1000..3000usize, 1 => 4000..4200usize, 1 => 8000..9000usize];
    let value = (value_len, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]);
    prop_oneof![
        8 => (0..ROWS, 0..COLUMNS, value).prop_map(|(row, column, value)| Op::Put { row, column, value }),
        3 => (0..ROWS, 0..COLUMNS).prop_map(|(row, column)| Op::Delete { row, column }),
        2 => Just(Op::Flush),
        1 => Just(Op::Reopen),
        1 => Just(Op::Crash),
    ]
}

/// No filter, and each kind for each set of purposes.
fn all_options() -> Vec<StoreOptions> {
    let mut all = vec![StoreOptions::without_filters()];
    for kind in FilterKind::ALL {
        let policy = FilterPolicy::with_bits_per_key(kind, 8.0).unwrap();
        for purposes in [&[Purpose::Row][..], &[Purpose::RowColumn], &Purpose::ALL] {
            let none = StoreOptions::without_filters();
            all.push(purposes.iter().fold(none, |options, &purpose| options.filter(purpose, policy)));
        }
    }
    all
}

fn check_against_model(store: &Store, model: &Model) {
    for r in 0..ROWS {
        let row = row(r);
        for column in (0..COLUMNS).map(column) {
            let expected = model.get(&(row.clone(), column.clone()));
            assert_eq!(store.get(&row, &column).unwrap().as_ref(), expected, "{row:?} {column:?}");
        }
        let columns = model.iter().filter(|(key, _)| key.0 == row);
        let expected: BTreeMap<_, _> = columns.map(|((_, column), value)| (column.clone(), value.clone())).collect();
        assert_eq!(store.get_row(&row).unwrap(), expected, "{row:?}");
        assert!(store.get_row(&[&row[..], b"~"].concat()).unwrap().is_empty());
        assert_eq!(store.get(&row, b"no such column").unwrap(), None);
    }
    let rows: Vec<Vec<u8>> = (0..ROWS).map(row).collect();
    let bounds = || {
        let of = |row: &'_ Vec<u8>| [Bound::Included(row.clone()), Bound::Excluded(row.clone())];
        rows.iter().flat_map(of).chain([Bound::Unbounded])
    };
    for start in bounds() {
        for end in bounds() {
            let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
            let found: Vec<Cell> = store.scan(range).collect::<Result<_, _>>().unwrap();
            let expected: Vec<Cell> = model
                .iter()
                .filter(|((row, _), _)| std::ops::RangeBounds::<[u8]>::contains(&range, row))
                .map(|((row, column), value)| Cell { row: row.clone(), column: column.clone(), value: value.clone() })
                .collect();
            assert_eq!(found, expected, "{range:?}");
        }
    }
    assert_eq!(store.ledger().check(), Ok(()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_the_model(ops in prop::collection::vec(op(), 1..60)) {
        for options in all_options() {
            let storage = Arc::new(MemStorage::default());
            let mut store = Store::open(storage.clone(), options).unwrap();
            let (mut model, mut durable) = (Model::new(), Model::new());
            for op in &ops {
                match op {
                    Op::Put { row: r, column: c, value } => {
                        store.put(&row(*r), &column(*c), value).unwrap();
                        model.insert((row(*r), column(*c)), value.clone());
                    }
                    Op::Delete { row: r, column: c } => {
                        store.delete(&row(*r), &column(*c)).unwrap();
                        model.remove(&(row(*r), column(*c)));
                    }
                    Op::Flush | Op::Reopen => {
                        store.flush().unwrap();
                        durable.clone_from(&model);
                    }
                    Op::Crash => model.clone_from(&durable),
                }
                if matches!(op, Op::Reopen | Op::Crash) {
                    store = Store::open(storage.clone(), options).unwrap();
                }
            }
            check_against_model(&store, &model);
            store.flush().unwrap();
            check_against_model(&store, &model);
        }
    }
}
