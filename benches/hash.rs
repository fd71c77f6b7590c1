//! What does a hash cost? XXH3-64 with a seed beside SipHash-1-3 under a secret key, for entries of several lengths.
//! The difference is the price of safety from entries that an adversary chooses. Prints nanoseconds of one core, the least
//! of 2 000 runs over 1 024 entries: `taskset -c 1 cargo bench --bench hash`.

#[path = "common/clock.rs"]
mod clock;

use clock::time_ns;
use filterblock::KeyHasher;
use std::hint::black_box;

const NUM_ENTRIES: usize = 1024;
const NUM_RUNS: u32 = 2_000;

fn main() {
    // Run as a test, it only shows that it compiles.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("{:>6} {:>12} {:>12}", "bytes", "xxh3", "siphash-1-3");
    for len in [8, 16, 32, 64, 256] {
        let entries: Vec<Vec<u8>> = (0..NUM_ENTRIES).map(|i| vec![i as u8 ^ (i >> 8) as u8; len]).collect();
        let [xxh3, siphash] = [KeyHasher::new(7), KeyHasher::keyed([7; 16])].map(|hasher| {
            let hash_all = || entries.iter().for_each(|entry| _ = black_box(hasher.hash(black_box(entry))));
            (0..NUM_RUNS).map(|_| time_ns(hash_all)).fold(f64::INFINITY, f64::min) / NUM_ENTRIES as f64
        });
        println!("{len:>6} {xxh3:>12.2} {siphash:>12.2}");
    }
}
