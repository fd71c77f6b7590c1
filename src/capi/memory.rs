//! Memory for results: of the library, or from an allocator of the caller.

use super::status::Failure;
use core::ffi::c_void;
use core::{ptr, slice};
use std::boxed::Box;
use std::vec::Vec;

/// Bytes that belong to the library, to be freed by `filterblock_bytes_free`.
#[repr(C)]
pub struct Bytes {
    /// The bytes; null if there are none.
    pub data: *mut u8,
    /// Their number.
    pub len: usize,
}

impl Bytes {
    pub(super) const NONE: Self = Self { data: ptr::null_mut(), len: 0 };

    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let bytes = bytes.into_boxed_slice();
        let len = bytes.len();
        Self { data: Box::into_raw(bytes).cast(), len }
    }
}

/// Frees what a call has put into `*bytes`, and empties it: a second call does nothing. A null pointer is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_bytes_free(bytes: Option<&mut Bytes>) {
    let Some(bytes) = bytes else { return };
    let Bytes { data, len } = core::mem::replace(bytes, Bytes::NONE);
    if !data.is_null() {
        // SAFETY: pointer and length are those of a box, by `Bytes::new`, and were not freed before.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, len)) });
    }
}

/// The caller's allocator, say of `new char[]`. Neither function throws: `alloc` returns a null pointer where there is
/// no memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Allocator {
    /// Passed to both functions.
    pub context: *mut c_void,
    /// Memory of `len` bytes, of any alignment.
    pub alloc: Option<unsafe extern "C" fn(context: *mut c_void, len: usize) -> *mut c_void>,
    /// Takes back what `alloc` gave for `len` bytes, where the library turns out to have no use for it. Called only
    /// before the call that allocates returns.
    pub free: Option<unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, len: usize)>,
}

/// Memory of the caller's allocator, given back when dropped.
pub(super) struct Allocated<'a> {
    allocator: &'a Allocator,
    memory: *mut c_void,
    len: usize,
}

impl<'a> Allocated<'a> {
    /// Zeros.
    ///
    /// # Safety
    /// The allocator keeps to its documentation.
    pub(super) unsafe fn new(allocator: &'a Allocator, len: usize) -> Result<Self, Failure> {
        let (Some(alloc), Some(_)) = (allocator.alloc, allocator.free) else {
            return Err(Failure::argument("allocator"));
        };
        if len > isize::MAX as usize {
            return Err(Failure::no_memory());
        }
        // SAFETY: the caller's promise.
        let memory = unsafe { alloc(allocator.context, len) };
        if memory.is_null() {
            return Err(Failure::no_memory());
        }
        // SAFETY: not null, by the check above, and `len` bytes, by the caller's promise. A slice needs defined
        // contents.
        unsafe { memory.cast::<u8>().write_bytes(0, len) };
        Ok(Self { allocator, memory, len })
    }

    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: not null, `len` zeros at first and no more than an object may have, by `new`; ours alone until it is
        // given away.
        unsafe { slice::from_raw_parts_mut(self.memory.cast(), self.len) }
    }

    /// Gives the memory to the caller.
    pub(super) fn into_raw(self) -> *mut c_void {
        let memory = self.memory;
        core::mem::forget(self);
        memory
    }
}

impl Drop for Allocated<'_> {
    fn drop(&mut self) {
        if let Some(free) = self.allocator.free {
            // SAFETY: memory of this allocator and this length, not given away.
            unsafe { free(self.allocator.context, self.memory, self.len) }
        }
    }
}
