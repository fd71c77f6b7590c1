//! The constants by which an automatic policy compares kinds, as each kind's settings have them: `SPEED` in
//! `src/filter/<kind>/plan.rs`. Prints for each kind the measured values in the form of that line, and below it those
//! that the library has, so that the two can be compared and the line replaced.
//!
//! | field | measured |
//! |---|---|
//! | `build_ns` | a block of 1 M keys, from keys to bytes, self-check included, per key: the least of 7 runs |
//! | `cached_query_ns` | queries of new absent keys in a block of 10 k keys, 12.5 kB: the least of 20 runs of 65 536 |
//! | `uncached_query_ns` | the same in a block of 16 M keys, 20 MB |
//!
//! 16-byte keys, 10 bits per key, time of one core, each kind with its default settings. Run it on an idle machine
//! with the fastest engines: `taskset -c 1 cargo bench --bench speeds`.

mod common;
#[path = "common/measured.rs"]
mod measured;

use filterblock::{FilterKind, FilterPolicy, FilterSize, Workload};
use measured::{Measured, measure};

const CACHED_KEYS: usize = 10_000;
const KEYS: usize = 1_000_000;
const UNCACHED_KEYS: usize = 16_000_000;

fn main() {
    // Run as a test, it only shows that it compiles.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    for &kind in FilterKind::ALL {
        let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("a legal size");
        let sizes = [(CACHED_KEYS, 20), (KEYS, 7), (UNCACHED_KEYS, 1)];
        let [cached, middle, uncached] =
            sizes.map(|(num_keys, num_builds)| measure(policy.clone(), num_keys, num_builds));
        let Measured { block_len, false_positive_rate, .. } = middle;
        println!("{kind}, {KEYS} keys in {block_len} bytes, of absent ones {:.4} % pass", false_positive_rate * 100.0);
        print("measured", [middle.build_ns, cached.query_ns, uncached.query_ns]);

        let automatic = FilterPolicy::auto(FilterSize::MillibitsPerKey(10_000), Workload::default());
        let automatic = automatic.expect("a legal size");
        let cost = |num_keys: usize| {
            let choice = automatic.choice(num_keys as u64).expect("every kind can have the size");
            *choice.costs().find(|cost| cost.kind == kind).expect("every kind can have the size")
        };
        let build_ns = cost(KEYS).build_ns / KEYS as f64;
        print("in the library", [build_ns, cost(CACHED_KEYS).query_ns, cost(UNCACHED_KEYS).query_ns]);
    }
}

fn print(what: &str, [build_ns, cached_query_ns, uncached_query_ns]: [f64; 3]) {
    println!(
        "    const SPEED: Speed = Speed {{ build_ns: {build_ns:.1}, cached_query_ns: {cached_query_ns:.1}, \
         uncached_query_ns: {uncached_query_ns:.1} }}; // {what}"
    );
}
