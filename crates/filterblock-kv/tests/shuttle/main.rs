//! Schedules of the store's threads, tried by the thousand: `RUSTFLAGS="--cfg shuttle" cargo test --release -p
//! filterblock-kv --test shuttle`. Empty without that `cfg`.
//!
//! Every lock, condition variable, thread and shared integer of the store is then one of [`shuttle`]'s, which decides
//! at each of them which thread continues: at random, or by priorities that change a few times (probabilistic
//! concurrency testing, Burckhardt et al., ASPLOS 2010), which finds defects that need few but well-placed preemptions.
//! A schedule that deadlocks or panics is printed, and `shuttle::replay` repeats it.
#![cfg(shuttle)]

mod counters;
mod faults;
mod snapshots;

use filterblock::range::RangePolicy;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_kv::{Cell, Durability, Maintenance, Purpose, Snapshot, Store, StoreOptions};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use sim::{CrashKind, SimStorage};
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::extent::by_extent;
use testkit::store::{changed, sim};

/// Preemptions that probabilistic concurrency testing places.
const DEPTH: usize = 4;
/// Runs `body` under as many random schedules, and as many with few preemptions.
fn explore(name: &str, num_schedules: usize, body: impl Fn() + Clone + Send + std::marker::Sync + 'static) {
    let num_schedules = num_schedules / by_extent(10, 1, 1);
    let mut config = Config::new();
    // Merging and scanning need more than the default of 32 KiB.
    config.stack_size = 1 << 20;
    // Silences the warning that all memory orderings are treated as the strongest.
    config.silence_warnings = true;
    let random = Runner::new(RandomScheduler::new_from_seed(1, num_schedules), config.clone()).run(body.clone());
    let pct = Runner::new(PctScheduler::new_from_seed(2, DEPTH, num_schedules), config).run(body);
    println!("counted: {name}: {random} random schedules, {pct} of {DEPTH} preemptions");
    assert_eq!((random, pct), (num_schedules, num_schedules));
}

/// Limits so small that a few writes fill a memtable, and a few flushes a level.
fn options() -> StoreOptions {
    let policy = |kind| FilterPolicy::with_bits_per_key(kind, 10.0).unwrap();
    StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(FilterKind::Bloom))
        .with_filter(Purpose::RowColumn, policy(FilterKind::Blocked))
        .with_prefix_filter(1, policy(FilterKind::Bloom))
        .with_range_filter(RangePolicy::with_bits_per_key(10.0).unwrap())
        .with_seed(5)
        .with_durability(Durability::Always)
        .with_maintenance(Maintenance::Background)
        .with_cache_bytes(0)
        .with_max_memtable_bytes(600)
        .with_max_level0_tables(1)
        .with_level_bytes(30_000, 2)
}

fn open(storage: &SimStorage, options: StoreOptions) -> Store {
    Store::open(Arc::new(storage.clone()), options).unwrap()
}

fn number(value: &[u8]) -> u64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// The cells of a store as numbers, by row.
fn numbers(cells: impl Iterator<Item = Result<Cell, filterblock_kv::Error>>) -> BTreeMap<Vec<u8>, u64> {
    cells.map(Result::unwrap).map(|cell| (cell.row, number(&cell.value))).collect()
}

/// A snapshot gives the same answers when read twice, by every kind of read.
fn read_twice(snapshot: &Snapshot) -> BTreeMap<Vec<u8>, u64> {
    let first = numbers(snapshot.scan(..));
    for (row, &expected) in &first {
        assert_eq!(snapshot.get(row, b"").unwrap().map(|value| number(&value)), Some(expected));
        assert_eq!(snapshot.get_row(row).unwrap().len(), 1);
        assert_eq!(numbers(snapshot.scan_prefix(&row[..1])).get(row), Some(&expected));
        assert_eq!(numbers(snapshot.scan(&row[..]..=&row[..])), BTreeMap::from([(row.clone(), expected)]));
        let (above, below) = ([&row[..], b"!"].concat(), [&row[..], b"~"].concat());
        assert_eq!(snapshot.scan(&above[..]..&below[..]).count(), 0);
    }
    assert_eq!(numbers(snapshot.scan(..)), first);
    first
}

/// At the end of a run: the ledger balances, no filter denies a key, the store closes, and the disk has exactly what
/// was acknowledged.
fn finish(store: Store, storage: &SimStorage, expected: &BTreeMap<Vec<u8>, u64>) {
    assert_eq!(&numbers(store.scan(..)), expected);
    assert_eq!(store.ledger_report().check(), Ok(()));
    assert_eq!(store.verify().false_negatives(), 0);
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    store.sync().unwrap();
    // A power loss at this moment would lose nothing.
    let image = storage.crash_image(CrashKind::NothingUnsynced);
    store.close().unwrap();
    for storage in [storage.clone(), image] {
        let store = open(&storage, options().with_maintenance(Maintenance::Inline { seed: 1 }));
        assert_eq!(&numbers(store.scan(..)), expected);
        let num_filter_files = storage.names().iter().filter(|name| name.ends_with(".flt")).count();
        let num_tables = store.stats().tables.len();
        assert_eq!(storage.names().len(), num_tables + num_filter_files + 3, "{:?}", storage.names());
        assert!(num_filter_files <= num_tables);
    }
}
