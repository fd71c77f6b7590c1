//! Filters of fewer columns, for the kinds of which each column is a filter of its own.

use crate::filter::FilterLayout;
use crate::kind::FilterKind;
use core::fmt;

#[cfg(feature = "std")]
use super::HEADER_LEN;
#[cfg(feature = "std")]
use super::compact::{CompactFrameReader, EMPTY, write_trailer};
#[cfg(feature = "std")]
use super::reader::FilterBlock;
#[cfg(feature = "std")]
use crate::filter::Columns;
#[cfg(feature = "std")]
use std::vec::Vec;

/// Why columns of a filter cannot be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinError {
    /// Filters of this kind have no columns.
    Kind {
        /// The filter's kind.
        found: FilterKind,
    },
    /// No columns, or more than can be had.
    Columns {
        /// The number of columns to be kept.
        asked: u32,
        /// The greatest number: of a copy, one less than are stored; 0 if there is a single one.
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

/// Refuses a number of columns to keep that is 0, or of which fewer than `num_left_out` others are stored.
pub(super) fn check(layout: &FilterLayout, asked: u32, num_left_out: u32) -> Result<(), ThinError> {
    let Some(found) = layout.kind() else { return Ok(()) };
    let max = layout.columns().ok_or(ThinError::Kind { found })?.stored - num_left_out;
    if (1..=max).contains(&asked) { Ok(()) } else { Err(ThinError::Columns { asked, max }) }
}

#[cfg(feature = "std")]
impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// A block, bound to `context`, of the first `columns` columns and the same entries: one that takes less memory,
    /// and passes twice as many absent keys for each column left out. It is copied without the keys, in a fraction of
    /// the time of a build, and says what it was [thinned from](Self::thinned_from).
    ///
    /// So a table can store many columns, and memory hold as many of each table as its queries deserve. A block without
    /// entries has no columns, and is copied.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, 1.0 / 65_536.0)?;
    /// let mut builder = FilterBlockBuilder::new(policy);
    /// (0..10_000u32).for_each(|i| builder.add_key(&i.to_le_bytes()));
    /// let block = builder.finish()?;
    /// let stored = FilterBlockReader::open(&block)?;
    /// assert_eq!(stored.num_columns(), Some(16));
    ///
    /// let thinned = stored.thin(4, 0)?;
    /// assert!(thinned.len() < block.len() / 3);
    /// let held = FilterBlockReader::open(&thinned)?;
    /// assert_eq!((held.num_columns(), held.thinned_from()), (Some(4), Some(16)));
    /// assert!((0..10_000u32).all(|i| held.may_contain(&i.to_le_bytes())));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ThinError`] for kinds that have no columns, and for a number that is 0 or not below that of the columns
    /// stored.
    pub fn thin(&self, columns: u32, context: u64) -> Result<Vec<u8>, ThinError> {
        check(self.layout(), columns, 1)?;
        let mut block = std::vec![0; HEADER_LEN];
        let params = self.layout().thin(self.payload(), columns, &mut block);
        self.header(params).write(&mut block, context);
        Ok(block)
    }

    /// The length in bytes of what [`FilterBlock::thin`] makes; `None` where it makes nothing.
    pub fn thinned_len(&self, columns: u32) -> Option<u64> {
        check(self.layout(), columns, 1).ok()?;
        let of_columns = |kind: Columns| u64::from(columns) * kind.column_bytes + kind.other_bytes;
        Some(HEADER_LEN as u64 + self.layout().columns().map_or(0, of_columns))
    }
}

#[cfg(feature = "std")]
impl CompactFrameReader<'_> {
    /// A compact frame of the first `columns` columns and the same entries; see [`FilterBlock::thin`].
    ///
    /// # Errors
    /// As [`FilterBlock::thin`].
    pub fn thin(&self, columns: u32) -> Result<Vec<u8>, ThinError> {
        let (layout, payload) = self.parts();
        check(&layout, columns, 1)?;
        let mut frame = Vec::new();
        match layout.thin(payload, columns, &mut frame) {
            Some(params) => write_trailer(&params, &mut frame),
            None => frame.extend(EMPTY),
        }
        Ok(frame)
    }
}
