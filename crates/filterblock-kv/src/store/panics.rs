//! The effect of one thread's panic on the others: an error, never an endless wait.

use super::{Error, Shared, write};

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

impl<'a> PanicGuard<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared, was_panicking: std::thread::panicking(), leads: false }
    }

    /// Returns the guard of the leader of a group of writers.
    pub(super) fn of_leader(shared: &'a Shared) -> Self {
        Self { leads: true, ..Self::new(shared) }
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.shared.note_panic();
            if self.leads {
                write::end_led_group(self.shared, Err(Error::Panicked));
            }
        }
    }
}
