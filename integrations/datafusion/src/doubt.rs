//! The findings of lookups, and the reasons why some of them found nothing.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A reason why a file is read that the set did not answer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The set, or a part of it, could not be read, or its index is not usable.
    Set,
    /// A unit of rows is not usable: the other rows of its group answer.
    Unit,
    /// A file is not in the set, or has changed since, or has no entity tag, or an empty one.
    File,
    /// The set knows the name of no file of the table, though it has some: the two name files in different ways.
    Names,
    /// The table reads its files through an adapter of its own, which may make other values of those in the files.
    Adapter,
    /// A filter of a query is not a comparison that the set can answer: of another form than `=`, `IN`, `AND` and `OR`
    /// over indexed columns, or with a literal of another type, or null.
    Filter,
}

impl Doubt {
    const NUM: usize = Self::Filter as usize + 1;
}

/// The cost and the findings of lookups: of one, and, in [`Outcomes`], of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Files that the tables had.
    pub files: u64,
    /// Files of these that the set knows in the state in which they are.
    pub known: u64,
    /// Files that were left out.
    pub skipped: u64,
    /// Requests for bytes of the set.
    pub requests: u64,
    /// Bytes of the set that were read.
    pub bytes: u64,
    /// Requests that failed, indexes and units of rows that are not usable.
    pub errors: u64,
    /// Filters of queries that the set does not answer.
    pub unanswered: u64,
}

impl Counts {
    pub(crate) fn and(&self, more: &Self) -> Self {
        Self {
            files: self.files + more.files,
            known: self.known + more.known,
            skipped: self.skipped + more.skipped,
            requests: self.requests + more.requests,
            bytes: self.bytes + more.bytes,
            errors: self.errors + more.errors,
            unanswered: self.unanswered + more.unanswered,
        }
    }

    /// The counts by the names of the metrics of a plan.
    pub(crate) fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("set_files", self.files),
            ("set_files_known", self.known),
            ("set_files_skipped", self.skipped),
            ("set_requests", self.requests),
            ("set_bytes", self.bytes),
            ("set_errors", self.errors),
            ("set_filters_unanswered", self.unanswered),
        ]
    }
}

/// Counts of a filter's lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Queries that used the set.
    pub lookups: u64,
    /// Their cost and findings.
    pub counts: Counts,
    doubts: [u64; Doubt::NUM],
}

impl Outcomes {
    /// Returns how often `doubt` occurred: for sets a failure, for units a unit of a lookup, for files a file of a lookup, for
    /// filters a filter of a query.
    pub fn doubts(&self, doubt: Doubt) -> u64 {
        self.doubts[doubt as usize]
    }
}

/// The [`Outcomes`] so far, and the first doubt of each kind.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    outcomes: Mutex<Outcomes>,
    first: [OnceLock<String>; Doubt::NUM],
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a query that used the set.
    pub(crate) fn looked_up(&self) {
        self.lock().lookups += 1;
    }

    pub(crate) fn add(&self, counts: &Counts) {
        let mut outcomes = self.lock();
        outcomes.counts = outcomes.counts.and(counts);
    }

    pub(crate) fn doubt(&self, doubt: Doubt, what: impl Display) {
        self.lock().doubts[doubt as usize] += 1;
        self.first[doubt as usize].get_or_init(|| {
            let what = what.to_string();
            log::warn!("{what}. Files are read in doubt, and no row is lost. The next such cases are only counted");
            what
        });
    }

    pub(crate) fn first(&self, doubt: Doubt) -> Option<&str> {
        self.first[doubt as usize].get().map(String::as_str)
    }

    pub(crate) fn outcomes(&self) -> Outcomes {
        *self.lock()
    }
}
