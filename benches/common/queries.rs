//! Single queries: the rows that `query` and `query_uncached` have for filters of different sizes.
//!
//! | row | keys | caller |
//! |---|---|---|
//! | absent | none is in the filter | takes the answer without a branch |
//! | present | all are | the same |
//! | mixed | one in two, in no order | branches on the answer, as a store does |
//! | floor | absent | hashes the key and loads one random line of an array as large as the filter |
//!
//! Each pass queries newly drawn keys, so neither caches nor branch predictors know them.

use crate::common::Key;
use crate::rows::{Floor, absent, apart, filter, load, members, mixed, present, row};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use filterblock::{FilterKind, KeyHasher};
use std::hint::black_box;

fn rows_of_kind(group: &mut BenchmarkGroup<'_, WallTime>, kind: FilterKind, members: &[Key]) {
    let filter = filter(kind, members);
    let reader = filter.reader();
    let query = |keys: &[Key]| {
        for key in keys {
            black_box(reader.may_contain(apart(key)));
        }
    };
    row(group, BenchmarkId::new("absent", kind), absent(), query);
    row(group, BenchmarkId::new("present", kind), present(members.len()), query);
    let (mut passed, mut stopped) = (0u64, 0u64);
    row(group, BenchmarkId::new("mixed", kind), mixed(members.len()), |keys| {
        for key in keys {
            // Different work, behind a barrier, keeps the branch a branch.
            if reader.may_contain(apart(key)) {
                passed = black_box(passed + 1);
            } else {
                stopped = black_box(stopped + 1);
            }
        }
    });
}

fn floor(group: &mut BenchmarkGroup<'_, WallTime>, num_members: usize) {
    let (floor, hasher) = (Floor::new(num_members), KeyHasher::new(0));
    let lines = floor.lines();
    row(group, BenchmarkId::new("absent", "floor"), absent(), |keys| {
        for key in keys {
            black_box(load(lines, hasher.hash(apart(key))));
        }
    });
}

/// The rows of filters of `num_members` keys.
pub fn queries(c: &mut Criterion, num_members: usize) {
    let mut group = c.benchmark_group(format!("query/{num_members}"));
    let members = members(num_members);
    floor(&mut group, num_members);
    FilterKind::ALL.iter().copied().for_each(|kind| rows_of_kind(&mut group, kind, &members));
    group.finish();
}
