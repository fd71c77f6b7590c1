//! The expected rates and lengths of a policy's blocks, without keys and without a block.

use super::FilterPolicy;
use super::sized_kind::{closer, remapped_bytes};
use crate::error::BuildError;
use crate::filter::Settings;
use crate::frame::{EMPTY_COMPACT_LEN, HEADER_LEN, MAX_TRAILER_LEN};
use crate::kind::FilterKind;
use std::vec::Vec;

impl FilterPolicy {
    /// Returns the expected false-positive rate of a block of `num_entries` distinct entries, from the dimensions with
    /// which it would be built; 0 without entries, which are all absent.
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
    /// [`BuildError::TooLarge`] if no block could be built.
    pub fn expected_false_positive_rate(&self, num_entries: u64) -> Result<f64, BuildError> {
        self.kind_for(num_entries)?.expected_fpr(num_entries)
    }

    /// Returns the length in bytes of a block of `num_entries` distinct entries, header included: for memory to which
    /// the block is [written](crate::FilterBlockBuilder::finish_into_slice), and for cutting tables by the length of
    /// their filters.
    ///
    /// The length is exact for the kinds whose length does not [depend on the keys](FilterPolicy::len_depends_on_keys),
    /// except that a few filters of the kind fuse, whose hashes had to be remapped, are 8 bytes longer.
    /// For the others it is the budget if the policy gives bits per key or a byte cap, or the least length if that is
    /// more, and the average if it gives a rate. A block exceeds it by at most 1 % and
    /// [`FilterPolicy::max_overhead_bytes`] of one block; one with a byte cap does not exceed the cap.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// assert_eq!(policy.expected_block_len(10_000)?, 12_480);
    /// assert_eq!(policy.expected_block_len(0)?, 64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::TooLarge`] and [`BuildError::ByteCap`] where no block could be built. For the kinds whose length
    /// depends on the keys, the bytes that a cap needs at least are an estimate.
    pub fn expected_block_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        self.kind_for(num_entries)?.expected_block_len(num_entries)
    }

    /// Returns a number of bytes that suffices to [write](crate::FilterBlockBuilder::finish_into_slice) a block of any
    /// `num_entries` distinct entries: [`FilterPolicy::expected_block_len`], with its margin for the kinds whose length
    /// depends on the keys. For an [automatic](FilterPolicy::auto) policy it suffices for the longest kind that may be
    /// chosen.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// assert_eq!(policy.max_block_len(10_000)?, policy.expected_block_len(10_000)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`FilterPolicy::expected_block_len`].
    pub fn max_block_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        let header_len = HEADER_LEN as u64;
        Ok(self.max_payload_len(num_entries, HEADER_LEN)?.map_or(header_len, |len| header_len.saturating_add(len)))
    }

    /// Returns the number of bytes that suffices, like [`FilterPolicy::max_block_len`], for a [compact
    /// frame](crate::FilterBlockBuilder::finish_compact_into).
    ///
    /// # Errors
    /// The errors of [`FilterPolicy::expected_block_len`].
    pub fn max_compact_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        let empty_len = EMPTY_COMPACT_LEN as u64;
        Ok(self.max_payload_len(num_entries, 0)?.map_or(empty_len, |len| len.saturating_add(MAX_TRAILER_LEN)))
    }

    /// Returns the greatest length among the kinds that the policy may choose; `None` without entries.
    fn max_payload_len(&self, num_entries: u64, header_len: usize) -> Result<Option<u64>, BuildError> {
        let (mut most, mut refusal) = (None, None);
        for of_kind in self.sized_kinds().filter(|_| num_entries > 0) {
            match of_kind.and_then(|of_kind| of_kind.max_payload_len(num_entries, header_len)) {
                Ok(len) => most = most.max(Some(len)),
                Err(error) => refusal = Some(refusal.map_or(error, |other| closer(other, error))),
            }
        }
        match (most, refusal) {
            (None, Some(error)) => Err(error),
            _ => Ok(most),
        }
    }

    /// Returns the greatest number of entries whose block is expected to have at most `block_len` bytes, header
    /// included: the inverse of [`FilterPolicy::expected_block_len`]. 0 if not even one entry fits. Under a policy of
    /// [`FilterPolicy::with_max_bytes`] every number fits for which a block within the cap can be built.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let num_entries = policy.expected_num_entries(4096);
    /// assert!(policy.expected_block_len(num_entries)? <= 4096);
    /// assert!(policy.expected_block_len(num_entries + 1)? > 4096);
    /// # Ok(())
    /// # }
    /// ```
    /// Under an [automatic](FilterPolicy::auto) policy it is the greatest number of the kind that is chosen for that
    /// number; if no kind is chosen for its own, it is the number that fits for all kinds.
    pub fn expected_num_entries(&self, block_len: u64) -> u64 {
        let of_kinds = self.sized_kinds().filter_map(Result::ok);
        let mut most: Vec<_> = of_kinds.map(|of_kind| (of_kind.expected_num_entries(block_len), of_kind)).collect();
        most.sort_by_key(|&(num_entries, _)| core::cmp::Reverse(num_entries));
        let own = most.iter().find(|(num_entries, of_kind)| self.kind_for(*num_entries) == Ok(*of_kind));
        own.or(most.last()).map_or(0, |&(num_entries, _)| num_entries)
    }

    /// Returns whether the length of a block of `kind` depends on its keys, and not on their number alone.
    pub fn len_depends_on_keys(kind: FilterKind) -> bool {
        Settings::new(kind).len_depends_on_keys()
    }

    /// Returns whether the rate of blocks of `kind` falls by steps as they get more bits. Sizes in bits then leave a
    /// part of them unused, and the rate of a size depends on the number of entries.
    pub fn rate_has_steps(kind: FilterKind) -> bool {
        Settings::new(kind).rate_has_steps()
    }

    /// Returns the greatest number of bytes that `num_blocks` blocks of `kind`, with `num_entries` distinct entries in
    /// all, take together beyond their bits per key: headers, rounding, and the luck of the keys where a kind's length
    /// depends on them.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    /// assert_eq!(FilterPolicy::max_overhead_bytes(FilterKind::Bloom, 1_000, 10), 10 * (64 + 1));
    /// ```
    pub fn max_overhead_bytes(kind: FilterKind, num_entries: u64, num_blocks: u64) -> u64 {
        let headers = num_blocks.saturating_mul(HEADER_LEN as u64);
        let seeds = num_blocks.saturating_mul(remapped_bytes(kind));
        headers.saturating_add(seeds).saturating_add(Settings::new(kind).max_overhead(num_entries, num_blocks))
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

    /// Returns the average rate that built blocks report of themselves.
    fn built(policy: &FilterPolicy, num_entries: u64) -> f64 {
        let num_blocks = (20_000 / num_entries).max(1);
        let rates = (0..num_blocks).map(|block| {
            let mut builder = FilterBlockBuilder::new(&policy.clone().with_self_check(false));
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
        for &kind in FilterKind::ALL {
            // The blocked kind's formula holds for filters of many lines.
            let sizes: &[u64] = if kind == FilterKind::Blocked { &[20_000, 60_000] } else { &[100, 1_000, 20_000] };
            for &num_entries in sizes {
                for bits in [2.0, 3.0, 5.0, 8.0, 10.0, 14.0] {
                    let policy = FilterPolicy::with_bits_per_key(kind, bits).unwrap();
                    let expected = policy.expected_false_positive_rate(num_entries).unwrap();
                    let built = built(&policy, num_entries);
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
