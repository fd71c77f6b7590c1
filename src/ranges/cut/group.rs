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

    /// Reads numbers of 16 bits from bit `offset` on, which is the first of a byte.
    #[inline(always)]
    fn marks(self, payload: &[u8], offset: u64, marks: &mut [u16; LANES]) {
        let (behind, mut padded) = (payload.get((offset / 8) as usize..).unwrap_or(&[]), [0; 2 * LANES]);
        let all = match behind.first_chunk() {
            Some(all) => all,
            None => {
                padded[..behind.len()].copy_from_slice(behind);
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

/// The head of a column.
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
            let behind = bits::read(payload, offset + 32, len.saturating_sub(32));
            self.joined = bits::read(payload, offset, len.min(32)) | behind << 32;
            offset += u64::from(len);
        }
        let kept = Kept::new(params);
        for entry in 0..LANES {
            let (common, next) = (self.commons[entry], self.nexts[entry]);
            self.ends[entry] = stored(kept.of_one(entry as u16, common.max(next)), common, next);
        }
        if self.joined != 0 {
            for entry in 0..LANES {
                let (common, next) = (self.commons[entry], self.nexts[entry]);
                if self.joined >> entry & 1 == 1 {
                    self.ends[entry] = stored(kept.of_several(common.max(next)), common, next);
                }
            }
        }
        // The first leaf's bits are above.
        self.ends[0] = 0;
        lanes.sum(&mut self.ends);
        (self.entries, self.is_inner, self.start) = (mask(len), false, offset);
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
        let common = self.commons[index];
        let from = u32::from(common) + 1;
        if self.is_inner {
            let len = self.ends[index].wrapping_sub(before);
            return Stored { offset, from, end: from + u32::from(len), zero: None };
        }
        let next = self.nexts[index];
        let kept = Kept::new(&layout.params);
        let end = u32::from(match self.joined >> index & 1 {
            0 => kept.of_one(entry as u16, common.max(next)),
            _ => kept.of_several(common.max(next)),
        });
        let zero = (next > common && u32::from(next) < end).then_some(u32::from(next));
        Stored { offset, from, end: end.max(from), zero }
    }
}

/// Returns how many of the bits that are kept of a leaf are stored: those that follow the first difference from the leaf
/// before, but not the one in which the next leaf differs.
#[inline(always)]
pub(crate) fn stored(kept: u16, common: u16, next: u16) -> u16 {
    kept.saturating_sub(common + 1).saturating_sub(u16::from(next > common && next < kept))
}

pub(crate) fn mask(len: u32) -> u64 {
    1u64.checked_shl(len).map_or(u64::MAX, |end| end - 1)
}

/// The number of bits that are kept of a leaf.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    telling: u16,
    least: u16,
    longer: u16,
    most: u16,
}

impl Kept {
    #[inline(always)]
    pub(crate) fn new(params: &Params) -> Self {
        Self { telling: 1 + u16::from(params.extra), least: params.least, longer: params.longer, most: params.depth }
    }

    /// Returns how many bits are kept of a leaf of one key, number `entry` of its group, that has as many as `common` in
    /// common with a neighbour.
    #[inline(always)]
    pub(crate) fn of_one(&self, entry: u16, common: u16) -> u16 {
        (common + self.telling).max(self.least + u16::from(entry < self.longer)).min(self.most)
    }

    /// Returns how many bits are kept of a leaf of several keys.
    #[inline(always)]
    pub(crate) fn of_several(&self, common: u16) -> u16 {
        (common + 1).max(self.least)
    }
}
