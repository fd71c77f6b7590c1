//! The common part of a block's header and a partitioned filter's index: the fields before offset 40, except the byte
//! at 9, and the checksums.

use super::checksums;
use super::offsets::{
    FEATURES_AT, HASH_AT, HEADER_LEN, KIND_AT, MAGIC_LEN, NUM_ENTRIES_AT, PAYLOAD_LEN_AT, SEED_AT, TRANSFORM_AT,
    TRANSFORM_PARAM_AT, VERSION_AT,
};
use crate::bytes;
use crate::error::{DecodeError, TransformId};
use crate::hash::{self, KeyTransform};
use crate::kind::BlockKind;

/// The feature bits that a reader must understand. An index knows none of them.
const REQUIRED_FEATURES: u16 = 0xff00;

/// The fields that are neither fixed by the format nor computed from the bytes after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) hash_id: u8,
    pub(crate) transform: KeyTransform,
    pub(crate) features: u16,
    /// The seed, or the key's id.
    pub(crate) seed: u64,
    pub(crate) num_entries: u64,
}

impl Fields {
    /// Writes the fields and the checksums of `frame`, which must be complete otherwise.
    pub(crate) fn write(&self, magic: [u8; MAGIC_LEN], version: u8, frame: &mut [u8], context: u64) {
        let payload_len = (frame.len() - HEADER_LEN) as u64;
        let TransformId { id, param } = self.transform.to_wire();
        frame[..VERSION_AT].copy_from_slice(&magic);
        frame[VERSION_AT] = version;
        frame[HASH_AT] = self.hash_id;
        frame[TRANSFORM_AT] = id;
        bytes::put_u16(frame, FEATURES_AT, self.features);
        bytes::put_u16(frame, TRANSFORM_PARAM_AT, param);
        bytes::put_u64(frame, SEED_AT, self.seed);
        bytes::put_u64(frame, NUM_ENTRIES_AT, self.num_entries);
        bytes::put_u64(frame, PAYLOAD_LEN_AT, payload_len);
        checksums::write(frame, context);
    }

    /// Reads the fields of a header that [`check_start`] has returned, in which the required features `known` may be
    /// set.
    pub(crate) fn read(header: &[u8; HEADER_LEN], known: u16) -> Result<Self, DecodeError> {
        let hash_id = header[HASH_AT];
        if ![hash::XXH3_ID, hash::SIPHASH_ID].contains(&hash_id) {
            return Err(DecodeError::UnknownHash { found: hash_id });
        }
        let features = bytes::u16_at(header, FEATURES_AT);
        let bits = features & REQUIRED_FEATURES & !known;
        if bits != 0 {
            return Err(DecodeError::UnknownFeatures { bits });
        }
        let transform = KeyTransform::from_wire(
            header[TRANSFORM_AT],
            bytes::u16_at(header, TRANSFORM_PARAM_AT),
            TRANSFORM_PARAM_AT as u64,
        )?;
        let (seed, num_entries) = (bytes::u64_at(header, SEED_AT), bytes::u64_at(header, NUM_ENTRIES_AT));
        Ok(Self { hash_id, transform, features, seed, num_entries })
    }
}

/// Returns the kind that a block's header states.
pub(crate) fn kind(header: &[u8; HEADER_LEN]) -> Result<BlockKind, DecodeError> {
    BlockKind::from_tag(header[KIND_AT]).ok_or(DecodeError::UnknownKind { found: header[KIND_AT] })
}

/// Checks length, magic, CRC and version, in this order.
pub(crate) fn check_start(
    frame: &[u8],
    magic: [u8; MAGIC_LEN],
    version: u8,
    context: u64,
) -> Result<[u8; HEADER_LEN], DecodeError> {
    let Some(header) = bytes::array_at::<HEADER_LEN>(frame, 0) else {
        return Err(DecodeError::TooShort { actual_bytes: frame.len() as u64, min_bytes: HEADER_LEN as u64 });
    };
    if header[..VERSION_AT] != magic {
        return Err(DecodeError::Magic { found: bytes::u64_at(&header, 0) });
    }
    checksums::check_crc(frame, context)?;
    match header[VERSION_AT] {
        0 => Err(DecodeError::Parameter { name: "version", value: 0, min: 1, max: version.into() }),
        found if found == version => Ok(header),
        found => Err(DecodeError::NewerVersion { found, supported: version }),
    }
}

/// Compares the stored length of the bytes after the header with the length of `frame`.
pub(crate) fn check_payload_len(frame: &[u8], header: &[u8; HEADER_LEN]) -> Result<(), DecodeError> {
    DecodeError::check_len(bytes::u64_at(header, PAYLOAD_LEN_AT), (frame.len() - HEADER_LEN) as u64)
}
