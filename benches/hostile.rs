//! What do hashes cost that are not spread evenly, or were chosen? Twenty-four shapes of sets beside random sets of the
//! same size, as ratios of means: time of a build, self-check included, time of a query for a stored hash, peak of the
//! build's memory, bytes. Of few hashes there are twelve sets of each shape, as luck decides which seed suits ribbon's
//! last layer: a random set of 1 000 hashes takes one attempt, or six. Then the slowest opening and query of 1 MB of any
//! bytes. Every stored hash is queried, alone and in a batch: the last line counts them.
//!
//! `taskset -c 1 cargo bench --bench hostile -- 1000 30000 1000000`, with numbers of hashes; an idle machine. With
//! `RUSTFLAGS='--cfg filterblock_engines="x86_64"'` there is no AVX-512, with `"portable"` none of these engines.

use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, OpenOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Bound::Included;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// Counts live bytes.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: both calls are passed on to the system's allocator as they are.
#[expect(unsafe_code, reason = "an allocator that counts")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's `layout`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's `memory`, which `alloc` has returned for `layout`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The finalizer of MurmurHash3, which the format uses, and its inverse.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

fn unmix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0x9cb4_b2f8_1293_37db);
    z = (z ^ (z >> 33)).wrapping_mul(0x4f74_430c_22a5_4005);
    z ^ (z >> 33)
}

/// The number of the set that is made.
static SET: AtomicU64 = AtomicU64::new(0);

/// Random number `i` of the current set.
fn random(i: u64) -> u64 {
    mix(i + 1 + (SET.load(Relaxed) << 40))
}

/// The hash of number `i` in a set of `n`.
type Shape = (&'static str, fn(i: u64, n: u64) -> u64);

/// `i` in a place `part` of `parts` equal parts of the range.
fn in_part(i: u64, part: u64, parts: u64) -> u64 {
    (((u128::from(part % parts) << 64) + u128::from(random(i))) / u128::from(parts)) as u64
}

const SHAPES: [Shape; 25] = [
    ("random", |i, _| random(i)),
    ("sequential", |i, _| random(0) % (1 << 40) + i),
    ("from the top down", |i, _| !(random(0) % (1 << 40) + i)),
    ("multiples of 2^32", |i, _| (random(0) % (1 << 30) + i) << 32),
    ("high bits equal", |i, _| random(i) >> 24),
    ("high bits set", |i, _| !(random(i) >> 24)),
    ("low bits equal", |i, _| random(i) << 32),
    ("middle bits equal", |i, _| random(i) & 0xffff_0000_00ff_ffff),
    ("32 bits, low", |i, _| random(i) >> 32),
    ("few bits set", |i, _| (0..6).fold(0, |bits, k| bits | 1 << (random(6 * i + k) % 64))),
    ("evenly spread", |i, n| i * (u64::MAX / n) + random(0) % (u64::MAX / n)),
    ("evenly, in one half", |i, n| i * (u64::MAX / (2 * n)) + random(0) % (u64::MAX / (2 * n))),
    ("one half in one place", |i, _| if i % 2 == 0 { random(i) } else { random(i) >> 30 }),
    ("a tenth in one place", |i, _| if i % 10 > 0 { random(i) } else { random(i) >> 40 }),
    ("in one third", |i, _| in_part(i, 1, 3)),
    ("150 in a golomb bucket", |i, n| in_part(i, i / 150 * 150 / 64, n.div_ceil(64))),
    ("64 neighbours in a golomb bucket", |i, n| {
        let half_bucket = u64::MAX / n.div_ceil(64) / 2;
        (i / 64 * 2 + 1) * half_bucket + i % 64 * (half_bucket / 3_000)
    }),
    ("200 in a ribbon bucket", |i, n| in_part(i, i / 200 * 200 / 128, n.div_ceil(128))),
    ("one start in ribbon's last layer", |i, _| match i {
        0..2_880 => unmix(5 << 58 | random(i) >> 40) ^ (i % 32).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        _ => random(i),
    }),
    ("bumped by ribbon's first layer", |i, n| match i {
        i if i < n / 8 => in_part(i, 7, n.div_ceil(128)),
        _ => random(i),
    }),
    ("in one 128th", |i, _| in_part(i, 77, 128)),
    ("in two 128ths", |i, _| in_part(i, 33 + 50 * (i % 2), 128)),
    ("in one 4096th", |i, _| in_part(i, 2_077, 4096)),
    ("in two 4096ths", |i, _| in_part(i, 633 + 3_050 * (i % 2), 4096)),
    ("pairs in one fuse segment", |i, n| in_part(i / 2, i / 2, n.div_ceil(2)) ^ (i % 2)),
];

const SETTINGS: [(FilterKind, f64); 7] = [
    (FilterKind::Bloom, 0.01),
    (FilterKind::Blocked, 0.01),
    (FilterKind::Golomb, 0.01),
    (FilterKind::Golomb, 1e-4),
    (FilterKind::Ribbon, 0.01),
    (FilterKind::Fuse, 0.5),
    (FilterKind::Fuse, 0.004),
];

fn hashes(shape: Shape, n: u64) -> Vec<KeyHash> {
    let mut hashes: Vec<u64> = (0..n).map(|i| (shape.1)(i, n)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.sort_unstable_by_key(|&hash| mix(hash ^ 1));
    hashes.into_iter().map(KeyHash::from_raw).collect()
}

/// Nanoseconds a hash, twice, and bytes a hash, twice: the means of all sets of a shape, each of the fastest of some
/// runs.
fn costs(policy: &FilterPolicy, shape: Shape, n: u64, num_probed: &mut u64) -> [f64; 4] {
    let num_sets = if n > 100_000 { 1 } else { 12 };
    let mut costs = [0.0; 4];
    for set in 0..num_sets {
        SET.store(set, Relaxed);
        let hashes = hashes(shape, n);
        let (mut build_ns, mut query_ns, mut peak, mut block) = (f64::MAX, f64::MAX, 0, Vec::new());
        for _ in 0..5 {
            block = Vec::new();
            let live = LIVE.load(Relaxed);
            PEAK.store(live, Relaxed);
            let begun = Instant::now();
            let mut builder = FilterBlockBuilder::new(policy);
            hashes.iter().for_each(|&hash| builder.add_hash(hash));
            builder.finish_into(&mut block).expect("every set is built");
            build_ns = (begun.elapsed().as_nanos() as f64).min(build_ns);
            peak = PEAK.load(Relaxed) - live;
        }
        let filter = OpenOptions::new().open(&block).expect("a block just built");
        for _ in 0..5 {
            let begun = Instant::now();
            let num_found = hashes.iter().filter(|&&hash| filter.may_contain_hash(hash)).count();
            query_ns = (begun.elapsed().as_nanos() as f64).min(query_ns);
            assert_eq!(num_found, hashes.len(), "a stored hash is denied");
        }
        let mut answers = vec![false; hashes.len()];
        filter.may_contain_hashes(&hashes, &mut answers);
        assert!(answers.into_iter().all(|answer| answer), "a stored hash is denied");
        *num_probed += 6 * hashes.len() as u64;
        let of_set = [build_ns, query_ns, peak as f64, block.len() as f64];
        costs.iter_mut().zip(of_set).for_each(|(mean, cost)| *mean += cost / (num_sets * hashes.len() as u64) as f64);
    }
    costs
}

/// A name, and the byte at each place.
type Fill = (&'static str, fn(u64) -> u8);

/// Blocks of 1 MB that were built, with payloads of other bytes.
fn any_bytes(kind: FilterKind, rate: f64) {
    let policy = FilterPolicy::with_false_positive_rate(kind, rate).expect("legal");
    let num_hashes = policy.expected_num_entries(1_000_000);
    let mut builder = FilterBlockBuilder::new(&policy);
    (0..num_hashes).for_each(|i| builder.add_hash(KeyHash::from_raw(mix(i + 1))));
    let built = builder.finish().expect("a block");
    let mut slowest = [(0.0, ""), (0.0, "")];
    let fills: [Fill; 5] = [
        ("as built", |_| 0),
        ("zeros", |_| 0),
        ("ones", |_| 0xff),
        ("every second bit", |_| 0x55),
        ("random", |i| mix(i + 7) as u8),
    ];
    for (name, fill) in fills {
        let mut block = built.clone();
        // Ribbon's numbers of blocks at the end would be refused.
        let end = block.len() - 64;
        if name != "as built" {
            (64..end).for_each(|at| block[at] = fill(at as u64));
        }
        let begun = Instant::now();
        let verified = OpenOptions::new().open(&block).is_ok();
        let open_us = begun.elapsed().as_nanos() as f64 / 1e3;
        assert_eq!(verified, name == "as built");
        let Ok(filter) = OpenOptions::new().with_digest_check(false).open(&block) else { continue };
        // The mean over queries of one hash, so that neither the clock nor a cache's misses are measured; of some runs the
        // fastest, so that no other program is.
        let query_us = |i: u64| {
            let hash = KeyHash::from_raw(mix(i << 20 | 1));
            let run_us = |_| {
                let begun = Instant::now();
                let num_passed = (0..64).filter(|_| filter.may_contain_hash(std::hint::black_box(hash))).count();
                std::hint::black_box(num_passed);
                begun.elapsed().as_nanos() as f64 / 64e3
            };
            (0..5).map(run_us).fold(f64::MAX, f64::min)
        };
        let found = [open_us, (0..2_000).map(query_us).fold(0.0, f64::max)];
        for (slowest, found) in slowest.iter_mut().zip(found).filter(|(slowest, found)| *found > slowest.0) {
            *slowest = (found, name);
        }
    }
    let [(open_us, of_open), (query_us, of_query)] = slowest;
    println!("| {kind} {rate} | {open_us:.0} µs, {of_open} | {query_us:.3} µs, {of_query} |");
}

/// Blocks of range filters of 64 integers, in one bucket, with payloads of other bytes: ranges of as many blocks as a query
/// searches.
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
fn any_codes(rate: f64, len: u64) {
    let policy = RangePolicy::of_integers(rate, len).expect("legal");
    let mut builder = RangeFilterBuilder::new(policy);
    (0..64).for_each(|i| builder.add_key(&mix(i + 1).to_be_bytes()));
    let built = builder.finish().expect("a block");
    let fills: [Fill; 6] = [
        ("zeros", |_| 0),
        ("ones", |_| 0xff),
        ("ones, then zeros", |i| if i < 9 { 0xff } else { 0 }),
        ("zeros, then ones", |i| if i < 9 { 0 } else { 0xff }),
        ("every second bit", |_| 0x55),
        ("random", |i| mix(i + 7) as u8),
    ];
    let mut slowest = (0.0, "");
    for (name, fill) in fills {
        let mut block = built.clone();
        // Behind the first and the last number, which would deny.
        (80..block.len()).for_each(|at| block[at] = fill(at as u64 - 80));
        let trusted = OpenOptions::new().with_digest_check(false);
        let filter = trusted.open_ranges(&block[..]).expect("its header is as it was");
        let blocks = filter.parameters().find(|&(name, _)| name == "log_block").expect("of integers").1;
        for i in 0..500 {
            let first = mix(i << 20 | 1) >> 1;
            let [from, to] = [first, first + (32 << blocks)].map(u64::to_be_bytes);
            // The fastest of some runs, so that no other program is measured.
            let run_us = |_| {
                let begun = Instant::now();
                for _ in 0..4 {
                    std::hint::black_box(filter.may_contain_range(Included(&from), Included(&to)));
                }
                begun.elapsed().as_nanos() as f64 / 4e3
            };
            let query_us = (0..5).map(run_us).fold(f64::MAX, f64::min);
            if query_us > slowest.0 {
                slowest = (query_us, name);
            }
        }
    }
    println!("| range {rate}, {len} | | {:.1} µs, {} |", slowest.0, slowest.1);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Run as a test, it only shows that it compiles.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let sizes: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_000, 30_000, 1_000_000] } else { sizes };
    let mut num_probed = 0;
    println!(
        "| hashes | filter | build | query | memory | bytes | the worst shapes of each |\n|---|---|---|---|---|---|---|"
    );
    for n in sizes {
        for (kind, rate) in SETTINGS {
            let policy = FilterPolicy::with_false_positive_rate(kind, rate).expect("legal");
            let random = costs(&policy, SHAPES[0], n, &mut num_probed);
            let mut worst = [(0.0, ""); 4];
            for shape in &SHAPES[1..] {
                let found = costs(&policy, *shape, n, &mut num_probed);
                for (worst, (found, random)) in worst.iter_mut().zip(found.into_iter().zip(random)) {
                    if found / random > worst.0 {
                        *worst = (found / random, shape.0);
                    }
                }
            }
            let [build, query, memory, bytes] = worst.map(|(ratio, _)| ratio);
            print!("| {n} | {kind} {rate} | {build:.2} | {query:.2} | {memory:.2} | {bytes:.3} ");
            println!("| {} |", worst.map(|(_, name)| name).join("; "));
        }
    }
    println!("\n| 1 MB of any bytes | slowest opening, verified | slowest query |\n|---|---|---|");
    SETTINGS.into_iter().for_each(|(kind, rate)| any_bytes(kind, rate));
    [(0.5, 1), (0.1, 8), (0.01, 1 << 10), (0.001, 100_000), (0.01, 10_000_000)]
        .into_iter()
        .for_each(|(rate, len)| any_codes(rate, len));
    println!("\n{num_probed} queries of stored hashes in {} shapes, none denied", SHAPES.len());
}
