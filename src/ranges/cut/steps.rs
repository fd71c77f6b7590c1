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
use crate::ranges::cut::code::{Ends, Text};

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
pub(crate) struct Around<F> {
    pub(crate) separator: u32,
    /// Few searches come to the end of a group, so nothing of the next one is read before.
    pub(crate) next: F,
    /// The least number of bits that distinguish a leaf.
    pub(crate) least: u32,
}

/// The leaves of a group, read in turn.
pub(crate) struct Leaves<'a, F> {
    group: &'a [u8],
    around: Around<F>,
    num: u32,
    centre: u32,
    width: u32,
    extra: u32,
    /// So many leaves keep one bit more.
    longer: u32,
    /// The offsets of the remainders, of the next quotient, and of the bits of the last leaf read.
    remainders: u64,
    quotient: u64,
    bits: u64,
    /// Some bits from an offset on, those of quotients that are read as zeros.
    word: u64,
    word_at: u64,
    /// The next leaf, and one more than the bits that it has in common with the one before it.
    index: u32,
    differs: u32,
}

impl<'a, F: Fn() -> u32> Leaves<'a, F> {
    #[inline(always)]
    pub(crate) fn new(group: &'a [u8], around: Around<F>) -> Self {
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
        let quotient = remainders + u64::from((num - 1) * width);
        Self {
            group,
            differs: around.separator,
            around,
            num,
            centre,
            width,
            extra,
            longer: (eighths * num).div_ceil(8),
            remainders,
            quotient,
            bits: group.len() as u64 * 8,
            word: bits::read(group, quotient, MAX_FIELD_BITS),
            word_at: quotient,
            index: 0,
        }
    }

    /// Reads what the leaf after the next has in common with the one before it, and one more.
    #[inline(always)]
    fn read_differs(&mut self) -> Option<u32> {
        while self.word == 0 {
            self.word_at += u64::from(MAX_FIELD_BITS);
            if self.word_at - self.quotient > u64::from(2 * MAX_DEPTH) {
                return None;
            }
            self.word = bits::read(self.group, self.word_at, MAX_FIELD_BITS);
        }
        let one = self.word_at + u64::from(self.word.trailing_zeros());
        self.word &= self.word - 1;
        let offset = self.remainders + u64::from(self.index * self.width);
        let low = bits::read(self.group, offset, self.width) as u32;
        let zigzag = ((one - self.quotient) as u32) << self.width | low;
        self.quotient = one + 1;
        // Odd numbers are those below the centre.
        let apart = zigzag >> 1 ^ (zigzag & 1).wrapping_neg();
        Some(self.centre.wrapping_add(apart) % (MAX_DEPTH + 1) + 1)
    }

    /// Returns the next leaf, whose bits begin where it differs from the one before it; an error if the group's bytes are
    /// not those of leaves.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<Stored>, ()> {
        if self.index == self.num {
            return Ok(None);
        }
        let next = match self.index + 1 < self.num {
            true => self.read_differs().ok_or(())?,
            false => (self.around.next)(),
        };
        let (index, from) = (self.index, self.differs);
        // The next leaf has a one there.
        let has_zero = next > from;
        let own = next.max(self.around.least).saturating_sub(from) + self.extra + u32::from(index < self.longer);
        let zero = if has_zero { next - 1 } else { u32::MAX };
        self.bits = self.bits.wrapping_sub((own - u32::from(has_zero)).into());
        (self.index, self.differs) = (index + 1, next);
        match self.bits as i64 >= self.quotient as i64 {
            true => Ok(Some(Stored { offset: self.bits, from, end: from + own, zero })),
            false => Err(()),
        }
    }
}

/// Searches a group for leaves in a range, whose lower bound is not below the separator, and differs from it first in
/// bit `above_at`, if it does not begin with it.
#[inline(always)]
pub(crate) fn search(
    group: &[u8],
    around: Around<impl Fn() -> u32>,
    ends: &mut Ends<'_>,
    above_at: Option<u32>,
) -> Found {
    // One more than the bits that the bound has in common with the leaf before, which is below it.
    let mut target = above_at.map_or(around.separator, |at| at + 1);
    let mut leaves = Leaves::new(group, around);
    if above_at.is_some() && leaves.next().is_err() {
        return Found::Maybe;
    }
    loop {
        let leaf = match leaves.next() {
            Ok(Some(leaf)) => leaf,
            Ok(None) => return Found::Beyond,
            Err(()) => return Found::Maybe,
        };
        if leaf.from > target {
            // It has more in common with the one before it than the bound has, so it is below, too.
            continue;
        }
        let order = match leaf.from < target {
            true => Order::Below(leaf.from.saturating_sub(1)),
            false => leaf.compare(group, ends.lower.reach(leaf.end), leaf.from),
        };
        let at = match order {
            Order::Begins => return Found::Maybe,
            Order::Above(at) => {
                target = at + 1;
                continue;
            }
            Order::Below(at) => at,
        };
        // It is above the lower bound, and so are all after it.
        return if is_at_most(group, &leaf, at, ends) { Found::Maybe } else { Found::No };
    }
}

/// Returns whether a leaf that differs from the lower bound first in bit `at`, which it is above, is not above the upper
/// one.
#[inline(always)]
fn is_at_most(group: &[u8], leaf: &Stored, at: u32, ends: &mut Ends<'_>) -> bool {
    if ends.share(at + 1) {
        // The upper bound is below the leaf as the lower one is.
        return false;
    }
    let upper = *ends.upper().reach(at + 1);
    let differ_at = ends.lower.reach(at + 1).common_len(&upper);
    if differ_at != at {
        // The upper bound is above the lower one, and all that the leaf begins with; or it ends before the leaf.
        return differ_at < at && upper.at(differ_at) & 1 == 1;
    }
    let from = at.max(leaf.from);
    !matches!(leaf.compare(group, ends.upper().reach(leaf.end), from), Order::Below(_))
}

/// Returns whether the first leaf is not above `upper`, which begins with the separator.
pub(crate) fn begins_at_most(group: &[u8], around: Around<impl Fn() -> u32>, upper: &mut Text<'_>) -> bool {
    match Leaves::new(group, around).next() {
        Ok(Some(leaf)) => !matches!(leaf.compare(group, upper.reach(leaf.end), leaf.from), Order::Below(_)),
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
