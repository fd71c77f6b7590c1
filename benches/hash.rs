//! What does a hash cost? XXH3-64 with a seed beside SipHash-1-3 under a secret key, for entries of several lengths.
//! The difference is the price of safety from entries that an adversary chooses.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use filterblock::KeyHasher;
use std::hint::black_box;

const NUM_ENTRIES: usize = 1024;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("hash");
    for len in [8, 16, 32, 64, 256] {
        let entries: Vec<Vec<u8>> = (0..NUM_ENTRIES).map(|i| vec![i as u8 ^ (i >> 8) as u8; len]).collect();
        group.throughput(Throughput::Elements(NUM_ENTRIES as u64));
        for (name, hasher) in [("xxh3", KeyHasher::new(7)), ("siphash-1-3", KeyHasher::keyed([7; 16]))] {
            group.bench_function(BenchmarkId::new(name, len), |bencher| {
                let sum = |entries: &Vec<Vec<u8>>| {
                    entries.iter().fold(0u64, |sum, entry| sum.wrapping_add(hasher.hash(black_box(entry)).get()))
                };
                bencher.iter_batched_ref(|| entries.clone(), |entries| sum(entries), BatchSize::LargeInput);
            });
        }
    }
    group.finish();
    criterion.final_summary();
}
