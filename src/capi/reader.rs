//! Readers: made in memory of the library or of the caller.

use super::border::{caught, put, required_bytes, run};
use super::open::{Given, OpenOptions};
use super::status::{Error, Failure, Status};
use crate::{AlignedBytes, FilterBlockReader};
use core::ffi::c_void;
use core::{ptr, slice};
use std::boxed::Box;

/// Answers from a block whether its table may contain a key. A null pointer is the reader of a block that could not be
/// opened: it answers *maybe* to everything.
// What a query reads comes first, and begins at a cache line.
#[repr(C, align(64))]
pub struct Reader {
    pub(super) filter: FilterBlockReader<'static>,
    /// What `filter` borrows, if the reader owns it.
    _owned: Option<AlignedBytes>,
    /// In memory of the caller, which is not freed.
    is_in_place: bool,
}

/// Bytes of a reader in memory of the caller's that begins at a multiple of `FILTERBLOCK_READER_ALIGN`. Anywhere else,
/// `FILTERBLOCK_READER_ALIGN - 1` more bytes are enough.
pub const FILTERBLOCK_READER_SIZE: usize = 448;

/// Alignment of a reader.
pub const FILTERBLOCK_READER_ALIGN: usize = 64;

const _: () = assert!(size_of::<Reader>() <= FILTERBLOCK_READER_SIZE);
const _: () = assert!(align_of::<Reader>() == FILTERBLOCK_READER_ALIGN);
/// Threads share readers: rule 3 of the interface.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Reader>();
};

/// The same bytes for as long as the library is told.
///
/// # Safety
/// They outlive every use of the result.
unsafe fn outliving(bytes: &[u8]) -> &'static [u8] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

/// Opens the `block_len` bytes at `block` as the options have it, and counts how that ended.
///
/// # Safety
/// Rules 1 and 2 of the interface.
unsafe fn open(
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    is_in_place: bool,
) -> Result<Reader, Failure> {
    // SAFETY: the caller's promise.
    let Given { options, copy, max_columns, counters } = unsafe { Given::read(options) }?;
    if copy && is_in_place {
        return Err(Failure::new(Status::Argument, "a reader in memory of the caller cannot own a copy"));
    }
    let opened = caught(|| {
        // SAFETY: the caller's promise.
        let borrowed = unsafe { required_bytes(block, block_len, "block") }?;
        let owned = copy.then(|| AlignedBytes::copy_of(borrowed));
        let bytes = owned.as_ref().map_or(borrowed, AsRef::as_ref);
        // SAFETY: rule 2 of the interface, or the copy, which the reader owns and which does not move with it.
        let mut filter = options.open(unsafe { outliving(bytes) })?;
        if filter.num_columns().is_some_and(|columns| (1..columns).contains(&max_columns)) {
            filter.limit_columns(max_columns)?;
        }
        Ok(Reader { filter, _owned: owned, is_in_place })
    });
    if let Some(counters) = counters {
        counters.note_open(opened.as_ref().map_or_else(|failure| failure.status, |_| Status::Ok));
    }
    opened
}

/// Opens a block: a reader in memory of the library, to be freed by `filterblock_reader_free`. On an error `*reader` is
/// null, which answers *maybe*. Takes constant time beyond the checksums. `options` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_open(
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    reader: *mut *mut Reader,
    error: *mut Error,
) -> Status {
    // SAFETY: rules 1 and 2 of the interface.
    unsafe {
        put(reader, ptr::null_mut());
        run(error, || {
            if reader.is_null() {
                return Err(Failure::argument("reader"));
            }
            put(reader, Box::into_raw(Box::new(open(block, block_len, options, false)?)));
            Ok(())
        })
    }
}

/// As `filterblock_reader_open`, for callers that have no use for an error: null, which answers *maybe*, if the block
/// cannot be opened. Counters among the options tell how often that happened, and why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_open_or_maybe(
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
) -> *mut Reader {
    // SAFETY: rules 1 and 2 of the interface.
    let opened = caught(|| unsafe { open(block, block_len, options, false) });
    opened.map_or(ptr::null_mut(), |reader| Box::into_raw(Box::new(reader)))
}

/// Opens a block without an allocation, for engines that open one for each lookup: a reader within the `storage_len`
/// bytes at `storage`, which must be `FILTERBLOCK_READER_SIZE` or more, and remain for as long as the reader is used.
/// Nothing has to be freed. On an error `*reader` is null, which answers *maybe*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_init(
    storage: *mut c_void,
    storage_len: usize,
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    reader: *mut *mut Reader,
    error: *mut Error,
) -> Status {
    // SAFETY: rules 1 and 2 of the interface; the place is aligned and has room, by `place_in`.
    unsafe {
        put(reader, ptr::null_mut());
        run(error, || {
            if reader.is_null() {
                return Err(Failure::argument("reader"));
            }
            let place = place_in(storage, storage_len)?;
            place.write(open(block, block_len, options, true)?);
            put(reader, place);
            Ok(())
        })
    }
}

/// As `filterblock_reader_init`, for callers that have no use for an error: null, which answers *maybe*, if the block
/// cannot be opened or the storage is too short.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_init_or_maybe(
    storage: *mut c_void,
    storage_len: usize,
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
) -> *mut Reader {
    let placed = caught(|| {
        let place = place_in(storage, storage_len)?;
        // SAFETY: rules 1 and 2 of the interface; the place is aligned and has room, by `place_in`.
        unsafe { place.write(open(block, block_len, options, true)?) };
        Ok(place)
    });
    placed.unwrap_or(ptr::null_mut())
}

/// The first place in the storage that is aligned, with room for a reader.
fn place_in(storage: *mut c_void, storage_len: usize) -> Result<*mut Reader, Failure> {
    let skipped = storage.cast::<u8>().align_offset(FILTERBLOCK_READER_ALIGN);
    let is_long_enough = storage_len.checked_sub(skipped).is_some_and(|len| len >= FILTERBLOCK_READER_SIZE);
    match !storage.is_null() && is_long_enough {
        true => Ok(storage.cast::<u8>().wrapping_add(skipped).cast()),
        false => Err(Failure::argument("storage")),
    }
}

/// Frees a reader. One in memory of the caller's, or a null pointer, is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_free(reader: *mut Reader) {
    // SAFETY: valid unless null, by rule 1 of the interface.
    if !reader.is_null() && unsafe { !(*reader).is_in_place } {
        // SAFETY: from `Box::into_raw`, and not freed before, by rule 1 of the interface.
        drop(unsafe { Box::from_raw(reader) });
    }
}
