//! The filters of an open table.

use super::super::error::Error;
use super::super::names::FileName;
use super::super::purpose::Purpose;
use super::super::storage::ReadableFile;
use super::columns::HeldColumns;
use super::context::{OpenFile, TableContext};
use super::entries::EntryHashes;
use super::filter::{FilterLocation, FilterStats, Loaded, OpenFilter, Verdict};
use super::format::{FilterHandle, Footer, filter_context};
use super::reader::open_footer;
use super::warning::{FilterProblem, Warning};
use crate::ledger::{FilterFacts, TableCounters};
use crate::{KeyTransform, OpenOptions};
use std::sync::Arc;

/// A table's filter for one purpose.
#[derive(Debug, Default)]
#[expect(clippy::large_enum_variant, reason = "three per table; a box would be one more miss for each lookup")]
enum Slot {
    #[default]
    Missing,
    Unusable,
    Open(OpenFilter),
}

/// The filters of an open table, its own or those of a file that was written later.
#[derive(Debug, Default)]
pub(crate) struct TableFilters {
    slots: [Slot; Purpose::ALL.len()],
    bytes: u64,
    /// The length of the prefixes of the prefix filter that was written, usable or not.
    stored_prefix_len: Option<u16>,
    /// The number of their own file, and that file.
    file: Option<(u64, OpenFile)>,
}

impl TableFilters {
    /// Reads and opens the filters in a file whose footer is `footer`, the table's own or another one.
    pub(super) fn open(file: &OpenFile, source: &Arc<dyn ReadableFile>, footer: &Footer, table: &Footer) -> Self {
        let mut filters = Self::default();
        for (handle, offset) in footer.filter_locations() {
            let Some((purpose, transform)) = handle.purpose() else {
                let (claimed_format, problem) = ("unread".to_owned(), filters.unknown(handle));
                let (name, len_bytes) = (file.name.clone(), handle.len);
                file.context.warn(Warning { file: name, offset, len_bytes, claimed_format, problem });
                continue;
            };
            let hasher = footer.hasher(*file.context.hasher.read());
            filters.note_prefix_len(transform);
            let options = OpenOptions::new().expect_hasher(hasher).expect_transform(transform);
            let location = FilterLocation {
                context: Arc::clone(&file.context),
                file: file.name.clone(),
                file_id: file.id,
                source: Arc::clone(source),
                handle,
                offset,
                options: options.context(filter_context(footer.number, purpose)),
                entries_max: table.entries_max(purpose),
            };
            filters.slots[purpose.index()] = match OpenFilter::open(purpose, location) {
                Some(filter) => {
                    filters.bytes += filter.stats().bytes;
                    Slot::Open(filter)
                }
                None => Slot::Unusable,
            };
        }
        filters
    }

    /// Reads and opens the filters of file `number`, which were rebuilt for the table of `footer`. If the file itself
    /// cannot be opened, every filter that the table was written with is unusable.
    pub(super) fn open_file(context: &Arc<TableContext>, number: u64, footer: &Footer) -> Self {
        let name = FileName::Filters(number).to_string();
        let file = OpenFile::new(context, name.clone());
        let opened = context.storage.open(&name).map_err(|error| Error::io(&name, "open", error)).and_then(|source| {
            let (filters, _, _) = open_footer(&name, &*source)?;
            match (filters.number == number, filters.table == footer.table) {
                (false, _) => Err(Error::Misplaced { file: name.clone(), named: number, stored: filters.number }),
                (_, false) => Err(Error::Misplaced { file: name.clone(), named: footer.table, stored: filters.table }),
                _ => Ok((source, filters)),
            }
        });
        let mut filters = match opened {
            Ok((source, own)) => Self::open(&file, &source, &own, footer),
            Err(error) => {
                let mut filters = Self::default();
                let purposes = footer.filters.iter().filter_map(|handle| Purpose::from_id(handle.purpose_id));
                purposes.for_each(|purpose| filters.slots[purpose.index()] = Slot::Unusable);
                let transforms = footer.filters.iter().filter_map(|handle| handle.purpose());
                transforms.for_each(|(_, transform)| filters.note_prefix_len(transform));
                let (claimed_format, problem) = ("unread".to_owned(), FilterProblem::Unreadable(error.to_string()));
                context.warn(Warning { file: name, offset: 0, len_bytes: 0, claimed_format, problem });
                filters
            }
        };
        filters.file = Some((number, file));
        filters
    }

    /// The number of their file, unless they are in the table's own.
    pub(crate) fn file_number(&self) -> Option<u64> {
        self.file.as_ref().map(|(number, _)| *number)
    }

    pub(super) fn mark_obsolete(&self) {
        self.file.iter().for_each(|(_, file)| file.mark_obsolete());
    }

    /// Why a filter is not probed. If its purpose is known, the ledger counts that purpose's lookups as without usable
    /// filter.
    fn unknown(&mut self, handle: FilterHandle) -> FilterProblem {
        let Some(purpose) = Purpose::from_id(handle.purpose_id) else {
            return FilterProblem::UnknownPurpose(handle.purpose_id);
        };
        self.slots[purpose.index()] = Slot::Unusable;
        FilterProblem::UnknownParameter { purpose, param: handle.param }
    }

    /// The purpose whose filter answers lookups of cells. A row filter can replace a row+column filter that was never
    /// written, but not one that is damaged: the damage must show in the ledger.
    pub(super) fn purpose_for_cells(&self) -> Purpose {
        match (&self.slots[Purpose::RowColumn.index()], &self.slots[Purpose::Row.index()]) {
            (Slot::Missing, Slot::Open(_) | Slot::Unusable) => Purpose::Row,
            _ => Purpose::RowColumn,
        }
    }

    /// The answer of a purpose's filter. A read of it is counted under filter blocks.
    pub(super) fn probe(&self, purpose: Purpose, hashes: &EntryHashes<'_>, counters: &TableCounters) -> Verdict {
        match &self.slots[purpose.index()] {
            Slot::Missing => Verdict::NoFilter,
            Slot::Unusable => Verdict::Unusable,
            Slot::Open(filter) => filter.probe(hashes, counters.filter_blocks()),
        }
    }

    /// The length of the prefix filter's entries, if it is usable.
    pub(crate) fn prefix_len(&self) -> Option<u16> {
        match self.get(Purpose::Prefix)?.transform() {
            KeyTransform::FixedPrefix { len } => Some(len),
            _ => None,
        }
    }

    fn note_prefix_len(&mut self, transform: KeyTransform) {
        if let KeyTransform::FixedPrefix { len } = transform {
            self.stored_prefix_len = Some(len);
        }
    }

    /// The same, if it was written, usable or not: a filter that is written in its place keeps the length.
    pub(crate) fn stored_prefix_len(&self) -> Option<u16> {
        self.stored_prefix_len
    }

    /// The usable filter of a purpose.
    pub(crate) fn load(&self, purpose: Purpose, counters: &TableCounters) -> Option<Loaded<'_>> {
        self.get(purpose)?.load(counters.filter_blocks())
    }

    /// Bytes and rate of a purpose's filter with 1, 2, … columns, if the table may hold some of them.
    pub(super) fn by_columns(&self, purpose: Purpose) -> Option<&[(u64, f64)]> {
        self.get(purpose)?.by_columns()
    }

    /// The first `columns` columns, at least one, of a purpose's filter.
    pub(super) fn hold(&self, purpose: Purpose, columns: u32) -> Option<HeldColumns> {
        self.get(purpose)?.hold(columns)
    }

    /// What the ledger needs to know about the usable filters that are probed themselves.
    pub(super) fn facts(&self) -> [Option<FilterFacts>; Purpose::ALL.len()] {
        Purpose::ALL.map(|purpose| self.get(purpose).and_then(OpenFilter::facts))
    }

    /// Length of the usable filters.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The figures of the usable filter of a purpose.
    pub(crate) fn stats(&self, purpose: Purpose) -> Option<FilterStats> {
        self.get(purpose).map(OpenFilter::stats)
    }

    /// Whether there is a filter of this purpose, usable or not.
    pub(crate) fn has(&self, purpose: Purpose) -> bool {
        !matches!(self.slots[purpose.index()], Slot::Missing)
    }

    /// Whether there is a filter of this purpose that is unusable.
    pub(crate) fn is_unusable(&self, purpose: Purpose) -> bool {
        matches!(self.slots[purpose.index()], Slot::Unusable)
    }

    fn get(&self, purpose: Purpose) -> Option<&OpenFilter> {
        match &self.slots[purpose.index()] {
            Slot::Open(filter) => Some(filter),
            Slot::Missing | Slot::Unusable => None,
        }
    }
}
