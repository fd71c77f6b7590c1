//! All of the store's I/O: one directory of flat files, through an object-safe trait.
//!
//! The calls are those that tables, write-ahead logs and manifests need and no more, so that a simulated storage can
//! lose, tear and reorder exactly what was not synced. The caller is responsible for durability: sync the file, rename
//! it, sync the directory.

mod aside;
mod descriptors;
mod direct;
mod durable;
mod file;
mod pages;

pub use file::FileStorage;
pub(super) use file::open_file;
pub(super) use pages::len_in_memory;
pub use pages::{PAGE_LEN, PageBuf};

use core::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory of files. Names are plain file names without separators.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Creates a file for appending. An existing file of that name is an error, so that no table is overwritten.
    ///
    /// # Errors
    /// The system's.
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>>;

    /// Renames a file, replacing a file of the new name. Durable after [`Storage::sync_dir`].
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Durable after [`Storage::sync_dir`].
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, in no particular order.
    ///
    /// # Errors
    /// The system's.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Gives the file `name` a second name outside the storage's own names, durably, and returns it: `kept`, in a
    /// directory `lost` within the storage's. Nothing there is overwritten: if another file has that name, a number is
    /// added. A storage that has no such place keeps the default, which fails, and its stores cannot be repaired.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::Unsupported`].
    fn keep_aside(&self, name: &str, kept: &str) -> io::Result<String> {
        let _ = (name, kept);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes created, renamed and removed names durable, and the directory's own.
    ///
    /// # Errors
    /// The system's. Names may then be durable or not: the caller must not retry, nor accept more writes.
    fn sync_dir(&self) -> io::Result<()>;

    /// Locks the directory through the file `name` until the lock is dropped. An exclusive lock creates the file. A
    /// shared lock does not: without the file there is no exclusive lock to wait for, and the directory stays
    /// unchanged.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while a conflicting lock is held; otherwise the system's.
    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>>;

    /// Counts of the reads through this storage so far.
    fn read_counts(&self) -> ReadCounts;

    /// The bytes that files may still grow by, if that is known: a store refuses writes before it lacks room to compact.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns whether reads go past the operating system's page cache.
    fn cache_bypass(&self) -> CacheBypass {
        CacheBypass::NotAsked
    }
}

/// A file being written: every write appends, and nothing is buffered that [`io::Write::flush`] would have to write.
pub trait WritableFile: io::Write + fmt::Debug + Send {
    /// Makes everything appended durable.
    ///
    /// # Errors
    /// The system's. The data may then be durable or not, and a retry may report success wrongly: the caller must not
    /// accept more writes.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file being read, by any number of threads at once.
pub trait ReadableFile: fmt::Debug + Send + Sync {
    /// Reads at `offset` into `buf` and returns the number of bytes read, which may be fewer than `buf` holds, at the
    /// end of the file or elsewhere. See [`read_exact_at`].
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The file's length in bytes.
    ///
    /// # Errors
    /// The system's.
    fn len(&self) -> io::Result<u64>;

    /// Returns whether the file has no bytes.
    ///
    /// # Errors
    /// The system's.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}

/// Fills `buf` from `offset` on, with as many reads as necessary.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the file ends before `buf` is full; otherwise the system's, except
/// interruptions, which are retried.
pub fn read_exact_at(file: &dyn ReadableFile, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buf.len() {
        match file.read_at(&mut buf[filled..], offset + filled as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => filled += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockMode {
    /// Others may hold a shared lock too.
    Shared,
    /// No other lock may be held.
    Exclusive,
}

/// A lock that is held until it is dropped.
pub trait StorageLock: fmt::Debug + Send + Sync {}

/// Whether reads go past the page cache, and if not, why not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheBypass {
    /// The storage does not bypass the cache, as it was opened without that.
    NotAsked,
    /// Every read is a read of the device; no read was refused so far.
    Active,
    /// The file system or platform does not support it; reads go through the page cache.
    Refused {
        /// Why, for users.
        reason: String,
    },
}

/// Counts of read system calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadCounts {
    /// Successful read calls.
    pub reads: u64,
    /// Bytes they returned.
    pub bytes: u64,
}

/// The counter for [`ReadCounts`], shared by a storage and its files.
#[derive(Debug, Default)]
struct ReadCounter {
    reads: AtomicU64,
    bytes: AtomicU64,
}

impl ReadCounter {
    fn add(&self, len: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
    }

    fn counts(&self) -> ReadCounts {
        ReadCounts { reads: self.reads.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}
