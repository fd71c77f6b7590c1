//! Writers that count, and readers that must never see a count go back.

use crate::sim::SimStorage;
use crate::{explore, finish, numbers, open, options, read_twice};
use filterblock_kv::{Durability, FilterResidence, Maintenance, RebuildOptions, Store, StoreOptions, WriteBatch};
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const NUM_WRITERS: usize = 2;
const NUM_WRITES: u64 = 5;

/// A store with a counter for each writer. Shuttle does not switch threads at the standard library's atomic integers,
/// so they change at the same moment as a write begins or returns.
struct Race {
    store: Store,
    begun: [AtomicU64; NUM_WRITERS],
    acknowledged: [AtomicU64; NUM_WRITERS],
}

/// A counter is in two rows, which change together, and every other value of it in a third.
fn rows(writer: usize) -> [Vec<u8>; 3] {
    [b"a", b"b", b"c"].map(|prefix| [&prefix[..], writer.to_string().as_bytes()].concat())
}

fn write(race: &Race, writer: usize, number: u64) {
    // Padded with zeros, so that few writes fill a memtable.
    let value = format!("{number:040}");
    let [first, second, sometimes] = rows(writer);
    let mut batch = WriteBatch::new();
    batch.put(&first, b"", value.as_bytes()).unwrap();
    match number % 2 {
        0 => batch.put(&sometimes, b"", value.as_bytes()).unwrap(),
        _ => batch.delete(&sometimes, b"").unwrap(),
    };
    batch.put(&second, b"", value.as_bytes()).unwrap();
    race.begun[writer].store(number, SeqCst);
    race.store.write(batch).unwrap();
    race.acknowledged[writer].store(number, SeqCst);
}

/// The counter of a writer in a snapshot: the same in all of its rows.
fn counter(cells: &BTreeMap<Vec<u8>, u64>, writer: usize) -> u64 {
    let [first, second, sometimes] = rows(writer).map(|row| cells.get(&row).copied());
    assert_eq!(first, second, "a batch is seen as a whole");
    let count = first.unwrap_or(0);
    assert_eq!(sometimes, (count > 0 && count % 2 == 0).then_some(count), "a batch is seen as a whole");
    count
}

fn read(race: &Race, times: usize) {
    let mut seen = [0; NUM_WRITERS];
    let mut kept = None;
    for time in 0..times {
        let lowest = race.acknowledged.each_ref().map(|number| number.load(SeqCst));
        let found: [u64; NUM_WRITERS] = match time % 4 {
            0 => std::array::from_fn(|writer| {
                let value = race.store.get(&rows(writer)[0], b"").unwrap();
                value.map_or(0, |value| crate::number(&value))
            }),
            1 => {
                let cells = numbers(race.store.scan(..));
                std::array::from_fn(|writer| counter(&cells, writer))
            }
            2 => {
                let snapshot = race.store.snapshot();
                let cells = read_twice(&snapshot);
                kept = Some((snapshot, cells.clone()));
                std::array::from_fn(|writer| counter(&cells, writer))
            }
            _ => std::array::from_fn(|writer| {
                let cells = numbers(race.store.scan_prefix(b"b"));
                cells.get(&rows(writer)[1]).copied().unwrap_or(0)
            }),
        };
        for writer in 0..NUM_WRITERS {
            let highest = race.begun[writer].load(SeqCst);
            assert!((lowest[writer]..=highest).contains(&found[writer]), "acknowledged {lowest:?}, found {found:?}");
            assert!(seen[writer] <= found[writer], "{seen:?}, then {found:?}");
        }
        seen = found;
        if let Some((snapshot, cells)) = &kept {
            assert_eq!(&numbers(snapshot.scan(..)), cells, "a snapshot stays as it is");
        }
    }
}

/// Writers and a reader, beside other threads that get the store too.
fn race(options: StoreOptions, others: &[fn(&Store)]) {
    let storage = SimStorage::new();
    let store = open(&storage, options);
    let race = Arc::new(Race { store, begun: Default::default(), acknowledged: Default::default() });
    let spawn = |work: Box<dyn FnOnce(&Race) + Send>| {
        let race = Arc::clone(&race);
        thread::spawn(move || work(&race))
    };
    let mut threads = Vec::new();
    for writer in 0..NUM_WRITERS {
        threads.push(spawn(Box::new(move |race| (1..=NUM_WRITES).for_each(|number| write(race, writer, number)))));
    }
    threads.push(spawn(Box::new(|race| read(race, 6))));
    for &other in others {
        threads.push(spawn(Box::new(move |race| other(&race.store))));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let Race { store, .. } = Arc::into_inner(race).unwrap();
    let of_writer = |writer| {
        let [first, second, sometimes] = rows(writer);
        let all = [first, second, sometimes].map(|row| (row, NUM_WRITES));
        all.into_iter().take(if NUM_WRITES % 2 == 0 { 3 } else { 2 })
    };
    finish(store, &storage, &(0..NUM_WRITERS).flat_map(of_writer).collect());
}

#[test]
fn writers_and_a_reader() {
    explore("writers and a reader", 400, || race(options(), &[]));
}

#[test]
fn flushes_and_compactions_on_demand() {
    explore("flush, settle, compact", 300, || {
        race(
            options(),
            &[
                |store| (0..2).for_each(|_| store.flush().unwrap()),
                |store| {
                    store.settle().unwrap();
                    store.compact().unwrap();
                },
            ],
        );
    });
}

#[test]
fn filters_are_rebuilt_with_new_seeds() {
    explore("rebuild", 300, || {
        race(
            options(),
            &[
                |store| {
                    for seed in [7, 8] {
                        store.rebuild_filters(&RebuildOptions::new().with_seed(seed)).unwrap();
                    }
                },
                |store| assert_eq!(store.verify().false_negatives(), 0),
            ],
        );
    });
}

#[test]
fn a_budget_of_filters() {
    explore("budget", 150, || {
        race(
            options().with_filter_budget_bytes(600),
            &[
                |store| store.settle().unwrap(),
                |store| {
                    store.rebuild_filters(&RebuildOptions::new().with_seed(9)).unwrap();
                },
            ],
        );
    });
}

#[test]
fn writers_do_the_work_themselves() {
    explore("inline", 300, || {
        race(
            options().with_maintenance(Maintenance::Inline { seed: 3 }),
            &[|store| store.flush().unwrap(), |store| store.compact().unwrap()],
        );
    });
}

#[test]
fn without_a_sync_for_each_write() {
    explore("sync on demand", 300, || {
        race(options().with_durability(Durability::Never), &[|store| (0..3).for_each(|_| store.sync().unwrap())]);
    });
}

#[test]
fn blocks_and_filters_from_a_cache() {
    // Too small for all filters.
    let options = || options().with_cache_bytes(20_000).with_filter_residence(FilterResidence::Cached);
    explore("cache", 200, move || race(options(), &[|store| store.compact().unwrap()]));
}

#[test]
fn partitions_from_a_cache() {
    // Each filter has an index in memory, and partitions that others load, evict and replace.
    let options = || options().with_partition_bytes(256).with_cache_bytes(20_000);
    explore("partitions", 200, move || {
        race(
            options(),
            &[
                |store| store.compact().unwrap(),
                |store| {
                    store.rebuild_filters(&RebuildOptions::new().with_seed(9)).unwrap();
                    assert_eq!(store.verify().false_negatives(), 0);
                },
            ],
        );
    });
}
