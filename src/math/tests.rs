//! The functions here, and what tests of the kinds' mathematics share.

use super::{fewest_millibits, hash_collision_rate};
use proptest::prelude::*;

pub(crate) fn assert_near(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value:e}, expected {expected:e} ± {tolerance:e}");
}

pub(crate) fn assert_ratio(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{what}: {value:e}, expected {expected:e} to {tolerance:e}");
}

/// Small numbers, powers of two and their neighbours, and anything.
pub(crate) fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..5u64,
        1..5_000u64,
        (0..64u32, 0..3u64).prop_map(|(s, d)| (1u64 << s).wrapping_add(d).wrapping_sub(1)),
        any::<u64>(),
        Just(u64::MAX)
    ]
}

pub(crate) fn any_u32() -> impl Strategy<Value = u32> {
    any_size().prop_map(|size| u32::try_from(size).unwrap_or(u32::MAX))
}

pub(crate) fn assert_rate(rate: f64) {
    assert!((0.0..=1.0).contains(&rate), "{rate}");
}

#[test]
fn floors() {
    assert_eq!(hash_collision_rate(0), 0.0);
    assert_ratio(hash_collision_rate(1), 2f64.powi(-64), 1e-15, "one entry");
    assert_ratio(hash_collision_rate(1 << 40), 2f64.powi(-24), 1e-7, "2^40 entries");
    assert_near(hash_collision_rate(u64::MAX), 1.0 - (-1.0f64).exp(), 1e-15, "all hashes");
}

#[test]
fn bisection_finds_the_first_and_saturates() {
    for first in 5..=20 {
        assert_eq!(fewest_millibits(5, 20, |m| m >= first), first);
    }
    assert_eq!(fewest_millibits(5, 20, |_| false), 20);
    assert_eq!(fewest_millibits(5, 20, |_| true), 5);
    // A size costs a model's evaluation: no more of them than halvings of the range.
    for first in [1_000, 1_001, 33_333, 64_000] {
        let mut asked = 0;
        let fits = |m| {
            asked += 1;
            m >= first
        };
        assert_eq!(fewest_millibits(1_000, 64_000, fits), first);
        assert!(asked <= 16, "{asked} for {first}");
    }
}
