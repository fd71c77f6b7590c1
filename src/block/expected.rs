//! What to expect of a policy's blocks, without keys and without a block.

use super::HEADER_LEN;
use super::compact::{EMPTY, MAX_TRAILER_LEN};
use super::plan::{check_cap, plan, target};
use crate::error::BuildError;
use crate::filter::Settings;
use crate::filter::size::{Bits, FilterSize, Target};
use crate::kind::FilterKind;
use crate::math::hash_collision_rate;
use crate::policy::{FilterPolicy, SizedKind, closer};
use std::vec::Vec;

/// See [`FilterPolicy::expected_false_positive_rate`].
pub(super) fn expected_fpr(of_kind: &SizedKind, num_entries: u64) -> Result<f64, BuildError> {
    if num_entries == 0 {
        return Ok(0.0);
    }
    let plan = plan(of_kind, target(of_kind.size, num_entries, HEADER_LEN), num_entries)?.plan;
    let floor = hash_collision_rate(num_entries);
    Ok(floor + (1.0 - floor) * plan.expected_fpr(num_entries))
}

/// See [`FilterPolicy::expected_block_len`].
pub(super) fn expected_len(of_kind: &SizedKind, num_entries: u64) -> Result<u64, BuildError> {
    match num_entries {
        0 => Ok(HEADER_LEN as u64),
        _ => Ok(HEADER_LEN as u64 + expected_payload_len(of_kind, num_entries, HEADER_LEN)?),
    }
}

/// The length of the payload in a frame with a header of `header_len` bytes. `num_entries` is at least 1.
fn expected_payload_len(of_kind: &SizedKind, num_entries: u64, header_len: usize) -> Result<u64, BuildError> {
    check_cap(of_kind, num_entries)?;
    let target = target(of_kind.size, num_entries, header_len);
    let planned_bytes = |target| plan(of_kind, target, num_entries).map(|plan| plan.payload_bytes);
    let expected_bytes = planned_bytes(target)?;
    let Target::Bits(bits) = target else { return Ok(expected_bytes) };
    if !of_kind.settings.len_depends_on_keys() {
        return Ok(expected_bytes);
    }
    let min_payload_bytes = planned_bytes(Target::Bits(Bits::new(0, num_entries, true)))?;
    let min_bytes = HEADER_LEN as u64 + min_payload_bytes;
    if let FilterSize::MaxBytes(cap_bytes) = of_kind.size {
        if cap_bytes < min_bytes {
            return Err(BuildError::ByteCap { kind: of_kind.kind(), cap_bytes, min_bytes, num_entries });
        }
    }
    Ok(min_payload_bytes.max(bits.total / 8))
}

/// The most bytes of a payload in a frame with a header of `header_len` bytes. `num_entries` is at least 1.
fn max_payload_len(of_kind: &SizedKind, num_entries: u64, header_len: usize) -> Result<u64, BuildError> {
    let expected_bytes = expected_payload_len(of_kind, num_entries, header_len)?;
    match of_kind.settings.len_depends_on_keys() {
        // The margin of `expected_block_len`. Under a byte cap a first attempt may take it.
        true => {
            let margin_bytes = expected_bytes / 100 + 1 + of_kind.settings.max_overhead(num_entries, 1);
            Ok(expected_bytes.saturating_add(margin_bytes))
        }
        false => Ok(expected_bytes),
    }
}

/// The most entries whose block of this kind is expected to have at most `block_len` bytes.
fn most_entries(of_kind: &SizedKind, block_len: u64) -> u64 {
    let fits = |num_entries| expected_len(of_kind, num_entries).is_ok_and(|len| len <= block_len);
    let (mut least, mut beyond) = (0, 1 << 60);
    while least + 1 < beyond {
        let middle = least + (beyond - least) / 2;
        if fits(middle) { least = middle } else { beyond = middle }
    }
    least
}

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
        expected_fpr(&self.kind_for(num_entries)?, num_entries)
    }

    /// The length in bytes of a block of `num_entries` distinct entries, header included: for memory that the block is
    /// to be [written to](crate::FilterBlockBuilder::finish_into_slice), and for cutting tables by the length of their
    /// filters.
    ///
    /// Exact for the kinds whose length does not [depend on the keys](FilterPolicy::len_depends_on_keys). For the
    /// others it is the budget where the policy gives bits per key or a byte cap, or the least length where that is
    /// more, and the average where it gives a rate. A block exceeds it by at most 1 % and
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
        expected_len(&self.kind_for(num_entries)?, num_entries)
    }

    /// Bytes that suffice to [write](crate::FilterBlockBuilder::finish_into_slice) a block of `num_entries` distinct
    /// entries, whatever they are: [`FilterPolicy::expected_block_len`], with its margin for the kinds whose length
    /// depends on the keys. Of an [automatic](FilterPolicy::auto) policy, for the longest kind that it may choose.
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
    /// As [`FilterPolicy::expected_block_len`].
    pub fn max_block_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        let header_len = HEADER_LEN as u64;
        Ok(self.max_payload_len(num_entries, HEADER_LEN)?.map_or(header_len, |len| header_len.saturating_add(len)))
    }

    /// As [`FilterPolicy::max_block_len`], of a [compact frame](crate::FilterBlockBuilder::finish_compact_into).
    ///
    /// # Errors
    /// As [`FilterPolicy::expected_block_len`].
    pub fn max_compact_len(&self, num_entries: u64) -> Result<u64, BuildError> {
        let empty_len = EMPTY.len() as u64;
        Ok(self.max_payload_len(num_entries, 0)?.map_or(empty_len, |len| len.saturating_add(MAX_TRAILER_LEN)))
    }

    /// The greatest of the kinds that the policy may choose; `None` without entries.
    fn max_payload_len(&self, num_entries: u64, header_len: usize) -> Result<Option<u64>, BuildError> {
        let (mut most, mut refusal) = (None, None);
        for (_, of_kind) in self.sized_kinds().filter(|_| num_entries > 0) {
            match of_kind.and_then(|of_kind| max_payload_len(&of_kind, num_entries, header_len)) {
                Ok(len) => most = most.max(Some(len)),
                Err(error) => refusal = Some(refusal.map_or(error, |other| closer(other, error))),
            }
        }
        match (most, refusal) {
            (None, Some(error)) => Err(error),
            _ => Ok(most),
        }
    }

    /// The most entries whose block is expected to have at most `block_len` bytes, header included: the inverse of
    /// [`FilterPolicy::expected_block_len`]. 0 if not even one entry fits. Under a policy of
    /// [`FilterPolicy::with_max_bytes`] every number fits of which a block within the cap can be built.
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
    ///
    /// Under an [automatic](FilterPolicy::auto) policy the most of the kind that is chosen for as many; where no kind
    /// is chosen for its own most, the number that fits whatever the kind.
    pub fn expected_num_entries(&self, block_len: u64) -> u64 {
        let of_kinds = self.sized_kinds().filter_map(|(_, of_kind)| of_kind.ok());
        let mut most: Vec<_> = of_kinds.map(|of_kind| (most_entries(&of_kind, block_len), of_kind)).collect();
        most.sort_by_key(|&(num_entries, _)| core::cmp::Reverse(num_entries));
        let own = most.iter().find(|(num_entries, of_kind)| self.kind_for(*num_entries) == Ok(*of_kind));
        own.or(most.last()).map_or(0, |&(num_entries, _)| num_entries)
    }

    /// Whether the length of a block of `kind` depends on its keys, and not on their number alone.
    pub fn len_depends_on_keys(kind: FilterKind) -> bool {
        Settings::new(kind).len_depends_on_keys()
    }

    /// Whether the rate of blocks of `kind` falls by steps as they are given more bits. Then sizes in bits leave a part
    /// of them unused, and which rate a size gives depends on the number of entries.
    pub fn rate_has_steps(kind: FilterKind) -> bool {
        Settings::new(kind).rate_has_steps()
    }

    /// The most bytes that `num_blocks` blocks of `kind`, of `num_entries` distinct entries in all, take together
    /// beyond their bits per key: headers, rounding, and the luck of the keys where a kind's length depends on them.
    ///
    /// ```
    /// use filterblock::{FilterKind, FilterPolicy};
    /// assert_eq!(FilterPolicy::max_overhead_bytes(FilterKind::Bloom, 1_000, 10), 10 * (64 + 1));
    /// ```
    pub fn max_overhead_bytes(kind: FilterKind, num_entries: u64, num_blocks: u64) -> u64 {
        let headers = num_blocks.saturating_mul(HEADER_LEN as u64);
        headers.saturating_add(Settings::new(kind).max_overhead(num_entries, num_blocks))
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
        for &kind in FilterKind::ALL {
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
