//! The rows of a kind's parameters and of its payload.

use super::{Checked, DIGEST_AT, Frame, PARAMS_AT, in_range, length_is};
use crate::oracle::{bit, int};
use filterblock::DecodeError;

/// Unused bits after the first `used` of `bytes`, which begin at `base` in the frame.
fn unused(bytes: &[u8], used: u64, base: u64) -> Checked {
    if (used..bytes.len() as u64 * 8).all(|i| bit(bytes, i) == 0) {
        return Ok(());
    }
    Err(DecodeError::Padding { offset_bytes: base + bytes.len() as u64 - 1, found: bytes[bytes.len() - 1] })
}

/// The parameters of a kind, sections 5 to 9.
pub(super) enum Params {
    Bloom { num_probes: u64, num_bits: u64 },
    Blocked { num_probes: u64, salt_bits: u64 },
    Golomb { remainder_bits: u64, directory_bits: u64, entries_per_bucket: u64, num_buckets: u64, bucket_range: u64 },
    Ribbon { columns: u64, num_layers: u64, last_seed: u64, wide_share: u64, thinned_from: u64 },
    Fuse { fingerprint_bits: u64, log2_segment_len: u64, seed: u64, num_segments: u64 },
}

impl Params {
    pub(super) fn of(frame: &Frame<'_>) -> Self {
        let params = &frame.header[PARAMS_AT..DIGEST_AT];
        let byte = |i: usize| u64::from(params[i]);
        match frame.header[9] {
            1 => Self::Bloom { num_probes: byte(0), num_bits: int(&params[4..]) },
            2 => Self::Blocked { num_probes: byte(0), salt_bits: byte(1) },
            3 => Self::Golomb {
                remainder_bits: byte(0),
                directory_bits: byte(1),
                entries_per_bucket: byte(2),
                num_buckets: int(&frame.header[24..32]).div_ceil(byte(2).max(1)),
                bucket_range: int(&params[4..]),
            },
            4 => Self::Ribbon {
                columns: byte(0),
                num_layers: byte(1),
                last_seed: byte(2),
                wide_share: int(&params[4..8]),
                thinned_from: byte(3),
            },
            _ => Self::Fuse {
                fingerprint_bits: byte(0),
                log2_segment_len: byte(1),
                seed: byte(2),
                num_segments: int(&params[4..8]),
            },
        }
    }

    /// The ranges of the fields, then the presence of the seed of a remapped filter, and the length of the `payload`
    /// before it.
    pub(super) fn range(&self, payload: Result<&[u8], DecodeError>) -> Checked {
        match *self {
            Self::Bloom { num_probes, num_bits } => {
                let payload = payload?;
                in_range("num_probes", num_probes, 1, 64)?;
                in_range("num_bits", num_bits, 1, 1 << 56)?;
                length_is(num_bits.div_ceil(8), payload)
            }
            Self::Blocked { num_probes, salt_bits } => {
                let payload = payload?;
                let num_lines = payload.len() as u64 / 64;
                length_is(num_lines * 64, payload)?;
                in_range("num_probes", num_probes, 1, 16)?;
                in_range("salt_bits", salt_bits, 0, 6)?;
                in_range("num_lines", num_lines, 1, 1 << 32)
            }
            Self::Golomb { remainder_bits, directory_bits, entries_per_bucket, num_buckets, bucket_range } => {
                in_range("remainder_bits", remainder_bits, 0, 48)?;
                in_range("directory_bits", directory_bits, 0, 57)?;
                in_range("entries_per_bucket", entries_per_bucket, 1, 255)?;
                in_range("num_buckets", num_buckets, 1, u64::MAX)?;
                in_range("bucket_range", bucket_range, 1, u64::MAX / num_buckets)?;
                let payload = payload?;
                let least_bytes = directory(num_buckets, directory_bits).1.saturating_add(1);
                let (declared_bytes, actual_bytes) = (least_bytes, payload.len() as u64);
                match declared_bytes <= actual_bytes {
                    true => Ok(()),
                    false => Err(DecodeError::PayloadLength { declared_bytes, actual_bytes }),
                }
            }
            Self::Ribbon { columns, num_layers, last_seed, wide_share, thinned_from } => {
                in_range("columns", columns, 1, if wide_share > 0 || thinned_from > 0 { 31 } else { 32 })?;
                in_range("num_layers", num_layers, 1, 8)?;
                in_range("last_seed", last_seed, 0, 31)?;
                in_range("wide_share", wide_share, 0, if thinned_from > 0 { 0 } else { u64::from(u32::MAX) })?;
                in_range("thinned_from", thinned_from, if thinned_from > 0 { columns + 1 } else { 0 }, 32)?;
                let payload = payload?;
                let mut declared_bytes = 4 * num_layers;
                if (payload.len() as u64) < declared_bytes {
                    return length_is(declared_bytes, payload);
                }
                let num_blocks = num_blocks(payload, num_layers);
                for &num in &num_blocks {
                    in_range("num_blocks", num, 2, u64::from(u32::MAX))?;
                    let num_wide = ((num - 1) * wide_share).div_ceil(1 << 32);
                    declared_bytes += 8 * (num * columns + num_wide + u64::from(num_wide > 0));
                }
                length_is(declared_bytes + thresholds(&num_blocks).map(|bits| bits.div_ceil(8)).sum::<u64>(), payload)
            }
            Self::Fuse { fingerprint_bits, log2_segment_len, seed, num_segments } => {
                in_range("fingerprint_bits", fingerprint_bits, 1, 32)?;
                in_range("log2_segment_len", log2_segment_len, 0, 18)?;
                in_range("seed", seed, 0, 63)?;
                in_range("num_segments", num_segments, 1, u64::from(u32::MAX))?;
                let payload = payload?;
                length_is((((num_segments + 3) << log2_segment_len) - 1) * fingerprint_bits / 8 + 8, payload)
            }
        }
    }

    /// Bits of a payload that hold nothing, of which the length may be wrong. `base` is its place in the frame.
    pub(super) fn unused(&self, payload: &[u8], base: u64) -> Checked {
        match *self {
            Self::Bloom { num_bits, .. } => unused(payload, num_bits, base),
            Self::Blocked { .. } => Ok(()),
            Self::Golomb { directory_bits, num_buckets, .. } => {
                let (used, len) = directory(num_buckets, directory_bits);
                if num_buckets < 2 || directory_bits == 0 { Ok(()) } else { unused(up_to(payload, len), used, base) }
            }
            Self::Ribbon { num_layers, .. } => {
                let num_blocks = num_blocks(payload, num_layers);
                let of_all: u64 = thresholds(&num_blocks).map(|bits| bits.div_ceil(8)).sum();
                let mut at = (payload.len() as u64).saturating_sub(4 * num_layers + of_all);
                thresholds(&num_blocks).try_for_each(|bits| {
                    let bytes = up_to(&payload[(at as usize).min(payload.len())..], bits.div_ceil(8));
                    at += bits.div_ceil(8);
                    unused(bytes, bits, base + at - bits.div_ceil(8))
                })
            }
            Self::Fuse { fingerprint_bits, log2_segment_len, num_segments, .. } => {
                let used = ((num_segments + 3) << log2_segment_len.min(18)) * fingerprint_bits;
                match (used..payload.len() as u64 * 8).find(|&i| bit(payload, i) == 1) {
                    None => Ok(()),
                    Some(i) => {
                        Err(DecodeError::Padding { offset_bytes: base + i / 8, found: payload[(i / 8) as usize] })
                    }
                }
            }
        }
    }
}

fn up_to(bytes: &[u8], len: u64) -> &[u8] {
    &bytes[..bytes.len().min(usize::try_from(len).unwrap_or(usize::MAX))]
}

/// Bits that golomb's directory uses, and its bytes; a length beyond 64 bits is reported as the largest that they hold.
fn directory(num_buckets: u64, directory_bits: u64) -> (u64, u64) {
    if num_buckets < 2 {
        return (0, 0);
    }
    let most = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    let fields = u128::from(num_buckets) * u128::from(directory_bits);
    let anchors = 8 * (u128::from(num_buckets).div_ceil(64) - 1);
    let is_beyond = fields > u128::from(u64::MAX);
    (most(8 * anchors + fields), if is_beyond { u64::MAX } else { most(anchors + fields.div_ceil(8)) })
}

/// The numbers of blocks of ribbon's layers.
fn num_blocks(payload: &[u8], num_layers: u64) -> Vec<u64> {
    payload[payload.len().saturating_sub(4 * num_layers as usize)..].chunks(4).map(int).collect()
}

/// Bits of the thresholds of each layer but the last.
fn thresholds(num_blocks: &[u64]) -> impl Iterator<Item = u64> {
    let but_last = &num_blocks[..num_blocks.len().saturating_sub(1)];
    but_last.iter().map(|num| 2 * (64 * num.saturating_sub(1)).div_ceil(128))
}
