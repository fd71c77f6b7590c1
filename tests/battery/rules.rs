//! The checks that format-spec.md requires of a reader, sections 4 to 10, in its order: whether any given bytes
//! open, and the error if they do not. Shares only XXH3 with the library.

use crate::oracle::{bit, int, mix};
use crate::samples::HEADER_LEN;
use filterblock::{DecodeError, FilterKind, KeyHasher};

const MAGIC: &[u8] = &[0xf1, 0x46, 0x42, 0x4c, 0x4b, 0x0d, 0x0a, 0x1a];
const PARAMS_AT: usize = 40;
pub(crate) const DIGEST_AT: usize = 52;
pub(crate) const CRC_AT: usize = 60;

/// What a caller expects of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) context: u64,
    pub(crate) trusted: bool,
    /// A seed, and a transform's id and parameter.
    pub(crate) expected: Option<(u64, (u8, u16))>,
}

/// CRC-32 of IEEE 802.3, bit by bit.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

pub(crate) fn masked_crc(bytes: &[u8]) -> u32 {
    crc32(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn digest(payload: &[u8]) -> u64 {
    KeyHasher::new(0).hash(payload).get()
}

fn put(bytes: &mut [u8], value: u64) {
    (0..).zip(bytes).for_each(|(i, byte)| *byte = (value >> (8 * i)) as u8);
}

/// The inverse of `mix`, section 4.2.
fn unmix(mut z: u64) -> u64 {
    z ^= z >> 33;
    z = z.wrapping_mul(0x9cb4_b2f8_1293_37db);
    z ^= z >> 33;
    z = z.wrapping_mul(0x4f74_430c_22a5_4005);
    z ^ (z >> 33)
}

/// Recomputes the header's checksum.
pub(crate) fn repair_crc(block: &mut [u8], context: u64) {
    let crc = masked_crc(&block[..CRC_AT]) ^ mix(context) as u32;
    put(&mut block[CRC_AT..HEADER_LEN], crc.into());
}

pub(crate) fn crc_is_right(block: &[u8], context: u64) -> bool {
    int(&block[CRC_AT..HEADER_LEN]) as u32 == masked_crc(&block[..CRC_AT]) ^ mix(context) as u32
}

/// Recomputes both checksums.
pub(crate) fn repair(block: &mut [u8], context: u64) {
    let digest = digest(&block[HEADER_LEN..]) ^ mix(context);
    put(&mut block[DIGEST_AT..CRC_AT], digest);
    repair_crc(block, context);
}

/// The required result of opening `block`.
pub(crate) fn verdict(block: &[u8], caller: Caller) -> Result<(), DecodeError> {
    if block.len() < HEADER_LEN {
        return Err(DecodeError::TooShort { len_bytes: block.len() as u64, min_bytes: 64 });
    }
    let (header, payload) = block.split_at(HEADER_LEN);
    if &header[..8] != MAGIC {
        return Err(DecodeError::Magic { found: int(&header[..8]) });
    }
    let (m, stored) = (mix(caller.context), int(&header[CRC_AT..]) as u32);
    let (unbound, bound) = (masked_crc(&header[..CRC_AT]), masked_crc(&header[..CRC_AT]) ^ m as u32);
    let stored_digest = int(&header[DIGEST_AT..CRC_AT]);
    if stored != bound {
        let other = stored_digest ^ digest(payload);
        if other as u32 == stored ^ unbound {
            return Err(DecodeError::WrongContext { expected: caller.context, found: unmix(other) });
        }
        return Err(DecodeError::HeaderChecksum { stored, computed: bound });
    }
    known(header, payload)?;
    let computed = digest(payload) ^ m;
    if !caller.trusted && stored_digest != computed {
        return Err(DecodeError::PayloadDigest { stored: stored_digest, computed });
    }
    let (hash_id, seed, transform) = (header[10], int(&header[16..24]), (header[11], int(&header[14..16]) as u16));
    // These tests never pass a key.
    if hash_id != 1 {
        return Err(match caller.expected {
            Some(_) => DecodeError::WrongHash { expected: 1, found: hash_id },
            None => DecodeError::KeyNeeded { key_id: seed },
        });
    }
    if let Some((expected_seed, expected_transform)) = caller.expected {
        if expected_seed != seed {
            return Err(DecodeError::WrongSeed { expected: expected_seed, found: seed });
        }
        if expected_transform != transform {
            return Err(DecodeError::WrongTransform { expected: expected_transform, found: transform });
        }
    }
    content(header, payload)
}

/// The fields that a newer format may change, and the payload's length.
fn known(header: &[u8], payload: &[u8]) -> Result<(), DecodeError> {
    match header[8] {
        0 => return Err(DecodeError::Parameter { name: "version", value: 0, min: 1, max: 1 }),
        1 => {}
        found => return Err(DecodeError::NewerVersion { found, supported: 1 }),
    }
    if !(1..=5).contains(&header[9]) {
        return Err(DecodeError::UnknownKind { found: header[9] });
    }
    if ![1, 2].contains(&header[10]) {
        return Err(DecodeError::UnknownHash { found: header[10] });
    }
    let bits = int(&header[12..14]) as u16 & 0xff00;
    if bits != 0 {
        return Err(DecodeError::UnknownFeatures { bits });
    }
    match header[11] {
        0..=2 => zero(header, 14..16)?,
        found @ 5..=127 => return Err(DecodeError::UnknownTransform { found }),
        _ => {}
    }
    let (declared_bytes, actual_bytes) = (int(&header[32..40]), payload.len() as u64);
    if declared_bytes != actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    Ok(())
}

/// Reserved bytes.
fn zero(bytes: &[u8], at: std::ops::Range<usize>) -> Result<(), DecodeError> {
    match at.into_iter().find(|&i| bytes[i] != 0) {
        Some(i) => Err(DecodeError::Reserved { offset_bytes: i as u64, found: bytes[i] }),
        None => Ok(()),
    }
}

/// Parameters of the kind, and the payload that they describe.
fn content(header: &[u8], payload: &[u8]) -> Result<(), DecodeError> {
    let (num_entries, payload_len) = (int(&header[24..32]), payload.len() as u64);
    let kind = FilterKind::ALL[usize::from(header[9]) - 1];
    if header[12] & 1 == 1 && (kind != FilterKind::Bloom || num_entries == 0) {
        return Err(DecodeError::MisplacedEstimate { kind, num_entries });
    }
    if num_entries == 0 {
        if payload_len != 0 {
            return Err(DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: payload_len });
        }
        return zero(header, PARAMS_AT..DIGEST_AT);
    }
    let params = &header[PARAMS_AT..DIGEST_AT];
    let byte = |i: usize| u64::from(params[i]);
    match header[9] {
        1 => {
            zero(header, PARAMS_AT + 1..PARAMS_AT + 4)?;
            bloom(byte(0), int(&params[4..]), payload, HEADER_LEN as u64)
        }
        2 => {
            zero(header, PARAMS_AT + 2..DIGEST_AT)?;
            blocked(byte(0), byte(1), payload)
        }
        4 => {
            zero(header, PARAMS_AT + 8..DIGEST_AT)?;
            ribbon([byte(0), byte(1), byte(2), int(&params[4..8]), byte(3)], payload, HEADER_LEN as u64)
        }
        5 => {
            zero(header, PARAMS_AT + 3..PARAMS_AT + 4)?;
            zero(header, PARAMS_AT + 8..DIGEST_AT)?;
            fuse([byte(0), byte(1), byte(2), int(&params[4..8])], payload, HEADER_LEN as u64)
        }
        _ => {
            zero(header, PARAMS_AT + 3..PARAMS_AT + 4)?;
            let num_buckets = num_entries.div_ceil(byte(2).max(1));
            golomb([byte(0), byte(1), byte(2)], num_buckets, int(&params[4..]), payload, HEADER_LEN as u64)
        }
    }
}

fn in_range(name: &'static str, value: u64, min: u64, max: u64) -> Result<(), DecodeError> {
    if min <= value && value <= max { Ok(()) } else { Err(DecodeError::Parameter { name, value, min, max }) }
}

/// Unused bits after the first `used` of `bytes`, which begin at `base` in the frame.
fn unused(bytes: &[u8], used: u64, base: u64) -> Result<(), DecodeError> {
    if (used..bytes.len() as u64 * 8).all(|i| bit(bytes, i) == 0) {
        return Ok(());
    }
    Err(DecodeError::Padding { offset_bytes: base + bytes.len() as u64 - 1, found: bytes[bytes.len() - 1] })
}

fn bloom(num_probes: u64, num_bits: u64, payload: &[u8], base: u64) -> Result<(), DecodeError> {
    in_range("num_probes", num_probes, 1, 64)?;
    in_range("num_bits", num_bits, 1, 1 << 56)?;
    let (declared_bytes, actual_bytes) = (num_bits.div_ceil(8), payload.len() as u64);
    if declared_bytes != actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    unused(payload, num_bits, base)
}

fn blocked(num_probes: u64, salt_bits: u64, payload: &[u8]) -> Result<(), DecodeError> {
    let (num_lines, actual_bytes) = (payload.len() as u64 / 64, payload.len() as u64);
    if actual_bytes != num_lines * 64 {
        return Err(DecodeError::PayloadLength { declared_bytes: num_lines * 64, actual_bytes });
    }
    in_range("num_probes", num_probes, 1, 16)?;
    in_range("salt_bits", salt_bits, 0, 6)?;
    in_range("num_lines", num_lines, 1, 1 << 32)
}

fn golomb(fields: [u64; 3], num_buckets: u64, bucket_range: u64, payload: &[u8], base: u64) -> Result<(), DecodeError> {
    let [remainder_bits, directory_bits, entries_per_bucket] = fields;
    in_range("remainder_bits", remainder_bits, 0, 48)?;
    in_range("directory_bits", directory_bits, 0, 57)?;
    in_range("entries_per_bucket", entries_per_bucket, 1, 255)?;
    in_range("num_buckets", num_buckets, 1, u64::MAX)?;
    in_range("bucket_range", bucket_range, 1, u64::MAX / num_buckets)?;
    let field_bits = u128::from(num_buckets) * u128::from(directory_bits);
    let anchors = 8 * (u128::from(num_buckets).div_ceil(64) - 1);
    let directory = if num_buckets == 1 { 0 } else { anchors + field_bits.div_ceil(8) };
    // A length beyond 64 bits is reported as the largest that they hold.
    let beyond = field_bits > u128::from(u64::MAX) && num_buckets > 1;
    let declared_bytes = if beyond { u64::MAX } else { u64::try_from(directory).unwrap_or(u64::MAX) };
    let actual_bytes = payload.len() as u64;
    if declared_bytes >= actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    if directory > 0 && field_bits > 0 {
        return unused(&payload[..declared_bytes as usize], anchors as u64 * 8 + field_bits as u64, base);
    }
    Ok(())
}

fn ribbon(fields: [u64; 5], payload: &[u8], base: u64) -> Result<(), DecodeError> {
    let [columns, num_layers, last_seed, wide_share, thinned_from] = fields;
    in_range("columns", columns, 1, if wide_share > 0 || thinned_from > 0 { 31 } else { 32 })?;
    in_range("num_layers", num_layers, 1, 8)?;
    in_range("last_seed", last_seed, 0, 31)?;
    in_range("wide_share", wide_share, 0, if thinned_from > 0 { 0 } else { u64::from(u32::MAX) })?;
    in_range("thinned_from", thinned_from, if thinned_from > 0 { columns + 1 } else { 0 }, 32)?;
    let actual_bytes = payload.len() as u64;
    if actual_bytes < 4 * num_layers {
        return Err(DecodeError::PayloadLength { declared_bytes: 4 * num_layers, actual_bytes });
    }
    let num_blocks = payload[payload.len() - 4 * num_layers as usize..].chunks(4).map(int);
    let (mut declared_bytes, mut buckets) = (4 * num_layers, Vec::new());
    for num in num_blocks.clone() {
        in_range("num_blocks", num, 2, u64::from(u32::MAX))?;
        let num_wide = ((num - 1) * wide_share).div_ceil(1 << 32);
        declared_bytes += 8 * (num * columns + num_wide + u64::from(num_wide > 0));
        buckets.push((64 * (num - 1)).div_ceil(128));
    }
    let mut at = declared_bytes - 4 * num_layers;
    buckets.pop();
    declared_bytes += buckets.iter().map(|num| num.div_ceil(4)).sum::<u64>();
    if declared_bytes != actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    for num in buckets {
        let thresholds = &payload[at as usize..][..num.div_ceil(4) as usize];
        unused(thresholds, 2 * num, base + at)?;
        at += num.div_ceil(4);
    }
    Ok(())
}

fn fuse(fields: [u64; 4], payload: &[u8], base: u64) -> Result<(), DecodeError> {
    let [fingerprint_bits, log2_segment_len, seed, num_segments] = fields;
    in_range("fingerprint_bits", fingerprint_bits, 1, 32)?;
    in_range("log2_segment_len", log2_segment_len, 0, 18)?;
    in_range("seed", seed, 0, 63)?;
    in_range("num_segments", num_segments, 1, u64::from(u32::MAX))?;
    let num_slots = (num_segments + 3) << log2_segment_len;
    let (declared_bytes, actual_bytes) = ((num_slots - 1) * fingerprint_bits / 8 + 8, payload.len() as u64);
    if declared_bytes != actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    match (num_slots * fingerprint_bits..actual_bytes * 8).find(|&i| bit(payload, i) == 1) {
        None => Ok(()),
        Some(i) => Err(DecodeError::Padding { offset_bytes: base + i / 8, found: payload[(i / 8) as usize] }),
    }
}

/// The required result of opening a compact frame, section 10.
pub(crate) fn compact_verdict(frame: &[u8]) -> Result<(), DecodeError> {
    let len_bytes = frame.len() as u64;
    let mut rest = frame;
    let mut take = |count: usize| {
        let Some(at) = rest.len().checked_sub(count) else {
            let min_bytes = len_bytes - rest.len() as u64 + count as u64;
            return Err(DecodeError::TooShort { len_bytes, min_bytes });
        };
        let (before, taken) = rest.split_at(at);
        rest = before;
        Ok((taken, before))
    };
    let (tag, payload) = take(1)?;
    match (tag[0] >> 4, tag[0] & 15) {
        (version @ (0 | 15), _) => {
            return Err(DecodeError::Parameter { name: "compact_version", value: version.into(), min: 1, max: 1 });
        }
        (1, 0) if payload.is_empty() => return Ok(()),
        (1, 0) => {
            return Err(DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: payload.len() as u64 });
        }
        (1, 1..=5) => {}
        (1, found) => return Err(DecodeError::UnknownKind { found }),
        (found, _) => return Err(DecodeError::NewerVersion { found, supported: 1 }),
    }
    if tag[0] & 15 < 3 {
        let (byte, payload) = take(1)?;
        return match tag[0] & 15 {
            1 => bloom(byte[0].into(), payload.len() as u64 * 8, payload, 0),
            _ => blocked(u64::from(byte[0] >> 4) + 1, (byte[0] & 15).into(), payload),
        };
    }
    if tag[0] & 15 == 4 {
        let (lens, columns, (last_seed, before)) = (take(1)?.0[0], take(1)?.0[0], take(1)?);
        let (mut integer, mut payload, is_thinned) = (0, before, lens & 15 == 15);
        if lens & 15 > 0 {
            let len = if is_thinned { 1 } else { lens & 15 };
            let (bytes, before) = take(len.into())?;
            in_range("compact_integer_len", len.into(), 1, 8)?;
            if bytes.last() == Some(&0) {
                return Err(DecodeError::Padding { offset_bytes: (before.len() + bytes.len() - 1) as u64, found: 0 });
            }
            (integer, payload) = (int(bytes), before);
        }
        let (share, from) = if is_thinned { (0, integer) } else { (integer, 0) };
        return ribbon([columns.into(), (lens >> 4).into(), last_seed[0].into(), share, from], payload, 0);
    }
    if tag[0] & 15 == 5 {
        let (lens, fingerprint_bits, seed) = (take(1)?.0[0], take(1)?.0[0], take(1)?.0[0]);
        let (segments, payload) = take((lens & 7).into())?;
        in_range("compact_integer_len", (lens & 7).into(), 1, 8)?;
        if segments.last() == Some(&0) {
            let offset_bytes = (payload.len() + segments.len() - 1) as u64;
            return Err(DecodeError::Padding { offset_bytes, found: 0 });
        }
        return fuse([fingerprint_bits.into(), (lens >> 3).into(), seed.into(), int(segments)], payload, 0);
    }
    let lens = take(1)?.0[0];
    if (1..16).contains(&lens) {
        let (range, payload) = take(1)?;
        if range == [0] {
            return Err(DecodeError::Padding { offset_bytes: payload.len() as u64, found: 0 });
        }
        return golomb([lens.into(), 0, 64], 1, u64::from(range[0]) << (lens - 1), payload, 0);
    }
    let (directory_bits, remainder_bits) = (take(1)?.0[0], take(1)?.0[0]);
    let lens = [lens & 15, lens >> 4];
    // Both are there before either is read.
    let (both, payload) = take(lens.map(usize::from).iter().sum())?;
    let (mut integers, mut end) = ([0; 2], both.len());
    for (integer, len) in integers.iter_mut().zip(lens) {
        in_range("compact_integer_len", len.into(), 1, 8)?;
        let bytes = &both[end - usize::from(len)..end];
        if bytes.last() == Some(&0) {
            return Err(DecodeError::Padding { offset_bytes: (payload.len() + end - 1) as u64, found: 0 });
        }
        *integer = int(bytes);
        end -= bytes.len();
    }
    let [bucket_range, num_buckets] = integers;
    golomb([remainder_bits.into(), directory_bits.into(), 64], num_buckets, bucket_range, payload, 0)
}

/// The trailer of a compact golomb frame, section 10; `widths` are those of remainders and directory.
pub(crate) fn golomb_trailer(num_buckets: u64, bucket_range: u64, widths: [u8; 2]) -> Vec<u8> {
    if let (1, [remainder_bits @ 1..16, 0]) = (num_buckets, widths) {
        let unit = 1 << (remainder_bits - 1);
        if bucket_range % unit == 0 && (1..256).contains(&(bucket_range / unit)) {
            return vec![(bucket_range / unit) as u8, remainder_bits, 0x13];
        }
    }
    let (buckets, range) = (short(num_buckets), short(bucket_range));
    let lens = (buckets.len() << 4 | range.len()) as u8;
    [&buckets[..], &range, &widths, &[lens, 0x13]].concat()
}

/// The trailer of a compact ribbon frame, section 10, of seed, columns and layers; that of a thinned filter unless
/// `thinned_from` is 0.
pub(crate) fn ribbon_trailer(wide_share: u64, thinned_from: u8, [last_seed, columns, num_layers]: [u8; 3]) -> Vec<u8> {
    let share = short(wide_share);
    let (integer, len) = if thinned_from > 0 { (vec![thinned_from], 15) } else { (share.clone(), share.len() as u8) };
    [&integer[..], &[last_seed, columns, num_layers << 4 | len, 0x14]].concat()
}

/// The trailer of a compact fuse frame, section 10, of seed, bits and length of segments.
pub(crate) fn fuse_trailer(num_segments: u64, [seed, fingerprint_bits, log2_segment_len]: [u8; 3]) -> Vec<u8> {
    let segments = short(num_segments);
    let lens = log2_segment_len << 3 | segments.len() as u8;
    [&segments[..], &[seed, fingerprint_bits, lens, 0x15]].concat()
}

/// An integer without zero bytes at its upper end.
fn short(value: u64) -> Vec<u8> {
    (0..8).take_while(|i| value >> (8 * i) > 0).map(|i| (value >> (8 * i)) as u8).collect()
}

/// The compact frame of a block's own filter.
pub(crate) fn compact_of(block: &[u8]) -> Vec<u8> {
    let (num_entries, params, payload) = (int(&block[24..32]), &block[PARAMS_AT..DIGEST_AT], &block[HEADER_LEN..]);
    let trailer = match block[9] {
        _ if num_entries == 0 => vec![0x10],
        1 => vec![params[0], 0x11],
        2 => vec![(params[0] - 1) << 4 | params[1], 0x12],
        4 => ribbon_trailer(int(&params[4..8]), params[3], [params[2], params[0], params[1]]),
        5 => fuse_trailer(int(&params[4..8]), [params[2], params[0], params[1]]),
        _ => golomb_trailer(num_entries.div_ceil(params[2].into()), int(&params[4..]), [params[0], params[1]]),
    };
    [payload, &trailer].concat()
}
