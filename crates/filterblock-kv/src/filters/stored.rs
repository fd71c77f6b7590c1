//! A filter in its file: one block, or partitions and their index.

use super::{
    AlignedBytes, Arc, BlockCounters, CellKey, DecodeError, Deref, FileId, FilterBlock, FilterProblem, KeyTransform,
    OpenOptions, PAGE_LEN, PartitionHandle, PartitionedFilter, PinnedBytes, ReadableFile, TableContext, Verdict,
    Warning, claimed_format, len_in_memory, read_exact_at,
};
use filterblock::partition::PartitionLookup;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The place of a stored filter, and the properties that it must match.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) context: Arc<TableContext>,
    pub(super) file: String,
    pub(super) file_id: FileId,
    pub(super) source: Arc<dyn ReadableFile>,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) options: OpenOptions,
    /// The greatest number of entries that the table can have for it. A block that claims more is not of this table,
    /// even with right checksums, and its number is not used in any computation.
    pub(super) max_entries: u64,
}

impl Location {
    fn check_num_entries(&self, num_entries: u64) -> Result<(), FilterProblem> {
        let max = self.max_entries;
        if num_entries <= max { Ok(()) } else { Err(FilterProblem::TooManyEntries { num_entries, max }) }
    }

    pub(super) fn warn(&self, offset: u64, len: u64, claimed_format: String, problem: FilterProblem) {
        self.context.warn(Warning { file: self.file.clone(), offset, len, claimed_format, problem });
    }
}

/// Reads `len` bytes of a filter at `offset` into memory of that size, which a cache may hold for long: whole pages would
/// be twice a small partition's size.
pub(crate) fn read_filter(source: &dyn ReadableFile, len: u64, offset: u64) -> Result<AlignedBytes, String> {
    let read = || {
        let mut block = AlignedBytes::zeroed(len_in_memory(len)?);
        read_exact_at(source, block.as_mut(), offset)?;
        Ok(block)
    };
    read().map_err(|error: io::Error| error.to_string())
}

/// A filter in its file.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) location: Location,
    /// The index of a partitioned filter, in memory, and its length.
    index: Option<(PartitionedFilter<AlignedBytes>, PinnedBytes, u32)>,
    /// Whether each block could not be read or opened; a warning has been recorded then.
    has_failed: Box<[AtomicBool]>,
}

/// A block of a filter: all of it, or a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) number: usize,
    /// In the file.
    offset: u64,
    len: u64,
    partition: Option<PartitionHandle>,
}

impl Stored {
    /// Opens the index, if the filter has one. Records a warning if that fails.
    pub(super) fn open(location: Location, index_len: u32) -> Option<Self> {
        if index_len == 0 {
            return Some(Self { location, index: None, has_failed: Box::new([AtomicBool::new(false)]) });
        }
        let opened = index_at(location.len, index_len).map_err(FilterProblem::Decode).and_then(|index_at| {
            let bytes = read_filter(&*location.source, index_len.into(), location.offset + index_at);
            let index = open_index(bytes.map_err(FilterProblem::Unreadable)?, index_at, location.options.clone());
            let index = index.map_err(FilterProblem::Decode)?;
            location.check_num_entries(index.num_entries()).map(|()| index)
        });
        let warn = |problem| location.warn(location.offset, location.len, "index".to_owned(), problem);
        let index = opened.map_err(warn).ok()?;
        let has_failed = index.partitions().map(|_| AtomicBool::new(false)).collect();
        let bytes = location.context.cache.pin(index_len.into());
        Some(Self { location, index: Some((index, bytes, index_len)), has_failed })
    }

    pub(super) fn index(&self) -> Option<&PartitionedFilter<AlignedBytes>> {
        self.index.as_ref().map(|(index, ..)| index)
    }

    /// The number that an index has.
    pub(super) fn num_entries(&self) -> Option<u64> {
        self.index().map(PartitionedFilter::num_entries)
    }

    /// Length of its block, or of its partitions and their index, without the padding between them.
    pub(super) fn len_bytes(&self) -> u64 {
        self.index.as_ref().map_or(self.location.len, |(index, _, len)| unpadded_len(index, *len))
    }

    fn whole(&self) -> Block {
        Block { number: 0, offset: self.location.offset, len: self.location.len, partition: None }
    }

    fn partition(&self, partition: PartitionHandle) -> Block {
        let (number, offset) = (partition.number as usize, self.location.offset + partition.offset);
        Block { number, offset, len: partition.len.into(), partition: Some(partition) }
    }

    /// The blocks, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        let partitions = self.index().into_iter().flat_map(PartitionedFilter::partitions);
        let whole = self.index.is_none().then(|| self.whole());
        whole.into_iter().chain(partitions.map(|partition| self.partition(partition)))
    }

    /// The block that may have a cell's entry, or the answer where none has.
    pub(super) fn find(&self, key: CellKey<'_>) -> Result<Block, Verdict> {
        let Some(index) = self.index() else { return Ok(self.whole()) };
        match find_partition(index, key) {
            PartitionLookup::Partition(partition) => Ok(self.partition(partition)),
            PartitionLookup::Absent => Err(Verdict::No),
            PartitionLookup::NoEntry => Err(Verdict::Maybe),
        }
    }

    /// Returns the properties that a block must match.
    pub(super) fn options(&self, block: Block) -> OpenOptions {
        match (self.index(), block.partition) {
            (Some(index), Some(partition)) => index.partition_options(partition),
            _ => self.location.options.clone(),
        }
    }

    /// Reads a block and checks all of it. A failure is reported once, and not retried: a failing disk is also slow.
    pub(super) fn read(&self, block: Block) -> Option<FilterBlock<AlignedBytes>> {
        let has_failed = &self.has_failed[block.number];
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let mut claimed = "unread".to_owned();
        let read = read_filter(&*self.location.source, block.len, block.offset).map_err(FilterProblem::Unreadable);
        let opened = read.and_then(|bytes| {
            claimed = claimed_format(bytes.as_ref());
            let opened = self.options(block).open_owned(bytes);
            let filter = opened.map_err(|error| FilterProblem::Decode(error.error()))?;
            self.location.check_num_entries(filter.num_entries()).map(|()| filter)
        });
        let failed = |problem| {
            has_failed.store(true, Ordering::Relaxed);
            self.location.warn(block.offset, block.len, claimed, problem);
        };
        opened.map_err(failed).ok()
    }

    /// Whether no block can be read again.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.iter().all(|failed| failed.load(Ordering::Relaxed))
    }

    /// A block, from the cache or from storage; `None` if it is unusable.
    pub(super) fn load(&self, block: Block, account: &BlockCounters) -> Option<Arc<FilterBlock<AlignedBytes>>> {
        let Location { context, file_id, .. } = &self.location;
        if let Some(filter) = context.cache.filter(*file_id, block.offset) {
            account.note_cache_hit();
            return Some(filter);
        }
        let filter = Arc::new(self.read(block)?);
        account.note_read((block.offset as usize % PAGE_LEN + block.len as usize).next_multiple_of(PAGE_LEN));
        context.cache.insert_filter(*file_id, block.offset, Arc::clone(&filter));
        Some(filter)
    }
}

/// Opens the index of a filter whose partitions end at `index_at` or before.
pub(super) fn open_index<B: AsRef<[u8]>>(
    index: B,
    index_at: u64,
    options: OpenOptions,
) -> Result<PartitionedFilter<B>, DecodeError> {
    let index = PartitionedFilter::open(index, options)?;
    let is_outside = |p: &PartitionHandle| p.offset.saturating_add(p.len.into()) > index_at;
    let outside = index.partitions().find(is_outside);
    outside.map_or(Ok(index), |p| Err(out_of_range("offset", p.offset, index_at)))
}

/// Returns the start of a filter's index.
pub(super) fn index_at(filter_len: u64, index_len: u32) -> Result<u64, DecodeError> {
    filter_len.checked_sub(index_len.into()).ok_or(out_of_range("index length", index_len.into(), filter_len))
}

fn out_of_range(name: &'static str, value: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min: 0, max }
}

/// Length of the partitions and the index, without the padding between them.
pub(super) fn unpadded_len<B: AsRef<[u8]>>(index: &PartitionedFilter<B>, index_len: u32) -> u64 {
    index.partitions().map(|partition| u64::from(partition.len)).sum::<u64>() + u64::from(index_len)
}

/// The partition that may have the entry of a cell, or of a row or a prefix, passed as the row.
fn find_partition<B: AsRef<[u8]>>(index: &PartitionedFilter<B>, key: CellKey<'_>) -> PartitionLookup {
    match index.transform() {
        KeyTransform::FixedPrefix { .. } => index.find_key(key.row),
        _ => index.find_row_column(key.row, key.column),
    }
}

/// Whether a filter may contain a cell; `None` if the cell has no entry, or `usable` has no such block.
pub(super) fn may_contain_cell<I: AsRef<[u8]>, F: Deref<Target = FilterBlock<B>>, B: AsRef<[u8]>>(
    index: Option<&PartitionedFilter<I>>,
    usable: impl FnOnce(usize) -> Option<F>,
    key: CellKey<'_>,
) -> Option<bool> {
    let block = match index.map(|index| find_partition(index, key)) {
        None => 0,
        Some(PartitionLookup::Partition(partition)) => partition.number as usize,
        Some(PartitionLookup::Absent) => return Some(false),
        Some(PartitionLookup::NoEntry) => return None,
    };
    let filter = usable(block)?;
    let entries = filter.entry_hasher();
    let hash = match entries.transform() {
        KeyTransform::FixedPrefix { .. } => entries.hash_key(key.row),
        _ => entries.hash_row_column(key.row, key.column),
    };
    hash.map(|hash| filter.may_contain_hash(hash))
}
