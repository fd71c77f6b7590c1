//! The mathematics of the kinds: published vectors, simulation, monotonicity, extremes.

use super::{bits_lower_bound, blocked, bloom, fuse, golomb, ribbon};
use crate::math::cardinality;
use crate::math::hash_collision_rate;
use proptest::prelude::*;

pub(super) fn assert_near(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value:e}, expected {expected:e} ± {tolerance:e}");
}

fn assert_ratio(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{what}: {value:e}, expected {expected:e} to {tolerance:e}");
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): simulations repeat exactly.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Each function at a value or two.
#[test]
fn examples() {
    assert_near(bloom::approximate_false_positive_rate(1024, 100, 7), 0.007_319_840, 1e-9, "approximation");
    // At 100 million bits the approximation has become the truth.
    let (bits, entries) = (100_000_000, 10_000_000);
    let approximate = bloom::approximate_false_positive_rate(bits, entries, 7);
    assert_ratio(bloom::false_positive_rate(bits, entries, 7), approximate, 1e-7, "many bits");
    assert_eq!(bloom::best_num_probes(10_000), 7);
    assert_eq!(bloom::millibits_for_false_positive_rate(0.01), (9_593, 7));
    assert_eq!(bloom::millibits_for_false_positive_rate(0.0), (64_000, 44));

    // The choice of salts leaves fewer bits set, and room for another probe.
    assert_eq!([0, 4].map(|salt_bits| blocked::best_num_probes(10_000, salt_bits)), [6, 7]);
    for (millibits, best, fast) in [(10_000, 7, 8), (16_000, 11, 8), (20_000, 13, 13)] {
        assert_eq!((blocked::best_num_probes(millibits, 4), blocked::num_probes(millibits, 4)), (best, fast));
    }
    // One false positive in a hundred at 8.74 bits a key; the classic filter needs 9.59.
    assert_eq!(blocked::millibits_for_false_positive_rate(0.01, 4), (8_740, 7));

    assert_eq!(golomb::best_remainder_bits(128.0), 6);
    // 8.5415 bits a code buy a rate of 1/128.
    assert_near(golomb::range_for_millibits(8_541), 128.0, 0.1, "a range");

    assert_near(ribbon::bumped_share(965), 0.0363, 1e-4, "bumped entries");
    assert_eq!(ribbon::columns_for_false_positive_rate(1.0 / 256.0), (8, 0));
    assert_eq!(ribbon::columns_for_false_positive_rate(0.75 / 256.0), (8, 1 << 31));

    assert_eq!(fuse::fingerprint_bits_for_false_positive_rate(1.0 / 256.0), 8);
    assert_eq!(fuse::fingerprint_bits_for_false_positive_rate(0.01), 7);

    // 100 entries with 7 probes set about 507 of 1024 bits.
    assert_near(cardinality::estimate_entries(1024, 507, 7), 100.0, 0.2, "entries");
    assert_eq!(cardinality::estimate_entries(1024, 1024, 7), f64::INFINITY);
    assert_near(cardinality::estimate_union(1 << 16, 20_000, 6), 3_950.0, 50.0, "either");
    assert_near(cardinality::estimate_intersection(1024, 507, 507, 507, 7), 100.0, 0.2, "the same entries");
}

// ---------------------------------------------------------------------------------------------------- classic filter

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
        assert_near(bloom::approximate_false_positive_rate(m, n, k), approximate, 5.1e-10, "approximation");
        assert_near(bloom::false_positive_rate(m, n, k), exact, 5.1e-10, "exact");
        assert_near(goel_gupta_rate(m, n, k), bound, 5.1e-10, "Goel-Gupta");
    }
}

#[test]
fn the_exact_rate_by_hand() {
    // One bit: set by the first entry. One entry of one probe: the absent key must hit the same bit.
    assert_eq!(bloom::false_positive_rate(1, 1, 1), 1.0);
    assert_ratio(bloom::false_positive_rate(7, 1, 1), 1.0 / 7.0, 1e-14, "1/7");
    // Two bits, one entry of two probes: one bit set with probability 1/2 (then 1/4 pass), else both.
    assert_ratio(bloom::false_positive_rate(2, 1, 2), 0.5 * 0.25 + 0.5, 1e-14, "5/8");
    // The whole range of sizes: from m = 2^60 on, the asymptotic rate to all digits that are left.
    let asymptotic = bloom::asymptotic_false_positive_rate(10_000, 7);
    assert_ratio(bloom::false_positive_rate(10 << 59, 1 << 59, 7), asymptotic, 1e-11, "2^62 bits");
}

#[test]
fn the_exact_rate_agrees_with_a_simulated_filter() {
    let (num_bits, num_entries, num_probes, filters) = (64u64, 6u64, 4u32, 200_000);
    let mut random = Random(7);
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
    let exact = bloom::false_positive_rate(num_bits, num_entries, num_probes);
    assert_near(mean, exact, 4.0 * error, "simulated");
    // And the simulation does tell the exact rate from the approximation.
    assert!((mean - bloom::approximate_false_positive_rate(num_bits, num_entries, num_probes)).abs() > 8.0 * error);
}

#[test]
fn classic_rates_saturate() {
    type Rate = fn(u64, u64, u32) -> f64;
    let rates: [Rate; 3] = [bloom::approximate_false_positive_rate, goel_gupta_rate, bloom::false_positive_rate];
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
    assert_eq!(bloom::false_positive_rate(1000, 1, 65), 1.0);
    assert_eq!(bloom::asymptotic_false_positive_rate(0, 7), 1.0);
    assert_eq!(bloom::asymptotic_false_positive_rate(1000, 0), 1.0);
}

#[test]
fn best_num_probes_of_the_classic_filter() {
    // c ln 2 = 0.69, 6.93, 11.09, 44.36 ...; the ends of the range.
    for (millibits, expected) in [(0, 1), (1_000, 1), (10_000, 7), (16_000, 11), (64_000, 44), (u32::MAX, 64)] {
        assert_eq!(bloom::best_num_probes(millibits), expected, "{millibits}");
    }
    assert_eq!((bloom::best_num_probes(91_609), bloom::best_num_probes(91_610)), (63, 64));
    // Two probes overtake one where 1 − e^(−1/c) = (1 − e^(−2/c))²: e^(−1/c) = 0.618…, c = 2.0781.
    assert_eq!(bloom::best_num_probes(2_078), 1);
    assert_eq!(bloom::best_num_probes(2_079), 2);
}

#[test]
fn classic_sizes_are_the_fewest() {
    for exponent in 1..140 {
        let target = 0.8f64.powi(exponent);
        let (millibits, num_probes) = bloom::millibits_for_false_positive_rate(target);
        let at = |m| bloom::asymptotic_false_positive_rate(m, bloom::best_num_probes(m));
        assert_eq!(num_probes, bloom::best_num_probes(millibits));
        if target < 0.632 && millibits < bloom::MAX_MILLIBITS {
            assert!(at(millibits) <= target && at(millibits - 1) > target, "{target}: {millibits}");
        }
        // The classic filter's overhead: 44.27 % at whole numbers of probes, a little more between; see the module
        // table.
        let ideal = bits_lower_bound(target) / core::f64::consts::LN_2 * 1000.0;
        if (2_900..64_000).contains(&millibits) {
            assert!(f64::from(millibits) > ideal && f64::from(millibits) < ideal * 1.02 + 1.0, "{target}: {millibits}");
        }
    }
    for rate in [1.0, f64::INFINITY, 0.633] {
        assert_eq!(bloom::millibits_for_false_positive_rate(rate), (1_000, 1));
    }
    for rate in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, 4.4e-14] {
        assert_eq!(bloom::millibits_for_false_positive_rate(rate), (64_000, 44));
    }
}

// ---------------------------------------------------------------------------------------------------- blocked filter

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
        let rate = blocked::false_positive_rate(millibits, num_probes, salt_bits);
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
    let mut random = Random(u64::from(millibits) << 16 | u64::from(num_probes) << 8 | u64::from(salt_bits));
    let (mut keys, mut probability) = (0, (-mean_keys).exp());
    let (mut cumulated, mut sum, mut variance, mut before) = (probability, 0.0, 0.0, 0.0);
    for line in 0..lines {
        let quantile = (f64::from(line) + random.unit()) / f64::from(lines);
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
        let rate = blocked::false_positive_rate(millibits, num_probes, salt_bits);
        assert_near(rate, simulated, 4.0 * error, &what);
    }
}

#[test]
fn blocked_sizes_are_the_fewest() {
    for salt_bits in 0..=blocked::MAX_SALT_BITS {
        let at = |m| blocked::false_positive_rate(m, blocked::num_probes(m, salt_bits), salt_bits);
        for exponent in 1..20 {
            let target = 0.35f64.powi(exponent);
            let (millibits, num_probes) = blocked::millibits_for_false_positive_rate(target, salt_bits);
            assert_eq!(num_probes, blocked::num_probes(millibits, salt_bits));
            if (blocked::MIN_MILLIBITS + 1..blocked::MAX_MILLIBITS).contains(&millibits) {
                assert!(at(millibits) <= target && at(millibits - 1) > target, "{target}: {millibits}");
            }
        }
        assert_eq!(blocked::millibits_for_false_positive_rate(1.0, salt_bits).0, blocked::MIN_MILLIBITS);
        for rate in [0.0, -1.0, f64::NAN] {
            assert_eq!(blocked::millibits_for_false_positive_rate(rate, salt_bits), (blocked::MAX_MILLIBITS, 16));
        }
    }
}

// ---------------------------------------------------------------------------------------------------- bounds and
// counts

#[test]
fn bounds_and_floors() {
    assert_eq!(bits_lower_bound(0.5), 1.0);
    assert_eq!(bits_lower_bound(2f64.powi(-64)), 64.0);
    assert_near(bits_lower_bound(0.01), 6.643_856_189_774_724, 1e-14, "1 %");
    assert_eq!((bits_lower_bound(1.0), bits_lower_bound(2.0)), (0.0, 0.0));
    for rate in [0.0, -1.0, f64::NAN] {
        assert_eq!(bits_lower_bound(rate), f64::INFINITY);
    }
    assert_eq!(hash_collision_rate(0), 0.0);
    assert_ratio(hash_collision_rate(1), 2f64.powi(-64), 1e-15, "one entry");
    assert_ratio(hash_collision_rate(1 << 40), 2f64.powi(-24), 1e-7, "2^40 entries");
    assert_near(hash_collision_rate(u64::MAX), 1.0 - (-1.0f64).exp(), 1e-15, "all hashes");
}

#[test]
fn cardinality_recovers_the_entries_of_a_simulated_filter() {
    let (num_bits, num_probes) = (1usize << 16, 6);
    let mut random = Random(3);
    let filter_of = |entries: &[u64]| {
        let mut bits = vec![false; num_bits];
        for &entry in entries {
            let mut probe = Random(entry);
            for _ in 0..num_probes {
                bits[probe.below(num_bits as u64) as usize] = true;
            }
        }
        bits
    };
    let entries: Vec<u64> = (0..9_000).map(|_| random.next()).collect();
    let (a, b) = (filter_of(&entries[..6_000]), filter_of(&entries[4_000..]));
    let set = |bits: &[bool]| bits.iter().filter(|&&bit| bit).count() as u64;
    let union: Vec<bool> = a.iter().zip(&b).map(|(&a, &b)| a | b).collect();
    let m = num_bits as u64;
    // Standard errors: about 25, 40 and 50 entries.
    assert_near(cardinality::estimate_entries(m, set(&a), num_probes), 6_000.0, 100.0, "A");
    assert_near(cardinality::estimate_union(m, set(&union), num_probes), 9_000.0, 160.0, "A or B");
    let both = cardinality::estimate_intersection(m, set(&a), set(&b), set(&union), num_probes);
    assert_near(both, 1_000.0 + 1_000.0, 200.0, "A and B");
}

#[test]
fn a_small_stack_is_enough() {
    // Stated in the module's documentation, for threads of embedders.
    let worker = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        blocked::false_positive_rate(2_000, 13, 6)
            + f64::from(blocked::millibits_for_false_positive_rate(0.001, 4).0)
            + bloom::false_positive_rate(1 << 40, 1 << 36, 64)
    });
    assert!(worker.unwrap().join().unwrap() > 10_000.0);
}

// ---------------------------------------------------------------------------------------------------- for any input

/// Small numbers, powers of two and their neighbours, and anything.
pub(super) fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..5u64,
        1..5_000u64,
        (0..64u32, 0..3u64).prop_map(|(s, d)| (1u64 << s).wrapping_add(d).wrapping_sub(1)),
        any::<u64>(),
        Just(u64::MAX)
    ]
}

pub(super) fn any_u32() -> impl Strategy<Value = u32> {
    any_size().prop_map(|size| u32::try_from(size).unwrap_or(u32::MAX))
}

pub(super) fn assert_rate(rate: f64) {
    assert!((0.0..=1.0).contains(&rate), "{rate}");
}

proptest! {
    #[test]
    fn classic_rates_are_rates(m in any_size(), n in any_size(), k in 0..80u32, wild in any_u32()) {
        for k in [k, wild] {
            assert_rate(bloom::approximate_false_positive_rate(m, n, k));
            assert_rate(goel_gupta_rate(m, n, k));
            assert_rate(bloom::asymptotic_false_positive_rate(wild, k));
        }
        if k < 20 {
            assert_rate(bloom::false_positive_rate(m, n, k));
        }
        prop_assert!((1..=64).contains(&bloom::best_num_probes(wild)));
    }

    #[test]
    fn the_exact_rate_lies_between_the_approximation_and_the_bound(
        m in 2..1_000_000u64, n in 1..100_000u64, k in 1..24u32,
    ) {
        let exact = bloom::false_positive_rate(m, n, k);
        prop_assert!(bloom::approximate_false_positive_rate(m, n, k) <= exact * (1.0 + 1e-10));
        prop_assert!(exact <= goel_gupta_rate(m, n, k) * (1.0 + 1e-10));
    }

    #[test]
    fn the_exact_rate_rises_with_entries_and_falls_with_bits(m in 2..100_000u64, n in 1..50_000u64, k in 1..16u32) {
        let rate = bloom::false_positive_rate(m, n, k);
        prop_assert!(bloom::false_positive_rate(m, n + 1, k) >= rate * (1.0 - 1e-11));
        prop_assert!(bloom::false_positive_rate(m + 1, n, k) <= rate * (1.0 + 1e-11));
    }

    #[test]
    fn classic_sizes_never_fall_with_stricter_targets(a in 0.0..1.0f64, b in 0.0..1.0f64) {
        let (strict, loose) = if a < b { (a, b) } else { (b, a) };
        prop_assert!(bloom::millibits_for_false_positive_rate(strict).0 >= bloom::millibits_for_false_positive_rate(loose).0);
        prop_assert!(bloom::best_num_probes((a * 1e5) as u32) <= bloom::best_num_probes((a.max(b) * 1e5) as u32));
    }

    #[test]
    fn cardinality_is_never_nan(m in any_size(), a in any_size(), b in any_size(), u in any_size(), k in any_u32()) {
        prop_assert!(cardinality::estimate_entries(m, a, k) >= 0.0);
        prop_assert!(cardinality::estimate_union(m, u, k) >= 0.0);
        prop_assert!(cardinality::estimate_intersection(m, a, b, u, k) >= 0.0);
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn blocked_rates_are_rates_and_fall_with_the_size(
        millibits in prop_oneof![1_000..70_000u32, any_u32()], k in 0..18u32, t in 0..8u32,
    ) {
        let rate = blocked::false_positive_rate(millibits, k, t);
        assert_rate(rate);
        let larger = millibits.saturating_add(millibits / 500);
        prop_assert!(blocked::false_positive_rate(larger, k, t) <= rate * (1.0 + 1e-12));
        prop_assert!((1..=16).contains(&blocked::best_num_probes(millibits, t)));
    }

    #[test]
    fn blocked_sizes_never_fall_with_stricter_targets(a in 0.0..0.6f64, b in 0.0..0.01f64, t in 0..7u32) {
        let (strict, loose) = if a < b { (a, b) } else { (b, a) };
        let (larger, smaller) =
            (blocked::millibits_for_false_positive_rate(strict, t), blocked::millibits_for_false_positive_rate(loose, t));
        prop_assert!(larger >= smaller);
    }
}
