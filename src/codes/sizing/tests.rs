//! Sorted sets of hashes: the size of their codes beside their entropy and Elias-Fano coding.

use super::*;
use crate::math::hash_collision_rate;
use crate::math::tests::{any_size, any_u32, assert_near, assert_rate};
use crate::random::Random;
use proptest::prelude::*;

/// The range per entry as the functions limit it.
fn clamp_range(range_per_entry: f64) -> f64 {
    if range_per_entry.is_nan() { 1.0 } else { range_per_entry.clamp(1.0, MAX_RANGE_PER_ENTRY) }
}

/// The entropy of a sorted set of n entries, in bits an entry: log₂(eM) − log₂(2πn)/(2n), with M the range per entry.
/// No code of it is shorter.
///
/// Stirling's formula for log₂(U^n / n!) / n, which counts subsets except for terms in 1/M: above the entropy log₂ C(U,
/// n) / n by at most 0.9/M bits where M ≥ 2, give or take 0.13/n². 0 without entries.
fn entropy_bits_per_entry(range_per_entry: f64, num_entries: u64) -> f64 {
    if num_entries == 0 {
        return 0.0;
    }
    let (entries, range) = (num_entries as f64, clamp_range(range_per_entry));
    std::f64::consts::LOG2_E + range.log2() - (2.0 * std::f64::consts::PI * entries).log2() / (2.0 * entries)
}

/// The size of an entry in Elias-Fano coding with r low bits: r + 1 + 1/λ, λ = 2^r / M.
///
/// Elias-Fano spends a bit on each of the U/2^r buckets, empty or not; the Rice code spends 1/λ − 1/(e^λ − 1) bits
/// less, about 1/2. Sources: P. Elias, *Efficient storage and retrieval by content and address of static files*, JACM
/// 21 (1974); R. Fano, MIT Computation Structures Group memo 61 (1971).
fn elias_fano_bits_per_entry(range_per_entry: f64, remainder_bits: u32) -> f64 {
    let lambda = 2f64.powi(remainder_bits.min(1_024) as i32) / clamp_range(range_per_entry);
    f64::from(remainder_bits) + 1.0 + 1.0 / lambda
}

#[test]
fn examples() {
    assert_eq!(best_remainder_bits(128.0), 6);
    // 8.5415 bits a code buy a rate of 1/128.
    assert_near(range_for_millibits(8_541), 128.0, 0.1, "a range");
}

#[test]
fn constants() {
    assert_eq!(LN_GOLDEN_RATIO, ((1.0 + 5f64.sqrt()) / 2.0).ln());
    assert_eq!(MAX_RANGE_PER_ENTRY, pow2(64));
}

#[test]
fn the_best_remainder_is_the_best_of_all() {
    for step in 0..2_000 {
        let range = 1.02f64.powi(step);
        let best = best_remainder_bits(range);
        let least = code_bits_per_entry(range, best);
        for other in 0..=MAX_REMAINDER_BITS {
            assert!(least <= code_bits_per_entry(range, other) + 1e-12, "{range}: {best} against {other}");
        }
        // Between 1.4702 and 1.5628 bits above log2 M.
        if (10.0..1e18).contains(&range) {
            let over = least - range.log2();
            assert!(over > 1.4701 && over < 1.5628, "{range}: {over}");
        }
    }
}

#[test]
fn ranges_for_a_size_invert_the_size() {
    for millibits in (1_600..40_000).step_by(13) {
        let range = range_for_millibits(millibits);
        let code = code_bits_per_entry(range, best_remainder_bits(range));
        assert!((code - f64::from(millibits) / 1_000.0).abs() < 1e-12, "{millibits}: {code}");
    }
    assert_eq!(range_for_millibits(0), 1.0);
    assert_eq!(range_for_millibits(1_581), 1.0);
    assert!(range_for_millibits(1_583) > 1.0);
    assert_eq!(range_for_millibits(u32::MAX), MAX_RANGE_PER_ENTRY);
}

#[test]
fn sizes_saturate() {
    for range in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1.0] {
        assert_eq!(code_bits_per_entry(range, 0), code_bits_per_entry(1.0, 0));
        assert_eq!(best_remainder_bits(range), 0);
    }
    assert_eq!(best_remainder_bits(f64::INFINITY), 63);
    assert_eq!(code_bits_per_entry(f64::MAX, 63), code_bits_per_entry(2f64.powi(64), 63));
    assert_eq!(code_bits_per_entry(100.0, u32::MAX), f64::from(u32::MAX) + 1.0);
}

#[test]
fn entropy_is_near_the_logarithm_of_the_binomial() {
    for (range, num_entries) in [(2u64, 50u64), (10, 20), (100, 1_000), (1_000, 3)] {
        let universe = range * num_entries;
        let exact: f64 = (0..num_entries).map(|i| ((universe - i) as f64 / (i + 1) as f64).log2()).sum();
        let over = entropy_bits_per_entry(range as f64, num_entries) - exact / num_entries as f64;
        let count = num_entries as f64;
        assert!(over > -1e-9 && over <= 0.9 / range as f64 + 0.13 / (count * count), "{range} {num_entries}: {over}");
    }
    assert_eq!(entropy_bits_per_entry(100.0, 0), 0.0);
    for range in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1.0] {
        assert!(entropy_bits_per_entry(range, u64::MAX).is_finite());
    }
}

#[test]
fn elias_fano_by_hand() {
    assert_eq!(elias_fano_bits_per_entry(128.0, 7), 9.0);
    assert_eq!(elias_fano_bits_per_entry(128.0, 6), 9.0);
    assert_eq!(elias_fano_bits_per_entry(100.0, u32::MAX), f64::from(u32::MAX) + 1.0);
}

#[test]
fn rice_codes_of_random_sets_have_the_expected_size() {
    let num_entries = 100_000u64;
    for (range, remainder_bits) in [(100u64, 5u64), (100, 6), (1 << 20, 19)] {
        let mut random = Random::new(range);
        let mut values: Vec<u64> = (0..num_entries).map(|_| random.below(range * num_entries)).collect();
        values.sort_unstable();
        let (mut bits, mut before) = (0, 0);
        for value in values {
            bits += ((value - before) >> remainder_bits) + 1 + remainder_bits;
            before = value;
        }
        let measured = bits as f64 / num_entries as f64;
        // The quotients deviate by about 2.4: 0.008 in the mean of 100 000. The gaps are coded as they are.
        let expected = code_bits_per_entry(range as f64, remainder_bits as u32);
        let of_whole_gaps = expected + 0.5f64.powi(remainder_bits as i32 + 1);
        assert_near(measured, of_whole_gaps, 0.02, &format!("range {range}, {remainder_bits} bits"));
        assert!(expected > entropy_bits_per_entry(range as f64, num_entries));
    }
}

proptest! {
    #[test]
    fn golomb_is_never_nan(range in any::<f64>(), bits in any_u32(), n in any_size()) {
        prop_assert!(code_bits_per_entry(range, bits) > 0.0);
        prop_assert!(elias_fano_bits_per_entry(range, bits) >= code_bits_per_entry(range, bits));
        prop_assert!(best_remainder_bits(range) <= MAX_REMAINDER_BITS);
        prop_assert!(entropy_bits_per_entry(range, n) >= 0.0);
        let fitting = range_for_millibits(bits);
        prop_assert!((1.0..=MAX_RANGE_PER_ENTRY).contains(&fitting));
        prop_assert!(range_for_millibits(bits.saturating_add(1)) >= fitting);
        assert_rate(hash_collision_rate(n));
        assert_rate(false_positive_rate(range));
    }
}
