//! The blocked Bloom filter with word-wise choice: every probe of a key falls into one line of 512 bits.
//!
//! # The model
//!
//! A line is 8 words of 64 bits. A word keeps `salt_bits` t of its bits for its salt, so R = 64 − t are probed. A key
//! chooses a uniform line and a uniform word of it, r. With k ≤ 8 probes it sets one uniform bit in each word of the
//! window of k words that begins, cyclically, at r. With k > 8 it sets one in every word and a second,
//! independent one in each word of the window of k − 8 words at r. The builder tries all S = 2^t salts of a word, each
//! giving independent positions, and keeps the one that sets the fewest bits: a choice as in Lumetta & Mitzenmacher,
//! *Using the power of two choices to improve Bloom filters*, Internet Math. 4 (2007), taken word by word.
//!
//! # The rate
//!
//! The keys of a line are Poisson with mean λ = 512 / (bits a key), as in Putze, Sanders, Singler, *Cache-, hash- and
//! space-efficient Bloom filters*, ACM JEA 14 (2009), §3. Given n keys in a line, a word receives k/8 · n balls in
//! the mean: n·⌊k/8⌋ and Binomial(n, k/8 − ⌊k/8⌋) more. Given c balls, the bits set under one salt follow the occupancy
//! distribution, and those kept, X, its minimum over S independent draws. An absent key passes a word it probes once
//! with probability E\[X/R\], one it probes twice with E\[(X/R)²\]. The words' factors are multiplied. They would be
//! independent if the balls were; but where k is not 8 or 16 words in one window share keys, and words in
//! different windows compete for them. For each pair of words this adds correlation × standard deviations of the
//! factors to the product, the correlation being that of the two words' ball counts.
//!
//! Against a simulation of the model at 2 to 24 bits a key, at the best number of probes and two to either side, no
//! difference beyond the noise of 0.1 to 0.4 % was seen (`tests.rs` repeats a part of it).

use crate::math::fewest_millibits;

mod model;
mod poisson;
mod probes;
#[cfg(all(test, feature = "std"))]
mod tests;

use model::WordFill;
#[cfg(all(test, feature = "std"))]
pub(crate) use probes::best_num_probes;
pub(crate) use probes::num_probes;

/// The greatest number of probes a key.
pub(crate) const MAX_NUM_PROBES: u32 = 16;

/// The greatest number of salt bits a word.
pub(crate) const MAX_SALT_BITS: u32 = 6;

/// The default of a word's salt bits: 8 salts are tried.
pub(crate) const DEFAULT_SALT_BITS: u32 = 3;

/// The smallest size for which a number of probes is proposed: 2 bits a key, in thousandths of a bit.
pub(crate) const MIN_MILLIBITS: u32 = 2_000;

/// The largest size [`millibits_for_false_positive_rate`] proposes: 64 bits a key, in thousandths of a bit.
pub(crate) const MAX_MILLIBITS: u32 = 64_000;

/// The size below which every rate here is 1: 1 bit a key, in thousandths of a bit.
const LEAST_MODELLED_MILLIBITS: u32 = 1_000;

/// The false-positive rate of our blocked filter at `millibits` thousandths of a bit a key; 0 ..= 1.
///
/// `num_probes` is 1 ..= 16 (more count as 16, none gives 1), `salt_bits` 0 ..= 6 (more count as 6). The rate is 1
/// below 1 bit a key. It holds for filters of many lines; the hash floor is not included. Source: the [module](self).
#[must_use]
pub(crate) fn false_positive_rate(millibits: u32, num_probes: u32, salt_bits: u32) -> f64 {
    if num_probes == 0 || millibits < LEAST_MODELLED_MILLIBITS {
        return 1.0;
    }
    model::rate(&WordFill::new(salt_bits.min(MAX_SALT_BITS), millibits), millibits, num_probes.min(MAX_NUM_PROBES))
}

/// The fewest millibits in [`MIN_MILLIBITS`] ..= [`MAX_MILLIBITS`] for which [`false_positive_rate`], with
/// [`num_probes`], is at most `rate`; and that number of probes. (About 9 to 10 bits, where the number changes to 8,
/// one part in a hundred fewer might do.)
///
/// The result saturates at both ends of the range. `salt_bits` above 6 count as 6.
#[must_use]
pub(crate) fn millibits_for_false_positive_rate(rate: f64, salt_bits: u32) -> (u32, u32) {
    let fill = WordFill::new(salt_bits.min(MAX_SALT_BITS), MIN_MILLIBITS);
    let millibits = fewest_millibits(MIN_MILLIBITS, MAX_MILLIBITS, |millibits| {
        model::rate(&fill, millibits, num_probes(millibits, salt_bits)) <= rate
    });
    (millibits, num_probes(millibits, salt_bits))
}
