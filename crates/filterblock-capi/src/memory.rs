//! Memory from an allocator of the caller.

use crate::border::filled;
use crate::status::Failure;
use crate::versioned::Versioned;
use core::ffi::c_void;

/// The caller's allocator, say of `new char[]`. Neither function throws: `alloc` returns a null pointer where there is
/// no memory. Later versions append fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Allocator {
    /// The size, `sizeof(filterblock_allocator)`.
    size: usize,
    /// A pointer that is passed to both functions.
    context: *mut c_void,
    /// Returns memory of `len` bytes, of any alignment.
    alloc: Option<unsafe extern "C" fn(context: *mut c_void, len: usize) -> *mut c_void>,
    /// Takes back what `alloc` gave for `len` bytes, where the library turns out to have no use for it. Called only
    /// before the call that allocates returns.
    free: Option<unsafe extern "C" fn(context: *mut c_void, memory: *mut c_void, len: usize)>,
}

// SAFETY: `repr(C)`, begins with its size, and pointers and functions may be null.
unsafe impl Versioned for Allocator {
    const MIN_SIZE: usize = size_of::<Self>();
}

/// Memory of the caller's allocator, given back when dropped.
pub(crate) struct Allocated<'a> {
    allocator: &'a Allocator,
    memory: &'a mut [u8],
}

impl<'a> Allocated<'a> {
    /// Allocates memory of `len` zeros.
    ///
    /// # Safety
    /// The functions of `allocator` keep to its documentation.
    pub(crate) unsafe fn new(allocator: &'a Allocator, len: usize) -> Result<Self, Failure> {
        let (Some(alloc), Some(_)) = (allocator.alloc, allocator.free) else {
            return Err(Failure::argument("allocator"));
        };
        // SAFETY: `alloc` keeps to its documentation: it gives null or memory of `len` bytes that nothing else uses.
        let memory = unsafe { filled(alloc(allocator.context, len).cast::<u8>(), len, 0) };
        Ok(Self { allocator, memory: memory.ok_or_else(Failure::no_memory)? })
    }

    /// Gives the memory to the caller, with the length that was requested.
    pub(crate) fn into_raw(mut self) -> (*mut c_void, usize) {
        let memory = core::mem::take(&mut self.memory);
        core::mem::forget(self);
        (memory.as_mut_ptr().cast(), memory.len())
    }
}

impl AsMut<[u8]> for Allocated<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.memory
    }
}

impl Drop for Allocated<'_> {
    fn drop(&mut self) {
        if let Some(free) = self.allocator.free {
            // SAFETY: `memory` is of this allocator and of this length, and was not given away.
            unsafe { free(self.allocator.context, self.memory.as_mut_ptr().cast(), self.memory.len()) }
        }
    }
}
