//! What a caller expects of the bytes that it opens.

use super::counters::{Counters, Counts};
use super::policy::Policy;
use super::status::{Failure, Status};
use core::mem::MaybeUninit;
use core::ptr;

/// What the caller expects of the bytes that it opens. Start from `FILTERBLOCK_OPEN_OPTIONS_INIT`: zeros, but for
/// `size`. Later versions append fields; a field that is set and unknown to the library is an error.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OpenOptions {
    /// `sizeof(filterblock_open_options)`.
    pub size: usize,
    /// The context that the block was written with, 0 if with none.
    pub context: u64,
    /// If not null, blocks are refused whose hash, seed, secret key or transform are not those of this policy; and
    /// blocks that were written under its secret key can be opened. Needed by callers that pass hashes.
    pub expected: *const Policy,
    /// If not null, the attempt is counted here.
    pub counters: *const Counters,
    /// `FILTERBLOCK_OPEN_TRUSTED`, `FILTERBLOCK_OPEN_COPY`, or both.
    pub flags: u32,
    /// If not 0, queries compare no more columns than this, of the kinds that have columns.
    pub max_columns: u32,
}

/// Leaves out the payload's digest, for engines that verify the block's bytes themselves: opening takes constant time.
pub const FILTERBLOCK_OPEN_TRUSTED: u32 = 1;

/// Has the reader own a copy of the bytes, which begins at a cache line: queries are fastest so.
pub const FILTERBLOCK_OPEN_COPY: u32 = 2;

/// The size in the first version of the interface.
const MIN_SIZE: usize = size_of::<OpenOptions>();

/// A size above this is none.
const MAX_SIZE: usize = 4096;

/// The options, read.
pub(super) struct Given<'a> {
    pub(super) options: crate::OpenOptions,
    pub(super) copy: bool,
    pub(super) max_columns: u32,
    pub(super) counters: Option<&'a Counts>,
}

impl Given<'_> {
    /// # Safety
    /// `options` is null, or valid for reads of as many bytes as it states; its pointers keep to rule 1 of the
    /// interface.
    pub(super) unsafe fn read(options: *const OpenOptions) -> Result<Self, Failure> {
        if options.is_null() {
            let options = crate::OpenOptions::new();
            return Ok(Self { options, copy: false, max_columns: 0, counters: None });
        }
        if !options.is_aligned() {
            return Err(Failure::argument("options"));
        }
        // SAFETY: not null and aligned, by the checks above.
        let size = unsafe { options.cast::<usize>().read() };
        if !(MIN_SIZE..=MAX_SIZE).contains(&size) {
            return Err(Failure::argument("options->size"));
        }
        let own_size = size_of::<OpenOptions>();
        // SAFETY: `size` bytes, by the caller's promise; all fields may be zero.
        let (OpenOptions { context, expected, counters, flags, max_columns, .. }, has_more) = unsafe {
            let mut read = MaybeUninit::<OpenOptions>::zeroed();
            ptr::copy_nonoverlapping(options.cast::<u8>(), read.as_mut_ptr().cast(), size.min(own_size));
            let is_set = |at: usize| options.cast::<u8>().add(at).read() != 0;
            (read.assume_init(), (own_size..size).any(is_set))
        };
        if has_more || flags & !(FILTERBLOCK_OPEN_TRUSTED | FILTERBLOCK_OPEN_COPY) != 0 {
            return Err(Failure::new(
                Status::Argument,
                "an option is set that this version of the library does not know",
            ));
        }
        let mut given = crate::OpenOptions::new().context(context).trusted(flags & FILTERBLOCK_OPEN_TRUSTED != 0);
        // SAFETY: null or a handle, by rule 1 of the interface.
        let (expected, counters) = unsafe { (expected.as_ref(), counters.as_ref()) };
        if let Some(Policy(policy)) = expected {
            given = given.expect_hasher(policy.hasher()).expect_transform(policy.key_transform());
        }
        let counters = counters.map(|counters| &*counters.0);
        Ok(Self { options: given, copy: flags & FILTERBLOCK_OPEN_COPY != 0, max_columns, counters })
    }
}
