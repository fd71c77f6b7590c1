//! One set, asked by many threads: no lookup needs it exclusively, cold or warm.

use crate::*;
use filterblock_set::{Query, Selection};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS: usize = 8;
const FILES: usize = 32;
const KEYS: usize = 300;
const SLICES: u16 = 64;

/// Lookups of all threads; a debug build makes fewer.
const LOOKUPS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// Keys of one query.
const BATCH: usize = 20;

fn is_shared<T: Send + Sync>(_: &T) {}

/// Keys that one file has, but for one that none has.
fn keys(numbers: &mut Random) -> Vec<i64> {
    let absent = -1 - numbers.index(1_000_000) as i64;
    let stored = (1..BATCH).map(|_| (numbers.index(FILES) + 1000 * numbers.index(KEYS)) as i64);
    stored.chain([absent]).collect()
}

/// No file that has a key is denied.
fn none_denied(keys: &[i64], tables: &[Table], answers: &Answers) {
    for (key, id) in keys.iter().enumerate() {
        let lost = tables.iter().zip(answers.of_key(key)).find(|(table, may)| !**may && table.ids.contains(id));
        assert!(lost.is_none(), "{id} is denied");
    }
}

fn query(set: &FilterSet, tables: &[Table], keys: &[i64]) -> (Query, Selection) {
    (set.query(b"id", keys.iter().map(|&id| Value::Int(id))), set.select(selected(tables)))
}

#[test]
fn eight_threads() {
    let tables = tables(0, FILES, KEYS);
    let bytes = set("ribbon:fpr=1%,seed=7", SLICES, &tables);
    let whole = open(&bytes).expect("a set");
    whole.give(0, &bytes);
    let slice = |range: Range<u64>| &bytes[range.start as usize..range.end as usize];

    let shared = open(&bytes).expect("a set");
    is_shared(&shared);
    let (start, fetches, failures, maybe) =
        (Barrier::new(THREADS), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let look_up = |seed: usize| {
        let mut numbers = Random::new(seed as u64);
        start.wait();
        for round in 0..LOOKUPS / THREADS / BATCH {
            let keys = keys(&mut numbers);
            let (query, selection) = query(&shared, &tables, &keys);
            // The first lookups are cold for all threads at once, and some of their reads fail.
            let result = shared.load(&query, &selection, 0, |range| {
                let fails = fetches.fetch_add(1, Ordering::Relaxed) % 3 == 0;
                if fails { Err("no network") } else { Ok(slice(range)) }
            });
            let answers = shared.answer(&query, &selection);
            none_denied(&keys, &tables, &answers);
            failures.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
            if result.is_ok() && round % 16 == 0 {
                let (query, selection) = self::query(&whole, &tables, &keys);
                assert_eq!(answers, whole.answer(&query, &selection));
            }
            maybe.fetch_add(answers.of_key(BATCH - 1).iter().filter(|may| **may).count(), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|seed| drop(scope.spawn(move || look_up(seed))));
    });
    // Each block is counted once, whoever gave it first.
    shared.give(0, &bytes);
    assert_eq!(shared.held_bytes(), whole.held_bytes());
    assert!(shared.take_bad_blocks().is_empty());
    let (failures, maybe) = (failures.into_inner(), maybe.into_inner());
    println!("counted: {LOOKUPS} lookups by {THREADS} threads in one set, no wrong answer; {failures} failed reads");
    assert!(failures > 1 && maybe < LOOKUPS / BATCH * FILES / 20, "{failures} failures, {maybe} maybe");
}

/// A damaged block is opened by all threads, and reported once.
#[test]
fn a_bad_block_is_reported_once() {
    let tables = tables(0, 3, 50);
    let mut bytes = set("bloom:10", 1, &tables);
    bytes[70] ^= 1;
    let shared = open(&bytes).expect("a set");
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                shared.give(0, &bytes);
            });
        }
    });
    assert_eq!(shared.take_bad_blocks().len(), 1);
    assert!(shared.take_bad_blocks().is_empty());
}
