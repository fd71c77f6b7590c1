//! The elements of all files of a store: checksums that include a location, little-endian integers, and bounds-checked
//! reading.

use crate::bytes;

/// CRC-32 of `bytes` and of their location, so that intact bytes of another file or offset fail too. Rotated and
/// offset, because a CRC of data that contains its own CRC is weak.
pub(crate) fn masked_crc(file: u64, offset: u64, bytes: &[u8]) -> u32 {
    #[cfg(test)]
    counted::CHECKSUMS.with(|count| count.set(count.get() + 1));
    let mut place = [0; 16];
    bytes::put_u64(&mut place, 0, file);
    bytes::put_u64(&mut place, 8, offset);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&place);
    crc.update(bytes);
    crc.finalize().rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The number of checksums that this thread has computed.
#[cfg(test)]
pub(crate) mod counted {
    thread_local! {
        pub(crate) static CHECKSUMS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
}

/// Appends little-endian integers.
pub(crate) trait Push {
    fn push_u16(&mut self, value: u16);
    fn push_u32(&mut self, value: u32);
    fn push_u64(&mut self, value: u64);
}

impl Push for Vec<u8> {
    fn push_u16(&mut self, value: u16) {
        let at = self.len();
        self.resize(at + 2, 0);
        bytes::put_u16(self, at, value);
    }

    fn push_u32(&mut self, value: u32) {
        let at = self.len();
        self.resize(at + 4, 0);
        bytes::put_u32(self, at, value);
    }

    fn push_u64(&mut self, value: u64) {
        let at = self.len();
        self.resize(at + 8, 0);
        bytes::put_u64(self, at, value);
    }
}

/// Reads fields one after the other; `None` at the end of the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|field| bytes::u16_at(field, 0))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|field| bytes::u32_at(field, 0))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|field| bytes::u64_at(field, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn a_cursor_ends_where_its_bytes_end() {
        let mut cursor = Cursor::new(&[1, 2, 0, 3]);
        assert_eq!((cursor.u8(), cursor.u16(), cursor.u16(), cursor.at()), (Some(1), Some(2), None, 3));
        assert_eq!((cursor.take(usize::MAX), cursor.u8(), cursor.is_at_end()), (None, Some(3), true));
    }
}
