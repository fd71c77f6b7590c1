//! Entries of filters, and the hashes of one lookup.

use super::super::cell::CellKey;
use super::super::purpose::Purpose;
use crate::partition::{PartitionHandle, PartitionedFilter};
use crate::{KeyHash, KeyHasher, KeyTransform};
use core::cell::{OnceCell, RefCell};

/// The entry of a cell in a filter of this transform; `None` where it has none. `joined` is a buffer for entries of row
/// and column.
pub(super) fn entry_of<'a>(transform: KeyTransform, key: CellKey<'a>, joined: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    if transform != KeyTransform::RowColumn {
        return transform.entry_of(key.row);
    }
    KeyTransform::row_column_entry(key.row, key.column, joined);
    Some(joined)
}

/// The hashes of one lookup, each computed for the first filter that needs it and then used for every table.
///
/// Filters of a store share a seed, except while their seed is being changed: for a filter of another seed the hash is
/// computed each time.
#[derive(Debug)]
pub(crate) struct EntryHashes<'a> {
    key: CellKey<'a>,
    hashes: [OnceCell<(u64, KeyHash)>; Purpose::ALL.len()],
}

impl<'a> EntryHashes<'a> {
    /// For a cell, a row (the column is ignored) or a prefix, passed as the row.
    pub(crate) fn new(key: CellKey<'a>) -> Self {
        Self { key, hashes: Default::default() }
    }

    pub(super) fn get(&self, purpose: Purpose, hasher: KeyHasher) -> KeyHash {
        let hash = || (hasher.seed(), self.hash(purpose, hasher));
        match *self.hashes[purpose.index()].get_or_init(hash) {
            (seed, hash) if seed == hasher.seed() => hash,
            _ => self.hash(purpose, hasher),
        }
    }

    /// The partition that can have this purpose's entry.
    pub(super) fn partition<B: AsRef<[u8]>>(
        &self,
        purpose: Purpose,
        filter: &PartitionedFilter<B>,
    ) -> Option<PartitionHandle> {
        match purpose {
            Purpose::Row | Purpose::Prefix => filter.find(self.key.row),
            Purpose::RowColumn => filter.find_row_column(self.key.row, self.key.column),
        }
    }

    fn hash(&self, purpose: Purpose, hasher: KeyHasher) -> KeyHash {
        // A joined entry must be contiguous; the buffer is kept, so that lookups do not allocate.
        thread_local!(static ENTRY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        match purpose {
            Purpose::Row | Purpose::Prefix => hasher.hash(self.key.row),
            Purpose::RowColumn => ENTRY.with_borrow_mut(|entry| {
                KeyTransform::row_column_entry(self.key.row, self.key.column, entry);
                hasher.hash(entry)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CellKey, EntryHashes, KeyHasher, Purpose};

    #[test]
    fn filters_of_several_seeds_get_their_own_hashes() {
        let hashes = EntryHashes::new(CellKey { row: b"row", column: b"column" });
        let [first, second] = [1, 2].map(KeyHasher::new);
        for hasher in [first, second, first, second] {
            assert_eq!(hashes.get(Purpose::Row, hasher), hasher.hash(b"row"));
            assert_eq!(hashes.get(Purpose::RowColumn, hasher), hasher.hash(b"rowcolumn\x03\0\0\0"));
        }
    }
}
