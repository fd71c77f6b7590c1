//! How one sample is taken.

use crate::stats::median;
use std::time::Instant;

/// A sample is the median of so many pieces, so that being scheduled away once does not count.
const NUM_PIECES: usize = 16;

/// Length of a pass over tables of `num_keys` keys: far more than branch predictors remember, and more still where the
/// filter is far larger than the caches.
pub fn num_questions(num_keys: usize) -> usize {
    3 << if num_keys > 4_000_000 { 19 } else { 17 }
}

/// Nanoseconds a question takes in `pass`, the first third of `questions` having warmed caches and predictors.
pub fn sample<T>(questions: &[T], mut pass: impl FnMut(&[T])) -> f64 {
    let (warm, timed) = questions.split_at(questions.len() / 3);
    pass(warm);
    let nanoseconds = |piece: &[T]| {
        let start = Instant::now();
        pass(piece);
        start.elapsed().as_nanos() as f64 / piece.len() as f64
    };
    let samples: Vec<f64> = timed.chunks_exact(timed.len() / NUM_PIECES).map(nanoseconds).collect();
    median(&samples).expect("sixteen pieces")
}
