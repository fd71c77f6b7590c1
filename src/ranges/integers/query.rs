//! The reader's side.

use super::super::query::{Numbers, Span};
use super::codes::Blocks;
use super::params::Params;
use crate::codes::{self, View};
use crate::error::DecodeError;
use crate::frame::PARAMS_LEN;
use core::iter;

/// The most blocks that a query searches: a range of the greatest length that the filter is for touches no more. The
/// answer for longer ranges is *maybe*.
pub(super) const MAX_BLOCKS: u128 = 33;
/// The most bits of buckets that a query of several blocks searches, in lengths of the longest bucket. It answers
/// *maybe* where the buckets have more: a writer's have 4 on average in [`MAX_BLOCKS`] blocks, whatever the keys are.
pub(super) const MAX_LONGEST_BUCKETS: u64 = 8;

/// All that is known of a filter without its codes.
#[derive(Clone, Copy, Debug)]
pub(in crate::ranges) struct Integers {
    pub(in crate::ranges) params: Params,
    blocks: Blocks,
    /// The numbers of the first and the last key.
    ends: (u128, u128),
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
        let codes_at = params.codes_at();
        let codes = View::check_from(codes_at, params.codes, payload, base)?;
        let blocks = Blocks { buckets: params.codes.buckets, log_len: params.log_block.into() };
        let numbers = Numbers { prefix: &[], width: params.width.into() };
        let ends = &payload[params.prefix_len.into()..codes_at];
        let ends = (numbers.number(ends), numbers.number(&ends[numbers.width..]));
        Ok(Self { params, blocks, ends, codes })
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
        View::new(&self.codes, &payload[self.params.codes_at()..])
    }

    /// Returns whether there may be a key of `span`; true if bounds are not in order.
    #[inline]
    pub(in crate::ranges) fn may_have(&self, payload: &[u8], span: Span<'_>) -> bool {
        match self.start(payload, span) {
            Ok(search) => self.finish(payload, &search),
            Err(answer) => answer,
        }
    }

    /// Returns the search for a range, whose directory is prefetched, or the answer, if it needs no search or several.
    #[inline(always)]
    pub(in crate::ranges) fn start(&self, payload: &[u8], span: Span<'_>) -> Result<Search, bool> {
        let numbers = Numbers { prefix: self.prefix(payload), width: self.params.width.into() };
        // There is none between bounds that are not in order, either: these are *maybe*.
        let (first, last) = numbers.of_span(span).ok_or_else(|| !span.is_ordered())?;
        let (least, greatest) = self.ends;
        if first <= least || last >= greatest {
            return Err(first <= greatest && last >= least);
        }
        let ((block, from), (last_block, to)) = (self.blocks.split(first), self.blocks.split(last));
        if block != last_block {
            return Err(self.has_within_some(payload, (block, from), (last_block, to)));
        }
        let place = self.blocks.locate(block);
        self.codes(payload).prefetch_directory(place.0);
        Ok(Search { place, from, to })
    }

    /// Prefetches the codes of a search whose directory is in a cache.
    #[inline]
    pub(in crate::ranges) fn prefetch(&self, payload: &[u8], search: &Search) {
        let (bucket, _) = self.blocks.code(search.place, search.from);
        self.codes(payload).prefetch_codes(bucket);
    }

    /// Returns the answer of a search: whether there may be a code of it.
    #[inline(always)]
    pub(in crate::ranges) fn finish(&self, payload: &[u8], search: &Search) -> bool {
        let codes = self.codes(payload);
        self.pieces(search).any(|(bucket, from, to)| codes.may_have(bucket, from, to))
    }

    /// Returns the buckets that have codes of a search, with the first and the last one in each. It may be one twice, whose
    /// end is followed by its start.
    #[inline(always)]
    fn pieces(&self, search: &Search) -> impl Iterator<Item = (u64, u64, u64)> {
        let [(bucket, from), (last_bucket, to)] =
            [search.from, search.to].map(|low| self.blocks.code(search.place, low));
        let is_one = bucket == last_bucket && from <= to;
        let end = if is_one { to } else { self.blocks.buckets.range - 1 };
        iter::once((bucket, from, end)).chain((!is_one).then_some((last_bucket, 0, to)))
    }

    /// Returns whether there may be a key in several blocks. What is read of each is prefetched for all.
    #[inline(never)]
    fn has_within_some(&self, payload: &[u8], (block, from): (u128, u64), (last_block, to): (u128, u64)) -> bool {
        let codes = self.codes(payload);
        let num = (last_block - block).saturating_add(1);
        if num > MAX_BLOCKS {
            return true;
        }
        let mut searches = [Search { place: (0, 0), from: 0, to: self.blocks.last() }; MAX_BLOCKS as usize];
        let searches = &mut searches[..num as usize];
        for (search, number) in searches.iter_mut().zip(block..) {
            search.place = self.blocks.locate(number);
            codes.prefetch_directory(search.place.0);
        }
        (searches[0].from, searches[num as usize - 1].to) = (from, to);
        let mut left = MAX_LONGEST_BUCKETS * self.params.codes.max_bucket_bits();
        for search in &*searches {
            for (bucket, ..) in self.pieces(search) {
                match codes.bits(bucket).and_then(|bits| left.checked_sub(bits)) {
                    Some(rest) => left = rest,
                    None => return true,
                }
                codes.prefetch_codes(bucket);
            }
        }
        searches.iter().any(|search| self.finish(payload, search))
    }

    /// Returns this with each engine of the processor, the portable one first.
    #[cfg(all(test, feature = "std"))]
    pub(in crate::ranges) fn with_each_engine(self) -> impl Iterator<Item = Self> {
        self.codes.with_each_engine().map(move |codes| Self { codes, ..self })
    }
}
