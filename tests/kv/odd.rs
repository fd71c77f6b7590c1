//! Unusual cases: extreme options, strange file names, budgets that cannot be met.

use crate::sim::{CrashKind, SimStorage};
use filterblock::kv::{Durability, Error, FilterResidence, Maintenance, Purpose, Store, StoreOptions, WriteBatch};
use filterblock::{FilterKind, FilterPolicy};
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn inline() -> StoreOptions {
    StoreOptions::without_filters().maintenance(Maintenance::Inline { seed: 1 }).seed(3)
}

fn open(storage: &SimStorage, options: StoreOptions) -> Store {
    Store::open(Arc::new(storage.clone()), options).unwrap()
}

fn policy(kind: FilterKind, bits: f64) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, bits).unwrap()
}

#[test]
fn extreme_options_make_odd_stores_that_work() {
    for options in [
        inline().memtable_bytes_max(1),
        inline().memtable_bytes_max(usize::MAX),
        inline().table_bytes_max(1),
        inline().level_bytes(1, 2).level0_tables_max(1),
        inline().level_bytes(u64::MAX, u32::MAX).table_bytes_max(u64::MAX).level0_tables_max(1_000_000),
        inline().cache_bytes(1),
        inline().cache_bytes(1 << 44),
        inline().partition_filters(256),
        inline().partition_filters(1 << 30),
        inline().durability(Durability::Interval(Duration::ZERO)),
        inline().durability(Durability::Interval(DAY)),
        inline().filter(Purpose::Row, policy(FilterKind::Bloom, 10.0)).filter_budget_bytes(0),
        inline().prefix_filter(1, policy(FilterKind::Bloom, 10.0)),
        inline().prefix_filter(u16::MAX, policy(FilterKind::Bloom, 10.0)),
    ] {
        let storage = SimStorage::new();
        let store = open(&storage, options);
        for i in 0..60u8 {
            store.put(&[i], b"column", &[i; 100]).unwrap();
        }
        store.settle().unwrap();
        store.compact().unwrap();
        store.close().unwrap();
        let store = open(&storage, options);
        assert!((0..60u8).all(|i| store.get(&[i], b"column").unwrap() == Some(vec![i; 100])));
        assert_eq!(store.scan_prefix(&[7]).count(), 1);
        assert_eq!(store.ledger_report().check(), Ok(()));
    }
}

#[test]
fn options_out_of_their_range_are_refused_before_anything_is_touched() {
    let bloom = policy(FilterKind::Bloom, 10.0);
    let second = Duration::from_secs(1);
    let cases = [
        (inline().memtable_bytes_max(0), "memtable_bytes_max", 0, 1, u64::MAX),
        (inline().table_bytes_max(0), "table_bytes_max", 0, 1, u64::MAX),
        (inline().level0_tables_max(0), "level0_tables_max", 0, 1, 1_000_000),
        (inline().level0_tables_max(1_000_001), "level0_tables_max", 1_000_001, 1, 1_000_000),
        (inline().level_bytes(0, 2), "level_bytes' base", 0, 1, u64::MAX),
        (inline().level_bytes(1, 1), "level_bytes' ratio", 1, 2, u32::MAX.into()),
        (inline().cache_bytes((1 << 44) + 1), "cache_bytes", (1 << 44) + 1, 0, 1 << 44),
        (inline().partition_filters(255), "partition_filters", 255, 256, 1 << 30),
        (inline().partition_filters((1 << 30) + 1), "partition_filters", (1 << 30) + 1, 256, 1 << 30),
        (inline().prefix_filter(0, bloom), "prefix_filter's length", 0, 1, 65_535),
        (inline().level_filter(3, Purpose::Prefix, bloom).unwrap(), "prefix_filter's length", 0, 1, 65_535),
        (
            inline().durability(Durability::Interval(DAY + second)),
            "durability's interval in milliseconds",
            86_401_000,
            0,
            86_400_000,
        ),
    ];
    for (options, option, given, min, max) in cases {
        let storage = SimStorage::new();
        let refused = Store::open(Arc::new(storage.clone()), options).unwrap_err();
        let is_right = matches!(&refused, Error::OutOfRange { option: o, given: g, min: low, max: high }
            if (*o, *g, *low, *high) == (option, given, min, max));
        assert!(is_right, "{option}: {refused}");
        assert_eq!(storage.num_operations(), 0);
        let dir = tempfile::tempdir().unwrap();
        assert!(Store::open_dir(&dir.path().join("db"), options).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_file_with_an_impossible_number_is_not_the_stores() {
    let storage = SimStorage::new();
    open(&storage, inline()).put(b"row", b"column", b"value").unwrap();
    storage.replace("18446744073709551615.sst.tmp", vec![]);
    for i in 0..5u8 {
        let store = open(&storage, inline());
        assert!(store.get(b"row", b"column").unwrap().is_some());
        store.put(&[i], b"column", b"value").unwrap();
        store.flush().unwrap();
    }
    assert_eq!(open(&storage, inline()).scan(..).count(), 6);
}

#[test]
fn filters_that_cannot_shrink_to_the_budget_are_not_rebuilt_for_ever() {
    let small = policy(FilterKind::Blocked, 10.0);
    let above_golomb = inline().filter(Purpose::Row, policy(FilterKind::Golomb, 24.0));
    let above_golomb = above_golomb.level_filter(0, Purpose::Row, small).unwrap();
    let some_by_level = inline().filter(Purpose::Row, policy(FilterKind::Blocked, 24.0));
    let some_by_level = some_by_level.level_filter(0, Purpose::RowColumn, small).unwrap();
    let mut num_budgets = 0;
    for options in [above_golomb, some_by_level] {
        let options = options.level0_tables_max(1000).table_bytes_max(4096);
        let storage = SimStorage::new();
        let store = open(&storage, options);
        for i in 0..1500u32 {
            store.put(format!("row{i:06}").as_bytes(), b"c", &[0; 20]).unwrap();
        }
        store.compact().unwrap();
        store.put(b"row000000", b"c", b"x").unwrap();
        store.flush().unwrap();
        let tables = store.stats().tables;
        let total: u64 = tables.iter().map(|table| table.filter_bytes).sum();
        store.close().unwrap();
        for budget in (total / 3..total).step_by(64) {
            let image = storage.crash_image(CrashKind::Everything);
            let store = open(&image, options.filter_budget_bytes(budget));
            // Enough to build the filters of each table twenty times.
            image.crash_after(image.num_operations() + 20 * 12 * tables.len() as u64);
            store.settle().unwrap();
            num_budgets += 1;
        }
    }
    assert!(num_budgets > 50, "{num_budgets}");
}

#[test]
fn a_reader_holds_the_lock() {
    let storage = SimStorage::new();
    let store = open(&storage, inline());
    (0..100u8).for_each(|i| store.put(&[i], b"", b"").unwrap());
    store.flush().unwrap();
    let (scan, snapshot) = (store.scan(..), store.snapshot());
    drop(store);
    let reopened = || Store::open(Arc::new(storage.clone()), inline());
    assert!(matches!(reopened(), Err(Error::Locked)));
    drop(snapshot);
    assert!(matches!(reopened(), Err(Error::Locked)));
    assert_eq!(scan.count(), 100);
    assert!(reopened().is_ok());
}

#[test]
fn compaction_leaves_no_tombstone_in_any_level() {
    let storage = SimStorage::new();
    let at = |base| inline().level0_tables_max(1).level_bytes(base, 2);
    let write = |options, rows: &dyn Fn(&mut WriteBatch, u32)| {
        let store = open(&storage, options);
        let mut batch = WriteBatch::new();
        (0..10_000).for_each(|i| rows(&mut batch, i));
        store.write(batch).unwrap();
        store.flush().unwrap();
        store.settle().unwrap();
    };
    let row = |i: u32| format!("k{i:08}").into_bytes();
    write(at(1), &|batch, i| drop(batch.put(&row(i), b"", b"").map(|_| ())));
    write(at(200_000), &|batch, i| drop(batch.delete(&row(i), b"").map(|_| ())));
    let store = open(&storage, at(1 << 40));
    store.delete(b"k00000005x", b"").unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    let store = open(&storage, at(13_000));
    store.settle().unwrap();
    store.compact().unwrap();
    let tables = store.stats().tables;
    assert_eq!(tables.iter().map(|table| table.num_tombstones).sum::<u64>(), 0, "{tables:?}");
    assert_eq!(store.scan(..).count(), 0);
}

#[test]
fn a_read_only_store_does_nothing_even_when_nothing_is_written() {
    let storage = SimStorage::new();
    let store = open(&storage, inline().level0_tables_max(100));
    for i in 0..4u8 {
        store.put(&[i], b"", b"").unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let before = storage.names();
    let store = open(&storage, inline().level0_tables_max(1).read_only(true));
    for _ in 0..50 {
        assert!(matches!(store.write(WriteBatch::new()), Err(Error::ReadOnly)));
    }
    assert!(matches!(store.settle(), Err(Error::ReadOnly)));
    assert_eq!(storage.names(), before);
}

#[test]
fn damage_found_in_the_background_is_reported_as_damage() {
    let storage = SimStorage::new();
    let options = StoreOptions::without_filters().level0_tables_max(100);
    let store = open(&storage, options);
    for i in 0..4u8 {
        store.put(b"row", b"", &[i; 500]).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let table = storage.names().into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let mut bytes = storage.contents(&table).unwrap();
    bytes[100] ^= 1;
    storage.replace(&table, bytes);
    let store = open(&storage, options.level0_tables_max(2));
    let settled = store.settle();
    assert!(matches!(settled, Err(Error::Damaged { .. })), "{settled:?}");
    assert_eq!(store.verify().unreadable.len(), 1);
    assert_eq!(store.get(b"row", b"").unwrap(), Some(vec![3; 500]), "the newest table is intact");
}

#[test]
fn a_cached_filter_that_can_no_longer_be_read_is_reported() {
    let storage = SimStorage::new();
    let options = inline()
        .filter(Purpose::Row, policy(FilterKind::Bloom, 10.0))
        .filter_residence(FilterResidence::Cached)
        .cache_bytes(64 << 10);
    let store = open(&storage, options);
    let mut batch = WriteBatch::new();
    for i in 0..20_000u32 {
        batch.put(format!("{i:05}").as_bytes(), b"", &[0; 50]).unwrap();
    }
    store.write(batch).unwrap();
    store.flush().unwrap();
    let damaged = |store: &Store| store.verify().tables[0].unusable.clone();
    assert_eq!(damaged(&store), []);
    let table = storage.names().into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let mut bytes = storage.contents(&table).unwrap();
    let at = bytes.len() - 2 * 4096;
    bytes[at - 4096..at].fill(0xaa);
    storage.replace(&table, bytes);
    drop(store);
    // Damaged before it was opened or before it was read again: reported in both cases, and the answers stay right.
    let store = open(&storage, options);
    assert_eq!(damaged(&store), [Purpose::Row]);
    assert_eq!(store.warnings().len(), 1);
    assert!(store.get(b"00777", b"").unwrap().is_some());
}
