//! What neighbouring keys have in common.

use crate::bytes::common_len;
use crate::ranges::cut::bits::ALL_BITS;
use crate::ranges::cut::code::{ByteCode, End, Text};
use crate::ranges::keys::Keys;
use crate::ranges::query::Side;
use std::vec::Vec;

/// Returns, for each key, the number of bytes after the first `prefix_len` that the one before it has, too.
pub(super) fn common_bytes(keys: &Keys, prefix_len: usize) -> Vec<u32> {
    let mut before: &[u8] = &[];
    let common = |index| {
        let key = &keys.get(index)[prefix_len..];
        let common = common_len(before, key);
        before = key;
        common.min(u32::MAX as usize) as u32
    };
    (0..keys.len()).map(common).collect()
}

/// Returns, for each key, the number of bits that its string has in common with that of the one before it, at most
/// [`ALL_BITS`]; 0 for the first.
pub(super) fn common_bits(keys: &Keys, prefix_len: usize, code: ByteCode<'_>, commons: &[u32]) -> Vec<u16> {
    // The bit at which each byte of the key before begins, as far as it is known.
    let mut starts: Vec<u32> = Vec::from([0]);
    let mut before: &[u8] = &[];
    let mut of = |(index, &bytes): (usize, &u32)| {
        let (key, bytes) = (&keys.get(index)[prefix_len..], bytes as usize);
        let byte_before = |at: usize| at.checked_sub(1).map_or(0, |at| key[at]);
        let start = match code.is_plain() {
            true => (bytes as u32).saturating_mul(8),
            false => {
                starts.truncate(bytes + 1);
                while starts.len() <= bytes && starts[starts.len() - 1] < ALL_BITS {
                    let at = starts.len() - 1;
                    starts.push(starts[at] + code.after(byte_before(at), key[at]).1);
                }
                starts.get(bytes).copied().unwrap_or(ALL_BITS)
            }
        };
        let common = match (before.get(bytes), key.get(bytes)) {
            (Some(&a), Some(&b)) => {
                let [a, b] = [a, b].map(|byte| code.after(byte_before(bytes), byte).0);
                start.saturating_add((a ^ b).trailing_zeros())
            }
            // Zeros follow the end of the one before.
            _ => {
                let string = |bytes| *Text::new(&End { code, bytes, side: Side::Lower }).reach(ALL_BITS);
                string(before).common_len(&string(key))
            }
        };
        before = key;
        if index == 0 { 0 } else { common.min(ALL_BITS) as u16 }
    };
    commons.iter().enumerate().map(&mut of).collect()
}
