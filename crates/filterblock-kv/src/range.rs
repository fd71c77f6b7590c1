//! Ranges of rows.

use core::ops::{Bound, RangeBounds};
use filterblock::range::are_ordered;

/// A range of rows.
#[derive(Clone, Debug)]
pub(crate) struct RowRange {
    pub(crate) start: Bound<Vec<u8>>,
    pub(crate) end: Bound<Vec<u8>>,
}

impl RowRange {
    pub(crate) const ALL: Self = Self { start: Bound::Unbounded, end: Bound::Unbounded };

    pub(crate) fn start(&self) -> Bound<&[u8]> {
        self.start.as_ref().map(Vec::as_slice)
    }

    pub(crate) fn end(&self) -> Bound<&[u8]> {
        self.end.as_ref().map(Vec::as_slice)
    }

    pub(crate) fn contains(&self, row: &[u8]) -> bool {
        !is_before(row, self.start()) && !is_after(row, self.end())
    }

    /// Returns whether no row lies between the bounds, which the caller may have given in the wrong order.
    pub(crate) fn is_empty(&self) -> bool {
        !are_ordered(self.start(), self.end())
    }
}

/// Returns whether `row` lies before a range that starts at `start`.
pub(crate) fn is_before(row: &[u8], start: Bound<&[u8]>) -> bool {
    !RangeBounds::<[u8]>::contains(&(start, Bound::Unbounded), row)
}

/// Returns whether `row` lies after a range that ends at `end`.
pub(crate) fn is_after(row: &[u8], end: Bound<&[u8]>) -> bool {
    !RangeBounds::<[u8]>::contains(&(Bound::Unbounded, end), row)
}
