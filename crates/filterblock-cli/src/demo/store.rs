//! A store that is loaded for one run and removed after it.

use super::data::{Dataset, random};
use crate::exit::{Failure, code_of_store};
use crate::store::what_failed;
use filterblock::range::RangePolicy;
use filterblock::{FilterPolicy, KeyHasher, KeyTransform};
use filterblock_kv::{Durability, Error, FileStorage, Maintenance, Purpose, Store, StoreOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fixed, so that a run can be repeated bit for bit. A store with untrusted writers should draw its seed at random.
const SEED: u64 = 0x5eed;
/// Size of range filters, in bits per row.
const RANGE_BITS: f64 = 14.0;
const DIRECTORIES: KeyTransform = KeyTransform::DelimitedPrefix { delimiter: b'/', levels: u8::MAX };
/// Tables that lie side by side, as compaction leaves them.
const NUM_SETTLED: u64 = 4;
/// Tables across the whole key range, as flushes leave them.
const NUM_RECENT: u64 = 2;
/// One row in this many is in a recent table.
const RECENT_SHARE: u64 = 4;

/// The message of a demo that fails: what is left on disk, and what may help.
const STOPPED: &str = "The demo has stopped and removed its files; nothing was reported. If the disk is full, run \
                       `filterblock demo --dir DIR` for a directory with more room.";

/// A loaded store in a directory of its own.
pub(super) struct LoadedStore {
    dir: PathBuf,
    pub(super) store: Store,
}

impl LoadedStore {
    /// Makes a store in `parent` with `policy` for rows and for cells and with range filters, or without any filter, past
    /// the page cache where the file system allows it, and loads `data` into it.
    pub(super) fn new(data: &Dataset, policy: Option<FilterPolicy>, parent: &Path) -> Result<Self, Failure> {
        let options = StoreOptions::without_filters()
            .with_filter(Purpose::Row, policy.clone())
            .with_filter(Purpose::RowColumn, policy.clone())
            .with_range_filter(policy.as_ref().and(RangePolicy::with_bits_per_key(RANGE_BITS).ok()))
            // For the filters of directories that are built later.
            .with_prefixes(policy.as_ref().map_or(KeyTransform::FixedPrefix { len: 0 }, |_| DIRECTORIES), None)
            .with_hasher(KeyHasher::new(SEED))
            // The same tables in every run, and every read a read of the device.
            .with_max_memtable_bytes(usize::MAX)
            .with_maintenance(Maintenance::Inline { seed: SEED })
            .with_max_level0_tables(1_000_000)
            .with_cache_bytes(0)
            .with_durability(Durability::Never);
        let dir = parent.join(policy.map_or("none", |policy| policy.kind_name()));
        let storage = FileStorage::open_direct(&dir).map_err(|error| stopped(&dir, "cannot open", &error))?;
        let opened = Store::open(Arc::new(storage), options);
        let loaded = opened.and_then(|store| load(data, &store).map(|()| store));
        let store = loaded.map_err(|error| failure(&dir, &error))?;
        Ok(Self { dir, store })
    }

    /// The failure of this store.
    pub(super) fn failure(&self, error: &Error) -> Failure {
        failure(&self.dir, error)
    }

    pub(super) fn remove(self) -> Result<(), Failure> {
        drop(self.store);
        std::fs::remove_dir_all(&self.dir).map_err(|error| stopped(&self.dir, "cannot remove", &error))
    }
}

/// The failure of the store in `dir`.
fn failure(dir: &Path, error: &Error) -> Failure {
    Failure::new(code_of_store(error), format!("{}. {STOPPED}", what_failed(dir, error)))
}

/// The failure to do something with the directory of a store.
fn stopped(dir: &Path, failed: &str, error: &io::Error) -> Failure {
    Failure::io(dir, failed, error, STOPPED)
}

/// Fills the store table by table: most rows in tables side by side, the others in tables across the whole range, so
/// that a lookup can rule out some tables by their key range and others not.
fn load(data: &Dataset, store: &Store) -> Result<(), Error> {
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
