//! What does it cost to make a block? From keys to bytes: hashing, sorting, filling, checksums, and the self-check that is on
//! by default. 10 bits per key; every pass gets keys it has not seen.

mod common;

use common::{Keys, build};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy};

fn builds(c: &mut Criterion) {
    for count in [10_000, 1_000_000] {
        let mut group = c.benchmark_group(format!("build/{count}"));
        group.throughput(Throughput::Elements(count as u64)).sample_size(if count > 100_000 { 10 } else { 50 });
        for kind in FilterKind::ALL {
            group.bench_function(BenchmarkId::from_parameter(kind), |b| {
                let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("a legal size");
                let (mut keys, mut builder, mut block) = (Keys::new(1), FilterBlockBuilder::new(policy), Vec::new());
                b.iter_batched_ref(
                    || keys.take(count),
                    |keys| build(&mut builder, keys, &mut block),
                    BatchSize::PerIteration,
                );
            });
        }
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    builds(&mut criterion);
    criterion.final_summary();
}
