//! Groups of up to 64 leaves, as they are stored and as a search unpacks them.
//!
//! A group begins at a byte. One of leaves has:
//!
//! | size | field |
//! |---|---|
//! | 10 bits | the least number in the first column |
//! | 6 bits | the width of its numbers, at most 10 |
//! | | a column: for each leaf, the length of its common prefix with the next, minus the least |
//! | 1 bit each | for each leaf whether it has several keys, if the filter has such leaves |
//! | | the bits of the leaves after the first: they follow the first bit in which a leaf differs from the one before it, without the bit in which it differs from the next |

use super::bits::Stored;
use super::layout::{Layout, Params};
use crate::bits;
use crate::bytes;

/// The number of entries of a group.
pub(crate) const LANES: usize = 64;

/// Steps that take all entries of a group at once.
pub(crate) trait Lanes: Copy {
    /// Reads numbers of `width` bits, at most 10, from bit `offset` on, and adds `least` to each.
    fn unpack(self, payload: &[u8], offset: u64, width: u32, least: u16, numbers: &mut [u16; LANES]);

    /// Reads the marks of a group, 16 bits each, from bit `offset` on, which is the first of a byte.
    #[inline(always)]
    fn marks(self, payload: &[u8], offset: u64, marks: &mut [u16; LANES]) {
        let (rest, mut padded) = (payload.get((offset / 8) as usize..).unwrap_or(&[]), [0; 2 * LANES]);
        let all = match rest.first_chunk() {
            Some(all) => all,
            None => {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            }
        };
        for (mark, bytes) in marks.iter_mut().zip(all.chunks_exact(2)) {
            *mark = bytes::u16_at(bytes, 0);
        }
    }

    /// Returns a bit for each number that is at most `most`.
    fn at_most(self, numbers: &[u16; LANES], most: u16) -> u64;

    /// Adds to each number all those before it, modulo 2¹⁶.
    fn sum(self, numbers: &mut [u16; LANES]);
}

/// A group, unpacked.
pub(crate) struct Group {
    /// A bit for each entry.
    pub(crate) entries: u64,
    pub(crate) is_inner: bool,
    /// For each entry the number of bits in common with the one before it; the first number is not used.
    pub(crate) commons: [u16; LANES],
    /// For each leaf the number of bits in common with the next.
    nexts: [u16; LANES],
    /// The number of bits that are stored up to the end of each entry.
    pub(crate) ends: [u16; LANES],
    /// A bit for each leaf of several keys.
    pub(crate) joined: u64,
    /// The offset of the stored bits.
    pub(crate) start: u64,
}

pub(crate) const HEAD_BITS: u64 = 16;
const LEAST_BITS: u32 = 10;
const MAX_WIDTH: u32 = 10;

/// Returns the least number of a column, and the width.
#[inline(always)]
pub(crate) fn head(payload: &[u8], offset: u64) -> (u16, u32) {
    let head = bits::read(payload, offset, HEAD_BITS as u32) as u16;
    (head & ((1 << LEAST_BITS) - 1), u32::from(head >> LEAST_BITS).min(MAX_WIDTH))
}

/// Returns the head of a column, as [`head`] reads it.
#[cfg(feature = "std")]
pub(crate) fn to_head(least: u32, width: u32) -> u64 {
    u64::from(least | width << LEAST_BITS)
}

impl Group {
    pub(crate) const EMPTY: Self = Self {
        entries: 0,
        is_inner: false,
        commons: [0; LANES],
        nexts: [0; LANES],
        ends: [0; LANES],
        joined: 0,
        start: 0,
    };

    /// Reads a group of `len` leaves.
    #[inline(always)]
    pub(crate) fn read_leaves(&mut self, lanes: impl Lanes, payload: &[u8], place: u64, params: &Params, len: u32) {
        let mut offset = place.saturating_mul(8);
        let (least, width) = head(payload, offset);
        offset += HEAD_BITS;
        // A leaf's number in common with the one before it is that one's with its next. The first number is not used.
        lanes.unpack(payload, offset - u64::from(width), width, least, &mut self.commons);
        lanes.unpack(payload, offset, width, least, &mut self.nexts);
        offset += u64::from(len * width);
        self.joined = 0;
        if params.has_joined {
            let upper = bits::read(payload, offset + 32, len.saturating_sub(32));
            self.joined = bits::read(payload, offset, len.min(32)) | upper << 32;
            offset += u64::from(len);
        }
        let kept = Kept::new(params);
        for entry in 0..LANES {
            let commons = self.commons_of(entry);
            self.ends[entry] = commons.num_stored(kept.of_one(entry as u16, commons));
        }
        if self.joined != 0 {
            for entry in 0..LANES {
                let commons = self.commons_of(entry);
                if self.joined >> entry & 1 == 1 {
                    self.ends[entry] = commons.num_stored(kept.of_several(commons));
                }
            }
        }
        // The first leaf's bits are above.
        self.ends[0] = 0;
        lanes.sum(&mut self.ends);
        (self.entries, self.is_inner, self.start) = (mask(len), false, offset);
    }

    #[inline(always)]
    fn commons_of(&self, leaf: usize) -> Commons {
        Commons { before: self.commons[leaf], next: self.nexts[leaf] }
    }

    /// Returns a bit for each entry that has at most `most` bits in common with the one before it.
    #[inline(always)]
    pub(crate) fn with_at_most(&self, lanes: impl Lanes, most: u32) -> u64 {
        self.entries & lanes.at_most(&self.commons, most as u16)
    }

    /// Returns the bits of `entry`, not the first one.
    #[inline(always)]
    pub(crate) fn stored(&self, layout: &Layout, entry: u32) -> Stored {
        let index = entry as usize % LANES;
        let before = self.ends[index.saturating_sub(1)];
        let offset = self.start + u64::from(before);
        let from = u32::from(self.commons[index]) + 1;
        if self.is_inner {
            let len = self.ends[index].wrapping_sub(before);
            return Stored { offset, from, end: from + u32::from(len), zero: None };
        }
        let commons = self.commons_of(index);
        let kept = Kept::new(&layout.params);
        let end = match self.joined >> index & 1 {
            0 => kept.of_one(entry as u16, commons),
            _ => kept.of_several(commons),
        };
        let zero = commons.implies_zero(end).then_some(commons.next.into());
        Stored { offset, from, end: u32::from(end).max(from), zero }
    }
}

/// The numbers of leading bits that a leaf has in common with the leaf before it and with the next.
#[derive(Clone, Copy)]
pub(crate) struct Commons {
    pub(crate) before: u16,
    pub(crate) next: u16,
}

impl Commons {
    /// Returns whether, of the first `kept` bits, the one in which the next leaf differs is not stored: it is a zero,
    /// as leaves ascend. It is not among them if the first difference from the leaf before comes later.
    #[inline(always)]
    pub(crate) fn implies_zero(self, kept: u16) -> bool {
        self.next > self.before && self.next < kept
    }

    /// Returns how many of the first `kept` bits are stored: those that follow the first difference from the leaf
    /// before, without an implied zero.
    #[inline(always)]
    pub(crate) fn num_stored(self, kept: u16) -> u16 {
        kept.saturating_sub(self.before + 1).saturating_sub(u16::from(self.implies_zero(kept)))
    }
}

/// Returns a bit for each of the first `len` entries.
pub(crate) fn mask(len: u32) -> u64 {
    1u64.checked_shl(len).map_or(u64::MAX, |end| end - 1)
}

/// The rule for the number of bits that are kept of a leaf.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    /// The number of bits beyond those in common with a neighbour.
    beyond: u16,
    least: u16,
    longer: u16,
    most: u16,
}

impl Kept {
    #[inline(always)]
    pub(crate) fn new(params: &Params) -> Self {
        Self { beyond: 1 + u16::from(params.extra), least: params.least, longer: params.longer, most: params.depth }
    }

    /// Returns how many bits are kept of a leaf of one key, number `entry` of its group.
    #[inline(always)]
    pub(crate) fn of_one(&self, entry: u16, commons: Commons) -> u16 {
        (commons.before.max(commons.next) + self.beyond).max(self.least + u16::from(entry < self.longer)).min(self.most)
    }

    /// Returns how many bits are kept of a leaf of several keys.
    #[inline(always)]
    pub(crate) fn of_several(&self, commons: Commons) -> u16 {
        (commons.before.max(commons.next) + 1).max(self.least)
    }
}
