//! What does a lookup in a store of ten tables cost? `probe_tables`, which takes one hash, against ten single queries
//! that hash the key each time; for each kind at 10 bits per key, with tables of 10 k keys (125 kB of filters in all)
//! and of 1 M (12.5 MB). Throughput counts keys: each has ten answers.
//!
//! | row | keys | caller |
//! |---|---|---|
//! | absent | in none of the tables | takes the answers without a branch |
//! | mixed | half of the keys are in one table, any of them | branches on each answer, as a store does |
//! | floor | absent | hashes the key once and loads a random line of each of ten arrays as large as the filters |

mod common;
#[path = "common/rows.rs"]
mod rows;

use common::Key;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use filterblock::{FilterBlock, FilterBlockReader, FilterKind, KeyHasher, probe_tables};
use rows::{Floor, absent, apart, filter, load, members, mixed, row};
use std::hint::black_box;

const NUM_TABLES: usize = 10;

type Answers = [bool; NUM_TABLES];

/// The rows of one way of querying the tables.
fn rows_of_way(
    group: &mut BenchmarkGroup<'_, WallTime>,
    (way, kind): (&str, FilterKind),
    num_members: usize,
    query: impl Fn(&Key) -> Answers,
) {
    row(group, BenchmarkId::new(format!("absent/{way}"), kind), absent(), |keys| {
        for key in keys {
            black_box(&query(key));
        }
    });
    let (mut passed, mut stopped) = (0u64, 0u64);
    row(group, BenchmarkId::new(format!("mixed/{way}"), kind), mixed(num_members), |keys| {
        for key in keys {
            for answer in query(key) {
                // Different work, behind a barrier, keeps the branch a branch.
                if answer {
                    passed = black_box(passed + 1);
                } else {
                    stopped = black_box(stopped + 1);
                }
            }
        }
    });
}

fn rows_of_kind(group: &mut BenchmarkGroup<'_, WallTime>, kind: FilterKind, members: &[Key]) {
    let filters: Vec<_> = members.chunks(members.len() / NUM_TABLES).map(|members| filter(kind, members)).collect();
    let tables: Vec<FilterBlockReader<'_>> = filters.iter().map(FilterBlock::reader).collect();
    let hasher = tables[0].hasher();
    rows_of_way(group, ("probe_tables", kind), members.len(), |key| {
        let mut answers = [false; NUM_TABLES];
        probe_tables(&tables, hasher.hash(apart(key)), &mut answers);
        answers
    });
    rows_of_way(group, ("single", kind), members.len(), |key| {
        std::array::from_fn(|i| tables[i].may_contain(apart(key)))
    });
}

fn floor(group: &mut BenchmarkGroup<'_, WallTime>, num_members: usize) {
    let floors: [Floor; NUM_TABLES] = std::array::from_fn(|_| Floor::new(num_members));
    let (lines, hasher) = (floors.each_ref().map(Floor::lines), KeyHasher::new(0));
    row(group, BenchmarkId::new("absent", "floor"), absent(), |keys| {
        for key in keys {
            let hash = hasher.hash(apart(key));
            black_box(&lines.map(|lines| load(lines, hash)));
        }
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for num_members in [10_000, 1_000_000] {
        let mut group = criterion.benchmark_group(format!("tables/{num_members}"));
        let members = members(NUM_TABLES * num_members);
        floor(&mut group, num_members);
        FilterKind::ALL.iter().copied().for_each(|kind| rows_of_kind(&mut group, kind, &members));
        group.finish();
    }
    criterion.final_summary();
}
