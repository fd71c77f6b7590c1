//! One set, asked by many threads: no lookup needs it exclusively, cold or warm.

use crate::*;
use filterblock_set::{Query, Selection};
use std::convert::Infallible;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS: usize = 8;
const FILES: usize = 32;
const KEYS: usize = 300;

/// Lookups of all threads; a debug build makes fewer.
const LOOKUPS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// Keys of one query.
const BATCH: usize = 20;

const MAX_HELD_BYTES: usize = 6_000;

fn is_shared<T: Send + Sync>(_: &T) {}

/// Keys that one file has, but for one that none has.
fn keys(numbers: &mut Random) -> Vec<i64> {
    let absent = -1 - numbers.index(1_000_000) as i64;
    let stored = (1..BATCH).map(|_| (numbers.index(FILES) + 1000 * numbers.index(KEYS)) as i64);
    stored.chain([absent]).collect()
}

/// No file that has a key is denied.
fn none_denied(keys: &[i64], tables: &[Table], answers: &[FileMask]) {
    for (key, id) in keys.iter().enumerate() {
        let is_lost = |(file, table): (usize, &Table)| !answers[key].contains(file) && table.ids.contains(id);
        assert!(!tables.iter().enumerate().any(is_lost), "{id} is denied");
    }
}

fn query(set: &FilterSet, tables: &[Table], keys: &[i64]) -> (Query, Selection) {
    (set.query(b"id", keys.iter().map(|&id| Value::Int(id))), set.select(selected(tables)))
}

#[test]
fn eight_threads() {
    let tables = tables(0, FILES, KEYS);
    let bytes = set(&tables);
    let whole = open(&bytes).expect("a set");
    let slice = |range: Range<u64>| &bytes[range.start as usize..range.end as usize];

    // Units are evicted while other threads use them.
    let shared = open(&bytes).expect("a set").with_max_held_bytes(MAX_HELD_BYTES);
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
            let mut lookup = shared.lookup(&query, &selection);
            let result = lookup.load(0, |range| {
                let fails = fetches.fetch_add(1, Ordering::Relaxed) % 16 == 0;
                if fails { Err("no network") } else { Ok(slice(range)) }
            });
            let answers = lookup.each();
            none_denied(&keys, &tables, &answers);
            failures.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
            if result.is_ok() && round % 16 == 0 {
                let (query, selection) = self::query(&whole, &tables, &keys);
                let mut lookup = whole.lookup(&query, &selection);
                let Ok(()) = lookup.load(0, |range| Ok::<_, Infallible>(slice(range)));
                assert_eq!(answers, lookup.each());
            }
            maybe.fetch_add(answers[BATCH - 1].count(), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|seed| drop(scope.spawn(move || look_up(seed))));
    });
    assert!(shared.held_bytes() <= MAX_HELD_BYTES);
    let (failures, maybe) = (failures.into_inner(), maybe.into_inner());
    println!("counted: {LOOKUPS} lookups by {THREADS} threads in one set, no wrong answer; {failures} failed reads");
    assert!(failures > 1 && maybe < LOOKUPS / BATCH * FILES / 20, "{failures} failures, {maybe} maybe");
}
