//! Makes a mutated filter block pass the checks that stop nearly every mutation: magic, checksums, payload length.

use crate::oracle::{int, mix};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8] = b"\xf1FBLK\r\n\x1a";
const PAYLOAD_LEN_AT: usize = 32;
const DIGEST_AT: usize = 52;
const CRC_AT: usize = 60;
pub const HEADER_LEN: usize = 64;

/// What to repair besides the magic and the CRC; decoded from the input's first byte.
#[derive(Clone, Copy, Debug)]
pub struct Repair {
    payload_len: bool,
    digest: bool,
    pub context: u64,
}

impl Repair {
    /// Mode 0 repairs everything, without a context.
    pub fn from_mode(mode: u8) -> Self {
        Self { payload_len: mode & 1 == 0, digest: mode & 2 == 0, context: u64::from(mode >> 2) }
    }

    /// Repairs everything.
    pub fn all(context: u64) -> Self {
        Self { payload_len: true, digest: true, context }
    }
}

fn header_crc(header: &[u8], context: u64) -> u32 {
    masked(crc32fast::hash(&header[..CRC_AT])) ^ mix(context) as u32
}

/// The mask that every CRC of blocks and of the store has.
pub fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Recomputes the checksums of format-spec.md, section 4.2, in `block`, which has at least a header's length.
pub fn repair(block: &mut [u8], repair: Repair) {
    seal(block, MAGIC, repair);
}

/// As [`repair`], for a frame with this magic.
pub fn seal(frame: &mut [u8], magic: &[u8], repair: Repair) {
    let (header, payload) = frame.split_at_mut(HEADER_LEN);
    header[..magic.len()].copy_from_slice(magic);
    if repair.payload_len {
        header[PAYLOAD_LEN_AT..][..8].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    }
    if repair.digest {
        let digest = xxh3_64(payload) ^ mix(repair.context);
        header[DIGEST_AT..CRC_AT].copy_from_slice(&digest.to_le_bytes());
    }
    let crc = header_crc(header, repair.context);
    header[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
}

/// Returns whether header and payload have the checksums of a block under `context`.
pub fn is_sealed(block: &[u8], context: u64) -> bool {
    let Some((header, payload)) = block.split_at_checked(HEADER_LEN) else { return false };
    int(&header[CRC_AT..]) == u64::from(header_crc(header, context))
        && int(&header[DIGEST_AT..CRC_AT]) == xxh3_64(payload) ^ mix(context)
}
