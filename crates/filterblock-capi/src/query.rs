//! Queries of one table. A query that cannot be answered is *maybe*.

use crate::border::{Keys, array, bytes, caught_or, filled};
use crate::reader::Reader;
use core::ffi::c_void;
use filterblock::{FilterBlockReader, KeyHash, Query};

/// The answer of a query of some bytes, or *maybe*.
#[inline]
fn answer(
    reader: Option<&Reader>,
    data: Option<&[u8]>,
    query: impl FnOnce(&FilterBlockReader<'_>, &[u8]) -> bool,
) -> bool {
    caught_or(true, || reader.zip(data).is_none_or(|(reader, data)| query(&reader.filter, data)))
}

/// Returns whether the table may contain a key; false is certain. The block's transform is applied. A key that has no
/// entry is *maybe*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain(
    reader: Option<&Reader>,
    key: *const c_void,
    key_len: usize,
) -> bool {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    answer(reader, unsafe { bytes(key, key_len) }, |filter, key| filter.may_contain(key))
}

/// Returns whether the filter may hold the entry of this hash, which was made under the block's seed or secret key:
/// have these compared at opening.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_reader_may_contain_hash(reader: Option<&Reader>, hash: u64) -> bool {
    caught_or(true, || reader.is_none_or(|reader| reader.filter.may_contain_hash(KeyHash::from_raw(hash))))
}

/// Returns whether the table may contain a key that begins with `key`, by its longest prefix that the transform makes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_prefix(
    reader: Option<&Reader>,
    key: *const c_void,
    key_len: usize,
) -> bool {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    answer(reader, unsafe { bytes(key, key_len) }, |filter, key| filter.may_contain_prefix(key))
}

/// Returns whether the table may contain a cell of this row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_row(
    reader: Option<&Reader>,
    row: *const c_void,
    row_len: usize,
) -> bool {
    // SAFETY: `row` is valid for `row_len` bytes (rule 1).
    answer(reader, unsafe { bytes(row, row_len) }, |filter, row| filter.may_match(Query::Row(row)))
}

/// Returns whether the table may contain the cell of this row and column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_row_column(
    reader: Option<&Reader>,
    row: *const c_void,
    row_len: usize,
    column: *const c_void,
    column_len: usize,
) -> bool {
    // SAFETY: `row` is valid for `row_len` bytes, and `column` for `column_len` (rule 1).
    let (row, column) = unsafe { (bytes(row, row_len), bytes(column, column_len)) };
    answer(reader, row, |filter, row| column.is_none_or(|column| filter.may_match(Query::Cell(row, column))))
}

/// The number of keys that are queried together.
const AT_ONCE: usize = 64;

/// An answer for each of `num_hashes` hashes; see `filterblock_reader_may_contain_hash`. Hides the misses of caches of
/// large filters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_hashes(
    reader: Option<&Reader>,
    hashes: *const u64,
    num_hashes: usize,
    answers: *mut bool,
) {
    // SAFETY: `hashes` is valid for `num_hashes` hashes, and `answers` for as many answers (rule 1).
    let (hashes, answers) = unsafe { (array(hashes, num_hashes), filled(answers, num_hashes, true)) };
    let (Some(reader), Some(hashes), Some(answers)) = (reader, hashes, answers) else { return };
    caught_or((), || {
        for (hashes, answers) in hashes.chunks(AT_ONCE).zip(answers.chunks_mut(AT_ONCE)) {
            let mut chunk = [KeyHash::from_raw(0); AT_ONCE];
            chunk.iter_mut().zip(hashes).for_each(|(to, &hash)| *to = KeyHash::from_raw(hash));
            reader.filter.may_contain_hashes(&chunk[..hashes.len()], answers);
        }
    });
}

/// An answer for each of `num_keys` keys, `key_lens[i]` bytes at `keys[i]`; see `filterblock_reader_may_contain`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_keys(
    reader: Option<&Reader>,
    keys: *const *const c_void,
    key_lens: *const usize,
    num_keys: usize,
    answers: *mut bool,
) {
    // SAFETY: `keys` and `key_lens` are valid for `num_keys` keys, and `answers` for as many answers (rule 1).
    let (keys, answers) = unsafe { (Keys::new(keys, key_lens, num_keys), filled(answers, num_keys, true)) };
    let (Some(reader), Some(keys), Some(answers)) = (reader, keys, answers) else { return };
    caught_or((), || {
        let (entries, mut keys) = (reader.filter.entry_hasher(), keys.iter());
        for answers in answers.chunks_mut(AT_ONCE) {
            let (mut hashes, mut has_none) = ([KeyHash::from_raw(0); AT_ONCE], [false; AT_ONCE]);
            for (i, key) in keys.by_ref().take(answers.len()).enumerate() {
                match key.and_then(|key| entries.hash_key(key)) {
                    Some(hash) => hashes[i] = hash,
                    None => has_none[i] = true,
                }
            }
            reader.filter.may_contain_hashes(&hashes[..answers.len()], answers);
            answers.iter_mut().zip(has_none).for_each(|(answer, has_none)| *answer |= has_none);
        }
    });
}
