//! Reading from a view.

use super::{
    Arc, BTreeMap, CellKey, CellValue, CountedScans, EntryHashes, Error, LevelCursor, MemoryCursor, Merge, Reading,
    RowRange, Scan, Shared, Source, Table, View, held_columns, prefix_range,
};
use core::ops::{Bound, RangeBounds};

/// A store as it was at one moment.
///
/// It sees no later write, and keeps what it sees: memtables in memory, tables on the disk, and the lock of the
/// directory. It should be dropped as soon as possible.
///
/// ```
/// use filterblock_kv::{Store, StoreOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let store = Store::open_dir(dir.path(), StoreOptions::default())?;
/// store.put(b"row", b"column", b"before")?;
/// let snapshot = store.snapshot();
/// store.put(b"row", b"column", b"after")?;
/// assert_eq!(snapshot.get(b"row", b"column")?.as_deref(), Some(&b"before"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    view: Arc<View>,
    seq: u64,
    /// Dropped last: files that the view releases are removed under the store's lock.
    shared: Arc<Shared>,
}

impl Snapshot {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (view, seq) = shared.view_and_seq();
        Self { shared, view, seq }
    }

    /// See [`Store::get`](super::Store::get).
    ///
    /// # Errors
    /// As there.
    pub fn get(&self, row: &[u8], column: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        get(&self.shared, &self.view, self.seq, row, column)
    }

    /// See [`Store::get_row`](super::Store::get_row).
    ///
    /// # Errors
    /// As there.
    pub fn get_row(&self, row: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
        get_row(&self.shared, &self.view, self.seq, row)
    }

    /// See [`Store::scan`](super::Store::scan).
    pub fn scan<'a>(&self, rows: impl RangeBounds<&'a [u8]>) -> Scan {
        let owned = |bound: Bound<&&[u8]>| bound.map(|row| row.to_vec());
        self.scan_range(RowRange { start: owned(rows.start_bound()), end: owned(rows.end_bound()) })
    }

    /// See [`Store::scan_prefix`](super::Store::scan_prefix).
    pub fn scan_prefix(&self, prefix: &[u8]) -> Scan {
        let (start, end) = prefix_range(prefix);
        self.scan_range(RowRange { start, end })
    }

    fn scan_range(&self, range: RowRange) -> Scan {
        let sources = match range.is_empty() {
            true => Ok(Vec::new()),
            false => sources(&self.shared, &self.view, self.seq, range),
        };
        Scan::new(sources.map(Merge::new), Arc::clone(&self.shared))
    }
}

pub(super) fn get(shared: &Shared, view: &View, seq: u64, row: &[u8], column: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let key = CellKey { row, column };
    // The newest first, so the first value found is the last one written.
    for memtable in &view.memtables {
        if let Some(value) = memtable.get(key, seq) {
            return Ok(value);
        }
    }
    held_columns::note_lookup(shared);
    let hashes = EntryHashes::new(key);
    let rows = (Bound::Included(row), Bound::Included(row));
    for (table, is_within) in view.version.tables_for_cell(key) {
        if let Some(value) = table.get(key, is_within, &hashes)? {
            view.version.check_readable(rows, Some(table))?;
            return Ok(value);
        }
    }
    view.version.check_readable(rows, None)?;
    Ok(None)
}

pub(super) fn get_row(shared: &Shared, view: &View, seq: u64, row: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
    let mut newest: BTreeMap<Vec<u8>, CellValue> = BTreeMap::new();
    for memtable in &view.memtables {
        let start = Bound::Included(CellKey { row, column: b"" });
        for cell in memtable.cells_from(start, |key| key.row != row, seq, usize::MAX) {
            newest.entry(cell.key.column).or_insert(cell.value);
        }
    }
    view.version.check_readable((Bound::Included(row), Bound::Included(row)), None)?;
    held_columns::note_lookup(shared);
    let hashes = EntryHashes::new(CellKey { row, column: b"" });
    for table in view.version.tables_for_row(row) {
        for (column, value) in table.get_row(row, &hashes)? {
            newest.entry(column).or_insert(value);
        }
    }
    Ok(newest.into_iter().filter_map(|(column, value)| Some((column, value?))).collect())
}

fn sources(shared: &Shared, view: &View, seq: u64, range: RowRange) -> Result<Vec<Source>, Error> {
    view.version.check_readable((range.start(), range.end()), None)?;
    let range = Arc::new(range);
    let memory = |memtable: &Arc<_>| {
        Source::Memory(MemoryCursor::new(Arc::clone(memtable), seq, range.start(), range.end.clone()))
    };
    let mut sources: Vec<Source> = view.memtables.iter().map(memory).collect();
    let ranges = shared.options.filters.ranges.iter().any(Option::is_some);
    let reading = Reading::Scan(CountedScans { prefixes: shared.tables.prefixes, ranges });
    let mut add = |tables: &[Arc<Table>]| {
        let cursor = LevelCursor::new(tables.to_vec(), Arc::clone(&range), reading)?;
        sources.push(Source::Tables(cursor));
        Ok::<(), Error>(())
    };
    for table in view.version.level(0) {
        add(core::slice::from_ref(table))?;
    }
    for (level, tables) in view.version.levels().enumerate().skip(1) {
        let overlapping = view.version.overlapping_rows(level, (range.start(), range.end()));
        if !overlapping.is_empty() {
            add(&tables[overlapping])?;
        }
    }
    Ok(sources)
}
