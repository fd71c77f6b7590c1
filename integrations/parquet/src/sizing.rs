//! Lengths and rates.
//!
//! The number of values in a block is binomial: each of `n` values is in one of `z` blocks. In a block with `i` values,
//! a given bit of a word is set with probability 1 - (31/32)^i, and an absent value passes if its bits are set in all
//! eight words. So the rate is
//!
//! ```text
//! sum over i of  C(n, i) (1/z)^i (1 - 1/z)^(n - i)  *  (1 - (31/32)^i)^8
//! ```
//!
//! This is the formula for blocked filters of F. Putze, P. Sanders and J. Singler ("Cache-, Hash- and Space-Efficient
//! Bloom Filters", ACM Journal of Experimental Algorithmics 14, 2009, there with Poisson's approximation of the
//! binomial), with the rate of partitioned filters within a block (A. Broder and M. Mitzenmacher, "Network Applications
//! of Bloom Filters: A Survey", Internet Mathematics 1, 2004, section 2.1). Parquet's specification names both papers,
//! and has rates for eight ratios of bits to values: the tests compare them. The formula assumes that the eight words
//! are independent. They come from 32 bits of hash, so that a block with `i` values passes `i` of 2^32 absent ones at
//! least. That adds 0.01 % to a rate of 1e-5, 0.6 % to one of 1e-7 and 19 % to one of 1e-9.

use crate::error::Error;

/// The length of a block in bytes, and of the shortest bitset.
pub const BLOCK_LEN: usize = 32;
/// The length in bytes of the longest bitset that is made: the limit of arrow-rs and Arrow C++.
pub const MAX_LEN: usize = 128 << 20;

const NUM_WORDS: i32 = 8;
/// Above this mean number of values per block, the rate is 1 in a double's precision.
const FULL_MEAN: f64 = 4096.0;
/// Numbers of values in a block that are less likely, relative to the likeliest one, are left out of the sum.
const LEAST_WEIGHT: f64 = 1e-40;

/// The expected share of absent values that pass a filter of `len` bytes with `num_values` distinct values; 1 for a
/// length below that of a block.
pub fn expected_false_positive_rate(len: usize, num_values: u64) -> f64 {
    match (len / BLOCK_LEN, num_values) {
        (0, _) => 1.0,
        (_, 0) => 0.0,
        (1, _) => block_rate(num_values as f64),
        (num_blocks, _) => mean_block_rate(num_blocks as f64, num_values as f64),
    }
}

/// The least length in bytes whose expected rate for `num_values` distinct values is `rate` at most: a multiple of
/// [`BLOCK_LEN`] up to [`MAX_LEN`]. Many readers require [a power of two](crate::SplitBlockFilter::with_rate).
pub fn len_for_rate(num_values: u64, rate: f64) -> Result<usize, Error> {
    check_rate(rate)?;
    let least_rate = expected_false_positive_rate(MAX_LEN, num_values);
    if least_rate > rate {
        return Err(Error::TooLarge { num_values, rate, least_rate });
    }
    // The rate falls with the number of blocks: `enough` of them suffice, `too_few` do not.
    let (mut too_few, mut enough) = (0, MAX_LEN / BLOCK_LEN);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        match expected_false_positive_rate(middle * BLOCK_LEN, num_values) <= rate {
            true => enough = middle,
            false => too_few = middle,
        }
    }
    Ok(enough * BLOCK_LEN)
}

pub(crate) fn check_rate(rate: f64) -> Result<(), Error> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(Error::Rate { rate }) }
}

/// The rate of a block with `num_values` values.
fn block_rate(num_values: f64) -> f64 {
    (1.0 - (31.0_f64 / 32.0).powf(num_values)).powi(NUM_WORDS)
}

/// The mean of [`block_rate`] over the binomial number of values in one of `num_blocks` blocks, of which there are two
/// at least. The probabilities are summed from the likeliest number on, each by its ratio to its neighbour.
fn mean_block_rate(num_blocks: f64, num_values: f64) -> f64 {
    if num_values / num_blocks > FULL_MEAN {
        return 1.0;
    }
    let likeliest = ((num_values + 1.0) / num_blocks).floor();
    let (mut weights, mut sum) = (1.0, block_rate(likeliest));

    let (mut i, mut weight) = (likeliest, 1.0);
    while i < num_values && weight > LEAST_WEIGHT {
        weight *= (num_values - i) / ((i + 1.0) * (num_blocks - 1.0));
        i += 1.0;
        weights += weight;
        sum += weight * block_rate(i);
    }

    (i, weight) = (likeliest, 1.0);
    while i > 0.0 && weight > LEAST_WEIGHT {
        weight *= i * (num_blocks - 1.0) / (num_values - i + 1.0);
        i -= 1.0;
        weights += weight;
        sum += weight * block_rate(i);
    }
    sum / weights
}
