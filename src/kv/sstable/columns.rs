//! The first columns of a filter, in memory.

use super::super::cache::PinnedBytes;
use super::super::purpose::Purpose;
use super::entries::EntryHashes;
use super::filter::Verdict;
use crate::ledger::FilterFacts;
use crate::{AlignedBytes, FilterBlock};
use serde::Serialize;

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

/// The first columns of a table's filter.
#[derive(Debug)]
pub(super) struct HeldColumns {
    filter: FilterBlock<AlignedBytes>,
    columns: u32,
    predicted_fpr: f64,
    _bytes: PinnedBytes,
}

impl HeldColumns {
    /// `filter` has `columns` columns.
    pub(super) fn new(filter: FilterBlock<AlignedBytes>, columns: u32, bytes: PinnedBytes) -> Self {
        Self { predicted_fpr: filter.false_positive_rate(), filter, columns, _bytes: bytes }
    }

    pub(super) fn columns(&self) -> u32 {
        self.columns
    }

    pub(super) fn bytes(&self) -> u64 {
        self.filter.block_len() as u64
    }

    pub(super) fn predicted_fpr(&self) -> f64 {
        self.predicted_fpr
    }

    pub(super) fn facts(&self) -> FilterFacts {
        FilterFacts::new(self.filter.kind(), self.predicted_fpr)
    }

    #[inline]
    pub(super) fn probe(&self, purpose: Purpose, hashes: &EntryHashes<'_>) -> Verdict {
        match self.filter.may_contain_hash(hashes.get(purpose, self.filter.hasher())) {
            true => Verdict::Maybe,
            false => Verdict::No,
        }
    }
}
