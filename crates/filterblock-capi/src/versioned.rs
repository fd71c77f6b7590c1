//! Structures of the header that begin with their size, so that later versions can append fields.

use crate::border::required;
use crate::status::{Failure, Status};
use core::mem::MaybeUninit;
use core::ptr;

/// A structure of the header that later versions append fields to.
///
/// # Safety
/// It is `repr(C)`, begins with a `usize`, and all its bytes may be zero.
pub(crate) unsafe trait Versioned: Copy {
    /// The size in the first version of the interface. A field that is appended leaves it as it is.
    const MIN_SIZE: usize;

    /// The structure without its fields.
    fn zeroed() -> Self {
        // SAFETY: all bytes may be zero, by the trait.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}

/// The greatest size that a structure may state.
const MAX_SIZE: usize = 4096;

/// Reads a structure of a caller whose header may be older or newer. Fields that the caller does not know are 0; one
/// that is set and that the library does not know is an error.
///
/// # Safety
/// `given` is null, or points to a size and is valid for reads of as many bytes as that states.
pub(crate) unsafe fn read<T: Versioned>(given: *const T, name: &'static str) -> Result<T, Failure> {
    let given = required((!given.is_null() && given.is_aligned()).then_some(given.cast::<u8>()), name)?;
    // SAFETY: `given` is not null and aligned, by the line above, and begins with its size, by `Versioned`.
    let size = unsafe { given.cast::<usize>().read() };
    if !(T::MIN_SIZE..=MAX_SIZE).contains(&size) {
        let message = std::format!("the argument '{name}' has the size {size}: set it to sizeof");
        return Err(Failure::new(Status::Argument, message));
    }
    let (mut read, own_size) = (T::zeroed(), size_of::<T>());
    // SAFETY: `given` is valid for `size` bytes by rule 1, and `read` for `own_size`.
    let has_more = unsafe {
        ptr::copy_nonoverlapping(given, (&raw mut read).cast(), size.min(own_size));
        (own_size..size).any(|at| given.add(at).read() != 0)
    };
    match has_more {
        true => Err(unknown(name)),
        false => Ok(read),
    }
}

/// A field or a flag is set that a newer library has.
pub(crate) fn unknown(name: &'static str) -> Failure {
    let message =
        std::format!("the argument '{name}' has something set that this version of the library does not know");
    Failure::new(Status::Argument, message)
}

/// Writes a structure to a caller whose header may be older or newer: as many bytes as both know, which becomes the
/// size.
///
/// # Safety
/// `place` is null, or points to a size and is valid for writes of as many bytes as that states.
pub(crate) unsafe fn write<T: Versioned>(place: *mut T, value: T, name: &'static str) -> Result<(), Failure> {
    let place = required((!place.is_null() && place.is_aligned()).then_some(place.cast::<u8>()), name)?;
    // SAFETY: `place` is not null and aligned, by the line above, and begins with its size, by `Versioned`.
    let size = unsafe { place.cast::<usize>().read() }.min(size_of::<T>());
    if size < T::MIN_SIZE {
        return Err(Failure::argument(name));
    }
    // SAFETY: `place` is valid for `size` bytes by rule 1, and `value` has no fewer.
    unsafe {
        ptr::copy_nonoverlapping((&raw const value).cast(), place, size);
        place.cast::<usize>().write(size);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Versioned, read, write};

    /// The third version of a structure.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Third {
        size: usize,
        first: u64,
        second: u64,
        third: u64,
    }

    // SAFETY: `repr(C)`, begins with its size, and has nothing but integers.
    unsafe impl Versioned for Third {
        const MIN_SIZE: usize = 16;
    }

    /// The size, whether a structure of it is taken, and the fields that it has.
    const SIZES: [(usize, bool, usize); 6] =
        [(0, false, 0), (15, false, 0), (16, true, 1), (24, true, 2), (32, true, 3), (40, true, 3)];

    #[test]
    fn callers_with_older_and_newer_headers_get_what_both_know() {
        let value = Third { size: 0, first: 1, second: 2, third: 3 };
        for (size, is_taken, num_fields) in SIZES {
            let mut place = [Third { size, ..Third::zeroed() }; 2];
            // SAFETY: `size` bytes are there.
            let written = unsafe { write(place.as_mut_ptr(), value, "place") };
            assert_eq!(written.is_ok(), is_taken, "{size}");
            let has = |number: usize, value: u64| if number <= num_fields { value } else { 0 };
            let size = if is_taken { size.min(32) } else { size };
            assert_eq!(place[0], Third { size, first: has(1, 1), second: has(2, 2), third: has(3, 3) });
            assert_eq!(place[1].first, 0, "{size}");
        }
    }

    #[test]
    fn fields_of_older_callers_are_zero_and_unknown_ones_of_newer_callers_are_refused() {
        for (size, is_taken, num_fields) in SIZES {
            let mut given = [Third { size, first: 1, second: 2, third: 3 }, Third::zeroed()];
            // SAFETY: `size` bytes are there.
            let taken = unsafe { read(given.as_ptr(), "given") };
            let has = |number: usize, value: u64| if number <= num_fields { value } else { 0 };
            let expected = Third { size, first: has(1, 1), second: has(2, 2), third: has(3, 3) };
            assert_eq!(taken.ok(), is_taken.then_some(expected));
            given[1].size = 1;
            // SAFETY: `size` bytes are there.
            assert_eq!(unsafe { read(given.as_ptr(), "given") }.is_ok(), is_taken && size <= 32, "{size}");
        }
        let far = [Third { size: 4097, ..Third::zeroed() }; 200];
        // SAFETY: `size` bytes are there.
        assert!(unsafe { read(far.as_ptr(), "given") }.is_err());
    }
}
