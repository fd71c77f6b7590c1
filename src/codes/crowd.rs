//! The test whether hashes crowd, so that the set is remapped: few random sets do.

use super::Buckets;
use crate::hash::fast_range;

/// The most entries of a bucket, unless the hashes were remapped. Of 10⁶ buckets with 64 random hashes on average, one
/// has more with probability 10⁻¹⁶.
const MAX_ENTRIES_PER_BUCKET: u64 = 160;

/// Counts of the buckets so far.
pub(crate) struct Crowd {
    num_entries: u64,
    /// The most entries that may share the value of another one: twice as many as of random hashes, and 24. More have a
    /// probability below 10⁻¹². A search assumes that a bucket has a code for each entry.
    max_repeated: u128,
    /// The number of codes to be expected for each value of a bucket, in 2⁻⁶⁴. Of E entries in a bucket of W values,
    /// about E / (1 + E / 2W) are distinct.
    codes_per_value: u64,
    most_entries: u64,
    num_repeated: u64,
    /// The sum of the squares of the codes' deviations. A code deviates by the difference between its number in its
    /// bucket and the number that is expected from its value, so the sum is great where buckets are crowded, and where
    /// values are crowded within buckets.
    squares: u128,
}

impl Crowd {
    pub(crate) fn new(buckets: Buckets, num_entries: u64) -> Self {
        let of_bucket = u128::from(num_entries.div_ceil(buckets.num));
        let codes_per_value = (of_bucket << 65) / (2 * u128::from(buckets.range) + of_bucket);
        Self {
            num_entries,
            max_repeated: u128::from(num_entries) * u128::from(num_entries) / u128::from(buckets.whole_range()) + 24,
            codes_per_value: codes_per_value.min(u64::MAX.into()) as u64,
            most_entries: 0,
            num_repeated: 0,
            squares: 0,
        }
    }

    /// Counts a bucket of `num_entries` entries, which have these gaps.
    #[inline]
    pub(crate) fn add(&mut self, num_entries: u64, gaps: &[u64]) {
        let mut values = 0;
        for (&gap, num_codes) in gaps.iter().zip(1u64..) {
            values += gap + 1;
            let deviation = fast_range(values, self.codes_per_value).abs_diff(num_codes);
            self.squares += u128::from(deviation) * u128::from(deviation);
        }
        self.most_entries = self.most_entries.max(num_entries);
        self.num_repeated += num_entries - gaps.len() as u64;
    }

    /// Returns whether more crowd than of random hashes. Once it has become true it stays so.
    pub(crate) fn is_crowded(&self) -> bool {
        // It is about 32 a code of random hashes: their deviations are a random walk. For any number of random hashes, a
        // greater sum has a probability below 10⁻¹².
        let max_squares = u128::from(self.num_entries) * 64 + (1 << 17);
        self.most_entries > MAX_ENTRIES_PER_BUCKET
            || u128::from(self.num_repeated) > self.max_repeated
            || self.squares > max_squares
    }
}
