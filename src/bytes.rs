//! Little-endian integers in byte slices: the only file that names a byte order.

use byteorder::{ByteOrder, LE};

/// Returns the `N` bytes at `offset`, or `None` past the end.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// Returns the 32-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    LE::read_u32(&bytes[offset..])
}

/// Returns the 64-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    #[cfg(all(test, feature = "std"))]
    tests::note_load();
    LE::read_u64(&bytes[offset..])
}

/// Returns the 64-bit integer in `bytes`.
#[inline]
pub(crate) fn u64_from(bytes: [u8; 8]) -> u64 {
    #[cfg(all(test, feature = "std"))]
    tests::note_load();
    LE::read_u64(&bytes)
}

/// Returns the bytes from `offset` on as a 64-bit integer; bytes past the end count as zeros.
#[inline]
pub(crate) fn u64_padded(bytes: &[u8], offset: usize) -> u64 {
    // A single comparison, which several loads of the same bytes share.
    match bytes.len().checked_sub(8) {
        Some(last) if offset <= last => u64_at(bytes, offset),
        Some(last) => u64_at(bytes, last).checked_shr(8 * (offset - last).min(8) as u32).unwrap_or(0),
        None => u64_from_few(bytes, offset),
    }
}

/// Returns the bytes from `offset` on, of fewer than eight.
#[cold]
fn u64_from_few(bytes: &[u8], offset: usize) -> u64 {
    let mut chunk = [0; 8];
    if let Some(tail) = bytes.get(offset..) {
        chunk[..tail.len()].copy_from_slice(tail);
    }
    u64_from(chunk)
}

/// Compares strings as slices are compared: eight bytes at a time, without a call, and from stores that may be still on
/// their way.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> core::cmp::Ordering {
    let shared = a.len().min(b.len());
    let Some(last) = shared.checked_sub(8) else { return a.cmp(b) };
    let mut at = 0;
    loop {
        let [x, y] = [a, b].map(|bytes| u64_at(bytes, at));
        if x != y {
            return x.swap_bytes().cmp(&y.swap_bytes());
        }
        if at == last {
            return a.len().cmp(&b.len());
        }
        at = (at + 8).min(last);
    }
}

/// Returns the number of leading bytes that two strings have in common.
#[inline]
pub(crate) fn common_len(a: &[u8], b: &[u8]) -> usize {
    let mut len = 0;
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        let differences = u64_at(a, 0) ^ u64_at(b, 0);
        if differences != 0 {
            return len + differences.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + a[len..].iter().zip(&b[len..]).take_while(|(a, b)| a == b).count()
}

/// Returns the first 16 bytes as an integer, the first of them the most significant; bytes past the end count as zeros.
#[inline(always)]
pub(crate) fn u128_big_padded(bytes: &[u8]) -> u128 {
    let bytes = bytes.get(..16).unwrap_or(bytes);
    let word = |bytes: &[u8; 8]| u128::from(u64_from(*bytes).swap_bytes());
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The last 8 bytes begin within the first 8, or after them.
        (Some(first), Some(last)) => word(first) << 64 | (word(last) << (8 * (16 - bytes.len()))) as u64 as u128,
        _ => {
            let mut chunk = [0; 8];
            chunk[..bytes.len()].copy_from_slice(bytes);
            word(&chunk) << 64
        }
    }
}

/// Returns the 16 bytes of an integer.
#[inline(always)]
pub(crate) fn of_u128(value: u128) -> [u8; 16] {
    let mut bytes = [0; 16];
    LE::write_u128(&mut bytes, value);
    bytes
}

/// Stores `value` at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    LE::write_u32(&mut bytes[offset..], value);
}

/// Stores `value` at `offset`. Panics past the end: for buffers whose length has been checked.
#[inline]
pub(crate) fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    LE::write_u64(&mut bytes[offset..], value);
}

/// Returns the 16-bit integer at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    LE::read_u16(&bytes[offset..])
}

/// Stores `value` at `offset`. Panics past the end: for buffers whose length has been checked.
pub(crate) fn put_u16(bytes: &mut [u8], offset: usize, value: u16) {
    LE::write_u16(&mut bytes[offset..], value);
}

/// Appends `value` without its most significant zero bytes, least significant byte first, and returns the number of
/// bytes appended.
pub(crate) fn push_short(out: &mut impl Extend<u8>, value: u64) -> u8 {
    let len = (64 - value.leading_zeros()).div_ceil(8) as u8;
    let mut all = [0; 8];
    put_u64(&mut all, 0, value);
    out.extend(all.into_iter().take(len.into()));
    len
}

#[cfg(all(test, feature = "std"))]
pub(crate) use tests::loads_of;

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::cell::Cell;

    std::thread_local! {
        static NUM_LOADS: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts a load of 64 bits.
    #[inline]
    pub(super) fn note_load() {
        NUM_LOADS.with(|num| num.set(num.get() + 1));
    }

    /// Returns the number of loads of 64 bits that `work` makes, and its result.
    pub(crate) fn loads_of<T>(work: impl FnOnce() -> T) -> (u64, T) {
        let before = NUM_LOADS.get();
        let result = work();
        (NUM_LOADS.get() - before, result)
    }

    #[test]
    fn strings_are_compared_as_slices_are() {
        let ends = [&[][..], &[0], &[1], &[255], &[0, 0], &[0, 255], &[1, 0], &[255, 255]];
        for (shared, len) in (0..20).flat_map(|shared| (0..10).map(move |len| (shared, len))) {
            let key = |end: &[u8]| [&[7; 20][..shared], end, &[9; 10][..len]].concat();
            for (a, b) in ends.iter().flat_map(|a| ends.iter().map(|b| (key(a), key(b)))) {
                assert_eq!(super::compare(&a, &b), a.cmp(&b), "{a:?} {b:?}");
            }
        }
    }
}
