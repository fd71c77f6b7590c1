//! The same memory for the filters of five levels and more, divided by the tables' sizes alone, and by the lookups that
//! were counted as well.

use crate::columns::{Zipf, ask_for, held, in_vain, row};
use crate::*;

const NUM_ROWS: u64 = 1 << 16;
/// Lookups that make the store choose the columns anew, and fewer than that.
const NUM_COUNTED: u64 = 1 << 15;
const NUM_ASKED: u64 = 30_000;
const MAINTENANCE: Maintenance = Maintenance::Inline { seed: 2 };

/// Levels of about 24 KiB, 4 times as much, …
fn options() -> StoreOptions {
    let policy = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, 0.5f64.powi(16)).unwrap();
    let options = StoreOptions::without_filters().with_filter(Purpose::RowColumn, policy).with_cache_bytes(0);
    leveled(options, 64 << 10, (24 << 10, 4), 16 << 10).with_seed(11).with_maintenance(MAINTENANCE)
}

/// Every row once, in an order in which each table of level 0 spans all of them.
fn loaded(options: StoreOptions) -> SimStorage {
    let storage = SimStorage::new();
    let store = open(&storage, options);
    for i in 0..NUM_ROWS {
        store.put(&row(i * 40_503 % NUM_ROWS), b"c", b"value").unwrap();
        if i % 4_096 == 4_000 {
            store.settle().unwrap();
        }
    }
    store.flush().unwrap();
    store.settle().unwrap();
    store.close().unwrap();
    storage
}

fn ask(store: &Store, zipf: &mut Zipf, lookups: std::ops::Range<u64>) -> Tally {
    ask_for(store, zipf, lookups, |rank| (row(rank), (row(rank), b"value".to_vec())))
}

/// Columns held by level.
fn by_level(store: &Store) -> BTreeMap<usize, Vec<u32>> {
    let mut levels: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for table in store.stats().tables {
        levels.entry(table.level).or_default().extend(table.filters.iter().map(|filter| filter.columns.unwrap().held));
    }
    levels
}

/// Wasted reads with as much memory as `columns` columns of every filter take, by sizes and by counted lookups.
fn reads_in_vain(storage: &SimStorage, options: StoreOptions, columns: u64) -> [f64; 2] {
    let all = open(storage, options.clone().with_filter_memory_bytes(u64::MAX).with_read_only(true)).stats();
    let memory_bytes = all.filter_memory_bytes * columns / 16;
    let options = options.with_filter_memory_bytes(memory_bytes);
    let (counted, asked) = (0..NUM_COUNTED, NUM_COUNTED..NUM_COUNTED + NUM_ASKED);
    let mut after_counted = Zipf::new(NUM_ROWS);
    for _ in counted.clone() {
        after_counted.draw();
    }

    // Read-only: the columns are chosen once.
    let store = open(storage, options.clone().with_read_only(true));
    let by_size = by_level(&store);
    assert!(by_size.len() >= 5, "{by_size:?}");
    let before = in_vain(&ask(&store, &mut after_counted.clone(), asked.clone()));
    assert_eq!(by_level(&store), by_size);
    store.close().unwrap();

    let store = open(storage, options);
    assert_eq!(by_level(&store), by_size);
    ask(&store, &mut Zipf::new(NUM_ROWS), counted);
    store.settle().unwrap();
    let stats = store.stats();
    assert!(stats.filter_memory_bytes <= memory_bytes && held(&stats).iter().all(|columns| columns.stored == 16));
    let after = in_vain(&ask(&store, &mut after_counted, asked));
    println!("{memory_bytes} bytes: {before} wasted reads by sizes, {after} by lookups, {:.3} times", after / before);
    println!("  {by_size:?}\n  {:?}", by_level(&store));
    store.close().unwrap();
    [before, after]
}

#[test]
fn counted_lookups_halve_the_reads_in_vain() {
    let options = options();
    let storage = loaded(options.clone());
    for columns in [4, 8] {
        let [before, after] = reads_in_vain(&storage, options.clone(), columns);
        assert!(after <= before * 0.5, "{columns}: {before} wasted reads, then {after}");
    }
}

#[test]
fn counted_lookups_halve_the_reads_in_vain_of_partitioned_filters() {
    let options = options().with_partition_bytes(512);
    let storage = loaded(options.clone());
    let [before, after] = reads_in_vain(&storage, options, 8);
    assert!(after <= before * 0.5, "{before} wasted reads, then {after}");
}
