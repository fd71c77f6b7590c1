//! The effect of one thread's panic on the others: an error, never an endless wait.

use super::{Error, Ordering, Shared};

/// A guard of a thread for which others may wait. If the thread panics meanwhile, the store takes no more writes, as a
/// change may be half done, and waiting threads get [`Error::Panicked`].
#[derive(Debug)]
pub(super) struct PanicGuard<'a> {
    shared: &'a Shared,
    /// A destructor may use the store while its thread unwinds from something else.
    was_panicking: bool,
    /// Whether the thread leads a group of writers.
    leads: bool,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.shared.note_panic();
            if self.leads {
                self.shared.end_led_group(Err(Error::Panicked));
            }
        }
    }
}

impl Shared {
    pub(super) fn panic_guard(&self) -> PanicGuard<'_> {
        PanicGuard { shared: self, was_panicking: std::thread::panicking(), leads: false }
    }

    /// Returns the guard of the leader of a group of writers.
    pub(super) fn leader_guard(&self) -> PanicGuard<'_> {
        PanicGuard { shared: self, was_panicking: std::thread::panicking(), leads: true }
    }

    /// Refuses writes, and wakes threads that wait for maintenance.
    fn note_panic(&self) {
        self.has_panicked.store(true, Ordering::Release);
        // This comes after the reason, which a thread reads that sees the store poisoned.
        self.poison(Error::Panicked);
        let mut work = self.work.lock();
        work.busy = false;
        work.failed = Some(Error::Panicked);
        work.num_failures += 1;
        work.progress += 1;
        drop(work);
        self.work_changed.notify_all();
    }
}
