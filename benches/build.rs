//! What does it cost to build a block? From keys to bytes: hashing, grouping or sorting, filling, checksums. 10 bits
//! per key; every pass gets new keys. `blocked` has the default number of salts; the rows `checked` add the self-check,
//! which is on by default. `thin` leaves out half of a block's columns, without its keys.

mod common;

use common::{Keys, build};
use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy};

fn policies() -> impl Iterator<Item = (String, FilterPolicy)> {
    let policy = |kind| FilterPolicy::with_bits_per_key(kind, 10.0).expect("a legal size");
    let kinds = FilterKind::ALL.iter().copied().map(move |kind| (kind.to_string(), policy(kind)));
    let salted = [0, 5].into_iter().map(move |salt_bits| {
        let policy = policy(FilterKind::Blocked).with_salt_bits(salt_bits).expect("legal");
        (format!("blocked-salt-bits-{salt_bits}"), policy)
    });
    kinds.chain(salted)
}

fn builds(group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, policy: FilterPolicy, count: usize) {
    group.bench_function(id, |b| {
        let (mut keys, mut builder, mut block) = (Keys::new(1), FilterBlockBuilder::new(&policy), Vec::new());
        b.iter_batched_ref(|| keys.take(count), |keys| build(&mut builder, keys, &mut block), BatchSize::PerIteration);
    });
}

/// Thins a filter from 16 columns to 8.
fn thin(group: &mut BenchmarkGroup<'_, WallTime>, count: usize) {
    let policy = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, 1.0 / 65_536.0).expect("a legal rate");
    let mut block = Vec::new();
    build(&mut FilterBlockBuilder::new(&policy), &Keys::new(1).take(count), &mut block);
    let stored = FilterBlockReader::open(&block).expect("a block");
    group.bench_function("thin", |b| b.iter(|| stored.thin(8, 0).expect("fewer columns")));
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for count in [10_000, 1_000_000] {
        let mut group = criterion.benchmark_group(format!("build/{count}"));
        group.throughput(Throughput::Elements(count as u64)).sample_size(if count > 100_000 { 10 } else { 50 });
        for (name, policy) in policies() {
            builds(&mut group, BenchmarkId::new("unchecked", &name), policy.clone().with_self_check(false), count);
            builds(&mut group, BenchmarkId::new("checked", &name), policy.with_self_check(true), count);
        }
        thin(&mut group, count);
        group.finish();
    }
    criterion.final_summary();
}
