//! The classic Bloom filter: `num_entries` keys, each setting `num_probes` uniform bits of `num_bits`.
//!
//! Two rates for the same filter:
//!
//! - `approximate_false_positive_rate`, Bloom's own formula: a little too low, visibly so under some thousand bits;
//! - [`false_positive_rate`], the truth for uniform independent probes, at any size.
//!
//! Sources: B. H. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 13 (1970). P. Bose et al.,
//! *On the false-positive rate of Bloom filters*, IPL 108 (2008): the approximation is a strict lower bound.
//! K. Christensen, A. Roginsky, M. Jimeno, *A new analysis of the false positive rate of a Bloom filter*, IPL 110
//! (2010).

mod occupancy;
#[cfg(all(test, feature = "std"))]
mod tests;

use self::occupancy::{all_hit, distinct_bins};
use crate::math::fewest_millibits;
use crate::math::float::{LN_2, exp_m1, ln_1p, powi};

/// The most probes a key that [`best_num_probes`] proposes and [`false_positive_rate`] handles.
pub(crate) const MAX_NUM_PROBES: u32 = occupancy::MAX_BALLS;

/// The smallest size [`millibits_for_false_positive_rate`] proposes: 1 bit a key, in thousandths of a bit.
pub(crate) const MIN_MILLIBITS: u32 = 1_000;

/// The largest size [`millibits_for_false_positive_rate`] proposes: 64 bits a key, in thousandths of a bit.
pub(crate) const MAX_MILLIBITS: u32 = 64_000;

/// Bloom's approximation (1 − (1 − 1/m)^(kn))^k of the false-positive rate; 0 ..= 1.
///
/// For large m this is the familiar (1 − e^(−kn/m))^k, see [`asymptotic_false_positive_rate`]. It takes the bits
/// for independent and is therefore too low: by 4.9 % at 128 bits and 7 probes, by 0.6 % at 1024. Source: Bloom 1970.
/// 0 for no entries; 1 for no bits or no probes.
#[must_use]
pub(crate) fn approximate_false_positive_rate(num_bits: u64, num_entries: u64, num_probes: u32) -> f64 {
    if num_entries == 0 {
        return 0.0;
    }
    if num_bits == 0 || num_probes == 0 {
        return 1.0;
    }
    let ln_miss = ln_1p(-1.0 / num_bits as f64);
    powi(-exp_m1(f64::from(num_probes) * num_entries as f64 * ln_miss), num_probes)
}

/// The exact false-positive rate E[(X/m)^k], X the number of set bits; 0 ..= 1.
///
/// The rate of Bose et al. and Christensen et al., for uniform independent probes and a random absent key, in another
/// arrangement: the k probes of the absent key fall on d distinct bits, and the k·n probes of the entries must hit all
/// of these. Both are occupancy problems with at most k states, summed here over positive terms only, so
/// the result has about 11 digits at every size, in microseconds for 8 probes and milliseconds for 64.
///
/// 0 for no entries; 1 for no bits, no probes, or more than 64. Rates under 1e-300 may come out as 0.
#[must_use]
pub(crate) fn false_positive_rate(num_bits: u64, num_entries: u64, num_probes: u32) -> f64 {
    if num_entries == 0 {
        return 0.0;
    }
    if num_bits == 0 || num_probes == 0 || num_probes > MAX_NUM_PROBES {
        return 1.0;
    }
    let most = u64::from(num_probes).min(num_bits) as usize;
    let distinct = distinct_bins(num_bits, num_probes);
    let hit = all_hit(num_bits, most, u128::from(num_entries) * u128::from(num_probes));
    let mut rate = 0.0;
    for (of_probes, of_entries) in distinct.iter().zip(hit) {
        rate += of_probes * of_entries;
    }
    rate.min(1.0)
}

/// The rate of a large filter of `millibits` thousandths of a bit a key: (1 − e^(−k/c))^k with c bits a key; 0 ..= 1.
///
/// The limit of the two rates above as the filter grows. 1 for no bits or no probes.
#[must_use]
pub(crate) fn asymptotic_false_positive_rate(millibits: u32, num_probes: u32) -> f64 {
    if millibits == 0 {
        return 1.0;
    }
    powi(-exp_m1(-f64::from(num_probes) * 1_000.0 / f64::from(millibits)), num_probes)
}

/// The number of probes, 1 ..= 64, with the lowest [`asymptotic_false_positive_rate`]; the smaller where two tie.
///
/// Near c · ln 2 for c bits a key (Bloom 1970); the whole number on one side of it or the other. 1 below 2.08
/// bits a key, 64 from 91.61 on.
#[must_use]
pub(crate) fn best_num_probes(millibits: u32) -> u32 {
    let below = ((f64::from(millibits) * LN_2 / 1_000.0) as u32).clamp(1, MAX_NUM_PROBES);
    let above = (below + 1).min(MAX_NUM_PROBES);
    if asymptotic_false_positive_rate(millibits, above) < asymptotic_false_positive_rate(millibits, below) {
        above
    } else {
        below
    }
}

/// The fewest millibits in [`MIN_MILLIBITS`] ..= [`MAX_MILLIBITS`] whose asymptotic rate with the best number of
/// probes is at most `rate`, and that number of probes.
///
/// Saturates at [`MIN_MILLIBITS`] for a rate of 0.633 or more, and at [`MAX_MILLIBITS`] for a rate under 4.42e-14,
/// which no size in the range reaches. The rate of equal hashes comes on top.
#[must_use]
pub(crate) fn millibits_for_false_positive_rate(rate: f64) -> (u32, u32) {
    let millibits = fewest_millibits(MIN_MILLIBITS, MAX_MILLIBITS, |millibits| {
        asymptotic_false_positive_rate(millibits, best_num_probes(millibits)) <= rate
    });
    (millibits, best_num_probes(millibits))
}
