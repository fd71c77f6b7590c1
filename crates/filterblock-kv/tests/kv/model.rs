//! The store against an ordered map, with every kind of filter and without.

use crate::*;
use proptest::prelude::*;

const ROWS: u8 = 7;
const COLUMNS: u8 = 4;

type Model = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
enum Op {
    /// Row, column, value.
    Put(u8, u8, Vec<u8>),
    Delete(u8, u8),
    /// Several writes at once.
    Batch(Vec<(u8, u8, Option<Vec<u8>>)>),
    Flush,
    Compact,
    Settle,
    /// With filters of this seed.
    Rebuild(u64),
    /// Closes the store and opens it again.
    Reopen,
    /// Reopens the store as after a kill, without closing it.
    Kill,
    /// Keeps a snapshot, which must not change.
    Snapshot,
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
    let written = (0..ROWS, 0..COLUMNS, prop::option::of(Just(vec![7; 20])));
    prop_oneof![
        8 => (0..ROWS, 0..COLUMNS, value).prop_map(|(row, column, value)| Op::Put(row, column, value)),
        3 => (0..ROWS, 0..COLUMNS).prop_map(|(row, column)| Op::Delete(row, column)),
        2 => prop::collection::vec(written, 0..4).prop_map(Op::Batch),
        2 => Just(Op::Flush),
        1 => Just(Op::Compact),
        1 => Just(Op::Settle),
        1 => any::<u64>().prop_map(Op::Rebuild),
        1 => Just(Op::Reopen),
        1 => Just(Op::Kill),
        1 => Just(Op::Snapshot),
    ]
}

/// No filter, a range filter, and each kind for each set of purposes, the largest with a range filter of few bits.
fn all_options() -> Vec<StoreOptions> {
    let [few, many] = [3.0, 20.0].map(|bits| RangePolicy::with_bits_per_key(bits).unwrap());
    let mut all = vec![StoreOptions::without_filters(), StoreOptions::without_filters().with_range_filter(many)];
    for &kind in FilterKind::ALL {
        let policy = FilterPolicy::with_bits_per_key(kind, 8.0).unwrap();
        for purposes in [&[Purpose::Row][..], &[Purpose::RowColumn], &Purpose::OF_KEYS] {
            let with = |options: StoreOptions, &purpose: &Purpose| match purpose {
                Purpose::Prefix => options.with_prefix_filter(1, policy.clone()),
                _ => options.with_filter(purpose, policy.clone()),
            };
            let ranges = (purposes.len() == Purpose::OF_KEYS.len()).then_some(few);
            all.push(purposes.iter().fold(StoreOptions::without_filters().with_range_filter(ranges), with));
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
                .map(|((row, column), value)| Cell::new(&row[..], &column[..], &value[..]))
                .collect();
            assert_eq!(found, expected, "{range:?}");
        }
    }
    assert_eq!(store.ledger_report().check(), Ok(()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
}

/// Limits small enough for several levels of several tables.
fn small(options: StoreOptions, seed: u64) -> StoreOptions {
    options
        .with_maintenance(Maintenance::Inline { seed })
        .with_max_memtable_bytes(3_000)
        .with_max_level0_tables(2)
        .with_level_bytes(40_000, 2)
        .with_max_table_bytes(9_000)
}

fn apply(op: &Op, store: &Store, model: &mut Model) {
    match op {
        Op::Put(r, c, value) => {
            store.put(&row(*r), &column(*c), value).unwrap();
            model.insert((row(*r), column(*c)), value.clone());
        }
        Op::Delete(r, c) => {
            store.delete(&row(*r), &column(*c)).unwrap();
            model.remove(&(row(*r), column(*c)));
        }
        Op::Batch(writes) => {
            let mut batch = WriteBatch::new();
            for (r, c, value) in writes {
                match value {
                    Some(value) => {
                        batch.put(&row(*r), &column(*c), value).unwrap();
                        model.insert((row(*r), column(*c)), value.clone());
                    }
                    None => {
                        batch.delete(&row(*r), &column(*c)).unwrap();
                        model.remove(&(row(*r), column(*c)));
                    }
                }
            }
            store.write(batch).unwrap();
        }
        Op::Flush => store.flush().unwrap(),
        Op::Compact => store.compact().unwrap(),
        Op::Settle => store.settle().unwrap(),
        Op::Rebuild(seed) => {
            let report = store.rebuild_filters(&RebuildOptions::new().with_seed(*seed)).unwrap();
            assert_eq!(report.tables.len(), store.stats().tables.len());
        }
        Op::Reopen | Op::Kill | Op::Snapshot => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_the_model(ops in prop::collection::vec(op(), 1..80), seed: u64) {
        for options in all_options() {
            let options = small(options, seed);
            let mut storage = SimStorage::new();
            let mut store = Store::open(Arc::new(storage.clone()), options.clone()).unwrap();
            let mut model = Model::new();
            let mut kept: Option<(Snapshot, Model)> = None;
            for op in &ops {
                apply(op, &store, &mut model);
                match op {
                    Op::Snapshot => kept = Some((store.snapshot(), model.clone())),
                    Op::Reopen | Op::Kill => {
                        if let Some((snapshot, model)) = kept.take() {
                            check_snapshot(&snapshot, &model);
                        }
                        if matches!(op, Op::Reopen) {
                            store.close().unwrap();
                        } else {
                            storage = storage.crash_image(CrashKind::Everything);
                        }
                        store = Store::open(Arc::new(storage.clone()), options.clone()).unwrap();
                    }
                    _ => {}
                }
            }
            if let Some((snapshot, model)) = &kept {
                check_snapshot(snapshot, model);
            }
            check_against_model(&store, &model);
            store.compact().unwrap();
            check_against_model(&store, &model);
            let cells: u64 = store.stats().tables.iter().map(|table| table.num_cells).sum();
            assert_eq!(cells, model.len() as u64, "compaction leaves the live cells and nothing else");
            let report = store.verify();
            assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
            assert_eq!(report.false_negatives(), 0);
            drop(kept);
            drop(store);
            // Only the files of the store are left.
            let store = Store::open(Arc::new(storage.clone()), options).unwrap();
            let num_filter_files = storage.names().iter().filter(|name| name.ends_with(".flt")).count();
            let num_tables = store.stats().tables.len();
            assert!(num_filter_files <= num_tables);
            assert_eq!(storage.names().len(), num_tables + num_filter_files + 3, "{:?}", storage.names());
        }
    }
}

fn check_snapshot(snapshot: &Snapshot, model: &Model) {
    let cell = |((row, column), value): (&(Vec<u8>, Vec<u8>), &Vec<u8>)| Cell::new(&row[..], &column[..], &value[..]);
    let expected: Vec<Cell> = model.iter().map(cell).collect();
    assert_eq!(snapshot.scan(..).collect::<Result<Vec<_>, _>>().unwrap(), expected);
    for r in 0..ROWS {
        for c in 0..COLUMNS {
            let (row, column) = (row(r), column(c));
            let found = snapshot.get(&row, &column).unwrap();
            assert_eq!(found.as_ref(), model.get(&(row, column)));
        }
    }
}
