//! Counters of what was opened and built, and of what could not be.

use super::status::Status;
use core::sync::atomic::{AtomicU64, Ordering};
use std::boxed::Box;
use std::sync::Arc;

/// Counts filters that were opened or built, and those that could not be: each of these costs reads until it is
/// rebuilt. One for an engine, or one for each of its column families. Without locks.
pub struct Counters(pub(super) Arc<Counts>);

#[derive(Default)]
pub(super) struct Counts {
    opened: AtomicU64,
    damaged: AtomicU64,
    newer: AtomicU64,
    mismatch: AtomicU64,
    built: AtomicU64,
    unfinished: AtomicU64,
}

/// Counters publish no other memory, so their order does not matter.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    /// Counts an attempt to open a frame. Misuse is none.
    pub(super) fn note_open(&self, status: Status) {
        match status {
            Status::Ok => count(&self.opened),
            Status::Damaged => count(&self.damaged),
            Status::Newer => count(&self.newer),
            Status::Mismatch => count(&self.mismatch),
            _ => {}
        }
    }

    /// Counts an attempt to finish. One that can be repeated with more memory, or with other arguments, is none.
    pub(super) fn note_finish(&self, status: Status) {
        match status {
            Status::Ok => count(&self.built),
            Status::TooShort | Status::Argument => {}
            _ => count(&self.unfinished),
        }
    }
}

/// What counters hold at one time. Later versions append fields.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct CountersSnapshot {
    /// `sizeof(filterblock_counters_snapshot)`, set by the caller. Lowered to the bytes that an older library has
    /// written.
    pub size: usize,
    /// Filters that were opened.
    pub opened: u64,
    /// Filters that were not opened, as their bytes are damaged.
    pub damaged: u64,
    /// Filters that were not opened, as they are newer than the library.
    pub newer: u64,
    /// Filters that were not opened, as they are not those that were expected.
    pub mismatch: u64,
    /// Filters that were built.
    pub built: u64,
    /// Filters that could not be built, so that their tables have none.
    pub unfinished: u64,
}

/// The size in the first version of the interface.
const SNAPSHOT_MIN_SIZE: usize = size_of::<CountersSnapshot>();

/// New counters, to be freed by `filterblock_counters_free`.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_counters_new() -> *mut Counters {
    Box::into_raw(Box::new(Counters(Arc::default())))
}

/// Frees counters. Builders that count in them keep what they need. A null pointer is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_counters_free(counters: *mut Counters) {
    if !counters.is_null() {
        // SAFETY: from `Box::into_raw`, and not freed before, by rule 1 of the interface.
        drop(unsafe { Box::from_raw(counters) });
    }
}

/// Reads all counters. Set `snapshot->size` before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_counters_read(
    counters: Option<&Counters>,
    snapshot: *mut CountersSnapshot,
) -> Status {
    let Some(counters) = counters else { return Status::Argument };
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let Counts { opened, damaged, newer, mismatch, built, unfinished } = &*counters.0;
    let [opened, damaged, newer] = [opened, damaged, newer].map(load);
    let [mismatch, built, unfinished] = [mismatch, built, unfinished].map(load);
    let read = CountersSnapshot { size: 0, opened, damaged, newer, mismatch, built, unfinished };
    // SAFETY: rule 1 of the interface, with the length that the caller states.
    unsafe { put_sized(snapshot, read, SNAPSHOT_MIN_SIZE) }
}

/// Writes a structure that begins with its size, to a caller whose header may be older or newer: as many bytes as both
/// know, which becomes the size. A size below `min_size`, that of the first version, is refused.
///
/// # Safety
/// `place` is null, or points to a `usize` and is valid for writes of as many bytes as that states.
pub(super) unsafe fn put_sized<T: Copy>(place: *mut T, value: T, min_size: usize) -> Status {
    if place.is_null() || !place.is_aligned() {
        return Status::Argument;
    }
    // SAFETY: not null and aligned, by the check above.
    let size = unsafe { place.cast::<usize>().read() }.min(size_of::<T>());
    if size < min_size.max(size_of::<usize>()) {
        return Status::Argument;
    }
    // SAFETY: `size` bytes at least, by the caller's promise, and no more than `value` has.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), place.cast(), size);
        place.cast::<usize>().write(size);
    }
    Status::Ok
}

#[cfg(test)]
mod tests {
    use super::{CountersSnapshot, put_sized};
    use crate::capi::status::Status;

    #[test]
    fn callers_with_older_and_newer_headers_get_what_both_know() {
        let value = CountersSnapshot { size: 0, opened: 1, damaged: 2, newer: 3, mismatch: 4, built: 5, unfinished: 6 };
        let own = size_of::<CountersSnapshot>();
        for (size, expected) in [(0, None), (23, None), (24, Some(24)), (own, Some(own)), (own + 8, Some(own))] {
            let mut place = [CountersSnapshot { size, ..CountersSnapshot::default() }; 2];
            // SAFETY: `size` bytes are there.
            let status = unsafe { put_sized(place.as_mut_ptr(), value, 24) };
            assert_eq!(status == Status::Ok, expected.is_some());
            let [written, beyond] = place;
            assert_eq!(written.size, expected.unwrap_or(size));
            assert_eq!(written.opened, if expected.is_some() { 1 } else { 0 });
            assert_eq!(written.unfinished, if expected == Some(own) { 6 } else { 0 });
            assert_eq!(beyond.opened, 0);
        }
    }
}
