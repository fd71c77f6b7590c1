//! The two checksums in the header of a block and of a partitioned filter's index: the CRC-32 of the 64 bytes of the
//! header, and, within these, the digest of all bytes that follow.

use super::offsets::{CRC_AT, DIGEST_AT, HEADER_LEN};
use crate::bytes;
use crate::error::DecodeError;
use crate::hash;

/// Returns the CRC-32 (IEEE) of `bytes`, rotated and offset so that the checksum of data that contains a checksum does
/// not collide with it.
fn masked_crc(bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytes);
    crc.finalize().rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Fills in both checksums of `frame`, which must be complete otherwise, under `context`.
pub(crate) fn write(frame: &mut [u8], context: u64) {
    let mixed = hash::mix(context);
    let digest = hash::digest(&frame[HEADER_LEN..]) ^ mixed;
    bytes::put_u64(frame, DIGEST_AT, digest);
    let crc = masked_crc(&frame[..CRC_AT]) ^ mixed as u32;
    bytes::put_u32(frame, CRC_AT, crc);
}

/// Compares the header's CRC with the stored one. `frame` has at least the length of a header.
pub(crate) fn check_crc(frame: &[u8], context: u64) -> Result<(), DecodeError> {
    let stored = bytes::u32_at(frame, CRC_AT);
    let computed = masked_crc(&frame[..CRC_AT]);
    let expected = hash::mix(context);
    if stored == computed ^ expected as u32 {
        return Ok(());
    }
    // An error is reported anyway, so the payload can be hashed too: if it yields a context whose low half is the
    // one that the header yields, both are intact and the frame belongs to another place.
    let mixed = bytes::u64_at(frame, DIGEST_AT) ^ hash::digest(&frame[HEADER_LEN..]);
    if mixed as u32 == stored ^ computed {
        return Err(DecodeError::WrongContext { expected: context, found: hash::unmix(mixed) });
    }
    Err(DecodeError::HeaderChecksum { stored, computed: computed ^ expected as u32 })
}

/// Compares the digest of the bytes after the header with the stored one.
pub(crate) fn check_digest(frame: &[u8], context: u64) -> Result<(), DecodeError> {
    let stored = bytes::u64_at(frame, DIGEST_AT);
    let computed = hash::digest(&frame[HEADER_LEN..]) ^ hash::mix(context);
    if stored != computed {
        return Err(DecodeError::PayloadDigest { stored, computed });
    }
    Ok(())
}
