//! The code of bytes: the bits of each byte of a key after the table's common prefix.
//!
//! A code keeps the order of the bytes (an alphabetic code: Gilbert, Moore 1959), so that strings of bits compare as the
//! keys do. Bytes that no key has have no bits. It is stored as the length of each byte's bits: the bits follow, as
//! each begins where the one before it ends, if lengths are read as intervals of halves of halves.

use super::bits::Bits;
#[cfg(feature = "std")]
use super::bits::MAX_DEPTH;
use crate::bytes;
use crate::error::DecodeError;

/// The greatest number of bits of a byte.
pub(crate) const MAX_LEN: u32 = 12;
/// The length of a stored table in bytes: a nibble a byte value.
pub(crate) const TABLE_LEN: usize = 128;

/// The bits of each byte: eight, or those of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCode {
    /// For each byte its bits, first bit lowest, below its number of bits in the upper four; zero for a byte that no key
    /// has.
    codes: [u16; 256],
    /// Whether each byte has its own eight bits.
    is_plain: bool,
}

/// The side of a bound on which keys are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The least key that is not below.
    Lower,
    /// The greatest key that is not above.
    Upper,
    /// The greatest key that begins with the bytes, or is below.
    UpperOfPrefix,
}

impl ByteCode {
    /// Returns the code of each byte's own bits.
    pub(crate) fn plain() -> Self {
        let codes = core::array::from_fn(|byte| 8 << MAX_LEN | u16::from((byte as u8).reverse_bits()));
        Self { codes, is_plain: true }
    }

    /// Reads the lengths of a table of [`TABLE_LEN`] bytes. If one key can be a prefix of another, the end of a key has
    /// a code, too, of `end_len` zeros.
    pub(crate) fn decode(table: &[u8], end_len: u8) -> Result<Self, DecodeError> {
        let over = |taken: u32| {
            let whole = 1 << MAX_LEN;
            DecodeError::Parameter { name: "code", value: taken.into(), min: whole, max: whole }
        };
        let mut codes = [0; 256];
        // The first code is the end of a key, after which zeros follow.
        let mut taken = if end_len == 0 { 0u32 } else { 1 << (MAX_LEN - u32::from(end_len).min(MAX_LEN)) };
        for (value, code) in codes.iter_mut().enumerate() {
            let len = u32::from(table[value / 2] >> (4 * (value % 2)) & 15);
            let step = 1 << (MAX_LEN - len.min(MAX_LEN));
            // The interval of a byte begins at a multiple of its length.
            let least = if len == 0 { 0 } else { MAX_LEN - taken.trailing_zeros().min(MAX_LEN) };
            if !(least..=MAX_LEN).contains(&len) {
                let [value, min, max] = [len, least, MAX_LEN].map(u64::from);
                return Err(DecodeError::Parameter { name: "code_len", value, min, max });
            }
            if len > 0 && taken >= 1 << MAX_LEN {
                return Err(over(taken + step));
            }
            if len > 0 {
                let bits = (taken >> (MAX_LEN - len)).reverse_bits() >> (32 - len);
                *code = (len << MAX_LEN | bits) as u16;
                taken += step;
            }
        }
        match taken >> MAX_LEN {
            1 => Ok(Self { codes, is_plain: false }),
            _ => Err(over(taken)),
        }
    }

    /// Returns the bits of a byte, first bit lowest, and their number: 0 for a byte that no key has.
    #[inline]
    pub(crate) fn of(&self, byte: u8) -> (u64, u32) {
        let code = self.codes[usize::from(byte)];
        (u64::from(code) & ((1 << MAX_LEN) - 1), u32::from(code) >> MAX_LEN)
    }

    /// Returns the number of leading bits that two strings, followed by zeros, have in common; a number above
    /// [`MAX_DEPTH`] if they agree that far.
    #[cfg(feature = "std")]
    pub(crate) fn common_len(&self, a: &[u8], b: &[u8]) -> u32 {
        let (mut at, mut a, mut b) = (0, a.iter(), b.iter());
        // For each string, the bits and the number of bits that are left of its byte.
        let mut left = ((0, 0), (0, 0));
        loop {
            let refill = |left: &mut (u64, u32), bytes: &mut core::slice::Iter<'_, u8>| {
                if left.1 == 0 {
                    *left = bytes.next().map_or((0, MAX_DEPTH), |&byte| self.of(byte));
                }
            };
            refill(&mut left.0, &mut a);
            refill(&mut left.1, &mut b);
            let len = left.0.1.min(left.1.1);
            let differences = left.0.0 ^ left.1.0;
            if differences != 0 && differences.trailing_zeros() < len {
                return at + differences.trailing_zeros();
            }
            at += len;
            if at > MAX_DEPTH {
                return u32::MAX;
            }
            for left in [&mut left.0, &mut left.1] {
                *left = (left.0.checked_shr(len).unwrap_or(0), left.1 - len);
            }
        }
    }

    /// Sets `bits`, to at least the first `depth` bits of a bound.
    #[inline]
    pub(crate) fn encode(&self, bytes: &[u8], depth: u32, side: Side, bits: &mut Bits) {
        match self.is_plain {
            true => encode_plain(bytes, depth, side, bits),
            false => self.encode_by_table(bytes, depth, side, bits),
        }
    }

    /// Returns whether all keys below `bytes`, of which the first `depth` bits are kept, have bits below its own: then a
    /// bound can exclude it.
    pub(crate) fn is_exact(&self, bytes: &[u8], depth: u32) -> bool {
        let mut len = 0;
        let all_known = bytes.iter().all(|&byte| {
            let of_byte = self.of(byte).1;
            len += of_byte;
            of_byte > 0 && len <= depth
        });
        // A shorter key has the same bits as one that goes on with zeros.
        all_known && bytes.last().is_none_or(|&byte| self.of(byte).0 != 0)
    }

    /// Does what [`ByteCode::encode`] does by a table.
    fn encode_by_table(&self, bytes: &[u8], depth: u32, side: Side, out: &mut Bits) {
        let mut ones = side == Side::UpperOfPrefix;
        let (mut pushed, mut word) = (0u32, 0u64);
        for &byte in bytes {
            let (mut bits, mut len) = self.of(byte);
            let is_absent = len == 0;
            if is_absent {
                // The next byte on the keys' side that some key has; without one, all that begins as the bound does.
                let byte = usize::from(byte);
                let (next, is_lower) = match side {
                    Side::Lower => ((byte + 1..256).find(|&b| self.codes[b] != 0), true),
                    _ => ((0..byte).rev().find(|&b| self.codes[b] != 0), false),
                };
                ones = next.is_some() != is_lower;
                let Some(next) = next else { break };
                (bits, len) = self.of(next as u8);
            }
            word |= bits << (pushed % 64);
            let held = pushed % 64 + len;
            if held >= 64 {
                out.set_word((pushed / 64) as usize, word);
                word = bits >> (len - (held - 64));
            }
            pushed += len;
            if is_absent || pushed >= depth {
                break;
            }
        }
        let last = (pushed / 64) as usize;
        out.set_word(last, if ones { word | u64::MAX << (pushed % 64) } else { word });
        out.fill_from(last + 1, ones);
    }
}

/// Does what [`ByteCode::encode`] does where each byte has its own eight bits.
fn encode_plain(key: &[u8], depth: u32, side: Side, out: &mut Bits) {
    let ones = side == Side::UpperOfPrefix;
    let mut words = 0;
    for chunk in key.chunks(8).take(depth.div_ceil(64) as usize) {
        let mut all = if ones { [0xff; 8] } else { [0; 8] };
        all[..chunk.len()].copy_from_slice(chunk);
        out.set_word(words, bytes::u64_from(all).swap_bytes().reverse_bits());
        words += 1;
    }
    out.fill_from(words, ones);
}
