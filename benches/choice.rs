//! How good is the choice of an automatic policy on this machine? For three workloads each kind is built and queried,
//! and its cost computed by the same sum as [`FilterPolicy::choice`] has, with the times, rate and length measured here
//! in place of the library's constants and predictions. The ratio is the chosen kind's cost to the least; it should not
//! exceed 1.05.
//!
//! | workload | entries | level | queries |
//! |---|---|---|---|
//! | young | 50 k | 0: held for a minute, reads from the system's cache | one in ten entries: rarely queried |
//! | middle | 1 M | 2: held for 100 minutes, reads from a disk | the number of entries |
//! | cold | 8 M | 5: held for 70 days, bytes are dear | the number of entries |
//!
//! Each in two sizes: 10 bits per key, and a rate of 1 %. `taskset -c 1 cargo bench --bench choice`

#[path = "common/clock.rs"]
mod clock;
mod common;
#[path = "common/measured.rs"]
mod measured;

use filterblock::{FilterKind, FilterPolicy, FilterSize, Workload};
use measured::measure;

/// The greatest cost of a choice, as a multiple of the least.
const RATIO_MAX: f64 = 1.05;

fn main() {
    // Run as a test, it only shows that it compiles.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let workloads = [
        ("young", 50_000, Workload::default().with_level(0).with_num_queries(5_000)),
        ("middle", 1_000_000, Workload::default().with_level(2)),
        ("cold", 8_000_000, Workload::default().with_level(5)),
    ];
    for size in [FilterSize::MillibitsPerKey(10_000), FilterSize::FalsePositiveRate(0.01)] {
        for (name, num_entries, workload) in workloads {
            row(name, num_entries, FilterPolicy::auto(size, workload).expect("a legal size"), workload);
        }
    }
}

fn row(name: &str, num_entries: u64, automatic: FilterPolicy, workload: Workload) {
    let chosen = automatic.choice(num_entries).expect("a legal size").cost().kind;
    let costs: Vec<(FilterKind, f64)> = FilterKind::ALL
        .iter()
        .map(|&kind| (kind, cost(policy_of(kind, automatic.size()), num_entries, workload)))
        .collect();
    let least = costs.iter().map(|&(_, cost)| cost).fold(f64::INFINITY, f64::min);
    let ratio = |cost: f64| cost / least;
    let of_chosen = costs.iter().find(|&&(kind, _)| kind == chosen).map_or(f64::NAN, |&(_, cost)| ratio(cost));
    let verdict = if of_chosen <= RATIO_MAX { "" } else { ", more than 1.05" };
    let all: Vec<String> = costs.iter().map(|&(kind, cost)| format!("{kind} {:.3}", ratio(cost))).collect();
    println!("{name}, {automatic}: {chosen}, {of_chosen:.3} of the least{verdict} ({})", all.join(", "));
}

fn policy_of(kind: FilterKind, size: FilterSize) -> FilterPolicy {
    match size {
        FilterSize::FalsePositiveRate(rate) => FilterPolicy::with_false_positive_rate(kind, rate),
        FilterSize::MillibitsPerKey(millibits) => FilterPolicy::with_bits_per_key(kind, f64::from(millibits) / 1e3),
        size => panic!("{size:?} is no size of these workloads"),
    }
    .expect("a legal size")
}

fn cost(policy: FilterPolicy, num_entries: u64, workload: Workload) -> f64 {
    let measured = measure(policy.clone(), num_entries as usize, if num_entries > 2_000_000 { 1 } else { 7 });
    let queries = workload.num_queries(num_entries) as f64;
    // Bits per key are granted: only what exceeds them, the header and a line of 64 bytes counts.
    let granted_bytes = match policy.size() {
        FilterSize::MillibitsPerKey(millibits) => (num_entries * u64::from(millibits)).div_ceil(8_000) + 128,
        _ => 0,
    };
    measured.build_ns * num_entries as f64
        + queries * (measured.query_ns + measured.false_positive_rate * f64::from(workload.read_ns()))
        + measured.block_len.saturating_sub(granted_bytes) as f64 * f64::from(workload.byte_ns())
}
