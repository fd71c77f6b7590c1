//! The definition, in plain code.

use super::query::Range;
use super::walk::{Place, Step};
use crate::bits;
use crate::cpu::Portable;
use crate::ranges::cut::group::{LANES, Lanes};
use crate::ranges::cut::layout::Layout;

#[inline(never)]
pub(crate) fn may_overlap(lanes: Portable, range: &Range<'_>, layout: &Layout, payload: &[u8]) -> bool {
    range.may_overlap(lanes, layout, payload)
}

#[inline(never)]
pub(crate) fn descend(lanes: Portable, range: &Range<'_>, layout: &Layout, payload: &[u8], place: Place) -> Step {
    range.descend(lanes, layout, payload, place)
}

impl Lanes for Portable {
    #[inline(always)]
    fn unpack(self, payload: &[u8], offset: u64, width: u32, least: u16, numbers: &mut [u16; LANES]) {
        let mask = (1 << width) - 1;
        for (chunk, numbers) in numbers.chunks_exact_mut(4).enumerate() {
            let word = bits::read(payload, offset + chunk as u64 * 4 * u64::from(width), 4 * width);
            numbers[0] = least + (word & mask) as u16;
            numbers[1] = least + (word >> width & mask) as u16;
            numbers[2] = least + (word >> (2 * width) & mask) as u16;
            numbers[3] = least + (word >> (3 * width) & mask) as u16;
        }
    }

    #[inline(always)]
    fn at_most(self, numbers: &[u16; LANES], most: u16) -> u64 {
        numbers.iter().zip(0..).fold(0, |mask, (&number, entry)| mask | u64::from(number <= most) << entry)
    }

    #[inline(always)]
    fn sum(self, numbers: &mut [u16; LANES]) {
        let mut sum = 0u16;
        for number in numbers {
            sum = sum.wrapping_add(*number);
            *number = sum;
        }
    }
}
