//! A partitioned filter of an open table: its index stays in memory, its partitions come through the cache.

use super::super::cache::BlockCache;
use super::super::storage::{PAGE_LEN, PageBuf};
use super::columns::{ByColumns, ColumnSums, first_columns};
use super::filter::FilterLocation;
use super::format::FilterHandle;
use super::warning::FilterProblem;
use crate::ledger::BlockCounters;
use crate::partition::{PartitionHandle, PartitionedFilter};
use crate::{AlignedBytes, DecodeError, FilterBlock, FilterBlockReader, FilterKind, OpenOptions};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The index of a partitioned filter, and where its partitions are.
#[derive(Debug)]
pub(super) struct Partitions {
    pub(super) index: PartitionedFilter<PageBuf>,
    /// Of all of it.
    location: FilterLocation,
    /// For each partition: it could not be read or opened; a warning has been recorded.
    has_failed: Box<[AtomicBool]>,
}

/// What the usable partitions state together.
pub(super) struct Summary {
    pub(super) kind: FilterKind,
    pub(super) predicted_fpr: f64,
    pub(super) fill: f64,
}

impl Summary {
    /// `None` without a partition.
    fn of<B: AsRef<[u8]>>(filters: impl Iterator<Item = impl Deref<Target = FilterBlock<B>>>) -> Option<Self> {
        let (mut kind, mut passed, mut num_entries, mut filled, mut len) = (None, 0.0, 0, 0.0, 0.0);
        for filter in filters {
            kind.get_or_insert(filter.kind());
            passed += filter.false_positive_rate() * filter.num_entries() as f64;
            num_entries += filter.num_entries();
            filled += filter.fill() * filter.block_len() as f64;
            len += filter.block_len() as f64;
        }
        kind.map(|kind| Self { kind, predicted_fpr: passed / num_entries.max(1) as f64, fill: filled / len })
    }
}

/// Opens the index of a filter whose partitions end at `index_at` or before.
fn open_index<B: AsRef<[u8]>>(
    index: B,
    index_at: u64,
    options: OpenOptions,
) -> Result<PartitionedFilter<B>, DecodeError> {
    let index = PartitionedFilter::open(index, options)?;
    let is_outside = |p: &PartitionHandle| p.offset.saturating_add(p.len.into()) > index_at;
    let outside = index.partitions().find(is_outside);
    outside.map_or(Ok(index), |p| Err(out_of_range("offset", p.offset, index_at)))
}

/// Where the index of a filter starts in it.
fn index_at(filter_len: u64, index_len: u32) -> Result<u64, DecodeError> {
    filter_len.checked_sub(index_len.into()).ok_or(out_of_range("index length", index_len.into(), filter_len))
}

fn out_of_range(name: &'static str, value: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min: 0, max }
}

/// Length of the partitions and the index, without the padding between them.
pub(super) fn unpadded_len<B: AsRef<[u8]>>(index: &PartitionedFilter<B>, index_len: u32) -> u64 {
    index.partitions().map(|partition| u64::from(partition.len)).sum::<u64>() + u64::from(index_len)
}

impl Partitions {
    /// Opens the index at the end of `location`. Records a warning if that fails.
    pub(super) fn open(location: FilterLocation) -> Option<Self> {
        let FilterHandle { len, index_len, .. } = location.handle;
        let index_at = index_at(len, index_len).map_err(FilterProblem::Decode);
        let opened = index_at.and_then(|index_at| {
            let bytes = location.read(index_at, index_len.into())?;
            let index = open_index(bytes, index_at, location.options).map_err(FilterProblem::Decode)?;
            let (num_entries, max) = (index.num_entries(), location.entries_max);
            if num_entries > max { Err(FilterProblem::TooManyEntries { num_entries, max }) } else { Ok(index) }
        });
        let index = opened.map_err(|problem| location.warn("index".to_owned(), problem)).ok()?;
        let has_failed = index.partitions().map(|_| AtomicBool::new(false)).collect();
        Some(Self { index, location, has_failed })
    }

    /// Opens every partition once, as every other filter is when its table is opened. `None` if none is usable. With
    /// what they state, bytes and rate by columns, if a table may hold some.
    pub(super) fn summary(&self) -> Option<(Summary, Option<ByColumns>)> {
        let mut columns = self.location.context.limits_columns.then(ColumnSums::default);
        let usable = self.index.partitions().filter_map(|partition| {
            let filter = self.read(partition)?;
            columns.iter_mut().for_each(|columns| columns.add(&filter));
            Some(Box::new(filter))
        });
        let summary = Summary::of(usable)?;
        Some((summary, columns.and_then(ColumnSums::by_columns)))
    }

    /// The first `columns` columns of each partition, read from storage; `None` for an unusable one.
    pub(super) fn first_columns(&self, columns: u32) -> Vec<Option<FilterBlock<AlignedBytes>>> {
        let held = |partition| first_columns(&self.read(partition)?, columns, self.index.partition_options(partition));
        self.index.partitions().map(held).collect()
    }

    pub(super) fn cache(&self) -> &Arc<BlockCache> {
        &self.location.context.cache
    }

    /// A partition, from the cache or from storage; `None` if it is unusable.
    pub(super) fn load(
        &self,
        partition: PartitionHandle,
        account: &BlockCounters,
    ) -> Option<Arc<FilterBlock<PageBuf>>> {
        let cache = &self.location.context.cache;
        let offset = self.location.offset + partition.offset;
        if let Some(filter) = cache.filter(self.location.file_id, offset) {
            account.note_cache_hit();
            return Some(filter);
        }
        let filter = Arc::new(self.read(partition)?);
        let before = offset as usize % PAGE_LEN;
        account.note_read((before + partition.len as usize).next_multiple_of(PAGE_LEN));
        cache.insert_filter(self.location.file_id, offset, Arc::clone(&filter));
        Some(filter)
    }

    /// Reads a partition. If that fails it is reported once, and not tried again.
    fn read(&self, partition: PartitionHandle) -> Option<FilterBlock<PageBuf>> {
        let has_failed = &self.has_failed[partition.number as usize];
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let location = FilterLocation {
            handle: FilterHandle { len: partition.len.into(), index_len: 0, ..self.location.handle },
            offset: self.location.offset + partition.offset,
            options: self.index.partition_options(partition),
            ..self.location.clone()
        };
        let filter = location.open();
        if filter.is_none() {
            has_failed.store(true, Ordering::Relaxed);
        }
        filter
    }
}

impl FilterLocation {
    /// Reads `len` bytes at `at` of the filter, in whole pages.
    fn read(&self, at: u64, len: u64) -> Result<PageBuf, FilterProblem> {
        super::filter::read_filter(&*self.source, len, self.offset + at).map_err(FilterProblem::Unreadable)
    }
}

/// A partitioned filter of a [`TableFile`](super::TableFile), opened with every check.
#[derive(Debug)]
pub struct TablePartitions<'a> {
    index: PartitionedFilter<&'a [u8]>,
    index_len: u32,
    partitions: Vec<Result<FilterBlockReader<'a>, DecodeError>>,
}

impl<'a> TablePartitions<'a> {
    /// Opens the filter in `bytes`, whose last `index_len` bytes are its index.
    pub(super) fn open(bytes: &'a [u8], index_len: u32, options: OpenOptions) -> Result<Self, DecodeError> {
        let index_at = index_at(bytes.len() as u64, index_len)?;
        let (before, index) = bytes.split_at(index_at as usize);
        let index = open_index(index, index_at, options)?;
        // They end before the index.
        let open = |p: PartitionHandle| index.open_partition(p, &before[p.offset as usize..][..p.len as usize]);
        let partitions = index.partitions().map(open).collect();
        Ok(Self { index, index_len, partitions })
    }

    /// The index.
    pub fn index(&self) -> &PartitionedFilter<&'a [u8]> {
        &self.index
    }

    /// Where each partition is, its offset counted from the filter's, and its block, if that passes every check.
    pub fn partitions(
        &self,
    ) -> impl ExactSizeIterator<Item = (PartitionHandle, &Result<FilterBlockReader<'a>, DecodeError>)> {
        self.index.partitions().zip(&self.partitions)
    }

    pub(super) fn usable(&self, number: usize) -> Option<&FilterBlockReader<'a>> {
        self.partitions.get(number)?.as_ref().ok()
    }

    /// Length of the partitions and the index in bytes, without the padding to pages.
    pub fn len_bytes(&self) -> u64 {
        unpadded_len(&self.index, self.index_len)
    }

    fn summary(&self) -> Option<Summary> {
        Summary::of(self.partitions.iter().flatten())
    }

    /// The kind of its partitions; `None` if none is usable.
    pub fn kind(&self) -> Option<FilterKind> {
        self.summary().map(|summary| summary.kind)
    }

    /// The share of absent keys, from 0 to 1, that pass the usable partitions, predicted from their bits and weighted
    /// by their entries; `None` without one.
    pub fn false_positive_rate(&self) -> Option<f64> {
        self.summary().map(|summary| summary.predicted_fpr)
    }

    /// The [fill](crate::FilterBlock::fill) of the usable partitions, weighted by their lengths; `None` without one.
    pub fn fill(&self) -> Option<f64> {
        self.summary().map(|summary| summary.fill)
    }
}
