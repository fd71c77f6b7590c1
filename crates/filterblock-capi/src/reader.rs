//! Readers: how a block is opened, in memory of the library or of the caller, and what it states of itself.

use crate::border::{bytes, caught_or, required, run};
use crate::counters::Counters;
use crate::policy::Policy;
use crate::status::{Error, Failure, Status};
use crate::versioned::{self, Versioned};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::{ptr, slice};
use filterblock::{AlignedBytes, DecodeError, FilterBlockReader};

/// Answers from a block whether its table may contain a key. A null pointer is the reader of a block that could not be
/// opened: it answers *maybe* to everything.
// What a query reads comes first, and begins at a cache line.
#[repr(C, align(64))]
pub struct Reader {
    pub(crate) filter: FilterBlockReader<'static>,
    /// The bytes that `filter` borrows, if the reader owns them.
    _owned: Option<AlignedBytes>,
    /// Whether the reader lies in memory of the caller, which is not freed.
    is_in_place: bool,
}

/// The length in bytes of a reader in memory of the caller's that begins at a multiple of `FILTERBLOCK_READER_ALIGN`.
/// Anywhere else, `FILTERBLOCK_READER_ALIGN - 1` more bytes are enough. Later versions of the library need no more.
pub const FILTERBLOCK_READER_SIZE: usize = 640;

/// The alignment of a reader.
pub const FILTERBLOCK_READER_ALIGN: usize = 64;

const _: () = assert!(size_of::<Reader>() <= FILTERBLOCK_READER_SIZE);
const _: () = assert!(align_of::<Reader>() == FILTERBLOCK_READER_ALIGN);
/// Threads share readers: rule 3 of the interface.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Reader>();
};

/// The caller's expectations of a block that it opens. Start from `FILTERBLOCK_OPEN_OPTIONS_INIT`: zeros, except
/// `size`. Later versions append fields; a field that is set and unknown to the library is an error.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OpenOptions {
    /// The size, `sizeof(filterblock_open_options)`.
    size: usize,
    /// The context that the block was written with, 0 if with none.
    context: u64,
    /// The policy that the engine builds and hashes with: blocks are refused whose hash, seed, secret key or transform
    /// are not those of this policy. Without it, a block under a secret key cannot be opened, and hashes or keys of
    /// another form are not noticed, for which stored keys would be denied.
    expected: *const Policy,
    /// The flags: 0, `FILTERBLOCK_OPEN_TRUSTED`, `FILTERBLOCK_OPEN_COPY`, or both.
    flags: u32,
    /// A zero, until a later version has a use for it.
    reserved: u32,
}

// SAFETY: `repr(C)`, begins with its size, and has nothing but integers and a pointer that may be null.
unsafe impl Versioned for OpenOptions {
    const MIN_SIZE: usize = size_of::<Self>();
}

impl OpenOptions {
    /// Options with nothing expected.
    pub(crate) fn with_flags(flags: u32) -> Self {
        Self { size: size_of::<Self>(), flags, ..Self::zeroed() }
    }
}

/// A flag that leaves out the payload's digest, for engines that verify the block's bytes themselves: opening takes
/// constant time.
pub const FILTERBLOCK_OPEN_TRUSTED: u32 = 1;

/// A flag that has the reader own a copy of the bytes, which begins at a cache line: queries are fastest so.
pub const FILTERBLOCK_OPEN_COPY: u32 = 2;

/// Opens a block, by `open`, as the options have it. Returns the bytes, too, if they are a copy.
///
/// # Safety
/// `block` is null or valid for `block_len` bytes that outlive the reader and do not change, unless it copies them
/// (rule 2); `options` is null, or valid for as many bytes as its size states, with a policy that is null or a handle.
/// What `open` returns does not outlive the copy.
pub(crate) unsafe fn open<T>(
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    is_in_place: bool,
    open: impl FnOnce(&filterblock::OpenOptions, &'static [u8]) -> Result<T, DecodeError>,
) -> Result<(T, Option<AlignedBytes>), Failure> {
    let OpenOptions { context, expected, flags, reserved, .. } = match options.is_null() {
        true => OpenOptions::zeroed(),
        // SAFETY: by rule 1 `options` is valid for the number of bytes that its size states.
        false => unsafe { versioned::read(options, "options") }?,
    };
    if flags & !(FILTERBLOCK_OPEN_TRUSTED | FILTERBLOCK_OPEN_COPY) | reserved != 0 {
        return Err(versioned::unknown("options"));
    }
    let copy = flags & FILTERBLOCK_OPEN_COPY != 0;
    if copy && is_in_place {
        return Err(Failure::new(Status::Argument, "a reader in memory of the caller cannot own a copy"));
    }
    let digest_check = flags & FILTERBLOCK_OPEN_TRUSTED == 0;
    let mut options = filterblock::OpenOptions::new().with_context(context).with_digest_check(digest_check);
    // SAFETY: `options->expected` is null or a handle by rule 1.
    if let Some(Policy(policy)) = unsafe { expected.as_ref() } {
        options = options.expect(policy);
    }
    // SAFETY: `block` is valid for `block_len` bytes by rule 1, and unless copied outlives the reader by rule 2.
    let borrowed = required(unsafe { bytes(block, block_len) }, "block")?;
    let owned = copy.then(|| AlignedBytes::copy_of(borrowed));
    let bytes = owned.as_ref().map_or(borrowed, AsRef::as_ref);
    // SAFETY: the bytes outlive the reader: they are the caller's (rule 2), or its own copy, which does not move with
    // it.
    let bytes: &'static [u8] = unsafe { slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
    Ok((open(&options, bytes)?, owned))
}

/// Opens a reader by `open`, and counts how that ended.
pub(crate) fn opened<T>(
    counters: Option<&Counters>,
    reader: Option<&mut MaybeUninit<*mut T>>,
    error: Option<&mut MaybeUninit<Error>>,
    open: impl FnOnce() -> Result<*mut T, Failure>,
) -> Status {
    let status = run(error, || {
        let reader = required(reader, "reader")?.write(ptr::null_mut());
        *reader = open()?;
        Ok(())
    });
    if let Some(counters) = counters {
        counters.note_open(status);
    }
    status
}

impl Reader {
    /// # Safety
    /// See [`open`].
    unsafe fn open(
        block: *const c_void,
        block_len: usize,
        options: *const OpenOptions,
        is_in_place: bool,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller has promised it; a reader owns the copy.
        let (filter, owned) = unsafe { open(block, block_len, options, is_in_place, filterblock::OpenOptions::open) }?;
        Ok(Self { filter, _owned: owned, is_in_place })
    }
}

/// Opens a block: a reader in memory of the library, to be freed by `filterblock_reader_free`. On an error `*reader` is
/// null, which answers *maybe*. Takes constant time beyond the checksums. `options` may be null. The attempt is counted
/// in `counters`, unless they are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_open(
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    counters: Option<&Counters>,
    reader: Option<&mut MaybeUninit<*mut Reader>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    opened(counters, reader, error, || {
        // SAFETY: `block` is valid for `block_len` bytes (rules 1 and 2), and `options` for its size (rule 1).
        Ok(Box::into_raw(Box::new(unsafe { Reader::open(block, block_len, options, false) }?)))
    })
}

/// Opens a block without an allocation, for engines that open one for each lookup: a reader within the `storage_len`
/// bytes at `storage`, which must be `FILTERBLOCK_READER_SIZE` or more, and remain for as long as the reader is used.
/// Nothing has to be freed. For the rest see `filterblock_reader_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_init(
    storage: *mut c_void,
    storage_len: usize,
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    counters: Option<&Counters>,
    reader: Option<&mut MaybeUninit<*mut Reader>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    opened(counters, reader, error, || {
        let place = required(place_in(storage, storage_len), "storage")?;
        // SAFETY: `block` is valid for `block_len` bytes (rules 1 and 2), and `options` for its size (rule 1); `place`
        // is aligned and has room in the `storage_len` bytes at `storage` (rule 1), by `place_in`.
        unsafe { place.write(Reader::open(block, block_len, options, true)?) };
        Ok(place)
    })
}

/// The first place in the storage that is aligned, with room for a reader.
fn place_in(storage: *mut c_void, storage_len: usize) -> Option<*mut Reader> {
    let skipped = storage.cast::<u8>().align_offset(FILTERBLOCK_READER_ALIGN);
    let is_long_enough = storage_len.checked_sub(skipped).is_some_and(|len| len >= FILTERBLOCK_READER_SIZE);
    (!storage.is_null() && is_long_enough).then(|| storage.cast::<u8>().wrapping_add(skipped).cast())
}

/// Frees a reader. One in memory of the caller's, or a null pointer, is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_free(reader: *mut Reader) {
    // SAFETY: `reader` is null or was returned by `filterblock_reader_open` or `_init` and not freed (rule 1).
    if !reader.is_null() && unsafe { !(*reader).is_in_place } {
        // SAFETY: `reader` comes from `Box::into_raw` in `filterblock_reader_open`, as it is not in place.
        drop(unsafe { Box::from_raw(reader) });
    }
}

/// The properties that a block states of itself. Later versions append fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Info {
    /// The size, set to `sizeof(filterblock_info)` by the caller. An older library lowers it to what it has written.
    size: usize,
    /// The number of distinct entries.
    num_entries: u64,
    /// The length of the block in bytes.
    block_len: u64,
    /// The seed, or the id of the secret key.
    seed: u64,
    /// The kind: one of `FILTERBLOCK_KIND_*`, or the tag of a kind that is newer than the header.
    kind: u32,
    /// The hash function: 1 is XXH3 with a seed, 2 is SipHash under a secret key.
    hash_id: u32,
    /// The key transform's id in the format.
    transform_id: u32,
    /// The key transform's parameter.
    transform_param: u32,
    /// The most columns that queries compare of a key; 0 for kinds without columns.
    num_columns: u32,
    /// The most columns that the filter was built with, if it was thinned since, otherwise 0.
    thinned_from: u32,
    /// The number of probes made for a key, for the kinds that probe bits, otherwise 0.
    num_probes: u32,
    /// A 1 if the number of entries is an estimate, otherwise 0.
    entries_estimated: u32,
}

// SAFETY: `repr(C)`, begins with its size, and has nothing but integers.
unsafe impl Versioned for Info {
    const MIN_SIZE: usize = size_of::<Self>();
}

/// Reads the properties that the block states. Set `info->size` before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_info(reader: Option<&Reader>, info: *mut Info) -> Status {
    run(None, || {
        let filter = &required(reader, "reader")?.filter;
        let transform = filter.entry_hasher().transform().to_wire();
        let read = Info {
            size: 0,
            num_entries: filter.num_entries(),
            block_len: filter.as_bytes().len() as u64,
            seed: filter.entry_hasher().hasher().seed(),
            kind: filter.kind().tag().into(),
            hash_id: filter.entry_hasher().hasher().hash_id().into(),
            transform_id: transform.id.into(),
            transform_param: transform.param.into(),
            num_columns: filter.num_compared_columns().unwrap_or(0),
            thinned_from: filter.thinned_from().unwrap_or(0),
            num_probes: filter.num_probes().unwrap_or(0),
            entries_estimated: filter.entries_estimated().into(),
        };
        // SAFETY: `info` is null, or valid for as many bytes as its size states (rule 1).
        unsafe { versioned::write(info, read, "info") }
    })
}

/// The rate at which absent keys pass, computed from the payload, all of which is read. 1 of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_reader_false_positive_rate(reader: Option<&Reader>) -> f64 {
    caught_or(1.0, || reader.map_or(1.0, |reader| reader.filter.false_positive_rate()))
}
