//! Banding: equations become rows, at most one for each slot, and each row begins at its slot.

use super::row::{Row, WIDTH};
use std::vec::Vec;

/// The rows of neighbouring slots: for each its coefficients and its [mark](Cursor::mark), both 0 in a slot without a
/// row. (Two arrays, as an index that is not multiplied saves a cycle of each step.)
#[derive(Default)]
pub(super) struct Band {
    coefficients: Vec<u64>,
    marks: Vec<u64>,
}

/// The rows of some slots; both slices have the same length.
pub(super) type Rows<'a> = (&'a [u64], &'a [u64]);

impl Band {
    /// Empties all of `num_slots` slots.
    pub(super) fn clear(&mut self, num_slots: usize) {
        for column in [&mut self.coefficients, &mut self.marks] {
            column.clear();
            column.resize(num_slots, 0);
        }
    }

    /// Returns the coefficients and the marks of all slots.
    pub(super) fn rows(&mut self) -> (&mut [u64], &mut [u64]) {
        (&mut self.coefficients, &mut self.marks)
    }

    /// Returns whether the window of a row that starts at `start` ends within the last slot. If so, its sums with the
    /// rows in place do, too.
    pub(super) fn has_room(&self, start: usize) -> bool {
        start + WIDTH as usize <= self.coefficients.len()
    }

    /// Takes steps until `cursor` has become the row of a slot, or has no coefficients left. Returns whether it is a row.
    pub(super) fn insert(&mut self, cursor: &mut Cursor) -> bool {
        while cursor.coefficients != 0 {
            let (coefficients, mark) = (&mut self.coefficients[cursor.at], &mut self.marks[cursor.at]);
            if *coefficients == 0 {
                (*coefficients, *mark) = (cursor.coefficients, cursor.mark);
                return true;
            }
            *cursor = cursor.after(*coefficients, *mark);
        }
        false
    }

    /// Returns the number of the equation in slot `at`.
    pub(super) fn index(&self, at: u32) -> usize {
        (self.marks[at as usize] >> u32::BITS) as usize
    }

    /// Takes the row of slot `at` back. Rows that were inserted before it do not depend on it.
    pub(super) fn remove(&mut self, at: u32) {
        (self.coefficients[at as usize], self.marks[at as usize]) = (0, 0);
    }

    /// Returns each block's number and rows, from the last block to the first.
    pub(super) fn blocks_backwards(&self) -> impl Iterator<Item = (usize, Rows<'_>)> {
        let blocks = self.coefficients.chunks_exact(WIDTH as usize).zip(self.marks.chunks_exact(WIDTH as usize));
        blocks.enumerate().rev()
    }
}

/// An equation on its way to a slot.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// The slot of its first coefficient.
    pub(super) at: usize,
    /// The coefficients; 0 once the left side is the sum of rows in place.
    pub(super) coefficients: u64,
    /// The fingerprint, and in the upper half the equation's number.
    pub(super) mark: u64,
}

impl Cursor {
    /// Returns an end of a queue of `len` equations: it has no coefficients.
    pub(super) fn end(len: usize) -> Self {
        Self { at: 0, coefficients: 0, mark: (len as u64) << u32::BITS }
    }

    /// The equation of `row` for the bits `mask` of its fingerprint.
    #[inline(always)]
    pub(super) fn new(row: &Row, mask: u32, index: usize) -> Self {
        let mark = (index as u64) << u32::BITS | u64::from(row.fingerprint & mask);
        Self { at: row.start as usize, coefficients: row.coefficients, mark }
    }

    /// Returns the equation's number.
    pub(super) fn index(&self) -> usize {
        (self.mark >> u32::BITS) as usize
    }

    /// Returns whether the right side is 0. Without coefficients, the equation then follows from the rows in place, as a
    /// repeated one does; otherwise it contradicts them.
    pub(super) fn is_zero(&self) -> bool {
        self.mark as u32 == 0
    }

    /// Returns the sum with the row of its slot.
    #[inline(always)]
    pub(super) fn after(&self, coefficients: u64, mark: u64) -> Self {
        let sum = self.coefficients ^ coefficients;
        let zeros = sum.trailing_zeros();
        Self {
            at: self.at + zeros as usize,
            // A sum of 0 has 64 zeros, and a wrapping shift by 64 leaves it 0.
            coefficients: sum.wrapping_shr(zeros),
            mark: self.mark ^ u64::from(mark as u32),
        }
    }
}
