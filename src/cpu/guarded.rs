//! Memory for tests, between two pages that cannot be accessed, so that a read out of bounds by a single byte ends the
//! process. AddressSanitizer does not see what assembly reads.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ptr::null_mut;

/// A mapping of accessible pages with an inaccessible one before and after.
pub struct Guarded {
    first: *mut u8,
    len: usize,
    page_len: usize,
}

impl Guarded {
    /// Maps pages with room for `len` bytes.
    pub fn new(len: usize) -> Self {
        let page_len = rustix::param::page_size();
        let len = len.max(1).next_multiple_of(page_len);
        // SAFETY: a new mapping, at an address of the kernel's choice; its pages but the first and the last are made
        // accessible.
        unsafe {
            let mapping = mmap_anonymous(null_mut(), len + 2 * page_len, ProtFlags::empty(), MapFlags::PRIVATE)
                .expect("a mapping")
                .cast::<u8>();
            let first = mapping.add(page_len);
            mprotect(first.cast(), len, MprotectFlags::READ | MprotectFlags::WRITE).expect("accessible pages");
            Self { first, len, page_len }
        }
    }

    /// Calls `test` with copies of `values`: one that ends where the page after begins, and one that begins where the
    /// page before ends.
    pub fn at_both_ends<T: Copy>(&mut self, values: &[T], mut test: impl FnMut(&mut [T])) {
        let unused = self.len.checked_sub(size_of_val(values)).expect("room");
        for offset in [unused, 0] {
            // SAFETY: `offset + size_of_val(values) <= len`, by the subtraction above, so the copy is within the
            // accessible pages. It is aligned: pages are, and so is their end less whole values. `self` is borrowed
            // exclusively.
            let copy = unsafe {
                let first = self.first.add(offset).cast::<T>();
                first.copy_from_nonoverlapping(values.as_ptr(), values.len());
                std::slice::from_raw_parts_mut(first, values.len())
            };
            test(copy);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made, of which no slice outlives a call of `at_both_ends`.
        unsafe { munmap(self.first.sub(self.page_len).cast(), self.len + 2 * self.page_len).expect("unmapped") }
    }
}
