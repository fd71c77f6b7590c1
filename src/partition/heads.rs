//! The first bytes of separators as integers, by which a lookup is nearly decided before it reads a separator.
//!
//! All separators begin with the bytes that the first and the last of them share. The head of a byte string is the
//! integer of the 8 bytes after these, the first byte the most significant, filled up with zeros: a string with a lesser
//! head than another's is less. A search of integers in one array has no branch to mispredict, and reads one cache line
//! a step; a step through the separators reads two records and a separator, and nothing predicts its outcome.

use super::index;
use crate::bytes;
use core::cmp::Ordering;
use core::ops::Range;
use std::boxed::Box;

/// The heads of the separators of an index.
#[derive(Clone)]
pub(super) struct Heads {
    prefix_len: usize,
    heads: Box<[u64]>,
}

impl Heads {
    /// Returns the heads of a checked index.
    pub(super) fn new(index: &[u8], num_partitions: usize) -> Self {
        let separator = |partition| index::separator(index, num_partitions, partition);
        let prefix_len = num_partitions
            .checked_sub(1)
            .map_or(0, |last| separator(0).iter().zip(separator(last)).take_while(|(a, b)| a == b).count());
        let heads = (0..num_partitions).map(|partition| head(separator(partition), prefix_len)).collect();
        Self { prefix_len, heads }
    }

    /// Returns a range in which the first separator lies that is at least `order_key`, if not at its end: those before
    /// the range are less, those after it are greater.
    #[inline]
    pub(super) fn range_of(&self, index: &[u8], order_key: &[u8]) -> Range<usize> {
        let prefix = self.prefix(index);
        let order = order_key[..order_key.len().min(prefix.len())].cmp(prefix);
        self.range_by(order, || head(order_key, prefix.len()))
    }

    /// Returns the range of [`Heads::range_of`] for an order key whose bytes are made one at a time.
    pub(super) fn range_of_bytes(&self, index: &[u8], mut order_key: impl Iterator<Item = u8>) -> Range<usize> {
        let prefix = self.prefix(index);
        let order = order_key.by_ref().take(prefix.len()).cmp(prefix.iter().copied());
        self.range_by(order, || (0..8).fold(0, |head, _| head << 8 | u64::from(order_key.next().unwrap_or(0))))
    }

    /// Returns the range of an order key from the order of its first bytes beside the separators' prefix, and from its
    /// head, which decides if it begins with the prefix.
    #[inline]
    fn range_by(&self, order: Ordering, head: impl FnOnce() -> u64) -> Range<usize> {
        let num_partitions = self.heads.len();
        match order {
            Ordering::Less => 0..0,
            Ordering::Greater => num_partitions..num_partitions,
            Ordering::Equal => self.equal_to(head()),
        }
    }

    /// Returns the bytes that all separators begin with; none if there are no separators.
    #[inline]
    fn prefix<'a>(&self, index: &'a [u8]) -> &'a [u8] {
        if self.heads.is_empty() {
            return &[];
        }
        &index::separator(index, self.heads.len(), 0)[..self.prefix_len]
    }

    /// Returns the range of the separators whose heads equal `head`. An empty one lies where such separators would.
    #[inline]
    fn equal_to(&self, head: u64) -> Range<usize> {
        let start = self.heads.partition_point(|&other| other < head);
        let rest = &self.heads[start..];
        let num_equal = if rest.first() == Some(&head) { rest.partition_point(|&other| other == head) } else { 0 };
        start..start + num_equal
    }
}

/// Returns the head of a byte string that begins with a prefix of `prefix_len` bytes.
#[inline]
fn head(string: &[u8], prefix_len: usize) -> u64 {
    bytes::u64_padded(string, prefix_len).swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::{PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
    use super::{Heads, index};
    use crate::hash::mix;
    use crate::{FilterKind, FilterPolicy, OpenOptions, Query};
    use std::vec::Vec;

    /// A string of bytes that often agree, at times longer than a head.
    fn string(prefix: &[u8], number: u64) -> Vec<u8> {
        let len = mix(number) % 13;
        let byte = |at: u64| {
            // The first ones are mostly equal, so that some strings differ only after their heads.
            let num_values = if at < 8 { 2 } else { 5 };
            [0, 0, 1, b'a', 255][(mix(number ^ (at + 1) << 32) % num_values) as usize]
        };
        let bytes = (0..len).map(byte);
        prefix.iter().copied().chain(bytes).collect()
    }

    #[test]
    fn lookups_agree_with_a_plain_search() {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).expect("legal");
        let mut num_ties = 0;
        for prefix in [&b""[..], b"\0", b"https://"] {
            for num_keys in [0, 1, 2, 3, 30, 400] {
                let mut keys: Vec<Vec<u8>> = (0..num_keys).map(|number| string(prefix, number)).collect();
                keys.sort();
                let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Entries(1)).expect("legal");
                let mut end = 0;
                let mut store = |block: &[u8]| {
                    end += block.len() as u64;
                    Ok::<_, core::convert::Infallible>(end - block.len() as u64)
                };
                keys.iter().for_each(|key| builder.add_key(key, &mut store).expect("in order"));
                builder.allow_empty();
                let index = builder.finish(&mut store).expect("an index");
                let filter = PartitionedFilter::open(&index, OpenOptions::new().expect(&policy)).expect("intact");
                let num_partitions = filter.partitions().len();
                let heads = Heads::new(&index, num_partitions);
                let shorter = (0..prefix.len()).map(|len| prefix[..len].to_vec());
                let others = (0..2_000).map(|number| string(if number % 9 == 0 { b"i" } else { prefix }, number + 200));
                for key in keys.iter().cloned().chain(shorter).chain(others) {
                    let expected =
                        (0..num_partitions).find(|&i| index::separator(&index, num_partitions, i) >= &key[..]);
                    assert_eq!(
                        filter.find(Query::Key(&key)).partitions().next().map(|found| found.number as usize),
                        expected,
                        "{key:?} of {keys:?}"
                    );
                    let range = heads.range_of(&index, &key);
                    num_ties += usize::from(range.len() > 1);
                    assert_eq!(heads.range_of_bytes(&index, key.iter().copied()), range, "{key:?} of {keys:?}");
                }
            }
        }
        assert!(num_ties > 1_000, "{num_ties}");
    }
}
