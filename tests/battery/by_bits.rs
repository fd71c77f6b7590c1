//! The rate of a block, computed from its bits independently of the library, and its variance over sets of keys.
//!
//! The rate p of a block is fixed by its bits; a formula states its mean ε over all sets of keys. Var(p) of a kind:
//!
//! - *bloom*: p = (X/m)^k, X bits set of m by b = k·n balls. The number of bins that b balls fill has the variance
//!   m·e^−λ·(1 − (1 + λ)·e^−λ), λ = b/m (V. F. Kolchin, B. A. Sevast'yanov, V. P. Chistyakov, *Random Allocations*,
//!   1978, ch. I; N. L. Johnson, S. Kotz, *Urn Models and Their Application*, 1977, ch. 3), and p changes by k·p/X
//!   for each bit (delta method).
//! - *golomb*: p = D/U, D values of U taken by n entries: the same law, with n balls in U bins.
//! - *blocked*: p is the mean over L lines of the rate of each, q. Lines would be independent if their numbers of
//!   keys K were; these are multinomial, i.e. independent Poisson numbers with a known sum. Given the
//!   sum, the part of q that is linear in K does not vary in the mean: Var(p) = (Var(q) − Cov(q, K)² / Var(K)) / L
//!   (L. Holst, *Asymptotic normality and efficiency for certain goodness-of-fit tests*, Biometrika 59, 1972). The
//!   moments are those of the block's own lines.
//! - *ribbon*: p is 2^−c, or half of that where a start is wide, whatever the keys are. These decide only which starts
//!   are bumped; of a bumped one the rate is that of the next layer, from 2^−(c+1) to 2^−c. So p differs from the
//!   formula by at most the share of bumped starts times 2^−(c+1), which is checked here, and has no variance worth the
//!   name.
//! - *fuse*: p is 2^−f, whatever the bits are, and so is the formula.

use crate::oracle::{Golomb, Ribbon, range, remap};
use crate::*;

/// The rate of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// By the policy's formula.
    pub(crate) formula: f64,
    /// The formula for the bits alone, at the block's exact size: without collisions of whole hashes, which do not show
    /// in the bits, and corrected where the formula truncates a size to a thousandth of a bit.
    pub(crate) formula_of_bits: f64,
    /// By the bits.
    pub(crate) rate: f64,
    /// Variance of the rate by the bits; 0 for ribbon and fuse.
    pub(crate) variance: f64,
    /// Golomb only: the number of entries that share a value with another, observed and expected.
    pub(crate) sharing: Option<(f64, f64)>,
}

impl Rates {
    /// For the block that `policy` builds from `hashes`, which are distinct.
    pub(crate) fn new(policy: FilterPolicy, hashes: &[KeyHash], block: &[u8]) -> Self {
        let num_entries = hashes.len() as u64;
        let formula = policy.expected_false_positive_rate(num_entries).expect("a size that is built");
        // Hashes of 64 bits: an absent key has one of the entries' with this probability.
        let floor = num_entries as f64 / 2f64.powi(64);
        let formula_of_bits = (formula - floor) / (1.0 - floor);
        let remapped = |set_seed| move |hash: &KeyHash| KeyHash::from_raw(remap(hash.get(), set_seed));
        let (oracle, hashes): (_, Vec<KeyHash>) = match Oracle::open(block) {
            Oracle::Remapped { set_seed, own } => (*own, hashes.iter().map(remapped(set_seed)).collect()),
            oracle => (oracle, hashes.to_vec()),
        };
        let hashes = &hashes[..];
        match oracle {
            Oracle::Bloom { num_probes, num_bits, bits } => {
                let (rate, variance) = of_bloom(num_bits, num_probes, &bits, num_entries as f64);
                Self { formula, formula_of_bits, rate, variance, sharing: None }
            }
            Oracle::Blocked { num_probes, salt_bits, lines } => {
                let (rate, variance, shared) = of_blocked(&line_rates(num_probes, salt_bits, &lines), hashes);
                let millibits = lines.len() as f64 * 8e3 / num_entries as f64;
                // The mean rate of lines of Poisson numbers of keys, of mean μ, has the slope Cov(q, K) / μ (Stein).
                let formula_of_bits = formula_of_bits - millibits.fract() * shared / millibits;
                Self { formula, formula_of_bits, rate, variance, sharing: None }
            }
            Oracle::Golomb { golomb, .. } => {
                let range = golomb.num_buckets as f64 * golomb.bucket_range as f64;
                let (n, num_values) = (num_entries as f64, num_values(golomb, hashes) as f64);
                let sharing = (n - num_values, n + range * (-n / range).exp_m1());
                let (rate, variance) = (num_values / range, occupancy_variance(range, n) / (range * range));
                // The formula expects the same number of entries to share a value.
                let by_formula = n - formula_of_bits * range;
                assert!((by_formula - sharing.1).abs() < 1e-9 * n, "{by_formula} share a value: {sharing:?}");
                Self { formula, formula_of_bits, rate, variance, sharing: Some(sharing) }
            }
            Oracle::Ribbon { ribbon, payload } => {
                let (rate, share_bumped) = of_ribbon(&ribbon, &payload);
                let most = share_bumped * 0.5f64.powi(ribbon.columns as i32 + 1) + 1e-12 * rate;
                assert!((rate - formula_of_bits).abs() <= most, "{rate} of {formula_of_bits}: {policy:?}");
                Self { formula, formula_of_bits, rate, variance: 0.0, sharing: None }
            }
            Oracle::Fuse { fuse, .. } => {
                let rate = 0.5f64.powi(fuse.fingerprint_bits as i32);
                assert!((rate / formula_of_bits - 1.0).abs() < 1e-9, "{rate} of {formula_of_bits}: {policy:?}");
                Self { formula, formula_of_bits, rate, variance: 0.0, sharing: None }
            }
            Oracle::Empty | Oracle::Remapped { .. } => unreachable!("entries, remapped once"),
        }
    }
}

/// Variance of the number of bins hit by balls thrown at random.
fn occupancy_variance(num_bins: f64, num_balls: f64) -> f64 {
    let load = num_balls / num_bins;
    // 1 − (1 + λ)e^−λ without cancellation.
    num_bins * (-load).exp() * (-(-load).exp_m1() - load * (-load).exp())
}

/// Rate and variance of a Bloom filter, from its bits.
fn of_bloom(num_bits: u64, num_probes: u32, bits: &[u8], num_entries: f64) -> (f64, f64) {
    let num_set: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
    let (m, k, x) = (num_bits as f64, f64::from(num_probes), f64::from(num_set));
    let rate = (x / m).powf(k);
    (rate, (k * rate / x).powi(2) * occupancy_variance(m, k * num_entries))
}

/// The rate of each line of a blocked filter: the mean over the windows of the product of the fills of the probed words
/// (section 6).
fn line_rates(num_probes: u32, salt_bits: u32, lines: &[u8]) -> Vec<f64> {
    let positions = 64 - salt_bits;
    let rate_of = |line: &[u8]| {
        let fill = |word: &[u8]| f64::from((int(word) << salt_bits).count_ones()) / f64::from(positions);
        let fills: Vec<f64> = line.chunks(8).map(fill).collect();
        let pass = |first: u32| -> f64 {
            let probes = |w: u32| {
                let place = (w + 8 - first) % 8;
                u32::from(place < num_probes.min(8)) + u32::from(place < num_probes.saturating_sub(8))
            };
            (0..8).zip(&fills).map(|(w, fill)| fill.powi(probes(w) as i32)).product()
        };
        (0..8).map(pass).sum::<f64>() / 8.0
    };
    lines.chunks(64).map(rate_of).collect()
}

/// Rate and variance of a blocked filter, from its lines, and the covariance of a line's rate and its number of keys.
fn of_blocked(rates: &[f64], hashes: &[KeyHash]) -> (f64, f64, f64) {
    let num_lines = rates.len() as f64;
    let mut keys = vec![0.0; rates.len()];
    hashes.iter().for_each(|hash| keys[range(hash.get(), rates.len() as u64) as usize] += 1.0);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / num_lines;
    let (mean_rate, mean_keys) = (mean(rates), mean(&keys));
    let covariance = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>() / (num_lines - 2.0)
    };
    let shared = covariance(rates, mean_rate, &keys, mean_keys);
    let own = covariance(rates, mean_rate, rates, mean_rate);
    let residual = own - shared * shared / covariance(&keys, mean_keys, &keys, mean_keys);
    (mean_rate, residual / num_lines, shared)
}

/// Rate of a ribbon filter, and the share of starts that the first layer bumps: start by start.
fn of_ribbon(ribbon: &Ribbon, payload: &[u8]) -> (f64, f64) {
    let layers = ribbon.layers();
    let (mut rate, mut entered, mut share_bumped) = (0.0, 1.0, 0.0);
    for (index, layer) in layers.iter().enumerate() {
        let num_starts = layer.num_starts();
        let is_last = index + 1 == layers.len();
        let is_held = |start: &u64| is_last || 127 - start % 128 < Ribbon::limit(payload, layer, start / 128);
        let (mut passing, mut num_held) = (0.0, 0.0);
        for start in (0..num_starts).filter(is_held) {
            passing += 0.5f64.powi((ribbon.columns + u64::from(start / 64 < layer.num_wide)) as i32);
            num_held += 1.0;
        }
        rate += entered * passing / num_starts as f64;
        entered *= 1.0 - num_held / num_starts as f64;
        if index == 0 {
            share_bumped = entered;
        }
    }
    (rate, share_bumped)
}

/// Number of distinct values among a Golomb filter's entries.
fn num_values(golomb: Golomb, hashes: &[KeyHash]) -> usize {
    let mut places: Vec<(u64, u64)> = hashes.iter().map(|hash| golomb.locate(hash.get())).collect();
    places.sort_unstable();
    places.dedup();
    places.len()
}

/// Compares the formula with simulated throws.
#[test]
fn the_number_of_bins_hit_varies_as_the_formula_says() {
    for (num_bins, num_balls) in [(1_000, 700), (1_000, 40), (5_000, 5_000)] {
        let mut balls = crate::material::numbers(81);
        let counts: Vec<f64> = (0..4_000)
            .map(|_| {
                let mut hit = vec![false; num_bins];
                balls.by_ref().take(num_balls).for_each(|ball| hit[range(ball, num_bins as u64) as usize] = true);
                hit.iter().filter(|&&hit| hit).count() as f64
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / 4e3;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 4e3;
        // The variance of 4000 figures has a relative error of √(2/4000), the formula one of a few parts in num_bins.
        let ratio = variance / occupancy_variance(num_bins as f64, num_balls as f64);
        assert!((ratio - 1.0).abs() < 4.0 * (2.0 / 4e3_f64).sqrt() + 0.01, "{num_bins}, {num_balls}: {ratio}");
    }
}
