//! What every call shares: arguments from C, results to C, and panics, which stay on this side.

use super::status::{Error, Failure, Status};
use crate::{EntryHasher, KeyHash};
use core::ffi::{CStr, c_char, c_void};
use core::{ptr, slice};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The array at `items`; `None` if there can be none: a null pointer with a length, a pointer that is not aligned, or a
/// length beyond the address space.
///
/// # Safety
/// Rule 1 of the interface, and no writes while the result is in use.
#[inline]
pub(super) unsafe fn array<'a, T>(items: *const T, len: usize) -> Option<&'a [T]> {
    if items.is_null() {
        return if len == 0 { Some(&[]) } else { None };
    }
    if !items.is_aligned() || len > isize::MAX as usize / size_of::<T>() {
        return None;
    }
    // SAFETY: not null, aligned, and no longer than an object may be, by the checks above; valid by rule 1.
    Some(unsafe { slice::from_raw_parts(items, len) })
}

/// The bytes at `data`; see [`array`].
///
/// # Safety
/// As [`array`].
#[inline]
pub(super) unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { array(data.cast(), len) }
}

/// As [`bytes`], with a failure that names the argument.
///
/// # Safety
/// As [`array`].
pub(super) unsafe fn required_bytes<'a>(
    data: *const c_void,
    len: usize,
    name: &'static str,
) -> Result<&'a [u8], Failure> {
    // SAFETY: the caller's promise.
    unsafe { bytes(data, len) }.ok_or_else(|| Failure::argument(name))
}

/// What a handle refers to.
pub(super) fn required<T>(handle: Option<T>, name: &'static str) -> Result<T, Failure> {
    handle.ok_or_else(|| Failure::argument(name))
}

/// The text at `text`, which ends with NUL.
///
/// # Safety
/// `text` is null, or a string that ends with NUL and outlives the result.
pub(super) unsafe fn text<'a>(text: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(name));
    }
    // SAFETY: not null, by the check above; the rest is the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Failure::argument(name))
}

/// Writes `value` to `place`, unless that is null.
///
/// # Safety
/// `place` is null or valid for a write.
pub(super) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, by the check above; valid by the caller's promise.
        unsafe { place.write(value) }
    }
}

/// Writes the hash of the entry that answers for a key to `hash`, or 0. Whether there is one, and a place for it.
///
/// # Safety
/// `key` as [`array`] takes it; `hash` as [`put`] does.
pub(super) unsafe fn hash_key(hasher: Option<EntryHasher>, key: *const c_void, key_len: usize, hash: *mut u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let key = bytes(key, key_len);
        let hashed = caught_or(None, || hasher.zip(key).and_then(|(hasher, key)| hasher.hash_key(key)));
        put(hash, hashed.map_or(0, KeyHash::get));
        hashed.is_some() && !hash.is_null()
    }
}

/// Writes `text` and a NUL to the `out_len` bytes at `out`, truncated at the border of a character. Returns the length
/// of the whole text.
///
/// # Safety
/// `out` is null or valid for writes of `out_len` bytes.
pub(super) unsafe fn put_text(text: &str, out: *mut c_char, out_len: usize) -> usize {
    if !out.is_null() && out_len > 0 {
        let mut len = text.len().min(out_len - 1);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: `len < out_len`, and `len <= text.len()`, by the lines above.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), len);
            out.add(len).write(0);
        }
    }
    text.len()
}

/// Runs `call`; a panic becomes a failure.
pub(super) fn caught<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(Failure::panic()))
}

/// Runs `call`; a panic becomes `otherwise`.
#[inline]
pub(super) fn caught_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// Runs `call`, and reports how it ended, also in `error` if that is not null.
///
/// # Safety
/// `error` is null or valid for writes.
pub(super) unsafe fn run(error: *mut Error, call: impl FnOnce() -> Result<(), Failure>) -> Status {
    let result = caught(call);
    let (status, message) = match &result {
        Ok(()) => (Status::Ok, ""),
        Err(failure) => (failure.status, &*failure.message),
    };
    if !error.is_null() {
        // SAFETY: not null, by the check above; valid by the caller's promise. Nothing is read from it.
        unsafe {
            (&raw mut (*error).status).write(status);
            put_text(message, (&raw mut (*error).message).cast(), super::status::FILTERBLOCK_MESSAGE_SIZE);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::{array, caught_or, put_text, run};
    use crate::capi::status::{Error, FILTERBLOCK_MESSAGE_SIZE, Failure, Status};
    use core::ffi::CStr;
    use core::ptr;

    #[test]
    fn a_panic_is_a_status_and_a_probe_that_panics_is_maybe() {
        let mut error = Error { status: Status::Ok, message: [1; FILTERBLOCK_MESSAGE_SIZE] };
        // SAFETY: a reference is valid for writes.
        let status = unsafe { run(&mut error, || panic!("on purpose")) };
        assert_eq!((status, error.status), (Status::Panic, Status::Panic));
        assert!(caught_or(true, || panic!("on purpose")));
    }

    #[test]
    fn messages_are_cut_at_the_border_of_a_character() {
        for out_len in 0..=8 {
            let mut out = [0x7f; 8];
            // SAFETY: `out_len <= 8`.
            assert_eq!(unsafe { put_text("aäöü", out.as_mut_ptr(), out_len) }, 7);
            let written =
                CStr::from_bytes_until_nul(as_bytes(&out)).map(|text| text.to_str().expect("whole characters"));
            let expected = ["", "a", "a", "aä", "aä", "aäö", "aäö", "aäöü"];
            match out_len {
                0 => assert!(written.is_err()),
                _ => assert_eq!(written, Ok(expected[out_len - 1])),
            }
        }
        let long = Failure::new(Status::Setting, "é".repeat(FILTERBLOCK_MESSAGE_SIZE));
        let mut error = Error { status: Status::Ok, message: [1; FILTERBLOCK_MESSAGE_SIZE] };
        // SAFETY: a reference is valid for writes.
        assert_eq!(unsafe { run(&mut error, || Err(long)) }, Status::Setting);
        let message = CStr::from_bytes_until_nul(as_bytes(&error.message)).expect("a NUL");
        assert_eq!(message.to_str().expect("whole characters"), "é".repeat((FILTERBLOCK_MESSAGE_SIZE - 1) / 2));
    }

    fn as_bytes(text: &[core::ffi::c_char]) -> &[u8] {
        // SAFETY: bytes are bytes, signed or not.
        unsafe { core::slice::from_raw_parts(text.as_ptr().cast(), text.len()) }
    }

    #[test]
    fn arrays_that_cannot_be_are_refused() {
        let items = [0u64; 4];
        let crooked = items.as_ptr().cast::<u8>().wrapping_add(1).cast::<u64>();
        // SAFETY: refused without being read, but for the first two.
        unsafe {
            assert_eq!(array(items.as_ptr(), 4), Some(&items[..]));
            assert_eq!(array::<u64>(ptr::null(), 0), Some(&[][..]));
            assert_eq!(array::<u64>(ptr::null(), 1), None);
            assert_eq!(array(crooked, 1), None);
            assert_eq!(array(items.as_ptr(), usize::MAX / 8), None);
        }
    }
}
