//! The outcomes of the filters that SlateDB has built and read.

use filterblock::{DecodeError, DecodeErrorClass};
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Counts of filters, since the policy was made. Clones of the policy share them. A stored filter counts each time that
/// SlateDB reads it: once where its caches hold it, once a lookup where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Filters built.
    pub built: u64,
    /// Tables that were written without a filter, as it could not be built.
    pub failed: u64,
    /// Stored filters that were read and are in use.
    pub opened: u64,
    /// Tables found without a filter, as it could not be built when they were written.
    pub missing: u64,
    /// Stored filters whose bytes are not what a writer wrote.
    pub damaged: u64,
    /// Stored filters that need a newer version of the library.
    pub newer: u64,
    /// Stored filters that were hashed under a secret key which the policy does not have.
    pub mismatched: u64,
    /// Queries that filters in use denied: each saved the table's index or a data block.
    pub denied: u64,
    /// Queries that filters in use passed, of keys that are in the table or not.
    pub passed: u64,
}

impl Outcomes {
    /// Stored filters that could not be used: each query of them is answered *maybe*.
    pub fn ignored(&self) -> u64 {
        self.missing + self.damaged + self.newer + self.mismatched
    }
}

/// The counters of [`Outcomes`], and the first failure.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// All but the counts of queries.
    filters: Mutex<Outcomes>,
    denied: AtomicU64,
    passed: AtomicU64,
    first_failure: OnceLock<String>,
}

impl Tally {
    fn filters(&self) -> MutexGuard<'_, Outcomes> {
        self.filters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn built(&self) {
        self.filters().built += 1;
    }

    pub(crate) fn opened(&self) {
        self.filters().opened += 1;
    }

    /// Counts an answer to a query that the filter could answer.
    pub(crate) fn queried(&self, matches: bool) {
        let counter = if matches { &self.passed } else { &self.denied };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, error: impl Display) {
        self.filters().failed += 1;
        self.report(|| format!("a table is written without a filter: {error}"));
    }

    pub(crate) fn missing(&self) {
        self.filters().missing += 1;
        self.report(|| "a table was written without a filter".to_owned());
    }

    pub(crate) fn ignored(&self, error: DecodeError, block_len: usize) {
        match error.class() {
            DecodeErrorClass::Damaged => self.filters().damaged += 1,
            DecodeErrorClass::Mismatch => self.filters().mismatched += 1,
            // Later versions of the library may have more classes.
            _ => self.filters().newer += 1,
        }
        self.report(|| format!("a filter of {block_len} bytes is ignored: {}: {error}", error.class()));
    }

    /// Logs the first failure, and keeps it. The others are counted only.
    fn report(&self, failure: impl FnOnce() -> String) {
        self.first_failure.get_or_init(|| {
            let failure = failure();
            log::warn!("{failure}. Lookups stay correct, but slower. Further failures are counted, not logged");
            failure
        });
    }

    pub(crate) fn first_failure(&self) -> Option<&str> {
        self.first_failure.get().map(String::as_str)
    }

    pub(crate) fn outcomes(&self) -> Outcomes {
        let [denied, passed] = [&self.denied, &self.passed].map(|counter| counter.load(Ordering::Relaxed));
        Outcomes { denied, passed, ..*self.filters() }
    }
}
