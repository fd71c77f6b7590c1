//! The measurement of one sample.

use crate::stats::median;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A sample is the median of this many pieces, so that being descheduled once does not count.
const NUM_PIECES: usize = 16;

/// Times that a sample is taken at most until the core was calm.
static MAX_TRIES: AtomicU32 = AtomicU32::new(1);
/// The shortest times of fixed work, in nanoseconds: of arithmetic, and of loads.
static LEAST_NS: [AtomicU64; 2] = [const { AtomicU64::new(u64::MAX) }; 2];
/// The core is calm while each takes at most this share of its shortest time.
const CALM_SHARES: [f64; 2] = [1.1, 1.3];
/// The number of cache lines that are loaded: those of a filter of a million keys.
const NUM_LINES: usize = 20_000;
static LINES: [[AtomicU64; 8]; NUM_LINES] = [const { [const { AtomicU64::new(0) }; 8] }; NUM_LINES];
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Length of a pass over tables of `num_keys` keys: far more than branch predictors remember, and longer still if the
/// filter is far larger than the caches.
pub fn num_queries(num_keys: usize) -> usize {
    3 << if num_keys > 4_000_000 { 19 } else { 17 }
}

/// Has samples taken up to `max_tries` times, until the core was calm before and after.
pub fn try_until_calm(max_tries: u32) {
    MAX_TRIES.store(max_tries, Relaxed);
    // Pages that were never written to are one and the same.
    LINES.iter().for_each(|line| line[0].store(1, Relaxed));
    // Long enough to see the shortest time.
    let start = Instant::now();
    while max_tries > 1 && start.elapsed() < 10 * MAX_WAIT {
        is_calm();
    }
}

/// Whether nobody slows the core down: a neighbour on its second thread, which a virtual machine cannot see, takes half
/// of its throughput, and one elsewhere on the processor takes the cache that all share.
fn is_calm() -> bool {
    let works = [compute as fn(), load];
    let mut calm = true;
    for ((work, least_ns), share) in works.into_iter().zip(&LEAST_NS).zip(CALM_SHARES) {
        let start = Instant::now();
        work();
        let ns = start.elapsed().as_nanos() as u64;
        calm &= ns as f64 <= least_ns.fetch_min(ns, Relaxed).min(ns) as f64 * share;
    }
    calm
}

fn compute() {
    let mut lanes = [1u64, 2, 3, 4];
    for _ in 0..20_000 {
        lanes = black_box(lanes.map(|lane| (lane ^ (lane >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)));
    }
}

/// Loads lines in an order that no processor foresees, often enough that most are in a cache.
fn load() {
    let places = (0..4 * NUM_LINES as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
    let sum: u64 = places.map(|place| LINES[place as usize % NUM_LINES][0].load(Relaxed)).sum();
    black_box(sum);
}

/// Returns the result of `measure` while the core was calm, or of the last try.
pub fn calmly<T>(measure: impl FnMut() -> T) -> T {
    try_while(is_calm, MAX_TRIES.load(Relaxed), measure)
}

fn try_while<T>(mut is_calm: impl FnMut() -> bool, max_tries: u32, mut measure: impl FnMut() -> T) -> T {
    for _ in 1..max_tries {
        let start = Instant::now();
        while !is_calm() && start.elapsed() < MAX_WAIT {}
        let measured = measure();
        if is_calm() {
            return measured;
        }
    }
    measure()
}

/// Nanoseconds per query in `pass`; the first third of `queries` warms caches and predictors.
pub fn sample<T>(queries: &[T], mut pass: impl FnMut(&[T])) -> f64 {
    let (warm, timed) = queries.split_at(queries.len() / 3);
    pass(warm);
    let mut nanoseconds = |piece: &[T]| {
        let start = Instant::now();
        pass(piece);
        start.elapsed().as_nanos() as f64 / piece.len() as f64
    };
    calmly(|| {
        let samples: Vec<f64> = timed.chunks_exact(timed.len() / NUM_PIECES).map(&mut nanoseconds).collect();
        median(&samples).expect("sixteen pieces")
    })
}

#[cfg(test)]
mod tests {
    use super::try_while;

    #[test]
    fn a_sample_is_taken_until_the_core_is_calm_and_no_more_often_than_allowed() {
        // Whether the core is calm, at one question after another; how often to try; which sample counts.
        for (calm, max_tries, expected) in [
            (&[][..], 1, 1),
            (&[true, true], 5, 1),
            (&[true, false, true, true], 5, 2),
            (&[false, false, true, false, true, true], 5, 2),
            (&[true, false, true, false], 3, 3),
        ] {
            let (mut calm, mut samples) = (calm.iter(), 0);
            let next = || *calm.next().expect("no more questions than these");
            let kept = try_while(next, max_tries, || {
                samples += 1;
                samples
            });
            assert_eq!((kept, samples, calm.len()), (expected, expected, 0));
        }
    }
}
