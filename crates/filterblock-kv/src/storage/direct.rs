//! Direct I/O: reads that bypass the page cache, so that a saved read is a saved read of the device.
//!
//! Only reads are direct. Tables are written once, in large pieces, and synced; the cache does no harm there. Some file
//! systems refuse the flag, some the read: the first file that is read shows it. Trying it beforehand would mean
//! writing a file, perhaps into the directory of another program, or of a store that another process has locked.

use super::CacheBypass;
use super::pages::{PAGE_LEN, PageBuf, is_aligned};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::sync::OnceLock;

/// Whether reads are direct.
#[derive(Debug, Default)]
pub(super) struct Bypass {
    is_asked: bool,
    /// Why they are not.
    refused: OnceLock<String>,
}

impl Bypass {
    /// Prepares direct reads of files in `dir`.
    pub(super) fn asked(dir: &File) -> Self {
        let refused = OnceLock::new();
        if let Some(reason) = impossible(dir) {
            let _ = refused.set(reason.to_owned());
        }
        Self { is_asked: true, refused }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_asked && self.refused.get().is_none()
    }

    /// Has all reads go through the page cache from now on.
    pub(super) fn refuse(&self, error: &io::Error) {
        let _ = self.refused.set(format!("the file system refuses direct I/O: {error}"));
    }

    pub(super) fn state(&self) -> CacheBypass {
        match self.refused.get() {
            _ if !self.is_asked => CacheBypass::NotAsked,
            Some(reason) => CacheBypass::Refused { reason: reason.clone() },
            None => CacheBypass::Active,
        }
    }
}

/// Returns whether an error is a file system's answer to a direct read.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::OPNOTSUPP))
}

/// Reads through `read`, which takes whole pages at offsets of pages into aligned memory only.
pub(super) fn read_direct(
    buf: &mut [u8],
    offset: u64,
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<usize> {
    if is_aligned(buf, offset) {
        return read(buf, offset);
    }
    // Reads the pages around the range, then copies the range.
    let skip = (offset % PAGE_LEN as u64) as usize;
    let mut pages = PageBuf::new((skip + buf.len()).next_multiple_of(PAGE_LEN));
    let len = read(pages.as_mut_slice(), offset - skip as u64)?;
    let wanted = len.saturating_sub(skip).min(buf.len());
    buf[..wanted].copy_from_slice(&pages.as_slice()[skip..skip + wanted]);
    Ok(wanted)
}

/// The flag of direct I/O. Other systems have none, and [`impossible`] gives the reason.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) const DIRECT: OFlags = OFlags::DIRECT;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) const DIRECT: OFlags = OFlags::empty();

/// Why reads of files in `dir` cannot be direct: memory file systems accept the flag but have no device to read from.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn impossible(dir: &File) -> Option<&'static str> {
    // The number is from linux/magic.h.
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    let in_memory = rustix::fs::fstatfs(dir).is_ok_and(|stat| matches!(stat.f_type as u64, TMPFS_MAGIC | RAMFS_MAGIC));
    in_memory.then_some("the file system keeps its files in memory")
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn impossible(_dir: &File) -> Option<&'static str> {
    Some("not implemented for this platform")
}
