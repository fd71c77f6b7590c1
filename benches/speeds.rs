//! The constants by which an automatic policy compares kinds, as each kind's settings have them: `SPEED` in
//! `src/keys/kinds/<kind>/plan.rs`. Prints lines to paste below the names of their files, with the processor's name, and
//! below each kind's line the one that the library has, so that the two can be compared.
//!
//! | field | measured |
//! |---|---|
//! | `build_ns` | a block of 1 M keys, from keys to bytes, self-check included, per key: the least of 7 runs |
//! | `cached_query_ns` | queries of new absent keys in a block of 10 k keys, 12.5 kB: the least of 20 runs of 65 536 |
//! | `uncached_query_ns` | the same in a block of 16 M keys, 20 MB |
//!
//! 16-byte keys, 10 bits per key, time of one core, each kind with its default settings. Run it on an idle machine
//! with the fastest engines: `taskset -c 1 cargo bench --bench speeds`.

#[path = "common/clock.rs"]
mod clock;
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
    println!("// src/keys/kinds/speed.rs\n//! The constants were measured on one core of: {}.\n", processor());
    let mut checks = Vec::new();
    for &kind in FilterKind::ALL {
        let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("a legal size");
        let sizes = [(CACHED_KEYS, 20), (KEYS, 7), (UNCACHED_KEYS, 1)];
        let [cached, middle, uncached] =
            sizes.map(|(num_keys, num_builds)| measure(policy.clone(), num_keys, num_builds));
        let unchecked = measure(policy.with_self_check(false), KEYS, 7);
        checks.push(format!("{kind} {:.1}", middle.build_ns - unchecked.build_ns));
        println!("// src/keys/kinds/{kind}/plan.rs");
        print("", [middle.build_ns, cached.query_ns, uncached.query_ns]);
        let Measured { block_len, false_positive_rate, .. } = middle;
        println!("// {KEYS} keys in {block_len} bytes, of absent ones {:.4} % pass", false_positive_rate * 100.0);

        let automatic = FilterPolicy::auto(FilterSize::MillibitsPerKey(10_000), Workload::default());
        let automatic = automatic.expect("a legal size");
        let cost = |num_keys: usize| {
            let choice = automatic.choice(num_keys as u64).expect("every kind can have the size");
            *choice.costs().find(|cost| cost.kind == kind).expect("every kind can have the size")
        };
        let build_ns = cost(KEYS).build_ns / KEYS as f64;
        print("// so far:", [build_ns, cost(CACHED_KEYS).query_ns, cost(UNCACHED_KEYS).query_ns]);
        println!();
    }
    println!("// README.md, docs/performance.md, docs/decisions.md: nanoseconds a key that the self-check adds");
    println!("// {}", checks.join(", "));
}

/// Returns the processor's name, family and model as the system has them.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned()).next()
    };
    match [field("model name"), field("cpu family"), field("model")] {
        [Some(name), Some(family), Some(model)] => format!("{name}, family {family}, model {model}"),
        _ => format!("an unnamed {} processor", std::env::consts::ARCH),
    }
}

fn print(before: &str, [build_ns, cached_query_ns, uncached_query_ns]: [f64; 3]) {
    println!(
        "{before}    const SPEED: Speed = Speed {{ build_ns: {build_ns:.1}, cached_query_ns: {cached_query_ns:.1}, \
         uncached_query_ns: {uncached_query_ns:.1} }};"
    );
}
