//! A cache of blocks under a limit of bytes, shared by the data blocks and the filter blocks of a store.
//!
//! The replacement policy is that of `quick_cache`, Clock-PRO with some of S3-FIFO: a scan that reads each block once
//! does not evict the blocks that are used again and again.
//!
//! Blocks are keyed by the [`FileId`] of the file they were read from, which is new each time that a file is opened
//! ([`BlockCache::open_file`]) and never reused. So a block that outlives its file wastes bytes but is never a wrong
//! answer.
//!
//! The limit covers blocks with their entries in the cache, and the filters that tables hold themselves, which are
//! [pinned](BlockCache::pin) and leave less for the rest.

mod pins;
#[cfg(test)]
mod tests;

use super::storage::PAGE_LEN;
use filterblock::range::RangeFilter;
use filterblock::{AlignedBytes, FilterBlock};
pub(crate) use pins::PinnedBytes;
use pins::Pins;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of the filters of open tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterResidence {
    /// Filters stay in memory while their table is open. Their bytes count towards the cache's limit, and no lookup
    /// reads one.
    #[default]
    Pinned,
    /// Filters are in the cache, where they compete with data blocks. A filter that is not there is read before it is
    /// probed.
    Cached,
}

/// Counters and contents of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Lookups of data blocks that found one.
    pub data_hits: u64,
    /// Lookups of data blocks that did not.
    pub data_misses: u64,
    /// Lookups of filter blocks that found one.
    pub filter_hits: u64,
    /// Lookups of filter blocks that did not.
    pub filter_misses: u64,
    /// Blocks held.
    pub num_blocks: u64,
    /// Their memory use in bytes.
    pub held_bytes: u64,
    /// Memory use of pinned filters in bytes.
    pub pinned_bytes: u64,
    /// Limit of both together in bytes. Pinned filters may exceed it; then nothing else is held.
    pub max_bytes: u64,
}

/// Memory use of a block besides its bytes: its entry, 69 bytes in a table of up to three times as many slots as
/// entries, ghosts of evicted blocks included (the library's own formula), and the headers of two allocations.
const ENTRY_OVERHEAD: u64 = 256;
/// Memory use of an open range filter besides its bytes and what any filter takes: at most this.
pub(crate) const OPEN_RANGE_FILTER: u64 = size_of::<RangeFilter<AlignedBytes>>() as u64;
/// The least size of a shard, the part of the cache under one lock, so that large filters fit.
const SHARD_BYTES_MIN: u64 = 8 << 20;
/// The alignment of a filter in memory.
const CACHE_LINE: u64 = 64;
const MAX_SHARDS: u64 = 64;

/// One opening of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId(u64);

/// The place of a block: its file, and its offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Location {
    file: FileId,
    offset: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Block {
    Data(Arc<[u8]>),
    Filter(Arc<FilterBlock<AlignedBytes>>),
    Range(Arc<RangeFilter<AlignedBytes>>),
}

/// A sort of filter that the cache holds, open.
pub(crate) trait CachedFilter: Sized {
    fn into_block(this: Arc<Self>) -> Block;

    fn of_block(block: Block) -> Option<Arc<Self>>;

    /// Its bytes, and what it takes more than any filter.
    fn len_in_memory(&self) -> u64;
}

impl CachedFilter for FilterBlock<AlignedBytes> {
    fn into_block(this: Arc<Self>) -> Block {
        Block::Filter(this)
    }

    fn of_block(block: Block) -> Option<Arc<Self>> {
        if let Block::Filter(filter) = block { Some(filter) } else { None }
    }

    fn len_in_memory(&self) -> u64 {
        self.as_bytes().len() as u64
    }
}

impl CachedFilter for RangeFilter<AlignedBytes> {
    fn into_block(this: Arc<Self>) -> Block {
        Block::Range(this)
    }

    fn of_block(block: Block) -> Option<Arc<Self>> {
        if let Block::Range(filter) = block { Some(filter) } else { None }
    }

    fn len_in_memory(&self) -> u64 {
        self.as_bytes().len() as u64 + OPEN_RANGE_FILTER
    }
}

#[derive(Clone, Debug)]
struct Entry {
    block: Block,
    /// Its memory use in bytes.
    weight: u64,
}

#[derive(Clone, Debug)]
struct ByWeight;

impl Weighter<Location, Entry> for ByWeight {
    fn weight(&self, _: &Location, entry: &Entry) -> u64 {
        entry.weight
    }
}

type Blocks = Cache<Location, Entry, ByWeight, DefaultHashBuilder, DefaultLifecycle<Location, Entry>>;

/// Lookups of one sort of block, on a cache line of their own, as all threads count here.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Counts {
    fn count<T>(&self, found: Option<T>) -> Option<T> {
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }
}

/// A cache of blocks.
#[derive(Debug)]
pub(crate) struct BlockCache {
    /// `None` with a limit of 0.
    blocks: Option<Blocks>,
    pins: Pins,
    next_file: AtomicU64,
    data: Counts,
    filters: Counts,
}

impl BlockCache {
    /// A cache of at most `limit_bytes` bytes; 0 for none.
    pub(crate) fn new(limit_bytes: u64) -> Arc<Self> {
        let num_shards = (limit_bytes / SHARD_BYTES_MIN).clamp(1, MAX_SHARDS);
        // A power of two, as the library would round up to, so that the limit can be made a multiple of it.
        let num_shards = 1 << num_shards.ilog2();
        let num_blocks = limit_bytes / (PAGE_LEN as u64 + ENTRY_OVERHEAD);
        let options = OptionsBuilder::new()
            .shards(num_shards)
            .estimated_items_capacity(usize::try_from(num_blocks).unwrap_or(usize::MAX))
            .weight_capacity(limit_bytes - limit_bytes % num_shards as u64)
            .build();
        // Building fails only where a setting is missing.
        let options = options.ok().filter(|_| limit_bytes > 0);
        let blocks = options.map(|options| {
            Blocks::with_options(options, ByWeight, DefaultHashBuilder::default(), DefaultLifecycle::default())
        });
        Arc::new(Self {
            blocks,
            pins: Pins::new(limit_bytes),
            next_file: AtomicU64::new(0),
            data: Counts::default(),
            filters: Counts::default(),
        })
    }

    /// An id for a file that is being opened.
    pub(crate) fn open_file(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// Drops the blocks of a removed file. This takes some nanoseconds for each block in the cache, of all files.
    pub(crate) fn remove_file(&self, file: FileId) {
        if let Some(blocks) = &self.blocks {
            blocks.retain(|location, _| location.file != file);
        }
    }

    fn get(&self, file: FileId, offset: u64) -> Option<Block> {
        self.blocks.as_ref()?.get(&Location { file, offset }).map(|entry| entry.block)
    }

    /// A data block's bytes.
    pub(crate) fn data(&self, file: FileId, offset: u64) -> Option<Arc<[u8]>> {
        let found = self.get(file, offset);
        self.data.count(if let Some(Block::Data(bytes)) = found { Some(bytes) } else { None })
    }

    /// A filter, open.
    pub(crate) fn filter<F: CachedFilter>(&self, file: FileId, offset: u64) -> Option<Arc<F>> {
        self.filters.count(self.get(file, offset).and_then(F::of_block))
    }

    /// Inserts a data block that was read and checked.
    pub(crate) fn insert_data(&self, file: FileId, offset: u64, bytes: Arc<[u8]>) {
        let weight = ENTRY_OVERHEAD + bytes.len() as u64;
        self.insert(Location { file, offset }, Entry { block: Block::Data(bytes), weight });
    }

    /// Inserts a filter that was read and opened.
    pub(crate) fn insert_filter<F: CachedFilter>(&self, file: FileId, offset: u64, filter: Arc<F>) {
        let weight = Self::filter_weight(filter.len_in_memory());
        self.insert(Location { file, offset }, Entry { block: F::into_block(filter), weight });
    }

    fn insert(&self, location: Location, entry: Entry) {
        if let Some(blocks) = &self.blocks {
            blocks.insert(location, entry);
        }
    }

    /// Memory use of a filter of `len_bytes` bytes: its memory is up to a cache line longer, to start at one.
    fn filter_weight(len_bytes: u64) -> u64 {
        len_bytes + CACHE_LINE + size_of::<FilterBlock<AlignedBytes>>() as u64 + ENTRY_OVERHEAD
    }

    /// Returns whether the cache can currently hold a filter of `len_bytes` bytes at all. One that it cannot hold would
    /// be read for each lookup, unless it is pinned.
    pub(crate) fn fits_filter(&self, len_bytes: u64) -> bool {
        // The library refuses what is heavier than 97 % of a shard.
        self.blocks.as_ref().is_some_and(|blocks| Self::filter_weight(len_bytes) <= blocks.shard_capacity() / 16 * 15)
    }

    /// Counts the bytes of a filter that its table holds towards the limit, until the pin is dropped.
    pub(crate) fn pin(self: &Arc<Self>, len_bytes: u64) -> PinnedBytes {
        PinnedBytes::new(Arc::clone(self), Self::filter_weight(len_bytes))
    }

    fn set_capacity(&self, bytes: u64) {
        if let Some(blocks) = &self.blocks {
            blocks.set_capacity(bytes - bytes % blocks.num_shards() as u64);
        }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (num_blocks, held_bytes) =
            self.blocks.as_ref().map_or((0, 0), |blocks| (blocks.len() as u64, blocks.weight()));
        CacheStats {
            data_hits: load(&self.data.hits),
            data_misses: load(&self.data.misses),
            filter_hits: load(&self.filters.hits),
            filter_misses: load(&self.filters.misses),
            num_blocks,
            held_bytes,
            pinned_bytes: self.pins.bytes(),
            max_bytes: self.pins.limit_bytes,
        }
    }
}
