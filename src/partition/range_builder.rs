//! The writer's side of partitioned range filters.

use super::error::PartitionBuildError;
use super::index::Tag;
use super::limit::PartitionLimit;
use super::range_reader::ENTRIES;
use super::writer::{Open, Writer};
use crate::error::BuildError;
use crate::ranges::{RangeFilterBuilder, RangePolicy};
use core::fmt;
use std::vec::Vec;

/// Turns the keys of one table, in order, into the partitions of a range filter and an index.
///
/// It works as [`PartitionedFilterBuilder`](super::PartitionedFilterBuilder) does: it keeps one partition in memory, and
/// the calls that add take a function that stores a finished one and returns its offset. The same keys, policy, limit,
/// context and offsets give the same bytes.
pub struct PartitionedRangeFilterBuilder {
    writer: Writer<RangeFilterBuilder>,
    allows_empty: bool,
}

impl Open for RangeFilterBuilder {
    const TAG: Tag = Tag::Ranges;

    #[inline]
    fn num_added(&self) -> u64 {
        self.num_added()
    }

    fn close_into(&mut self, context: u64, block: &mut Vec<u8>) -> Result<u64, BuildError> {
        let num_keys = self.num_added();
        self.set_context(context).finish_into(block)?;
        Ok(num_keys)
    }
}

impl PartitionedRangeFilterBuilder {
    /// Returns an empty builder. Each partition gets the size that `policy` gives to a filter of its number of keys.
    ///
    /// # Errors
    /// [`BuildError::Setting`] for a limit out of its range.
    pub fn new(policy: RangePolicy, limit: PartitionLimit) -> Result<Self, BuildError> {
        let max_keys = limit.max_keys(policy)?;
        Ok(Self { writer: Writer::new(RangeFilterBuilder::new(policy), max_keys), allows_empty: false })
    }

    /// Binds index and partitions to `context`; see
    /// [`PartitionedFilterBuilder::set_context`](super::PartitionedFilterBuilder::set_context).
    pub fn set_context(&mut self, context: u64) -> &mut Self {
        self.writer.set_context(context);
        self
    }

    /// Permits a filter without keys: it denies every range whose bounds are in order.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.allows_empty = true;
        self
    }

    /// Adds a key. A key equal to the one before is ignored.
    ///
    /// # Errors
    /// [`PartitionBuildError`]; [`Unordered`](PartitionBuildError::Unordered) if the key is below the one before.
    pub fn add_key<E>(
        &mut self,
        key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        self.writer.advance(key, store)?;
        self.writer.open.add_key(key);
        Ok(())
    }

    /// Stores the last partition and returns the index, to be stored by the caller.
    ///
    /// # Errors
    /// [`PartitionBuildError::Empty`] if nothing was added, and the errors of
    /// [`add_key`](PartitionedRangeFilterBuilder::add_key).
    pub fn finish<E>(mut self, store: impl FnOnce(&[u8]) -> Result<u64, E>) -> Result<Vec<u8>, PartitionBuildError<E>> {
        self.writer.check()?;
        if self.writer.num_added == 0 && !self.allows_empty {
            return Err(PartitionBuildError::Empty);
        }
        self.writer.finish(&ENTRIES, store)
    }

    /// Returns the number of partitions closed so far.
    pub fn num_partitions(&self) -> u32 {
        self.writer.num_partitions()
    }

    /// Returns the number of distinct keys added so far.
    pub fn num_added(&self) -> u64 {
        self.writer.num_entries()
    }

    /// Returns the policy.
    pub fn policy(&self) -> RangePolicy {
        self.writer.open.policy()
    }
}

impl fmt::Debug for PartitionedRangeFilterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, num_partitions) = (self.policy(), self.num_partitions());
        write!(f, "PartitionedRangeFilterBuilder({policy}, {num_partitions} partitions, {} keys)", self.num_added())
    }
}
