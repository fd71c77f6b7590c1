//! The frame of a set: the fields of its footer, and its checksums.

use filterblock::{HEADER_LEN, KeyHasher};

/// The length of the footer, with which a set ends.
pub const FOOTER_LEN: usize = 64;

/// The first eight bytes of the footer. Like a block's magic, they are not text, have no zero byte, and contain CR LF
/// and ^Z.
pub const SET_MAGIC: [u8; 8] = *b"\xf3FBLS\r\n\x1a";

/// The version of the layout of sets.
pub const SET_VERSION: u8 = 1;

// The offsets in the footer; magic, version, hash id, features, seed, digest and CRC are where a block has them.
pub(crate) const VERSION_AT: usize = 8;
pub(crate) const HASH_AT: usize = 10;
pub(crate) const FEATURES_AT: usize = 12;
pub(crate) const NUM_COLUMNS_AT: usize = 14;
pub(crate) const SEED_AT: usize = 16;
pub(crate) const NUM_FILES_AT: usize = 24;
pub(crate) const NUM_GROUPS_AT: usize = 28;
pub(crate) const INDEX_LEN_AT: usize = 32;
pub(crate) const DATA_LEN_AT: usize = 40;
pub(crate) const DIGEST_AT: usize = 52;
pub(crate) const CRC_AT: usize = 60;
const _: () = assert!(HEADER_LEN == FOOTER_LEN && CRC_AT + 4 == FOOTER_LEN);

/// The offsets of the bytes that a writer sets to zero; a later version may use them.
pub(crate) const RESERVED: [usize; 6] = [9, 11, 48, 49, 50, 51];

/// Applies the format's bijection of 64-bit numbers (section 4.2).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// Returns the format's digest: XXH3-64 with seed 0.
pub(crate) fn xxh3(bytes: &[u8]) -> u64 {
    KeyHasher::new(0).hash(bytes).get()
}

/// Returns the identity of a file from parts that distinguish it, and every state of it, from all others: say its path,
/// its length and its entity tag. Any 64-bit number with this property serves.
///
/// ```
/// use filterblock_set::file_identity;
/// assert_eq!(file_identity(&[b"a.parquet", b"etag-1"]), 0xd3e8_37c8_8ba9_0c9c);
/// ```
pub fn file_identity(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(0, |identity, part| mix(identity ^ xxh3(part)).wrapping_add(1))
}

/// Returns the masked CRC-32 of `frame`'s bytes before its checksum.
pub(crate) fn masked_crc(frame: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&frame[..CRC_AT]);
    crc.finalize().rotate_right(15).wrapping_add(0xa282_ead8)
}
