//! The bytes of filters that tables hold themselves.

use super::BlockCache;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The remaining capacity follows the pins in steps of a 32nd of the limit. Each change of it makes the library forget
/// some of the blocks that it has evicted, and with them which of the new ones are worth keeping.
const STEPS: u64 = 32;

/// The account of pinned bytes.
#[derive(Debug)]
pub(super) struct Pins {
    pub(super) limit_bytes: u64,
    /// The pinned bytes, and the steps subtracted from the limit: enough for them, and at most two too many.
    state: Mutex<(u64, u64)>,
}

impl Pins {
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, state: Mutex::default() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lock().0
    }

    fn lock(&self) -> MutexGuard<'_, (u64, u64)> {
        // Two numbers that are set one after the other, without a panic between them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the pinned bytes and, where needed, the cache's capacity.
    fn change(&self, cache: &BlockCache, change: impl FnOnce(u64) -> u64) {
        let mut state = self.lock();
        let (pinned_bytes, steps) = &mut *state;
        *pinned_bytes = change(*pinned_bytes);
        let step_bytes = self.limit_bytes.div_ceil(STEPS).max(1);
        let needed = pinned_bytes.div_ceil(step_bytes).min(STEPS);
        // Lowered at once, as the limit must hold; raised only when there is clearly room.
        if needed > *steps || needed + 2 < *steps || (needed == 0 && *steps > 0) {
            *steps = needed;
            // Under the lock, so that of two changes the later one wins.
            cache.set_capacity(self.limit_bytes.saturating_sub(needed * step_bytes));
        }
    }
}

/// Bytes that count towards a cache's limit until this is dropped.
#[derive(Debug)]
pub(crate) struct PinnedBytes {
    cache: Arc<BlockCache>,
    bytes: u64,
}

impl PinnedBytes {
    /// Pins `bytes` bytes of memory.
    pub(crate) fn new(cache: Arc<BlockCache>, bytes: u64) -> Self {
        cache.pins.change(&cache, |pinned| pinned.saturating_add(bytes));
        Self { cache, bytes }
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        self.cache.pins.change(&self.cache, |pinned| pinned.saturating_sub(self.bytes));
    }
}
