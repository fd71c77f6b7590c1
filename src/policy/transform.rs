//! From a table's keys to a filter's entries.

use crate::error::DecodeError;

/// What a filter's entries are made from. Stored in the block and compared by readers that say what they expect:
/// a filter of rows asked for whole keys would answer *no* to keys that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum KeyTransform {
    /// The key as it is.
    #[default]
    WholeKey,
    /// The row of a (row, column) key.
    Row,
    /// Row and column, as [`KeyTransform::row_column_entry`] joins them.
    RowColumn,
    /// The first `len` bytes of the key; shorter keys are not entries and must be looked up.
    FixedPrefix {
        /// Length of the prefix in bytes.
        len: u16,
    },
    /// The embedding engine's own transform.
    Custom {
        /// 128 to 255.
        id: u8,
        /// The engine's own parameter.
        param: u16,
    },
}

impl KeyTransform {
    /// Id and parameter on the wire. A custom id below 128 is raised into its range.
    pub const fn to_wire(self) -> (u8, u16) {
        match self {
            Self::WholeKey => (0, 0),
            Self::Row => (1, 0),
            Self::RowColumn => (2, 0),
            Self::FixedPrefix { len } => (3, len),
            Self::Custom { id, param } => (id | 128, param),
        }
    }

    pub(crate) const fn from_wire(id: u8, param: u16) -> Result<Self, DecodeError> {
        Ok(match (id, param) {
            (0, 0) => Self::WholeKey,
            (1, 0) => Self::Row,
            (2, 0) => Self::RowColumn,
            (0..=2, _) => {
                let (low, high) = ((param & 0xff) as u8, (param >> 8) as u8);
                let (offset_bytes, found) = if low != 0 { (14, low) } else { (15, high) };
                return Err(DecodeError::Reserved { offset_bytes, found });
            }
            (3, len) => Self::FixedPrefix { len },
            (4..=127, _) => return Err(DecodeError::UnknownTransform { found: id }),
            (128.., param) => Self::Custom { id, param },
        })
    }

    /// Writes the [`KeyTransform::RowColumn`] entry of a cell into `entry`: row, column, and the row's length as
    /// a little-endian 32-bit integer, so that no two cells share an entry.
    ///
    /// ```
    /// use filterblock::KeyTransform;
    /// let mut entry = Vec::new();
    /// KeyTransform::row_column_entry(b"com.example", b"title", &mut entry);
    /// assert_eq!(entry, b"com.exampletitle\x0b\0\0\0");
    /// ```
    #[cfg(feature = "std")]
    pub fn row_column_entry(row: &[u8], column: &[u8], entry: &mut std::vec::Vec<u8>) {
        entry.clear();
        entry.extend_from_slice(row);
        entry.extend_from_slice(column);
        let len = entry.len();
        entry.resize(len + 4, 0);
        crate::bytes::put_u32(entry, len, row.len() as u32);
    }
}

impl core::fmt::Display for KeyTransform {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::WholeKey => f.write_str("whole-key"),
            Self::Row => f.write_str("row"),
            Self::RowColumn => f.write_str("row+column"),
            Self::FixedPrefix { len } => write!(f, "prefix:{len}"),
            Self::Custom { id, param } => write!(f, "custom:{id}:{param}"),
        }
    }
}
