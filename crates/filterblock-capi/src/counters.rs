//! Counters of what was opened, built and queried, and of what could not be.

use crate::border::{required, run};
use crate::status::Status;
use crate::versioned::{self, Versioned};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The numbers of filters that were opened or built, and of those that could not be: each of these costs reads until it
/// is rebuilt. An engine has one for all, or one for each of its column families. Counting takes no lock.
#[derive(Default)]
pub struct Counters(Arc<Counts>);

#[derive(Default)]
pub(crate) struct Counts {
    opened: AtomicU64,
    damaged: AtomicU64,
    newer: AtomicU64,
    mismatch: AtomicU64,
    failed: AtomicU64,
    built: AtomicU64,
    unfinished: AtomicU64,
    queries: AtomicU64,
    denied: AtomicU64,
}

impl Counters {
    pub(crate) fn shared(&self) -> Arc<Counts> {
        Arc::clone(&self.0)
    }

    /// Counts an attempt to open a frame, however it ended.
    pub(crate) fn note_open(&self, status: Status) {
        self.0.note_open(status);
    }
}

impl Counts {
    /// Counts an attempt to open a frame, however it ended.
    pub(crate) fn note_open(&self, status: Status) {
        count(match status {
            Status::Ok => &self.opened,
            Status::Damaged => &self.damaged,
            Status::Newer => &self.newer,
            Status::Mismatch => &self.mismatch,
            _ => &self.failed,
        });
    }

    /// Counts an attempt to finish. One that can be repeated with more memory, or with other arguments, is none.
    pub(crate) fn note_finish(&self, status: Status) {
        match status {
            Status::Ok => count(&self.built),
            Status::TooShort | Status::Argument => {}
            _ => count(&self.unfinished),
        }
    }
}

/// Counters publish no other memory, so their order does not matter.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The values of counters at one time. Later versions append fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CountersSnapshot {
    /// The size, set to `sizeof(filterblock_counters_snapshot)` by the caller. An older library lowers it to what it
    /// has written.
    size: usize,
    /// Filters that were opened.
    pub(crate) opened: u64,
    /// Filters that were not opened, as their bytes are damaged.
    pub(crate) damaged: u64,
    /// Filters that were not opened, as they are newer than the library.
    pub(crate) newer: u64,
    /// Filters that were not opened, as they are not those that were expected.
    pub(crate) mismatch: u64,
    /// Filters that were not opened for any other reason: an argument or an option that cannot be right, no memory, a
    /// defect of the library.
    pub(crate) failed: u64,
    /// Filters that were built.
    pub(crate) built: u64,
    /// Filters that could not be built, so that their tables have none.
    pub(crate) unfinished: u64,
    /// Queries that `filterblock_counters_note_queries` was given.
    pub(crate) queries: u64,
    /// Those of them that were answered *no*.
    pub(crate) denied: u64,
}

// SAFETY: `repr(C)`, begins with its size, and has nothing but integers.
unsafe impl Versioned for CountersSnapshot {
    // As of 0.1.0.
    const MIN_SIZE: usize = core::mem::offset_of!(Self, queries);
}

/// New counters, to be freed by `filterblock_counters_free`.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_counters_new() -> Option<Box<Counters>> {
    Some(Box::default())
}

/// Frees counters. Builders that count in them keep what they need. A null pointer is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_counters_free(counters: Option<Box<Counters>>) {
    drop(counters);
}

/// Adds queries that the caller has made of its filters, of which `num_denied` were answered *no*, for
/// `filterblock_verdict`. Queries themselves count nothing, as threads would share what they write to: count in the
/// thread, and add up now and then.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_counters_note_queries(
    counters: Option<&Counters>,
    num_queries: u64,
    num_denied: u64,
) -> Status {
    let Some(Counters(counts)) = counters else { return Status::Argument };
    counts.queries.fetch_add(num_queries, Ordering::Relaxed);
    counts.denied.fetch_add(num_denied, Ordering::Relaxed);
    Status::Ok
}

/// Reads all counters. Set `snapshot->size` before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_counters_read(
    counters: Option<&Counters>,
    snapshot: *mut CountersSnapshot,
) -> Status {
    run(None, || {
        let Counts { opened, damaged, newer, mismatch, failed, built, unfinished, queries, denied } =
            &*required(counters, "counters")?.0;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let read = CountersSnapshot {
            size: 0,
            opened: load(opened),
            damaged: load(damaged),
            newer: load(newer),
            mismatch: load(mismatch),
            failed: load(failed),
            built: load(built),
            unfinished: load(unfinished),
            queries: load(queries),
            denied: load(denied),
        };
        // SAFETY: `snapshot` is null, or valid for as many bytes as its size states (rule 1).
        unsafe { versioned::write(snapshot, read, "snapshot") }
    })
}
