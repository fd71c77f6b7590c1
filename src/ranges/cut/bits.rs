//! Keys as strings of bits, and the comparison of such a string with bits of a payload.
//!
//! The first bit of a string is the lowest bit of its first word: where two strings differ first is then a count of
//! trailing zeros. After the last bit of a key zeros follow without end; after the last bit of the upper bound of all
//! keys with a prefix, ones.

use crate::bits;

/// The greatest number of bits that distinguish a key from its neighbours.
pub(crate) const MAX_DEPTH: u32 = 1023;

/// Those bits, those that are kept besides, and a word after them, which a load from any bit may touch.
const WORDS: usize = MAX_DEPTH.div_ceil(64) as usize + 2;
/// The number of bits that a string has.
pub(crate) const ALL_BITS: u32 = 64 * WORDS as u32;

/// The first bits of an endless string: all that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits([u64; WORDS]);

impl Bits {
    /// The string of zeros, below all keys.
    pub(crate) const ZEROS: Self = Self([0; WORDS]);

    /// Returns word `index`; zeros if it is not kept.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// Sets word `index`, if it is kept.
    #[inline]
    pub(crate) fn set_word(&mut self, index: usize, word: u64) {
        if let Some(kept) = self.0.get_mut(index) {
            *kept = word;
        }
    }

    /// Sets all words from `index` on to zeros or ones.
    #[inline]
    pub(crate) fn fill_from(&mut self, index: usize, ones: bool) {
        if let Some(words) = self.0.get_mut(index..) {
            words.fill(if ones { u64::MAX } else { 0 });
        }
    }

    /// Makes all bits from bit `len` on zeros.
    pub(crate) fn cut(&mut self, len: u32) {
        let index = (len / 64) as usize;
        self.set_word(index, self.word(index) & ((1 << (len % 64)) - 1));
        self.fill_from(index + 1, false);
    }

    /// Returns 64 bits from bit `from` on.
    #[inline]
    pub(crate) fn at(&self, from: u32) -> u64 {
        let (index, shift) = ((from / 64) as usize, from % 64);
        match self.0.get(index..index + 2) {
            Some(words) => words[0] >> shift | words[1] << 1 << (63 - shift),
            None => 0,
        }
    }

    /// Returns the number of leading bits that this string and `other` have in common; `u32::MAX` if all that are kept
    /// are equal.
    #[inline]
    pub(crate) fn common_len(&self, other: &Self) -> u32 {
        match self.0.iter().zip(&other.0).position(|(a, b)| a != b) {
            Some(word) => word as u32 * 64 + (self.0[word] ^ other.0[word]).trailing_zeros(),
            None => u32::MAX,
        }
    }

    /// Makes this the greatest string below it, of those that end in ones: a bound that excludes it.
    pub(crate) fn step_below(&mut self) {
        let Some(last) = self.0.iter().rposition(|&word| word != 0) else { return };
        self.fill_from(last + 1, true);
        // Its last one becomes a zero, and the zeros after it become ones.
        let one = 1 << (63 - self.0[last].leading_zeros());
        self.0[last] = self.0[last] & (one - 1) | !(one | (one - 1));
    }
}

/// The comparison of a string with stored bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The string begins with the stored bits.
    Begins,
    /// The string has a zero at this bit, where the stored bits have a one.
    Below(u32),
    /// The string has a one at this bit, where the stored bits have a zero.
    Above(u32),
}

/// The bits of a payload that belong to a string, from some bit of that string on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    /// Their offset in the payload, in bits.
    pub(crate) offset: u64,
    /// The bit of the string that they begin with.
    pub(crate) from: u32,
    /// The string's length in bits.
    pub(crate) end: u32,
    /// A bit that is zero, and is not stored; none is beyond all strings.
    pub(crate) zero: u32,
}

impl Stored {
    /// Compares `string`, which agrees with the bits before bit `from`, one of these or the end.
    #[inline(always)]
    pub(crate) fn compare(&self, payload: &[u8], string: &Bits, mut from: u32) -> Order {
        while from < self.end {
            // Each bit after the zero is stored one bit earlier.
            let (earlier, before) = match self.zero.checked_sub(from) {
                Some(ahead) => (0, (1u64 << ahead.min(63)) - 1),
                None => (1, u64::MAX),
            };
            let offset = self.offset + u64::from(from - self.from - earlier);
            let stored = bits::read(payload, offset, bits::MAX_FIELD_BITS);
            let all = stored & before | (stored & !before) << 1;
            let (width, queried) = ((self.end - from).min(bits::MAX_FIELD_BITS), string.at(from));
            let differences = (queried ^ all) & ((1 << width) - 1);
            if differences != 0 {
                let at = differences.trailing_zeros();
                return if queried >> at & 1 == 1 { Order::Above(from + at) } else { Order::Below(from + at) };
            }
            from += width;
        }
        Order::Begins
    }
}
