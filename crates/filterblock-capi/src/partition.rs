//! Filters in partitions: the index is kept with an open table, and partitions in the engine's cache, opened.

use crate::border::{bytes, caught_or, required};
use crate::counters::{Counters, Counts};
use crate::reader::{OpenOptions, open, opened};
use crate::status::{Error, Status};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use filterblock::partition::{OpenedPartition, PartitionError, PartitionHandle, PartitionedFilter};
use filterblock::{AlignedBytes, FilterBlockReader, Query};
use std::sync::Arc;

/// The index of a filter in partitions: it leads to the one that answers for a key. A null pointer answers *maybe*.
pub struct PartitionedReader {
    filter: PartitionedFilter<&'static [u8]>,
    counts: Option<Arc<Counts>>,
    /// The bytes that `filter` borrows, if the reader owns them.
    _owned: Option<AlignedBytes>,
}

/// A partition that was opened once, to be kept in the engine's cache. It knows the index and the number that it was
/// opened for.
pub struct PartitionReader {
    partition: OpenedPartition<FilterBlockReader<'static>>,
    /// The bytes that `partition` borrows, if it owns them.
    _owned: Option<AlignedBytes>,
}

/// Threads share readers: rule 3 of the interface.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<PartitionedReader>();
    shared::<PartitionReader>();
};

/// The place of a partition.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Partition {
    /// The offset that the writer's function returned for it.
    offset: u64,
    /// Its number, from 0 in the order of keys.
    number: u32,
    /// The length of its block in bytes.
    len: u32,
}

impl From<PartitionHandle> for Partition {
    fn from(PartitionHandle { number, offset, len, .. }: PartitionHandle) -> Self {
        Self { offset, number, len }
    }
}

/// A function of the caller's that a lookup calls at most once, with the partition that has to be queried. It returns that
/// partition, opened by `filterblock_partitioned_reader_open_partition` then or in an earlier lookup, and keeps it until
/// the lookup has returned. A null pointer is *maybe*.
pub type LoadPartition =
    Option<unsafe extern "C" fn(context: *mut c_void, partition: *const Partition) -> *const PartitionReader>;

/// Opens the index of a filter in partitions, as `filterblock_reader_open` opens a block, to be freed by
/// `filterblock_partitioned_reader_free`. All options apply to the partitions, too, except `FILTERBLOCK_OPEN_COPY`.
/// Takes time and memory in proportion to the number of partitions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_partitioned_reader_open(
    index: *const c_void,
    index_len: usize,
    options: *const OpenOptions,
    counters: Option<&Counters>,
    reader: Option<&mut MaybeUninit<*mut PartitionedReader>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    opened(counters, reader, error, || {
        let open_index = |options: &filterblock::OpenOptions, index| PartitionedFilter::open(index, options.clone());
        // SAFETY: `index` is valid for `index_len` bytes (rules 1 and 2), and `options` for its size (rule 1); the reader
        // owns the copy.
        let (filter, owned) = unsafe { open(index, index_len, options, false, open_index) }?;
        let counts = counters.map(Counters::shared);
        Ok(Box::into_raw(Box::new(PartitionedReader { filter, counts, _owned: owned })))
    })
}

/// Frees a reader, after or before its partitions. A null pointer is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_partitioned_reader_free(reader: Option<Box<PartitionedReader>>) {
    drop(reader);
}

/// Finds the partition that answers for a key, to load it ahead of a lookup. False if there is nothing to load: then the
/// index answers by itself, and `*partition` is zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_partitioned_reader_find_key(
    reader: Option<&PartitionedReader>,
    key: *const c_void,
    key_len: usize,
    partition: Option<&mut MaybeUninit<Partition>>,
) -> bool {
    let Some(partition) = partition else { return false };
    let partition = partition.write(Partition { offset: 0, number: 0, len: 0 });
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    let given = reader.zip(unsafe { bytes(key, key_len) });
    let find = |(reader, key): (&PartitionedReader, _)| reader.filter.find(Query::Key(key)).partitions().next();
    let found = caught_or(None, || given.and_then(find));
    found.into_iter().for_each(|found| *partition = found.into());
    found.is_some()
}

/// Opens the partition of this number from its block, to be kept and to be freed by `filterblock_partition_reader_free`: a
/// lookup then neither parses nor verifies it again. `flags` are 0 or `FILTERBLOCK_OPEN_COPY`. The block of another
/// partition, or of a table with another context, is `FILTERBLOCK_STATUS_MISMATCH`. On an error `*partition` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_partitioned_reader_open_partition(
    reader: Option<&PartitionedReader>,
    number: u32,
    block: *const c_void,
    block_len: usize,
    flags: u32,
    partition: Option<&mut MaybeUninit<*mut PartitionReader>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    let status = opened(None, partition, error, || {
        let PartitionedReader { filter, .. } = required(reader, "reader")?;
        let handle = required(filter.partitions().nth(number as usize), "number")?;
        // Those of the index apply.
        let options = OpenOptions::with_flags(flags);
        let open_partition = |_: &filterblock::OpenOptions, block| filter.open_partition_owned(handle, block);
        // SAFETY: `block` is valid for `block_len` bytes (rules 1 and 2), and the options are a structure of this
        // library's; the reader owns the copy.
        let (partition, owned) = unsafe { open(block, block_len, &raw const options, false, open_partition) }?;
        Ok(Box::into_raw(Box::new(PartitionReader { partition, _owned: owned })))
    });
    note(reader, status);
    status
}

/// Counts an attempt to open a partition.
fn note(reader: Option<&PartitionedReader>, status: Status) {
    if let Some(counts) = reader.and_then(|reader| reader.counts.as_ref()) {
        counts.note_open(status);
    }
}

/// Frees an opened partition, when no lookup uses it. A null pointer is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_partition_reader_free(partition: Option<Box<PartitionReader>>) {
    drop(partition);
}

/// Returns whether the table may contain a key; false is certain. `load` gives the partition that has to be queried.
/// One that was opened for another number, or for an index of other bytes, as a cache that confuses them gives, is
/// *maybe*, and counted as a mismatch. Tables with one context, the same separators and as many keys in each partition
/// have equal indexes: give each state of a table a context of its own, and drop its partitions with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_partitioned_reader_may_contain(
    reader: Option<&PartitionedReader>,
    key: *const c_void,
    key_len: usize,
    load: LoadPartition,
    load_context: *mut c_void,
) -> bool {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    let query = unsafe { bytes(key, key_len) }.map(Query::Key);
    // SAFETY: `load` keeps to its documentation (rule 4).
    unsafe { answer(reader, query, load, load_context) }
}

/// Returns whether the table may contain a key that begins with `key`, by its longest prefix that is an entry;
/// otherwise as `filterblock_partitioned_reader_may_contain`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_partitioned_reader_may_contain_prefix(
    reader: Option<&PartitionedReader>,
    key: *const c_void,
    key_len: usize,
    load: LoadPartition,
    load_context: *mut c_void,
) -> bool {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    let query = unsafe { bytes(key, key_len) }.map(Query::Prefix);
    // SAFETY: `load` keeps to its documentation (rule 4).
    unsafe { answer(reader, query, load, load_context) }
}

/// The partition that the caller's function returns.
///
/// # Safety
/// `load` keeps to its documentation.
unsafe fn loaded<'a>(
    load: LoadPartition,
    context: *mut c_void,
    place: PartitionHandle,
) -> Result<&'a OpenedPartition<FilterBlockReader<'static>>, ()> {
    let place = Partition::from(place);
    // SAFETY: the function keeps to its documentation, as the caller has promised.
    let partition = load.and_then(|load| unsafe { load(context, &raw const place).as_ref() });
    partition.map(|reader| &reader.partition).ok_or(())
}

/// The answer of a query, or *maybe*.
///
/// # Safety
/// `load` keeps to its documentation.
#[inline]
unsafe fn answer(
    reader: Option<&PartitionedReader>,
    query: Option<Query<'_>>,
    load: LoadPartition,
    context: *mut c_void,
) -> bool {
    let answer = caught_or(Err(PartitionError::Load { partition: 0, error: () }), || {
        let Some((reader, query)) = reader.zip(query) else { return Ok(true) };
        // SAFETY: `load` keeps to its documentation, as the caller has promised.
        reader.filter.may_match(query, |place| unsafe { loaded(load, context, place) })
    });
    if let Err(PartitionError::WrongPartition { .. }) = answer {
        note(reader, Status::Mismatch);
    }
    answer.unwrap_or(true)
}
