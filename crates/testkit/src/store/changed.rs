//! Storages that differ from the simulated disk in one call.

use super::sim::SimStorage;
use core::fmt;
use filterblock_kv::{CacheBypass, LockMode, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a storage does otherwise than the simulated disk.
pub trait Change: fmt::Debug + Send + Sync {
    fn create(&self, disk: &SimStorage, name: &str) -> io::Result<Box<dyn WritableFile>> {
        disk.create(name)
    }

    fn open(&self, disk: &SimStorage, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        disk.open(name)
    }

    fn free_bytes(&self, _disk: &SimStorage) -> Option<u64> {
        None
    }
}

/// The simulated disk with a change.
#[derive(Clone, Debug)]
pub struct Changed<C> {
    pub inner: SimStorage,
    pub change: C,
}

impl<C: Change> Storage for Changed<C> {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        self.change.create(&self.inner, name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        self.change.open(&self.inner, name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn keep_aside(&self, name: &str, kept: &str) -> io::Result<String> {
        self.inner.keep_aside(name, kept)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.inner.sync_dir()
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        self.inner.lock(name, mode)
    }

    fn read_counts(&self) -> ReadCounts {
        self.inner.read_counts()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.change.free_bytes(&self.inner)
    }

    fn cache_bypass(&self) -> CacheBypass {
        self.inner.cache_bypass()
    }
}

/// Refuses new tables while it is set.
#[derive(Clone, Debug, Default)]
pub struct NoTables(Arc<AtomicBool>);

impl NoTables {
    pub fn set(&self, refuses: bool) {
        self.0.store(refuses, Ordering::SeqCst);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Change for NoTables {
    fn create(&self, disk: &SimStorage, name: &str) -> io::Result<Box<dyn WritableFile>> {
        match self.is_set() && name.contains(".sst") {
            true => Err(io::Error::other("no room for tables")),
            false => disk.create(name),
        }
    }
}
