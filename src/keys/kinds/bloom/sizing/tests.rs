//! Published vectors, simulation, monotonicity, extremes.

use super::*;
use crate::math::tests::{any_size, any_u32, assert_near, assert_rate, assert_ratio};
use crate::random::Random;
use proptest::prelude::*;

#[test]
fn examples() {
    assert_near(approximate_false_positive_rate(1024, 100, 7), 0.007_319_840, 1e-9, "approximation");
    // At 100 million bits the approximation has become the truth.
    let (bits, entries) = (100_000_000, 10_000_000);
    let approximate = approximate_false_positive_rate(bits, entries, 7);
    assert_ratio(false_positive_rate(bits, entries, 7), approximate, 1e-7, "many bits");
    assert_eq!(best_num_probes(10_000), 7);
    assert_eq!(millibits_for_false_positive_rate(0.01), (9_593, 7));
    assert_eq!(millibits_for_false_positive_rate(0.0), (64_000, 44));
}

/// Goel and Gupta's upper bound (1 − e^(−k(n+½)/(m−1)))^k (*Small subset queries and Bloom filters using ternary
/// associative memories, with applications*, SIGMETRICS 2010).
fn goel_gupta_rate(num_bits: u64, num_entries: u64, num_probes: u32) -> f64 {
    match (num_bits, num_entries) {
        (_, 0) => 0.0,
        (0 | 1, _) => 1.0,
        (m, n) => (-(-f64::from(num_probes) * (n as f64 + 0.5) / (m - 1) as f64).exp_m1()).powf(num_probes.into()),
    }
}

#[test]
fn classic_rates_match_the_published_vectors() {
    let vectors = [
        (32, 4, 3, 0.031_798_202, 0.032_878_573, 0.044_005_091),
        (128, 12, 7, 0.006_091_802, 0.006_408_254, 0.007_586_779),
        (1024, 100, 7, 0.007_319_840, 0.007_366_258, 0.007_517_755),
    ];
    for (m, n, k, approximate, exact, bound) in vectors {
        assert_near(approximate_false_positive_rate(m, n, k), approximate, 5.1e-10, "approximation");
        assert_near(false_positive_rate(m, n, k), exact, 5.1e-10, "exact");
        assert_near(goel_gupta_rate(m, n, k), bound, 5.1e-10, "Goel-Gupta");
    }
}

#[test]
fn the_exact_rate_by_hand() {
    // One bit: set by the first entry. One entry of one probe: the absent key must hit the same bit.
    assert_eq!(false_positive_rate(1, 1, 1), 1.0);
    assert_ratio(false_positive_rate(7, 1, 1), 1.0 / 7.0, 1e-14, "1/7");
    // Two bits, one entry of two probes: one bit set with probability 1/2 (then 1/4 pass), else both.
    assert_ratio(false_positive_rate(2, 1, 2), 0.5 * 0.25 + 0.5, 1e-14, "5/8");
    // The whole range of sizes: from m = 2^60 on, the asymptotic rate to all digits that are left.
    let asymptotic = asymptotic_false_positive_rate(10_000, 7);
    assert_ratio(false_positive_rate(10 << 59, 1 << 59, 7), asymptotic, 1e-11, "2^62 bits");
}

#[test]
fn the_exact_rate_agrees_with_a_simulated_filter() {
    let (num_bits, num_entries, num_probes, filters) = (64u64, 6u64, 4u32, 200_000);
    let mut random = Random::new(7);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..filters {
        let mut bits = 0u64;
        for _ in 0..num_entries * u64::from(num_probes) {
            bits |= 1 << random.below(num_bits);
        }
        let pass = (f64::from(bits.count_ones()) / 64.0).powi(4);
        sum += pass;
        squares += pass * pass;
    }
    let count = f64::from(filters);
    let mean = sum / count;
    let error = ((squares / count - mean * mean) / count).sqrt();
    assert!(error < 0.002 * mean, "too noisy to tell");
    let exact = false_positive_rate(num_bits, num_entries, num_probes);
    assert_near(mean, exact, 4.0 * error, "simulated");
    // And the simulation does tell the exact rate from the approximation.
    assert!((mean - approximate_false_positive_rate(num_bits, num_entries, num_probes)).abs() > 8.0 * error);
}

#[test]
fn classic_rates_saturate() {
    type Rate = fn(u64, u64, u32) -> f64;
    let rates: [Rate; 3] = [approximate_false_positive_rate, goel_gupta_rate, false_positive_rate];
    for rate in rates {
        for num_bits in [0, 1, 2, 4096, u64::MAX] {
            for num_probes in [0, 1, 64, u32::MAX] {
                assert_eq!(rate(num_bits, 0, num_probes), 0.0, "an empty filter has no false positives");
            }
        }
        assert_eq!(rate(0, 1, 1), 1.0);
        assert_eq!(rate(1, 1, 1), 1.0);
        assert_eq!(rate(1000, 1, 0), 1.0);
        assert_near(rate(1000, u64::MAX, 7), 1.0, 1e-14, "a full filter");
    }
    assert_eq!(false_positive_rate(1000, 1, 65), 1.0);
    assert_eq!(asymptotic_false_positive_rate(0, 7), 1.0);
    assert_eq!(asymptotic_false_positive_rate(1000, 0), 1.0);
}

#[test]
fn best_num_probes_of_the_classic_filter() {
    // c ln 2 = 0.69, 6.93, 11.09, 44.36 ...; the ends of the range.
    for (millibits, expected) in [(0, 1), (1_000, 1), (10_000, 7), (16_000, 11), (64_000, 44), (u32::MAX, 64)] {
        assert_eq!(best_num_probes(millibits), expected, "{millibits}");
    }
    assert_eq!((best_num_probes(91_609), best_num_probes(91_610)), (63, 64));
    // Two probes overtake one where 1 − e^(−1/c) = (1 − e^(−2/c))²: e^(−1/c) = 0.618…, c = 2.0781.
    assert_eq!(best_num_probes(2_078), 1);
    assert_eq!(best_num_probes(2_079), 2);
}

#[test]
fn classic_sizes_are_the_fewest() {
    for exponent in 1..140 {
        let target = 0.8f64.powi(exponent);
        let (millibits, num_probes) = millibits_for_false_positive_rate(target);
        let at = |m| asymptotic_false_positive_rate(m, best_num_probes(m));
        assert_eq!(num_probes, best_num_probes(millibits));
        if target < 0.632 && millibits < MAX_MILLIBITS {
            assert!(at(millibits) <= target && at(millibits - 1) > target, "{target}: {millibits}");
        }
        // The classic filter's overhead: 44.27 % at whole numbers of probes, a little more between; see the module
        // table.
        let ideal = -target.log2() / core::f64::consts::LN_2 * 1000.0;
        if (2_900..64_000).contains(&millibits) {
            assert!(f64::from(millibits) > ideal && f64::from(millibits) < ideal * 1.02 + 1.0, "{target}: {millibits}");
        }
    }
    for rate in [1.0, f64::INFINITY, 0.633] {
        assert_eq!(millibits_for_false_positive_rate(rate), (1_000, 1));
    }
    for rate in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, 4.4e-14] {
        assert_eq!(millibits_for_false_positive_rate(rate), (64_000, 44));
    }
}

proptest! {
    #[test]
    fn classic_rates_are_rates(m in any_size(), n in any_size(), k in 0..80u32, wild in any_u32()) {
        for k in [k, wild] {
            assert_rate(approximate_false_positive_rate(m, n, k));
            assert_rate(goel_gupta_rate(m, n, k));
            assert_rate(asymptotic_false_positive_rate(wild, k));
        }
        if k < 20 {
            assert_rate(false_positive_rate(m, n, k));
        }
        prop_assert!((1..=64).contains(&best_num_probes(wild)));
    }

    #[test]
    fn the_exact_rate_lies_between_the_approximation_and_the_bound(
        m in 2..1_000_000u64, n in 1..100_000u64, k in 1..24u32,
    ) {
        let exact = false_positive_rate(m, n, k);
        prop_assert!(approximate_false_positive_rate(m, n, k) <= exact * (1.0 + 1e-10));
        prop_assert!(exact <= goel_gupta_rate(m, n, k) * (1.0 + 1e-10));
    }

    #[test]
    fn the_exact_rate_rises_with_entries_and_falls_with_bits(m in 2..100_000u64, n in 1..50_000u64, k in 1..16u32) {
        let rate = false_positive_rate(m, n, k);
        prop_assert!(false_positive_rate(m, n + 1, k) >= rate * (1.0 - 1e-11));
        prop_assert!(false_positive_rate(m + 1, n, k) <= rate * (1.0 + 1e-11));
    }

    #[test]
    fn classic_sizes_never_fall_with_stricter_targets(a in 0.0..1.0f64, b in 0.0..1.0f64) {
        let (strict, loose) = if a < b { (a, b) } else { (b, a) };
        prop_assert!(millibits_for_false_positive_rate(strict).0 >= millibits_for_false_positive_rate(loose).0);
        prop_assert!(best_num_probes((a * 1e5) as u32) <= best_num_probes((a.max(b) * 1e5) as u32));
    }
}

/// One entry sets at most 64 of 1000 bits, which 64 probes of an absent key hardly ever all meet.
#[test]
fn the_most_probes_have_a_rate_and_more_have_none() {
    assert!(false_positive_rate(1_000, 1, MAX_NUM_PROBES) < 1e-60);
    assert_eq!(false_positive_rate(1_000, 1, MAX_NUM_PROBES + 1), 1.0);
}

#[test]
fn best_num_probes_is_the_best_of_all() {
    for millibits in (1..100_000).step_by(7) {
        let best = best_num_probes(millibits);
        let rate = asymptotic_false_positive_rate(millibits, best);
        for other in 1..=MAX_NUM_PROBES {
            assert!(rate <= asymptotic_false_positive_rate(millibits, other), "{millibits}: {best} against {other}");
        }
    }
}
