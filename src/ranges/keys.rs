//! The keys of a table, sorted, one after the other in memory.

use crate::bytes;
use crate::error::BuildError;
use crate::hash::KeyHasher;
use std::collections::TryReserveError;
use std::vec::Vec;

/// Byte strings in the order in which they are added, or sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    num: usize,
    /// The length of every key, while all have the same.
    common_len: usize,
    /// The end of each key among the bytes; none while all keys have the same length.
    ends: Vec<usize>,
    /// Whether a key was added that is not above the one before it.
    is_unsorted: bool,
}

impl Keys {
    /// Returns the error for a filter that lacks `num` keys from `first` on.
    pub(super) fn lacks(&self, first: usize, num: u64) -> BuildError {
        BuildError::SelfCheck { hash: KeyHasher::new(0).hash(self.get(first)).get(), num_missing: num }
    }

    /// Adds a key, unless it equals the one before it.
    pub(super) fn push(&mut self, key: &[u8]) {
        match self.num.checked_sub(1) {
            Some(last) => match bytes::compare(self.get(last), key) {
                core::cmp::Ordering::Less => {}
                core::cmp::Ordering::Equal => return,
                core::cmp::Ordering::Greater => self.is_unsorted = true,
            },
            None => self.common_len = key.len(),
        }
        if key.len() != self.common_len && self.ends.is_empty() {
            self.ends.extend((1..=self.num).map(|num| num * self.common_len));
        }
        self.bytes.extend_from_slice(key);
        self.num += 1;
        if key.len() != self.common_len || !self.ends.is_empty() {
            self.ends.push(self.bytes.len());
        }
    }

    /// Makes room for one more key of at most `len` bytes.
    pub(super) fn try_reserve(&mut self, len: usize) -> Result<(), TryReserveError> {
        self.bytes.try_reserve(len)?;
        // Its length may be the first that differs, which needs the ends of all keys.
        self.ends.try_reserve(self.num + 1 - self.ends.len())
    }

    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.num
    }

    /// Removes all keys, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        (self.num, self.is_unsorted) = (0, false);
    }

    /// Returns key number `index`, which must exist.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        if self.ends.is_empty() {
            return &self.bytes[index * self.common_len..][..self.common_len];
        }
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Returns all keys, one after the other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sorts the keys and removes repetitions.
    pub(super) fn sort(&mut self) {
        if !self.is_unsorted {
            return;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by(|&a, &b| self.get(a).cmp(self.get(b)));
        let mut sorted = Self { bytes: Vec::with_capacity(self.bytes.len()), ..Self::default() };
        sorted.ends.reserve_exact(self.ends.len());
        order.into_iter().for_each(|index| sorted.push(self.get(index)));
        *self = sorted;
    }

    /// Returns the number of bytes of every key; `None` if they differ.
    pub(super) fn common_len(&self) -> Option<usize> {
        (self.num > 0 && self.ends.is_empty()).then_some(self.common_len)
    }

    /// Returns the lengths of the shortest and of the longest key, of at least one.
    pub(super) fn extent(&self) -> (usize, usize) {
        let lens = (0..self.len()).map(|index| self.get(index).len());
        lens.fold((usize::MAX, 0), |(least, most), len| (least.min(len), most.max(len)))
    }

    /// Returns the number of bytes that all keys, which are sorted, have in common.
    pub(super) fn common_prefix_len(&self) -> usize {
        match self.len().checked_sub(1) {
            Some(last) => bytes::common_len(self.get(0), self.get(last)),
            None => 0,
        }
    }
}
