//! The reader's side.

use super::super::order::are_ordered;
use super::super::query::Span;
use super::bounds::Numbers;
use super::codes::Blocks;
use super::params::Params;
use crate::codes::{self, View};
use crate::error::DecodeError;
use crate::frame::PARAMS_LEN;
use core::ops::Bound;

/// The most blocks that a query searches: a range of the greatest length that the filter is for touches no more. The
/// answer for longer ranges is *maybe*.
pub(super) const MAX_BLOCKS: u128 = 129;
/// The most bits of buckets that a query of several blocks searches, in lengths of the longest bucket. It answers
/// *maybe* where the buckets have more: a writer's have 16 on average in [`MAX_BLOCKS`] blocks, whatever the keys are.
pub(super) const MAX_LONGEST_BUCKETS: u64 = 20;

/// All that is known of a filter without its codes.
#[derive(Clone, Copy, Debug)]
pub(in crate::ranges) struct Integers {
    pub(in crate::ranges) params: Params,
    blocks: Blocks,
    codes: codes::Layout,
}

/// A search in one block.
#[derive(Clone, Copy)]
pub(in crate::ranges) struct Search {
    /// The bucket and the offset of the block.
    place: (u64, u64),
    from: u64,
    to: u64,
}

impl Integers {
    /// Decodes the parameters, and checks all of `payload`, which begins at byte `base` of the frame, except its codes.
    pub(in crate::ranges) fn check(
        stored: &[u8; PARAMS_LEN],
        num_entries: u64,
        payload: &[u8],
        base: u64,
    ) -> Result<Self, DecodeError> {
        let params = Params::decode(stored, num_entries)?;
        let prefix_len = u64::from(params.prefix_len);
        let after_prefix = payload.get(usize::from(params.prefix_len)..).unwrap_or(&[]);
        let codes = View::check(params.codes, after_prefix, base + prefix_len).map_err(|error| match error {
            DecodeError::PayloadLength { declared_bytes, .. } => DecodeError::PayloadLength {
                declared_bytes: declared_bytes.saturating_add(prefix_len),
                actual_bytes: payload.len() as u64,
            },
            error => error,
        })?;
        let blocks = Blocks { buckets: params.codes.buckets, log_len: params.log_block.into() };
        Ok(Self { params, blocks, codes })
    }

    /// Returns the rate at which empty ranges of `len` numbers pass at most, in a filter of `num_keys` keys.
    pub(in crate::ranges) fn false_positive_rate(&self, num_keys: u64, len: u64) -> f64 {
        // As many blocks as it touches if it begins with the last number of one.
        let num_blocks = (u128::from(len.saturating_sub(1)) >> self.blocks.log_len) + 1 + u128::from(len > 1);
        match num_blocks > MAX_BLOCKS {
            true => 1.0,
            false => (num_keys as f64 * len as f64 / self.blocks.buckets.whole_range() as f64).min(1.0),
        }
    }

    /// Returns the prefix that all keys have.
    #[inline(always)]
    pub(in crate::ranges) fn prefix<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        &payload[..usize::from(self.params.prefix_len)]
    }

    /// Returns the stored codes.
    #[inline(always)]
    fn codes<'a>(&'a self, payload: &'a [u8]) -> View<'a> {
        View::new(&self.codes, &payload[self.params.prefix_len.into()..])
    }

    /// Returns the numbers that keys have after their prefix.
    #[inline(always)]
    fn numbers<'a>(&self, payload: &'a [u8]) -> Numbers<'a> {
        Numbers { prefix: self.prefix(payload), width: self.params.width.into() }
    }

    /// Returns whether there may be a key between the bounds; true if they are not in order.
    #[inline]
    pub(in crate::ranges) fn may_contain_range(
        &self,
        payload: &[u8],
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> bool {
        match self.numbers(payload).of_range(lower, upper) {
            // There is none between bounds that are not in order, either: these are *maybe*.
            None => !are_ordered(lower, upper),
            range => self.may_contain(payload, range),
        }
    }

    /// Returns whether there may be a key that begins with `prefix`.
    #[inline]
    pub(in crate::ranges) fn may_contain_prefix(&self, payload: &[u8], prefix: &[u8]) -> bool {
        self.may_contain(payload, self.numbers(payload).of_prefix(prefix))
    }

    /// Returns the search for a range, or the answer, if it needs no search or several.
    #[inline]
    pub(in crate::ranges) fn start(&self, payload: &[u8], span: Span<'_>) -> Result<Search, bool> {
        let numbers = self.numbers(payload);
        let range = match span {
            Span::Range(lower, upper) => numbers.of_range(lower, upper),
            Span::Prefix(prefix) => numbers.of_prefix(prefix),
        };
        let (first, last) = range.ok_or(false)?;
        let ((block, from), (last_block, to)) = (self.blocks.split(first), self.blocks.split(last));
        if block != last_block {
            return Err(self.may_contain(payload, range));
        }
        let search = Search { place: self.blocks.locate(block), from, to };
        self.codes(payload).prefetch_directory(search.place.0);
        Ok(search)
    }

    /// Prefetches the codes of a search whose directory is in a cache.
    #[inline]
    pub(in crate::ranges) fn prefetch(&self, payload: &[u8], search: &Search) {
        let (bucket, _) = self.blocks.code(search.place, search.from);
        self.codes(payload).prefetch_codes(bucket);
    }

    /// Returns the answer of a search.
    #[inline]
    pub(in crate::ranges) fn finish(&self, payload: &[u8], search: &Search) -> bool {
        self.has_from(self.codes(payload), search.place, search.from, search.to)
    }

    /// Returns whether there may be a key among the numbers of `range`; false if there is no range.
    #[inline(always)]
    fn may_contain(&self, payload: &[u8], range: Option<(u128, u128)>) -> bool {
        let Some((first, last)) = range else { return false };
        let codes = self.codes(payload);
        let ((block, from), (last_block, to)) = (self.blocks.split(first), self.blocks.split(last));
        if block == last_block {
            return self.has_within(codes, block, from, to);
        }
        self.has_within_some(codes, (block, from), (last_block, to))
    }

    /// Returns whether there may be a key in several blocks.
    #[inline(never)]
    fn has_within_some(&self, codes: View<'_>, (block, from): (u128, u64), (last_block, to): (u128, u64)) -> bool {
        if last_block - block >= MAX_BLOCKS {
            return true;
        }
        let mut left = MAX_LONGEST_BUCKETS * self.params.codes.max_bucket_bits();
        (block..=last_block).any(|number| {
            let from = if number == block { from } else { 0 };
            let to = if number == last_block { to } else { self.blocks.last() };
            let place = self.blocks.locate(number);
            match self.bits(codes, place, from, to).and_then(|bits| left.checked_sub(bits)) {
                Some(rest) => {
                    left = rest;
                    self.has_from(codes, place, from, to)
                }
                None => true,
            }
        })
    }

    /// Returns the number of bits of the buckets that have the codes of `from..=to` in the block that begins at `place`.
    #[inline(always)]
    fn bits(&self, codes: View<'_>, place: (u64, u64), from: u64, to: u64) -> Option<u64> {
        let ((bucket, from), (last_bucket, to)) = (self.blocks.code(place, from), self.blocks.code(place, to));
        let bits = codes.bits(bucket)?;
        match bucket == last_bucket && from <= to {
            true => Some(bits),
            false => Some(bits + codes.bits(last_bucket)?),
        }
    }

    /// Returns whether a code may be one of `from..=to` in `block`.
    #[inline(always)]
    fn has_within(&self, codes: View<'_>, block: u128, from: u64, to: u64) -> bool {
        self.has_from(codes, self.blocks.locate(block), from, to)
    }

    /// Returns whether a code may be one of `from..=to` in the block that begins at `place`.
    #[inline(always)]
    fn has_from(&self, codes: View<'_>, place: (u64, u64), from: u64, to: u64) -> bool {
        let ((bucket, from), (last_bucket, to)) = (self.blocks.code(place, from), self.blocks.code(place, to));
        // Where there is one bucket, the end of it may be followed by its start.
        if bucket == last_bucket && from <= to {
            return codes.may_have(bucket, from, to);
        }
        let end = self.blocks.buckets.range - 1;
        codes.may_have(bucket, from, end) || codes.may_have(last_bucket, 0, to)
    }

    /// Returns this with each engine of the processor, the portable one first.
    #[cfg(all(test, feature = "std"))]
    pub(in crate::ranges) fn with_each_engine(self) -> impl Iterator<Item = Self> {
        self.codes.with_each_engine().map(move |codes| Self { codes, ..self })
    }
}
