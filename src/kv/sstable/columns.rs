//! The first columns of a filter, in memory.

use super::super::cache::{BlockCache, PinnedBytes};
use super::super::purpose::Purpose;
use super::super::storage::PageBuf;
use super::entries::EntryHashes;
use super::filter::Verdict;
use super::partitioned::Partitions;
use crate::ledger::FilterFacts;
use crate::partition::PartitionLookup;
use crate::{AlignedBytes, FilterBlock, FilterKind, OpenOptions};
use serde::Serialize;
use std::sync::Arc;

/// How much of a filter memory holds, where a [budget](super::super::StoreOptions::filter_memory_bytes) decides it.
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

/// Bytes and rate of a filter with 1, 2, … columns.
pub(super) type ByColumns = Vec<(u64, f64)>;

/// `None` for a kind that has no columns.
pub(super) fn by_columns(filter: &FilterBlock<PageBuf>) -> Option<ByColumns> {
    let stored = filter.num_columns()?;
    let fewer = (1..stored).map(|columns| (filter.thinned_len(columns), 0.5f64.powi(columns as i32)));
    let whole = (Some(filter.block_len() as u64), filter.false_positive_rate());
    fewer.chain([whole]).map(|(len, rate)| Some((len?, rate))).collect()
}

/// The same of several blocks that hold as many columns each, or all that they have.
#[derive(Debug, Default)]
pub(super) struct ColumnSums {
    /// Bytes, and rate times entries.
    sums: Vec<(u64, f64)>,
    num_entries: u64,
    has_columns: bool,
}

impl ColumnSums {
    pub(super) fn add(&mut self, filter: &FilterBlock<PageBuf>) {
        let points = by_columns(filter);
        self.has_columns |= points.is_some();
        // A block without columns is held whole.
        let points = points.unwrap_or_else(|| vec![(filter.block_len() as u64, filter.false_positive_rate())]);
        while self.sums.len() < points.len() {
            // All blocks so far, whole.
            self.sums.push(self.sums.last().copied().unwrap_or_default());
        }
        for (index, (bytes, passed)) in self.sums.iter_mut().enumerate() {
            let (more_bytes, rate) = points[index.min(points.len() - 1)];
            *bytes += more_bytes;
            *passed += rate * filter.num_entries() as f64;
        }
        self.num_entries += filter.num_entries();
    }

    /// `None` if no block has columns.
    pub(super) fn by_columns(self) -> Option<ByColumns> {
        let num_entries = self.num_entries.max(1) as f64;
        let points = self.sums.into_iter().map(|(bytes, passed)| (bytes, passed / num_entries));
        self.has_columns.then(|| points.collect())
    }
}

/// A block of the first `columns` columns of `stored`, or of all where it has no more or none to leave out.
pub(super) fn first_columns(
    stored: &FilterBlock<PageBuf>,
    columns: u32,
    options: OpenOptions,
) -> Option<FilterBlock<AlignedBytes>> {
    let bytes = match stored.thin(columns, options.given_context()) {
        Ok(thinned) => AlignedBytes::copy_of(&thinned),
        Err(_) => AlignedBytes::copy_of(stored.as_bytes()),
    };
    options.open_owned(bytes).ok()
}

/// The first columns of a table's filter.
#[derive(Debug)]
pub(super) struct HeldColumns {
    blocks: HeldBlocks,
    columns: u32,
    len_bytes: u64,
    facts: FilterFacts,
    predicted_fpr: f64,
    _bytes: PinnedBytes,
}

#[derive(Debug)]
pub(super) enum HeldBlocks {
    One(Box<FilterBlock<AlignedBytes>>),
    /// A block of each partition; `None` for an unusable one.
    Partitions(Arc<Partitions>, Vec<Option<FilterBlock<AlignedBytes>>>),
}

impl HeldBlocks {
    fn all(&self) -> impl Iterator<Item = &FilterBlock<AlignedBytes>> {
        let (one, several) = match self {
            Self::One(filter) => (Some(&**filter), &[][..]),
            Self::Partitions(_, filters) => (None, &filters[..]),
        };
        one.into_iter().chain(several.iter().flatten())
    }
}

impl HeldColumns {
    /// `blocks` have `columns` columns, and are of a filter of `kind`.
    pub(super) fn new(blocks: HeldBlocks, columns: u32, kind: FilterKind, cache: &Arc<BlockCache>) -> Self {
        let (mut len_bytes, mut num_entries, mut passed) = (0, 0, 0.0);
        for filter in blocks.all() {
            len_bytes += filter.block_len() as u64;
            num_entries += filter.num_entries();
            passed += filter.false_positive_rate() * filter.num_entries() as f64;
        }
        let predicted_fpr = passed / num_entries.max(1) as f64;
        let facts = FilterFacts::new(kind, predicted_fpr);
        Self { blocks, columns, len_bytes, facts, predicted_fpr, _bytes: cache.pin_bytes(len_bytes) }
    }

    pub(super) fn columns(&self) -> u32 {
        self.columns
    }

    pub(super) fn bytes(&self) -> u64 {
        self.len_bytes
    }

    pub(super) fn predicted_fpr(&self) -> f64 {
        self.predicted_fpr
    }

    pub(super) fn facts(&self) -> FilterFacts {
        self.facts
    }

    #[inline]
    pub(super) fn probe(&self, purpose: Purpose, hashes: &EntryHashes<'_>) -> Verdict {
        let filter = match &self.blocks {
            HeldBlocks::One(filter) => filter,
            HeldBlocks::Partitions(partitions, filters) => match hashes.partition(purpose, &partitions.index) {
                PartitionLookup::Partition(partition) => match &filters[partition.number as usize] {
                    Some(filter) => filter,
                    None => return Verdict::Unusable,
                },
                PartitionLookup::Absent => return Verdict::No,
                PartitionLookup::NoEntry => return Verdict::Maybe,
            },
        };
        match filter.may_contain_hash(hashes.get(purpose, filter.hasher())) {
            true => Verdict::Maybe,
            false => Verdict::No,
        }
    }
}
