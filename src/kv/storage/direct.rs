//! Direct I/O: reads that bypass the page cache, so that a saved read is a saved read of the device.
//!
//! Only reads are direct. Tables are written once, in large pieces, and synced; the cache does no harm there.

use super::file::{CountedFile, FileStorage};
use super::pages::{PAGE_LEN, PageBuf, is_aligned};
use super::{CacheBypass, ReadableFile, Storage};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, Write};

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
pub(super) fn probe(storage: &FileStorage) -> io::Result<CacheBypass> {
    if let Some(reason) = impossible(storage.dir()) {
        return Ok(CacheBypass::Refused { reason: reason.to_owned() });
    }
    // Overwrites what an interrupted probe may have left.
    let mut file = storage.open_at(PROBE_NAME, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
    file.write_all(&[0; PAGE_LEN])?;
    file.sync_data()?;
    let mut page = PageBuf::new(PAGE_LEN);
    let read = storage
        .open_at(PROBE_NAME, OFlags::RDONLY | DIRECT)
        .and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, page.as_mut_slice(), 0));
    storage.remove(PROBE_NAME)?;
    Ok(match read {
        Ok(()) => CacheBypass::Active,
        Err(error) => CacheBypass::Refused { reason: format!("the file system refuses direct I/O: {error}") },
    })
}

/// The flag of direct I/O. Elsewhere none, and [`impossible`] gives the reason.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) const DIRECT: OFlags = OFlags::DIRECT;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) const DIRECT: OFlags = OFlags::empty();

/// Why direct I/O cannot be tried in `dir`, if it cannot.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn impossible(dir: &File) -> Option<&'static str> {
    // From linux/magic.h.
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    let in_memory = rustix::fs::fstatfs(dir).is_ok_and(|stat| matches!(stat.f_type as u64, TMPFS_MAGIC | RAMFS_MAGIC));
    in_memory.then_some("the file system keeps its files in memory")
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn impossible(_dir: &File) -> Option<&'static str> {
    Some("not implemented for this platform")
}
