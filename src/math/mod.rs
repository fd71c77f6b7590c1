//! The mathematics that more than one kind of filter needs. Public parts are shown as [`crate::sizing`].

#[cfg(feature = "std")]
pub(crate) mod cardinality;
pub(crate) mod float;
pub(crate) mod occupancy;
pub(crate) mod poisson;

/// The fewest bits a key with which any filter can have this false-positive rate: log₂(1/`rate`).
///
/// 0 for a rate of 1 or more; infinite for a rate of 0 or less, or NaN. Source: Carter et al. 1978, §2.
///
/// ```
/// assert_eq!(filterblock::sizing::bits_lower_bound(1.0 / 1024.0), 10.0);
/// ```
#[must_use]
pub fn bits_lower_bound(rate: f64) -> f64 {
    if rate >= 1.0 {
        return 0.0;
    }
    if rate > 0.0 {
        return -float::log2(rate);
    }
    f64::INFINITY
}

/// The part of a false-positive rate that no size removes: the chance that the 64-bit hash of an absent key is the
/// hash of one of `num_entries` keys, 1 − e^(−n/2^64).
///
/// Every kind here sees keys only through their 64-bit hash, so this is a floor under each rate: 5e-14 at a million
/// entries. Source: n uniform hashes miss one value with probability (1 − 2^-64)^n.
#[must_use]
#[cfg(feature = "std")]
pub(crate) fn hash_collision_rate(num_entries: u64) -> f64 {
    -float::exp_m1(-(num_entries as f64) / float::pow2(64))
}

/// The fewest millibits in `least ..= most` for which `fits`, by bisection; `most` where none fits.
///
/// `fits` must be monotone: once true, true for all larger sizes.
pub(crate) fn fewest_millibits(least: u32, most: u32, mut fits: impl FnMut(u32) -> bool) -> u32 {
    let (mut low, mut high) = (least, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
