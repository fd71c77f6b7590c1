//! Partitions out, an index at the end: what the builders of filters of keys and of ranges have in common.

use super::error::PartitionBuildError;
use super::index::{self, Facts, Record, Tag};
use super::order;
use crate::bytes;
use crate::error::BuildError;
use crate::frame::HEADER_LEN;
use crate::frame::OpenOptions;
use crate::hash::EntryHasher;
use core::cmp::Ordering;
use std::vec::Vec;

/// A builder of one partition after another.
pub(super) trait Open {
    /// The tag that an index of such partitions states.
    const TAG: Tag;

    /// Returns the number of entries added to the open partition.
    fn num_added(&self) -> u64;

    /// Appends the block of the open partition, under `context`, and returns the number of its entries. The next one is
    /// open then.
    fn close_into(&mut self, context: u64, block: &mut Vec<u8>) -> Result<u64, BuildError>;
}

/// The partitions of one table.
pub(super) struct Writer<B> {
    pub(super) open: B,
    max_entries: u64,
    context: u64,
    /// The context that was given after a partition had been closed under this one.
    has_late_context: bool,
    /// The last order key.
    last: Vec<u8>,
    /// The number of order keys.
    pub(super) num_added: u64,
    /// A block, kept for its memory.
    block: Vec<u8>,
    /// The index of the closed partitions.
    records: Vec<u8>,
    separators: Vec<u8>,
    num_entries: u64,
    end_offset: u64,
    has_failed: bool,
}

impl<B: Open> Writer<B> {
    /// Returns a writer of partitions that are full with `max_entries` entries.
    pub(super) fn new(open: B, max_entries: u64) -> Self {
        Self {
            open,
            max_entries,
            context: 0,
            has_late_context: false,
            last: Vec::new(),
            num_added: 0,
            block: Vec::new(),
            records: Vec::new(),
            separators: Vec::new(),
            num_entries: 0,
            end_offset: 0,
            has_failed: false,
        }
    }

    pub(super) fn set_context(&mut self, context: u64) {
        if self.num_partitions() == 0 {
            self.context = context;
        } else if context != self.context {
            self.has_late_context = true;
        }
    }

    /// Moves on to an order key, whose entries are then to be added to the open partition: a full one is closed first.
    #[inline]
    pub(super) fn advance<E>(
        &mut self,
        order_key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        self.check()?;
        if self.num_added > 0 {
            match bytes::compare(&self.last, order_key) {
                Ordering::Less if self.open.num_added() >= self.max_entries => self.close(Some(order_key), store)?,
                Ordering::Less | Ordering::Equal => {}
                Ordering::Greater => {
                    return self.fail(PartitionBuildError::Unordered { num_added: self.num_added });
                }
            }
        }
        self.num_added += 1;
        self.last.clear();
        self.last.extend_from_slice(order_key);
        Ok(())
    }

    /// Closes the open partition, which has entries; `next` is the order key after its last.
    fn close<E>(
        &mut self,
        next: Option<&[u8]>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        // This also holds if `store` panics: the partition is then lost.
        self.has_failed = true;
        let closed = self.try_close(next, store);
        self.has_failed = closed.is_err();
        closed
    }

    fn try_close<E>(
        &mut self,
        next: Option<&[u8]>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        let partition = self.num_partitions();
        let too_large = PartitionBuildError::TooLarge { num_partitions: partition };
        if partition == u32::MAX {
            return Err(too_large);
        }
        let context = index::partition_context(self.context, partition);
        self.block.clear();
        let built = self.open.close_into(context, &mut self.block);
        let num_entries = built.map_err(|error| PartitionBuildError::Build { partition, error })?;

        let offset = store(&self.block).map_err(|error| PartitionBuildError::Store { partition, error })?;
        let Ok(len) = u32::try_from(self.block.len()) else { return Err(too_large) };
        let (min, end) = (self.end_offset, offset.checked_add(len.into()));
        self.end_offset =
            end.filter(|_| offset >= min).ok_or(PartitionBuildError::Offset { partition, offset, min })?;
        match next {
            Some(next) => order::push_separator(&self.last, next, &mut self.separators),
            None => self.separators.extend_from_slice(&self.last),
        }
        let Ok(separator_end) = u32::try_from(self.separators.len()) else { return Err(too_large) };
        self.records.extend_from_slice(&Record { offset, len, separator_end }.encode());
        self.num_entries += num_entries;
        Ok(())
    }

    /// Closes the last partition and returns the index.
    pub(super) fn finish<E>(
        &mut self,
        entries: &EntryHasher,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<Vec<u8>, PartitionBuildError<E>> {
        self.check()?;
        if self.open.num_added() > 0 {
            self.close(None, store)?;
        }
        let facts =
            Facts { entries: entries.clone(), num_entries: self.num_entries, num_partitions: self.num_partitions() };
        let mut index = std::vec![0; HEADER_LEN];
        index.extend_from_slice(&self.records);
        index.extend_from_slice(&self.separators);
        index::write_header(&mut index, B::TAG, &facts, self.context);
        let options = OpenOptions::new().with_context(self.context).expect(entries);
        debug_assert!(index::check(&index, B::TAG, &options).is_ok(), "a builder's index is sound");
        Ok(index)
    }

    pub(super) fn num_partitions(&self) -> u32 {
        (self.records.len() / index::RECORD_LEN) as u32
    }

    /// Returns the number of entries, of closed partitions and of the open one.
    pub(super) fn num_entries(&self) -> u64 {
        self.num_entries + self.open.num_added()
    }

    /// Refuses every call after an error.
    #[inline]
    pub(super) fn check<E>(&self) -> Result<(), PartitionBuildError<E>> {
        match self.has_failed {
            true => Err(PartitionBuildError::Failed),
            false if self.has_late_context => {
                Err(PartitionBuildError::LateContext { num_partitions: self.num_partitions() })
            }
            false => Ok(()),
        }
    }

    pub(super) fn fail<T, E>(&mut self, error: PartitionBuildError<E>) -> Result<T, PartitionBuildError<E>> {
        self.has_failed = true;
        Err(error)
    }
}
