//! Keys as strings of bits: the bits of their bytes, highest first, followed by zeros without end.

use std::cmp::Ordering;

pub fn bit(key: &[u8], index: usize) -> bool {
    key.get(index / 8).is_some_and(|byte| byte >> (7 - index % 8) & 1 == 1)
}

/// Returns the number of leading bits that two keys have in common, and `usize::MAX` if all are.
pub fn common(a: &[u8], b: &[u8]) -> usize {
    let byte = |key: &[u8], index: usize| key.get(index).copied().unwrap_or(0);
    (0..a.len().max(b.len()))
        .find(|&index| byte(a, index) != byte(b, index))
        .map_or(usize::MAX, |index| index * 8 + (byte(a, index) ^ byte(b, index)).leading_zeros() as usize)
}

pub fn order(a: &[u8], b: &[u8]) -> Ordering {
    match common(a, b) {
        usize::MAX => Ordering::Equal,
        index => bit(a, index).cmp(&bit(b, index)),
    }
}

/// Returns the first `num_bits` bits, in whole bytes.
pub fn cut(key: &[u8], num_bits: usize) -> Vec<u8> {
    let mut cut = key.to_vec();
    cut.resize(num_bits.div_ceil(8), 0);
    if num_bits % 8 != 0 {
        *cut.last_mut().expect("a byte") &= 0xff << (8 - num_bits % 8);
    }
    cut
}

/// Returns 64 bits from bit `from` on.
pub fn word(key: &[u8], from: usize) -> u64 {
    (from..from + 64).fold(0, |word, index| word << 1 | u64::from(bit(key, index)))
}
