//! Storages that fail during a race: no deadlock, no acknowledged write lost, no refused write visible.

use crate::changed::{Changed, NoTables};
use crate::sim::{CrashKind, Fault, FaultKind, SimStorage};
use crate::{explore, number, numbers, open, options};
use filterblock_kv::{Error, Maintenance, Store};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

const NUM_WRITERS: usize = 2;
const NUM_WRITES: u64 = 6;
/// About how many operations of the storage a race takes.
const NUM_OPERATIONS: u64 = 250;

/// The results of one writer's writes.
#[derive(Default)]
struct Counter {
    acknowledged: AtomicU64,
    refused: Mutex<BTreeSet<u64>>,
}

type Work = Box<dyn FnOnce(&Race) + Send>;

struct Race {
    store: Store,
    counters: [Counter; NUM_WRITERS],
}

fn row(writer: usize) -> Vec<u8> {
    format!("a{writer}").into_bytes()
}

fn write(race: &Race, writer: usize) {
    for number in 1..=NUM_WRITES {
        // Counts as refused until it is acknowledged.
        race.counters[writer].refused.lock().unwrap().insert(number);
        match race.store.put(&row(writer), b"", format!("{number:0100}").as_bytes()) {
            Ok(()) => {
                race.counters[writer].refused.lock().unwrap().remove(&number);
                race.counters[writer].acknowledged.store(number, SeqCst);
            }
            Err(Error::Io { .. } | Error::Poisoned | Error::Stalled { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Readers see only what was acknowledged, or will be before the writer's next write.
fn read(race: &Race) {
    let mut seen = [0; NUM_WRITERS];
    for _ in 0..6 {
        for (writer, seen) in seen.iter_mut().enumerate() {
            let counter = &race.counters[writer];
            let lowest = counter.acknowledged.load(SeqCst);
            let found = race.store.get(&row(writer), b"").unwrap().map_or(0, |value| number(&value));
            // Only a write that has not returned yet may be visible without being acknowledged.
            let refused = counter.refused.lock().unwrap();
            let has_gone_on =
                counter.acknowledged.load(SeqCst) > found || refused.last().is_some_and(|last| *last > found);
            assert!(!(refused.contains(&found) && has_gone_on), "{found} of {refused:?}");
            assert!(found >= lowest && found >= *seen, "acknowledged {lowest}, seen {seen}, found {found}");
            *seen = found;
        }
    }
}

/// A race on a storage with a fault somewhere.
fn race(maintenance: Maintenance, kind: FaultKind) {
    let storage = SimStorage::new();
    let store = open(&storage, options().with_maintenance(maintenance));
    let number = storage.num_operations() + thread_rng().gen_range(1..NUM_OPERATIONS);
    storage.inject(Fault::once(kind, number));
    let race = Arc::new(Race { store, counters: Default::default() });
    let mut works: Vec<Work> = vec![Box::new(read)];
    works.push(Box::new(|race| drop(race.store.flush())));
    works.push(Box::new(|race| drop(race.store.compact())));
    for writer in 0..NUM_WRITERS {
        works.push(Box::new(move |race| write(race, writer)));
    }
    let spawn = |work: Work| {
        let race = Arc::clone(&race);
        thread::spawn(move || work(&race))
    };
    let threads: Vec<_> = works.into_iter().map(spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    storage.lift_faults();

    let Race { store, counters } = Arc::into_inner(race).unwrap();
    let expected: Vec<u64> = counters.iter().map(|counter| counter.acknowledged.load(SeqCst)).collect();
    let found = |store: &Store, writer| store.get(&row(writer), b"").unwrap().map_or(0, |value| crate::number(&value));
    for (writer, expected) in expected.iter().enumerate() {
        assert_eq!(found(&store, writer), *expected, "in this process");
    }
    assert_eq!(store.ledger_report().check(), Ok(()));
    // The background thread may be between its fault and poisoning the store.
    let _ = store.settle();
    let is_poisoned = matches!(store.sync(), Err(Error::Poisoned));
    let mut storages =
        vec![storage.crash_image(CrashKind::NothingUnsynced), storage.crash_image(CrashKind::Everything)];
    assert_eq!(store.close().is_err(), is_poisoned);
    storages.push(storage);
    for storage in storages {
        let store = open(&storage, options().with_maintenance(Maintenance::Inline { seed: 1 }));
        for (writer, counter) in counters.iter().enumerate() {
            let found = found(&store, writer);
            let may_have_survived =
                |number| counter.refused.lock().unwrap().contains(&number) && number > expected[writer];
            assert!(found == expected[writer] || may_have_survived(found), "{found} for {}", expected[writer]);
        }
    }
}

#[test]
fn a_write_fails() {
    explore("no space, once", 400, || race(Maintenance::Background, FaultKind::NoSpace));
}

#[test]
fn a_write_fails_and_writers_do_the_work() {
    explore("no space, once, inline", 300, || race(Maintenance::Inline { seed: 3 }, FaultKind::NoSpace));
}

#[test]
fn a_sync_fails() {
    explore("failed sync, once", 400, || race(Maintenance::Background, FaultKind::FailedSync));
}

/// Writers get an error while nothing can be flushed, instead of waiting for ever, and can write again afterwards.
fn stall(maintenance: Maintenance) {
    let (sim, no_tables) = (SimStorage::new(), NoTables::default());
    no_tables.set(true);
    let storage = Arc::new(Changed { inner: sim.clone(), change: no_tables.clone() });
    let store = Store::open(storage, options().with_maintenance(maintenance)).unwrap();
    let store = Arc::new(store);
    let writer = |writer: usize| {
        let (store, no_tables) = (Arc::clone(&store), no_tables.clone());
        thread::spawn(move || {
            let mut num_stalls = 0;
            for number in 0..12u64 {
                let row = format!("{writer} {number}");
                while let Err(error) = store.put(row.as_bytes(), b"", format!("{number:0100}").as_bytes()) {
                    // Inline, the work is the writer's own, and so is its error.
                    assert!(matches!(error, Error::Stalled { .. } | Error::Io { .. }), "{error}");
                    num_stalls += 1;
                    thread::yield_now();
                    if num_stalls == 2 {
                        no_tables.set(false);
                    }
                }
            }
        })
    };
    let threads = [0, 1].map(writer);
    let flusher = thread::spawn({
        let store = Arc::clone(&store);
        // It may fail, and then leaves one memtable more than writers wait for.
        move || drop(store.flush())
    });
    threads.into_iter().chain([flusher]).for_each(|thread| thread.join().unwrap());
    assert!(!no_tables.is_set(), "no writer was told");
    let store = Arc::into_inner(store).unwrap();
    store.settle().unwrap();
    assert_eq!(numbers(store.scan(..)).len(), 24);
    store.close().unwrap();
    assert_eq!(numbers(open(&sim, options()).scan(..)).len(), 24);
}

#[test]
fn tables_cannot_be_written() {
    explore("stall", 300, || stall(Maintenance::Background));
}

#[test]
fn tables_cannot_be_written_by_the_writers() {
    explore("stall, inline", 200, || stall(Maintenance::Inline { seed: 3 }));
}
