//! A table's filter blocks: opened once with every check, then asked from memory.
//!
//! Nothing that is wrong with a filter is an error of the store. It becomes a [`Warning`], and the filter's lookups
//! read on as if it had said *maybe*.

use super::super::options::Purpose;
use super::super::storage::{PageBuf, ReadableFile, read_exact_at};
use super::format::{FilterHandle, Footer, filter_context, padded};
use crate::{BuildError, DecodeError, DecodeErrorClass, FilterBlock, FilterKind, KeyHash, MAGIC, OpenOptions};
use core::fmt;

/// Why a table's filter is not used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilterProblem {
    /// Its bytes are not an intact block of this table, seed and purpose, or newer than this library.
    Decode(DecodeError),
    /// Its bytes could not be read.
    Unreadable(String),
    /// The footer gives it a purpose that this version does not know.
    UnknownPurpose(u8),
    /// It could not be built, so the table was written without.
    NotBuilt(BuildError),
}

impl fmt::Display for FilterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
            Self::UnknownPurpose(id) => write!(f, "purpose {id} is unknown to this reader"),
            Self::NotBuilt(error) => write!(f, "not written: {error}"),
        }
    }
}

/// One filter that is not used, said once for each opening of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The table's file.
    pub file: String,
    /// Where the filter block starts in it.
    pub offset: u64,
    /// The filter block's length.
    pub len_bytes: u64,
    /// Kind and version as the block's bytes claim, which may be the very thing that is damaged.
    pub claimed_format: String,
    /// What is wrong.
    pub problem: FilterProblem,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, len_bytes, claimed_format, problem } = self;
        if let FilterProblem::NotBuilt(_) = problem {
            return write!(f, "{file}: filter {problem}. Lookups stay correct but slower.");
        }
        write!(
            f,
            "{file}: filter block at offset {offset} ({len_bytes} bytes, {claimed_format}): {problem}. \
             Filter ignored: lookups stay correct but slower. "
        )?;
        match problem {
            FilterProblem::UnknownPurpose(_) => f.write_str("A newer version of this program reads it."),
            FilterProblem::Decode(error) if error.class() == DecodeErrorClass::Newer => {
                f.write_str("A newer version of this program reads it.")
            }
            _ => write!(f, "Run 'filterblock verify {file}'."),
        }
    }
}

/// Kind and version as `block` claims.
pub(super) fn claimed_format(block: &[u8]) -> String {
    let Some(&[version, tag, ..]) = block.strip_prefix(&MAGIC[..]) else {
        return "unknown format".to_owned();
    };
    match FilterKind::from_tag(tag) {
        Some(kind) => format!("{kind} v{version}"),
        None => format!("kind {tag} v{version}"),
    }
}

/// What a filter says to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    No,
    Maybe,
    NoFilter,
    Unusable,
}

/// A filter whose every check has passed, with what takes a walk through its bytes to know.
#[derive(Debug)]
pub(super) struct OpenFilter {
    filter: FilterBlock<PageBuf>,
    predicted_fpr: f64,
    num_entries: u64,
}

/// What a table has for one purpose.
#[derive(Debug, Default)]
enum Slot {
    #[default]
    Missing,
    Unusable,
    Open(OpenFilter),
}

/// The filters of an open table.
#[derive(Debug, Default)]
pub(super) struct TableFilters {
    slots: [Slot; Purpose::ALL.len()],
    bytes: u64,
}

impl TableFilters {
    /// Reads and opens what the footer lists. Filters of other seeds than `seed`, the store's, cannot be asked with
    /// the store's hashes.
    pub(super) fn open(
        file: &str,
        source: &dyn ReadableFile,
        footer: &Footer,
        seed: u64,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let mut filters = Self::default();
        for (handle, offset) in footer.filter_places() {
            let mut claimed = "unread".to_owned();
            let problem = match Purpose::from_id(handle.purpose_id) {
                None => FilterProblem::UnknownPurpose(handle.purpose_id),
                Some(purpose) => {
                    let options = OpenOptions::new()
                        .context(filter_context(footer.number, purpose))
                        .expect_seed(seed)
                        .expect_transform(purpose.transform());
                    match open_filter(source, handle, offset, options, &mut claimed) {
                        Ok(filter) => {
                            filters.bytes += handle.len;
                            filters.slots[purpose.index()] = Slot::Open(filter);
                            continue;
                        }
                        Err(problem) => {
                            filters.slots[purpose.index()] = Slot::Unusable;
                            problem
                        }
                    }
                }
            };
            let (len_bytes, claimed_format) = (handle.len, claimed);
            warnings.push(Warning { file: file.to_owned(), offset, len_bytes, claimed_format, problem });
        }
        filters
    }

    /// The purpose whose filter answers lookups of cells. A row filter can stand in for a row+column filter that
    /// was never written, but not for one that is damaged: the damage must show in the ledger.
    pub(super) fn purpose_for_cells(&self) -> Purpose {
        match (&self.slots[Purpose::RowColumn.index()], &self.slots[Purpose::Row.index()]) {
            (Slot::Missing, Slot::Open(_) | Slot::Unusable) => Purpose::Row,
            _ => Purpose::RowColumn,
        }
    }

    pub(super) fn ask(&self, purpose: Purpose, hash: impl FnOnce() -> KeyHash) -> Verdict {
        match &self.slots[purpose.index()] {
            Slot::Missing => Verdict::NoFilter,
            Slot::Unusable => Verdict::Unusable,
            Slot::Open(open) if open.filter.reader().may_contain_hash(hash()) => Verdict::Maybe,
            Slot::Open(_) => Verdict::No,
        }
    }

    /// The rate that the purpose's filter errs at, from its bits as they stand; 0 without one, for it says nothing.
    pub(super) fn predicted_fpr(&self, purpose: Purpose) -> f64 {
        self.get(purpose).map_or(0.0, |filter| filter.predicted_fpr)
    }

    /// Length of the usable filters.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Distinct entries of the usable filters.
    pub(super) fn num_entries(&self) -> u64 {
        Purpose::ALL.into_iter().filter_map(|purpose| self.get(purpose)).map(|filter| filter.num_entries).sum()
    }

    fn get(&self, purpose: Purpose) -> Option<&OpenFilter> {
        match &self.slots[purpose.index()] {
            Slot::Open(filter) => Some(filter),
            Slot::Missing | Slot::Unusable => None,
        }
    }
}

/// Reads a filter block, whole pages at a time, and cuts the padding off.
pub(super) fn read_filter(source: &dyn ReadableFile, handle: FilterHandle, offset: u64) -> Result<PageBuf, String> {
    let len = usize::try_from(handle.len).map_err(|_| "longer than memory".to_owned())?;
    let padded = padded(handle.len).and_then(|len| usize::try_from(len).ok()).unwrap_or(len);
    let mut block = PageBuf::new(padded);
    read_exact_at(source, block.as_mut_slice(), offset).map_err(|error| error.to_string())?;
    block.truncate(len);
    Ok(block)
}

fn open_filter(
    source: &dyn ReadableFile,
    handle: FilterHandle,
    offset: u64,
    options: OpenOptions,
    claimed: &mut String,
) -> Result<OpenFilter, FilterProblem> {
    let block = read_filter(source, handle, offset).map_err(FilterProblem::Unreadable)?;
    *claimed = claimed_format(block.as_slice());
    let filter = options.open_owned(block).map_err(FilterProblem::Decode)?;
    let reader = filter.reader();
    let (predicted_fpr, num_entries) = (reader.false_positive_rate(), reader.num_entries().unwrap_or(0));
    Ok(OpenFilter { filter, predicted_fpr, num_entries })
}
