//! How one sample is taken.

use crate::stats::median;
use std::time::Instant;

/// A sample is the median of this many pieces, so that being descheduled once does not count.
const NUM_PIECES: usize = 16;

/// Length of a pass over tables of `num_keys` keys: far more than branch predictors remember, and longer still if the
/// filter is far larger than the caches.
pub fn num_queries(num_keys: usize) -> usize {
    3 << if num_keys > 4_000_000 { 19 } else { 17 }
}

/// Nanoseconds per query in `pass`; the first third of `queries` warms caches and predictors.
pub fn sample<T>(queries: &[T], mut pass: impl FnMut(&[T])) -> f64 {
    let (warm, timed) = queries.split_at(queries.len() / 3);
    pass(warm);
    let nanoseconds = |piece: &[T]| {
        let start = Instant::now();
        pass(piece);
        start.elapsed().as_nanos() as f64 / piece.len() as f64
    };
    let samples: Vec<f64> = timed.chunks_exact(timed.len() / NUM_PIECES).map(nanoseconds).collect();
    median(&samples).expect("sixteen pieces")
}
