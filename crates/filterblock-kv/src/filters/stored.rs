//! A filter in its file: one block, or partitions and their index.

use super::{
    AlignedBytes, Arc, BlockCounters, CachedFilter, DecodeError, Deref, FileId, FilterBlock, FilterProblem,
    OpenOptions, PAGE_LEN, PartitionHandle, PinnedBytes, RangeFilter, ReadableFile, TableContext, Verdict, Warning,
    claimed_format, len_in_memory, read_exact_at,
};
use filterblock::Query;
use filterblock::partition::{Family, Filter, Keys, Lookup, Partitioned, Ranges};
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

/// A family of stored filters.
pub(super) trait StoredFamily: Family<Filter<AlignedBytes>: CachedFilter> {
    /// The answer of a block; `None` if the query has no entry in it.
    fn answer<B: AsRef<[u8]>>(filter: &Self::Filter<B>, query: Query<'_>) -> Option<bool>;

    /// Checks the number of entries of a filter, or of a partition (`is_part`), whose table can have `max` at most.
    fn check_num_entries(num_entries: u64, max: u64, is_part: bool) -> Result<(), FilterProblem>;
}

impl StoredFamily for Keys {
    fn answer<B: AsRef<[u8]>>(filter: &FilterBlock<B>, query: Query<'_>) -> Option<bool> {
        filter.entry_hasher().hash_query(query).map(|hash| filter.may_contain_hash(hash))
    }

    fn check_num_entries(num_entries: u64, max: u64, _is_part: bool) -> Result<(), FilterProblem> {
        if num_entries <= max { Ok(()) } else { Err(FilterProblem::TooManyEntries { num_entries, max }) }
    }
}

/// A filter that has another number of keys than the table has rows is not of this table, even with right checksums, or
/// does not cover all of it.
impl StoredFamily for Ranges {
    fn answer<B: AsRef<[u8]>>(filter: &RangeFilter<B>, query: Query<'_>) -> Option<bool> {
        Some(filter.may_match(query))
    }

    fn check_num_entries(num_keys: u64, num_rows: u64, is_part: bool) -> Result<(), FilterProblem> {
        let is_of_table = if is_part { num_keys <= num_rows } else { num_keys == num_rows };
        if is_of_table { Ok(()) } else { Err(FilterProblem::NotAllRows { num_keys, num_rows }) }
    }
}

/// A filter in its file.
#[derive(Debug)]
pub(super) struct Stored<F: StoredFamily = Keys> {
    pub(super) location: Location,
    /// The index of a partitioned filter, in memory, and its length.
    index: Option<(Partitioned<F, AlignedBytes>, PinnedBytes, u32)>,
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

impl<F: StoredFamily> Stored<F> {
    /// Opens the index, if the filter has one. Records a warning if that fails.
    pub(super) fn open(location: Location, index_len: u32) -> Option<Self> {
        if index_len == 0 {
            return Some(Self { location, index: None, has_failed: Box::new([AtomicBool::new(false)]) });
        }
        let opened = index_at(location.len, index_len).map_err(FilterProblem::Decode).and_then(|index_at| {
            let bytes = read_filter(&*location.source, index_len.into(), location.offset + index_at);
            let index = Partitioned::<F, _>::open(bytes.map_err(FilterProblem::Unreadable)?, location.options.clone());
            let index = index.map_err(FilterProblem::Decode)?;
            check_places(&index, index_at).map_err(FilterProblem::Decode)?;
            F::check_num_entries(index.num_entries(), location.max_entries, false).map(|()| index)
        });
        let warn = |problem| location.warn(location.offset, location.len, "index".to_owned(), problem);
        let index = opened.map_err(warn).ok()?;
        let has_failed = index.partitions().map(|_| AtomicBool::new(false)).collect();
        let bytes = location.context.cache.pin(index_len.into());
        Some(Self { location, index: Some((index, bytes, index_len)), has_failed })
    }

    /// The index of its partitions, if it has some.
    pub(super) fn index(&self) -> Option<&Partitioned<F, AlignedBytes>> {
        self.index.as_ref().map(|(index, ..)| index)
    }

    /// The number that an index has.
    pub(super) fn num_entries(&self) -> Option<u64> {
        self.index().map(Partitioned::num_entries)
    }

    /// Length of its block, or of its partitions and their index, without the padding between them.
    pub(super) fn len_bytes(&self) -> u64 {
        self.index.as_ref().map_or(self.location.len, |(index, _, len)| unpadded_len(index, *len))
    }

    pub(super) fn whole(&self) -> Block {
        Block { number: 0, offset: self.location.offset, len: self.location.len, partition: None }
    }

    pub(super) fn partition(&self, partition: PartitionHandle) -> Block {
        let (number, offset) = (partition.number as usize, self.location.offset + partition.offset);
        Block { number, offset, len: partition.len.into(), partition: Some(partition) }
    }

    /// The blocks, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        let partitions = self.index().into_iter().flat_map(Partitioned::partitions);
        let whole = self.index.is_none().then(|| self.whole());
        whole.into_iter().chain(partitions.map(|partition| self.partition(partition)))
    }

    /// Returns the properties that a block must match.
    pub(super) fn options(&self, block: Block) -> OpenOptions {
        match (self.index(), block.partition) {
            (Some(index), Some(partition)) => index.partition_options(partition),
            _ => self.location.options.clone(),
        }
    }

    /// Reads a block and checks all of it. A failure is reported once, and not retried: a failing disk is also slow.
    pub(super) fn read(&self, block: Block) -> Option<F::Filter<AlignedBytes>> {
        let has_failed = &self.has_failed[block.number];
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let mut claimed = "unread".to_owned();
        let read = read_filter(&*self.location.source, block.len, block.offset).map_err(FilterProblem::Unreadable);
        let opened = read.and_then(|bytes| {
            claimed = claimed_format(bytes.as_ref());
            let filter = F::open(&self.options(block), bytes).map_err(FilterProblem::Decode)?;
            let (num_entries, max) = (filter.num_entries(), self.location.max_entries);
            F::check_num_entries(num_entries, max, block.partition.is_some()).map(|()| filter)
        });
        let failed = |problem| {
            has_failed.store(true, Ordering::Relaxed);
            self.location.warn(block.offset, block.len, claimed, problem);
        };
        opened.map_err(failed).ok()
    }

    /// Returns whether no block can be read again.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.iter().all(|failed| failed.load(Ordering::Relaxed))
    }

    /// A block, from the cache or from storage; `None` if it is unusable.
    pub(super) fn load(&self, block: Block, account: &BlockCounters) -> Option<Arc<F::Filter<AlignedBytes>>> {
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

    /// The answer for a query; or the blocks that have it, one or two.
    pub(super) fn find(&self, query: Query<'_>) -> Result<impl Iterator<Item = Block>, Verdict> {
        let Some(index) = self.index() else { return Ok([Some(self.whole()), None].into_iter().flatten()) };
        match index.find(query) {
            Lookup::Partitions(first, second) => {
                let blocks = [Some(first), second].map(|partition| Some(self.partition(partition?)));
                Ok(blocks.into_iter().flatten())
            }
            Lookup::Absent => Err(Verdict::No),
            _ => Err(Verdict::Maybe),
        }
    }
}

/// Checks that the partitions of an index end at `index_at` or before.
pub(super) fn check_places<F: Family, B: AsRef<[u8]>>(
    index: &Partitioned<F, B>,
    index_at: u64,
) -> Result<(), DecodeError> {
    let is_outside = |p: &PartitionHandle| p.offset.saturating_add(p.len.into()) > index_at;
    let outside = index.partitions().find(is_outside);
    outside.map_or(Ok(()), |p| Err(out_of_range("offset", p.offset, index_at)))
}

/// Returns the start of a filter's index.
pub(super) fn index_at(filter_len: u64, index_len: u32) -> Result<u64, DecodeError> {
    filter_len.checked_sub(index_len.into()).ok_or(out_of_range("index length", index_len.into(), filter_len))
}

fn out_of_range(name: &'static str, value: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min: 0, max }
}

/// Length of the partitions and the index, without the padding between them.
pub(super) fn unpadded_len<F: Family, B: AsRef<[u8]>>(index: &Partitioned<F, B>, index_len: u32) -> u64 {
    index.partitions().map(|partition| u64::from(partition.len)).sum::<u64>() + u64::from(index_len)
}

/// Returns whether a filter may have a key; `None` if the query has no entry, or `usable` has no such block.
pub(super) fn may_match<F: StoredFamily, I: AsRef<[u8]>, B: AsRef<[u8]>, R: Deref<Target = F::Filter<B>>>(
    index: Option<&Partitioned<F, I>>,
    usable: impl FnOnce(usize) -> Option<R>,
    query: Query<'_>,
) -> Option<bool> {
    let block = match index.map(|index| index.find(query)) {
        None => 0,
        Some(Lookup::Partitions(partition, _)) => partition.number as usize,
        Some(Lookup::NoEntry) => return None,
        Some(found) => return found.answer(),
    };
    F::answer(&*usable(block)?, query)
}
