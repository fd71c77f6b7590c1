//! The writer's side: numbers that have a bucket and an offset.

use super::super::build::{Locate, build};
use super::super::{Buckets, ENTRIES_PER_BUCKET, Plan, sizing};
use super::{Dimensions, Places};
use crate::hash::fast_range;
use crate::hash_set::{Repeated, Tally};
use crate::output::{Built, Output, Unbuilt};

/// The dimensions of a payload that is to be built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedPlan {
    plan: Plan,
    packing: Packing,
}

/// Bucket and offset in one number. The numbers of 2²⁶ buckets of 2³⁷ places fit.
#[derive(Clone, Copy, Debug)]
struct Packing {
    offset_bits: u32,
    /// What brings the end of all numbers to 2⁶³ at least, and how many times that must grow to be 2⁶⁴: one and
    /// `growth` in 2⁻⁶⁴.
    shift: u32,
    growth: u64,
}

impl Packing {
    fn new(buckets: Buckets) -> Self {
        let offset_bits = u64::BITS - (buckets.range - 1).leading_zeros();
        let end = u128::from(buckets.num) << offset_bits;
        assert!(end <= 1 << 63, "no more codes than a filter has, and no greater range for each");
        let shift = (end as u64).leading_zeros();
        let end = end << shift;
        Self { offset_bits, shift, growth: (((1u128 << 127) / end * 2 - (1 << 64)).min(u64::MAX.into())) as u64 }
    }
}

impl Locate for Packing {
    #[inline(always)]
    fn locate(self, number: u64) -> (u64, u64) {
        (number >> self.offset_bits, number & ((1 << self.offset_bits) - 1))
    }

    #[inline(always)]
    fn spread(self, number: u64) -> u64 {
        let number = number << self.shift;
        number + fast_range(number, self.growth)
    }

    /// Keys may share a place.
    fn sort(self, numbers: &mut [u64]) -> Result<(), Repeated> {
        numbers.sort_unstable();
        Ok(())
    }
}

impl OrderedPlan {
    /// Plans for `num_entries` codes, 1 to 2³² − 1, and `range_per_entry` times as many places, at most 2³¹ times.
    pub(crate) fn new(num_entries: u64, range_per_entry: f64) -> Self {
        let num = num_entries.div_ceil(ENTRIES_PER_BUCKET);
        let range = (range_per_entry * (num_entries as f64 / num as f64)) as u64 + 1;
        let buckets = Buckets { num, range: range.min(1 << 37) };
        let remainder_bits = sizing::best_remainder_bits(range_per_entry) as u8;
        Self { plan: Plan { buckets, remainder_bits }, packing: Packing::new(buckets) }
    }

    pub(crate) const fn places(&self) -> Places {
        Places(self.plan.buckets)
    }

    /// Returns the number that stands for a code.
    #[inline(always)]
    pub(crate) const fn pack(&self, (bucket, offset): (u64, u64)) -> u64 {
        bucket << self.packing.offset_bits | offset
    }

    /// Appends the payload of codes, and returns its dimensions. `all` is the tally of the numbers as they were made.
    ///
    /// # Errors
    /// [`Unbuilt::Unsolved`] if a bucket is longer than readers permit; then `out` may have grown.
    pub(crate) fn build(
        &self,
        numbers: &mut [u64],
        all: Tally,
        out: &mut Output<'_>,
        checks: bool,
    ) -> Result<Built<Dimensions>, Unbuilt> {
        let num_entries = numbers.len() as u64;
        let built = build((self.plan, self.packing), numbers, None, all, out, checks)?;
        Ok(built.map(|params| Dimensions {
            num_entries,
            remainder_bits: params.remainder_bits,
            directory_bits: params.directory_bits,
            bucket_range: params.buckets.range,
        }))
    }
}
