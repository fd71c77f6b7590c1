//! Estimates of the number of entries of a classic Bloom filter, from the number of its set bits.
//!
//! Source: S. J. Swamidass, P. Baldi, *Mathematical correction for fingerprint similarity measures to improve chemical
//! retrieval*, J. Chem. Inf. Model. 47 (2007): with X of m bits set by k probes an entry, n* = −(m/k) ln(1 − X/m).
//! The bitwise OR of two filters of the same m, k and hash is the filter of the union of their entries, and the
//! intersection follows by inclusion and exclusion.

use crate::math::float::ln_1p;

/// The estimated number of entries of a filter with `num_set_bits` of `num_bits` bits set.
///
/// The standard error is about √m / k entries at half-full filters and grows quickly as the filter fills. Infinity
/// for a full filter (`num_set_bits` ≥ `num_bits`, also when both are 0), which bounds the number from below only;
/// infinity too for no probes, unless no bit is set.
#[must_use]
pub(crate) fn estimate_entries(num_bits: u64, num_set_bits: u64, num_probes: u32) -> f64 {
    if num_set_bits >= num_bits {
        return f64::INFINITY;
    }
    if num_set_bits == 0 {
        return 0.0;
    }
    let bits = num_bits as f64;
    // The fill can round to 1 where m exceeds 2^53; the logarithm is then minus infinity, and the estimate infinity.
    bits * -ln_1p(-(num_set_bits as f64 / bits)) / f64::from(num_probes)
}

/// The estimated number of entries in A ∩ B, from the set bits of A, of B and of the filter A|B: n*(A) + n*(B) −
/// n*(A|B).
///
/// Cut to 0 ..= min(n*(A), n*(B)), which the noise of three estimates can leave. Infinity where the filter A|B is full,
/// because nothing then follows from the three counts.
#[must_use]
pub(crate) fn estimate_intersection(
    num_bits: u64,
    num_set_bits_a: u64,
    num_set_bits_b: u64,
    num_set_bits_union: u64,
    num_probes: u32,
) -> f64 {
    let union = estimate_entries(num_bits, num_set_bits_union, num_probes);
    if union == f64::INFINITY {
        return f64::INFINITY;
    }
    let a = estimate_entries(num_bits, num_set_bits_a, num_probes);
    let b = estimate_entries(num_bits, num_set_bits_b, num_probes);
    (a + b - union).max(0.0).min(a.min(b))
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::math::tests::{any_size, any_u32, assert_near};
    use crate::random::Random;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn estimates_saturate() {
        assert_eq!(estimate_entries(0, 0, 7), f64::INFINITY);
        assert_eq!(estimate_entries(100, 100, 7), f64::INFINITY);
        assert_eq!(estimate_entries(100, 101, 7), f64::INFINITY);
        assert_eq!(estimate_entries(100, 0, 0), 0.0);
        assert_eq!(estimate_entries(100, 1, 0), f64::INFINITY);
        assert_eq!(estimate_entries(u64::MAX, u64::MAX - 1, 7), f64::INFINITY);
        // One entry in an enormous filter.
        assert!((estimate_entries(u64::MAX, 7, 7) - 1.0).abs() < 1e-12);
        assert_eq!(estimate_intersection(100, 100, 100, 100, 7), f64::INFINITY);
        assert_eq!(estimate_intersection(100, 0, 0, 0, 7), 0.0);
        // Disjoint as far as the estimate goes: never below 0.
        assert_eq!(estimate_intersection(100, 10, 10, 30, 1), 0.0);
    }

    #[test]
    fn examples() {
        // 100 entries with 7 probes set about 507 of 1024 bits.
        assert_near(estimate_entries(1024, 507, 7), 100.0, 0.2, "entries");
        assert_eq!(estimate_entries(1024, 1024, 7), f64::INFINITY);
        assert_near(estimate_entries(1 << 16, 20_000, 6), 3_950.0, 50.0, "either");
        assert_near(estimate_intersection(1024, 507, 507, 507, 7), 100.0, 0.2, "the same entries");
    }

    #[test]
    fn cardinality_recovers_the_entries_of_a_simulated_filter() {
        let (num_bits, num_probes) = (1usize << 16, 6);
        let mut random = Random::new(3);
        let filter_of = |entries: &[u64]| {
            let mut bits = vec![false; num_bits];
            for &entry in entries {
                let mut probe = Random::new(entry);
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
        assert_near(estimate_entries(m, set(&a), num_probes), 6_000.0, 100.0, "A");
        assert_near(estimate_entries(m, set(&union), num_probes), 9_000.0, 160.0, "A or B");
        let both = estimate_intersection(m, set(&a), set(&b), set(&union), num_probes);
        assert_near(both, 1_000.0 + 1_000.0, 200.0, "A and B");
    }

    proptest! {
        #[test]
        fn cardinality_is_never_nan(m in any_size(), a in any_size(), b in any_size(), u in any_size(), k in any_u32()) {
            prop_assert!(estimate_entries(m, a, k) >= 0.0);
            prop_assert!(estimate_entries(m, u, k) >= 0.0);
            prop_assert!(estimate_intersection(m, a, b, u, k) >= 0.0);
        }
    }
}
