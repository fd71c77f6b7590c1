//! What an input may allocate, as the allocator of the tests counts it in all threads together.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// As `fuzz/run` has them of libFuzzer.
const MAX_LIVE_BYTES: usize = 512 << 20;
const MAX_ALLOCATION_BYTES: usize = 64 << 20;

/// The system's allocator, which counts.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The highest values since the watch began.
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);
static LARGEST_BYTES: AtomicUsize = AtomicUsize::new(0);

fn take(bytes: usize) {
    LARGEST_BYTES.fetch_max(bytes, Relaxed);
    PEAK_BYTES.fetch_max(LIVE_BYTES.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

fn give_back(bytes: usize) {
    LIVE_BYTES.fetch_sub(bytes, Relaxed);
}

// SAFETY: each function hands its arguments on to the system's allocator, whose contract is the same, and returns what
// that returns. Counting touches atomic numbers only: it neither allocates nor panics.
#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise, as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise, as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller's promise, as above.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new bytes may be in use at once.
        take(new_size);
        give_back(layout.size());
        // SAFETY: the caller's promise, as above.
        unsafe { System.realloc(start, layout, new_size) }
    }
}

/// What was seen while one piece of work was watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The largest that any thread asked for at once.
    largest_bytes: usize,
    /// Most bytes in use at once, of the whole process.
    peak_bytes: usize,
}

impl Used {
    pub fn max(self, other: Self) -> Self {
        Self {
            largest_bytes: self.largest_bytes.max(other.largest_bytes),
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
        }
    }

    fn is_within_limits(self) -> bool {
        self.largest_bytes <= MAX_ALLOCATION_BYTES && self.peak_bytes <= MAX_LIVE_BYTES
    }

    pub fn assert_within_limits(self) {
        assert!(self.is_within_limits(), "{self}: more than {MAX_ALLOCATION_BYTES} and {MAX_LIVE_BYTES}");
    }
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { largest_bytes, peak_bytes } = self;
        write!(f, "at most {largest_bytes} bytes in one allocation and {peak_bytes} in use")
    }
}

/// Runs `work` and tells what was allocated meanwhile. One piece of work is watched at a time: the others wait, lest
/// one is blamed for another's.
pub fn watched<T>(work: impl FnOnce() -> T) -> (T, Used) {
    static WATCH: Mutex<()> = Mutex::new(());
    // Work that panics leaves nothing half done here.
    let _watch = WATCH.lock().unwrap_or_else(PoisonError::into_inner);
    LARGEST_BYTES.store(0, Relaxed);
    PEAK_BYTES.store(LIVE_BYTES.load(Relaxed), Relaxed);
    let result = work();
    (result, Used { largest_bytes: LARGEST_BYTES.load(Relaxed), peak_bytes: PEAK_BYTES.load(Relaxed) })
}

#[test]
fn the_watch_notices_what_exceeds_the_limits() {
    let allocate = |bytes: usize| drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)));
    let used = |work: &dyn Fn()| watched(work).1;

    let largest = used(&|| allocate(MAX_ALLOCATION_BYTES));
    assert!(largest.is_within_limits() && largest.largest_bytes == MAX_ALLOCATION_BYTES, "{largest}");
    let larger = used(&|| allocate(MAX_ALLOCATION_BYTES + 1));
    assert!(!larger.is_within_limits() && larger.largest_bytes == MAX_ALLOCATION_BYTES + 1, "{larger}");
    // Made larger step by step, filled with zeros, and in another thread.
    let grown = used(&|| {
        let mut grown = std::hint::black_box(Vec::<u8>::with_capacity(MAX_ALLOCATION_BYTES));
        grown.reserve_exact(MAX_ALLOCATION_BYTES + 1);
    });
    let zeroed = used(&|| drop(std::hint::black_box(vec![0u8; MAX_ALLOCATION_BYTES + 1])));
    let elsewhere = used(&|| {
        let thread = std::thread::spawn(move || allocate(MAX_ALLOCATION_BYTES + 1));
        thread.join().expect("no panic");
    });
    for used in [grown, zeroed, elsewhere] {
        assert!(!used.is_within_limits() && used.largest_bytes == MAX_ALLOCATION_BYTES + 1, "{used}");
    }

    // Each of them allowed: one after another, and all at once.
    let num = MAX_LIVE_BYTES / MAX_ALLOCATION_BYTES + 1;
    let in_turn = used(&|| (0..num).for_each(|_| allocate(MAX_ALLOCATION_BYTES)));
    assert!(in_turn.is_within_limits(), "{in_turn}");
    let at_once = used(&|| {
        let all: Vec<_> = (0..num).map(|_| Vec::<u8>::with_capacity(MAX_ALLOCATION_BYTES)).collect();
        drop(std::hint::black_box(all));
    });
    assert!(!at_once.is_within_limits() && at_once.largest_bytes == MAX_ALLOCATION_BYTES, "{at_once}");
    // And what was given back is not held against the next.
    let nothing = used(&|| ());
    assert!(nothing.is_within_limits() && nothing.largest_bytes < MAX_ALLOCATION_BYTES, "{nothing}");
}
