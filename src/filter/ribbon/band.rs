//! Elimination: equations become rows, at most one to a slot, each of which begins at its slot.

use super::row::{Row, WIDTH};
use std::vec::Vec;

/// The row of a slot: its coefficients, 0 if it has none, and its fingerprint, then 0 too.
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

    /// Whether the window of `row` ends within the last slot. Then so does that of its sum with rows that are there.
    pub(super) fn has_room(&self, row: &Row) -> bool {
        row.start + WIDTH <= self.cells.len() as u64
    }

    /// Inserts `row`, for which there is room, unless it contradicts the rows that are there.
    pub(super) fn insert(&mut self, row: &Row) -> Result<(), Contradiction> {
        let mut at = Cursor::new(row);
        while !at.step(&mut self.cells) {
            if at.coefficients == 0 {
                return if at.fingerprint == 0 { Ok(()) } else { Err(Contradiction) };
            }
        }
        Ok(())
    }

    /// Takes the row of slot `at` back. Rows inserted before it do not depend on it.
    pub(super) fn remove(&mut self, at: usize) {
        self.cells[at] = [0; 2];
    }

    /// The blocks, last block first: its number, and its rows.
    pub(super) fn blocks_backwards(&self) -> impl Iterator<Item = (usize, &[Cell])> {
        self.cells.chunks_exact(WIDTH as usize).enumerate().rev()
    }
}

/// No solution satisfies the equation and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contradiction;

/// An equation on its way to a slot.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// The slot of its first coefficient.
    pub(super) at: usize,
    /// 0 once it is the sum of rows that are there, but for its fingerprint.
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
        // All 64 are zeros of a sum of 0, which stays as it is.
        self.coefficients = sum.wrapping_shr(zeros);
        false
    }
}
