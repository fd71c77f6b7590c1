//! The store: its interface, and the state that its threads share.
//!
//! ```text
//! put ─▶ log ─▶ memtable ─ full ─▶ memtables ─ flush ─▶ level 0 ─ compaction ─▶ level 1 ─▶ … ─▶ level 6
//!                  │                   │                   │                       │
//! get ◀────────────┴── first found ────┴───────────────────┴───────────────────────┘
//! ```
//!
//! Readers take a [view](shared::View): memtables and tables that are never changed, only replaced, except for the
//! newest memtable, whose entries carry sequence numbers. So a snapshot is a view and a number, and keeps alive
//! everything that it sees.
//!
//! The state and what every job needs of it are in [`shared`]; each other file has the functions of one job, which take
//! that state.
//!
//! Locks are taken in this order: writer, maintenance, manifest, directory, view. No thread waits for a lock while it
//! holds a later one.

mod background;
mod compact;
mod filter_policies;
mod flush;
mod held_columns;
mod open;
mod panics;
mod read;
mod rebuild;
mod repair;
mod room;
mod scan;
mod shared;
mod stats;
mod verify;
mod write;

pub use read::Snapshot;
pub use rebuild::{RebuildOptions, RebuildReport, RebuiltTable};
pub use repair::{LostRows, RepairOptions, RepairReport, RepairedFilters, RepairedLog, RepairedTable};
pub use scan::Scan;
pub use stats::{LevelStats, Stats, TableStats};
pub use verify::{FilterVerification, RangeFilterVerification, TableVerification, UnreadableRows, VerifyReport};

use super::batch::WriteBatch;
use super::cache::{BlockCache, CacheStats};
use super::cell::{Cell, CellKey, CellRef, CellValue, OwnedKey};
use super::compaction::Compaction;
use super::context::TableContext;
use super::error::{Damage, Error};
use super::filters::{
    CountedScans, EntryHashes, FilterPolicies, FilterStats, FilterWriter, OpenFilter, RangeFilterStats, kind_name,
};
use super::log::{LogContents, LogKind, LogWriter};
use super::manifest::{
    Edit, HasherId, LogState, MANIFEST_NAME, MANIFEST_TMP_NAME, Manifest, NUM_LEVELS, State, TableState,
};
use super::memtable::Memtable;
use super::merge::{MemoryCursor, Merge, Source};
use super::names::{FileName, LOCK_NAME, MAX_FILE_NUMBER, TMP_SUFFIX};
use super::options::{
    Durability, FilterOptions, Maintenance, NO_PREFIXES, SLOW_LEVEL0_FACTOR, StoreOptions, check_hasher,
};
use super::prefix::prefix_range;
use super::purpose::Purpose;
use super::range::RowRange;
use super::sstable::{IoErrors, LevelCursor, LostKeys, Probes, Reading, Salvage, Table, TableWriter};
use super::storage::{FileStorage, LockMode, Storage, StorageLock, WritableFile};
use super::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, RwLock, thread};
use super::version::{Unreadable, Version};
use super::warning::{FilterProblem, Warning};
use super::{batch, compaction, manifest};
use core::ops::RangeBounds;
use core::sync::atomic::Ordering;
use filter_policies::entries_of;
use filterblock::{FilterKind, FilterPolicy, KeyHasher};
use filterblock_engine::ledger::{Ledger, LedgerReport};
use flush::Output;
use held_columns::ColumnState;
use panics::PanicGuard;
use shared::{MaintenanceState, Queue, Shared, View, Work, Writer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use write::{MAX_WAITING_MEMTABLES, Seen};

/// A row/column store in one directory, for any number of threads that write and read it.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    background: Option<thread::JoinHandle<()>>,
}

impl Store {
    /// Opens the store in the directory at `dir`, created if it does not exist.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_dir(dir: &Path, options: StoreOptions) -> Result<Self, Error> {
        // This comes before a directory is created.
        options.check()?;
        let storage = match options.create && !options.read_only {
            true => FileStorage::open(dir),
            false => FileStorage::open_existing(dir),
        };
        let storage = storage.map_err(|error| no_directory(dir, error))?;
        Self::open(Arc::new(storage), options)
    }

    /// Opens the store in `storage`: every table's footer, index and filters, and the writes that are in logs only,
    /// which become a table.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; [`Error::HashKey`], [`Error::ConflictingHashKeys`]; [`Error::Locked`];
    /// [`Error::NotAStore`], [`Error::NoStore`]; [`Error::Io`]; and the damage of any file, filters
    /// excepted: a store does not open for writing without all of its data, and leaves a directory that it cannot open
    /// unchanged. For [reading](StoreOptions::with_read_only) it opens without tables that cannot be read: lookups and scans
    /// that may need one fail with the error of that table, and [`Stats::unreadable`] names their rows.
    pub fn open(storage: Arc<dyn Storage>, options: StoreOptions) -> Result<Self, Error> {
        let shared = Arc::new(open::open(storage, options)?);
        let background = background::spawn(&shared)?;
        Ok(Self { shared, background })
    }

    /// Brings the store in the directory at `dir`, which no one may have open, back to what can be proved of it; or,
    /// unless [`RepairOptions::with_apply`] is set, reports what that would do.
    ///
    /// Tables that do not open, or have damaged blocks, are replaced by their intact blocks; damaged logs by their
    /// intact batches; unusable filters are built anew, according to `options`. Of every cell the newest write that is
    /// left is then the answer. **That may be an older one than before, and a cell that was deleted may be back**: the
    /// report names the rows of everything that is lost, and where older values may be visible. What is replaced is
    /// moved into the directory `lost` within the store's, with the report, and never removed from there; filters hold
    /// no data, and are not kept. A crash or an error leaves the store as it was or repaired, and calling this again
    /// finishes.
    ///
    /// ```
    /// use filterblock_kv::{RepairOptions, Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let store = Store::open_dir(dir.path(), StoreOptions::default())?;
    /// store.put(b"row", b"column", b"value")?;
    /// store.flush()?;
    /// let table = store.stats().tables[0].file.clone();
    /// store.close()?;
    /// std::fs::remove_file(dir.path().join(table))?;
    /// assert!(Store::open_dir(dir.path(), StoreOptions::default()).is_err());
    ///
    /// let plan = Store::repair_dir(dir.path(), StoreOptions::default(), RepairOptions::new())?;
    /// assert!(!plan.is_applied && plan.may_have_lost(b"row"));
    /// let report = Store::repair_dir(dir.path(), StoreOptions::default(), RepairOptions::new().with_apply(true))?;
    /// assert!(report.is_applied);
    /// assert_eq!(Store::open_dir(dir.path(), StoreOptions::default())?.get(b"row", b"column")?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::repair`].
    pub fn repair_dir(dir: &Path, options: StoreOptions, how: RepairOptions) -> Result<RepairReport, Error> {
        let storage = FileStorage::open_existing(dir).map_err(|error| no_directory(dir, error))?;
        Self::repair(Arc::new(storage), options, how)
    }

    /// Repairs, like [`Store::repair_dir`], the store in `storage`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; [`Error::HashKey`], [`Error::ConflictingHashKeys`]; [`Error::Locked`];
    /// [`Error::NotAStore`], [`Error::NoStore`]. A manifest is not repaired: [`Error::NoManifest`], or
    /// [`Error::Damaged`] with its name. [`Error::NewerVersion`] for any file. [`Error::Io`], also for what could not
    /// be read, unless [`RepairOptions::with_give_up_unreadable`] is set.
    pub fn repair(storage: Arc<dyn Storage>, options: StoreOptions, how: RepairOptions) -> Result<RepairReport, Error> {
        repair::repair(storage, options, how)
    }

    /// Writes a cell.
    ///
    /// # Errors
    /// [`Error::TooLong`]; and as [`Store::write`].
    pub fn put(&self, row: &[u8], column: &[u8], value: &[u8]) -> Result<(), Error> {
        let mut batch = WriteBatch::new();
        batch.put(row, column, value)?;
        self.write(batch)
    }

    /// Deletes a cell, whether it exists or not.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub fn delete(&self, row: &[u8], column: &[u8]) -> Result<(), Error> {
        let mut batch = WriteBatch::new();
        batch.delete(row, column)?;
        self.write(batch)
    }

    /// Applies all writes of a batch, or none.
    ///
    /// # Errors
    /// [`Error::Io`] if the log could not be written: the batch is not visible, and after a crash it is present as a
    /// whole or not at all; the next write begins a new log. [`Error::Poisoned`] after a failed sync,
    /// [`Error::Panicked`] after a panic. [`Error::NoRoom`], with nothing written. [`Error::Stalled`] if memory is full
    /// and cannot be flushed. [`Error::ReadOnly`].
    pub fn write(&self, batch: WriteBatch) -> Result<(), Error> {
        let _guard = PanicGuard::new(&self.shared);
        self.shared.check_writable()?;
        write::write(&self.shared, batch)?;
        background::run_some_inline(&self.shared);
        Ok(())
    }

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// [`Error::Io`] if the sync failed: the store then takes no more writes. [`Error::Poisoned`], [`Error::ReadOnly`].
    pub fn sync(&self) -> Result<(), Error> {
        let _guard = PanicGuard::new(&self.shared);
        write::sync_log(&self.shared)
    }

    /// The value of a cell.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Damaged`] if the answer could not be read.
    pub fn get(&self, row: &[u8], column: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let (view, seq) = self.shared.view_and_seq();
        read::get(&self.shared, &view, seq, row, column)
    }

    /// The columns of a row and their values; empty for a row that does not exist.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn get_row(&self, row: &[u8]) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Error> {
        let (view, seq) = self.shared.view_and_seq();
        read::get_row(&self.shared, &view, seq, row)
    }

    /// Returns the live cells of a range of rows, in order, as they are now. If all rows of the range must start with
    /// the same bytes, filters of prefixes are probed.
    ///
    /// ```
    /// use filterblock_kv::{Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let store = Store::open_dir(dir.path(), StoreOptions::default())?;
    /// store.put(b"b", b"column", b"value")?;
    /// store.put(b"d", b"column", b"value")?;
    /// assert_eq!(store.scan(..).count(), 2);
    /// assert_eq!(store.scan(&b"a"[..]..&b"d"[..]).count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan<'a>(&self, rows: impl RangeBounds<&'a [u8]>) -> Scan {
        self.snapshot().scan(rows)
    }

    /// The live cells of all rows that start with `prefix`, in order, as they are now.
    ///
    /// ```
    /// use filterblock_kv::{Store, StoreOptions};
    /// use filterblock::{FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?;
    /// let store = Store::open_dir(dir.path(), StoreOptions::default().with_prefix_filter(5, policy))?;
    /// store.put(b"user1/name", b"", b"Ada")?;
    /// store.put(b"user2/name", b"", b"Bob")?;
    /// store.flush()?;
    /// assert_eq!(store.scan_prefix(b"user1/").count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan_prefix(&self, prefix: &[u8]) -> Scan {
        self.snapshot().scan_prefix(prefix)
    }

    /// Returns a view of the store as it is now, which lasts while the snapshot is kept.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(Arc::clone(&self.shared))
    }

    /// Writes all memtables to tables and waits for it. Does nothing if they are empty.
    ///
    /// # Errors
    /// [`Error::Io`], or any other error of background work meanwhile. The cells stay readable, in memory and in the
    /// log; but if a sync or the rename failed, further writes and flushes are refused with [`Error::Poisoned`], as it
    /// is unknown what is on the disk.
    pub fn flush(&self) -> Result<(), Error> {
        let _guard = PanicGuard::new(&self.shared);
        flush::flush(&self.shared)
    }

    /// Merges everything into one level, the deepest that has a table. This drops all overwritten cells and tombstones.
    ///
    /// # Errors
    /// As [`Store::flush`], and [`Error::Damaged`] for a table that cannot be read. Tables that overlap no such table
    /// may have been compacted then; nothing is lost.
    pub fn compact(&self) -> Result<(), Error> {
        let _guard = PanicGuard::new(&self.shared);
        flush::flush(&self.shared)?;
        compact::compact_all(&self.shared)
    }

    /// Does all due work, or waits until it is done: flushes, compactions, and rebuilding filters that exceed the
    /// budget.
    ///
    /// # Errors
    /// The error of that work.
    pub fn settle(&self) -> Result<(), Error> {
        let _guard = PanicGuard::new(&self.shared);
        background::settle(&self.shared)
    }

    /// Checks every table, and probes every filter for every key of its table and for as many absent ones. Reads all
    /// tables. What cannot be read is in the report, as problems with filters are, and does not end it.
    pub fn verify(&self) -> VerifyReport {
        verify::verify(&self.shared)
    }

    /// Rebuilds the filters of all tables, with another kind, size or seed, and leaves the data unchanged. Reads all
    /// tables. A crash leaves each table with its old filters or with its new ones.
    ///
    /// # Errors
    /// As [`Store::flush`] and [`Store::verify`]; some tables may then have their new filters.
    /// [`Error::ConflictingHashKeys`], with nothing changed.
    pub fn rebuild_filters(&self, options: &RebuildOptions) -> Result<RebuildReport, Error> {
        let _guard = PanicGuard::new(&self.shared);
        rebuild::rebuild_filters(&self.shared, options)
    }

    /// The account of all table lookups since the store was opened.
    pub fn ledger(&self) -> Ledger {
        self.ledger_report().total
    }

    /// Returns the sums by level, kind of filter and purpose, and by table.
    pub fn ledger_report(&self) -> LedgerReport {
        self.shared.tables.accounts.report()
    }

    /// Warnings since the store was opened, of filters that were not used, one for each.
    pub fn warnings(&self) -> Vec<Warning> {
        self.shared.tables.warnings.lock().clone()
    }

    /// The storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.shared.tables.storage
    }

    /// The contents of the store, table by table.
    pub fn stats(&self) -> Stats {
        stats::stats(&self.shared)
    }

    /// Closes the store: makes everything written durable and seals the log, so that later damage to it is
    /// distinguished from the effects of a crash. Memtables are not flushed; their writes are in the log. Dropping the
    /// store does the same, but ignores errors.
    ///
    /// # Errors
    /// [`Error::Io`] if the log could not be synced or sealed; [`Error::Poisoned`].
    pub fn close(mut self) -> Result<(), Error> {
        self.stop();
        let _guard = PanicGuard::new(&self.shared);
        write::seal(&self.shared)
    }

    /// Ends the background thread; a running compaction is abandoned.
    fn stop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.background.take() {
            // The store is poisoned if the thread panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
        // Does nothing if the store was closed before.
        let _ = write::seal(&self.shared);
        // Every lookup has ended, as there are no other holders.
        let is_settled = Arc::strong_count(&self.shared) == 1 && !std::thread::panicking();
        debug_assert!(!is_settled || self.ledger_report().check().is_ok(), "{:?}", self.ledger_report().check());
    }
}

fn no_directory(dir: &Path, error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::NoStore,
        _ => Error::io(&dir.display().to_string(), "open the store", error),
    }
}
