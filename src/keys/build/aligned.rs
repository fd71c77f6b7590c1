//! Bytes that begin at a cache line, for filters that stay in memory.

use std::vec::Vec;

/// The length of a cache line, and of a line of the blocked kind, in bytes.
const ALIGNMENT: usize = 64;

/// A copy of bytes that begins at a multiple of 64.
///
/// A block's header is 64 bytes long, so the lines of an aligned blocked filter are cache lines, and each query reads
/// one. A vector may begin at any multiple of 16, and then most queries read two. For a block that is kept in a cache,
/// or is queried often, the copy is worth its cost. It is passed to
/// [`OpenOptions::open_owned`](crate::OpenOptions::open_owned).
///
/// With the feature `huge-pages`, on Linux, 2 MiB or more of bytes are kept in pages of that size if the system has
/// them, which saves queries the page walk.
///
/// ```
/// use filterblock::{AlignedBytes, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
/// let mut builder = FilterBlockBuilder::new(&policy);
/// builder.add_key(b"key");
/// let bytes = AlignedBytes::copy_of(&builder.finish()?);
/// assert_eq!(bytes.as_ref().as_ptr().align_offset(64), 0);
/// let filter = OpenOptions::new().expect(&policy).open_owned(bytes)?;
/// assert!(filter.may_contain(b"key"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AlignedBytes {
    memory: Memory,
}

impl AlignedBytes {
    /// Returns `len` zeros, to be overwritten through `as_mut`.
    ///
    /// # Panics
    /// If the memory cannot be allocated, as a vector of `len` bytes does.
    pub fn zeroed(len: usize) -> Self {
        Self { memory: Memory::zeroed(len) }
    }

    /// Returns a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::zeroed(bytes.len());
        copy.as_mut().copy_from_slice(bytes);
        copy
    }
}

impl AsRef<[u8]> for AlignedBytes {
    // Every query calls this.
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            Memory::Heap { bytes, start } => &bytes[*start..],
            #[cfg(all(feature = "huge-pages", target_os = "linux"))]
            Memory::HugePages { pages, start, len } => &pages[*start..][..*len],
        }
    }
}

impl AsMut<[u8]> for AlignedBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Heap { bytes, start } => &mut bytes[*start..],
            #[cfg(all(feature = "huge-pages", target_os = "linux"))]
            Memory::HugePages { pages, start, len } => &mut pages[*start..][..*len],
        }
    }
}

/// The memory that contains the bytes, from the first aligned one on.
#[derive(Debug)]
enum Memory {
    /// A vector that ends with the bytes, and neither grows nor moves. (It has four words, so that all that a query of
    /// a filter reads besides the bytes fits a cache line.)
    Heap { bytes: Vec<u8>, start: usize },
    #[cfg(all(feature = "huge-pages", target_os = "linux"))]
    HugePages { pages: memmap2::MmapMut, start: usize, len: usize },
}

/// The length of a huge page in bytes.
#[cfg(all(feature = "huge-pages", target_os = "linux"))]
const HUGE_PAGE: usize = 2 << 20;

impl Memory {
    /// Returns zeroed memory for `len` bytes. Huge pages are requested where possible; without them, memory is only
    /// slower.
    fn zeroed(len: usize) -> Self {
        #[cfg(all(feature = "huge-pages", target_os = "linux"))]
        if len >= HUGE_PAGE {
            // The mapping has whole pages at both ends; otherwise the last bytes would be in small pages.
            let rounded = len.checked_next_multiple_of(HUGE_PAGE).and_then(|len| len.checked_add(HUGE_PAGE));
            if let Some(Ok(pages)) = rounded.map(memmap2::MmapMut::map_anon) {
                let _ = pages.advise(memmap2::Advice::HugePage);
                return Self::HugePages { start: pages.as_ptr().align_offset(HUGE_PAGE), pages, len };
            }
        }
        let mut bytes = std::vec![0; len.checked_add(ALIGNMENT).expect("capacity overflow")];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        bytes.truncate(start + len);
        Self::Heap { bytes, start }
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
