//! What does probing for many keys at once save? `may_contain_hashes` of 32 hashes (the largest batch of a common
//! multi-get) and of 1024, against single queries; for each kind at 10 bits per key, with filters of 1 M keys (about
//! the size of a second-level cache) and 16 M (far larger). Every row hashes its keys one by one, and stores an answer
//! for each.
//!
//! `absent`: no key is in the filter. `mixed`: half of the keys are, in random order. `floor`: hashes each key and
//! loads one random line of an array as large as the filter.

mod common;
#[path = "common/rows.rs"]
mod rows;

use common::Key;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use filterblock::{FilterBlockReader, FilterKind, KeyHash, KeyHasher};
use rows::{Floor, absent, apart, filter, load, members, mixed, row};
use std::hint::black_box;

const BATCH_LENS: [usize; 2] = [32, 1024];

/// Answers for `keys`, one query after the other.
fn query_singly(reader: &FilterBlockReader<'_>, keys: &[Key], answers: &mut [bool]) {
    for (key, answer) in keys.iter().zip(answers) {
        *answer = reader.may_contain(apart(key));
    }
}

/// Answers for `keys`, in batches of the length of `hashes`.
fn query_in_batches(reader: &FilterBlockReader<'_>, keys: &[Key], hashes: &mut [KeyHash], answers: &mut [bool]) {
    let hasher = reader.hasher();
    for keys in keys.chunks(hashes.len()) {
        let (hashes, answers) = (&mut hashes[..keys.len()], &mut answers[..keys.len()]);
        hashes.iter_mut().zip(keys).for_each(|(hash, key)| *hash = hasher.hash(apart(key)));
        reader.may_contain_hashes(hashes, answers);
        black_box(answers);
    }
}

fn rows_of_kind(group: &mut BenchmarkGroup<'_, WallTime>, kind: FilterKind, members: &[Key]) {
    let filter = filter(kind, members);
    let reader = filter.reader();
    let draws: [(&str, &mut dyn FnMut() -> Key); 2] = [("absent", &mut absent()), ("mixed", &mut mixed(members.len()))];
    for (keys_are, draw) in draws {
        let mut answers = [false; BATCH_LENS[0]];
        row(group, BenchmarkId::new(format!("{keys_are}/single"), kind), &mut *draw, |keys| {
            for keys in keys.chunks(answers.len()) {
                query_singly(&reader, keys, &mut answers);
                black_box(&mut answers);
            }
        });
        for len in BATCH_LENS {
            let (mut hashes, mut answers) = (vec![KeyHash::from_raw(0); len], vec![false; len]);
            row(group, BenchmarkId::new(format!("{keys_are}/{len}"), kind), &mut *draw, |keys| {
                query_in_batches(&reader, keys, &mut hashes, &mut answers);
            });
        }
    }
}

fn floor(group: &mut BenchmarkGroup<'_, WallTime>, num_members: usize) {
    let (floor, hasher) = (Floor::new(num_members), KeyHasher::new(0));
    let lines = floor.lines();
    row(group, BenchmarkId::new("absent/single", "floor"), absent(), |keys| {
        for key in keys {
            black_box(load(lines, hasher.hash(apart(key))));
        }
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for num_members in [1_000_000, 16_000_000] {
        let mut group = criterion.benchmark_group(format!("batch/{num_members}"));
        let members = members(num_members);
        floor(&mut group, num_members);
        FilterKind::ALL.iter().copied().for_each(|kind| rows_of_kind(&mut group, kind, &members));
        group.finish();
    }
    criterion.final_summary();
}
