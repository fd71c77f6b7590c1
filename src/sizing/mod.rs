//! How large a filter must be, and how often it errs: the mathematics, without any filter.
//!
//! An approximate-membership filter for *n* keys answers "maybe" for each of them and, with probability ε (the
//! *false-positive rate*), for a key it does not hold. No filter does so in fewer than log₂(1/ε) bits a key
//! ([`bits_lower_bound`]; Carter, Floyd, Gill, Markowsky, Wegman, *Exact and approximate membership testers*, STOC
//! 1978, §2). The kinds differ in what they pay above that:
//!
//! | kind | rate or size | module |
//! |---|---|---|
//! | classic Bloom | (1 − e^(−kn/m))^k, at best 1.4427 · log₂(1/ε) bits a key | [`bloom`] |
//! | blocked Bloom with word-wise choice | a Poisson mixture over the keys of a line | [`blocked`] |
//! | Golomb-Rice coded hashes | log₂(1/ε) + 1.47 to 1.56 bits a key, and a directory | [`golomb`] |
//!
//! [`cardinality`] reads the classic formula backwards: how many entries a filter holds, from its set bits.
//!
//! # Conventions
//!
//! - A size per key is carried in **thousandths of a bit** (`millibits: u32`; 10 bits a key is `10_000`): a target rate
//!   seldom falls on a whole bit, and an integer is the same on every machine.
//! - A rate is an `f64` in 0 ..= 1. Everything here is computed with the IEEE-754 basic operations only, so the same
//!   question has the same answer, to the last bit, wherever it is asked: build parameters are derived from it.
//! - No function panics and none returns NaN: outside its stated range each returns the saturated value its
//!   documentation names. A NaN handed in as a target counts as the strictest target.
//! - Nothing allocates; the functions of [`blocked`] need up to 112 KiB of stack (a test holds all to 128).
//!
//! ```
//! use filterblock::sizing::{blocked, bloom};
//!
//! // One false positive in a hundred: how many bits a key, and how many probes?
//! assert_eq!(bloom::millibits_for_false_positive_rate(0.01), (9_593, 7));
//! let (millibits, _num_probes) = blocked::millibits_for_false_positive_rate(0.01, 4);
//! assert!(millibits < 9_000, "word-wise choice beats the classic filter, inside one cache line");
//! ```

pub mod blocked;
pub mod bloom;
pub mod cardinality;
pub(crate) mod float;
pub mod golomb;
mod occupancy;
mod poisson;

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
///
/// ```
/// assert!(filterblock::sizing::hash_collision_rate(1_000_000) < 5.5e-14);
/// ```
#[must_use]
pub fn hash_collision_rate(num_entries: u64) -> f64 {
    -float::exp_m1(-(num_entries as f64) / float::pow2(64))
}

/// The fewest millibits in `least ..= most` for which `fits`, by bisection; `most` where none fits.
///
/// `fits` must be monotone: once true, true for all larger sizes.
fn fewest_millibits(least: u32, most: u32, mut fits: impl FnMut(u32) -> bool) -> u32 {
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
