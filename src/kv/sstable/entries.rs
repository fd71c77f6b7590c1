//! The hashes of one lookup.

use super::super::cell::CellKey;
use super::super::purpose::Purpose;
use crate::partition::{PartitionLookup, PartitionedFilter};
use crate::{KeyHash, KeyHasher};
use core::cell::OnceCell;

/// The hashes of one lookup, each computed for the first filter that needs it and then used for every table.
///
/// Filters of a store share a hasher, except while it is being changed: for a filter of another hasher the hash is
/// computed each time.
#[derive(Debug)]
pub(crate) struct EntryHashes<'a> {
    key: CellKey<'a>,
    hashes: [OnceCell<(KeyHasher, KeyHash)>; Purpose::ALL.len()],
}

impl<'a> EntryHashes<'a> {
    /// For a cell, a row (the column is ignored) or a prefix, passed as the row.
    pub(crate) fn new(key: CellKey<'a>) -> Self {
        Self { key, hashes: Default::default() }
    }

    pub(super) fn get(&self, purpose: Purpose, hasher: KeyHasher) -> KeyHash {
        let hash = || (hasher, self.hash(purpose, hasher));
        match *self.hashes[purpose.index()].get_or_init(hash) {
            (of, hash) if of == hasher => hash,
            _ => self.hash(purpose, hasher),
        }
    }

    /// Where the filter has this purpose's entry, if it has it.
    pub(super) fn partition<B: AsRef<[u8]>>(&self, purpose: Purpose, filter: &PartitionedFilter<B>) -> PartitionLookup {
        match purpose {
            Purpose::Row => filter.find_row(self.key.row),
            Purpose::Prefix => filter.find_key(self.key.row),
            Purpose::RowColumn => filter.find_row_column(self.key.row, self.key.column),
        }
    }

    fn hash(&self, purpose: Purpose, hasher: KeyHasher) -> KeyHash {
        match purpose {
            Purpose::Row | Purpose::Prefix => hasher.hash(self.key.row),
            Purpose::RowColumn => hasher.hash_row_column(self.key.row, self.key.column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CellKey, EntryHashes, KeyHasher, Purpose};

    #[test]
    fn filters_of_several_hashers_get_their_own_hashes() {
        let hashes = EntryHashes::new(CellKey { row: b"row", column: b"column" });
        let (first, keyed) = (KeyHasher::new(1), KeyHasher::keyed([1; 16]));
        // A seed that equals the id of a key is another hasher.
        for hasher in [first, keyed, KeyHasher::new(2), first, KeyHasher::new(keyed.seed()), keyed] {
            assert_eq!(hashes.get(Purpose::Row, hasher), hasher.hash(b"row"));
            assert_eq!(hashes.get(Purpose::RowColumn, hasher), hasher.hash(b"rowcolumn\x03\0\0\0"));
        }
    }
}
