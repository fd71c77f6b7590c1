//! Sorted hash offsets, Golomb-Rice coded.
//!
//! n distinct hashes are reduced to a universe of U values and stored in order as gaps. An absent key is a false
//! positive if its value is taken: with probability n/U = 1/M at most, where **M = U/n is the range per entry**. The gaps are
//! geometric with mean M; Golomb's code for them, with a divisor of 2^r (Rice's case), writes the quotient in unary and
//! the remainder in r bits, and costs r + 1 + 1/(e^λ − 1) bits a gap, λ = 2^r / M.
//!
//! Sources: S. W. Golomb, *Run-length encodings*, IEEE Trans. Inf. Theory 12 (1966). R. F. Rice, *Some practical
//! universal noiseless coding techniques*, JPL 79-22 (1979). F. Putze, P. Sanders, J. Singler, *Cache-, hash- and
//! space-efficient Bloom filters*, ACM JEA 14 (2009), §5. A. Kiely, *Selecting the Golomb parameter in Rice coding*,
//! IPN Progress Report 42-159 (2004): the golden-ratio rule of `best_remainder_bits`.
//!
//! A range per entry is at least 1 (distinct values) and at most `MAX_RANGE_PER_ENTRY`; values outside, and
//! NaN, count as the nearer end (NaN as 1).

#[cfg(all(test, feature = "std"))]
mod tests;

use crate::math::float::{exp_m1, ln_1p, pow2};

/// 2^64: hashes have 64 bits, so no entry has a wider share of the universe.
pub(crate) const MAX_RANGE_PER_ENTRY: f64 = 18_446_744_073_709_551_616.0;

/// The widest remainder: one bit less than the hash.
pub(crate) const MAX_REMAINDER_BITS: u32 = 63;

/// ln φ, φ the golden ratio: see [`best_remainder_bits`].
const LN_GOLDEN_RATIO: f64 = 0.481_211_825_059_603_47;

fn clamp_range(range_per_entry: f64) -> f64 {
    if range_per_entry >= MAX_RANGE_PER_ENTRY {
        return MAX_RANGE_PER_ENTRY;
    }
    if range_per_entry > 1.0 { range_per_entry } else { 1.0 }
}

/// 2^`remainder_bits`, infinite beyond 1023.
fn divisor(remainder_bits: u32) -> f64 {
    pow2(remainder_bits.min(1_024) as i32)
}

/// The false-positive rate, 1 − e^(−1/M), where M is the range per entry: the share of the range that the entries take,
/// as two of them may take the same value. The hash floor is not included. Source: the [module](self).
#[must_use]
pub(crate) fn false_positive_rate(range_per_entry: f64) -> f64 {
    -exp_m1(-1.0 / clamp_range(range_per_entry))
}

/// The expected size of one code, in bits: r + 1 + 1/(e^λ − 1), λ = 2^r / M.
///
/// This is the limit of long gaps. Coding a gap as it is costs about 2^−(r+1) bits more; coding the gap less 1, as
/// distinct values allow, costs 2^−(r+1) bits less. Source: Golomb 1966; Putze et al. 2009, §5.
#[must_use]
pub(crate) fn code_bits_per_entry(range_per_entry: f64, remainder_bits: u32) -> f64 {
    let lambda = divisor(remainder_bits) / clamp_range(range_per_entry);
    f64::from(remainder_bits) + 1.0 + 1.0 / exp_m1(lambda)
}

/// The remainder width r, 0 ..= [`MAX_REMAINDER_BITS`], with the smallest [`code_bits_per_entry`].
///
/// One bit more pays while x/(x² − 1) > 1 with x = e^λ, that is while e^λ is below the golden ratio φ: r is the
/// smallest with 2^r ≥ M ln φ (Kiely 2004, §III). λ is then in [0.481, 0.962), around
/// ln 2, and the code takes 1.470 to 1.563 bits more than log₂ M.
#[must_use]
pub(crate) fn best_remainder_bits(range_per_entry: f64) -> u32 {
    let least = clamp_range(range_per_entry) * LN_GOLDEN_RATIO;
    let mut remainder_bits = 0;
    while remainder_bits < MAX_REMAINDER_BITS && divisor(remainder_bits) < least {
        remainder_bits += 1;
    }
    remainder_bits
}

/// The largest range per entry whose code, at its best remainder width, takes `millibits_for_codes` thousandths of a
/// bit an entry (to 1e-12 bits).
///
/// The false-positive rate is its reciprocal. For each r the code size is solved for M (M = 2^r / ln(1 + 1/q) with q =
/// bits − r − 1 for the quotient) and the largest is taken. The result is 1, a filter that answers *maybe* to
/// everything, for fewer than 1.582 bits, and at most [`MAX_RANGE_PER_ENTRY`].
#[must_use]
pub(crate) fn range_for_millibits(millibits_for_codes: u32) -> f64 {
    let bits = f64::from(millibits_for_codes) / 1_000.0;
    let mut range = 1.0;
    let mut remainder_bits = 0;
    while remainder_bits <= MAX_REMAINDER_BITS && bits > f64::from(remainder_bits) + 1.0 {
        let quotient_bits = bits - f64::from(remainder_bits) - 1.0;
        let fitting = divisor(remainder_bits) / ln_1p(1.0 / quotient_bits);
        if fitting > range {
            range = fitting;
        }
        remainder_bits += 1;
    }
    clamp_range(range)
}
