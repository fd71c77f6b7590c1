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
use crate::ranges::cut::bits::{Bits, MAX_DEPTH, Order, Stored};

pub(super) const NUM_BITS: u32 = 8;
pub(super) const LEN_BITS: u32 = 10;
pub(super) const WIDTH_BITS: u32 = 4;
pub(super) const EXTRA_BITS: u32 = 4;
pub(super) const LONGER_BITS: u32 = 3;
pub(super) const HEAD_BITS: u32 = NUM_BITS + LEN_BITS + WIDTH_BITS + EXTRA_BITS + LONGER_BITS + 1;

/// The most leaves of a group.
pub(super) const MAX_LEAVES: usize = (1 << NUM_BITS) - 1;

/// What surrounds a group: the lengths of its separator and of the next one's, 0 where there is none. A leaf has all but
/// the last bit of a separator in common with the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub(super) separator: u32,
    pub(super) next: u32,
    /// The least number of bits that distinguish a leaf.
    pub(super) least: u32,
}

/// A range as a group sees it.
pub(super) struct Range<'a> {
    pub(super) lower: &'a Bits,
    pub(super) upper: &'a Bits,
    /// The first bit in which they differ.
    pub(super) differ_at: u32,
}

/// The leaves of a group, read in turn.
struct Leaves<'a> {
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
    /// The next leaf, and one more than the bits that it has in common with the one before it.
    index: u32,
    differs: u32,
}

impl<'a> Leaves<'a> {
    fn new(group: &'a [u8], around: Around) -> Self {
        let head = bits::read(group, 0, HEAD_BITS);
        let mut at = 0;
        let mut field = |width: u32| {
            at += width;
            (head >> (at - width)) as u32 & ((1 << width) - 1)
        };
        let num = field(NUM_BITS).max(1);
        let [centre, width, extra, eighths, has_more] =
            [LEN_BITS, WIDTH_BITS, EXTRA_BITS, LONGER_BITS, 1].map(|width| field(width));
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
            index: 0,
            differs: around.separator,
        }
    }

    /// Reads what the leaf after the next has in common with the one before it, and one more.
    fn read_differs(&mut self) -> Option<u32> {
        let mut quotient = 0;
        loop {
            let zeros = bits::read(self.group, self.quotients, MAX_FIELD_BITS).trailing_zeros().min(MAX_FIELD_BITS);
            (self.quotients, quotient) = (self.quotients + u64::from(zeros), quotient + zeros);
            if zeros < MAX_FIELD_BITS {
                break;
            }
            if quotient > 2 * MAX_DEPTH {
                return None;
            }
        }
        self.quotients += 1;
        let offset = self.remainders + u64::from(self.index * self.width);
        let zigzag = quotient << self.width | bits::read(self.group, offset, self.width) as u32;
        let half = zigzag.div_ceil(2);
        let len = if zigzag % 2 == 0 { self.centre + half } else { self.centre.wrapping_sub(half) };
        Some(len % (MAX_DEPTH + 1) + 1)
    }

    /// Returns the next leaf and one more than the bits that it has in common with the one before it; an error if the
    /// group's bytes are not those of leaves.
    fn next(&mut self) -> Result<Option<(Stored, u32)>, ()> {
        if self.index == self.num {
            return Ok(None);
        }
        let next = match self.index + 1 < self.num {
            true => self.read_differs().ok_or(())?,
            false => self.around.next,
        };
        let (index, differs) = (self.index, self.differs);
        let longer = self.extra + u32::from(index < self.longer);
        let end = differs.max(next).max(self.around.least).max(1) + longer;
        // The next leaf has a one there.
        let zero = (next > differs).then(|| next - 1);
        let stored = end - differs - u32::from(zero.is_some());
        self.bits = self.bits.checked_sub(stored.into()).filter(|&bits| bits >= self.quotients).ok_or(())?;
        (self.index, self.differs) = (index + 1, next);
        Ok(Some((Stored { offset: self.bits, from: differs, end, zero }, differs)))
    }
}

/// Searches a group for leaves in a range, whose lower bound is not below the separator, and differs from it first in
/// bit `above_at`, if it does not begin with it.
pub(super) fn search(group: &[u8], around: Around, range: &Range<'_>, mut above_at: Option<u32>) -> Found {
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
            Some(at) if differs < at + 1 => differs - 1,
            _ => match leaf.compare(group, range.lower) {
                Order::Begins => return Found::Maybe,
                Order::Above(at) => {
                    above_at = Some(at);
                    continue;
                }
                Order::Below(at) => at,
            },
        };
        // It is above the lower bound, and so are all after it.
        let reaches = match at == range.differ_at {
            false => at > range.differ_at,
            true => !matches!(leaf.compare_from(group, range.upper, (at + 1).max(leaf.from)), Order::Below(_)),
        };
        return if reaches { Found::Maybe } else { Found::No };
    }
}

/// Returns whether the first leaf is not above `upper`, which begins with the separator.
pub(super) fn begins_at_most(group: &[u8], around: Around, upper: &Bits) -> bool {
    match Leaves::new(group, around).next() {
        Ok(Some((leaf, _))) => !matches!(leaf.compare(group, upper), Order::Below(_)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::vec::Vec;

    fn zigzag(len: u32, centre: u32) -> u32 {
        if len >= centre { 2 * (len - centre) } else { 2 * (centre - len) - 1 }
    }

    /// Writes a group of leaves.
    fn write(strings: &[Bits], around: Around, extra: u32, eighths: u32) -> (Vec<u8>, Vec<u32>) {
        let num = strings.len() as u32;
        let mut differs: Vec<u32> = strings.windows(2).map(|pair| pair[0].common_len(&pair[1]) + 1).collect();
        let centre = differs.iter().sum::<u32>() / num;
        differs.insert(0, around.separator);
        differs.push(around.next);
        let mut group = std::vec![0; 4096];
        let mut at = 0;
        let mut put = |group: &mut [u8], width: u32, value: u32| {
            bits::write(group, at, width, value.into());
            at += u64::from(width);
        };
        let width = 3;
        for (width, value) in [
            (NUM_BITS, num),
            (LEN_BITS, centre),
            (WIDTH_BITS, width),
            (EXTRA_BITS, extra),
            (LONGER_BITS, eighths),
            (1, 0),
        ] {
            put(&mut group, width, value);
        }
        let lens = || differs[1..num as usize].iter().map(|differs| zigzag(differs - 1, centre));
        lens().for_each(|z| put(&mut group, width, z & 7));
        lens().for_each(|z| {
            (0..z >> width).for_each(|_| put(&mut group, 1, 0));
            put(&mut group, 1, 1);
        });
        let longer = (eighths * num).div_ceil(8);
        let (mut bit, mut ends) = (4096 * 8, Vec::new());
        for (leaf, string) in strings.iter().enumerate() {
            let (from, next) = (differs[leaf], differs[leaf + 1]);
            let end = from.max(next).max(around.least).max(1) + extra + u32::from((leaf as u32) < longer);
            let kept: Vec<u32> = (from..end).filter(|&at| next <= from || at != next - 1).collect();
            bit -= kept.len() as u64;
            kept.iter().zip(bit..).for_each(|(&at, bit)| bits::write(&mut group, bit, 1, string.at(at) & 1));
            ends.push(end);
        }
        (group, ends)
    }

    /// The number whose bits are the first 64 of a string, the first the highest.
    fn number(string: &Bits) -> u64 {
        string.at(0).reverse_bits()
    }

    fn string(number: u64) -> Bits {
        let mut bits = Bits::ZEROS;
        bits.set_word(0, number.reverse_bits());
        bits
    }

    #[test]
    fn a_group_says_what_its_cut_leaves_say() {
        let mut random = Random::new(11);
        for _ in 0..2000 {
            let shape = random.below(64) as u32;
            let mut numbers: Vec<u64> = (0..1 + random.below(60)).map(|_| random.next() >> shape << 8).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let strings: Vec<Bits> = numbers.iter().map(|&number| string(number)).collect();
            // The next separator has a one where the last leaf has a zero.
            let last = numbers[numbers.len() - 1];
            let place = random.below(40) as u32;
            let next = if last << place >> 63 == 0 { place + 1 } else { 0 };
            let around = Around { separator: 0, next, least: random.below(30) as u32 };
            let (group, ends) = write(&strings, around, random.below(6) as u32, random.below(8) as u32);
            let cells: Vec<(u64, u64)> = numbers
                .iter()
                .zip(&ends)
                .map(|(&number, &end)| {
                    let rest = u64::MAX.checked_shr(end).unwrap_or(0);
                    (number & !rest, number | rest)
                })
                .collect();
            assert!(cells.windows(2).all(|pair| pair[0].1 < pair[1].0));
            for _ in 0..100 {
                let near = numbers[random.below(numbers.len() as u64) as usize];
                let mut end = || near ^ random.next() >> random.below(64);
                let (a, b) = (end(), end());
                let (lower, upper) = (string(a.min(b)), string(a.max(b)));
                let range = Range { lower: &lower, upper: &upper, differ_at: lower.common_len(&upper) };
                let first = cells.partition_point(|cell| cell.1 < number(&lower));
                let expected = match cells.get(first) {
                    None => Found::Beyond,
                    Some(cell) if cell.0 <= number(&upper) => Found::Maybe,
                    Some(_) => Found::No,
                };
                assert_eq!(search(&group, around, &range, None), expected, "{numbers:x?} {a:x} {b:x} {around:?}");
                assert_eq!(begins_at_most(&group, around, &upper), cells[0].0 <= number(&upper));
            }
        }
    }

    #[test]
    fn any_bytes_are_searched() {
        let mut random = Random::new(12);
        for _ in 0..3000 {
            let group: Vec<u8> = (0..4 + random.below(200)).map(|_| (random.next() & random.next()) as u8).collect();
            let mut len = || random.below(1024) as u32;
            let around = Around { separator: len(), next: len(), least: len() % 256 };
            let (lower, upper) = (string(random.next() / 2), string(u64::MAX));
            let range = Range { lower: &lower, upper: &upper, differ_at: 0 };
            let answers = [None, Some(7)].map(|above_at| search(&group, around, &range, above_at));
            // Where bits of leaves reach the lengths before them, nothing is denied.
            let mut leaves = Leaves::new(&group, around);
            let broken = core::iter::from_fn(|| leaves.next().transpose()).take(256).any(|leaf| leaf.is_err());
            assert!(!broken || answers[0] != Found::Beyond);
        }
    }
}
