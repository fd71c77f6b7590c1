//! Little-endian integers in byte slices: the only file of the package that names a byte order.

use byteorder::{ByteOrder, LE};

/// Returns the 16-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    LE::read_u16(&bytes[offset..])
}

/// Returns the 32-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    LE::read_u32(&bytes[offset..])
}

/// Returns the 64-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    LE::read_u64(&bytes[offset..])
}

/// Appends the low `len` bytes, at most 8, of each of `values`.
pub(crate) fn append(bytes: &mut Vec<u8>, values: &[u64], len: usize) {
    for &value in values {
        let mut all = [0; 8];
        LE::write_u64(&mut all, value);
        bytes.extend_from_slice(&all[..len]);
    }
}

/// Stores `value` in two's complement in the first bytes. Panics if there are fewer.
#[inline]
pub(crate) fn put_i64(bytes: &mut [u8], value: i64) {
    LE::write_i64(bytes, value);
}

/// Stores `value` in two's complement in the first bytes. Panics if there are fewer.
pub(crate) fn put_i128(bytes: &mut [u8], value: i128) {
    LE::write_i128(bytes, value);
}
