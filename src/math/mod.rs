//! The mathematics that several kinds of filter need. Each kind has its own in a module `sizing`:
//!
//! - A size per key is given in **thousandths of a bit** (`millibits: u32`; 10 bits a key is `10_000`): an integer is
//!   the same on every machine.
//! - A rate is an `f64` in 0 ..= 1. Everything is computed with the IEEE-754 basic operations only, so the same
//!   arguments give the same result, to the last bit, on every machine.
//! - No function panics and none returns NaN: outside its stated range each returns the saturated value its
//!   documentation names.
//! - Nothing allocates; the functions of blocked need up to 112 KiB of stack (a test holds it to 128).

pub(crate) mod float;
#[cfg(all(test, feature = "std"))]
pub(crate) mod tests;

/// The part of a false-positive rate that no size removes: the chance that the 64-bit hash of an absent key is the
/// hash of one of `num_entries` keys, 1 − e^(−n/2^64).
///
/// Every kind here sees keys only through their 64-bit hash, so this is a floor under each rate: 5e-14 at a million
/// entries. Source: n uniform hashes miss one value with probability (1 − 2^-64)^n.
#[must_use]
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
