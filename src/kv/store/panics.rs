//! What the panic of one thread leaves to the others: an error, never a wait without end.

use super::super::error::Error;
use super::core::Core;
use core::sync::atomic::Ordering;

/// Held by a thread that others may wait for. If the thread panics meanwhile, the store takes no more writes, as a
/// change may be half done, and those who wait get [`Error::Panicked`].
#[derive(Debug)]
pub(super) struct PanicGuard<'a> {
    core: &'a Core,
    /// A destructor may use the store while its thread unwinds from something else.
    was_panicking: bool,
    /// Whether the thread leads a group of writers.
    leads: bool,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.core.note_panic();
            if self.leads {
                self.core.end_led_group(Err(Error::Panicked));
            }
        }
    }
}

impl Core {
    pub(super) fn panic_guard(&self) -> PanicGuard<'_> {
        PanicGuard { core: self, was_panicking: std::thread::panicking(), leads: false }
    }

    /// For the leader of a group of writers.
    pub(super) fn leader_guard(&self) -> PanicGuard<'_> {
        PanicGuard { core: self, was_panicking: std::thread::panicking(), leads: true }
    }

    /// Refuses writes, and wakes those who wait for maintenance.
    fn note_panic(&self) {
        self.has_panicked.store(true, Ordering::Release);
        // After the reason, which whoever sees the store poisoned reads.
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
