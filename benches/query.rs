//! What does a question cost? For each kind at 10 bits per key, with a filter in the first caches (10 k keys, 12.5 kB), one in
//! or near the second (1 M keys, 1.25 MB) and one far out of it (16 M keys, 20 MB); hashing the key is part of the question.
//!
//! | row | keys | caller |
//! |---|---|---|
//! | absent | none is in the filter | takes the answer without a branch |
//! | present | all are | the same |
//! | mixed | one in two, in no order | branches on the answer, as a store does |
//! | floor | absent | hashes the key and loads one random line of an array as large as the filter |
//!
//! Each pass asks for keys drawn anew, so neither caches nor branch predictors know them.

mod common;

use common::{Key, Keys, build};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyHasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Keys of a pass: enough to drown the clock, and the predictors' memory.
const PASS_LEN: usize = 8192;
const LINE_LEN: usize = 64;
/// Where blocks begin, modulo a cache line: what an allocator promises, and no more.
const BLOCK_AT: usize = 16;

/// Times `pass` over arrays that `draw` fills, one key at a time, outside the measurement.
fn row(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    mut draw: impl FnMut() -> Key,
    mut pass: impl FnMut(&[Key]),
) {
    let mut keys = vec![Key::default(); PASS_LEN];
    group.throughput(Throughput::Elements(PASS_LEN as u64));
    group.bench_function(id, |b| {
        b.iter_custom(|iterations| {
            let mut elapsed = Duration::ZERO;
            for _ in 0..iterations {
                keys.fill_with(&mut draw);
                let start = Instant::now();
                pass(&keys);
                elapsed += start.elapsed();
            }
            elapsed
        });
    });
}

/// `bytes` at an address that is [`BLOCK_AT`] modulo a line, whatever the allocator returned.
fn place(bytes: &[u8], buffer: &mut Vec<u8>) -> usize {
    *buffer = vec![0; bytes.len() + 2 * LINE_LEN];
    let start = buffer.as_ptr().align_offset(LINE_LEN) + BLOCK_AT;
    buffer[start..][..bytes.len()].copy_from_slice(bytes);
    start
}

fn rows_of_kind(group: &mut BenchmarkGroup<'_, WallTime>, kind: FilterKind, members: &[Key]) {
    let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("a legal size");
    let (mut block, mut buffer) = (Vec::new(), Vec::new());
    build(&mut FilterBlockBuilder::new(policy), members, &mut block);
    let start = place(&block, &mut buffer);
    let reader = FilterBlockReader::open(&buffer[start..][..block.len()]).expect("a block just written");

    // The barrier keeps questions apart: without it a loop of them becomes vector code that no caller has.
    let ask = |keys: &[Key]| {
        for key in keys {
            black_box(reader.may_contain(key));
        }
    };
    let (mut absent, mut pick) = (Keys::new(2), Keys::new(3));
    row(group, BenchmarkId::new("absent", kind), || absent.key(), ask);
    row(group, BenchmarkId::new("present", kind), || members[pick.number() as usize % members.len()], ask);
    let either = || match pick.number() {
        number if number >> 63 == 0 => absent.key(),
        number => members[number as usize % members.len()],
    };
    let (mut passed, mut stopped) = (0u64, 0u64);
    row(group, BenchmarkId::new("mixed", kind), either, |keys| {
        for key in keys {
            // Work that differs, behind a barrier, so that the branch stays one.
            if reader.may_contain(key) { passed = black_box(passed + 1) } else { stopped = black_box(stopped + 1) }
        }
    });
}

fn floor(group: &mut BenchmarkGroup<'_, WallTime>, num_members: usize) {
    let mut numbers = Keys::new(4);
    let num_lines = num_members * 10 / 8 / LINE_LEN;
    let lines: Vec<[u64; LINE_LEN / 8]> = (0..num_lines).map(|_| [numbers.number(); LINE_LEN / 8]).collect();
    let (hasher, mut absent) = (KeyHasher::new(0), Keys::new(2));
    let load = |keys: &[Key]| {
        for key in keys {
            let line = (u128::from(hasher.hash(key).get()) * lines.len() as u128) >> 64;
            black_box(lines[line as usize][0]);
        }
    };
    row(group, BenchmarkId::new("absent", "floor"), || absent.key(), load);
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for num_members in [10_000, 1_000_000, 16_000_000] {
        let mut group = criterion.benchmark_group(format!("query/{num_members}"));
        let members = Keys::new(1).take(num_members);
        floor(&mut group, num_members);
        FilterKind::ALL.into_iter().for_each(|kind| rows_of_kind(&mut group, kind, &members));
        group.finish();
    }
    criterion.final_summary();
}
