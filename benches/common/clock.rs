//! Time of the processor.

use rustix::time::{ClockId, clock_gettime};

/// Returns nanoseconds of this thread, without the time that it gave to others.
pub fn time_ns(work: impl FnOnce()) -> f64 {
    let now_ns = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
    };
    let start_ns = now_ns();
    work();
    now_ns() - start_ns
}
