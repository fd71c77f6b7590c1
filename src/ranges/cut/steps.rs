//! Groups of steps: leaves cut where they differ from their neighbours.
//!
//! | bits | field |
//! |---|---|
//! | 8 | the number of leaves |
//! | 10, 4 | the centre of the common lengths, and the width of their remainders |
//! | 4, 3 | the bits kept beyond those that distinguish a leaf, and the eighths of the leaves, from the first on, that keep one more |
//! | 1 | whether the group's separator goes on after its mark |
//! | 10 | if it does: how many bits of it follow, and these |
//! | | of each leaf but the first what it has in common with the one before it, as a zigzag difference from the centre: all remainders, then all quotients, zeros before a one |
//! | | the bits of leaves, up to the last bit of the group: those of the first leaf last |

use super::gaps::Found;
use crate::bits::{self, MAX_FIELD_BITS};
use crate::ranges::cut::bits::{ALL_BITS, MAX_DEPTH, Order, Stored};
use crate::ranges::cut::code::Text;

pub(crate) const NUM_BITS: u32 = 8;
pub(crate) const LEN_BITS: u32 = 10;
pub(crate) const WIDTH_BITS: u32 = 4;
pub(crate) const EXTRA_BITS: u32 = 4;
pub(crate) const LONGER_BITS: u32 = 3;
pub(crate) const HEAD_BITS: u32 = NUM_BITS + LEN_BITS + WIDTH_BITS + EXTRA_BITS + LONGER_BITS + 1;

/// The offset of the separator's bits.
const MORE_AT: u64 = (HEAD_BITS + LEN_BITS) as u64;

/// The most leaves of a group.
pub(crate) const MAX_LEAVES: usize = (1 << NUM_BITS) - 1;

/// What surrounds a group: the lengths of its separator and of the next one's, 0 where there is none. A leaf has all but
/// the last bit of a separator in common with the one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    pub(crate) separator: u32,
    pub(crate) next: u32,
    /// The least number of bits that distinguish a leaf.
    pub(crate) least: u32,
}

/// The leaves of a group, read in turn.
pub(crate) struct Leaves<'a> {
    group: &'a [u8],
    around: Around,
    num: u32,
    centre: u32,
    width: u32,
    extra: u32,
    /// So many leaves keep one bit more.
    longer: u32,
    /// The offsets of the remainders, of the next quotient, and of the bits of the last leaf read.
    remainders: u64,
    quotients: u64,
    bits: u64,
    /// The bits from that quotient on that are read, and their number.
    ahead: u64,
    num_ahead: u32,
    /// The next leaf, and one more than the bits that it has in common with the one before it.
    index: u32,
    differs: u32,
}

impl<'a> Leaves<'a> {
    #[inline(always)]
    pub(crate) fn new(group: &'a [u8], around: Around) -> Self {
        let head = bits::read(group, 0, HEAD_BITS);
        let mut at = 0;
        let mut field = |width: u32| {
            at += width;
            (head >> (at - width)) as u32 & ((1 << width) - 1)
        };
        let num = field(NUM_BITS).max(1);
        let [centre, width, extra, eighths, has_more] = [LEN_BITS, WIDTH_BITS, EXTRA_BITS, LONGER_BITS, 1].map(field);
        let more = if has_more == 1 { LEN_BITS + bits::read(group, HEAD_BITS.into(), LEN_BITS) as u32 } else { 0 };
        let remainders = u64::from(HEAD_BITS + more);
        Self {
            group,
            around,
            num,
            centre,
            width,
            extra,
            longer: (eighths * num).div_ceil(8),
            remainders,
            quotients: remainders + u64::from((num - 1) * width),
            bits: group.len() as u64 * 8,
            ahead: 0,
            num_ahead: 0,
            index: 0,
            differs: around.separator,
        }
    }

    /// Reads what the leaf after the next has in common with the one before it, and one more.
    #[inline(always)]
    fn read_differs(&mut self) -> Option<u32> {
        let mut quotient = 0;
        while self.ahead == 0 {
            (self.quotients, quotient) = (self.quotients + u64::from(self.num_ahead), quotient + self.num_ahead);
            if quotient > 2 * MAX_DEPTH {
                return None;
            }
            (self.ahead, self.num_ahead) = (bits::read(self.group, self.quotients, MAX_FIELD_BITS), MAX_FIELD_BITS);
        }
        let zeros = self.ahead.trailing_zeros();
        self.ahead = self.ahead >> zeros >> 1;
        (self.num_ahead, self.quotients) = (self.num_ahead - zeros - 1, self.quotients + u64::from(zeros + 1));
        let offset = self.remainders + u64::from(self.index * self.width);
        let zigzag = (quotient + zeros) << self.width | bits::read(self.group, offset, self.width) as u32;
        let half = zigzag.div_ceil(2);
        let len = if zigzag % 2 == 0 { self.centre + half } else { self.centre.wrapping_sub(half) };
        Some(len % (MAX_DEPTH + 1) + 1)
    }

    /// Returns the next leaf and one more than the bits that it has in common with the one before it; an error if the
    /// group's bytes are not those of leaves.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<(Stored, u32)>, ()> {
        if self.index == self.num {
            return Ok(None);
        }
        let next = match self.index + 1 < self.num {
            true => self.read_differs().ok_or(())?,
            false => self.around.next,
        };
        let (index, differs) = (self.index, self.differs);
        let longer = self.extra + u32::from(index < self.longer);
        let end = differs.max(next).max(self.around.least) + longer;
        // The next leaf has a one there.
        let has_zero = next > differs;
        let stored = end - differs - u32::from(has_zero);
        let zero = if has_zero { next - 1 } else { u32::MAX };
        self.bits = self.bits.checked_sub(stored.into()).filter(|&bits| bits >= self.quotients).ok_or(())?;
        (self.index, self.differs) = (index + 1, next);
        Ok(Some((Stored { offset: self.bits, from: differs, end, zero }, differs)))
    }
}

/// Searches a group for leaves in a range, whose lower bound is not below the separator, and differs from it first in
/// bit `above_at`, if it does not begin with it.
#[inline(always)]
pub(crate) fn search(
    group: &[u8],
    around: Around,
    lower: &mut Text<'_>,
    upper: &mut Text<'_>,
    mut above_at: Option<u32>,
) -> Found {
    let mut leaves = Leaves::new(group, around);
    loop {
        let (leaf, differs) = match leaves.next() {
            Ok(Some(leaf)) => leaf,
            Ok(None) => return Found::Beyond,
            Err(()) => return Found::Maybe,
        };
        let at = match above_at {
            // The first leaf, or one that has more in common with the one before it than the bound has, is below, too.
            Some(at) if leaves.index == 1 || differs > at + 1 => continue,
            Some(at) if differs < at + 1 => differs.saturating_sub(1),
            _ => match leaf.compare(group, lower.reach(leaf.end), leaf.from) {
                Order::Begins => return Found::Maybe,
                Order::Above(at) => {
                    above_at = Some(at);
                    continue;
                }
                Order::Below(at) => at,
            },
        };
        // It is above the lower bound, and so are all after it.
        return if is_at_most(group, &leaf, at, lower, upper) { Found::Maybe } else { Found::No };
    }
}

/// Returns whether a leaf that differs from the lower bound first in bit `at`, which it is above, is not above the upper
/// one.
#[inline(always)]
fn is_at_most(group: &[u8], leaf: &Stored, at: u32, lower: &mut Text<'_>, upper: &mut Text<'_>) -> bool {
    let differ_at = lower.reach(at + 1).common_len(upper.reach(at + 1));
    if differ_at != at {
        // The upper bound is above the lower one, and all that the leaf begins with; or it ends before the leaf.
        return differ_at < at && upper.reach(at + 1).at(differ_at) & 1 == 1;
    }
    let from = (at + 1).max(leaf.from);
    !matches!(leaf.compare(group, upper.reach(leaf.end), from), Order::Below(_))
}

/// Returns whether the first leaf is not above `upper`, which begins with the separator.
pub(crate) fn begins_at_most(group: &[u8], around: Around, upper: &mut Text<'_>) -> bool {
    match Leaves::new(group, around).next() {
        Ok(Some((leaf, _))) => !matches!(leaf.compare(group, upper.reach(leaf.end), leaf.from), Order::Below(_)),
        _ => true,
    }
}

/// Returns the number of leaves of a group.
pub(crate) fn num_leaves(group: &[u8]) -> u64 {
    bits::read(group, 0, NUM_BITS).max(1)
}

/// Returns the bits of a group's separator from bit `from` on, which follow its mark; `None` if it ends there.
#[inline(always)]
pub(crate) fn more(group: &[u8], from: u32) -> Option<Stored> {
    let head = bits::read(group, 0, HEAD_BITS + LEN_BITS);
    let len = (head >> HEAD_BITS) as u32;
    let has_more = head >> (HEAD_BITS - 1) & 1 == 1;
    (has_more && len > 0).then(|| Stored {
        offset: MORE_AT,
        from,
        end: (from + len).min(ALL_BITS - 64),
        zero: u32::MAX,
    })
}
