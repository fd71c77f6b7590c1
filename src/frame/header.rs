//! The header: the 64 bytes before a payload, and the checks that bytes must pass before they give an answer.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 1 | format version |
//! | 9 | 1 | kind |
//! | 10 | 1 | hash id |
//! | 11 | 1 | key-transform id |
//! | 12 | 2 | feature bits: the low byte may be ignored when unknown, the high byte must be understood |
//! | 14 | 2 | key-transform parameter |
//! | 16 | 8 | hash seed, or the id of a secret key |
//! | 24 | 8 | number of entries |
//! | 32 | 8 | payload length in bytes |
//! | 40 | 12 | parameters of the kind |
//! | 52 | 8 | XXH3-64 of the payload, XOR the mixed context |
//! | 60 | 4 | CRC-32 of bytes 0..60, masked, XOR the low half of the mixed context |
//!
//! The context is the caller's, and is not stored. Both checksums include it, by XOR of a bijective mix, so a block
//! that was read from another place always fails. If header and payload agree on another context, the error can name
//! it: a misplaced block is distinguished from a damaged one.

use super::fields::{self, Fields};
use super::offsets::{DIGEST_AT, KIND_AT, PARAMS_AT, PARAMS_LEN};
use crate::error::DecodeError;
use crate::hash::KeyTransform;
use crate::kind::{BlockKind, FilterKind};
use core::ops::Range;

/// The first eight bytes of a block. They are not text (the first byte is at least 0x80), have no zero byte, and
/// contain CR LF and ^Z, so that a copy made in text mode is noticed at once.
pub const MAGIC: [u8; 8] = *b"\xf1FBLK\r\n\x1a";
/// The format version that this library writes, and the newest that it reads.
pub const FORMAT_VERSION: u8 = 1;

/// Feature bit 0: the number of entries is an estimate.
const ENTRIES_ESTIMATED: u16 = 1;
/// Feature bit 8: the filter is remapped, and its seed follows the kind's payload.
const REMAPPED: u16 = 1 << 8;

/// The fields of a header that are neither fixed by the format nor computed from the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: FilterKind,
    pub(crate) transform: KeyTransform,
    pub(crate) hash_id: u8,
    /// The seed, or the key's id.
    pub(crate) seed: u64,
    pub(crate) num_entries: u64,
    /// Whether the number of entries is an estimate, as for a union.
    pub(crate) entries_estimated: bool,
    pub(crate) is_remapped: bool,
    pub(crate) params: [u8; PARAMS_LEN],
}

impl Header {
    /// Fills the first [`HEADER_LEN`](crate::HEADER_LEN) bytes of `block`, whose payload must be complete.
    pub(crate) fn write(&self, block: &mut [u8], context: u64) {
        let Self { kind, transform, hash_id, seed, num_entries, entries_estimated, is_remapped, params } = *self;
        block[KIND_AT] = kind.tag();
        block[PARAMS_AT..DIGEST_AT].copy_from_slice(&params);
        let features = if entries_estimated { ENTRIES_ESTIMATED } else { 0 } | if is_remapped { REMAPPED } else { 0 };
        Fields { hash_id, transform, features, seed, num_entries }.write(MAGIC, FORMAT_VERSION, block, context);
    }

    /// Checks everything except the payload's digest and the kind's parameters.
    pub(crate) fn read(block: &[u8], context: u64) -> Result<Self, DecodeError> {
        let header = fields::check_start(block, MAGIC, FORMAT_VERSION, context)?;
        let BlockKind::Keys(kind) = fields::kind(&header)? else {
            return Err(DecodeError::WrongFamily { found: BlockKind::Ranges.tag() });
        };
        let Fields { hash_id, transform, features, seed, num_entries } = Fields::read(&header, REMAPPED)?;
        fields::check_payload_len(block, &header)?;
        let mut params = [0; PARAMS_LEN];
        params.copy_from_slice(&header[PARAMS_AT..DIGEST_AT]);
        let (entries_estimated, is_remapped) = (features & ENTRIES_ESTIMATED != 0, features & REMAPPED != 0);
        Ok(Self { kind, transform, hash_id, seed, num_entries, entries_estimated, is_remapped, params })
    }

    /// Checks that a block without entries has no parameters and no payload.
    pub(crate) fn check_empty(&self, payload_len: u64) -> Result<(), DecodeError> {
        DecodeError::check_len(0, payload_len)?;
        DecodeError::check_reserved(PARAMS_AT, &self.params)
    }

    /// Returns the kind's parameters, to be checked by the kind.
    pub(crate) fn stored_params(&self, payload_len: u64) -> StoredParams<'_> {
        StoredParams { bytes: &self.params, base: PARAMS_AT as u64, num_entries: self.num_entries, payload_len }
    }
}

/// The stored parameters of a filter, before they are checked.
pub(crate) struct StoredParams<'a> {
    pub(crate) bytes: &'a [u8; PARAMS_LEN],
    /// The offset of `bytes` in the block, for messages.
    pub(crate) base: u64,
    /// At least 1.
    pub(crate) num_entries: u64,
    pub(crate) payload_len: u64,
}

impl StoredParams<'_> {
    /// Refuses bytes in `range` that are not zero.
    pub(crate) fn check_reserved(&self, range: Range<usize>) -> Result<(), DecodeError> {
        DecodeError::check_reserved(self.base as usize + range.start, &self.bytes[range])
    }
}
