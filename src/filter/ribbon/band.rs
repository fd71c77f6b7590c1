//! Elimination: equations become rows, at most one to a slot, each of which begins at its slot.

use super::row::{Row, WIDTH};
use std::vec::Vec;

/// The rows of neighbouring slots.
#[derive(Default)]
pub(super) struct Band {
    /// 0 where a slot has no row.
    coefficients: Vec<u64>,
    /// Of the rows; 0 where a slot has none.
    fingerprints: Vec<u32>,
}

/// What became of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It is the row of this slot.
    At(usize),
    /// It follows from the rows that are there.
    Redundant,
    /// It contradicts them, or reaches beyond the last slot.
    Refused,
}

impl Band {
    /// Empties all of `num_slots` slots.
    pub(super) fn clear(&mut self, num_slots: usize) {
        self.coefficients.clear();
        self.coefficients.resize(num_slots, 0);
        self.fingerprints.clear();
        self.fingerprints.resize(num_slots, 0);
    }

    /// Inserts `row`, whose start counts from the first slot.
    #[inline]
    pub(super) fn insert(&mut self, row: Row) -> Inserted {
        let rows = &mut self.coefficients[..];
        // Of equal length: one check of bounds for both.
        let fingerprints = &mut self.fingerprints[..rows.len()];
        let (mut at, mut coefficients, mut fingerprint) = (row.start as usize, row.coefficients, row.fingerprint);
        if at + WIDTH as usize > rows.len() {
            return Inserted::Refused;
        }
        loop {
            let row = rows[at];
            if row == 0 {
                (rows[at], fingerprints[at]) = (coefficients, fingerprint);
                return Inserted::At(at);
            }
            coefficients ^= row;
            fingerprint ^= fingerprints[at];
            if coefficients == 0 {
                return if fingerprint == 0 { Inserted::Redundant } else { Inserted::Refused };
            }
            // No row reaches beyond the last slot, so neither does a sum of rows.
            let zeros = coefficients.trailing_zeros();
            at += zeros as usize;
            coefficients >>= zeros;
        }
    }

    /// Takes the row of slot `at` back. Rows inserted before it do not depend on it.
    pub(super) fn remove(&mut self, at: usize) {
        (self.coefficients[at], self.fingerprints[at]) = (0, 0);
    }

    /// The blocks, last block first: its number, and the coefficients and fingerprints of its rows.
    pub(super) fn blocks_backwards(&self) -> impl Iterator<Item = (usize, &[u64], &[u32])> {
        let width = WIDTH as usize;
        let blocks = self.coefficients.chunks_exact(width).zip(self.fingerprints.chunks_exact(width)).enumerate();
        blocks.rev().map(|(index, (coefficients, fingerprints))| (index, coefficients, fingerprints))
    }
}
