//! The account of a scan that a prefix filter may answer, in one table.

use super::super::cell::CellKey;
use super::super::ledger::{Outcome, PurposeCounters};
use super::super::purpose::Purpose;
use super::entries::EntryHashes;
use super::filter::Verdict;
use super::table::{Table, outcome};

/// A lookup of a prefix that has begun and must end once.
pub(super) struct PrefixLookup<'a> {
    table: &'a Table,
    prefix: Vec<u8>,
    verdict: Verdict,
}

impl<'a> PrefixLookup<'a> {
    pub(super) fn begin(table: &'a Table, prefix: Vec<u8>) -> Self {
        table.counters().of(Purpose::Prefix).begin();
        Self { table, prefix, verdict: Verdict::NoFilter }
    }

    fn counters(&self) -> &'a PurposeCounters {
        self.table.counters().of(Purpose::Prefix)
    }

    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// No block reaches into the range.
    pub(super) fn out_of_range(self) {
        self.counters().end(Outcome::OutOfKeyRange);
    }

    /// Asks the filter; `None` if it says no, and the lookup has ended.
    pub(super) fn ask(mut self) -> Option<Self> {
        let hashes = EntryHashes::new(CellKey { row: &self.prefix, column: b"" });
        self.verdict = self.table.filters().ask(Purpose::Prefix, &hashes, self.table.counters());
        if self.verdict == Verdict::No {
            self.counters().end(Outcome::Avoided);
            return None;
        }
        Some(self)
    }

    /// The first block is read: whether the range has a cell, and whether the table has a row with the prefix.
    pub(super) fn end(self, found: bool, has_prefix: bool) {
        let counters = self.counters();
        if self.verdict == Verdict::Maybe && has_prefix && !found {
            counters.note_range_absent();
        }
        counters.end(outcome(counters, self.verdict, has_prefix, has_prefix));
    }

    pub(super) fn fail(self) {
        self.counters().end(Outcome::Failed);
    }
}
