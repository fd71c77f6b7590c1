//! Whether a store says that its filters are useless: in each of these stores every answer is right.

use crate::fixture;
use crate::*;
use filterblock_engine::ledger::{Finding, MIN_LOOKUPS};

const NUM_ROWS: u64 = 1_000;

fn row(i: u64) -> Vec<u8> {
    format!("row{i:06}").into_bytes()
}

fn options() -> StoreOptions {
    inline().with_filter(Purpose::RowColumn, policy(FilterKind::Blocked, 10.0))
}

/// A closed store of two tables, which overlap.
fn stored(options: &StoreOptions) -> SimStorage {
    let storage = SimStorage::new();
    let store = open(&storage, options.clone().with_max_level0_tables(9));
    for table in 0..2 {
        (0..NUM_ROWS).for_each(|i| store.put(&row(4 * i + table), b"column", b"value").unwrap());
        store.flush().unwrap();
    }
    store.close().unwrap();
    storage
}

/// Looks up stored cells, as many absent ones, or both.
fn get(store: &Store, present: bool, absent: bool) {
    for i in 0..NUM_ROWS {
        if present {
            assert!(store.get(&row(4 * i), b"column").unwrap().is_some());
        }
        if absent {
            assert_eq!(store.get(&row(4 * i + 2), b"column").unwrap(), None);
        }
    }
}

fn findings(store: &Store) -> Vec<Finding> {
    assert_eq!(store.ledger_report().check(), Ok(()));
    let verdict = store.stats().verdict;
    assert_eq!(verdict, store.ledger_report().verdict());
    verdict.findings
}

#[test]
fn filters_that_pay_are_fine_and_count_what_they_save() {
    let store = open(&stored(&options()), options());
    assert_eq!(findings(&store), [Finding::NoLookups]);
    get(&store, true, true);
    let verdict = store.stats().verdict;
    assert!(verdict.is_fine(), "{verdict}");
    let avoided = store.ledger().of(Purpose::RowColumn).count(Outcome::Avoided);
    assert!(avoided > 2 * NUM_ROWS, "absent cells in two tables, present ones in one: {avoided}");
    assert_eq!((verdict.savings.reads_avoided, verdict.savings.bytes_avoided.is_some()), (avoided, true));
}

#[test]
fn filters_that_no_lookup_queries_are_found() {
    let both = fixture::with_both(policy(FilterKind::Blocked, 10.0));
    let store = open(&stored(&both), both);
    get(&store, true, true);
    assert_eq!(findings(&store), [Finding::NeverQueried { purpose: "row", lookups: 0 }]);
    (0..NUM_ROWS).for_each(|i| drop(store.get_row(&row(2 * i)).unwrap()));
    assert_eq!(findings(&store), []);
}

#[test]
fn tables_without_filters_are_found() {
    let none = StoreOptions::without_filters();
    let store = open(&stored(&none), none);
    get(&store, true, true);
    let lookups = store.ledger().of(Purpose::RowColumn).count(Outcome::NoFilter);
    assert_eq!(findings(&store), [Finding::Missing { purpose: "row+column", lookups, of: lookups }]);
    assert!(store.stats().verdict.savings.reads_unfiltered >= 2 * NUM_ROWS - 2);
}

#[test]
fn filters_that_do_not_open_are_found() {
    let storage = stored(&options());
    for (number, table) in tables(&storage).iter().enumerate() {
        change(&storage, table, |bytes| {
            let filter = Parts::of(bytes).unwrap().filters.remove(0).1;
            bytes[filter.start + 70] ^= 1;
        });
        let store = open(&storage, options());
        get(&store, true, true);
        let tally = *store.ledger().of(Purpose::RowColumn);
        let (lookups, of) = (tally.count(Outcome::FilterUnusable), tally.lookups - tally.count(Outcome::OutOfKeyRange));
        assert_eq!(findings(&store), [Finding::Unusable { purpose: "row+column", lookups, of }]);
        assert_eq!(lookups == of, number == 1, "all of them when both tables are damaged");
        assert_eq!(store.warnings().len(), number + 1);
    }
}

#[test]
fn filters_with_nothing_to_deny_are_found() {
    let store = open(&SimStorage::new(), options());
    (0..NUM_ROWS).for_each(|i| store.put(&row(i), b"column", b"value").unwrap());
    store.compact().unwrap();
    (0..NUM_ROWS).for_each(|i| assert!(store.get(&row(i), b"column").unwrap().is_some()));
    let [Finding::NothingAbsent { purpose: "row+column", lookups }] = findings(&store)[..] else {
        panic!("{}", store.stats().verdict);
    };
    assert_eq!((lookups, MIN_LOOKUPS), (NUM_ROWS, NUM_ROWS));
}

/// Scans whose bounds are in reverse order define no rows. No filter is queried, and nothing is counted or read.
#[test]
fn reversed_bounds_have_no_rows_and_query_no_filter() {
    let range = RangePolicy::with_bits_per_key(14.0).unwrap();
    let options = options().with_range_filter(range).with_prefix_filter(4, policy(FilterKind::Blocked, 10.0));
    let store = open(&stored(&options), options);
    for (start, end) in [(row(9), row(8)), (row(4_000), row(0)), (b"row9".to_vec(), b"row".to_vec())] {
        let before = store.ledger();
        assert_eq!(store.scan(start.as_slice()..end.as_slice()).count(), 0);
        assert_eq!(store.scan(start.as_slice()..=end.as_slice()).count(), 0);
        assert_eq!(store.snapshot().scan(start.as_slice()..end.as_slice()).count(), 0);
        assert_eq!(store.ledger(), before);
        // In their order they have rows.
        assert!(store.scan(end.as_slice()..=start.as_slice()).count() > 0);
        assert_ne!(store.ledger(), before);
    }
}
