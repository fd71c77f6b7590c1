//! Filters of fewer columns, for the kinds whose columns are filters of their own.

use crate::keys::kinds::FilterLayout;
use crate::kind::FilterKind;
use core::fmt;

/// The reason why columns of a filter cannot be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinError {
    /// Filters of this kind have no columns.
    Kind {
        /// The filter's kind.
        found: FilterKind,
    },
    /// The number of columns is 0, or too great.
    Columns {
        /// The number of columns to be kept.
        asked: u32,
        /// The greatest possible number: for a copy, one less than are stored, so 0 for a single column.
        max: u32,
    },
}

impl fmt::Display for ThinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kind { found } => write!(f, "{found} filters have no columns to leave out"),
            Self::Columns { max: 0, .. } => f.write_str("the filter's only column cannot be left out"),
            Self::Columns { asked, max } => write!(f, "columns = {asked} is outside the legal range 1 to {max}"),
        }
    }
}

impl core::error::Error for ThinError {}

/// Refuses a number of columns to keep that is 0, or that leaves out fewer than `num_left_out` stored columns.
pub(super) fn check(layout: &FilterLayout, asked: u32, num_left_out: u32) -> Result<(), ThinError> {
    let Some(found) = layout.kind() else { return Ok(()) };
    let max = layout.columns().ok_or(ThinError::Kind { found })?.stored - num_left_out;
    if (1..=max).contains(&asked) { Ok(()) } else { Err(ThinError::Columns { asked, max }) }
}
