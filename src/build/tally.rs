//! A test whether two lists have the same hashes, without sorting them.

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
        hashes.into_iter().fold(Self::default(), |sum, hash| sum + Self::new(1, hash))
    }

    /// Returns the tally of `num` hashes that, each plus one, add up to `sum`.
    pub(crate) fn of_successors(num: usize, sum: u64) -> Self {
        Self { num, sum: sum.wrapping_sub(num as u64) }
    }

    /// Returns the tally of a list that has one hash for each of another list.
    pub(crate) fn of_each(hashes: impl IntoIterator<Item = u64>, other: Self) -> Self {
        Self { num: other.num, ..Self::of(hashes) }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { num: self.num + other.num, sum: self.sum.wrapping_add(other.sum) }
    }
}

/// A hash that gets lost, for tests.
#[cfg(test)]
pub(crate) mod loss {
    use std::cell::Cell;
    use std::vec::Vec;

    std::thread_local! {
        /// The number of lists of this thread that are left whole before the one that loses a hash.
        static LISTS_BEFORE: Cell<Option<usize>> = const { Cell::new(None) };
    }

    pub(crate) fn set(num_lists: usize) {
        LISTS_BEFORE.set(Some(num_lists));
    }

    /// Returns whether a hash was lost, and loses none from now on.
    pub(crate) fn has_happened() -> bool {
        LISTS_BEFORE.take().is_none()
    }

    /// Loses a hash of a list in its turn.
    pub(crate) fn strike(hashes: &mut Vec<u64>) {
        if strikes(hashes.len()) {
            hashes.swap_remove(hashes.len() / 2);
        }
    }

    /// Returns whether a list of this length is to lose a hash.
    pub(crate) fn strikes(len: usize) -> bool {
        let before = LISTS_BEFORE.get();
        let strikes = before == Some(0) && len > 0;
        LISTS_BEFORE.set(before.filter(|_| !strikes).map(|num_lists| num_lists.saturating_sub(1)));
        strikes
    }
}
