//! Bytes that begin at a cache line, for filters that stay in memory.

use std::vec::Vec;

/// Length of a cache line, and of a line of the blocked kind, in bytes.
const ALIGNMENT: usize = 64;

/// Owned bytes that begin at a multiple of 64.
///
/// A block's header is 64 bytes long, so the lines of an aligned blocked filter are cache lines, and each query reads
/// one. A vector may begin at any multiple of 16, and then most queries read two. For a block that is kept in a cache,
/// or is queried often, the copy is worth its cost. For use with
/// [`OpenOptions::open_owned`](crate::OpenOptions::open_owned).
///
/// With the feature `huge-pages`, on Linux, 2 MiB or more of bytes are kept in pages of that size if the system has
/// them, which saves queries the page walk.
///
/// ```
/// use filterblock::{AlignedBytes, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?);
/// builder.add_key(b"key");
/// let bytes = AlignedBytes::copy_of(&builder.finish()?);
/// assert_eq!(bytes.as_ref().as_ptr().align_offset(64), 0);
/// let filter = OpenOptions::new().open_owned(bytes)?;
/// assert!(filter.reader().may_contain(b"key"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AlignedBytes {
    memory: Memory,
    start: usize,
    len: usize,
}

impl AlignedBytes {
    /// `len` zeros, to be overwritten through `as_mut`.
    ///
    /// # Panics
    /// Like a vector of `len` bytes, if no memory could hold them.
    pub fn zeroed(len: usize) -> Self {
        let memory = Memory::zeroed(len);
        let start = memory.as_ref().as_ptr().align_offset(memory.alignment());
        Self { memory, start, len }
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::zeroed(bytes.len());
        copy.as_mut().copy_from_slice(bytes);
        copy
    }
}

impl AsRef<[u8]> for AlignedBytes {
    // On the path of every query.
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.memory.as_ref()[self.start..][..self.len]
    }
}

impl AsMut<[u8]> for AlignedBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.memory.as_mut()[self.start..][..self.len]
    }
}

/// The memory that contains the bytes, with room before and after them.
#[derive(Debug)]
enum Memory {
    /// Neither grows nor moves.
    Heap(Vec<u8>),
    #[cfg(all(feature = "huge-pages", target_os = "linux"))]
    HugePages(memmap2::MmapMut),
}

/// Length of a huge page in bytes.
#[cfg(all(feature = "huge-pages", target_os = "linux"))]
const HUGE_PAGE: usize = 2 << 20;

impl Memory {
    /// Zeroed memory with room for `len` bytes from the first aligned one on. Huge pages are requested where possible;
    /// without them, memory is only slower.
    fn zeroed(len: usize) -> Self {
        #[cfg(all(feature = "huge-pages", target_os = "linux"))]
        if len >= HUGE_PAGE {
            // Whole pages at both ends; otherwise the last bytes would be in small pages.
            let rounded = len.checked_next_multiple_of(HUGE_PAGE).and_then(|len| len.checked_add(HUGE_PAGE));
            if let Some(Ok(pages)) = rounded.map(memmap2::MmapMut::map_anon) {
                let _ = pages.advise(memmap2::Advice::HugePage);
                return Self::HugePages(pages);
            }
        }
        Self::Heap(std::vec![0; len.checked_add(ALIGNMENT).expect("capacity overflow")])
    }

    fn alignment(&self) -> usize {
        match self {
            Self::Heap(_) => ALIGNMENT,
            #[cfg(all(feature = "huge-pages", target_os = "linux"))]
            Self::HugePages(_) => HUGE_PAGE,
        }
    }

    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            #[cfg(all(feature = "huge-pages", target_os = "linux"))]
            Self::HugePages(pages) => pages,
        }
    }

    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            #[cfg(all(feature = "huge-pages", target_os = "linux"))]
            Self::HugePages(pages) => pages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, AlignedBytes};

    #[test]
    fn bytes_of_any_length_are_aligned_and_kept() {
        for len in [0, 1, 63, 64, 65, 100_000, (2 << 20) - 1, 2 << 20, (4 << 20) + 1] {
            let original: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let copy = AlignedBytes::copy_of(&original);
            assert_eq!(copy.as_ref(), original, "{len}");
            let moved = Box::new(copy);
            assert_eq!(moved.as_ref().as_ref().as_ptr().align_offset(ALIGNMENT), 0, "{len}");
            assert!(AlignedBytes::zeroed(len).as_ref().iter().all(|&byte| byte == 0));
        }
    }
}
