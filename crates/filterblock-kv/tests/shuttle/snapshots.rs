//! Snapshots and scans that outlive tables, and the store itself.

use crate::sim::SimStorage;
use crate::{explore, numbers, open, options, read_twice};
use filterblock_kv::{Error, Store};
use shuttle::thread;
use std::sync::Arc;

fn put(store: &Store, numbers: std::ops::Range<u64>) {
    for number in numbers {
        store.put(format!("row{}", number % 5).as_bytes(), b"", format!("{number:0100}").as_bytes()).unwrap();
    }
}

/// A snapshot is read while its tables are compacted away and the store is closed.
fn snapshot_outlives_store() {
    let storage = SimStorage::new();
    let store = open(&storage, options());
    put(&store, 0..8);
    let (snapshot, scan) = (store.snapshot(), store.scan(..));
    let expected = numbers(snapshot.scan(..));
    assert_eq!(expected.values().copied().collect::<Vec<_>>(), [5, 6, 7, 3, 4]);
    let reader = thread::spawn(move || {
        assert_eq!(read_twice(&snapshot), expected);
        assert_eq!(numbers(scan), expected);
        let copy = snapshot.clone();
        drop(snapshot);
        assert_eq!(numbers(copy.scan(..)), expected);
    });
    put(&store, 8..16);
    store.compact().unwrap();
    store.close().unwrap();
    // The snapshot holds the lock.
    match Store::open(Arc::new(storage.clone()), options()) {
        Ok(store) => drop(store),
        Err(error) => assert!(matches!(error, Error::Locked), "{error}"),
    }
    reader.join().unwrap();
    let store = open(&storage, options());
    assert_eq!(numbers(store.scan(..)).values().copied().collect::<Vec<_>>(), [15, 11, 12, 13, 14]);
    // The snapshot was the last reader of its tables.
    let num_tables = store.stats().tables.len();
    drop(store);
    assert_eq!(storage.names().len(), num_tables + 3, "{:?}", storage.names());
}

#[test]
fn a_snapshot_outlives_the_store() {
    explore("snapshot outlives store", 400, snapshot_outlives_store);
}

/// The store is dropped while the background thread is doing a job.
fn dropped_at_work() {
    let storage = SimStorage::new();
    for round in 0..3 {
        let store = open(&storage, options());
        let held = (round == 1).then(|| store.snapshot());
        put(&store, 10 * round..10 * round + 6);
        match round {
            0 => drop(store),
            _ => store.close().unwrap(),
        }
        drop(held);
    }
    let store = open(&storage, options());
    assert_eq!(numbers(store.scan(..)).values().copied().collect::<Vec<_>>(), [25, 21, 22, 23, 24]);
    store.settle().unwrap();
    let num_tables = store.stats().tables.len();
    store.close().unwrap();
    let store = open(&storage, options().with_read_only(true));
    assert_eq!(store.stats().tables.len(), num_tables);
    assert_eq!(storage.names().len(), num_tables + 3, "{:?}", storage.names());
    assert_eq!(store.ledger_report().check(), Ok(()));
}

#[test]
fn a_store_is_dropped_at_work() {
    explore("dropped at work", 400, dropped_at_work);
}
