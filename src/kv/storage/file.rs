//! The ordinary storage: a directory of the file system, read by positioned reads.

use super::direct::{DirectFile, open_direct, probe};
use super::{CacheBypass, LockMode, ReadCounter, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of the file system.
#[derive(Debug)]
pub struct FileStorage {
    dir: PathBuf,
    counter: Arc<ReadCounter>,
    bypass: CacheBypass,
}

impl FileStorage {
    /// The directory at `dir`, created if it does not exist.
    ///
    /// # Errors
    /// The system's.
    pub fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        Ok(Self::existing(dir))
    }

    /// The directory at `dir`, created if it does not exist, read with `O_DIRECT` where the file system supports that.
    /// Tries a direct read there; if it is refused, reads go through the page cache and [`Storage::cache_bypass`] gives
    /// the reason.
    ///
    /// # Errors
    /// The system's, except about direct I/O itself.
    pub fn open_direct(dir: &Path) -> io::Result<Self> {
        let storage = Self::open(dir)?;
        Ok(Self { bypass: probe(dir)?, ..storage })
    }

    /// The directory at `dir`, which must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none.
    pub fn open_existing(dir: &Path) -> io::Result<Self> {
        match fs::metadata(dir)?.is_dir() {
            true => Ok(Self::existing(dir)),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory at `dir`, whether it exists or not.
    pub(in crate::kv) fn existing(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), counter: Arc::default(), bypass: CacheBypass::NotAsked }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Storage for FileStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        Ok(Box::new(Appender(OpenOptions::new().write(true).create_new(true).open(self.path(name))?)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        let (path, counter) = (self.path(name), Arc::clone(&self.counter));
        match self.bypass {
            CacheBypass::Active => Ok(Arc::new(DirectFile(CountedFile { file: open_direct(&path)?, counter }))),
            _ => Ok(Arc::new(CountedFile { file: File::open(path)?, counter })),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            // A store's own names are all valid UTF-8.
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        use rustix::fs::{FlockOperation, flock};
        let path = self.path(name);
        let (file, operation) = match mode {
            LockMode::Shared => (File::open(path), FlockOperation::NonBlockingLockShared),
            LockMode::Exclusive => {
                let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
                (file, FlockOperation::NonBlockingLockExclusive)
            }
        };
        match file {
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
            let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
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
