//! The store: a memtable over tables, newest first.
//!
//! A directory holds tables named by ascending numbers (`000001.sst`) and nothing else that counts: which tables
//! live is the directory's listing, and a `.tmp` file is a flush that never finished. A flush writes the temporary
//! file, syncs it, renames it, syncs the directory, in that order; only then does the memtable let go of its cells.

use super::cell::{CellKey, MAX_VALUE_LEN, OwnedCell, Version, check_len};
use super::error::Error;
use super::ledger::Ledger;
use super::memtable::Memtable;
use super::options::StoreOptions;
use super::scan::{Scan, Source};
use super::sstable::{EntryHashes, Table, TableWriter, Warning, table_name, table_number};
use super::storage::{FileStorage, Storage};
use crate::KeyHasher;
use core::ops::{Bound, RangeBounds};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

const TMP_SUFFIX: &str = ".tmp";

/// A row/column store in one directory: one writer, any number of readers that share it.
#[derive(Debug)]
pub struct Store {
    storage: Arc<dyn Storage>,
    options: StoreOptions,
    hasher: KeyHasher,
    memtable: Memtable,
    /// Newest first.
    tables: Vec<Table>,
    next_number: u64,
    next_seq: u64,
    poisoned: bool,
    warnings: Vec<Warning>,
}

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Cells and tombstones in the memtable.
    pub memtable_cells: u64,
    /// The tables, newest first.
    pub tables: Vec<TableStats>,
}

/// What a table holds, and what became of its lookups.
#[derive(Clone, Debug, PartialEq)]
pub struct TableStats {
    /// Its file.
    pub file: String,
    /// Cells, tombstones included.
    pub num_cells: u64,
    /// Tombstones.
    pub num_tombstones: u64,
    /// Data blocks.
    pub num_blocks: u64,
    /// Length of the data blocks.
    pub data_bytes: u64,
    /// Length of its usable filters.
    pub filter_bytes: u64,
    /// Distinct entries of its usable filters.
    pub filter_entries: u64,
    /// The account of its lookups.
    pub ledger: Ledger,
}

impl Store {
    /// Opens the store in the directory at `dir`, created if it does not exist.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_dir(dir: &Path, options: StoreOptions) -> Result<Self, Error> {
        let storage =
            FileStorage::open(dir).map_err(|error| Error::io(&dir.display().to_string(), "open the store", error))?;
        Self::open(Arc::new(storage), options)
    }

    /// Opens the store in `storage`. Reads every table's footer, index and filters.
    ///
    /// # Errors
    /// [`Error::Io`], and whatever is wrong with a table apart from its filters: a store does not open without all
    /// of its data.
    pub fn open(storage: Arc<dyn Storage>, options: StoreOptions) -> Result<Self, Error> {
        let names = storage.list().map_err(|error| Error::io("store", "list the directory", error))?;
        for name in &names {
            let unfinished = name.strip_suffix(TMP_SUFFIX).is_some_and(|table| table_number(table).is_some());
            if unfinished {
                storage.remove(name).map_err(|error| Error::io(name, "remove the unfinished table", error))?;
            }
        }
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| table_number(name)).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let (mut tables, mut warnings, mut seed) = (Vec::with_capacity(numbers.len()), Vec::new(), None);
        for &number in &numbers {
            let table = Table::open(&*storage, number, seed, &mut warnings)?;
            // The newest table's seed is the store's; filters of another could not be asked with the same hash.
            seed.get_or_insert(table.footer().seed);
            tables.push(table);
        }
        let seed = seed.or(options.seed_if_set()).unwrap_or_else(random_seed);
        Ok(Self {
            storage,
            options,
            hasher: KeyHasher::new(seed),
            memtable: Memtable::default(),
            next_number: numbers.first().map_or(1, |newest| newest.saturating_add(1)),
            next_seq: tables.iter().map(|table| table.footer().max_seq).max().map_or(1, |seq| seq.saturating_add(1)),
            tables,
            poisoned: false,
            warnings,
        })
    }

    /// Writes a cell. In memory until the next flush.
    ///
    /// # Errors
    /// [`Error::TooLong`]; [`Error::Poisoned`]; or, if the memtable was full, as [`Store::flush`].
    pub fn put(&mut self, row: &[u8], column: &[u8], value: &[u8]) -> Result<(), Error> {
        check_len("value", value, MAX_VALUE_LEN)?;
        self.write(CellKey { row, column }, Some(value.to_vec()))
    }

    /// Deletes a cell, whether it exists or not.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub fn delete(&mut self, row: &[u8], column: &[u8]) -> Result<(), Error> {
        self.write(CellKey { row, column }, None)
    }

    fn write(&mut self, key: CellKey<'_>, value: Option<Vec<u8>>) -> Result<(), Error> {
        key.check_len()?;
        if self.poisoned {
            return Err(Error::Poisoned);
        }
        let seq = self.next_seq;
        self.next_seq = self.next_seq.saturating_add(1);
        self.memtable.insert(key, Version { seq, value });
        if self.memtable.bytes() >= self.options.memtable_limit() {
            self.flush()?;
        }
        Ok(())
    }

    /// The value of a cell.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] where the answer could not be read.
    pub fn get(&self, row: &[u8], column: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let key = CellKey { row, column };
        if let Some(version) = self.memtable.get(key) {
            return Ok(version.value.clone());
        }
        let hashes = EntryHashes::new(self.hasher, key);
        for table in &self.tables {
            // Newer tables hold later writes, so the first version found is the last one written.
            if let Some(version) = table.get(key, &hashes)? {
                return Ok(version.value);
            }
        }
        Ok(None)
    }

    /// The columns of a row and their values; empty for a row that does not exist.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn get_row(&self, row: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
        let hashes = EntryHashes::new(self.hasher, CellKey { row, column: b"" });
        let in_memory = self.memtable.row(row).map(|(column, version)| (column.clone(), version.clone()));
        let mut newest: BTreeMap<Vec<u8>, Version> = in_memory.collect();
        for table in &self.tables {
            for (column, version) in table.get_row(row, &hashes)? {
                newest.entry(column).or_insert(version);
            }
        }
        Ok(newest.into_iter().filter_map(|(column, version)| Some((column, version.value?))).collect())
    }

    /// The live cells of a range of rows, in order.
    ///
    /// ```
    /// use filterblock::kv::{Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let mut store = Store::open_dir(dir.path(), StoreOptions::default())?;
    /// store.put(b"b", b"column", b"value")?;
    /// store.put(b"d", b"column", b"value")?;
    /// assert_eq!(store.scan(..).count(), 2);
    /// assert_eq!(store.scan(&b"a"[..]..&b"d"[..]).count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan<'a>(&'a self, rows: impl RangeBounds<&'a [u8]>) -> Scan<'a> {
        let (start, end) = (rows.start_bound().cloned(), rows.end_bound().cloned());
        if is_empty_range(start, end) {
            return Scan::new([]);
        }
        let memtable: Source<'a> = Box::new(self.memtable.range((start, end)).map(Ok::<OwnedCell, Error>));
        let tables = self.tables.iter().map(|table| -> Source<'a> { Box::new(table.scan(start, end)) });
        Scan::new(core::iter::once(memtable).chain(tables))
    }

    /// Makes everything written so far durable, as a new table. Does nothing if nothing was written.
    ///
    /// # Errors
    /// [`Error::Io`]. The cells stay in the memtable and can be read; but if a sync or the rename failed, further
    /// writes and flushes are refused with [`Error::Poisoned`], for nobody knows what is on the disk.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.poisoned {
            return Err(Error::Poisoned);
        }
        if self.memtable.num_cells() == 0 {
            return Ok(());
        }
        let number = self.next_number;
        let name = table_name(number);
        let tmp = name.clone() + TMP_SUFFIX;
        if let Err(error) = self.write_table(&tmp, number) {
            // Nothing refers to the partial file; opening the store removes it if this cannot.
            let _ = self.storage.remove(&tmp);
            return Err(error);
        }
        self.publish(&tmp, &name)?;
        let table =
            Table::open(&*self.storage, number, Some(self.hasher.seed()), &mut self.warnings).inspect_err(|_| {
                // The cells are durable, but what was written does not read back: a fault below us.
                self.poisoned = true;
            })?;
        self.tables.insert(0, table);
        self.next_number = number.saturating_add(1);
        self.memtable = Memtable::default();
        Ok(())
    }

    /// Writes and syncs the memtable's cells as a file named `tmp`.
    fn write_table(&mut self, tmp: &str, number: u64) -> Result<(), Error> {
        let out = self.storage.create(tmp).map_err(|error| Error::io(tmp, "create", error))?;
        let options = self.options;
        let policy = |purpose| options.policy(purpose);
        let mut writer = TableWriter::new(tmp.to_owned(), out, number, self.hasher.seed(), policy);
        for cell in self.memtable.iter() {
            writer.add(&cell)?;
        }
        let mut out = writer.finish(&mut self.warnings)?;
        let synced = out.sync();
        self.poison_on_failure(tmp, "sync", synced)
    }

    /// Gives the synced table its name and makes the name durable.
    fn publish(&mut self, tmp: &str, name: &str) -> Result<(), Error> {
        let renamed = self.storage.rename(tmp, name);
        self.poison_on_failure(name, "rename", renamed)?;
        let synced = self.storage.sync_dir();
        self.poison_on_failure(name, "sync the directory", synced)
    }

    fn poison_on_failure(&mut self, file: &str, operation: &'static str, result: io::Result<()>) -> Result<(), Error> {
        self.poisoned |= result.is_err();
        result.map_err(|error| Error::io(file, operation, error))
    }

    /// The account of all table lookups since the store was opened.
    pub fn ledger(&self) -> Ledger {
        self.tables.iter().map(Table::ledger).fold(Ledger::default(), |sum, ledger| sum + ledger)
    }

    /// The filters that are not used, each said once.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// What the store holds, table by table.
    pub fn stats(&self) -> Stats {
        let table = |table: &Table| {
            let (filter_bytes, filter_entries) = table.filter_size();
            TableStats {
                file: table.file().to_owned(),
                num_cells: table.footer().num_cells,
                num_tombstones: table.footer().num_tombstones,
                num_blocks: table.num_blocks(),
                data_bytes: table.footer().data_len,
                filter_bytes,
                filter_entries,
                ledger: table.ledger(),
            }
        };
        Stats { memtable_cells: self.memtable.num_cells(), tables: self.tables.iter().map(table).collect() }
    }
}

/// Whether no row lies between the bounds. Ordered maps panic at inverted ranges, and callers may bring any.
fn is_empty_range(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => start >= end,
    }
}

/// A seed that strangers cannot guess, from the keys that the standard library draws for its own maps.
fn random_seed() -> u64 {
    RandomState::new().hash_one(0u64)
}
