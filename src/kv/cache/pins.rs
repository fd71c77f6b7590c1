//! The bytes of filters that tables hold themselves.

use super::BlockCache;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The remaining capacity follows the pins in steps of a 32nd of the limit. Each change of it makes the library forget
/// some of the blocks that it has evicted, and with them which of the new ones are worth keeping.
const STEPS: u64 = 32;

#[derive(Debug, Default)]
struct State {
    pinned_bytes: u64,
    /// Steps subtracted from the limit: enough for the pinned bytes, and at most two too many.
    steps: u64,
}

/// The account of pinned bytes.
#[derive(Debug)]
pub(super) struct Pins {
    limit_bytes: u64,
    state: Mutex<State>,
}

impl Pins {
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, state: Mutex::default() }
    }

    pub(super) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lock().pinned_bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Two numbers that are set one after the other, without a panic between them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the pinned bytes and, where needed, the cache's capacity.
    fn change(&self, cache: &BlockCache, change: impl FnOnce(u64) -> u64) {
        let mut state = self.lock();
        state.pinned_bytes = change(state.pinned_bytes);
        let step_bytes = self.limit_bytes.div_ceil(STEPS).max(1);
        let needed = state.pinned_bytes.div_ceil(step_bytes).min(STEPS);
        // Lowered at once, as the limit must hold; raised only when there is clearly room.
        if needed > state.steps || needed + 2 < state.steps || (needed == 0 && state.steps > 0) {
            state.steps = needed;
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
    pub(super) fn new(cache: Arc<BlockCache>, bytes: u64) -> Self {
        cache.pins.change(&cache, |pinned| pinned.saturating_add(bytes));
        Self { cache, bytes }
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        self.cache.pins.change(&self.cache, |pinned| pinned.saturating_sub(self.bytes));
    }
}
