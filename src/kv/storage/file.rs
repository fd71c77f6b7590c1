//! The ordinary storage: a directory of the file system, read by positioned reads.
//!
//! The directory is held open, and every name is resolved in it. A path would be resolved anew by each call: after a
//! change of the working directory, or when a directory above is renamed, it leads to another directory, whose files
//! would be overwritten and removed. A path made absolute helps against the first only, and comparing identities before
//! each call leaves a moment between the comparison and the call.

use super::direct::{DIRECT, DirectFile, probe};
use super::durable::{NameSync, create_dir, sync};
use super::{CacheBypass, LockMode, ReadCounter, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A directory of the file system. It stays the same one whatever happens to its name and to the working directory.
#[derive(Debug)]
pub struct FileStorage {
    dir: File,
    name: NameSync,
    counter: Arc<ReadCounter>,
    bypass: CacheBypass,
}

impl FileStorage {
    /// The directory at `dir`, created if it does not exist, with those above it. The names of created directories are
    /// durable when this returns.
    ///
    /// # Errors
    /// The system's.
    pub fn open(dir: &Path) -> io::Result<Self> {
        create_dir(dir)?;
        Self::open_existing(dir)
    }

    /// The directory at `dir`, created if it does not exist, read with `O_DIRECT` where the file system supports that.
    /// Tries a direct read there; if it is refused, reads go through the page cache and [`Storage::cache_bypass`] gives
    /// the reason.
    ///
    /// # Errors
    /// The system's, except about direct I/O itself.
    pub fn open_direct(dir: &Path) -> io::Result<Self> {
        let storage = Self::open(dir)?;
        let bypass = probe(&storage)?;
        Ok(Self { bypass, ..storage })
    }

    /// The directory at `dir`, which must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none.
    pub fn open_existing(dir: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = File::from(retry_on_intr(|| rustix::fs::open(dir, flags, Mode::empty()))?);
        Ok(Self { dir, name: NameSync::default(), counter: Arc::default(), bypass: CacheBypass::NotAsked })
    }

    /// The held directory.
    pub(super) fn dir(&self) -> &File {
        &self.dir
    }

    /// Opens the file `name` of the directory.
    pub(super) fn open_at(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // Read and write for all, less the process's mask, as the standard library creates files.
        let mode = Mode::from_raw_mode(0o666);
        Ok(File::from(retry_on_intr(|| openat(&self.dir, name, flags | OFlags::CLOEXEC, mode))?))
    }
}

/// The file at `path`, outside a storage.
pub(in crate::kv) fn open_file(path: &Path) -> io::Result<Arc<dyn ReadableFile>> {
    Ok(Arc::new(CountedFile { file: File::open(path)?, counter: Arc::default() }))
}

impl Storage for FileStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        Ok(Box::new(Appender(self.open_at(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        let counter = Arc::clone(&self.counter);
        match self.bypass {
            CacheBypass::Active => {
                let file = self.open_at(name, OFlags::RDONLY | DIRECT)?;
                Ok(Arc::new(DirectFile(CountedFile { file, counter })))
            }
            _ => Ok(Arc::new(CountedFile { file: self.open_at(name, OFlags::RDONLY)?, counter })),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| renameat(&self.dir, from, &self.dir, to))?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| unlinkat(&self.dir, name, AtFlags::empty()))?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            // A store's own names are all valid UTF-8.
            let name = entry.file_name().to_str().ok().filter(|&name| name != "." && name != "..");
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        sync(&self.dir)?;
        self.name.sync_once(&self.dir)
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        let (flags, operation) = match mode {
            LockMode::Shared => (OFlags::RDONLY, FlockOperation::NonBlockingLockShared),
            LockMode::Exclusive => (OFlags::WRONLY | OFlags::CREATE, FlockOperation::NonBlockingLockExclusive),
        };
        match self.open_at(name, flags) {
            Ok(file) => {
                flock(&file, operation)?;
                Ok(Box::new(FileLock(Some(file))))
            }
            Err(error) if mode == LockMode::Shared && error.kind() == io::ErrorKind::NotFound => {
                Ok(Box::new(FileLock(None)))
            }
            Err(error) => Err(error),
        }
    }

    fn read_counts(&self) -> ReadCounts {
        self.counter.counts()
    }

    fn cache_bypass(&self) -> CacheBypass {
        self.bypass.clone()
    }
}

/// An advisory lock of the operating system, which also ends with the process. `None` where there is no file to lock.
#[derive(Debug)]
struct FileLock(Option<File>);

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough while another thread is starting a process: until that runs its program, it
        // holds a copy of every open file.
        if let Some(file) = &self.0 {
            let _ = flock(file, FlockOperation::Unlock);
        }
    }
}

impl StorageLock for FileLock {}

#[derive(Debug)]
struct Appender(File);

impl Write for Appender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WritableFile for Appender {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// A file whose successful reads are counted.
#[derive(Debug)]
pub(super) struct CountedFile {
    pub(super) file: File,
    pub(super) counter: Arc<ReadCounter>,
}

impl ReadableFile for CountedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let len = FileExt::read_at(&self.file, buf, offset)?;
        self.counter.add(len);
        Ok(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
