//! All writes since the last flush, in memory and ordered by cell.
//!
//! A snapshot reads a memtable that is still being written to, so no write replaces another: each adds an entry, and a
//! reader takes the newest one that its sequence number lets it see.

use super::cell::{CellKey, CellRef, CellValue, OwnedCell};
use super::sync::{AtomicU64, RwLock};
use core::borrow::Borrow;
use core::cmp::{Ordering as Order, Reverse};
use core::ops::Bound;
use core::sync::atomic::Ordering;
use std::collections::BTreeSet;
use std::collections::btree_set::Range;

/// The approximate cost of an entry beside its bytes: 32 bytes in a tree whose nodes are three quarters full, and the
/// allocation's own.
const ENTRY_OVERHEAD_BYTES: usize = 60;

/// A write, in one allocation.
#[derive(Debug)]
struct Entry {
    /// Row, column and value.
    bytes: Box<[u8]>,
    row_len: u16,
    column_len: u16,
    has_value: bool,
    seq: u64,
}

impl Entry {
    fn new(cell: CellRef<'_>) -> Self {
        let CellRef { key: CellKey { row, column }, seq, value } = cell;
        let bytes = [row, column, value.unwrap_or_default()].concat().into();
        // Lengths are checked where a batch is filled.
        Self { bytes, row_len: row.len() as u16, column_len: column.len() as u16, has_value: value.is_some(), seq }
    }

    fn cell(&self) -> CellRef<'_> {
        let (row, rest) = self.bytes.split_at(self.row_len.into());
        let (column, value) = rest.split_at(self.column_len.into());
        CellRef { key: CellKey { row, column }, seq: self.seq, value: self.has_value.then_some(value) }
    }
}

/// A place in the order of entries: by cell, then newest first. A trait, so that a search needs no entry of its own.
trait Place {
    fn place(&self) -> (CellKey<'_>, Reverse<u64>);
}

impl Place for Entry {
    fn place(&self) -> (CellKey<'_>, Reverse<u64>) {
        let CellRef { key, seq, .. } = self.cell();
        (key, Reverse(seq))
    }
}

impl Place for (CellKey<'_>, u64) {
    fn place(&self) -> (CellKey<'_>, Reverse<u64>) {
        (self.0, Reverse(self.1))
    }
}

impl<'a> Borrow<dyn Place + 'a> for Entry {
    fn borrow(&self) -> &(dyn Place + 'a) {
        self
    }
}

/// Orders a type by its place.
macro_rules! ordered_by_place {
    ($($type:ty),*) => {$(
        impl Ord for $type {
            fn cmp(&self, other: &Self) -> Order {
                self.place().cmp(&other.place())
            }
        }

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<Order> {
                Some(self.cmp(other))
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other).is_eq()
            }
        }

        impl Eq for $type {}
    )*};
}

ordered_by_place!(Entry, dyn Place + '_);

/// A memtable, whose writes are in one write-ahead log.
#[derive(Debug)]
pub(crate) struct Memtable {
    /// The number of the log that holds its writes.
    pub(crate) log_number: u64,
    /// Lets readers skip an empty memtable without its lock. A reader that may see an entry also sees this number: the
    /// sequence number that makes the entry visible is published later.
    num_entries: AtomicU64,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: BTreeSet<Entry>,
    bytes: usize,
    /// Sequence number of the last write.
    max_seq: u64,
}

impl Memtable {
    pub(crate) fn new(log_number: u64) -> Self {
        Self { log_number, num_entries: AtomicU64::new(0), inner: RwLock::default() }
    }

    pub(crate) fn insert<'a>(&self, writes: impl Iterator<Item = CellRef<'a>>) {
        let mut inner = self.inner.write();
        for cell in writes {
            let entry = Entry::new(cell);
            inner.bytes += entry.bytes.len() + ENTRY_OVERHEAD_BYTES;
            inner.max_seq = inner.max_seq.max(entry.seq);
            inner.entries.replace(entry);
        }
        self.num_entries.store(inner.entries.len() as u64, Ordering::Release);
    }

    /// Returns what the last write to a cell that is visible at `seq` has left there.
    pub(crate) fn get(&self, key: CellKey<'_>, seq: u64) -> Option<CellValue> {
        if self.is_empty() {
            return None;
        }
        let inner = self.inner.read();
        let found = range(&inner.entries, Bound::Included((key, seq))).next()?.cell();
        (found.key == key).then(|| found.to_value())
    }

    /// The cells from `start` on that a reader at `seq` sees, each once, tombstones included: at most `max`, up to the
    /// first for which `is_after` is true. Scans take a few at a time, so that writers do not wait for them.
    pub(crate) fn cells_from(
        &self,
        start: Bound<CellKey<'_>>,
        is_after: impl Fn(CellKey<'_>) -> bool,
        seq: u64,
        max: usize,
    ) -> Vec<OwnedCell> {
        let inner = self.inner.read();
        let start = match start {
            Bound::Included(key) => Bound::Included((key, u64::MAX)),
            Bound::Excluded(key) => Bound::Excluded((key, 0)),
            Bound::Unbounded => Bound::Unbounded,
        };
        newest(range(&inner.entries, start), seq)
            .take_while(|cell| !is_after(cell.key))
            .take(max)
            .map(CellRef::to_owned)
            .collect()
    }

    /// Calls `each` with the last write to every cell, in order, until it fails.
    pub(crate) fn for_each_newest<E>(&self, mut each: impl FnMut(CellRef<'_>) -> Result<(), E>) -> Result<(), E> {
        let inner = self.inner.read();
        newest(range(&inner.entries, Bound::Unbounded), u64::MAX).try_for_each(&mut each)
    }

    /// Number of entries, overwritten ones included.
    pub(crate) fn num_entries(&self) -> u64 {
        self.num_entries.load(Ordering::Acquire)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.num_entries() == 0
    }

    /// Approximate memory use.
    pub(crate) fn bytes(&self) -> usize {
        self.inner.read().bytes
    }

    pub(crate) fn max_seq(&self) -> u64 {
        self.inner.read().max_seq
    }
}

fn range<'a>(entries: &'a BTreeSet<Entry>, start: Bound<(CellKey<'_>, u64)>) -> Range<'a, Entry> {
    let start = start.as_ref().map(|place| place as &dyn Place);
    entries.range::<dyn Place, _>((start, Bound::Unbounded))
}

/// The newest entry of each cell that is not newer than `seq`.
fn newest(entries: Range<'_, Entry>, seq: u64) -> impl Iterator<Item = CellRef<'_>> {
    let mut last = None;
    entries.map(Entry::cell).filter(move |cell| {
        let is_newest = cell.seq <= seq && last != Some(cell.key);
        if is_newest {
            last = Some(cell.key);
        }
        is_newest
    })
}

#[cfg(test)]
mod tests {
    use super::{CellKey, CellRef, Memtable};
    use core::ops::Bound;

    #[test]
    fn readers_see_what_their_sequence_number_lets_them_see() {
        let table = Memtable::new(3);
        fn key<'a>(row: &'a [u8], column: &'a [u8]) -> CellKey<'a> {
            CellKey { row, column }
        }
        let write = |row: &[u8], column: &[u8], seq, value: Option<&[u8]>| {
            table.insert([CellRef { key: key(row, column), seq, value }].into_iter());
        };
        write(b"a", b"b", 1, Some(&b"1"[..]));
        write(b"ab", b"", 2, Some(b"2"));
        write(b"a", b"b", 3, None);
        write(b"a", b"b", 4, Some(b"4"));
        write(b"", b"z", 5, Some(b"5"));
        // Columns do not run into rows.
        let get = |row, column, seq| table.get(key(row, column), seq);
        assert_eq!(get(b"a", b"b", 0), None);
        assert_eq!(get(b"a", b"b", 2), Some(Some(b"1".to_vec())));
        assert_eq!(get(b"a", b"b", 3), Some(None));
        assert_eq!(get(b"a", b"b", 9), Some(Some(b"4".to_vec())));
        assert_eq!(get(b"ab", b"", 9), Some(Some(b"2".to_vec())));
        assert_eq!(get(b"", b"ab", 9), None);
        let rows = |start, seq| -> Vec<(Vec<u8>, u64)> {
            let cells = table.cells_from(start, |_| false, seq, 10);
            cells.into_iter().map(|cell| (cell.key.row, cell.seq)).collect()
        };
        assert_eq!(rows(Bound::Unbounded, 9), [(vec![], 5), (b"a".to_vec(), 4), (b"ab".to_vec(), 2)]);
        assert_eq!(rows(Bound::Unbounded, 3), [(b"a".to_vec(), 3), (b"ab".to_vec(), 2)]);
        assert_eq!(rows(Bound::Excluded(key(b"a", b"b")), 9), [(b"ab".to_vec(), 2)]);
        assert_eq!((table.num_entries(), table.max_seq(), table.log_number), (5, 5, 3));
    }
}
