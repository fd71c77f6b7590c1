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

    /// Returns how many of the first `num` hashes, which are in no partition, pass. A usable partition is asked for a share
    /// by its number of entries, as the predicted rate counts it.
    pub(crate) fn num_absent_passing(&self, num: u64, hash: impl Fn(u64) -> KeyHash) -> u64 {
        let blocks = || self.blocks.iter().flatten();
        let total = blocks().map(|block| u128::from(block.num_entries())).sum::<u128>().max(1);
        let (mut asked, mut entries) = (0, 0);
        let of_block = |block: &BlockRef<'_>| {
            entries += u128::from(block.num_entries());
            let first = std::mem::replace(&mut asked, (u128::from(num) * entries / total) as u64);
            (first..asked).filter(|&i| block.may_contain_hash(hash(i))).count() as u64
        };
        blocks().map(of_block).sum()
    }
}
