//! Whether two lists have the same hashes, without sorting them.

use core::ops::Add;

/// The number of a list's hashes, and their sum. Lists of the same hashes have equal tallies in any order; others do by
/// a chance of 2⁻⁶⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    num: usize,
    sum: u64,
}

impl Tally {
    pub(crate) fn new(num: usize, sum: u64) -> Self {
        Self { num, sum }
    }

    pub(crate) fn of(hashes: impl IntoIterator<Item = u64>) -> Self {
        hashes.into_iter().fold(Self::default(), |sum, hash| sum + Self { num: 1, sum: hash })
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { num: self.num + other.num, sum: self.sum.wrapping_add(other.sum) }
    }
}
