//! The parameters that the header stores.

use super::super::query::MAX_WIDTH;
use crate::bytes;
use crate::codes::{self, ENTRIES_PER_BUCKET};
use crate::error::DecodeError;
use crate::frame::{PARAMS_AT, PARAMS_LEN};

/// The bit of byte 1 by which this map is known.
const IS_INTEGERS: u8 = 0b100;
const FLAGS_AT: usize = 1;
/// The greatest logarithm of a block's length.
pub(super) const MAX_LOG_BLOCK: u8 = 39;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ranges) struct Params {
    /// The number of bytes after the prefix.
    pub(super) width: u8,
    pub(super) log_block: u8,
    pub(in crate::ranges) prefix_len: u16,
    pub(super) codes: codes::Params,
}

impl Params {
    /// Returns whether stored parameters belong to this map.
    pub(in crate::ranges) const fn are_of(stored: &[u8; PARAMS_LEN]) -> bool {
        stored[FLAGS_AT] & IS_INTEGERS != 0
    }

    /// Returns the parameters as the header stores them.
    pub(in crate::ranges) fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[FLAGS_AT], out[2]) = (self.width, IS_INTEGERS, self.log_block);
        (out[3], out[4]) = (self.codes.remainder_bits, self.codes.directory_bits);
        out[5] = (self.codes.buckets.range >> 32) as u8;
        bytes::put_u16(&mut out, 6, self.prefix_len);
        bytes::put_u32(&mut out, 8, self.codes.buckets.range as u32);
        out
    }

    /// Reads the parameters of a filter of `num_entries` keys, at least 1.
    pub(super) fn decode(stored: &[u8; PARAMS_LEN], num_entries: u64) -> Result<Self, DecodeError> {
        if stored[FLAGS_AT] != IS_INTEGERS {
            return Err(DecodeError::Reserved { offset_bytes: (PARAMS_AT + FLAGS_AT) as u64, found: stored[FLAGS_AT] });
        }
        let bucket_range = u64::from(stored[5]) << 32 | u64::from(bytes::u32_at(stored, 8));
        let (width, log_block) = (stored[0], stored[2]);
        // No block is longer than a bucket.
        let log_range = bucket_range.checked_ilog2().unwrap_or(0) as u8;
        DecodeError::check_params(&[
            ("width", width.into(), 0, MAX_WIDTH as u64),
            ("log_block", log_block.into(), 0, log_range.min(MAX_LOG_BLOCK).into()),
        ])?;
        let fields = [stored[3], stored[4], ENTRIES_PER_BUCKET as u8];
        let codes = codes::Params::new(fields, num_entries.div_ceil(ENTRIES_PER_BUCKET), bucket_range)?;
        Ok(Self { width, log_block, prefix_len: bytes::u16_at(stored, 6), codes })
    }

    /// Returns the offset of the codes, after the prefix, and the first and the last number.
    #[inline(always)]
    pub(super) fn codes_at(&self) -> usize {
        usize::from(self.prefix_len) + 2 * usize::from(self.width)
    }

    /// Returns the parameters except the length of the prefix, with their names.
    pub(in crate::ranges) fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("width", self.width.into()),
            ("log_block", self.log_block.into()),
            ("remainder_bits", self.codes.remainder_bits.into()),
            ("directory_bits", self.codes.directory_bits.into()),
            ("bucket_range", self.codes.buckets.range),
        ]
    }
}
