//! The times that a kind takes to build and to query, for the benchmarks of the choice among kinds.

use crate::clock::time_ns;
use crate::common::{Keys, build};
use filterblock::{FilterBlockBuilder, FilterPolicy, OpenOptions};
use std::hint::black_box;

/// Present keys are of stream 1, absent ones of stream 2.
const PRESENT: u64 = 1;
const ABSENT: u64 = 2;
const QUERIES_PER_RUN: usize = 1 << 16;
const QUERY_RUNS: u32 = 20;

/// A block, and nanoseconds of one core: the least of several runs, as what disturbs a run only makes it longer.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Building, a key.
    pub build_ns: f64,
    /// A query of an absent key.
    pub query_ns: f64,
    pub block_len: u64,
    pub false_positive_rate: f64,
}

/// Measures a block of `num_keys` keys under `policy`, built `num_builds` times.
pub fn measure(policy: FilterPolicy, num_keys: usize, num_builds: u32) -> Measured {
    let (mut builder, mut block) = (FilterBlockBuilder::new(&policy), Vec::new());
    let keys = Keys::new(PRESENT).take(num_keys);
    let builds = (0..num_builds).map(|_| time_ns(|| build(&mut builder, &keys, &mut block)));
    let build_ns = builds.fold(f64::INFINITY, f64::min) / num_keys as f64;
    drop(keys);
    let filter = OpenOptions::new().with_digest_check(false).open(&block).expect("a block of the builder's");
    let mut absent = Keys::new(ABSENT);
    let queries = (0..QUERY_RUNS).map(|_| {
        // Keys not queried before: neither caches nor branch predictors know them.
        let keys = absent.take(QUERIES_PER_RUN);
        time_ns(|| keys.iter().for_each(|key| _ = black_box(filter.may_contain(key))))
    });
    let query_ns = queries.fold(f64::INFINITY, f64::min) / QUERIES_PER_RUN as f64;
    Measured { build_ns, query_ns, block_len: block.len() as u64, false_positive_rate: filter.false_positive_rate() }
}
