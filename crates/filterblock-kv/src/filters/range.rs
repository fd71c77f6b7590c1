//! The range filter of an open table.

use super::{
    AlignedBytes, Arc, BlockCounters, DecodeError, FilterProblem, FilterResidence, Location, OPEN_RANGE_FILTER,
    PAGE_LEN, PinnedBytes, RangeFilter, RowRange, Verdict, claimed_format, read_filter,
};
use core::sync::atomic::{AtomicBool, Ordering};
use serde::Serialize;

/// A usable range filter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RangeFilterStats {
    /// Length of its block in bytes.
    pub bytes: u64,
    /// Its keys: the table's rows.
    #[serde(rename = "keys")]
    pub num_keys: u64,
    /// Bits of the block for each key.
    pub bits_per_key: Option<f64>,
    /// The bytes that stay in memory while its table is open: all, or none if it is in the cache.
    pub held_bytes: u64,
}

/// A range filter that passed every check.
#[derive(Debug)]
pub(crate) struct OpenRange {
    location: Location,
    /// `None` if it is in the cache.
    pinned: Option<(Arc<RangeFilter<AlignedBytes>>, PinnedBytes)>,
    /// It could not be read again; a warning has been recorded then.
    has_failed: AtomicBool,
    pub(crate) stats: RangeFilterStats,
}

impl OpenRange {
    /// Opens the filter at `location`; `None` if it is unusable, of which a warning has then been recorded.
    pub(super) fn open(location: Location) -> Option<Self> {
        let filter = Arc::new(read(&location)?);
        let bytes = location.len;
        let cache = &location.context.cache;
        let is_cached = location.context.filter_residence == FilterResidence::Cached
            && cache.fits_filter(bytes + OPEN_RANGE_FILTER);
        let (num_keys, bits_per_key) = (filter.num_keys(), filter.bits_per_key());
        let held_bytes = if is_cached { 0 } else { bytes };
        let pinned = match is_cached {
            true => {
                cache.insert_range_filter(location.file_id, location.offset, filter);
                None
            }
            false => Some((filter, cache.pin(bytes + OPEN_RANGE_FILTER))),
        };
        let stats = RangeFilterStats { bytes, num_keys, bits_per_key, held_bytes };
        Some(Self { location, pinned, has_failed: AtomicBool::new(false), stats })
    }

    /// The filter, from memory, the cache or storage; `None` if it cannot be read again.
    pub(crate) fn load(&self, account: &BlockCounters) -> Option<Arc<RangeFilter<AlignedBytes>>> {
        if let Some((filter, _)) = &self.pinned {
            return Some(Arc::clone(filter));
        }
        let Location { context, file_id, offset, len, .. } = &self.location;
        if let Some(filter) = context.cache.range_filter(*file_id, *offset) {
            account.note_cache_hit();
            return Some(filter);
        }
        if self.has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let Some(filter) = read(&self.location).map(Arc::new) else {
            self.has_failed.store(true, Ordering::Relaxed);
            return None;
        };
        account.note_read((*len as usize).next_multiple_of(PAGE_LEN));
        context.cache.insert_range_filter(*file_id, *offset, Arc::clone(&filter));
        Some(filter)
    }

    /// Whether the table may have a cell in the range.
    pub(super) fn probe(&self, range: &RowRange, account: &BlockCounters) -> Verdict {
        match self.load(account).map(|filter| filter.may_contain_range(range.start(), range.end())) {
            None => Verdict::Unusable,
            Some(true) => Verdict::Maybe,
            Some(false) => Verdict::No,
        }
    }
}

/// Reads and checks a filter, and records a warning if it is unusable. A block that has another number of keys than the
/// table has rows is not of this table, even with right checksums, or does not cover all of it.
fn read(location: &Location) -> Option<RangeFilter<AlignedBytes>> {
    let mut claimed = "unread".to_owned();
    let read = read_filter(&*location.source, location.len, location.offset).map_err(FilterProblem::Unreadable);
    let opened = read.and_then(|bytes| {
        claimed = claimed_format(bytes.as_ref());
        let opened: Result<_, DecodeError> = RangeFilter::open(bytes, &location.options);
        let filter = opened.map_err(FilterProblem::Decode)?;
        let (num_keys, num_rows) = (filter.num_keys(), location.max_entries);
        if num_keys == num_rows { Ok(filter) } else { Err(FilterProblem::NotAllRows { num_keys, num_rows }) }
    });
    opened.map_err(|problem| location.warn(location.offset, location.len, claimed, problem)).ok()
}
