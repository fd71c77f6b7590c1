//! The code of bytes: the bits of each byte of a key after the table's common prefix.
//!
//! A code keeps the order of the bytes (an alphabetic code: Gilbert, Moore 1959), so that strings of bits compare as the
//! keys do. The bits of a byte depend on the byte before it, which has one of up to 16 classes. Bytes that no key has
//! have no bits. Codes are read where they are stored: opening a filter makes no table.
//!
//! | size | part |
//! |---|---|
//! | 256 | for each byte value its column; 0 if no key has it |
//! | 128 | for each byte value the class of what follows it, four bits each, the lower half of a byte first |
//! | 2 each | for each class, for each column from 0 on, the end of a key: its bits, the first one lowest, and above these twelve the number of them |

use super::bits::{ALL_BITS, Bits};
use crate::bytes;
use crate::error::DecodeError;
use crate::ranges::query::Side;

/// The greatest number of bits of a byte.
pub(crate) const MAX_LEN: u32 = 12;
pub(crate) const MAX_CLASSES: usize = 16;
pub(crate) const CLASSES_AT: usize = 256;
pub(crate) const ENTRIES_AT: usize = CLASSES_AT + 128;

/// Returns the length of a code of these numbers; of none without classes.
pub(crate) fn table_len(num_classes: usize, num_columns: usize) -> usize {
    if num_classes == 0 { 0 } else { ENTRIES_AT + 2 * num_classes * (num_columns + 1) }
}

/// The bits of each byte: those of a table, or without one eight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCode<'a> {
    table: &'a [u8],
    num_columns: usize,
}

impl<'a> ByteCode<'a> {
    /// Returns the code that `table`, of [`table_len`] bytes, has.
    #[inline]
    pub(crate) fn new(table: &'a [u8], num_columns: usize) -> Self {
        Self { table, num_columns }
    }

    /// Checks that each byte has a column and a class that there is.
    pub(crate) fn check(&self, num_classes: usize) -> Result<(), DecodeError> {
        let most = |bytes: &[u8], of: fn(u8) -> u8| bytes.iter().map(|&byte| of(byte)).max().unwrap_or(0).into();
        let (columns, rest) = self.table.split_at(CLASSES_AT);
        let classes = &rest[..ENTRIES_AT - CLASSES_AT];
        let class = most(classes, |byte| (byte & 15).max(byte >> 4));
        for (name, value, max) in
            [("column", most(columns, |byte| byte), self.num_columns as u64), ("class", class, num_classes as u64 - 1)]
        {
            if value > max {
                return Err(DecodeError::Parameter { name, value, min: 0, max });
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the column of a byte: 0 if no key has it.
    #[inline(always)]
    pub(crate) fn column(&self, byte: u8) -> usize {
        self.table[usize::from(byte)].into()
    }

    /// Returns the class of what follows a byte; the first byte follows a zero.
    #[inline(always)]
    pub(crate) fn class(&self, byte: u8) -> usize {
        (self.table[CLASSES_AT + usize::from(byte / 2)] >> (4 * (byte % 2)) & 15).into()
    }

    /// Returns the bits of a column, the first one lowest, and their number.
    #[inline(always)]
    pub(crate) fn of(&self, class: usize, column: usize) -> (u64, u32) {
        let at = ENTRIES_AT + 2 * (class * (self.num_columns + 1) + column);
        let entry = u32::from(bytes::u16_at(self.table, at.min(self.table.len() - 2)));
        let len = (entry >> MAX_LEN).min(MAX_LEN);
        (u64::from(entry & ((1 << len) - 1)), len)
    }

    /// Returns the bits of a byte after another, and their number; 0 for a byte that no key has.
    #[inline]
    pub(crate) fn after(&self, before: u8, byte: u8) -> (u64, u32) {
        match self.is_plain() {
            true => (u64::from(byte.reverse_bits()), 8),
            false => match self.column(byte) {
                0 => (0, 0),
                column => self.of(self.class(before), column),
            },
        }
    }

    /// Returns the next byte on the keys' side of a byte that no key has, and whether ones follow; without such a byte all
    /// that begins as the bound does is on the other side.
    #[cold]
    fn beside(&self, byte: u8, side: Side) -> (Option<u8>, bool) {
        let is_lower = side == Side::Lower;
        let has = |&byte: &u8| self.column(byte) != 0;
        let found = if is_lower { (byte..=255).find(has) } else { (0..byte).rev().find(has) };
        (found, found.is_some() != is_lower)
    }
}

/// A bound, without the prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    pub(crate) code: ByteCode<'a>,
    pub(crate) bytes: &'a [u8],
    pub(crate) side: Side,
}

impl End<'_> {
    /// Returns the first 64 bits of its string as a number, the first of them the highest.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        if !self.code.is_plain() {
            return Text::new(self).number();
        }
        let number = bytes::u64_padded(self.bytes, 0).swap_bytes();
        let rest = u64::MAX.checked_shr(8 * self.bytes.len().min(8) as u32).unwrap_or(0);
        let ends_with_one = self.bytes.len() <= 8 && self.bytes.last().is_some_and(|&last| last != 0);
        match self.side {
            Side::UpperOfPrefix => number | rest,
            Side::UpperExcluded => number - u64::from(ends_with_one),
            Side::Lower | Side::Upper => number,
        }
    }
}

/// The string of a bound, encoded as far as it was needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    bits: Bits,
    /// The number of bits that are known.
    known: u32,
    code: ByteCode<'a>,
    side: Side,
    /// The bytes whose bits are not known, and the one before them.
    rest: &'a [u8],
    before: u8,
}

impl<'a> Text<'a> {
    #[inline(always)]
    pub(crate) fn new(end: &End<'a>) -> Self {
        Self { bits: Bits::ZEROS, known: 0, code: end.code, side: end.side, rest: end.bytes, before: 0 }
    }

    /// Makes at least the first `len` bits known.
    #[inline(always)]
    pub(crate) fn reach(&mut self, len: u32) -> &Bits {
        if self.known < len {
            self.encode(len.min(ALL_BITS));
        }
        &self.bits
    }

    /// Returns the first 64 bits as a number, the first of them the highest.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> u64 {
        self.reach(64).word(0).reverse_bits()
    }

    #[inline(never)]
    fn encode(&mut self, until: u32) {
        let (code, mut known) = (self.code, self.known);
        let (mut word, mut before, mut num) = (self.bits.word((known / 64) as usize), self.before, 0);
        // Whether zeros or ones follow, after the end, and the bits of the last byte.
        let (mut fill, mut last) = (None, 0);
        while fill.is_none() {
            let Some(&byte) = self.rest.get(num) else {
                fill = Some(self.side == Side::UpperOfPrefix);
                break;
            };
            if known >= until {
                break;
            }
            let mut found = Some(byte);
            if !code.is_plain() && code.column(byte) == 0 {
                let (beside, ones) = code.beside(byte, self.side);
                (found, fill) = (beside, Some(ones));
            }
            let (bits, len) = found.map_or((0, 0), |byte| code.after(before, byte));
            word |= bits << (known % 64);
            let held = known % 64 + len;
            if held >= 64 {
                self.bits.set_word((known / 64) as usize, word);
                word = bits >> (len + 64 - held);
            }
            (known, num, before) = (known + len, num + 1, byte);
            last = if fill.is_some() { 0 } else { bits };
        }
        (self.before, self.rest) = (before, &self.rest[num..]);
        let index = (known / 64) as usize;
        let ones = fill == Some(true);
        self.bits.set_word(index, if ones { word | u64::MAX << (known % 64) } else { word });
        self.bits.fill_from(index + 1, ones);
        self.known = if fill.is_some() { u32::MAX } else { known };
        // A bound that ends with a one can be excluded: no key below it has the same bits. (A shorter key has the same bits
        // as one that goes on with zeros.)
        if fill.is_some() && self.side == Side::UpperExcluded && last != 0 && known <= ALL_BITS {
            self.bits.step_below();
        }
    }
}
