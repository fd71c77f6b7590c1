//! The ordinary storage: a directory of the file system, read by positioned reads.
//!
//! The directory is held open, and every name is resolved in it. A path would be resolved anew by each call: after a
//! change of the working directory, or when a directory above is renamed, it leads to another directory, whose files
//! would be overwritten and removed. A path made absolute helps against the first only, and comparing identities before
//! each call leaves a moment between the comparison and the call.

use super::aside;
use super::descriptors::Descriptors;
use super::direct::Bypass;
use super::durable::{NameSync, create_dir, open_dir, sync};
use super::{CacheBypass, LockMode, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile};
use rustix::fs::{AtFlags, Dir, FlockOperation, OFlags, flock, renameat, unlinkat};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A directory of the file system. It stays the same one if its name or the working directory changes.
///
/// It holds one file descriptor for itself, one for each lock and file being written, and for all files being read at
/// most 512 or a quarter of those that the process may have when it is opened, if that is less.
#[derive(Debug)]
pub struct FileStorage {
    descriptors: Arc<Descriptors>,
    name: NameSync,
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

    /// Opens the directory like [`FileStorage::open`], but reads with `O_DIRECT` where the file system supports that.
    /// If it refuses when a file is first read, reads go through the page cache from then on, and
    /// [`Storage::cache_bypass`] gives the reason.
    ///
    /// # Errors
    /// The system's, except about direct I/O itself.
    pub fn open_direct(dir: &Path) -> io::Result<Self> {
        create_dir(dir)?;
        let dir = open_dir(dir)?;
        let bypass = Bypass::asked(&dir);
        Ok(Self::new(dir, bypass))
    }

    /// The directory at `dir`, which must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none.
    pub fn open_existing(dir: &Path) -> io::Result<Self> {
        Ok(Self::new(open_dir(dir)?, Bypass::default()))
    }

    fn new(dir: File, bypass: Bypass) -> Self {
        Self { descriptors: Arc::new(Descriptors::new(dir, bypass)), name: NameSync::default() }
    }

    fn dir(&self) -> &File {
        &self.descriptors.dir
    }
}

/// The file at `path`, outside a storage.
pub(crate) fn open_file(path: &Path) -> io::Result<Arc<dyn ReadableFile>> {
    Ok(Arc::new(SingleFile(File::open(path)?)))
}

impl Storage for FileStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        let file = self.descriptors.open_at(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        Ok(Box::new(Appender { file, len: 0, begun: 0 }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(self.descriptors.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| renameat(self.dir(), from, self.dir(), to))?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| unlinkat(self.dir(), name, AtFlags::empty()))?)
    }

    fn keep_aside(&self, name: &str, kept: &str) -> io::Result<String> {
        aside::keep_aside(self.dir(), name, kept)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.dir())? {
            let entry = entry?;
            // A store's own names are all valid UTF-8.
            let name = entry.file_name().to_str().ok().filter(|&name| name != "." && name != "..");
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        sync(self.dir())?;
        self.name.sync_once(self.dir())
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        let (flags, operation) = match mode {
            LockMode::Shared => (OFlags::RDONLY, FlockOperation::NonBlockingLockShared),
            LockMode::Exclusive => (OFlags::WRONLY | OFlags::CREATE, FlockOperation::NonBlockingLockExclusive),
        };
        match self.descriptors.open_at(name, flags) {
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
        self.descriptors.counter.counts()
    }

    fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::fstatvfs(self.dir()).ok()?;
        // A file system of no blocks does not count them.
        (stat.f_blocks > 0).then(|| stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn cache_bypass(&self) -> CacheBypass {
        self.descriptors.bypass.state()
    }
}

/// An advisory lock of the operating system, which also ends with the process. `None` if there is no file to lock.
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

/// The number of bytes after which the system is advised to begin writing to the disk, so that a sync finds little
/// left.
const WRITE_BACK_LEN: u64 = 1 << 20;

#[derive(Debug)]
struct Appender {
    file: File,
    /// Bytes written.
    len: u64,
    /// The number of bytes that the system was advised to write.
    begun: u64,
}

impl Appender {
    /// Gives a hint, which changes how long syncs and reads take, and nothing else. On Linux this advice begins to
    /// write the pages that are not yet on the disk. It drops pages that are, as those of a log that was synced
    /// meanwhile, which nothing reads.
    fn begin_write_back(&mut self) {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Advice, fadvise};
            let _ =
                fadvise(&self.file, self.begun, core::num::NonZeroU64::new(self.len - self.begun), Advice::DontNeed);
        }
        self.begun = self.len;
    }
}

impl Write for Appender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.len += written as u64;
        if self.len - self.begun >= WRITE_BACK_LEN {
            self.begin_write_back();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WritableFile for Appender {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A file that is not a store's, by its own descriptor.
#[derive(Debug)]
struct SingleFile(File);

impl ReadableFile for SingleFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
