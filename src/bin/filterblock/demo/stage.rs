//! A store that is loaded for one run and removed after it.

use super::data::{Column, DataRow, Dataset, random};
use crate::exit::{Failure, code_of_store};
use crate::store::what_failed;
use filterblock::kv::{self, Durability, FileStorage, Maintenance, Purpose, Store, StoreOptions};
use filterblock::{FilterPolicy, KeyHasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fixed, so that a run can be repeated bit for bit. A store with untrusted writers should draw its seed at random.
const SEED: u64 = 0x5eed;
/// Tables that lie side by side, as compaction leaves them.
const NUM_SETTLED: u64 = 4;
/// Tables across the whole key range, as flushes leave them.
const NUM_RECENT: u64 = 2;
/// One row in this many is in a recent table.
const RECENT_SHARE: u64 = 4;

/// The options of stores that are the same in every run, with `policy` for rows and for cells.
pub(super) fn options(policy: Option<FilterPolicy>) -> StoreOptions {
    StoreOptions::without_filters()
        .filter(Purpose::Row, policy)
        .filter(Purpose::RowColumn, policy)
        .hashed_by(KeyHasher::new(SEED))
        // The same tables in every run, and every read a read of the device.
        .memtable_bytes_max(usize::MAX)
        .maintenance(Maintenance::Inline { seed: SEED })
        .level0_tables_max(1_000_000)
        .cache_bytes(0)
        .durability(Durability::Never)
}

/// Opens a store past the page cache, where the file system allows it.
fn open(dir: &Path, options: StoreOptions) -> anyhow::Result<Store> {
    let storage = FileStorage::open_direct(dir).map_err(|error| stopped(dir, "cannot open", &error))?;
    Ok(Store::open(Arc::new(storage), options).map_err(|error| failure(dir, &error))?)
}

/// A loaded store in a directory of its own.
pub(super) struct Stage {
    pub(super) dir: PathBuf,
    pub(super) store: Store,
    pub(super) load: Duration,
}

impl Stage {
    /// Makes a store in `parent` with `policy` for both purposes, and loads `data` into it.
    pub(super) fn set(data: &Dataset, policy: Option<FilterPolicy>, parent: &Path) -> anyhow::Result<Self> {
        let name = policy.map_or("none", |policy| policy.kind_name());
        Self::set_as(name, data, policy, KeyHasher::new(SEED), parent)
    }

    /// As [`Stage::set`], in the directory `name`, with `hasher` for the filters.
    pub(super) fn set_as(
        name: &str,
        data: &Dataset,
        policy: Option<FilterPolicy>,
        hasher: KeyHasher,
        parent: &Path,
    ) -> anyhow::Result<Self> {
        Self::set_with(name, data, options(policy).hashed_by(hasher), parent)
    }

    /// As [`Stage::set`], in the directory `name`, with these options.
    pub(super) fn set_with(name: &str, data: &Dataset, options: StoreOptions, parent: &Path) -> anyhow::Result<Self> {
        let (dir, started) = (parent.join(name), Instant::now());
        let store = open(&dir, options)?;
        load(data, &store).map_err(|error| failure(&dir, &error))?;
        Ok(Self { dir, store, load: started.elapsed() })
    }

    /// Opens the store again, with other options.
    pub(super) fn reopen(self, options: StoreOptions) -> anyhow::Result<Self> {
        let Self { dir, store, load } = self;
        store.close().map_err(|error| failure(&dir, &error))?;
        Ok(Self { store: open(&dir, options)?, dir, load })
    }

    /// Removes the store.
    pub(super) fn strike(self) -> anyhow::Result<()> {
        drop(self.store);
        Ok(std::fs::remove_dir_all(&self.dir).map_err(|error| stopped(&self.dir, "cannot remove", &error))?)
    }
}

/// A store of several levels, closed.
pub(super) struct Levels {
    dir: PathBuf,
    options: StoreOptions,
}

impl Levels {
    /// Makes a store in `parent` with filters of cells, and loads `data` into it.
    pub(super) fn set(data: &Dataset, policy: FilterPolicy, parent: &Path) -> anyhow::Result<Self> {
        let dir = parent.join("levels");
        let cell_bytes = |row: &DataRow| {
            let bytes_of = |(column, value): &Column| row.row.len() + column.len() + value.len();
            row.columns.iter().map(bytes_of).sum::<usize>()
        };
        let data_bytes: usize = data.rows.iter().map(cell_bytes).sum();
        // Levels 1 to 4 hold two thirds of it, in few tables: each takes several syncs.
        let base_bytes = (data_bytes / 128).max(1 << 12);
        let options = StoreOptions::without_filters()
            .filter(Purpose::RowColumn, policy)
            .hashed_by(KeyHasher::new(SEED))
            .memtable_bytes_max(24 * base_bytes)
            .level_bytes(base_bytes as u64, 4)
            .table_bytes_max(6 * base_bytes as u64)
            .maintenance(Maintenance::Inline { seed: SEED })
            .cache_bytes(0)
            .durability(Durability::Never);
        let levels = Self { dir, options };
        let store = open(&levels.dir, options)?;
        load_levels(data, &store).and_then(|()| store.close()).map_err(|error| failure(&levels.dir, &error))?;
        Ok(levels)
    }

    /// Opens it with this much memory for filters.
    pub(super) fn open(&self, filter_memory_bytes: u64, read_only: bool) -> anyhow::Result<Store> {
        open(&self.dir, self.options.filter_memory_bytes(filter_memory_bytes).read_only(read_only))
    }

    /// Removes the store.
    pub(super) fn strike(self) -> anyhow::Result<()> {
        Ok(std::fs::remove_dir_all(&self.dir).map_err(|error| stopped(&self.dir, "cannot remove", &error))?)
    }
}

/// Writes the rows in no order, so that every table of level 0 spans all of them.
fn load_levels(data: &Dataset, store: &Store) -> Result<(), kv::Error> {
    let mut order: Vec<usize> = (0..data.rows.len()).collect();
    order.sort_unstable_by_key(|&i| random(b"load", i as u64));
    for row in order.into_iter().map(|i| &data.rows[i]) {
        for (column, value) in &row.columns {
            store.put(&row.row, column, value)?;
        }
    }
    store.flush()?;
    store.settle()
}

/// What a demo that fails leaves behind, and what may help.
const STOPPED: &str = "The demo has stopped and removed its files; nothing was reported. If the disk is full, run \
                       `filterblock demo --dir DIR` for a directory with more room.";

/// The failure of the store in `dir`.
pub(super) fn failure(dir: &Path, error: &kv::Error) -> Failure {
    Failure::new(code_of_store(error), format!("{}. {STOPPED}", what_failed(dir, error)))
}

/// The failure to do something with a file or directory of a store.
pub(super) fn stopped(path: &Path, failed: &str, error: &io::Error) -> Failure {
    Failure::io(path, failed, error, STOPPED)
}

/// Fills the store table by table: most rows in tables side by side, the others in tables across the whole range, so
/// that a lookup can rule out some tables by their key range and others not.
fn load(data: &Dataset, store: &Store) -> Result<(), kv::Error> {
    let num_rows = data.rows.len() as u64;
    let table_of = |i: u64| match random(b"table", i) {
        r if r % RECENT_SHARE == 0 => NUM_SETTLED + (r >> 32) % NUM_RECENT,
        _ => i * NUM_SETTLED / num_rows,
    };
    for table in 0..NUM_SETTLED + NUM_RECENT {
        for (row, _) in data.rows.iter().zip(0..).filter(|(_, i)| table_of(*i) == table) {
            for (column, value) in &row.columns {
                store.put(&row.row, column, value)?;
            }
        }
        store.flush()?;
    }
    Ok(())
}
