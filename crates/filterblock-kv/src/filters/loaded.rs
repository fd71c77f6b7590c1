//! A filter that is probed for all cells of its table.

use super::{AlignedBytes, Arc, CellKey, Deref, FilterBlock, KeyHash, OpenFilter, may_match};

/// Whether a filter may contain a cell; `None` if the cell has no entry, or is in an unusable partition.
pub(crate) type Probe<'a> = Box<dyn Fn(CellKey<'_>) -> Option<bool> + 'a>;

/// A block that is held while it is probed.
pub(super) enum BlockRef<'a> {
    Pinned(&'a FilterBlock<AlignedBytes>),
    Read(Arc<FilterBlock<AlignedBytes>>),
}

impl Deref for BlockRef<'_> {
    type Target = FilterBlock<AlignedBytes>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Pinned(filter) => filter,
            Self::Read(filter) => filter,
        }
    }
}

/// A filter that is held while it is probed for many keys.
pub(crate) struct Loaded<'a> {
    pub(crate) filter: &'a OpenFilter,
    /// One is usable at least.
    pub(super) blocks: Vec<Option<BlockRef<'a>>>,
}

impl Loaded<'_> {
    pub(crate) fn probe(&self) -> Probe<'_> {
        let (index, purpose) = (self.filter.stored.index(), self.filter.stored_stats.purpose);
        Box::new(move |key| may_match(index, |number| self.blocks[number].as_deref(), purpose.query(key)))
    }

    /// Returns whether the filter may contain a hash that is in no partition: the `i`th of many, spread over the
    /// partitions.
    pub(crate) fn may_contain_absent(&self, i: u64, hash: KeyHash) -> bool {
        let block = &self.blocks[(i % self.blocks.len() as u64) as usize];
        block.as_ref().is_none_or(|filter| filter.may_contain_hash(hash))
    }
}
