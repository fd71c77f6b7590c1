//! Streams of bits, least significant first: bit *i* is bit *i* mod 8 of byte ⌊*i* / 8⌋.

use crate::bytes;

/// The widest field that [`read`] returns: a 64-bit load covers it from any bit of the first byte.
pub(crate) const MAX_FIELD_BITS: u32 = 57;

/// Returns the `width` bits (at most [`MAX_FIELD_BITS`]) from bit `offset` on; bits past the end are zeros.
#[inline]
pub(crate) fn read(bytes: &[u8], offset: u64, width: u32) -> u64 {
    debug_assert!(width <= MAX_FIELD_BITS);
    (bytes::u64_padded(bytes, (offset / 8) as usize) >> (offset % 8)) & ((1 << width) - 1)
}

/// Returns the last byte if it has a bit set beyond the `used` bits of `bytes`, and `None` for an empty slice.
pub(crate) fn padding(bytes: &[u8], used: u64) -> Option<u8> {
    bytes.last().copied().filter(|last| used % 8 != 0 && last >> (used % 8) != 0)
}

/// Sets the `width` bits from `offset` on, which must be zero before, to `value`.
#[inline]
pub(crate) fn write(bytes: &mut [u8], offset: u64, width: u32, value: u64) {
    debug_assert!(width <= MAX_FIELD_BITS && value >> width == 0);
    let (first, mut rest) = ((offset / 8) as usize, value << (offset % 8));
    if let Some(word) = bytes.get_mut(first..first + 8) {
        let written = bytes::u64_at(word, 0) | rest;
        bytes::put_u64(word, 0, written);
        return;
    }
    for byte in &mut bytes[first..] {
        if rest == 0 {
            break;
        }
        *byte |= rest as u8;
        rest >>= 8;
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{MAX_FIELD_BITS, read, write};

    #[test]
    fn fields_come_back_at_every_offset_and_width() {
        for width in 0..=MAX_FIELD_BITS {
            for offset in 0..80 {
                let value = 0x5a5a_f00d_dead_beef_u64 & ((1 << width) - 1);
                let mut bytes = [0u8; 20];
                write(&mut bytes, offset, width, value);
                assert_eq!(read(&bytes, offset, width), value, "width {width} offset {offset}");
                let ones: u32 = bytes.iter().map(|b| b.count_ones()).sum();
                assert_eq!(ones, value.count_ones());
            }
        }
    }

    #[test]
    fn zeros_follow_the_end() {
        assert_eq!(read(&[0xff], 4, 20), 0xf);
        assert_eq!(read(&[0xff], 800, 20), 0);
        assert_eq!(read(&[], 0, 57), 0);
    }
}
