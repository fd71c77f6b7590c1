//! What does opening a block cost, with verification of the payload's digest and without? For small blocks (4 KiB) and
//! large ones (1.25 MB); each iteration opens another one from a few megabytes of blocks, as a cache of tables would.

mod common;

use common::{Keys, build};
use criterion::{BenchmarkId, Criterion, Throughput};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};

/// Different blocks of at most `max_bytes` each.
fn blocks(policy: &FilterPolicy, max_bytes: u64, count: u64) -> Vec<Vec<u8>> {
    let mut builder = FilterBlockBuilder::new(policy);
    let make = |seed| {
        let mut block = Vec::new();
        build(&mut builder, &Keys::new(seed).take(max_bytes as usize * 8 / 10), &mut block);
        block
    };
    (0..count).map(make).collect()
}

fn opens(c: &mut Criterion, max_bytes: u64, num_blocks: u64) {
    for (name, trusted) in [("verified", false), ("trusted", true)] {
        let mut group = c.benchmark_group(format!("open/{max_bytes}/{name}"));
        if !trusted {
            group.throughput(Throughput::Bytes(max_bytes));
        }
        for &kind in FilterKind::ALL {
            let policy = FilterPolicy::with_max_bytes(kind, max_bytes).expect("a legal size");
            let options = OpenOptions::new().with_digest_check(!trusted).expect(&policy);
            let blocks = blocks(&policy, max_bytes, num_blocks);
            let mut next = blocks.iter().cycle();
            // The reader is returned, so that criterion hides from the compiler that it is not used.
            group.bench_function(BenchmarkId::from_parameter(kind), |b| {
                b.iter(|| options.open(next.next().expect("endless")).expect("a block just written"));
            });
        }
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    opens(&mut criterion, 4096, 512);
    opens(&mut criterion, 1_250_000, 4);
    criterion.final_summary();
}
