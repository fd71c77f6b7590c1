//! A prefix lookup in one table: how the ledger counts a scan that a prefix filter may answer.

use super::{CellKey, EntryHashes, Lookup, Outcome, Purpose, TableCounters, TableFilters, Verdict};

/// A lookup of a prefix that has begun.
pub(crate) struct PrefixLookup<'a> {
    filters: &'a TableFilters,
    counters: &'a TableCounters,
    pub(crate) lookup: Lookup<'a>,
    pub(crate) prefix: Vec<u8>,
    verdict: Verdict,
}

impl<'a> PrefixLookup<'a> {
    pub(crate) fn begin(filters: &'a TableFilters, counters: &'a TableCounters, prefix: Vec<u8>) -> Self {
        let lookup = counters.of(Purpose::Prefix).begin();
        Self { filters, counters, lookup, prefix, verdict: Verdict::NoFilter }
    }

    /// Probes the filter; `None` if it denies the prefix, which ends the lookup.
    pub(crate) fn probe(mut self) -> Option<Self> {
        let hashes = EntryHashes::new(CellKey { row: &self.prefix, column: b"" });
        self.verdict = self.filters.probe(Purpose::Prefix, &hashes, self.counters);
        if self.verdict == Verdict::No {
            self.lookup.end(Outcome::Avoided);
            return None;
        }
        Some(self)
    }

    /// Ends the lookup when the first block was read, given whether the range has a cell and whether the table has a
    /// row with the prefix.
    pub(crate) fn end(self, found: bool, has_prefix: bool) {
        match self.verdict {
            Verdict::Maybe if has_prefix && !found => self.lookup.end_entry_only(),
            verdict => verdict.end(self.lookup, has_prefix, has_prefix),
        }
    }
}
