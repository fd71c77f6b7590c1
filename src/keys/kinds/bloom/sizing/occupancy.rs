//! Balls thrown into bins: how many bins they fill, and whether given bins are all hit.
//!
//! The classical occupancy problem (Johnson & Kotz, *Urn Models and Their Application*, 1977, ch. 3). Its closed form
//! is an alternating sum that cancels; every recurrence here adds positive terms only, so no digits are lost.

use crate::math::float::{exp, ln_1p};

/// The most balls of [`distinct_bins`], and bins of [`all_hit`].
pub(crate) const MAX_BALLS: u32 = 64;

/// Array length for states 0 ..= [`MAX_BALLS`].
pub(crate) const STATES: usize = MAX_BALLS as usize + 1;

/// `[d]`: the probability that `num_balls` (at most [`MAX_BALLS`]) balls into `num_bins` > 0 bins hit d distinct
/// bins.
pub(crate) fn distinct_bins(num_bins: u64, num_balls: u32) -> [f64; STATES] {
    let bins = num_bins as f64;
    let mut probability = [0.0; STATES];
    probability[0] = 1.0;
    for balls in 1..=num_balls as usize {
        for distinct in (1..=balls.min(STATES - 1)).rev() {
            let fresh = num_bins.saturating_sub(distinct as u64 - 1) as f64 / bins;
            probability[distinct] =
                probability[distinct] * (distinct as f64 / bins).min(1.0) + probability[distinct - 1] * fresh;
        }
        probability[0] = 0.0;
    }
    probability
}

/// `[d]`: the probability that d given bins of `num_bins` > 0 are all hit by `num_balls` balls, for d ≤ `most`, which is
/// at most `num_bins` and [`MAX_BALLS`]; 0 beyond. Takes O(d³ log `num_balls`) steps: for filters of any size.
///
/// The count of given bins not yet hit is a Markov chain that only falls. This raises its (triangular) transition
/// matrix to a power by squaring. The diagonal, (1 − u/m)^balls, is taken from its closed form, because the
/// rounding of 1 − u/m would grow with the number of balls; what remains is a relative error of about
/// d · log₂(`num_balls`) · 2^-52.
pub(crate) fn all_hit(num_bins: u64, most: usize, num_balls: u128) -> [f64; STATES] {
    let mut chain = Chain::after_one_ball(num_bins, most);
    let mut balls = 1u128;
    let mut remaining_bits = 127u32.saturating_sub(num_balls.leading_zeros());
    while remaining_bits > 0 {
        remaining_bits -= 1;
        chain.square();
        balls *= 2;
        chain.set_diagonal(balls);
        if (num_balls >> remaining_bits) & 1 == 1 {
            chain.throw();
            balls += 1;
            chain.set_diagonal(balls);
        }
    }
    let mut probability = [0.0; STATES];
    for (given, slot) in probability.iter_mut().enumerate().take(most + 1) {
        *slot = chain.transition[row(given)];
    }
    probability
}

/// Returns the start of row `from` of the packed triangular matrix.
const fn row(from: usize) -> usize {
    from * (from + 1) / 2
}

/// `transition[row(u) + v]`: the probability that v ≤ u of u bins not yet hit remain so.
struct Chain {
    transition: [f64; row(STATES)],
    most: usize,
    bins: f64,
}

impl Chain {
    fn after_one_ball(num_bins: u64, most: usize) -> Self {
        let bins = num_bins as f64;
        let mut chain = Self { transition: [0.0; row(STATES)], most, bins };
        for from in 1..=most {
            chain.transition[row(from) + from - 1] = from as f64 / bins;
        }
        chain.set_diagonal(1);
        chain
    }

    fn set_diagonal(&mut self, balls: u128) {
        self.transition[0] = 1.0;
        for from in 1..=self.most {
            let miss_all = exp(balls as f64 * ln_1p(-(from as f64) / self.bins));
            self.transition[row(from) + from] = miss_all;
        }
    }

    /// Computes the entries off the diagonal after twice the number of balls. This works in place: an entry needs
    /// itself, entries nearer to the diagonal, and the diagonal, so the farthest go first.
    fn square(&mut self) {
        for span in (1..=self.most).rev() {
            for to in 0..=self.most - span {
                let from = to + span;
                let mut sum = 0.0;
                for middle in to..=from {
                    sum += self.transition[row(from) + middle] * self.transition[row(middle) + to];
                }
                self.transition[row(from) + to] = sum;
            }
        }
    }

    /// The entries off the diagonal after one more ball, which hits one of v + 1 bins or misses v.
    fn throw(&mut self) {
        for from in 1..=self.most {
            for to in 0..from {
                let miss = (1.0 - to as f64 / self.bins) * self.transition[row(from) + to];
                let hit = (to + 1) as f64 / self.bins * self.transition[row(from) + to + 1];
                self.transition[row(from) + to] = miss + hit;
            }
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::vec;

    /// E[(X/m)^k] by the distribution of the number X of distinct bins hit, over all m + 1 values.
    fn rate_by_occupancy(num_bins: usize, num_balls: usize, num_probes: i32) -> f64 {
        let m = num_bins as f64;
        let mut probability = vec![0.0; num_bins + 1];
        probability[0] = 1.0;
        for _ in 0..num_balls {
            for set in (1..=num_bins).rev() {
                probability[set] =
                    probability[set] * (set as f64 / m) + probability[set - 1] * ((num_bins - set + 1) as f64 / m);
            }
            probability[0] = 0.0;
        }
        let pass = |set: usize| (set as f64 / m).powi(num_probes);
        probability.iter().enumerate().map(|(set, p)| p * pass(set)).sum()
    }

    fn rate(num_bins: u64, num_balls: u128, num_probes: u32) -> f64 {
        let most = u64::from(num_probes).min(num_bins) as usize;
        let hit = all_hit(num_bins, most, num_balls);
        distinct_bins(num_bins, num_probes).iter().zip(hit).map(|(p, q)| p * q).sum()
    }

    #[test]
    fn distinct_bins_sum_to_one() {
        for (bins, balls) in [(1, 1), (1, 64), (2, 3), (5, 64), (64, 64), (4096, 17), (u64::MAX, 64)] {
            let sum: f64 = distinct_bins(bins, balls).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{bins} bins, {balls} balls: {sum}");
        }
        let three = distinct_bins(2, 3);
        assert_eq!((three[1], three[2], three[3]), (0.25, 0.75, 0.0));
    }

    #[test]
    fn the_chain_agrees_with_the_occupancy_distribution() {
        for (m, balls, k) in [(32, 12, 3), (128, 84, 7), (1024, 700, 7), (7, 5, 9), (64, 500, 16), (1000, 30, 64)] {
            let (ours, reference) = (rate(m as u64, balls as u128, k), rate_by_occupancy(m, balls, k as i32));
            assert!((ours / reference - 1.0).abs() < 1e-11, "{m} {balls} {k}: {ours:e} against {reference:e}");
        }
    }

    /// [`all_hit`] one ball after the other: d bins are all hit if they were before, or if all but one of them were and
    /// the ball hits that one.
    fn by_single_throws(num_bins: u64, most: usize, num_balls: u32) -> [f64; STATES] {
        let mut probability = [0.0; STATES];
        probability[0] = 1.0;
        for _ in 0..num_balls {
            for given in (1..=most).rev() {
                let hit = given as f64 / num_bins as f64;
                probability[given] = (1.0 - hit) * probability[given] + hit * probability[given - 1];
            }
        }
        probability
    }

    #[test]
    fn the_chain_agrees_with_single_throws() {
        for (bins, balls) in [(1u64, 3u32), (2, 1), (3, 10), (512, 512), (4096, 3000), (1 << 20, 40_000)] {
            let most = bins.min(40) as usize;
            let one_by_one = by_single_throws(bins, most, balls);
            let squared = all_hit(bins, most, u128::from(balls));
            for (given, (ours, reference)) in squared.iter().zip(one_by_one).enumerate() {
                let close = (ours - reference).abs() <= 2e-11 * reference;
                assert!(close, "{bins} {balls} {given}: {ours:e} against {reference:e}");
            }
        }
    }
}
