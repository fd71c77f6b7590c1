//! The parameters of a payload, and the places of its parts.
//!
//! | size | part |
//! |---|---|
//! | `prefix_len` | the table's common prefix |
//! | | the byte code, if there are classes |
//! | `mark_bytes` each | the marks of the groups after the first |
//! | `group_units` · 32 each | the groups; the last one may be shorter |

use super::code::{self, ByteCode, MAX_CLASSES};
use crate::bytes;
use crate::error::DecodeError;
use crate::frame::{PARAMS_AT, PARAMS_LEN};

/// The bytes of a unit of a group's length, and the most units.
pub(crate) const UNIT_LEN: usize = 32;
const MAX_UNITS: u8 = 16;
/// The fewest bytes of a group: its head's.
pub(crate) const MIN_GROUP_LEN: usize = 4;
/// The greatest number of bytes of a mark.
pub(crate) const MAX_MARK_BYTES: usize = 8;
/// The greatest number of bytes of a key after the prefix of which nothing is cut off: those of a number.
pub(crate) const MAX_WIDTH: u8 = 8;

const FLAGS_AT: usize = 1;
const IS_GAPS: u8 = 1;

/// The parameters that the header stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params {
    /// The length of a group in [`UNIT_LEN`]s.
    pub(crate) group_units: u8,
    /// Whether groups are of gaps, and not of steps.
    pub(crate) is_gaps: bool,
    pub(crate) mark_bytes: u8,
    /// Those of the byte code; none of them without one.
    pub(crate) num_classes: u8,
    pub(crate) num_columns: u8,
    /// The least number of bits that distinguish a leaf.
    pub(crate) least: u8,
    /// The number of bytes that each key has after the prefix, if nothing of them is cut off; else 0.
    pub(crate) width: u8,
    /// The number of bytes that all keys begin with.
    pub(crate) prefix_len: u16,
    /// At least 1.
    pub(crate) num_groups: u32,
}

impl Params {
    #[cfg(feature = "std")]
    pub(crate) fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[FLAGS_AT]) = (self.group_units, self.is_gaps.into());
        (out[2], out[3]) = (self.mark_bytes, self.num_classes);
        bytes::put_u16(&mut out, 4, self.prefix_len);
        (out[6], out[7]) = (self.num_columns, self.least.max(self.width));
        bytes::put_u32(&mut out, 8, self.num_groups);
        out
    }

    /// Returns the parameters except the length of the prefix, with their names.
    pub(crate) fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("group_units", self.group_units.into()),
            ("is_gaps", self.is_gaps.into()),
            ("mark_bytes", self.mark_bytes.into()),
            ("num_classes", self.num_classes.into()),
            ("num_columns", self.num_columns.into()),
            ("least", self.least.into()),
            ("width", self.width.into()),
            ("num_groups", self.num_groups.into()),
        ]
    }

    /// Reads the parameters of a filter of `num_entries` keys, at least 1, and checks the length of its payload and its
    /// code. Groups are not checked: a search of any bytes ends, and takes those past the end of a group as zeros.
    pub(crate) fn decode(stored: &[u8; PARAMS_LEN], num_entries: u64, payload: &[u8]) -> Result<Self, DecodeError> {
        let is_gaps = stored[FLAGS_AT] & IS_GAPS != 0;
        let (least, width) = if is_gaps { (0, stored[7]) } else { (stored[7], 0) };
        let params = Self {
            group_units: stored[0],
            is_gaps,
            mark_bytes: stored[2],
            num_classes: stored[3],
            num_columns: stored[6],
            least,
            width,
            prefix_len: bytes::u16_at(stored, 4),
            num_groups: bytes::u32_at(stored, 8),
        };
        if stored[FLAGS_AT] & !IS_GAPS != 0 {
            return Err(DecodeError::Reserved { offset_bytes: (PARAMS_AT + FLAGS_AT) as u64, found: stored[FLAGS_AT] });
        }
        let (max_columns, max_width) = if params.num_classes == 0 { (0, MAX_WIDTH) } else { (u8::MAX, 0) };
        DecodeError::check_params(&[
            ("group_units", params.group_units.into(), 1, MAX_UNITS.into()),
            ("mark_bytes", params.mark_bytes.into(), 1, MAX_MARK_BYTES as u64),
            ("num_classes", params.num_classes.into(), 0, MAX_CLASSES as u64),
            ("num_columns", params.num_columns.into(), 0, max_columns.into()),
            ("width", params.width.into(), 0, max_width.into()),
            ("num_groups", params.num_groups.into(), 1, num_entries),
        ])?;
        params.check_len(payload.len() as u64)?;
        params.code(payload).check(params.num_classes.into())?;
        Ok(params)
    }

    fn check_len(&self, actual_bytes: u64) -> Result<(), DecodeError> {
        let each = self.group_len() as u64 + u64::from(self.mark_bytes);
        // The last group has any length up to that of the others.
        let first = (usize::from(self.prefix_len) + self.table_len() + MIN_GROUP_LEN) as u64;
        let least = first + u64::from(self.num_groups - 1) * each;
        let most = least + (self.group_len() - MIN_GROUP_LEN) as u64;
        match (least..=most).contains(&actual_bytes) {
            true => Ok(()),
            false => Err(DecodeError::PayloadLength { declared_bytes: actual_bytes.clamp(least, most), actual_bytes }),
        }
    }

    /// Returns the length of a group in bytes.
    pub(crate) fn group_len(&self) -> usize {
        usize::from(self.group_units) * UNIT_LEN
    }

    /// Returns whether nothing of the keys is cut off.
    pub(crate) fn is_exact(&self) -> bool {
        self.width > 0
    }

    fn table_len(&self) -> usize {
        code::table_len(self.num_classes.into(), self.num_columns.into())
    }

    /// Returns the prefix that all keys have.
    #[inline]
    pub(crate) fn prefix<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        &payload[..usize::from(self.prefix_len)]
    }

    /// Returns the code of the bytes after the prefix.
    #[inline]
    pub(crate) fn code<'a>(&self, payload: &'a [u8]) -> ByteCode<'a> {
        let table = &payload[usize::from(self.prefix_len)..][..self.table_len()];
        ByteCode::new(table, self.num_columns.into())
    }

    /// Returns the marks, and the groups.
    #[inline]
    pub(crate) fn parts<'a>(&self, payload: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let marks_at = usize::from(self.prefix_len) + self.table_len();
        payload[marks_at..].split_at((self.num_groups as usize - 1) * usize::from(self.mark_bytes))
    }
}
