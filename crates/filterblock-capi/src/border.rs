//! The parts that calls share: arguments from C, results to C, and panics, which stay on this side.
//!
//! The type of a parameter states what rule 1 requires of its pointer, so most calls need no `unsafe`:
//!
//! | type | pointer |
//! |---|---|
//! | `Option<&T>`, `Option<&mut T>` | a handle, or null |
//! | `Option<Box<T>>` | a handle that the call frees, or null |
//! | `Option<&mut MaybeUninit<T>>` | a place for one result, or null |
//! | `*const T` or `*mut T`, and a length | an array: [`array`], [`bytes`], [`filled`], [`Keys`] |
//! | `*const T` or `*mut T` of a structure with a `size` | [`crate::versioned`] |

use crate::status::{Error, FILTERBLOCK_MESSAGE_SIZE, Failure, Status};
use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;
use core::{ptr, slice};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns whether an array can be there: not at a null pointer, nor crooked, nor longer than the address space.
#[inline]
fn is_possible<T>(items: *const T, len: usize) -> bool {
    !items.is_null() && items.is_aligned() && len <= isize::MAX as usize / size_of::<T>()
}

/// The array at `items`; `None` if there can be none. A null pointer with the length 0 is an empty array.
///
/// # Safety
/// `items` is null or valid for reads of `len` items, and they do not change while the result is in use.
#[inline]
pub(crate) unsafe fn array<'a, T>(items: *const T, len: usize) -> Option<&'a [T]> {
    match is_possible(items, len) {
        // SAFETY: `items` is aligned and `len` no more than an object may have, by `is_possible`; the caller has the
        // rest.
        true => Some(unsafe { slice::from_raw_parts(items, len) }),
        false if items.is_null() && len == 0 => Some(&[]),
        false => None,
    }
}

/// The bytes at `data`; see [`array`].
///
/// # Safety
/// `data` is null or valid for reads of `len` bytes, and they do not change while the result is in use.
#[inline]
pub(crate) unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: what `data` is valid for, the caller has promised.
    unsafe { array(data.cast(), len) }
}

/// The `len` items at `place`, all set to `value`; `None` as for [`array`].
///
/// # Safety
/// `place` is null or valid for reads and writes of `len` items, for the caller alone while the result is in use.
#[inline]
pub(crate) unsafe fn filled<'a, T: Copy>(place: *mut T, len: usize, value: T) -> Option<&'a mut [T]> {
    if !is_possible(place, len) {
        return None;
    }
    // SAFETY: `place` is aligned and `len` no more than an object may have, by `is_possible`; the caller has the rest.
    // Nothing need be initialised yet.
    let places = unsafe { slice::from_raw_parts_mut(place.cast::<MaybeUninit<T>>(), len) };
    places.fill(MaybeUninit::new(value));
    // SAFETY: the same items, initialised by the line above.
    Some(unsafe { slice::from_raw_parts_mut(place, len) })
}

/// The caller's keys: `key_lens[i]` bytes at `keys[i]`.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    starts: &'a [*const c_void],
    lens: &'a [usize],
}

impl<'a> Keys<'a> {
    /// # Safety
    /// `keys` and `key_lens` are null or valid for reads of `num_keys` items, and each key for reads of its length;
    /// nothing of them changes while the result is in use.
    pub(crate) unsafe fn new(keys: *const *const c_void, key_lens: *const usize, num_keys: usize) -> Option<Self> {
        // SAFETY: what `keys` and `key_lens` are valid for, the caller has promised.
        unsafe { Some(Self { starts: array(keys, num_keys)?, lens: array(key_lens, num_keys)? }) }
    }

    /// The keys, `None` for one that cannot be right.
    pub(crate) fn iter(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        // SAFETY: `start` is null or valid for `len` bytes, by the promise made to `Keys::new`.
        self.starts.iter().zip(self.lens).map(|(&start, &len)| unsafe { bytes(start, len) })
    }
}

/// An argument that must be there.
pub(crate) fn required<T>(argument: Option<T>, name: &'static str) -> Result<T, Failure> {
    argument.ok_or_else(|| Failure::argument(name))
}

/// The text at `text`.
///
/// # Safety
/// `text` is null, or a string that ends with NUL and outlives the result.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(name));
    }
    // SAFETY: `text` is not null, by the check above; that it ends with NUL, the caller has promised.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Failure::argument(name))
}

/// Writes `text` and a NUL to the `out_len` bytes at `out`, truncated at the border of a character. Returns the length
/// of the whole text.
///
/// # Safety
/// `out` is null or valid for writes of `out_len` bytes.
pub(crate) unsafe fn put_text(text: &str, out: *mut c_char, out_len: usize) -> usize {
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
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(Failure::panic()))
}

/// Runs `call`; a panic becomes `otherwise`.
#[inline]
pub(crate) fn caught_or<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// Runs `call`, and reports how it ended, also in `error` if there is one.
pub(crate) fn run(error: Option<&mut MaybeUninit<Error>>, call: impl FnOnce() -> Result<(), Failure>) -> Status {
    let result = caught(call);
    let (status, message) = match &result {
        Ok(()) => (Status::Ok, ""),
        Err(failure) => (failure.status, &*failure.message),
    };
    if let Some(error) = error {
        let error = error.as_mut_ptr();
        // SAFETY: `error` comes from a reference, and the message has `FILTERBLOCK_MESSAGE_SIZE` bytes. Nothing is
        // read.
        unsafe {
            (&raw mut (*error).status).write(status);
            (&raw mut (*error).reserved).write_bytes(0, 1);
            put_text(message, (&raw mut (*error).message).cast(), FILTERBLOCK_MESSAGE_SIZE);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::{array, caught_or, filled, put_text, run};
    use crate::status::{Error, FILTERBLOCK_MESSAGE_SIZE, Failure, Status};
    use core::ffi::{CStr, c_char};
    use core::mem::MaybeUninit;
    use core::ptr;

    /// The outcome of a call by `run`: the status, twice, and the message.
    fn report(call: impl FnOnce() -> Result<(), Failure>) -> (Status, Status, String) {
        let mut error = MaybeUninit::new(Error {
            status: Status::Incomplete,
            reserved: [1; 7],
            message: [1; FILTERBLOCK_MESSAGE_SIZE],
        });
        let status = run(Some(&mut error), call);
        // SAFETY: initialised two lines above.
        let error = unsafe { error.assume_init() };
        assert_eq!(error.reserved, [0; 7]);
        let message = CStr::from_bytes_until_nul(as_bytes(&error.message)).expect("a NUL");
        (status, error.status, message.to_str().expect("whole characters").to_owned())
    }

    #[test]
    fn a_panic_is_a_status_and_a_probe_that_panics_is_maybe() {
        let (status, in_error, message) = report(|| panic!("on purpose"));
        assert_eq!((status, in_error), (Status::Panic, Status::Panic));
        assert!(message.contains("panic"), "{message}");
        assert_eq!(run(None, || panic!("on purpose")), Status::Panic);
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
        let (status, in_error, message) = report(|| Err(long));
        assert_eq!((status, in_error), (Status::Setting, Status::Setting));
        assert_eq!(message, "é".repeat((FILTERBLOCK_MESSAGE_SIZE - 1) / 2));
        assert_eq!(report(|| Ok(())), (Status::Ok, Status::Ok, String::new()));
    }

    fn as_bytes(text: &[c_char]) -> &[u8] {
        // SAFETY: bytes are bytes, signed or not.
        unsafe { core::slice::from_raw_parts(text.as_ptr().cast(), text.len()) }
    }

    #[test]
    fn arrays_that_cannot_be_are_refused() {
        let mut items = [0u64; 4];
        let crooked = items.as_mut_ptr().cast::<u8>().wrapping_add(1).cast::<u64>();
        // SAFETY: refused without being touched, except whole or empty ones.
        unsafe {
            assert_eq!(filled(items.as_mut_ptr(), 4, 7), Some(&mut [7; 4][..]));
            assert_eq!(array(items.as_ptr(), 4), Some(&[7; 4][..]));
            assert_eq!(array::<u64>(ptr::null(), 0), Some(&[][..]));
            assert_eq!(array::<u64>(ptr::null(), 1), None);
            assert_eq!(filled::<u64>(ptr::null_mut(), 1, 7), None);
            assert_eq!((array(crooked, 1), filled(crooked, 1, 7)), (None, None));
            assert_eq!(array(items.as_ptr(), usize::MAX / 8), None);
            assert_eq!(filled(items.as_mut_ptr(), usize::MAX / 8, 9), None);
        }
        assert_eq!(items, [7; 4]);
    }
}
