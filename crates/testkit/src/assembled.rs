//! Blocks assembled from parameters without the library's builder: with parameters that no policy leads to, or changed
//! and with the checksums repaired.

use crate::oracle::{Fuse, Golomb, Oracle, Ribbon, mix, remapped, set_seed};
use filterblock::KeyHasher;
use std::collections::BTreeSet;

/// The parameters that a writer is free to choose.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Bloom { num_probes: u8, num_bits: u64 },
    Blocked { num_probes: u8, salt_bits: u8, num_lines: u64 },
    Golomb { remainder_bits: u8, entries_per_bucket: u8, bucket_range: u64 },
    Ribbon { columns: u8, wide_share: u32, millislots: u16 },
    Fuse { fingerprint_bits: u8, log2_segment_len: u8, num_segments: u32 },
}

/// The fields of a header that are not computed from the payload.
#[derive(Clone, Debug)]
pub struct Header {
    pub hasher: KeyHasher,
    /// Id and parameter.
    pub transform: (u8, u16),
    pub features: u16,
    pub context: u64,
}

impl Default for Header {
    fn default() -> Self {
        Self { hasher: KeyHasher::new(0), transform: (0, 0), features: 0, context: 0 }
    }
}

impl Shape {
    pub fn kind(self) -> u8 {
        match self {
            Self::Bloom { .. } => 1,
            Self::Blocked { .. } => 2,
            Self::Golomb { .. } => 3,
            Self::Ribbon { .. } => 4,
            Self::Fuse { .. } => 5,
        }
    }

    /// The filter of `hashes`, of which there is at least one, still without its payload.
    fn oracle(self, hashes: &BTreeSet<u64>) -> Oracle {
        match self {
            Self::Bloom { num_probes, num_bits } => {
                Oracle::Bloom { num_probes: num_probes.into(), num_bits, bits: Vec::new() }
            }
            Self::Blocked { num_probes, salt_bits, num_lines } => Oracle::Blocked {
                num_probes: num_probes.into(),
                salt_bits: salt_bits.into(),
                lines: vec![0; num_lines as usize * 64],
            },
            Self::Golomb { remainder_bits, entries_per_bucket, bucket_range } => {
                let golomb = Golomb {
                    remainder_bits: remainder_bits.into(),
                    directory_bits: 0,
                    num_buckets: (hashes.len() as u64).div_ceil(entries_per_bucket.into()),
                    bucket_range,
                };
                Oracle::Golomb { golomb: golomb.with_least_directory(hashes), payload: Vec::new() }
            }
            Self::Ribbon { columns, wide_share, millislots } => {
                let ribbon = Ribbon::of_writer(columns.into(), wide_share.into(), millislots.into(), hashes);
                Oracle::Ribbon { ribbon, payload: Vec::new() }
            }
            Self::Fuse { fingerprint_bits, log2_segment_len, num_segments } => {
                let fuse = Fuse {
                    fingerprint_bits: fingerprint_bits.into(),
                    log2_segment_len: log2_segment_len.into(),
                    seed: 0,
                    num_segments: num_segments.into(),
                };
                Oracle::Fuse { fuse: fuse.with_least_seed(hashes), payload: Vec::new() }
            }
        }
    }

    /// The block of `hashes` as the library's writer makes it: remapped where it does not leave them as they are.
    pub fn block_of_writer(self, header: &Header, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let suits = match self {
            _ if hashes.is_empty() => true,
            Self::Ribbon { columns, wide_share, millislots } => {
                Ribbon::suits(columns.into(), wide_share.into(), millislots.into(), hashes)
            }
            _ => match self.oracle(hashes) {
                Oracle::Golomb { golomb, .. } => golomb.suits(hashes),
                Oracle::Fuse { fuse, .. } => fuse.suits(hashes),
                _ => true,
            },
        };
        if suits { self.block(header, hashes) } else { self.remapped_block(header, hashes) }
    }

    /// The block of `hashes`, remapped.
    pub fn remapped_block(self, header: &Header, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let mut block = self.block(header, &remapped(hashes));
        block[13] |= 1;
        block.extend((0..8).map(|i| (set_seed(hashes) >> (8 * i)) as u8));
        let payload_len = block.len() as u64 - 64;
        put(&mut block[32..40], payload_len);
        repair(&mut block, header.context);
        block
    }

    /// The block of `hashes`, as they are.
    pub fn block(self, header: &Header, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let (mut params, mut payload) = ([0; 12], Vec::new());
        if !hashes.is_empty() {
            let filter = self.oracle(hashes);
            payload = filter.rebuild(hashes);
            match (self, filter) {
                (Self::Bloom { num_probes, num_bits }, _) => {
                    params[0] = num_probes;
                    put(&mut params[4..], num_bits);
                }
                (Self::Blocked { num_probes, salt_bits, .. }, _) => {
                    params[..2].copy_from_slice(&[num_probes, salt_bits])
                }
                (Self::Golomb { remainder_bits, entries_per_bucket, bucket_range }, Oracle::Golomb { golomb, .. }) => {
                    params[..3].copy_from_slice(&[remainder_bits, golomb.directory_bits as u8, entries_per_bucket]);
                    put(&mut params[4..], bucket_range);
                }
                (Self::Ribbon { columns, wide_share, .. }, Oracle::Ribbon { ribbon, .. }) => {
                    params[..3].copy_from_slice(&[columns, ribbon.num_blocks.len() as u8, ribbon.last_seed as u8]);
                    put(&mut params[4..8], wide_share.into());
                }
                (Self::Fuse { fingerprint_bits, log2_segment_len, num_segments }, Oracle::Fuse { fuse, .. }) => {
                    params[..3].copy_from_slice(&[fingerprint_bits, log2_segment_len, fuse.seed as u8]);
                    put(&mut params[4..8], num_segments.into());
                }
                (Self::Golomb { .. } | Self::Ribbon { .. } | Self::Fuse { .. }, _) => {
                    unreachable!("the oracle's filter is of the shape's kind")
                }
            }
        }
        raw_block(self.kind(), header, hashes.len() as u64, params, &payload)
    }
}

/// A block with any fields and any payload.
pub fn raw_block(kind: u8, header: &Header, num_entries: u64, params: [u8; 12], payload: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 64];
    block[..8].copy_from_slice(b"\xf1FBLK\r\n\x1a");
    block[8..12].copy_from_slice(&[1, kind, header.hasher.hash_id(), header.transform.0]);
    put(&mut block[12..14], header.features.into());
    put(&mut block[14..16], header.transform.1.into());
    put(&mut block[16..24], header.hasher.seed());
    put(&mut block[24..32], num_entries);
    put(&mut block[32..40], payload.len() as u64);
    block[40..52].copy_from_slice(&params);
    block.extend(payload);
    repair(&mut block, header.context);
    block
}

pub fn put(bytes: &mut [u8], value: u64) {
    (0..).zip(bytes).for_each(|(i, byte)| *byte = (value >> (8 * i)) as u8);
}

/// Recomputes both checksums of a block under `context`, following format-spec.md section 4.2.
pub fn repair(block: &mut [u8], context: u64) {
    let digest = KeyHasher::new(0).hash(&block[64..]).get() ^ mix(context);
    put(&mut block[52..60], digest);
    repair_crc(block, context);
}

/// Recomputes the header's checksum alone.
pub fn repair_crc(block: &mut [u8], context: u64) {
    let crc = masked_crc(&block[..60]) ^ mix(context) as u32;
    put(&mut block[60..64], crc.into());
}

pub fn masked_crc(bytes: &[u8]) -> u32 {
    crc32(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32 of IEEE 802.3, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
