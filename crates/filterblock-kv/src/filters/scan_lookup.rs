//! A scan in one table: the filters that may exclude the table, and how the ledger counts it.

use super::{
    CellKey, EntryHashes, Lookup, Outcome, Purpose, RowRange, TableCounters, TableFilters, Verdict, safe_entry,
};
use filterblock::KeyTransform;

/// A scan that has reached a table. It counts as a lookup of a range in a table with a range filter, usable or not; in
/// another table as one of a prefix, if its rows share one; or else as one of a range, where the store writes range
/// filters. A prefix filter that knows the prefix is queried in each case, and if it denies it the table is avoided.
pub(crate) struct ScanLookup<'a> {
    filters: &'a TableFilters,
    counters: &'a TableCounters,
    pub(crate) lookup: Lookup<'a>,
    /// The class that it counts under.
    pub(crate) purpose: Purpose,
    /// The entry of the prefix filter that all of the range's rows have.
    pub(crate) prefix: Option<Vec<u8>>,
    verdict: Verdict,
}

/// The lookups that are counted in tables without a filter for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedScans {
    /// The transform of prefixes; of length 0 for none.
    pub(crate) prefixes: KeyTransform,
    pub(crate) ranges: bool,
}

impl<'a> ScanLookup<'a> {
    /// Begins a lookup, if the scan counts as one.
    pub(crate) fn begin(
        filters: &'a TableFilters,
        counters: &'a TableCounters,
        range: &RowRange,
        counted: CountedScans,
    ) -> Option<Self> {
        let prefixes = filters.prefixes().unwrap_or(counted.prefixes);
        let prefix = safe_entry(range.start(), range.end(), prefixes);
        let purpose = match prefix {
            _ if filters.has(Purpose::Range) => Purpose::Range,
            Some(_) => Purpose::Prefix,
            None if counted.ranges => Purpose::Range,
            None => return None,
        };
        let (lookup, prefix) = (counters.of(purpose).begin(), prefix.map(std::borrow::Cow::into_owned));
        Some(Self { filters, counters, lookup, purpose, prefix, verdict: Verdict::NoFilter })
    }

    /// Probes the filters; `None` if one denies the range, which ends the lookup.
    pub(crate) fn probe(mut self, range: &RowRange) -> Option<Self> {
        if self.purpose == Purpose::Range {
            self.verdict = self.filters.probe_range(range, self.counters);
        }
        if let (Some(prefix), false) = (&self.prefix, self.verdict == Verdict::No) {
            let hashes = EntryHashes::new(CellKey { row: prefix, column: b"" });
            let verdict = self.filters.probe(Purpose::Prefix, &hashes, self.counters);
            if self.purpose == Purpose::Prefix || verdict == Verdict::No {
                self.verdict = verdict;
            }
        }
        if self.verdict == Verdict::No {
            self.lookup.end(Outcome::Avoided);
            return None;
        }
        Some(self)
    }

    /// Ends the lookup when the first block was read, given whether the range has a cell and whether the table has a
    /// row with the prefix.
    pub(crate) fn end(self, found: bool, has_prefix: bool) {
        match (self.purpose, self.verdict) {
            (Purpose::Prefix, Verdict::Maybe) if has_prefix && !found => self.lookup.end_entry_only(),
            (Purpose::Prefix, verdict) => verdict.end(self.lookup, has_prefix, has_prefix),
            (_, verdict) => verdict.end(self.lookup, found, found),
        }
    }
}
