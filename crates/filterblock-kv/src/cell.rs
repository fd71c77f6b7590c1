//! Cells and their keys.

use super::error::Error;

/// Longest row in bytes: lengths of rows are 16-bit on disk.
pub const MAX_ROW_LEN: usize = u16::MAX as usize;
/// Longest column in bytes: lengths of columns are 16-bit on disk.
pub const MAX_COLUMN_LEN: usize = u16::MAX as usize;
/// Longest value in bytes: a cell is read in one piece.
pub const MAX_VALUE_LEN: usize = 16 << 20;

/// A live cell, as scans return it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Cell {
    /// The row.
    pub row: Vec<u8>,
    /// The column.
    pub column: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
}

impl Cell {
    /// A cell of these parts.
    #[must_use]
    pub fn new(row: impl Into<Vec<u8>>, column: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        Self { row: row.into(), column: column.into(), value: value.into() }
    }
}

/// The key of a cell. The derived order, row before column, is the order of cells everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellKey<'a> {
    /// The row.
    pub row: &'a [u8],
    /// The column.
    pub column: &'a [u8],
}

impl CellKey<'_> {
    pub(crate) fn check_len(&self) -> Result<(), Error> {
        check_len("row", self.row.len(), MAX_ROW_LEN)?;
        check_len("column", self.column.len(), MAX_COLUMN_LEN)
    }
}

/// A key that owns its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnedKey {
    pub(crate) row: Vec<u8>,
    pub(crate) column: Vec<u8>,
}

impl OwnedKey {
    pub(crate) fn as_key(&self) -> CellKey<'_> {
        CellKey { row: &self.row, column: &self.column }
    }

    /// Copies another key into the memory of this one.
    pub(crate) fn assign(&mut self, key: CellKey<'_>) {
        self.row.clear();
        self.row.extend_from_slice(key.row);
        self.column.clear();
        self.column.extend_from_slice(key.column);
    }
}

pub(crate) fn check_len(what: &'static str, len: usize, max: usize) -> Result<(), Error> {
    if len > max {
        return Err(Error::TooLong { what, actual_bytes: len as u64, max_bytes: max as u64 });
    }
    Ok(())
}

/// The value that a write leaves in a cell; `None` for a tombstone.
pub(crate) type CellValue = Option<Vec<u8>>;

/// A write to a cell, in borrowed bytes: a higher `seq` is the later write. No value is a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellRef<'a> {
    pub(crate) key: CellKey<'a>,
    pub(crate) seq: u64,
    pub(crate) value: Option<&'a [u8]>,
}

impl CellRef<'_> {
    pub(crate) fn to_value(self) -> CellValue {
        self.value.map(<[u8]>::to_vec)
    }

    pub(crate) fn to_owned(self) -> OwnedCell {
        let CellKey { row, column } = self.key;
        let key = OwnedKey { row: row.to_vec(), column: column.to_vec() };
        OwnedCell { key, seq: self.seq, value: self.to_value() }
    }
}

/// A write to a cell that owns its bytes.
#[derive(Clone, Debug)]
pub(crate) struct OwnedCell {
    pub(crate) key: OwnedKey,
    pub(crate) seq: u64,
    pub(crate) value: CellValue,
}

impl OwnedCell {
    pub(crate) fn as_ref(&self) -> CellRef<'_> {
        CellRef { key: self.key.as_key(), seq: self.seq, value: self.value.as_deref() }
    }
}
