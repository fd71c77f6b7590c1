//! One filter of an open table: opened with every check, then kept in memory or found in the cache.

use super::super::cache::{FileId, FilterResidence, PinnedBytes};
use super::super::cell::CellKey;
use super::super::manifest::HasherId;
use super::super::purpose::Purpose;
use super::super::storage::{PAGE_LEN, PageBuf, ReadableFile, read_exact_at};
use super::columns::{ByColumns, ColumnStats, HeldBlocks, HeldColumns, by_columns, first_columns};
use super::context::TableContext;
use super::entries::EntryHashes;
use super::format::{FilterHandle, padded};
use super::partitioned::{Partitions, Summary, TablePartitions, unpadded_len};
use super::warning::{FilterProblem, Warning, claimed_format};
use crate::ledger::{BlockCounters, FilterFacts};
use crate::partition::{PartitionLookup, PartitionedFilter};
use crate::{FilterBlock, FilterBlockReader, FilterKind, KeyHash, KeyHasher, KeyTransform, OpenOptions};
use serde::{Serialize, Serializer};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A filter's answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    No,
    Maybe,
    NoFilter,
    Unusable,
}

/// A usable filter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterStats {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its kind.
    #[serde(serialize_with = "kind_name")]
    pub kind: FilterKind,
    /// Length in bytes of its block, or of its partitions and their index, without the padding to pages in the file.
    pub bytes: u64,
    /// Its distinct entries.
    #[serde(rename = "entries")]
    pub num_entries: u64,
    /// Bits of the block for each entry; `None` without entries.
    pub bits_per_key: Option<f64>,
    /// The false-positive rate predicted from its bits, or from those of the columns that are held, where not all are.
    pub predicted_fpr: f64,
    /// Bytes of it that stay in memory as long as its table is open: of its block, of the columns that are held, or of
    /// the index of its partitions. What the cache has of it does not count.
    pub held_bytes: u64,
    /// How many of its columns memory holds, where a budget decides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnStats>,
    /// The id of the secret key under which its entries are hashed; `None` where they are hashed with a seed.
    #[serde(skip)]
    pub hash_key_id: Option<u64>,
}

fn kind_name<S: Serializer>(kind: &FilterKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// Where a filter is stored, and what it must match.
#[derive(Clone, Debug)]
pub(super) struct FilterLocation {
    pub(super) context: Arc<TableContext>,
    pub(super) file: String,
    pub(super) file_id: FileId,
    pub(super) source: Arc<dyn ReadableFile>,
    pub(super) handle: FilterHandle,
    pub(super) offset: u64,
    pub(super) options: OpenOptions,
    /// The most entries that the table can have for it. A block that claims more is not of this table, whatever its
    /// checksums, and its number is not used in any computation.
    pub(super) entries_max: u64,
}

impl FilterLocation {
    /// Reads the filter and checks all of it. Records a warning if that fails.
    pub(super) fn open(&self) -> Option<FilterBlock<PageBuf>> {
        let mut claimed = "unread".to_owned();
        let read = read_filter(&*self.source, self.handle.len, self.offset).map_err(FilterProblem::Unreadable);
        let opened = read.and_then(|block| {
            claimed = claimed_format(block.as_slice());
            let filter = self.options.open_owned(block).map_err(|error| FilterProblem::Decode(error.error()))?;
            let (num_entries, max) = (filter.num_entries(), self.entries_max);
            if num_entries <= max { Ok(filter) } else { Err(FilterProblem::TooManyEntries { num_entries, max }) }
        });
        opened.map_err(|problem| self.warn(claimed, problem)).ok()
    }

    pub(super) fn warn(&self, claimed_format: String, problem: FilterProblem) {
        let (file, offset, len_bytes) = (self.file.clone(), self.offset, self.handle.len);
        self.context.warn(Warning { file, offset, len_bytes, claimed_format, problem });
    }
}

/// Reads `len` bytes of a filter at `offset` in whole pages, and cuts off what is before and after them.
pub(super) fn read_filter(source: &dyn ReadableFile, len: u64, offset: u64) -> Result<PageBuf, String> {
    let before = offset % PAGE_LEN as u64;
    let read = || {
        let pages_len = before.checked_add(len).and_then(padded);
        let mut block = PageBuf::for_stored(pages_len.unwrap_or(u64::MAX))?;
        read_exact_at(source, block.as_mut_slice(), offset - before)?;
        // Within the pages that were read, so within `usize`.
        block.advance(before as usize);
        block.truncate(len as usize);
        Ok(block)
    };
    read().map_err(|error: io::Error| error.to_string())
}

/// A filter that passed every check, with its figures that take a walk through its bytes.
#[derive(Debug)]
pub(super) struct OpenFilter {
    stats: FilterStats,
    transform: KeyTransform,
    hasher: KeyHasher,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Pinned {
        filter: FilterBlock<PageBuf>,
        _bytes: PinnedBytes,
    },
    Cached {
        location: FilterLocation,
        /// It could not be read again; a warning has been recorded.
        has_failed: AtomicBool,
    },
    /// Only in storage: a table may hold the first of its columns.
    Stored {
        location: FilterLocation,
        by_columns: ByColumns,
        /// It could not be read again; a warning has been recorded.
        has_failed: AtomicBool,
    },
    Partitioned {
        partitions: Arc<Partitions>,
        /// `None` if partitions are loaded through the cache; otherwise a table may hold the first of their columns.
        by_columns: Option<ByColumns>,
        _index_bytes: PinnedBytes,
    },
}

/// A filter that is held while it is probed.
pub(crate) enum Loaded<'a> {
    Pinned(&'a FilterBlock<PageBuf>),
    Cached(Arc<FilterBlock<PageBuf>>),
    /// Opened from bytes in memory, outside a store.
    Opened(FilterBlockReader<'a>),
    /// An index, and those of its partitions that are usable. There is at least one partition.
    Partitioned(&'a PartitionedFilter<PageBuf>, Vec<Option<Arc<FilterBlock<PageBuf>>>>),
    /// The same, opened from bytes in memory.
    OpenedPartitions(TablePartitions<'a>),
}

/// Whether `filter` may contain a cell; `None` if the cell has no entry.
fn ask<B: AsRef<[u8]>>(filter: &FilterBlock<B>, key: CellKey<'_>) -> Option<bool> {
    let entries = filter.entry_hasher();
    let hash = match entries.transform() {
        KeyTransform::FixedPrefix { .. } => entries.hash_key(key.row),
        _ => entries.hash_row_column(key.row, key.column),
    };
    hash.map(|hash| filter.may_contain_hash(hash))
}

/// Whether the partition of a cell may contain it; `None` if the cell has no entry or `usable` has no such partition.
fn ask_partition<'a, I: AsRef<[u8]>, B: AsRef<[u8]> + 'a>(
    index: &PartitionedFilter<I>,
    usable: impl FnOnce(usize) -> Option<&'a FilterBlock<B>>,
    key: CellKey<'_>,
) -> Option<bool> {
    let found = match index.transform() {
        KeyTransform::FixedPrefix { .. } => index.find_key(key.row),
        _ => index.find_row_column(key.row, key.column),
    };
    match found {
        PartitionLookup::NoEntry => None,
        PartitionLookup::Absent => Some(false),
        PartitionLookup::Partition(partition) => ask(usable(partition.number as usize)?, key),
    }
}

impl Loaded<'_> {
    /// Whether the filter may contain a cell; `None` if the cell has no entry, or is in an unusable partition.
    pub(super) fn may_contain_cell(&self, key: CellKey<'_>) -> Option<bool> {
        match self {
            Self::Pinned(filter) => ask(filter, key),
            Self::Cached(filter) => ask(filter, key),
            Self::Opened(reader) => ask(reader, key),
            Self::Partitioned(index, partitions) => ask_partition(index, |number| partitions[number].as_deref(), key),
            Self::OpenedPartitions(filter) => ask_partition(filter.index(), |number| filter.usable(number), key),
        }
    }

    /// Whether the filter may contain a hash that is in no partition: the `i`th of many, spread over the partitions.
    pub(crate) fn may_contain_absent(&self, i: u64, hash: KeyHash) -> bool {
        match self {
            Self::Pinned(filter) => filter.may_contain_hash(hash),
            Self::Cached(filter) => filter.may_contain_hash(hash),
            Self::Opened(reader) => reader.may_contain_hash(hash),
            Self::OpenedPartitions(filter) => {
                let number = (i % filter.index().partitions().len().max(1) as u64) as usize;
                filter.usable(number).is_none_or(|filter| filter.may_contain_hash(hash))
            }
            Self::Partitioned(_, partitions) => partitions[(i % partitions.len() as u64) as usize]
                .as_ref()
                .is_none_or(|filter| filter.may_contain_hash(hash)),
        }
    }
}

impl OpenFilter {
    /// Opens the filter at `location`; `None` if it is unusable; a warning has then been recorded.
    pub(super) fn open(purpose: Purpose, location: FilterLocation) -> Option<Self> {
        if location.handle.index_len > 0 {
            return Self::open_partitioned(purpose, location);
        }
        let filter = location.open()?;
        let (bytes, num_entries) = (location.handle.len, filter.num_entries());
        let mut stats = FilterStats {
            purpose,
            kind: filter.kind(),
            bytes,
            num_entries,
            bits_per_key: (num_entries > 0).then(|| bytes as f64 * 8.0 / num_entries as f64),
            predicted_fpr: filter.false_positive_rate(),
            held_bytes: 0,
            columns: None,
            hash_key_id: HasherId::of(filter.hasher()).key_id(),
        };
        let (transform, hasher) = (filter.transform(), filter.hasher());
        let cache = &location.context.cache;
        // A filter that the cache cannot hold would be read for each lookup.
        let is_cached =
            location.context.filter_residence == FilterResidence::Cached && cache.fits_filter(location.handle.len);
        let elastic = if location.context.limits_columns { by_columns(&filter) } else { None };
        let held = if let Some(by_columns) = elastic {
            Held::Stored { location, by_columns, has_failed: AtomicBool::new(false) }
        } else if is_cached {
            cache.insert_filter(location.file_id, location.offset, Arc::new(filter));
            Held::Cached { location, has_failed: AtomicBool::new(false) }
        } else {
            stats.held_bytes = bytes;
            Held::Pinned { filter, _bytes: cache.pin(location.handle.len) }
        };
        Some(Self { stats, transform, hasher, held })
    }

    fn open_partitioned(purpose: Purpose, location: FilterLocation) -> Option<Self> {
        let (handle, cache) = (location.handle, Arc::clone(&location.context.cache));
        let partitions = Partitions::open(location)?;
        let (Summary { kind, predicted_fpr, .. }, by_columns) = partitions.summary()?;
        let index = &partitions.index;
        let (bytes, num_entries) = (unpadded_len(index, handle.index_len), index.num_entries());
        let stats = FilterStats {
            purpose,
            kind,
            bytes,
            num_entries,
            bits_per_key: Some(bytes as f64 * 8.0 / num_entries as f64),
            predicted_fpr,
            held_bytes: handle.index_len.into(),
            columns: None,
            hash_key_id: HasherId::of(index.hasher()).key_id(),
        };
        let (transform, hasher) = (index.transform(), index.hasher());
        let index_bytes = cache.pin(handle.index_len.into());
        let held = Held::Partitioned { partitions: Arc::new(partitions), by_columns, _index_bytes: index_bytes };
        Some(Self { stats, transform, hasher, held })
    }

    pub(super) fn stats(&self) -> FilterStats {
        self.stats
    }

    pub(super) fn transform(&self) -> KeyTransform {
        self.transform
    }

    /// What the ledger needs to know of it, unless it is probed only as far as a table holds it.
    pub(super) fn facts(&self) -> Option<FilterFacts> {
        let is_stored = matches!(self.held, Held::Stored { .. } | Held::Partitioned { by_columns: Some(_), .. });
        (!is_stored).then(|| FilterFacts::new(self.stats.kind, self.stats.predicted_fpr))
    }

    /// Bytes and rate with 1, 2, … columns, if a table may hold some; `None` once it could not be read again.
    pub(super) fn by_columns(&self) -> Option<&[(u64, f64)]> {
        match &self.held {
            Held::Stored { by_columns, has_failed, .. } if !has_failed.load(Ordering::Relaxed) => Some(by_columns),
            Held::Partitioned { by_columns, .. } => by_columns.as_deref(),
            _ => None,
        }
    }

    /// Reads the first `columns` columns, at least one; `None` if they cannot be read, which has been recorded. Of a
    /// partitioned filter each partition is read, and those that cannot be are left out.
    pub(super) fn hold(&self, columns: u32) -> Option<HeldColumns> {
        let (blocks, cache) = match &self.held {
            Held::Stored { location, has_failed, .. } => {
                let stored = open_again(location, has_failed)?;
                let filter = first_columns(&stored, columns, location.options)?;
                (HeldBlocks::One(Box::new(filter)), &location.context.cache)
            }
            Held::Partitioned { partitions, by_columns: Some(_), .. } => {
                let filters = partitions.first_columns(columns);
                (HeldBlocks::Partitions(Arc::clone(partitions), filters), partitions.cache())
            }
            _ => return None,
        };
        Some(HeldColumns::new(blocks, columns, self.stats.kind, cache))
    }

    /// The filter's answer. A read of it is counted in `account`.
    #[inline]
    pub(super) fn probe(&self, hashes: &EntryHashes<'_>, account: &BlockCounters) -> Verdict {
        let ask = |filter: &FilterBlock<PageBuf>| self.probe_block(filter, hashes);
        match &self.held {
            Held::Pinned { filter, .. } => ask(filter),
            Held::Cached { location, has_failed } => {
                load_cached(location, has_failed, account).map_or(Verdict::Unusable, |filter| ask(&filter))
            }
            Held::Stored { .. } | Held::Partitioned { by_columns: Some(_), .. } => Verdict::NoFilter,
            Held::Partitioned { partitions, .. } => match hashes.partition(self.stats.purpose, &partitions.index) {
                PartitionLookup::Partition(partition) => {
                    partitions.load(partition, account).map_or(Verdict::Unusable, |filter| ask(&filter))
                }
                PartitionLookup::Absent => Verdict::No,
                PartitionLookup::NoEntry => Verdict::Maybe,
            },
        }
    }

    #[inline]
    fn probe_block(&self, filter: &FilterBlock<PageBuf>, hashes: &EntryHashes<'_>) -> Verdict {
        match filter.may_contain_hash(hashes.get(self.stats.purpose, self.hasher)) {
            true => Verdict::Maybe,
            false => Verdict::No,
        }
    }

    /// The filter, pinned, from the cache, or from storage; `None` if it can no longer be read.
    #[inline]
    pub(super) fn load(&self, account: &BlockCounters) -> Option<Loaded<'_>> {
        match &self.held {
            Held::Pinned { filter, .. } => Some(Loaded::Pinned(filter)),
            Held::Cached { location, has_failed } => load_cached(location, has_failed, account).map(Loaded::Cached),
            Held::Stored { location, has_failed, .. } => {
                open_again(location, has_failed).map(|filter| Loaded::Cached(Arc::new(filter)))
            }
            Held::Partitioned { partitions, .. } => {
                let all = partitions.index.partitions().map(|partition| partitions.load(partition, account));
                Some(Loaded::Partitioned(&partitions.index, all.collect()))
            }
        }
    }
}

fn load_cached(
    location: &FilterLocation,
    has_failed: &AtomicBool,
    account: &BlockCounters,
) -> Option<Arc<FilterBlock<PageBuf>>> {
    let cache = &location.context.cache;
    if let Some(filter) = cache.filter(location.file_id, location.offset) {
        account.note_cache_hit();
        return Some(filter);
    }
    let filter = Arc::new(open_again(location, has_failed)?);
    account.note_read(location.handle.len.next_multiple_of(PAGE_LEN as u64) as usize);
    cache.insert_filter(location.file_id, location.offset, Arc::clone(&filter));
    Some(filter)
}

/// Reads a filter again. A failure is reported once, and not retried: a failing disk is also slow.
fn open_again(location: &FilterLocation, has_failed: &AtomicBool) -> Option<FilterBlock<PageBuf>> {
    if has_failed.load(Ordering::Relaxed) {
        return None;
    }
    let filter = location.open();
    if filter.is_none() {
        has_failed.store(true, Ordering::Relaxed);
    }
    filter
}
