//! The frame of a set: the fields of its footer, its checksums, and the contexts of its blocks.

use crate::bytes;
use filterblock::{DecodeError, HEADER_LEN, KeyHasher};

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
pub(crate) const NUM_SECTIONS_AT: usize = 28;
pub(crate) const INDEX_LEN_AT: usize = 32;
pub(crate) const DATA_LEN_AT: usize = 40;
pub(crate) const DIGEST_AT: usize = 52;
pub(crate) const CRC_AT: usize = 60;
const _: () = assert!(HEADER_LEN == FOOTER_LEN && CRC_AT + 4 == FOOTER_LEN);

/// The offsets of the bytes that a writer sets to zero; a later version may use them.
pub(crate) const RESERVED: [usize; 6] = [9, 11, 48, 49, 50, 51];

/// A column as the index states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: Box<[u8]>,
    /// The number of the class of its values, which a later version may have defined.
    pub(crate) class: u8,
    /// At least 1.
    pub(crate) num_slices: u16,
}

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

/// Returns the slice of a hash. It depends on other bits than the place of the hash in a block, so that the hashes of a
/// slice are spread over their block as evenly as those of a whole table.
#[inline]
pub(crate) fn slice_of(hash: u64, num_slices: u16) -> u16 {
    ((u128::from(mix(hash)) * u128::from(num_slices)) >> 64) as u16
}

/// Returns the context of a block. It is made of all that the index states of the block, so that a block of another
/// file, of an earlier state of the file, or of another column, class or slice does not open, whatever the index
/// states.
pub(crate) fn block_context(identity: u64, column: &Column, slice: u16) -> u64 {
    let place = u64::from(slice) | u64::from(column.num_slices) << 16 | u64::from(column.class) << 32;
    mix(identity ^ mix(xxh3(&column.name) ^ mix(place)))
}

/// Returns the identity of a file from parts that distinguish it, and every state of it, from all others: say its path,
/// its length and its entity tag. Any 64-bit number with this property serves.
///
/// ```
/// use filterblock_set::file_identity;
/// assert_ne!(file_identity(&[b"a.parquet", b"etag-1"]), file_identity(&[b"a.parquet", b"etag-2"]));
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

/// Moves an intact block from one context to another, without its keys: both checksums are of the bytes, combined with
/// the mixed context.
pub(crate) fn rebind(block: &mut [u8], from: u64, to: u64) -> Result<(), DecodeError> {
    if block.len() < HEADER_LEN {
        return Err(DecodeError::TooShort { actual_bytes: block.len() as u64, min_bytes: HEADER_LEN as u64 });
    }
    let digest = bytes::u64_at(block, DIGEST_AT) ^ mix(from) ^ mix(to);
    bytes::put_u64(block, DIGEST_AT, digest);
    let crc = masked_crc(block) ^ mix(to) as u32;
    bytes::put_u32(block, CRC_AT, crc);
    Ok(())
}
