//! A filter that is probed for all cells of its table.

use super::{AlignedBytes, Arc, CellKey, Deref, FilterBlock, KeyHash, KeyTransform, OpenFilter, Purpose, may_match};
use filterblock::Query;

/// Whether a filter may contain a cell; `None` if the cell has no entry, or is in an unusable partition.
pub(crate) type Probe<'a> = Box<dyn Fn(CellKey<'_>) -> Option<bool> + 'a>;

/// Probes for a cell's entry, or for all prefixes of its row.
pub(super) fn probe_entries(
    purpose: Purpose,
    transform: KeyTransform,
    key: CellKey<'_>,
    ask: impl Fn(Query<'_>) -> Option<bool>,
) -> Option<bool> {
    match purpose {
        Purpose::Prefix => transform.prefixes_of(key.row).filter_map(|prefix| ask(Query::Prefix(prefix))).min(),
        _ => ask(purpose.query(key)),
    }
}

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
        let transform =
            self.blocks.iter().flatten().next().map_or(KeyTransform::Row, |block| block.entry_hasher().transform());
        let ask = move |query: Query<'_>| may_match(index, |number| self.blocks[number].as_deref(), query);
        Box::new(move |key| probe_entries(purpose, transform, key, ask))
    }

    /// Returns whether the filter may contain a hash that is in no partition: the `i`th of many, spread over the
    /// partitions.
    pub(crate) fn may_contain_absent(&self, i: u64, hash: KeyHash) -> bool {
        let block = &self.blocks[(i % self.blocks.len() as u64) as usize];
        block.as_ref().is_none_or(|filter| filter.may_contain_hash(hash))
    }
}
