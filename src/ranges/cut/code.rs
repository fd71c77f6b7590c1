//! The code of bytes: the bits of each byte of a key after the table's common prefix.
//!
//! A code keeps the order of the bytes (an alphabetic code: Gilbert, Moore 1959), so that strings of bits compare as the
//! keys do. The bits of a byte depend on the byte before it, which has one of up to 16 classes. Bytes without a
//! column have no bits. Codes are read where they are stored: opening a filter makes no table.
//!
//! | size | part |
//! |---|---|
//! | 256 | for each byte value its column; 0 if no key has it among the bytes that are read |
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
    /// Columns, classes, and entries.
    table: Option<(&'a [u8; CLASSES_AT], &'a [u8; ENTRIES_AT - CLASSES_AT], &'a [u8])>,
    num_columns: usize,
}

impl<'a> ByteCode<'a> {
    /// Returns the code that `table`, of [`table_len`] bytes, has.
    #[inline]
    pub(crate) fn new(table: &'a [u8], num_columns: usize) -> Self {
        let split = |(columns, rest): (&'a _, &'a [u8])| {
            rest.split_first_chunk().map(|(classes, entries)| (columns, classes, entries))
        };
        Self { table: table.split_first_chunk().and_then(split), num_columns }
    }

    /// Checks that each byte has a column and a class that there is.
    pub(crate) fn check(&self, num_classes: usize) -> Result<(), DecodeError> {
        let Some((columns, classes, _)) = self.table else { return Ok(()) };
        let most = |bytes: &[u8], of: fn(u8) -> u8| bytes.iter().map(|&byte| of(byte)).max().unwrap_or(0).into();
        let class = most(classes, |byte| (byte & 15).max(byte >> 4));
        DecodeError::check_params(&[
            ("column", most(columns, |byte| byte), 0, self.num_columns as u64),
            ("class", class, 0, num_classes as u64 - 1),
        ])
    }

    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.table.is_none()
    }

    /// Returns whether no key has a byte.
    #[inline(always)]
    fn lacks(&self, byte: u8) -> bool {
        self.table.is_some_and(|(columns, ..)| columns[usize::from(byte)] == 0)
    }

    /// Returns the bits of a byte that some key has, after another one or, as the first, after a zero: the first bit is the
    /// lowest; and their number.
    #[inline(always)]
    pub(crate) fn after(&self, before: u8, byte: u8) -> (u64, u32) {
        let Some((columns, classes, entries)) = self.table else { return (u64::from(byte.reverse_bits()), 8) };
        let class = usize::from(classes[usize::from(before / 2)] >> (4 * (before % 2)) & 15);
        let column = usize::from(columns[usize::from(byte)]);
        let entry = u32::from(bytes::u16_at(entries, 2 * (class * (self.num_columns + 1) + column)));
        let len = (entry >> MAX_LEN).min(MAX_LEN);
        (u64::from(entry & ((1 << len) - 1)), len)
    }

    /// Returns the next byte on the keys' side of a byte that no key has, and whether ones follow; without such a byte all
    /// that begins as the bound does is on the other side.
    #[cold]
    fn beside(&self, byte: u8, side: Side) -> (Option<u8>, bool) {
        let is_lower = side == Side::Lower;
        let has = |&byte: &u8| !self.lacks(byte);
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
    /// The number of bits that are known, and of the bytes that have them.
    known: u32,
    num: usize,
    code: ByteCode<'a>,
    bytes: &'a [u8],
    side: Side,
    /// The number of bytes that the other bound begins with, too; and whether it has no others, and zeros follow it.
    common: usize,
    is_same: bool,
    /// The number of bits that are known to be the other bound's, too, and of the bytes that have them.
    shared: u32,
    num_shared: usize,
}

impl<'a> Text<'a> {
    #[inline(always)]
    pub(crate) fn new(end: &End<'a>) -> Self {
        let (End { code, bytes, side }, bits) = (*end, Bits::ZEROS);
        Self { bits, known: 0, num: 0, code, bytes, side, common: 0, is_same: false, shared: 0, num_shared: 0 }
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
        let mut beside = None;
        for end in [self.common, self.bytes.len()] {
            if beside.is_none() && self.num < end {
                beside = self.append(until, end);
            }
            if self.num <= self.common {
                (self.shared, self.num_shared) = (self.known, self.num);
            }
        }
        // Whether zeros or ones follow.
        let ones = match beside {
            Some((byte, ones)) => {
                let (bits, len) = byte.map_or((0, 0), |byte| self.code.after(self.before(self.num), byte));
                let (index, shift) = ((self.known / 64) as usize, self.known % 64);
                self.bits.set_word(index, self.bits.word(index) | bits << shift);
                self.bits.set_word(index + 1, bits >> 1 >> (63 - shift));
                self.known += len;
                ones
            }
            None if self.num == self.bytes.len() => self.side == Side::UpperOfPrefix,
            None => return,
        };
        let known = self.known;
        let index = (known / 64) as usize;
        if ones {
            self.bits.set_word(index, self.bits.word(index) | u64::MAX << (known % 64));
            self.bits.fill_from(index + 1, true);
        }
        self.known = u32::MAX;
        if self.is_same && self.num_shared == self.bytes.len() {
            self.shared = u32::MAX;
        }
        // A bound that ends with a one can be excluded: no key below it has the same bits. (A shorter key has the same bits
        // as one that goes on with zeros.)
        if self.side == Side::UpperExcluded && beside.is_none() && self.last() != 0 && known <= ALL_BITS {
            self.bits.step_below();
        }
    }

    /// Appends the bits of bytes before byte `end`, and stops once `until` bits are known. Returns what is taken for a byte
    /// that no key has, and whether ones follow.
    #[inline(always)]
    fn append(&mut self, until: u32, end: usize) -> Option<(Option<u8>, bool)> {
        let (code, mut known, mut num) = (self.code, self.known, self.num);
        let (mut word, mut before, mut beside) = (self.bits.word((known / 64) as usize), self.before(num), None);
        for &byte in &self.bytes[num..end] {
            if known >= until {
                break;
            }
            if code.lacks(byte) {
                beside = Some(code.beside(byte, self.side));
                break;
            }
            let (bits, len) = code.after(before, byte);
            word |= bits << (known % 64);
            self.bits.set_word((known / 64) as usize, word);
            if known % 64 + len >= 64 {
                word = bits >> (64 - known % 64);
            }
            (known, num, before) = (known + len, num + 1, byte);
        }
        self.bits.set_word((known / 64) as usize, word);
        (self.known, self.num) = (known, num);
        beside
    }

    /// Returns the byte before byte `num`.
    #[inline(always)]
    fn before(&self, num: usize) -> u8 {
        num.checked_sub(1).map_or(0, |last| self.bytes[last])
    }

    /// Returns the bits of the last byte.
    fn last(&self) -> u64 {
        let last = self.bytes.len().checked_sub(1);
        last.map_or(0, |last| self.code.after(self.before(last), self.bytes[last]).0)
    }
}

/// Both bounds of a range. The upper one is encoded only where the lower one does not tell the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<'a> {
    pub(crate) lower: Text<'a>,
    upper: End<'a>,
    text: Option<Text<'a>>,
}

impl<'a> Ends<'a> {
    #[inline(always)]
    pub(crate) fn new(lower: &End<'a>, upper: &End<'a>) -> Self {
        let common = bytes::common_len(lower.bytes, upper.bytes);
        let is_same = upper.side == Side::Upper && common == upper.bytes.len();
        Self { lower: Text { common, is_same, ..Text::new(lower) }, upper: *upper, text: None }
    }

    /// Returns the upper bound. What it shares with the lower one is known.
    #[inline(always)]
    pub(crate) fn upper(&mut self) -> &mut Text<'a> {
        let Self { lower, upper, text } = self;
        text.get_or_insert_with(|| {
            let mut text = Text { bits: lower.bits, known: lower.shared, num: lower.num_shared, ..Text::new(upper) };
            text.bits.cut(lower.shared);
            text
        })
    }

    /// Returns whether the first `len` bits of both are the same, as far as that is seen without those of the upper one.
    #[inline(always)]
    pub(crate) fn share(&mut self, len: u32) -> bool {
        self.lower.reach(len);
        self.lower.shared >= len
    }

    /// Returns whether the number of the lower bound is above that of the upper one: then no key is between them.
    #[inline(always)]
    pub(crate) fn are_crossed(&mut self) -> bool {
        !self.share(64) && self.lower.number() > self.upper().number()
    }
}
