//! Queries of many keys in one table, and of one key in many tables. What cannot be answered is *maybe*.

use super::border::{array, bytes, caught_or};
use super::reader::Reader;
use crate::{FilterBlockReader, KeyHash, probe_tables};
use core::ffi::c_void;
use core::ptr;

/// Keys or tables that are queried together.
const AT_ONCE: usize = 64;

/// Where answers go: memory of the caller's, in which nothing is read.
#[derive(Clone, Copy)]
struct Answers(*mut bool);

impl Answers {
    /// # Safety
    /// `self` is null or valid for writes up to `start + answers.len()`.
    unsafe fn put(self, start: usize, answers: &[bool]) {
        if !self.0.is_null() {
            // SAFETY: not null, by the check above; the rest is the caller's promise.
            unsafe { ptr::copy_nonoverlapping(answers.as_ptr(), self.0.add(start), answers.len()) }
        }
    }

    /// Answers *maybe* `len` times, unless `answer` answers.
    ///
    /// # Safety
    /// `self` is null or valid for writes of `len` answers.
    unsafe fn all_or(self, len: usize, answer: impl FnOnce() -> Option<()>) {
        if caught_or(None, answer).is_none() && !self.0.is_null() {
            // SAFETY: not null, by the check above; the rest is the caller's promise. 1 is true.
            unsafe { self.0.cast::<u8>().write_bytes(1, len) }
        }
    }
}

/// An answer for each of `num_hashes` hashes; see `filterblock_reader_may_contain_hash`. Hides the misses of caches of
/// large filters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_reader_may_contain_hashes(
    reader: Option<&Reader>,
    hashes: *const u64,
    num_hashes: usize,
    answers: *mut bool,
) {
    let out = Answers(answers);
    // SAFETY: rule 1 of the interface.
    unsafe {
        out.all_or(num_hashes, || {
            let (reader, hashes) = (reader?, array(hashes, num_hashes)?);
            for (chunk, start) in hashes.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
                let (mut raw, mut answers) = ([KeyHash::from_raw(0); AT_ONCE], [true; AT_ONCE]);
                let (raw, answers) = (&mut raw[..chunk.len()], &mut answers[..chunk.len()]);
                raw.iter_mut().zip(chunk).for_each(|(raw, &hash)| *raw = KeyHash::from_raw(hash));
                reader.filter.may_contain_hashes(raw, answers);
                out.put(start, answers);
            }
            Some(())
        });
    }
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
    let out = Answers(answers);
    // SAFETY: rule 1 of the interface.
    unsafe {
        out.all_or(num_keys, || {
            let (reader, keys, key_lens) = (reader?, array(keys, num_keys)?, array(key_lens, num_keys)?);
            let entries = reader.filter.entry_hasher();
            let chunks = keys.chunks(AT_ONCE).zip(key_lens.chunks(AT_ONCE)).zip((0..).step_by(AT_ONCE));
            for ((keys, key_lens), start) in chunks {
                let (mut raw, mut answers) = ([KeyHash::from_raw(0); AT_ONCE], [true; AT_ONCE]);
                let mut has_none = [false; AT_ONCE];
                for (i, (&key, &len)) in keys.iter().zip(key_lens).enumerate() {
                    match bytes(key, len).and_then(|key| entries.hash_key(key)) {
                        Some(hash) => raw[i] = hash,
                        None => has_none[i] = true,
                    }
                }
                reader.filter.may_contain_hashes(&raw[..keys.len()], &mut answers[..keys.len()]);
                answers.iter_mut().zip(has_none).for_each(|(answer, has_none)| *answer |= has_none);
                out.put(start, &answers[..keys.len()]);
            }
            Some(())
        });
    }
}

/// An answer of each of `num_readers` tables, null pointers among them, for one key, which is hashed once. The misses
/// of caches of large filters overlap. A table of another seed or transform than the first one's is queried by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_probe_tables(
    readers: *const Option<&Reader>,
    num_readers: usize,
    key: *const c_void,
    key_len: usize,
    answers: *mut bool,
) {
    let out = Answers(answers);
    // SAFETY: rule 1 of the interface.
    unsafe {
        out.all_or(num_readers, || {
            let (readers, key) = (array(readers, num_readers)?, bytes(key, key_len)?);
            let entries = readers.iter().flatten().next()?.filter.entry_hasher();
            let hash = entries.hash_key(key);
            let alike = |filter: &FilterBlockReader<'_>| hash.filter(|_| filter.entry_hasher() == entries);
            probe(readers, out, alike, |filter| filter.may_contain(key));
            Some(())
        });
    }
}

/// An answer of each of `num_readers` tables, null pointers among them, for a hash that was made under the seed or
/// secret key of all: have these compared at opening. Where two tables have not the same one, all answers are *maybe*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_probe_tables_hash(
    readers: *const Option<&Reader>,
    num_readers: usize,
    hash: u64,
    answers: *mut bool,
) {
    let out = Answers(answers);
    // SAFETY: rule 1 of the interface.
    unsafe {
        out.all_or(num_readers, || {
            let readers = array(readers, num_readers)?;
            let mut hashers = readers.iter().flatten().map(|reader| reader.filter.hasher());
            let first = hashers.next()?;
            if hashers.any(|hasher| hasher != first) {
                return None;
            }
            probe(readers, out, |_| Some(KeyHash::from_raw(hash)), |_| true);
            Some(())
        });
    }
}

/// Queries tables together that have a hash, and the others by themselves.
///
/// # Safety
/// `out` is null or valid for an answer of each reader.
unsafe fn probe(
    readers: &[Option<&Reader>],
    out: Answers,
    hash_for: impl Fn(&FilterBlockReader<'static>) -> Option<KeyHash>,
    alone: impl Fn(&FilterBlockReader<'static>) -> bool,
) {
    for (chunk, start) in readers.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
        let mut answers = [true; AT_ONCE];
        let (mut filters, mut places, mut num_filters, mut hash) = ([None; AT_ONCE], [0; AT_ONCE], 0, None);
        for (i, filter) in chunk.iter().enumerate().filter_map(|(i, reader)| Some((i, &(*reader)?.filter))) {
            match hash_for(filter) {
                Some(for_all) => {
                    (filters[num_filters], places[num_filters], hash) = (Some(filter), i, Some(for_all));
                    num_filters += 1;
                }
                None => answers[i] = alone(filter),
            }
        }
        if let Some(hash) = hash {
            let mut together = [true; AT_ONCE];
            probe_tables(filters[..num_filters].iter().copied().flatten(), hash, &mut together[..num_filters]);
            places[..num_filters].iter().zip(together).for_each(|(&place, answer)| answers[place] = answer);
        }
        // SAFETY: the caller's promise.
        unsafe { out.put(start, &answers[..chunk.len()]) };
    }
}
