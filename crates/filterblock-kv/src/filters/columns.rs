//! The first columns of a filter, in memory.

use super::{AlignedBytes, Arc, FilterBlock, OpenOptions, PinnedBytes, Stored};
use filterblock_engine::budget::ColumnPoint;
use serde::Serialize;

/// The columns and bytes of a filter in memory, if a [budget](super::super::StoreOptions::with_filter_memory_bytes) decides
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ColumnStats {
    /// The columns in memory; with none, the filter is not probed.
    pub held: u32,
    /// The columns in the file.
    pub stored: u32,
    /// The memory that those held take, in bytes.
    pub held_bytes: u64,
}

/// Sums over the blocks of a filter that all have 1, 2, … columns, or all columns that they have.
#[derive(Debug, Default)]
pub(super) struct ColumnSums {
    /// Bytes, and rate times entries.
    sums: Vec<(u64, f64)>,
    num_entries: u64,
    has_columns: bool,
}

impl ColumnSums {
    pub(super) fn add(&mut self, filter: &FilterBlock<AlignedBytes>) {
        let (stored, num_entries) = (filter.num_compared_columns(), filter.num_entries());
        self.has_columns |= stored.is_some();
        // A block without columns is held whole.
        let num_points = stored.unwrap_or(1).max(1) as usize;
        let so_far = self.sums.last().copied().unwrap_or_default();
        self.sums.resize(self.sums.len().max(num_points), so_far);
        let whole = (filter.as_bytes().len() as u64, filter.false_positive_rate());
        for (columns, (bytes, passed)) in (1..).zip(&mut self.sums) {
            let thinned = filter.thinned_len(columns).filter(|_| (columns as usize) < num_points);
            let (len, rate) = thinned.map_or(whole, |len| (len, 0.5f64.powi(columns as i32)));
            *bytes += len;
            *passed += rate * num_entries as f64;
        }
        self.num_entries += num_entries;
    }

    /// The rate with all columns.
    pub(super) fn rate(&self) -> f64 {
        self.sums.last().map_or(1.0, |(_, passed)| passed / self.num_entries.max(1) as f64)
    }

    /// The filter with 1, 2, … columns; `None` if no block has columns.
    pub(super) fn into_points(self) -> Option<Vec<ColumnPoint>> {
        let num_entries = self.num_entries.max(1) as f64;
        let points = self
            .sums
            .into_iter()
            .map(|(bytes, passed)| ColumnPoint { bytes, false_positive_rate: passed / num_entries });
        self.has_columns.then(|| points.collect())
    }
}

/// The first columns of a table's filter.
#[derive(Debug)]
pub(super) struct HeldColumns {
    pub(super) num_columns: u32,
    /// `None` for an unusable one.
    pub(super) blocks: Vec<Option<FilterBlock<AlignedBytes>>>,
    pub(super) len_bytes: u64,
    pub(super) predicted_fpr: f64,
    _bytes: PinnedBytes,
}

impl HeldColumns {
    /// Reads the first columns of each block of a filter; `None` if none is usable.
    pub(super) fn read(stored: &Stored, num_columns: u32) -> Option<Self> {
        let held = |block| first_columns(&stored.read(block)?, num_columns, stored.options(block));
        let blocks: Vec<_> = stored.blocks().map(held).collect();
        let (mut len_bytes, mut num_entries, mut passed) = (0, 0, 0.0);
        for filter in blocks.iter().flatten() {
            len_bytes += filter.as_bytes().len() as u64;
            num_entries += filter.num_entries();
            passed += filter.false_positive_rate() * filter.num_entries() as f64;
        }
        blocks.iter().any(Option::is_some).then(|| Self {
            num_columns,
            blocks,
            len_bytes,
            predicted_fpr: passed / num_entries.max(1) as f64,
            _bytes: PinnedBytes::new(Arc::clone(&stored.location.context.cache), len_bytes),
        })
    }
}

/// A block of the first `columns` columns of `stored`, or of all where it has no more or none to leave out.
fn first_columns(
    stored: &FilterBlock<AlignedBytes>,
    columns: u32,
    options: OpenOptions,
) -> Option<FilterBlock<AlignedBytes>> {
    let bytes = match stored.thin(columns, options.context()) {
        Ok(thinned) => AlignedBytes::copy_of(&thinned),
        Err(_) => AlignedBytes::copy_of(stored.as_bytes()),
    };
    options.open_owned(bytes).ok()
}
