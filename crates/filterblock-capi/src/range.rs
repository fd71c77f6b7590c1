//! Range filters: whether a table may have a key between two bounds, or with a prefix.

use crate::border::{bytes, caught_or, required, run, text};
use crate::builder::Builder;
use crate::counters::Counters;
use crate::reader::{OpenOptions, open, opened};
use crate::status::{Error, Status};
use crate::versioned::{self, Versioned};
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ops::Bound;
use filterblock::AlignedBytes;
use filterblock::range::{RangeFilter, RangeForm};

/// A builder of range filters, to be used and freed as one of `filterblock_builder_new` is: keys go in by
/// `filterblock_builder_add_key`, whole and in any order. On an error `*builder` is null.
///
/// The text is "range:BITS", as "range:14", or "range:fpr=RATE,len=LENGTH", as "range:fpr=1%,len=1024", the latter with
/// ",form=integers" or without; both may end with ",self_check=off". Others are `FILTERBLOCK_STATUS_SETTING`.
///
/// BITS is about how many bits the block has for each key, from 2 to 200. From 10 on for integers and 12 to 24 on for
/// text all keys are distinguished; more bits see smaller gaps between keys. RATE and LENGTH are for integers, most
/// significant byte first: keys of one length, of at most 16 bytes after those that all begin with. Of the empty ranges
/// of up to LENGTH integers the share RATE passes. Dense integers, which can be kept whole in as many bits, have the form
/// `FILTERBLOCK_RANGE_FORM_CUT`, and the rate 0. A filter of keys that are not such integers has that form, too, and no
/// rate, as `filterblock_range_reader_false_positive_rate` shows; with ",form=integers" it is not built
/// (`FILTERBLOCK_STATUS_NOT_BUILT`, with the reason).
///
/// A filter has at most 2^32 - 1 keys, or the finish is `FILTERBLOCK_STATUS_NOT_BUILT`. Nothing is hashed: range filters
/// have no seed, secret key or transform, and rows and hashes are not added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_range_builder_new(
    policy_text: *const c_char,
    counters: Option<&Counters>,
    builder: Option<&mut MaybeUninit<Option<Box<Builder>>>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let builder = required(builder, "builder")?.write(None);
        // SAFETY: `policy_text` is null or ends with NUL (rule 1).
        let text = unsafe { text(policy_text, "policy_text") }?;
        *builder = Some(Box::new(Builder::of_ranges(text.parse()?, counters)));
        Ok(())
    })
}

/// Answers from a range filter's block whether its table may have a key in a range. A null pointer answers *maybe*.
pub struct RangeReader {
    filter: RangeFilter<&'static [u8]>,
    /// The bytes that `filter` borrows, if the reader owns them.
    _owned: Option<AlignedBytes>,
}

/// Threads share readers: rule 3 of the interface.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<RangeReader>();
};

/// Opens a range filter's block, as `filterblock_reader_open` opens one of keys, to be freed by
/// `filterblock_range_reader_free`. Of the options, context and flags apply: nothing depends on the policy that is
/// expected. The block of another kind of filter is `FILTERBLOCK_STATUS_MISMATCH`, and so is a range filter's for
/// `filterblock_reader_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_range_reader_open(
    block: *const c_void,
    block_len: usize,
    options: *const OpenOptions,
    counters: Option<&Counters>,
    reader: Option<&mut MaybeUninit<*mut RangeReader>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    opened(counters, reader, error, || {
        // SAFETY: `block` is valid for `block_len` bytes (rules 1 and 2), and `options` for its size (rule 1); the reader
        // owns the copy.
        let (filter, owned) =
            unsafe { open(block, block_len, options, false, |options, bytes| options.open_ranges(bytes)) }?;
        Ok(Box::into_raw(Box::new(RangeReader { filter, _owned: owned })))
    })
}

/// Frees a reader. A null pointer is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_range_reader_free(reader: Option<Box<RangeReader>>) {
    drop(reader);
}

/// The form of a range filter whose keys are cut where they differ from their neighbours. No rate holds for all ranges,
/// unless nothing is cut off: then it is 0.
pub const FILTERBLOCK_RANGE_FORM_CUT: u32 = 1;

/// The form of a range filter whose keys are integers, with a rate.
pub const FILTERBLOCK_RANGE_FORM_INTEGERS: u32 = 2;

/// The properties that a range filter states of itself. Later versions append fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RangeInfo {
    /// The size, set to `sizeof(filterblock_range_info)` by the caller. An older library lowers it to what it has written.
    size: usize,
    /// The number of distinct keys.
    num_keys: u64,
    /// The number of leaves: keys and groups of keys that are distinguished.
    num_leaves: u64,
    /// The length of the block in bytes.
    block_len: u64,
    /// The form: one of `FILTERBLOCK_RANGE_FORM_*`, or one that is newer than the header; 0 without keys.
    form: u32,
    /// A zero, until a later version has a use for it.
    reserved: u32,
}

// SAFETY: `repr(C)`, begins with its size, and has nothing but integers.
unsafe impl Versioned for RangeInfo {
    const MIN_SIZE: usize = size_of::<Self>();
}

/// Reads the properties that the filter states. Set `info->size` before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_range_reader_info(reader: Option<&RangeReader>, info: *mut RangeInfo) -> Status {
    run(None, || {
        let filter = &required(reader, "reader")?.filter;
        let form = filter.form().map_or(0, |form| match form {
            RangeForm::Cut => FILTERBLOCK_RANGE_FORM_CUT,
            RangeForm::Integers => FILTERBLOCK_RANGE_FORM_INTEGERS,
            _ => u32::MAX,
        });
        let (num_keys, num_leaves, block_len) =
            (filter.num_entries(), filter.num_leaves(), filter.as_bytes().len() as u64);
        let read = RangeInfo { size: 0, num_keys, num_leaves, block_len, form, reserved: 0 };
        // SAFETY: `info` is null, or valid for as many bytes as its size states (rule 1).
        unsafe { versioned::write(info, read, "info") }
    })
}

/// The rate at which empty ranges of `range_len` integers pass, on average over many tables, whatever the keys and the ranges
/// are: in one of few keys several times as many may pass, or none. 0 where all keys are kept whole. 1 where no rate holds
/// for all ranges: of other filters of cut keys, without keys, and of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_range_reader_false_positive_rate(reader: Option<&RangeReader>, range_len: u64) -> f64 {
    caught_or(1.0, || reader.and_then(|reader| reader.filter.false_positive_rate(range_len)).unwrap_or(1.0))
}

/// A bound of a range: a whole key, which need not be stored. What is compared are the bytes of the bound and those that
/// were given to `filterblock_builder_add_key`, byte by byte as unsigned numbers, as `memcmp` does; of two of which one
/// begins with the other, the longer is above. No comparator, encoding or transform of the engine's takes part, so
/// integers are stored with their most significant byte first, signed ones with the sign bit inverted.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RangeBound {
    /// The key's bytes.
    key: *const c_void,
    /// Their number. With 0 there is no bound, as if a null pointer was given in its place: a structure of zeros is no
    /// bound, nor is an empty string of C++ or of RocksDB.
    key_len: usize,
    /// A 0 if the key itself is in the range, a 1 if it is not. A range with any other number is *maybe*.
    is_excluded: u32,
}

/// The bound at `bound`, or `None` if there can be none.
///
/// # Safety
/// The key of `bound` is null or valid for reads of its length, and does not change while the result is in use.
unsafe fn bound_of<'a>(bound: Option<&RangeBound>) -> Option<Bound<&'a [u8]>> {
    let Some(bound) = bound else { return Some(Bound::Unbounded) };
    // SAFETY: what the key is valid for, the caller has promised.
    let key = unsafe { bytes(bound.key, bound.key_len) }?;
    match bound.is_excluded {
        0 | 1 if key.is_empty() => Some(Bound::Unbounded),
        0 => Some(Bound::Included(key)),
        1 => Some(Bound::Excluded(key)),
        _ => None,
    }
}

/// Returns whether the table may have a key between two bounds; false is certain. A null pointer and a bound of length
/// 0 are no bound: two are the range of all keys. If the lower bound is above the upper one, or both are one key and
/// one of them excludes it, the answer is *maybe*: no right scan has such bounds. Takes time in proportion to the
/// length of the bounds and, of cut keys, to the logarithm of the number of keys; of integers, mostly .1 microseconds,
/// and some tens of them whatever the bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_range_reader_may_contain_range(
    reader: Option<&RangeReader>,
    lower: Option<&RangeBound>,
    upper: Option<&RangeBound>,
) -> bool {
    // SAFETY: the keys are valid for their lengths (rule 1).
    let bounds = unsafe { bound_of(lower).zip(bound_of(upper)) };
    answer(reader, bounds, |filter, (lower, upper)| filter.may_contain_range(lower, upper))
}

/// Returns whether the table may have a key that begins with a prefix, of any length; false is certain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_range_reader_may_contain_prefix(
    reader: Option<&RangeReader>,
    prefix: *const c_void,
    prefix_len: usize,
) -> bool {
    // SAFETY: `prefix` is valid for `prefix_len` bytes (rule 1).
    answer(reader, unsafe { bytes(prefix, prefix_len) }, |filter, prefix| filter.may_contain_prefix(prefix))
}

/// Returns whether the table may have a key; false is certain. A filter of keys denies more of them in as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_range_reader_may_contain(
    reader: Option<&RangeReader>,
    key: *const c_void,
    key_len: usize,
) -> bool {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    answer(reader, unsafe { bytes(key, key_len) }, |filter, key| filter.may_contain(key))
}

/// The answer of a query with some arguments, or *maybe*.
#[inline]
fn answer<T>(
    reader: Option<&RangeReader>,
    arguments: Option<T>,
    query: impl FnOnce(&RangeFilter<&[u8]>, T) -> bool,
) -> bool {
    caught_or(true, || reader.zip(arguments).is_none_or(|(reader, arguments)| query(&reader.filter, arguments)))
}
