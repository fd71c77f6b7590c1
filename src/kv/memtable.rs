//! Every version of every cell written since the last flush, in memory and in order.
//!
//! A snapshot reads a memtable that is still being written to, so no version replaces another: each write adds an entry,
//! and a reader takes the newest one that its sequence number lets it see.

use super::cell::{CellKey, CellRef, CellVersion, OwnedCell};
use super::sync::{AtomicU64, RwLock};
use core::borrow::Borrow;
use core::cmp::Reverse;
use core::ops::Bound;
use core::sync::atomic::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;

/// What an entry costs beside its bytes, roughly: two allocations and a tree node's share.
const ENTRY_OVERHEAD_BYTES: usize = 100;

/// Where an entry stands: by cell, then newest first.
#[derive(Clone, Debug)]
struct EntryKey {
    /// Row and column in one allocation.
    bytes: Box<[u8]>,
    row_len: u16,
    seq: u64,
}

/// A place in the order of entries, owned or borrowed.
trait Place {
    fn place(&self) -> (CellKey<'_>, Reverse<u64>);
}

impl Place for EntryKey {
    fn place(&self) -> (CellKey<'_>, Reverse<u64>) {
        let (row, column) = self.bytes.split_at(self.row_len.into());
        (CellKey { row, column }, Reverse(self.seq))
    }
}

impl Place for (CellKey<'_>, Reverse<u64>) {
    fn place(&self) -> (CellKey<'_>, Reverse<u64>) {
        *self
    }
}

impl PartialEq for dyn Place + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for dyn Place + '_ {}

impl PartialOrd for dyn Place + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Place + '_ {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialEq for EntryKey {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for EntryKey {}

impl PartialOrd for EntryKey {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EntryKey {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

/// So that the tree can be searched by borrowed rows and columns.
impl<'a> Borrow<dyn Place + 'a> for EntryKey {
    fn borrow(&self) -> &(dyn Place + 'a) {
        self
    }
}

type Entries = BTreeMap<EntryKey, Option<Box<[u8]>>>;

/// A memtable, whose writes stand in one write-ahead log.
#[derive(Debug)]
pub(crate) struct Memtable {
    log_number: u64,
    /// So that readers need no lock to pass by a memtable that has just begun. Who may see an entry sees this too: the
    /// sequence number that lets him is published later.
    num_entries: AtomicU64,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Entries,
    bytes: usize,
    /// The last write.
    max_seq: u64,
}

impl Memtable {
    pub(crate) fn new(log_number: u64) -> Self {
        Self { log_number, num_entries: AtomicU64::new(0), inner: RwLock::default() }
    }

    /// The number of the log that holds its writes.
    pub(crate) fn log_number(&self) -> u64 {
        self.log_number
    }

    pub(crate) fn insert<'a>(&self, writes: impl Iterator<Item = CellRef<'a>>) {
        let mut inner = self.inner.write();
        for CellRef { key, seq, value } in writes {
            let mut bytes = Vec::with_capacity(key.row.len() + key.column.len());
            bytes.extend_from_slice(key.row);
            bytes.extend_from_slice(key.column);
            inner.bytes += bytes.len() + value.map_or(0, <[u8]>::len) + ENTRY_OVERHEAD_BYTES;
            inner.max_seq = inner.max_seq.max(seq);
            let entry = EntryKey { bytes: bytes.into_boxed_slice(), row_len: key.row.len() as u16, seq };
            inner.entries.insert(entry, value.map(Box::from));
        }
        self.num_entries.store(inner.entries.len() as u64, Ordering::Release);
    }

    /// The newest version of a cell that a reader at `seq` sees.
    pub(crate) fn get(&self, key: CellKey<'_>, seq: u64) -> Option<CellVersion> {
        if self.is_empty() {
            return None;
        }
        let inner = self.inner.read();
        let (entry, value) = range(&inner.entries, Bound::Included((key, Reverse(seq)))).next()?;
        let (found, Reverse(seq)) = entry.place();
        (found == key).then(|| CellVersion { seq, value: value.as_deref().map(<[u8]>::to_vec) })
    }

    /// The cells from `start` on that a reader at `seq` sees, each once, tombstones too: as many as `max`, and none for
    /// which `is_behind` says that it lies behind the range. Taking some at a time keeps writers from waiting for scans.
    pub(crate) fn cells_from(
        &self,
        start: Bound<CellKey<'_>>,
        is_behind: impl Fn(CellKey<'_>) -> bool,
        seq: u64,
        max: usize,
    ) -> Vec<OwnedCell> {
        let inner = self.inner.read();
        let start = match start {
            Bound::Included(key) => Bound::Included((key, Reverse(u64::MAX))),
            Bound::Excluded(key) => Bound::Excluded((key, Reverse(0))),
            Bound::Unbounded => Bound::Unbounded,
        };
        newest(range(&inner.entries, start), seq)
            .take_while(|cell| !is_behind(cell.key))
            .take(max)
            .map(CellRef::to_owned)
            .collect()
    }

    /// Hands every cell's newest version to `each`, in order, until that fails.
    pub(crate) fn for_each_newest<E>(&self, mut each: impl FnMut(CellRef<'_>) -> Result<(), E>) -> Result<(), E> {
        let inner = self.inner.read();
        newest(range(&inner.entries, Bound::Unbounded), u64::MAX).try_for_each(&mut each)
    }

    /// Entries, older versions included.
    pub(crate) fn num_entries(&self) -> u64 {
        self.num_entries.load(Ordering::Acquire)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.num_entries() == 0
    }

    /// About what it takes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.inner.read().bytes
    }

    pub(crate) fn max_seq(&self) -> u64 {
        self.inner.read().max_seq
    }
}

fn range<'a>(
    entries: &'a Entries,
    start: Bound<(CellKey<'_>, Reverse<u64>)>,
) -> Range<'a, EntryKey, Option<Box<[u8]>>> {
    let start = start.as_ref().map(|place| place as &dyn Place);
    entries.range::<dyn Place + '_, _>((start, Bound::Unbounded))
}

/// Of each cell's entries, the first one that is not newer than `seq`.
fn newest<'a>(entries: Range<'a, EntryKey, Option<Box<[u8]>>>, seq: u64) -> impl Iterator<Item = CellRef<'a>> {
    let mut last = None;
    entries.filter_map(move |(entry, value)| {
        let (key, Reverse(entry_seq)) = entry.place();
        if entry_seq > seq || last == Some(key) {
            return None;
        }
        last = Some(key);
        Some(CellRef { key, seq: entry_seq, value: value.as_deref() })
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
        // Row and column are joined, but not confused.
        let get = |row, column, seq| table.get(key(row, column), seq).map(|version| version.value);
        assert_eq!(get(b"a", b"b", 0), None);
        assert_eq!(get(b"a", b"b", 2), Some(Some(b"1".to_vec())));
        assert_eq!(get(b"a", b"b", 3), Some(None));
        assert_eq!(get(b"a", b"b", 9), Some(Some(b"4".to_vec())));
        assert_eq!(get(b"ab", b"", 9), Some(Some(b"2".to_vec())));
        assert_eq!(get(b"", b"ab", 9), None);
        let rows = |start, seq| -> Vec<(Vec<u8>, u64)> {
            let cells = table.cells_from(start, |_| false, seq, 10);
            cells.into_iter().map(|cell| (cell.row, cell.version.seq)).collect()
        };
        assert_eq!(rows(Bound::Unbounded, 9), [(vec![], 5), (b"a".to_vec(), 4), (b"ab".to_vec(), 2)]);
        assert_eq!(rows(Bound::Unbounded, 3), [(b"a".to_vec(), 3), (b"ab".to_vec(), 2)]);
        assert_eq!(rows(Bound::Excluded(key(b"a", b"b")), 9), [(b"ab".to_vec(), 2)]);
        assert_eq!((table.num_entries(), table.max_seq(), table.log_number()), (5, 5, 3));
    }
}
