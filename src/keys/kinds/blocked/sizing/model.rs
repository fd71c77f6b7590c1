//! The rate of a blocked filter with word-wise choice; the model is in the [parent](super)'s documentation.

use super::poisson::Poisson;
use super::{LEAST_MODELLED_MILLIBITS, MAX_NUM_PROBES};
use crate::math::float::{powi, sqrt};

/// The number of bits of a line: the format's figure, repeated here because this module depends on no other.
const BITS_PER_LINE: u32 = 512;
const BITS_PER_WORD: usize = 64;
const WORDS_PER_LINE: usize = 8;

/// The number of keys in the fullest line that matters, at 1 bit a key. Each throws at most two balls into a word.
const MAX_KEYS: usize = 800;
const MAX_BALLS: usize = 2 * MAX_KEYS;

/// An occupancy probability below this counts as 0, before it becomes a (slow) subnormal number.
const NEGLIGIBLE: f64 = 1e-100;

fn keys_per_line(millibits: u32) -> Poisson {
    Poisson::new(f64::from(BITS_PER_LINE) * 1_000.0 / f64::from(millibits))
}

/// The fill X/R of one word after the choice of its salt, by the number of balls thrown into it.
pub(super) struct WordFill {
    /// E\[X/R\]: the share of absent keys that pass a word probed once.
    once: [f64; MAX_BALLS + 1],
    /// E\[(X/R)²\]: the share of absent keys that pass a word probed twice.
    twice: [f64; MAX_BALLS + 1],
}

impl WordFill {
    /// Computes the fills for filters of at least `millibits` thousandths of a bit a key.
    pub(super) fn new(salt_bits: u32, millibits: u32) -> Self {
        let bits = BITS_PER_WORD - salt_bits as usize;
        let least = millibits.max(LEAST_MODELLED_MILLIBITS);
        let most_balls = (2 * keys_per_line(least).last() as usize).min(MAX_BALLS);
        let mut fill = Self { once: [0.0; MAX_BALLS + 1], twice: [0.0; MAX_BALLS + 1] };
        let mut set = [0.0; BITS_PER_WORD + 1];
        set[0] = 1.0;
        for balls in 1..=most_balls {
            throw(&mut set[..=bits]);
            (fill.once[balls], fill.twice[balls]) = moments_of_least(&set[..=bits], salt_bits);
        }
        fill
    }
}

/// Throws one more ball into the bits of a word: `set[x]` is the probability that x are set.
fn throw(set: &mut [f64]) {
    let bits = (set.len() - 1) as f64;
    for x in (1..set.len()).rev() {
        let sum = set[x] * (x as f64 / bits) + set[x - 1] * ((bits - (x - 1) as f64) / bits);
        set[x] = if sum < NEGLIGIBLE { 0.0 } else { sum };
    }
    set[0] = 0.0;
}

/// E\[X/R\] and E\[(X/R)²\] for the least X of 2^`salt_bits` independent draws: from P(X ≥ x)^S, summed over x.
fn moments_of_least(set: &[f64], salt_bits: u32) -> (f64, f64) {
    let bits = (set.len() - 1) as f64;
    let (mut at_least, mut first, mut second) = (0.0, 0.0, 0.0);
    for x in (1..set.len()).rev() {
        at_least += set[x];
        let mut all_at_least: f64 = at_least;
        for _ in 0..salt_bits {
            all_at_least *= all_at_least;
        }
        first += all_at_least;
        second += (2 * x - 1) as f64 * all_at_least;
    }
    (first / bits, second / (bits * bits))
}

/// The distribution of a key's probes over the words of a line.
struct Layout {
    /// The number of balls that each key throws into each word.
    always: usize,
    /// The probability that it throws one more.
    extra: f64,
    /// The numbers of words that an absent key probes twice, and once.
    doubled: usize,
    single: usize,
    /// The sums of the correlations of ball counts over the pairs of words that an absent key probes: both twice, one
    /// twice, both once.
    both_doubled: f64,
    mixed: f64,
    both_single: f64,
}

impl Layout {
    fn new(num_probes: u32) -> Self {
        let probes = num_probes.min(MAX_NUM_PROBES) as usize;
        let second_round = probes > WORDS_PER_LINE;
        let window = if second_round { probes - WORDS_PER_LINE } else { probes };
        let doubled = if second_round { window } else { 0 };
        let single = if second_round { WORDS_PER_LINE - window } else { window };
        let mut layout = Self {
            always: usize::from(second_round),
            extra: window as f64 / WORDS_PER_LINE as f64,
            doubled,
            single,
            both_doubled: 0.0,
            mixed: 0.0,
            both_single: 0.0,
        };
        for second in 1..doubled + single {
            for first in 0..second {
                let correlation = ball_correlation(window, second - first);
                if second < doubled {
                    layout.both_doubled += correlation;
                } else if first < doubled {
                    layout.mixed += correlation;
                } else {
                    layout.both_single += correlation;
                }
            }
        }
        layout
    }
}

/// The correlation of the ball counts of two words `distance` apart, when each key hits a cyclic window of `window`
/// words: both are hit from (window − distance) + (window − (8 − distance)) of the 8 starts.
fn ball_correlation(window: usize, distance: usize) -> f64 {
    if window >= WORDS_PER_LINE {
        return 0.0; // a constant count
    }
    let starts = window.saturating_sub(distance) + (window + distance).saturating_sub(WORDS_PER_LINE);
    let words = WORDS_PER_LINE as f64;
    let hit = window as f64 / words;
    (starts as f64 / words - hit * hit) / (hit * (1.0 - hit))
}

/// The factor of a word, averaged over its number of balls given the keys of the line: `[keys]`.
struct Factor {
    mean: [f64; MAX_KEYS + 1],
    mean_square: [f64; MAX_KEYS + 1],
}

impl Factor {
    /// Averages the factor given the number of balls, for up to `most_keys` keys.
    fn new(of_balls: &[f64; MAX_BALLS + 1], most_keys: usize, layout: &Layout) -> Self {
        let mut factor = Self { mean: [0.0; MAX_KEYS + 1], mean_square: [0.0; MAX_KEYS + 1] };
        let mut scratch = *of_balls;
        average(&mut scratch, &mut factor.mean[..=most_keys], layout);
        for (square, value) in scratch.iter_mut().zip(of_balls) {
            *square = value * value;
        }
        average(&mut scratch, &mut factor.mean_square[..=most_keys], layout);
        factor
    }

    /// The coefficient of variation, squared; 0 while the mean is.
    fn variation_square(&self, keys: usize) -> f64 {
        let square = self.mean[keys] * self.mean[keys];
        if square > 0.0 { (self.mean_square[keys] / square - 1.0).max(0.0) } else { 0.0 }
    }
}

/// Writes to `averages[n]` the average of `values[balls]` over the balls that n keys throw into a word.
///
/// This is done key by key: `values[j]` becomes the average with j balls in the word beforehand, and each key shortens
/// the useful part.
fn average(values: &mut [f64; MAX_BALLS + 1], averages: &mut [f64], layout: &Layout) {
    let most_keys = averages.len() - 1;
    for (keys, slot) in averages.iter_mut().enumerate() {
        *slot = values[0];
        let useful = most_keys.saturating_sub(keys + 1) * (layout.always + 1) + 1;
        for j in 0..useful {
            values[j] = (1.0 - layout.extra) * values[j + layout.always] + layout.extra * values[j + layout.always + 1];
        }
    }
}

/// The probability that an absent key passes a line: the product of the factors, corrected for correlated balls.
fn pass(layout: &Layout, once: &Factor, twice: &Factor, keys: usize) -> f64 {
    let product = powi(once.mean[keys], layout.single as u32) * powi(twice.mean[keys], layout.doubled as u32);
    let (once, twice) = (once.variation_square(keys), twice.variation_square(keys));
    let correction = layout.both_single * once + layout.mixed * sqrt(once * twice) + layout.both_doubled * twice;
    (product * (1.0 + correction)).clamp(0.0, 1.0)
}

/// The rate at `millibits` ≥ 1000 thousandths of a bit a key and `num_probes` in 1 ..= 16; `fill` made for no more
/// millibits.
pub(super) fn rate(fill: &WordFill, millibits: u32, num_probes: u32) -> f64 {
    let layout = Layout::new(num_probes);
    let keys = keys_per_line(millibits);
    let most_keys = (keys.last() as usize).min(MAX_KEYS);
    let once = Factor::new(&fill.once, most_keys, &layout);
    let twice = Factor::new(&fill.twice, if layout.doubled > 0 { most_keys } else { 0 }, &layout);
    keys.expect(|keys| pass(&layout, &once, &twice, (keys as usize).min(most_keys)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_line_fits() {
        let last = keys_per_line(LEAST_MODELLED_MILLIBITS).last() as usize;
        assert!(last <= MAX_KEYS, "{last} keys at the smallest size");
    }

    #[test]
    fn word_fills_by_hand() {
        let fill = WordFill::new(0, 8_000);
        assert_eq!((fill.once[0], fill.once[1]), (0.0, 1.0 / 64.0));
        // Two balls set one bit with probability 1/64, else two.
        assert!((fill.once[2] - (2.0 - 1.0 / 64.0) / 64.0).abs() < 1e-16);
        assert!((fill.twice[2] - (4.0 - 3.0 / 64.0) / 4096.0).abs() < 1e-16);
        // The better of two salts: one bit unless both set two. 63 bits are left.
        let fill = WordFill::new(1, 8_000);
        let both_two = (62.0 / 63.0) * (62.0 / 63.0);
        assert!((fill.once[2] - (1.0 + both_two) / 63.0).abs() < 1e-16);
    }

    #[test]
    fn ball_correlations_cancel_over_the_line() {
        // Each key throws the same number of balls, so the counts of the 8 words have a constant sum: with itself (1)
        // and the other seven, a word's correlations add up to 0.
        for window in 1..WORDS_PER_LINE {
            let sum: f64 = (1..WORDS_PER_LINE).map(|distance| ball_correlation(window, distance)).sum();
            assert!((1.0 + sum).abs() < 1e-12, "window {window}: {sum}");
        }
        assert_eq!(ball_correlation(8, 3), 0.0);
    }
}
