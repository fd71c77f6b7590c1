//! Direct I/O: reads that bypass the page cache, so that a saved read is a saved read of the device.
//!
//! Only reads are direct. Tables are written once, in large pieces, and synced; the cache does no harm there.

use super::file::CountedFile;
use super::pages::{PAGE_LEN, PageBuf, is_aligned};
use super::{CacheBypass, ReadableFile};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A file whose reads must be of whole pages into aligned memory.
#[derive(Debug)]
pub(super) struct DirectFile(pub(super) CountedFile);

impl ReadableFile for DirectFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        if is_aligned(buf, offset) {
            return self.0.read_at(buf, offset);
        }
        // Reads the pages around the range, then copies the range.
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

/// The file that [`probe`] creates and removes.
pub(crate) const PROBE_NAME: &str = "direct-io-probe.tmp";

/// Tries a direct read: some file systems refuse the flag, some the read, and memory file systems accept the flag but
/// have no device to read from.
pub(super) fn probe(dir: &Path) -> io::Result<CacheBypass> {
    if in_memory(dir) {
        let reason = "the file system keeps its files in memory".to_owned();
        return Ok(CacheBypass::Refused { reason });
    }
    let path = dir.join(PROBE_NAME);
    // Overwrites what an interrupted probe may have left.
    fs::write(&path, [0; PAGE_LEN])?;
    File::open(&path)?.sync_data()?;
    let mut page = PageBuf::new(PAGE_LEN);
    let read =
        open_direct(&path).and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, page.as_mut_slice(), 0));
    fs::remove_file(&path)?;
    Ok(match read {
        Ok(()) => CacheBypass::Active,
        Err(error) => CacheBypass::Refused { reason: format!("the file system refuses direct I/O: {error}") },
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn open_direct(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn open_direct(_path: &Path) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "not implemented for this platform"))
}

/// Whether files in `dir` are in memory only.
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
