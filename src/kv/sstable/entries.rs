//! Entries of filters, and the hashes of one lookup.

use super::super::cell::CellKey;
use super::super::purpose::Purpose;
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
