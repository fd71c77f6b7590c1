//! Which empty ranges pass a range filter, beside alternatives of the same number of bits; and how long builds and
//! queries take.
//!
//! ```sh
//! cargo bench --bench ranges -- [KEYS] [WORDS]    # 1 000 000 keys; a file of words, such as that of Debian's
//!                                                 # wamerican-insane: /usr/share/dict/american-english-insane
//! ```
//!
//! Prints a table for each set of keys. The figures are per cent of ranges that have no key.

#![expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]

mod bits;
mod candidates;
#[expect(dead_code, reason = "the rest is for other benches")]
#[path = "../common/mod.rs"]
mod common;
mod prefixes;
mod sets;

use filterblock::OpenOptions;
use filterblock::Query;
use filterblock::range::{RangeFilter, RangeFilterBuilder, RangePolicy, probe_tables};
use sets::{Range, Set};
use std::hint::black_box;
use std::ops::Bound::Included;
use std::time::Instant;

const BITS: [f64; 3] = [12.0, 14.0, 16.0];
/// The number of tables that a store may query for one scan.
const NUM_TABLES: usize = 20;
const WORDS: &str = "/usr/share/dict/american-english-insane";

fn main() {
    // Run as a test, it only shows that it compiles.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let num_keys = args.next().map_or(1_000_000, |num| num.parse().expect("a number of keys"));
    let path = args.next().unwrap_or_else(|| WORDS.into());
    let mut makers: Vec<Box<dyn Fn() -> Set>> =
        vec![Box::new(move || sets::integers(num_keys)), Box::new(move || sets::series(num_keys))];
    match sets::list(&path) {
        Some(list) => {
            let words = list.clone();
            makers.push(Box::new(move || sets::addresses(&list, num_keys)));
            makers.push(Box::new(move || sets::words(words.clone(), num_keys)));
        }
        None => eprintln!("{path}: not there, so addresses and words are left out"),
    }
    makers.iter().for_each(|make| report(&make()));
    println!("\n### {NUM_TABLES} tables of {num_keys} random integers\n");
    println!("| policy | one by one, ns a table | together, ns a table | ratio |\n|---|---|---|---|");
    ["range:14", "range:fpr=1%,len=1024"].into_iter().for_each(|policy| tables(policy, num_keys));
}

/// Answers for the tables, between two included bounds.
type Ask<'a> = &'a dyn Fn(&[u8], &[u8], &mut [bool]);

/// Short ranges that many tables are queried for, none of which has a key there.
fn tables(policy: &str, num_keys: usize) {
    let mut random = common::Keys::new(1);
    let tables: Vec<_> = (0..NUM_TABLES)
        .map(|_| {
            let mut keys: Vec<u64> = (0..num_keys).map(|_| random.number()).collect();
            keys.sort_unstable();
            let mut builder = RangeFilterBuilder::new(policy.parse().expect("legal"));
            keys.iter().for_each(|key| builder.add_key(&key.to_be_bytes()));
            OpenOptions::new().open_ranges(builder.finish().expect("a filter")).expect("intact")
        })
        .collect();
    let mut answers = [false; NUM_TABLES];
    let mut time = |ask: Ask<'_>| {
        let firsts: Vec<u64> = (0..1_000).map(|_| random.number()).collect();
        let begun = Instant::now();
        for first in &firsts {
            ask(&first.to_be_bytes(), &first.saturating_add(900).to_be_bytes(), &mut answers);
            black_box(&answers);
        }
        begun.elapsed().as_nanos() as f64 / (firsts.len() * NUM_TABLES) as f64
    };
    let single = |lower: &[u8], upper: &[u8], answers: &mut [bool]| {
        let ask = |table: &RangeFilter<Vec<u8>>| table.may_contain_range(Included(lower), Included(upper));
        tables.iter().zip(answers).for_each(|(table, answer)| *answer = ask(table));
    };
    let together = |lower: &[u8], upper: &[u8], answers: &mut [bool]| {
        probe_tables(&tables, Query::Range(Included(lower), Included(upper)), answers);
    };
    let mut rounds: Vec<(f64, f64)> = (0..9).map(|_| (time(&single), time(&together))).collect();
    rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (single, together) = rounds[rounds.len() / 2];
    println!("| `{policy}` | {single:.0} | {together:.0} | {:.2} |", together / single);
}

fn report(set: &Set) {
    println!("\n### {}: {} keys\n", set.name, set.keys.len());
    let names: Vec<&str> = set.loads.iter().map(|load| &load.name[..]).collect();
    println!("| filter | bits a key | build, ns | query, ns | {} |", names.join(" | "));
    println!("|---|---|---|---|{}", "---|".repeat(names.len()));
    let prefixes: Vec<Vec<(f64, f64)>> = set.loads.iter().map(|load| prefixes::best(set, load, &BITS)).collect();
    for (index, bits) in BITS.into_iter().enumerate() {
        ours(set, "**range**", RangePolicy::with_bits_per_key(bits).expect("legal"));
        for len in [32, 1024].into_iter().filter(|_| set.keys.iter().all(|key| key.len() == set.keys[0].len())) {
            // As many bits, for ranges of this length; it is none that a rate of more than one half would take.
            let rate = len as f64 / (bits - 1.75).exp2();
            if let Ok(policy) = RangePolicy::with_false_positive_rate(rate, len) {
                ours(set, &format!("**range, rate for {len}**"), policy);
            }
        }
        let mut candidates = vec![candidates::leading(set, bits), candidates::samples(set, bits)];
        candidates.extend([5, 10, 20].into_iter().filter_map(|log| candidates::grafite(set, bits, log)));
        for candidate in candidates {
            let share = |ranges: &[Range]| passed(ranges, |range| (candidate.may_contain)(range));
            let shares = set.loads.iter().map(|load| share(&load.ranges));
            row(&candidate.name, candidate.bits_per_key, None, shares);
        }
        row("prefix Bloom, best length", bits, None, prefixes.iter().map(|best| best[index].0));
        row("Proteus, best lengths", bits, None, prefixes.iter().map(|best| best[index].1));
    }
}

/// Returns the per cent of ranges that pass.
fn passed(ranges: &[Range], may_contain: impl Fn(&Range) -> bool) -> f64 {
    100.0 * ranges.iter().filter(|range| may_contain(range)).count() as f64 / ranges.len() as f64
}

fn row(name: &str, bits: f64, times: Option<(f64, f64)>, shares: impl Iterator<Item = f64>) {
    let times = times.map_or("| ".into(), |(build, query)| format!("{build:.0} | {query:.0}"));
    let shares: Vec<String> = shares.map(|share| format!("{share:.2}")).collect();
    println!("| {name} | {bits:.2} | {times} | {} |", shares.join(" | "));
}

fn ours(set: &Set, name: &str, policy: RangePolicy) {
    let begun = Instant::now();
    let mut builder = RangeFilterBuilder::new(policy);
    set.keys.iter().for_each(|key| builder.add_key(key));
    let block = builder.finish().expect("a filter");
    let build = begun.elapsed().as_nanos() as f64 / set.keys.len() as f64;
    let filter = OpenOptions::new().open_ranges(block).expect("intact");
    let may_contain = |range: &Range| filter.may_contain_range(Included(&range.lower), Included(&range.upper));
    assert!(set.keys.iter().all(|key| filter.may_contain(key)), "a key is denied");
    let ranges = set.loads.iter().flat_map(|load| &load.ranges);
    let num_ranges = ranges.clone().count();
    let query = || {
        let begun = Instant::now();
        ranges.clone().for_each(|range| {
            black_box(may_contain(range));
        });
        begun.elapsed().as_nanos() as f64 / num_ranges as f64
    };
    let mut times: Vec<f64> = (0..9).map(|_| query()).collect();
    times.sort_by(f64::total_cmp);
    let shares = set.loads.iter().map(|load| passed(&load.ranges, may_contain));
    let bits = filter.bits_per_key().expect("keys");
    row(name, bits, Some((build, times[times.len() / 2])), shares);
}
