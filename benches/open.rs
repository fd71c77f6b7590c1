//! What does opening a block cost, with verification of the payload's digest and without? For small blocks (4 KiB) and
//! large ones (1.25 MB); each iteration opens another one from a few megabytes of blocks, as a cache of tables would. And
//! what does a lookup in a cached partition of 32 KiB cost, if the cache holds bytes, and if it holds opened partitions?
//! Prints nanoseconds of one core, the least of several runs, of the lines with a word:
//! `taskset -c 1 cargo bench --bench open -- [WORD]`.

#[path = "common/clock.rs"]
mod clock;
mod common;

use clock::time_ns;
use common::{Key, Keys, build};
use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions, Query};
use std::convert::Infallible;
use std::hint::black_box;

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

/// Prints the time of a call, the least of as many runs of calls as fit into a second, but of five.
fn show(name: &str, mut call: impl FnMut()) {
    const NUM_CALLS: u32 = 1 << 12;
    let (mut least_ns, mut all_ns, mut num_runs) = (f64::INFINITY, 0.0, 0);
    while num_runs < 5 || all_ns < 1e9 {
        let run_ns = time_ns(|| (0..NUM_CALLS).for_each(|_| call()));
        (least_ns, all_ns, num_runs) = (least_ns.min(run_ns), all_ns + run_ns, num_runs + 1);
    }
    println!("{name:40} {:12.1}", least_ns / f64::from(NUM_CALLS));
}

fn opens(word: &str, max_bytes: u64, num_blocks: u64) {
    for (name, trusted) in [("verified", false), ("trusted", true)] {
        for &kind in FilterKind::ALL {
            let name = format!("open/{max_bytes}/{name}/{kind}");
            if !name.contains(word) {
                continue;
            }
            let policy = FilterPolicy::with_max_bytes(kind, max_bytes).expect("a legal size");
            let options = OpenOptions::new().with_digest_check(!trusted).expect(&policy);
            let blocks = blocks(&policy, max_bytes, num_blocks);
            let mut next = blocks.iter().cycle();
            show(&name, || _ = black_box(options.open(next.next().expect("endless")).expect("a block just written")));
        }
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

fn cached_partitions(word: &str) {
    let mut keys = Keys::new(5).take(500_000);
    keys.sort_unstable();
    let absent = Keys::new(6).take(4096);
    for (name, keeps_opened) in [("bytes", false), ("opened", true)] {
        for &kind in FilterKind::ALL {
            let name = format!("partition/cached/{name}/{kind}");
            if !name.contains(word) {
                continue;
            }
            let (filter, blocks) = partitioned(kind, &keys);
            let open = |partition: PartitionHandle| {
                filter.open_partition_owned(partition, &blocks[partition.number as usize]).expect("just written")
            };
            let opened: Vec<_> = filter.partitions().map(open).collect();
            let mut next = absent.iter().cycle();
            show(&name, || {
                let key = next.next().expect("endless");
                let answer = match keeps_opened {
                    true => filter.may_match(Query::Key(key), |p| Ok::<_, Infallible>(&opened[p.number as usize])),
                    false => filter.may_match(Query::Key(key), |p| Ok::<_, Infallible>(&blocks[p.number as usize])),
                };
                _ = black_box(answer);
            });
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // Run as a test, it only shows that it compiles.
    if words.iter().any(|word| word == "--test") {
        return;
    }
    let word = words.iter().find(|word| !word.starts_with("--")).map_or("", String::as_str);
    opens(word, 4096, 512);
    opens(word, 1_250_000, 4);
    cached_partitions(word);
}
