//! A partitioned filter of an open table: its index stays in memory, its partitions come through the cache.

use super::super::storage::{PAGE_LEN, PageBuf};
use super::filter::FilterLocation;
use super::format::FilterHandle;
use super::warning::FilterProblem;
use crate::ledger::BlockCounters;
use crate::partition::{PartitionHandle, PartitionedFilter};
use crate::{DecodeError, FilterBlock, FilterKind};
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

/// What the partitions state together.
pub(super) struct Summary {
    pub(super) kind: FilterKind,
    pub(super) predicted_fpr: f64,
}

impl Partitions {
    /// Opens the index at the end of `location`. Records a warning if that fails.
    pub(super) fn open(location: FilterLocation) -> Option<Self> {
        let index_at = location.handle.len.checked_sub(location.handle.index_len.into());
        let opened =
            index_at.ok_or(out_of_range("index length", location.handle.index_len.into(), location.handle.len));
        let opened = opened.map_err(FilterProblem::Decode).and_then(|index_at| {
            let bytes = location.read(index_at, location.handle.index_len.into())?;
            let index = PartitionedFilter::open(bytes, location.options).map_err(FilterProblem::Decode)?;
            let end = |p: PartitionHandle| p.offset.saturating_add(p.len.into());
            let is_outside = |p: &PartitionHandle| end(*p) > index_at || p.offset % PAGE_LEN as u64 != 0;
            if let Some(p) = index.partitions().find(is_outside) {
                return Err(FilterProblem::Decode(out_of_range("offset", p.offset, index_at)));
            }
            let (num_entries, max) = (index.num_entries(), location.entries_max);
            if num_entries > max { Err(FilterProblem::TooManyEntries { num_entries, max }) } else { Ok(index) }
        });
        let index = opened.map_err(|problem| location.warn("index".to_owned(), problem)).ok()?;
        let has_failed = index.partitions().map(|_| AtomicBool::new(false)).collect();
        Some(Self { index, location, has_failed })
    }

    /// Opens every partition once, as every other filter is when its table is opened. `None` if none is usable.
    pub(super) fn summary(&self) -> Option<Summary> {
        let (mut kind, mut passed, mut num_entries) = (None, 0.0, 0);
        for filter in self.index.partitions().filter_map(|partition| self.read(partition)) {
            kind.get_or_insert(filter.kind());
            passed += filter.false_positive_rate() * filter.num_entries() as f64;
            num_entries += filter.num_entries();
        }
        kind.map(|kind| Summary { kind, predicted_fpr: passed / num_entries.max(1) as f64 })
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
        account.note_read((partition.len as usize).next_multiple_of(PAGE_LEN));
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

fn out_of_range(name: &'static str, value: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min: 0, max }
}

impl FilterLocation {
    /// Reads `len` bytes at `at` of the filter, in whole pages.
    fn read(&self, at: u64, len: u64) -> Result<PageBuf, FilterProblem> {
        let handle = FilterHandle { len, index_len: 0, ..self.handle };
        super::filter::read_filter(&*self.source, handle, self.offset + at).map_err(FilterProblem::Unreadable)
    }
}
