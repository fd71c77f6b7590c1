//! Counts what a piece of work allocates, for each thread, in the allocator of this test binary.

use crate::*;
use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, counting for the calling thread.
pub(crate) struct Counting;

/// What one thread allocated between two marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocated {
    pub(crate) num_calls: u64,
    /// Bytes of all calls.
    pub(crate) total_bytes: u64,
    /// Bytes of the largest call.
    pub(crate) largest_bytes: u64,
    /// The most bytes in use at once, beyond those in use at the first mark.
    pub(crate) peak_bytes: u64,
}

impl Allocated {
    pub(crate) const NOTHING: Self = Self { num_calls: 0, total_bytes: 0, largest_bytes: 0, peak_bytes: 0 };

    /// The maximum of each figure: the worst of many cases.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            num_calls: self.num_calls.max(other.num_calls),
            total_bytes: self.total_bytes.max(other.total_bytes),
            largest_bytes: self.largest_bytes.max(other.largest_bytes),
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
        }
    }
}

#[derive(Clone, Copy)]
struct Counters {
    since_mark: Allocated,
    /// Negative once memory allocated before the mark has been freed.
    live_bytes: i64,
}

thread_local! {
    // Constant and without a destructor: accessing it allocates nothing.
    static COUNTERS: Cell<Counters> = const { Cell::new(Counters { since_mark: Allocated::NOTHING, live_bytes: 0 }) };
}

fn count(taken_bytes: usize, freed_bytes: usize) {
    // Nothing is measured while a thread ends.
    let _ = COUNTERS.try_with(|cell| {
        let mut counters = cell.get();
        if taken_bytes > 0 {
            let (bytes, seen) = (taken_bytes as u64, &mut counters.since_mark);
            counters.live_bytes += taken_bytes as i64;
            seen.num_calls += 1;
            seen.total_bytes += bytes;
            seen.largest_bytes = seen.largest_bytes.max(bytes);
            seen.peak_bytes = seen.peak_bytes.max(counters.live_bytes.max(0) as u64);
        }
        counters.live_bytes -= freed_bytes as i64;
        cell.set(counters);
    });
}

/// Runs `work` and returns what it allocated. Calls must not be nested: each resets the marks.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    COUNTERS.set(Counters { since_mark: Allocated::NOTHING, live_bytes: 0 });
    let result = work();
    (result, COUNTERS.get().since_mark)
}

// SAFETY: each function passes its arguments to the system's allocator, whose contract is the same, and returns its
// result. Counting touches only a thread-local cell: it neither allocates nor panics.
#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the contract of `GlobalAlloc`, which the caller keeps, is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the contract of `GlobalAlloc`, which the caller keeps, is that of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the contract of `GlobalAlloc`, which the caller keeps, is that of `System`.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new bytes may be in use at the same time.
        count(new_size, layout.size());
        // SAFETY: the contract of `GlobalAlloc`, which the caller keeps, is that of `System`.
        unsafe { System.realloc(start, layout, new_size) }
    }
}

#[test]
fn the_allocator_counts_what_is_allocated() {
    assert_eq!(measured(|| std::hint::black_box(3) + 4), (7, Allocated::NOTHING));
    let ((), seen) = measured(|| {
        drop(std::hint::black_box(vec![1u8; 5_000]));
        drop(std::hint::black_box(vec![0u8; 3_000]));
        let mut kept = std::hint::black_box(Vec::<u8>::with_capacity(100));
        kept.reserve_exact(1_000);
    });
    let expected = Allocated { num_calls: 4, total_bytes: 9_100, largest_bytes: 5_000, peak_bytes: 5_000 };
    assert_eq!(seen, expected);
    // A reader that allocates what a header declares is caught.
    let believed = |declared: usize| std::hint::black_box(Vec::<u8>::with_capacity(declared)).capacity();
    let (_, seen) = measured(|| believed(1 << 20));
    assert_eq!((seen.num_calls, seen.largest_bytes), (1, 1 << 20));
    // Allocations of another thread do not count here.
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        receiver.recv().expect("a word");
        std::hint::black_box(vec![1u8; 70_000]).len()
    });
    let mut other = Some(other);
    sender.send(()).expect("a listener");
    let (len, seen) = measured(|| other.take().map(std::thread::JoinHandle::join));
    assert_eq!(len.expect("a thread").expect("no panic"), 70_000);
    assert!(seen.largest_bytes < 70_000, "{seen:?}");
}
