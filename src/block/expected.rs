//! What a policy comes to, without keys and without a block.

use super::HEADER_LEN;
use super::plan::{Target, plan};
use crate::error::BuildError;
use crate::filter::Params;
use crate::policy::FilterPolicy;
use crate::sizing;

/// Up to so many bits a Bloom filter's rate is computed exactly; above, the familiar formula is right to 1e-4.
const EXACT_BITS_MAX: u64 = 1 << 16;

impl FilterPolicy {
    /// The false-positive rate to be expected of a block of `num_entries` distinct entries, from the dimensions that
    /// it would be built with; 0 without entries, which are all absent.
    ///
    /// A block's own [rate](crate::FilterBlockReader::false_positive_rate) differs from it by the luck of its keys.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let rate = policy.expected_false_positive_rate(1_000_000)?;
    /// assert!((0.006..0.0063).contains(&rate));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::TooLarge`] where no block could be built.
    pub fn expected_false_positive_rate(&self, num_entries: u64) -> Result<f64, BuildError> {
        if num_entries == 0 {
            return Ok(0.0);
        }
        let rate = match plan(self, Target::new(self, num_entries, HEADER_LEN), num_entries)? {
            Params::Bloom(p) if p.num_bits() <= EXACT_BITS_MAX => {
                sizing::bloom::exact_false_positive_rate(p.num_bits(), num_entries, p.num_probes())
            }
            Params::Bloom(p) => {
                sizing::bloom::approximate_false_positive_rate(p.num_bits(), num_entries, p.num_probes())
            }
            Params::Blocked(p) => {
                let millibits = u128::from(p.payload_len()) * 8_000 / u128::from(num_entries);
                let millibits = u32::try_from(millibits).unwrap_or(u32::MAX);
                sizing::blocked::false_positive_rate(millibits, p.num_probes(), p.salt_bits())
            }
            Params::Golomb(p) => {
                // Each hash takes one of the range's values, and the values taken are the false positives.
                let range = p.num_buckets() as f64 * p.bucket_range() as f64;
                -sizing::float::exp_m1(-(num_entries as f64) / range)
            }
        };
        let floor = sizing::hash_collision_rate(num_entries);
        Ok(floor + (1.0 - floor) * rate)
    }
}

#[cfg(test)]
mod tests {
    use crate::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyHash};

    fn splitmix(number: u64) -> u64 {
        let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The rate that the built blocks state of themselves, on average.
    fn built(policy: FilterPolicy, num_entries: u64) -> f64 {
        let num_blocks = (20_000 / num_entries).max(1);
        let rates = (0..num_blocks).map(|block| {
            let mut builder = FilterBlockBuilder::new(policy.self_check(false));
            let numbers = block * num_entries + 1..=(block + 1) * num_entries;
            numbers.for_each(|number| builder.add_hash(KeyHash::from_raw(splitmix(number))));
            let block = builder.finish().unwrap();
            FilterBlockReader::open(&block).unwrap().false_positive_rate()
        });
        rates.sum::<f64>() / num_blocks as f64
    }

    #[test]
    fn the_expected_rate_is_that_of_built_blocks() {
        let mut worst = 0.0f64;
        for kind in FilterKind::ALL {
            // The blocked kind's formula holds for filters of many lines.
            let sizes: &[u64] = if kind == FilterKind::Blocked { &[20_000, 60_000] } else { &[100, 1_000, 20_000] };
            for &num_entries in sizes {
                for bits in [2.0, 3.0, 5.0, 8.0, 10.0, 14.0] {
                    let policy = FilterPolicy::with_bits_per_key(kind, bits).unwrap();
                    let expected = policy.expected_false_positive_rate(num_entries).unwrap();
                    let built = built(policy, num_entries);
                    let off = (built / expected - 1.0).abs();
                    assert!(off < 0.05, "{kind}, {num_entries} entries of {bits} bits: {expected}, built {built}");
                    worst = worst.max(off);
                }
            }
        }
        println!("expected and built rates differ by at most {:.1} %", worst * 100.0);
    }

    #[test]
    fn without_entries_nothing_passes_and_too_many_are_refused() {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 64.0).unwrap();
        assert_eq!(policy.expected_false_positive_rate(0), Ok(0.0));
        assert!(policy.expected_false_positive_rate(1 << 40).is_err());
    }
}
