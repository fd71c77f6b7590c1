//! What does opening a block cost, with verification of the payload's digest and without? For small blocks (4 KiB) and
//! large ones (1.25 MB); each iteration opens another one from a few megabytes of blocks, as a cache of tables would. And
//! what does a lookup in a cached partition of 32 KiB cost, if the cache holds bytes, and if it holds opened partitions?

mod common;

use common::{Key, Keys, build};
use criterion::{BenchmarkId, Criterion, Throughput};
use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
use std::convert::Infallible;

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

/// A partitioned filter, and the bytes of its partitions.
fn partitioned(kind: FilterKind, keys: &[Key]) -> (PartitionedFilter<Vec<u8>>, Vec<Vec<u8>>) {
    let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("a legal size");
    let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::default()).expect("legal");
    let (mut blocks, mut end) = (Vec::new(), 0);
    let mut store = |block: &[u8]| {
        blocks.push(block.to_vec());
        end += block.len() as u64;
        Ok::<_, Infallible>(end - block.len() as u64)
    };
    keys.iter().for_each(|key| builder.add_key(key, &mut store).expect("in order"));
    let index = builder.finish(&mut store).expect("an index");
    (PartitionedFilter::open(index, OpenOptions::new().expect(&policy)).expect("just written"), blocks)
}

fn cached_partitions(c: &mut Criterion) {
    let mut keys = Keys::new(5).take(500_000);
    keys.sort_unstable();
    let absent = Keys::new(6).take(4096);
    for (name, keeps_opened) in [("bytes", false), ("opened", true)] {
        let mut group = c.benchmark_group(format!("partition/cached/{name}"));
        for &kind in FilterKind::ALL {
            let (filter, blocks) = partitioned(kind, &keys);
            let open = |partition: PartitionHandle| {
                filter.open_partition_owned(partition, &blocks[partition.number as usize]).expect("just written")
            };
            let opened: Vec<_> = filter.partitions().map(open).collect();
            let mut next = absent.iter().cycle();
            group.bench_function(BenchmarkId::from_parameter(kind), |b| {
                b.iter(|| {
                    let key = next.next().expect("endless");
                    match keeps_opened {
                        true => filter.may_contain(key, |p| Ok::<_, Infallible>(&opened[p.number as usize])),
                        false => filter.may_contain(key, |p| Ok::<_, Infallible>(&blocks[p.number as usize])),
                    }
                });
            });
        }
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    opens(&mut criterion, 4096, 512);
    opens(&mut criterion, 1_250_000, 4);
    cached_partitions(&mut criterion);
    criterion.final_summary();
}
