//! From the number of a block to its place.

use crate::bytes;
use crate::codes::Buckets;
use crate::hash::KeyHasher;

/// Blocks of numbers, and the buckets among whose places theirs are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub(super) buckets: Buckets,
    /// Blocks have 2 to this power numbers, no more than a bucket has places.
    pub(super) log_len: u32,
}

impl Blocks {
    /// Returns the block of a number, and what the number is in it.
    #[inline(always)]
    pub(super) const fn split(&self, number: u128) -> (u128, u64) {
        (number >> self.log_len, number as u64 & self.last())
    }

    /// Returns the last number of a block.
    #[inline(always)]
    pub(super) const fn last(&self) -> u64 {
        (1 << self.log_len) - 1
    }

    /// Returns the bucket and the offset of a block's first number.
    #[inline(always)]
    pub(super) fn locate(&self, block: u128) -> (u64, u64) {
        self.buckets.locate(KeyHasher::new(0).hash_unkeyed(&bytes::of_u128(block)))
    }

    /// Returns the bucket and the offset of the number `low` in the block that begins at `first`.
    #[inline(always)]
    pub(super) const fn code(&self, first: (u64, u64), low: u64) -> (u64, u64) {
        let (bucket, offset) = (first.0, first.1 + low);
        match offset.checked_sub(self.buckets.range) {
            None => (bucket, offset),
            Some(offset) => (self.buckets.next(bucket), offset),
        }
    }
}
