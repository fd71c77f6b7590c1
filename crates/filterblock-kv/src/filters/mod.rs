//! The filters of open tables: from a footer's handles to a lookup's answer.
//!
//! A lookup queries the [`TableFilters`] of a table for a purpose; that finds the [`OpenFilter`], which finds the
//! block, by the index if it is partitioned, and probes it where it [is kept](filter::Residence): in memory, in the
//! cache, or as its first columns. Everything that reads a filter from storage is in `stored`.

mod columns;
mod file;
mod filter;
mod loaded;
mod range;
mod scan_lookup;
mod stored;
mod writer;

pub use columns::ColumnStats;
pub use file::{TableFilter, TablePartitions};
pub use filter::FilterStats;
pub(crate) use filter::{EntryHashes, OpenFilter, Verdict, kind_name};
pub(crate) use loaded::{Loaded, Probe};
pub use range::RangeFilterStats;
pub(crate) use scan_lookup::{CountedScans, ScanLookup};
pub(crate) use stored::read_filter;
pub(crate) use writer::{FilterPolicies, FilterWriter};

use super::cache::{CachedFilter, FileId, FilterResidence, OPEN_RANGE_FILTER, PinnedBytes};
use super::cell::CellKey;
use super::context::{OpenFile, TableContext};
use super::error::{Damage, Error};
use super::footer::{FOOTER_LEN, FilterHandle, Footer, filter_context, open_footer};
use super::manifest::HasherId;
use super::names::FileName;
use super::prefix::safe_entry;
use super::purpose::Purpose;
use super::range::RowRange;
use super::storage::{PAGE_LEN, ReadableFile, WritableFile, len_in_memory, read_exact_at};
use super::warning::{FilterProblem, Warning, claimed_format};
use columns::{ColumnSums, HeldColumns};
use core::ops::Deref;
use filterblock::partition::PartitionHandle;
use filterblock::range::RangeFilter;
use filterblock::{
    AlignedBytes, DecodeError, EntryHasher, FilterBlock, FilterKind, KeyHash, KeyHasher, KeyTransform, OpenOptions,
};
use filterblock_engine::ledger::{BlockCounters, FilterFacts, Lookup, Outcome, TableCounters};
use loaded::BlockRef;
use range::OpenRange;
use std::sync::Arc;
use stored::{Location, Stored, StoredFamily, check_places, index_at, may_match, unpadded_len};

/// A table's filter for one purpose.
#[derive(Clone, Debug, Default)]
enum Slot {
    #[default]
    Missing,
    Unusable,
    Keys(Arc<OpenFilter>),
    Range(Arc<OpenRange>),
}

/// The filters of an open table, from its own file or from one that was written later.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableFilters {
    slots: [Slot; Purpose::ALL.len()],
    /// The transform of the prefix filter that was written, usable or not.
    pub(crate) stored_prefixes: Option<KeyTransform>,
    /// The number of their own file, and that file.
    file: Option<(u64, Arc<OpenFile>)>,
}

impl TableFilters {
    /// Reads and opens the filters in a file whose footer is `footer`, the table's own or another one.
    pub(crate) fn open(file: &OpenFile, source: &Arc<dyn ReadableFile>, footer: &Footer, table: &Footer) -> Self {
        let mut filters = Self::default();
        for (handle, offset) in footer.filter_locations() {
            let location = |purpose, options: OpenOptions| Location {
                context: Arc::clone(&file.context),
                file: file.name.clone(),
                file_id: file.id,
                source: Arc::clone(source),
                offset,
                len: handle.len,
                options: options.with_context(filter_context(footer.number, purpose)),
                max_entries: table.max_entries(purpose),
            };
            let Some((purpose, transform)) = handle.purpose() else {
                let (claimed_format, problem) = ("unread".to_owned(), filters.unknown(handle));
                let (name, len) = (file.name.clone(), handle.len);
                file.context.warn(Warning { file: name, offset, len, claimed_format, problem });
                continue;
            };
            let opened = if purpose == Purpose::Range {
                let location = location(purpose, OpenOptions::new());
                OpenRange::open(location, handle.index_len).map(|filter| Slot::Range(Arc::new(filter)))
            } else {
                let hasher = footer.hasher(&file.context.hasher.read());
                filters.note_prefixes(purpose, transform);
                let mut location = location(purpose, OpenOptions::new().expect(&EntryHasher::new(hasher, transform)));
                if let KeyTransform::DelimitedPrefix { levels, .. } = transform {
                    location.max_entries = location.max_entries.saturating_mul(levels.into());
                }
                OpenFilter::open(purpose, location, handle.index_len).map(|filter| Slot::Keys(Arc::new(filter)))
            };
            filters.slots[purpose.index()] = opened.unwrap_or(Slot::Unusable);
        }
        filters
    }

    /// Reads and opens the filters of file `number`, which were rebuilt for the table of `footer`. If the file itself
    /// cannot be opened, every filter that the table was written with is unusable.
    pub(crate) fn open_file(context: &Arc<TableContext>, number: u64, footer: &Footer) -> Self {
        let name = FileName::Filters(number).to_string();
        let file = OpenFile::new(context, name.clone());
        let opened = context.storage.open(&name).map_err(|error| Error::io(&name, "open", error)).and_then(|source| {
            let (filters, _, file_len) = open_footer(&name, &*source)?;
            // Else it is another store's, or of before a backup of this one was restored, and has filters of other keys.
            let facts = |of: &Footer| [of.table, of.num_cells, of.num_tombstones, of.num_rows, of.min_seq, of.max_seq];
            let differs = |&(found, expected): &(u64, u64)| found != expected;
            match facts(&filters).into_iter().zip(facts(footer)).find(differs) {
                _ if filters.number != number => {
                    Err(Error::Misplaced { file: name.clone(), named: number, stored: filters.number })
                }
                Some((found, expected)) => {
                    let field = "number, count or sequence number of its table";
                    let footer_at = file_len - FOOTER_LEN as u64;
                    Err(Error::damaged(&name, footer_at, Damage::Field { name: field, found, expected }))
                }
                None => Ok((source, filters)),
            }
        });
        let mut filters = match opened {
            Ok((source, own)) => Self::open(&file, &source, &own, footer),
            Err(error) => {
                let mut filters = Self::default();
                let purposes = footer.filters.iter().filter_map(|handle| Purpose::from_id(handle.purpose_id));
                purposes.for_each(|purpose| filters.slots[purpose.index()] = Slot::Unusable);
                let transforms = footer.filters.iter().filter_map(|handle| handle.purpose());
                transforms.for_each(|(purpose, transform)| filters.note_prefixes(purpose, transform));
                let (claimed_format, problem) = ("unread".to_owned(), FilterProblem::Unreadable(error.to_string()));
                context.warn(Warning { file: name, offset: 0, len: 0, claimed_format, problem });
                filters
            }
        };
        filters.file = Some((number, Arc::new(file)));
        filters
    }

    /// Returns the same filters with these columns in memory, by purpose.
    pub(crate) fn holding(&self, columns: [u32; Purpose::OF_KEYS.len()]) -> Self {
        let mut filters = self.clone();
        for (slot, columns) in filters.slots.iter_mut().zip(columns) {
            if let Slot::Keys(filter) = slot {
                *slot = filter.holding(columns).map_or_else(|| slot.clone(), |filter| Slot::Keys(Arc::new(filter)));
            }
        }
        filters
    }

    /// The columns in memory, by purpose.
    pub(crate) fn num_held(&self) -> [u32; Purpose::OF_KEYS.len()] {
        Purpose::OF_KEYS.map(|purpose| self.get(purpose).map_or(0, OpenFilter::num_held))
    }

    /// The number of their file, unless they are in the table's own.
    pub(crate) fn file_number(&self) -> Option<u64> {
        self.file.as_ref().map(|(number, _)| *number)
    }

    pub(crate) fn mark_obsolete(&self) {
        self.file.iter().for_each(|(_, file)| file.mark_obsolete());
    }

    /// The reason why a filter is not probed. If its purpose is known, the ledger counts that purpose's lookups as
    /// without usable filter.
    fn unknown(&mut self, handle: FilterHandle) -> FilterProblem {
        let Some(purpose) = Purpose::from_id(handle.purpose_id) else {
            return FilterProblem::UnknownPurpose(handle.purpose_id);
        };
        self.slots[purpose.index()] = Slot::Unusable;
        FilterProblem::UnknownParameter { purpose, param: handle.param }
    }

    /// The purpose whose filter answers lookups of cells. A row filter can replace a row+column filter that was never
    /// written, but not one that is damaged: the damage must show in the ledger.
    pub(crate) fn purpose_for_cells(&self) -> Purpose {
        match (&self.slots[Purpose::RowColumn.index()], &self.slots[Purpose::Row.index()]) {
            (Slot::Missing, Slot::Keys(_) | Slot::Unusable) => Purpose::Row,
            _ => Purpose::RowColumn,
        }
    }

    /// The answer of the filter of keys for a purpose. A read of it is counted under filter blocks.
    pub(crate) fn probe(&self, purpose: Purpose, hashes: &EntryHashes<'_>, counters: &TableCounters) -> Verdict {
        match &self.slots[purpose.index()] {
            Slot::Missing | Slot::Range(_) => Verdict::NoFilter,
            Slot::Unusable => Verdict::Unusable,
            Slot::Keys(filter) => filter.probe(hashes, counters.filter_blocks()),
        }
    }

    /// The answer of the range filter. A read of it is counted under filter blocks.
    fn probe_range(&self, range: &RowRange, counters: &TableCounters) -> Verdict {
        match &self.slots[Purpose::Range.index()] {
            Slot::Missing | Slot::Keys(_) => Verdict::NoFilter,
            Slot::Unusable => Verdict::Unusable,
            Slot::Range(filter) => filter.probe(range, counters.filter_blocks()),
        }
    }

    /// The range filter, if it is usable.
    pub(crate) fn range(&self) -> Option<&OpenRange> {
        if let Slot::Range(filter) = &self.slots[Purpose::Range.index()] { Some(filter) } else { None }
    }

    /// The transform of the prefix filter, if it is usable.
    pub(crate) fn prefixes(&self) -> Option<KeyTransform> {
        self.get(Purpose::Prefix).and(self.stored_prefixes)
    }

    fn note_prefixes(&mut self, purpose: Purpose, transform: KeyTransform) {
        if purpose == Purpose::Prefix {
            self.stored_prefixes = Some(transform);
        }
    }

    /// Returns the facts for the ledger about the usable filters that are probed.
    pub(crate) fn facts(&self) -> [Option<FilterFacts>; Purpose::OF_KEYS.len()] {
        Purpose::OF_KEYS.map(|purpose| self.get(purpose)?.facts())
    }

    /// Length of the usable filters.
    pub(crate) fn bytes(&self) -> u64 {
        self.usable().map(|filter| filter.stored_stats.bytes).sum::<u64>() + self.range_bytes()
    }

    /// Length of the range filter, if it is usable.
    pub(crate) fn range_bytes(&self) -> u64 {
        self.range().map_or(0, |filter| filter.stats.bytes)
    }

    /// The usable filters of keys.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &OpenFilter> {
        Purpose::OF_KEYS.into_iter().filter_map(|purpose| self.get(purpose))
    }

    /// Returns whether there is a filter of this purpose, usable or not.
    pub(crate) fn has(&self, purpose: Purpose) -> bool {
        !matches!(self.slots[purpose.index()], Slot::Missing)
    }

    /// Returns whether there is a filter of this purpose that is unusable.
    pub(crate) fn is_unusable(&self, purpose: Purpose) -> bool {
        matches!(self.slots[purpose.index()], Slot::Unusable)
    }

    /// The usable filter of keys for a purpose.
    pub(crate) fn get(&self, purpose: Purpose) -> Option<&OpenFilter> {
        if let Slot::Keys(filter) = &self.slots[purpose.index()] { Some(filter) } else { None }
    }
}
