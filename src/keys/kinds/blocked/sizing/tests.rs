//! Measurements, simulation, monotonicity, extremes.

use super::*;
use crate::math::tests::{any_u32, assert_near, assert_rate, assert_ratio};
use crate::random::Random;
use proptest::prelude::*;

#[test]
fn examples() {
    // The choice of salts leaves fewer bits set, and room for another probe.
    assert_eq!([0, 4].map(|salt_bits| best_num_probes(10_000, salt_bits)), [6, 7]);
    for (millibits, best, fast) in [(10_000, 7, 8), (16_000, 11, 8), (20_000, 13, 13)] {
        assert_eq!((best_num_probes(millibits, 4), num_probes(millibits, 4)), (best, fast));
    }
    // One false positive in a hundred at 8.74 bits a key; the classic filter needs 9.59.
    assert_eq!(millibits_for_false_positive_rate(0.01, 4), (8_740, 7));
}

#[test]
fn rates_match_the_measured_filter() {
    // Bits a key (thousandths), probes, salt bits, and the rate in per cent of a prototype filter with a million keys;
    // with the tolerance.
    let measured = [
        (10_000, 8, 4, 0.546, 0.005),
        (10_000, 8, 2, 0.710, 0.005),
        (10_000, 8, 3, 0.616, 0.005),
        (10_000, 8, 6, 0.452, 0.005),
        (10_000, 6, 4, 0.569, 0.005),
        (10_000, 7, 4, 0.5397, 0.005),
        (10_000, 9, 4, 0.570, 0.005),
        (10_000, 10, 4, 0.617, 0.005),
        (16_000, 8, 2, 0.0592, 0.005),
        (16_000, 10, 2, 0.0514, 0.005),
        (16_000, 8, 4, 0.0439, 0.005),
        (16_000, 10, 4, 0.0365, 0.005),
        (16_000, 12, 4, 0.0368, 0.005),
        (5_000, 4, 4, 6.72, 0.01),
        (8_000, 6, 4, 1.434, 0.005),
        (12_000, 8, 4, 0.2144, 0.01),
    ];
    for (millibits, num_probes, salt_bits, per_cent, tolerance) in measured {
        let rate = false_positive_rate(millibits, num_probes, salt_bits);
        assert_ratio(rate * 100.0, per_cent, tolerance, &format!("{millibits} {num_probes} {salt_bits}"));
    }
}

/// The pass rate of one simulated line of `keys` keys: exact for its bits, averaged over the absent key's window.
fn simulated_line(random: &mut Random, keys: u32, num_probes: u32, salt_bits: u32) -> f64 {
    let window = if num_probes > 8 { num_probes - 8 } else { num_probes };
    let mut balls = [if num_probes > 8 { keys } else { 0 }; 8];
    for _ in 0..keys {
        let start = random.below(8) as u32;
        for offset in 0..window {
            balls[((start + offset) % 8) as usize] += 1;
        }
    }
    let usable = 64 - u64::from(salt_bits);
    let fill = balls.map(|balls| {
        let word = |random: &mut Random| (0..balls).fold(0u64, |word, _| word | 1 << random.below(usable));
        let fewest = (0..1 << salt_bits).map(|_| word(random).count_ones()).min();
        f64::from(fewest.unwrap_or(0)) / usable as f64
    });
    let mut sum = 0.0;
    for start in 0..8 {
        let passed = |word: usize| {
            let in_window = (word + 8 - start) % 8 < window as usize;
            fill[word].powi(i32::from(num_probes > 8) + i32::from(in_window))
        };
        sum += (0..8).map(passed).product::<f64>();
    }
    sum / 8.0
}

/// The simulated rate and its standard error. The keys of the lines are drawn in `lines` equal strata of their Poisson
/// distribution, and the error estimated from neighbours.
fn simulated_rate(millibits: u32, num_probes: u32, salt_bits: u32, lines: u32) -> (f64, f64) {
    let mean_keys = 512_000.0 / f64::from(millibits);
    let mut random = Random::new(u64::from(millibits) << 16 | u64::from(num_probes) << 8 | u64::from(salt_bits));
    let (mut keys, mut probability) = (0, (-mean_keys).exp());
    let (mut cumulated, mut sum, mut variance, mut before) = (probability, 0.0, 0.0, 0.0);
    for line in 0..lines {
        let quantile = (f64::from(line) + (random.next() >> 11) as f64 / (1u64 << 53) as f64) / f64::from(lines);
        while cumulated < quantile && f64::from(keys) < 20.0 * mean_keys + 50.0 {
            keys += 1;
            probability *= mean_keys / f64::from(keys);
            cumulated += probability;
        }
        let rate = simulated_line(&mut random, keys, num_probes, salt_bits);
        sum += rate;
        if line % 2 == 1 {
            variance += (rate - before) * (rate - before);
        }
        before = rate;
    }
    (sum / f64::from(lines), variance.sqrt() / f64::from(lines))
}

#[test]
fn rates_match_a_simulation() {
    let cases = [
        (2_000, 2, 4),
        (3_000, 3, 0),
        (5_000, 4, 4),
        (8_000, 5, 0),
        (8_000, 6, 4),
        (10_000, 3, 2),
        (10_000, 6, 1),
        (10_000, 7, 3),
        (10_000, 8, 4),
        (12_000, 9, 2),
        (16_000, 11, 3),
        (16_000, 16, 2),
        (20_000, 15, 1),
    ];
    for (millibits, num_probes, salt_bits) in cases {
        let (simulated, error) = simulated_rate(millibits, num_probes, salt_bits, 16_000);
        let what = format!("{millibits} {num_probes} {salt_bits}");
        assert!(error < 0.008 * simulated, "{what}: too noisy to tell, {simulated:e} ± {error:e}");
        let rate = false_positive_rate(millibits, num_probes, salt_bits);
        assert_near(rate, simulated, 4.0 * error, &what);
    }
}

#[test]
fn blocked_sizes_are_the_fewest() {
    for salt_bits in 0..=MAX_SALT_BITS {
        let at = |m| false_positive_rate(m, num_probes(m, salt_bits), salt_bits);
        for exponent in 1..20 {
            let target = 0.35f64.powi(exponent);
            let (millibits, probes) = millibits_for_false_positive_rate(target, salt_bits);
            assert_eq!(probes, num_probes(millibits, salt_bits));
            if (MIN_MILLIBITS + 1..MAX_MILLIBITS).contains(&millibits) {
                assert!(at(millibits) <= target && at(millibits - 1) > target, "{target}: {millibits}");
            }
        }
        assert_eq!(millibits_for_false_positive_rate(1.0, salt_bits).0, MIN_MILLIBITS);
        for rate in [0.0, -1.0, f64::NAN] {
            assert_eq!(millibits_for_false_positive_rate(rate, salt_bits), (MAX_MILLIBITS, 16));
        }
    }
}

#[test]
fn a_small_stack_is_enough() {
    // Stated in the module's documentation, for threads of embedders.
    let worker = std::thread::Builder::new()
        .stack_size(128 << 10)
        .spawn(|| false_positive_rate(2_000, 13, 6) + f64::from(millibits_for_false_positive_rate(0.001, 4).0));
    assert!(worker.unwrap().join().unwrap() > 10_000.0);
}

#[test]
fn each_salt_bit_helps() {
    for millibits in [4_000, 8_000, 12_000, 20_000] {
        let mut before = 1.0;
        for salt_bits in 0..=MAX_SALT_BITS {
            let rate = false_positive_rate(millibits, best_num_probes(millibits, salt_bits), salt_bits);
            assert!(rate < before, "{millibits}, {salt_bits} salt bits");
            before = rate;
        }
    }
    // Without choice, a line is a plain one of 512 bits: Putze et al. 2009, with the exact rate of a line's bits.
    assert!((false_positive_rate(10_000, 6, 0) / 9.665e-3 - 1.0).abs() < 0.05);
}

#[test]
fn rates_saturate() {
    assert_eq!(false_positive_rate(0, 8, 4), 1.0);
    assert_eq!(false_positive_rate(999, 8, 4), 1.0);
    assert_eq!(false_positive_rate(10_000, 0, 4), 1.0);
    let at_the_limits = false_positive_rate(10_000, 16, 6);
    assert_eq!(false_positive_rate(10_000, u32::MAX, u32::MAX), at_the_limits);
    assert!(false_positive_rate(u32::MAX, 8, 0) < 1e-15);
    assert_eq!(best_num_probes(0, 4), best_num_probes(2_000, 4));
    assert_eq!(best_num_probes(u32::MAX, u32::MAX), 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blocked_rates_are_rates_and_fall_with_the_size(
        millibits in prop_oneof![1_000..70_000u32, any_u32()], k in 0..18u32, t in 0..8u32,
    ) {
        let rate = false_positive_rate(millibits, k, t);
        assert_rate(rate);
        let larger = millibits.saturating_add(millibits / 500);
        prop_assert!(false_positive_rate(larger, k, t) <= rate * (1.0 + 1e-12));
        prop_assert!((1..=16).contains(&best_num_probes(millibits, t)));
    }

    #[test]
    fn blocked_sizes_never_fall_with_stricter_targets(a in 0.0..0.6f64, b in 0.0..0.01f64, t in 0..7u32) {
        let (strict, loose) = if a < b { (a, b) } else { (b, a) };
        let (larger, smaller) =
            (millibits_for_false_positive_rate(strict, t), millibits_for_false_positive_rate(loose, t));
        prop_assert!(larger >= smaller);
    }
}
