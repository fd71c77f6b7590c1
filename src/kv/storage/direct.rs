//! Direct I/O: reads that go past the page cache, so that a saved read is a saved read of the device.
//!
//! Only reading is direct. Tables are written once, in large pieces, and synced; the cache does no harm there.

use super::file::{CountedFile, FileStorage};
use super::pages::{PAGE_LEN, PageBuf, is_aligned};
use super::{CacheBypass, LockMode, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile, write_all};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A directory of the file system, read with `O_DIRECT` where the file system has it.
#[derive(Debug)]
pub struct DirectStorage {
    buffered: FileStorage,
    bypass: CacheBypass,
}

impl DirectStorage {
    /// The directory at `dir`, created if it does not exist. Tries a direct read there; where that is refused the
    /// storage works through the page cache and [`Storage::cache_bypass`] says so.
    ///
    /// # Errors
    /// The system's, except about direct I/O itself.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let buffered = FileStorage::open(dir)?;
        let bypass = probe(&buffered, dir)?;
        Ok(Self { buffered, bypass })
    }
}

impl Storage for DirectStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        self.buffered.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        if self.bypass != CacheBypass::Active {
            return self.buffered.open(name);
        }
        let file = open_direct(&self.buffered.path(name))?;
        Ok(Arc::new(DirectFile(CountedFile { file, counter: self.buffered.counter() })))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.buffered.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.buffered.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.buffered.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.buffered.sync_dir()
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        self.buffered.lock(name, mode)
    }

    fn read_counts(&self) -> ReadCounts {
        self.buffered.read_counts()
    }

    fn cache_bypass(&self) -> CacheBypass {
        self.bypass.clone()
    }
}

/// A file whose reads must be whole pages into aligned memory.
#[derive(Debug)]
struct DirectFile(CountedFile);

impl ReadableFile for DirectFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        if is_aligned(buf, offset) {
            return self.0.read_at(buf, offset);
        }
        // The detour: the pages around the range, then a copy of what was asked for.
        let skip = (offset % PAGE_LEN as u64) as usize;
        let mut pages = PageBuf::new((skip + buf.len()).next_multiple_of(PAGE_LEN));
        let len = self.0.read_at(pages.as_mut_slice(), offset - skip as u64)?;
        let wanted = len.saturating_sub(skip).min(buf.len());
        buf[..wanted].copy_from_slice(&pages.as_slice()[skip..skip + wanted]);
        Ok(wanted)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

/// Finds out by doing it once: some file systems refuse the flag, some the read, and memory file systems take the
/// flag and have no device to read from.
fn probe(storage: &FileStorage, dir: &Path) -> io::Result<CacheBypass> {
    if in_memory(dir) {
        let reason = "the file system keeps its files in memory".to_owned();
        return Ok(CacheBypass::Refused { reason });
    }
    const PROBE: &str = "direct-io-probe.tmp";
    // What an earlier probe may have left.
    match storage.remove(PROBE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = storage.create(PROBE)?;
    write_all(&mut *file, &[0; PAGE_LEN])?;
    file.sync()?;
    let mut page = PageBuf::new(PAGE_LEN);
    let read = open_direct(&storage.path(PROBE))
        .and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, page.as_mut_slice(), 0));
    storage.remove(PROBE)?;
    Ok(match read {
        Ok(()) => CacheBypass::Active,
        Err(error) => CacheBypass::Refused { reason: format!("the file system refuses direct I/O: {error}") },
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_direct(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open_direct(_path: &Path) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "not implemented for this platform"))
}

/// Whether files in `dir` live in memory only.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn in_memory(dir: &Path) -> bool {
    // From linux/magic.h.
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    rustix::fs::statfs(dir).is_ok_and(|stat| matches!(stat.f_type as u64, TMPFS_MAGIC | RAMFS_MAGIC))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn in_memory(_dir: &Path) -> bool {
    false
}
