//! Buffers that start at a page boundary in memory, as direct I/O requires.

use std::io;

/// The unit of tables and of direct I/O: 4 KiB, a multiple of every common device's logical block.
pub const PAGE_LEN: usize = 4096;

/// Zeroed bytes whose address is a multiple of [`PAGE_LEN`].
///
/// Allocates one page more and uses the part that starts at a boundary; a vector's bytes stay in place when the vector
/// is moved, so the alignment lasts.
#[derive(Debug)]
pub struct PageBuf {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl PageBuf {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self { bytes: Vec::new(), start: 0, len: 0 };

    /// A buffer of `len` bytes.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let bytes = vec![0; len + PAGE_LEN - 1];
        // `align_offset` may fail by returning a huge number. The buffer is then unaligned, and direct reads are
        // copied.
        let start = Some(bytes.as_ptr().align_offset(PAGE_LEN)).filter(|&start| start < PAGE_LEN).unwrap_or(0);
        Self { bytes, start, len }
    }

    /// A buffer of a length read from a file, which may be more than memory can hold.
    pub(crate) fn for_stored(len: u64) -> io::Result<Self> {
        len_in_memory(len).map(Self::new)
    }

    /// Keeps the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    /// The bytes, to be filled.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for PageBuf {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// A length read from a file, if memory can hold as much.
pub(crate) fn len_in_memory(len: u64) -> io::Result<usize> {
    match usize::try_from(len) {
        Ok(len) if len < isize::MAX as usize - PAGE_LEN => Ok(len),
        _ => Err(io::Error::new(io::ErrorKind::OutOfMemory, format!("{len} bytes are more than memory can hold"))),
    }
}

/// Returns whether a direct read at `offset` can go straight into `buf`.
pub(super) fn is_aligned(buf: &[u8], offset: u64) -> bool {
    buf.as_ptr().align_offset(PAGE_LEN) == 0 && buf.len() % PAGE_LEN == 0 && offset % PAGE_LEN as u64 == 0
}

#[cfg(test)]
mod tests {
    use super::{PAGE_LEN, PageBuf, is_aligned};

    #[test]
    fn buffers_are_aligned_and_have_the_length_given() {
        for len in [0, 1, PAGE_LEN - 1, PAGE_LEN, 3 * PAGE_LEN] {
            let mut buf = PageBuf::new(len);
            assert_eq!(buf.as_slice().len(), len);
            assert_eq!(buf.as_mut_slice().len(), len);
            assert_eq!(is_aligned(buf.as_slice(), 0), len % PAGE_LEN == 0);
            let moved = Box::new(buf);
            assert_eq!(is_aligned(moved.as_slice(), PAGE_LEN as u64), len % PAGE_LEN == 0);
        }
        assert!(!is_aligned(PageBuf::new(PAGE_LEN).as_slice(), 1));
        assert!(!is_aligned(&PageBuf::new(2 * PAGE_LEN).as_slice()[1..=PAGE_LEN], 0));
    }
}
