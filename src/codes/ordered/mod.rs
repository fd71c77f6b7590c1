//! The same payload for numbers that are no hashes: for range filters, whose codes have a bucket and an offset in it, and
//! are searched for the first at or above another.
//!
//! Codes may crowd as far as readers permit ([`Params::max_bucket_bits`]): keys that are close together share a bucket.

#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "a call of code for features of which there is a proof")]
mod bmi2;
#[cfg(feature = "std")]
mod build;
mod engine;
mod portable;

#[cfg(feature = "std")]
pub(crate) use build::OrderedPlan;

use super::{ANCHOR_LEN, Buckets, ENTRIES_PER_BUCKET, GROUP, LINE_LEN, Layout, Params, View};
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use engine::Engine;

/// The dimensions of a payload of `num_entries` codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimensions {
    pub(crate) num_entries: u64,
    pub(crate) remainder_bits: u8,
    pub(crate) directory_bits: u8,
    pub(crate) bucket_range: u64,
}

/// The places that codes may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places(Buckets);

impl Places {
    /// Returns the number of places, below 2⁶⁴.
    pub(crate) const fn num(&self) -> u64 {
        self.0.num.saturating_mul(self.0.range)
    }

    /// Returns the number of places of a bucket.
    #[inline(always)]
    pub(crate) const fn bucket_range(&self) -> u64 {
        self.0.range
    }

    /// Returns the bucket and the offset of `hash`.
    #[inline(always)]
    pub(crate) const fn locate(&self, hash: KeyHash) -> (u64, u64) {
        self.0.locate(hash)
    }

    /// Returns the bucket behind `bucket`; the first is behind the last.
    #[inline(always)]
    pub(crate) const fn next_bucket(&self, bucket: u64) -> u64 {
        if bucket + 1 == self.0.num { 0 } else { bucket + 1 }
    }
}

/// Codes in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ordered {
    layout: Layout,
    engine: Engine,
}

impl Ordered {
    /// Checks all of `payload`, at `base` of the frame, but its codes.
    pub(crate) fn check(dimensions: Dimensions, payload: &[u8], base: u64) -> Result<Self, DecodeError> {
        let Dimensions { num_entries, remainder_bits, directory_bits, bucket_range } = dimensions;
        let fields = [remainder_bits, directory_bits, ENTRIES_PER_BUCKET as u8];
        let params = Params::new(fields, num_entries.div_ceil(ENTRIES_PER_BUCKET), bucket_range)?;
        Ok(Self { layout: View::check(params, payload, base)?, engine: Engine::best(&params) })
    }

    #[inline(always)]
    pub(crate) const fn places(&self) -> Places {
        Places(self.layout.params.buckets)
    }

    /// Returns whether `bucket` may have a code with an offset in `from..=to`; `from` is at most `to`.
    #[inline(always)]
    pub(crate) fn may_have(&self, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
        // A payload of another length than was checked is refused here.
        View::new(&self.layout, payload);
        self.engine.may_have(&self.layout, payload, bucket, from, to)
    }

    /// Returns the number of bits of the codes of `bucket`; `None` if it is unreadable, so that it may have any code.
    #[inline(always)]
    pub(crate) fn bits(&self, payload: &[u8], bucket: u64) -> Option<u64> {
        View::new(&self.layout, payload).bucket(bucket).map(|bucket| bucket.end - bucket.start)
    }

    /// Returns the most bits that a readable bucket has.
    #[inline(always)]
    pub(crate) const fn max_bucket_bits(&self) -> u64 {
        self.layout.params.max_bucket_bits()
    }

    /// Prefetches what says where the codes of `bucket` are.
    #[inline]
    pub(crate) fn prefetch_directory(&self, payload: &[u8], bucket: u64) {
        let Layout { params, fields_start, .. } = self.layout;
        prefetch(payload, ((bucket / GROUP).saturating_sub(1) * ANCHOR_LEN) as usize);
        prefetch(payload, ((fields_start + bucket * u64::from(params.directory_bits)) / 8) as usize);
    }

    /// Prefetches the codes of `bucket`, of which few have more than three lines.
    #[inline]
    pub(crate) fn prefetch_codes(&self, payload: &[u8], bucket: u64) {
        let (start, end) = View::new(&self.layout, payload).bounds(bucket);
        for byte in [start / 8, start / 8 + LINE_LEN as u64, end.wrapping_sub(1) / 8] {
            prefetch(payload, byte as usize);
        }
    }

    /// Returns this with each engine of the processor, the portable one first.
    #[cfg(all(test, feature = "std"))]
    pub(crate) fn with_each_engine(self) -> impl Iterator<Item = Self> {
        Engine::all(&self.layout.params).map(move |engine| Self { engine, ..self })
    }
}
