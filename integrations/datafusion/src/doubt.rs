//! What lookups have found, and why some of them found nothing.

use std::fmt::Display;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A reason why a file is read that the set did not answer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The set, or a part of it, could not be read, or its index is not usable.
    Set,
    /// A block is not usable.
    Block,
    /// A file is not in the set, or has changed since, or has no entity tag.
    File,
    /// A filter of a query is no comparison that the set can answer: of another form than `=`, `IN`, `AND` and `OR`
    /// over indexed columns, or with a literal of another type, or null.
    Filter,
}

impl Doubt {
    const NUM: usize = Self::Filter as usize + 1;
}

/// Counts of a filter's lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Queries for which the set was asked.
    pub lookups: u64,
    /// Files that their tables had.
    pub files: u64,
    /// Files that were left out.
    pub skipped: u64,
    doubts: [u64; Doubt::NUM],
}

impl Outcomes {
    /// Returns how often `doubt` occurred: for sets a failure, for blocks a block, for files a file of a lookup, for
    /// filters a filter of a query.
    pub fn doubts(&self, doubt: Doubt) -> u64 {
        self.doubts[doubt as usize]
    }
}

/// The counters behind [`Outcomes`], and the first doubt of each kind.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: [AtomicU64; 3],
    doubts: [AtomicU64; Doubt::NUM],
    first: [OnceLock<String>; Doubt::NUM],
}

impl Tally {
    pub(crate) fn looked_up(&self, files: usize, skipped: usize) {
        for (counter, more) in self.counts.iter().zip([1, files, skipped]) {
            counter.fetch_add(more as u64, Ordering::Relaxed);
        }
    }

    pub(crate) fn doubt(&self, doubt: Doubt, what: impl Display) {
        self.doubts[doubt as usize].fetch_add(1, Ordering::Relaxed);
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
        let [lookups, files, skipped] = [0, 1, 2].map(|at| self.counts[at].load(Ordering::Relaxed));
        let doubts = std::array::from_fn(|at| self.doubts[at].load(Ordering::Relaxed));
        Outcomes { lookups, files, skipped, doubts }
    }
}
