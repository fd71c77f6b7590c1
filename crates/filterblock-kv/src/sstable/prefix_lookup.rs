//! A prefix lookup in one table: how the ledger counts a scan that a prefix filter may answer.

use super::{CellKey, EntryHashes, Lookup, Outcome, Purpose, Table, Verdict, end};

/// A lookup of a prefix that has begun.
pub(super) struct PrefixLookup<'a> {
    table: &'a Table,
    pub(super) lookup: Lookup<'a>,
    pub(super) prefix: Vec<u8>,
    verdict: Verdict,
}

impl<'a> PrefixLookup<'a> {
    pub(super) fn begin(table: &'a Table, prefix: Vec<u8>) -> Self {
        Self { table, lookup: table.counters.of(Purpose::Prefix).begin(), prefix, verdict: Verdict::NoFilter }
    }

    /// Probes the filter; `None` if it denies the prefix, which ends the lookup.
    pub(super) fn probe(mut self) -> Option<Self> {
        let hashes = EntryHashes::new(CellKey { row: &self.prefix, column: b"" });
        self.verdict = self.table.filters.probe(Purpose::Prefix, &hashes, &self.table.counters);
        if self.verdict == Verdict::No {
            self.lookup.end(Outcome::Avoided);
            return None;
        }
        Some(self)
    }

    /// Ends the lookup when the first block was read, given whether the range has a cell and whether the table has a
    /// row with the prefix.
    pub(super) fn end(self, found: bool, has_prefix: bool) {
        match self.verdict {
            Verdict::Maybe if has_prefix && !found => self.lookup.end_entry_only(),
            verdict => end(self.lookup, verdict, has_prefix, has_prefix),
        }
    }
}
