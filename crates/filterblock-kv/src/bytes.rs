//! Little-endian integers in byte slices: the only file of the store that names a byte order.

use byteorder::{ByteOrder, LE};

/// The `N` bytes at `offset`, or `None` past the end.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// The 16-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    LE::read_u16(&bytes[offset..])
}

/// The 32-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    LE::read_u32(&bytes[offset..])
}

/// The 64-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    LE::read_u64(&bytes[offset..])
}

/// The 64-bit integer in `bytes`.
pub(crate) fn u64_from(bytes: [u8; 8]) -> u64 {
    LE::read_u64(&bytes)
}

/// The bytes from `offset` on as a 64-bit integer; bytes past the end count as zeros.
#[inline]
pub(crate) fn u64_padded(bytes: &[u8], offset: usize) -> u64 {
    let mut chunk = [0; 8];
    match bytes.get(offset..) {
        Some(tail) if tail.len() >= 8 => return u64_at(tail, 0),
        Some(tail) => chunk[..tail.len()].copy_from_slice(tail),
        None => {}
    }
    u64_from(chunk)
}

/// Stores `value` at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn put_u16(bytes: &mut [u8], offset: usize, value: u16) {
    LE::write_u16(&mut bytes[offset..], value);
}

/// Stores `value` at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    LE::write_u32(&mut bytes[offset..], value);
}

/// Stores `value` at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    LE::write_u64(&mut bytes[offset..], value);
}
