//! Queries of one key in one table. What cannot be answered is *maybe*.

use super::border::{bytes, caught_or};
use super::reader::Reader;
use crate::{FilterBlockReader, KeyHash};
use core::ffi::c_void;

/// The answer of a query of some bytes, or *maybe*.
///
/// # Safety
/// Rule 1 of the interface.
#[inline]
unsafe fn answer(
    reader: Option<&Reader>,
    data: *const c_void,
    len: usize,
    query: impl FnOnce(&FilterBlockReader<'_>, &[u8]) -> bool,
) -> bool {
    // SAFETY: the caller's promise.
    let queried = reader.zip(unsafe { bytes(data, len) });
    caught_or(true, || queried.is_none_or(|(reader, data)| query(&reader.filter, data)))
}

/// Whether the table may contain a key; false is certain. The block's transform is applied. A key that has no entry is
/// *maybe*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain(
    reader: Option<&Reader>,
    key: *const c_void,
    key_len: usize,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { answer(reader, key, key_len, |filter, key| filter.may_contain(key)) }
}

/// Whether the filter may hold the entry of this hash, which was made under the block's seed or secret key: have these
/// compared at opening.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_reader_may_contain_hash(reader: Option<&Reader>, hash: u64) -> bool {
    caught_or(true, || reader.is_none_or(|reader| reader.filter.may_contain_hash(KeyHash::from_raw(hash))))
}

/// Whether the table may contain a key with the prefix that `key` begins with, of the transform's length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_prefix(
    reader: Option<&Reader>,
    key: *const c_void,
    key_len: usize,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { answer(reader, key, key_len, |filter, key| filter.may_contain_prefix(key)) }
}

/// Whether the table may contain a cell of this row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_row(
    reader: Option<&Reader>,
    row: *const c_void,
    row_len: usize,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { answer(reader, row, row_len, |filter, row| filter.may_contain_row(row)) }
}

/// Whether the table may contain the cell of this row and column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_row_column(
    reader: Option<&Reader>,
    row: *const c_void,
    row_len: usize,
    column: *const c_void,
    column_len: usize,
) -> bool {
    // SAFETY: rule 1 of the interface.
    let Some(column) = (unsafe { bytes(column, column_len) }) else { return true };
    // SAFETY: rule 1 of the interface.
    unsafe { answer(reader, row, row_len, |filter, row| filter.may_contain_row_column(row, column)) }
}

/// Whether the filter may hold an entry: what the transform makes of a key, for engines that apply it themselves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_entry(
    reader: Option<&Reader>,
    entry: *const c_void,
    entry_len: usize,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { answer(reader, entry, entry_len, |filter, entry| filter.may_contain_entry(entry)) }
}
