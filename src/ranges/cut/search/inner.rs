//! Groups above the leaves.
//!
//! | size | field |
//! |---|---|
//! | 40 bits | the place in the payload of the group below its first entry, in bytes |
//! | 8 bits | the width of the places of the others, relative to it, at most 40 |
//! | 16 bits | like the two fields of a group of leaves, for the number of bits that each entry after the first has in common with the one before |
//! | 16 bits | the same, for the number of bits stored of each |
//! | 16 bits each | the *marks* of the entries after the first: their bits from the least number of common bits on, the first of them the highest; zeros after the end of an entry |
//! | | the places; the numbers of common bits; the numbers of stored bits |
//! | | the stored bits |
//!
//! All entries of a group agree before their marks, so marks ascend, and most searches read nothing else.

use super::query::{Found, Range};
use crate::bits;
use crate::ranges::cut::bits::Bits;
#[cfg(feature = "std")]
use crate::ranges::cut::bits::Stored;
use crate::ranges::cut::group::{Group, HEAD_BITS, LANES, Lanes, head, mask};

pub(crate) const CHILD_BITS: u64 = 48;
const PLACE_BITS: u32 = 40;
pub(crate) const MARK_BITS: u64 = 16;

/// A group above the leaves: its fields, and where its columns are.
pub(crate) struct Inner {
    len: u32,
    first_child: u64,
    child_width: u32,
    /// The least number and the width of the column of common bits, and of that of stored bits.
    commons: (u16, u32),
    lens: (u16, u32),
    /// The offset of the marks in the payload, in bits.
    marks_at: u64,
}

/// Returns 16 bits of a string from bit `from` on, the first of them the highest.
#[inline(always)]
pub(crate) fn mark(string: &Bits, from: u32) -> u16 {
    (string.at(from) as u16).reverse_bits()
}

/// Returns the mark of a string that ends before bit `end`.
#[cfg(feature = "std")]
pub(crate) fn cut_mark(string: &Bits, from: u32, end: u32) -> u16 {
    let len = end.saturating_sub(from).min(16);
    mark(string, from) & !(u32::from(u16::MAX) >> len) as u16
}

impl Inner {
    /// Reads a group of `len` entries.
    #[inline(always)]
    pub(crate) fn read(payload: &[u8], place: u64, len: u32) -> Self {
        let offset = place.saturating_mul(8);
        let child = bits::read(payload, offset, CHILD_BITS as u32);
        Self {
            len,
            first_child: child & ((1 << PLACE_BITS) - 1),
            child_width: ((child >> PLACE_BITS) as u32).min(PLACE_BITS),
            commons: head(payload, offset + CHILD_BITS),
            lens: head(payload, offset + CHILD_BITS + HEAD_BITS),
            marks_at: offset + CHILD_BITS + 2 * HEAD_BITS,
        }
    }

    /// Returns the number of entries that the columns have: all but the first.
    fn num_stored(&self) -> u32 {
        self.len.saturating_sub(1)
    }

    /// Returns the offset of the places of the groups below, in bits.
    fn children_at(&self) -> u64 {
        self.marks_at + MARK_BITS * u64::from(self.num_stored())
    }

    /// Returns the offset of the numbers of common bits, in bits.
    fn commons_at(&self) -> u64 {
        self.children_at() + u64::from(self.num_stored() * self.child_width)
    }

    /// Returns the offset of the numbers of stored bits, in bits.
    fn lens_at(&self) -> u64 {
        self.commons_at() + u64::from(self.num_stored() * self.commons.1)
    }

    /// Returns number `index` of a column.
    #[inline(always)]
    fn number(payload: &[u8], offset: u64, (least, width): (u16, u32), index: u32) -> u32 {
        u32::from(least) + bits::read(payload, offset + u64::from(width * index), width) as u32
    }

    /// Returns the place of the group below `entry`.
    #[inline(always)]
    pub(crate) fn child(&self, payload: &[u8], entry: u32) -> u64 {
        let place = self.first_child
            + match entry.checked_sub(1) {
                Some(index) => {
                    let offset = self.children_at() + u64::from(self.child_width * index);
                    bits::read(payload, offset, self.child_width)
                }
                None => 0,
            };
        // Zeros follow the payload, also where `usize` is too narrow for a place.
        place.min(payload.len() as u64)
    }

    /// Searches by the marks alone; `None` if they do not decide.
    #[inline(always)]
    pub(crate) fn search_marks(
        &self,
        lanes: impl Lanes,
        payload: &[u8],
        range: &Range<'_>,
        mut above_at: u32,
    ) -> Option<Found> {
        let (num_stored, least) = (self.num_stored(), u32::from(self.commons.0));
        if above_at < least {
            return Some(Found::After { entry: num_stored, above_at });
        }
        let mut marks = [0; LANES];
        lanes.marks(payload, self.marks_at, &mut marks);
        let queried = mark(range.lower, least);
        let entry = (lanes.at_most(&marks, queried) & mask(num_stored)).count_ones();
        let differ_at = |mark: u16| least + (mark ^ queried).leading_zeros();
        if let Some(index) = entry.checked_sub(1) {
            let at = differ_at(marks[index as usize % LANES]);
            if at == least + 16 {
                return None;
            }
            let end = Self::number(payload, self.commons_at(), self.commons, index)
                + 1
                + Self::number(payload, self.lens_at(), self.lens, index);
            if at >= end {
                return Some(Found::Maybe);
            }
            above_at = at;
        }
        if entry < num_stored {
            let next = marks[entry as usize % LANES];
            let at = differ_at(next);
            let reaches = match at == range.differ_at {
                false => at > range.differ_at,
                true => match next.cmp(&mark(range.upper, least)) {
                    core::cmp::Ordering::Equal => return None,
                    order => order.is_lt(),
                },
            };
            if reaches {
                return Some(Found::Maybe);
            }
        }
        Some(Found::After { entry, above_at })
    }

    /// Returns whether the mark of `entry`, if it has one, is the mark of `string`, which ends with `stored`.
    #[cfg(feature = "std")]
    pub(crate) fn has_mark(&self, payload: &[u8], entry: u32, string: &Bits, stored: &Stored) -> bool {
        let Some(index) = entry.checked_sub(1) else { return true };
        let found = bits::read(payload, self.marks_at + MARK_BITS * u64::from(index), MARK_BITS as u32) as u16;
        found == cut_mark(string, self.commons.0.into(), stored.end)
    }

    /// Unpacks all entries.
    #[inline(always)]
    pub(crate) fn unpack(&self, lanes: impl Lanes, payload: &[u8], group: &mut Group) {
        let before = |offset: u64, column: (u16, u32)| offset - u64::from(column.1);
        // The first entry has no numbers.
        lanes.unpack(
            payload,
            before(self.commons_at(), self.commons),
            self.commons.1,
            self.commons.0,
            &mut group.commons,
        );
        lanes.unpack(payload, before(self.lens_at(), self.lens), self.lens.1, self.lens.0, &mut group.ends);
        group.ends[0] = 0;
        lanes.sum(&mut group.ends);
        group.start = self.lens_at() + u64::from(self.num_stored() * self.lens.1);
        (group.entries, group.is_inner, group.joined) = (mask(self.len), true, 0);
    }
}
