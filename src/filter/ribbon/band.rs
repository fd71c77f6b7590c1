//! Banding: equations become rows, at most one for each slot, and each row begins at its slot.

use super::row::{Row, WIDTH};
use std::vec::Vec;

/// The row of a slot: its coefficients and its fingerprint. Both are 0 in a slot without a row.
pub(super) type Cell = [u64; 2];

/// The rows of neighbouring slots.
#[derive(Default)]
pub(super) struct Band {
    cells: Vec<Cell>,
}

impl Band {
    /// Empties all of `num_slots` slots.
    pub(super) fn clear(&mut self, num_slots: usize) {
        self.cells.clear();
        self.cells.resize(num_slots, [0; 2]);
    }

    pub(super) fn cells(&mut self) -> &mut [Cell] {
        &mut self.cells
    }

    /// Returns whether the window of `row` ends within the last slot. If so, its sums with the rows in place do, too.
    pub(super) fn has_room(&self, row: &Row) -> bool {
        row.start + WIDTH <= self.cells.len() as u64
    }

    /// Inserts `row`, for which there is room, unless it contradicts the rows in place. Returns whether it has become a
    /// row; otherwise it follows from those in place, as a repeated one does.
    pub(super) fn insert(&mut self, row: &Row) -> Result<bool, Contradiction> {
        let mut at = Cursor::new(row);
        while !at.step(&mut self.cells) {
            if at.coefficients == 0 {
                return if at.fingerprint == 0 { Ok(false) } else { Err(Contradiction) };
            }
        }
        Ok(true)
    }

    /// Takes the row of slot `at` back. Rows that were inserted before it do not depend on it.
    pub(super) fn remove(&mut self, at: usize) {
        self.cells[at] = [0; 2];
    }

    /// Returns each block's number and rows, from the last block to the first.
    pub(super) fn blocks_backwards(&self) -> impl Iterator<Item = (usize, &[Cell])> {
        self.cells.chunks_exact(WIDTH as usize).enumerate().rev()
    }
}

/// An error: no solution satisfies the equation together with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contradiction;

/// An equation on its way to a slot.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// The slot of its first coefficient.
    pub(super) at: usize,
    /// The coefficients; 0 once the left side is the sum of rows in place.
    pub(super) coefficients: u64,
    pub(super) fingerprint: u32,
}

impl Cursor {
    #[inline(always)]
    pub(super) fn new(row: &Row) -> Self {
        Self { at: row.start as usize, coefficients: row.coefficients, fingerprint: row.fingerprint }
    }

    /// Becomes the row of its slot and returns `true`, if that has none; otherwise adds that row, and goes on to the
    /// slot of what is then its first coefficient.
    #[inline(always)]
    pub(super) fn step(&mut self, cells: &mut [Cell]) -> bool {
        let cell = &mut cells[self.at];
        if cell[0] == 0 {
            *cell = [self.coefficients, u64::from(self.fingerprint)];
            return true;
        }
        let sum = self.coefficients ^ cell[0];
        self.fingerprint ^= cell[1] as u32;
        let zeros = sum.trailing_zeros();
        self.at += zeros as usize;
        // A sum of 0 has 64 zeros, and a wrapping shift by 64 leaves it 0.
        self.coefficients = sum.wrapping_shr(zeros);
        false
    }
}
