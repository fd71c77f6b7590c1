//! The rows of range filters, section 16.

use super::params::Params as Codes;
use super::{
    Checked, Frame, HEADER_LEN, PARAMS_AT, Row, crc, digest, features, in_range, length, length_is, magic, payload_len,
    transform, version, zero,
};
use crate::oracle::int;
use filterblock::DecodeError;

pub const OF_RANGES: [Row; 15] = [
    ("length", length),
    ("magic", |frame| magic(frame, b"\xf1FBLK\r\n\x1a")),
    ("crc", crc),
    ("version", version),
    ("kind", |frame| match frame.header[9] {
        6 => Ok(()),
        found @ 1..=5 => Err(DecodeError::WrongFamily { found }),
        found => Err(DecodeError::UnknownKind { found }),
    }),
    ("hash_id", |frame| match frame.hash_id() {
        1 => zero(frame, 16..24),
        found => Err(DecodeError::UnknownHash { found }),
    }),
    ("features", |frame| features(frame, 0xff00)),
    ("transform", |frame| match frame.transform().id {
        0 => zero(frame, 14..16),
        found => transform(frame).and(Err(DecodeError::UnknownTransform { found })),
    }),
    ("payload_len", payload_len),
    ("digest", digest),
    ("empty-len", |frame| if frame.has_entries() { Ok(()) } else { length_is(0, frame.payload) }),
    ("empty-params", |frame| if frame.has_entries() { Ok(()) } else { zero(frame, PARAMS_AT..PARAMS_AT + 12) }),
    ("reserved", |frame| match frame.header[PARAMS_AT + 1] {
        found if frame.has_entries() && ![0, 1, 4].contains(&found) => {
            Err(DecodeError::Reserved { offset_bytes: PARAMS_AT as u64 + 1, found })
        }
        _ => Ok(()),
    }),
    ("range", |frame| match frame.has_entries() {
        true if frame.header[PARAMS_AT + 1] & 4 != 0 => integers(frame),
        true => cut_keys(frame),
        false => Ok(()),
    }),
    ("unused", |frame| {
        let is_of_integers = frame.has_entries() && frame.header[PARAMS_AT + 1] & 4 != 0;
        let (codes, payload) = codes(frame);
        if is_of_integers { codes.unused(payload, HEADER_LEN as u64 + codes_at(frame)) } else { Ok(()) }
    }),
];

fn param(frame: &Frame<'_>, at: usize, size: usize) -> u64 {
    int(&frame.header[PARAMS_AT + at..PARAMS_AT + at + size])
}

fn prefix_len(frame: &Frame<'_>) -> u64 {
    param(frame, 6, 2)
}

/// Sections 16.1 and 16.2.
fn cut_keys(frame: &Frame<'_>) -> Checked {
    let [units, is_gaps, mark_bytes, num_classes] = [0, 1, 2, 3].map(|at| param(frame, at, 1));
    let [num_columns, least, num_groups] = [param(frame, 6, 1), param(frame, 7, 1), param(frame, 8, 4)];
    in_range("group_units", units, 1, 16)?;
    in_range("mark_bytes", mark_bytes, 1, 8)?;
    in_range("num_classes", num_classes, 0, 16)?;
    in_range("num_columns", num_columns, 0, if num_classes == 0 { 0 } else { 255 })?;
    in_range("width", if is_gaps == 1 { least } else { 0 }, 0, if num_classes == 0 { 8 } else { 0 })?;
    in_range("num_groups", num_groups, 1, int(&frame.header[24..32]))?;
    let (prefix_len, group_len) = (param(frame, 4, 2), 32 * units);
    let code_len = if num_classes == 0 { 0 } else { 384 + 2 * num_classes * (num_columns + 1) };
    let before = prefix_len + code_len + (num_groups - 1) * (group_len + mark_bytes);
    let actual_bytes = frame.payload.len() as u64;
    let declared_bytes = actual_bytes.clamp(before + 4, before + group_len);
    if declared_bytes != actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    let code = &frame.payload[prefix_len as usize..][..code_len as usize];
    let Some((columns, rest)) = code.split_at_checked(256) else { return Ok(()) };
    let most = |values: &mut dyn Iterator<Item = u8>| values.max().map_or(0, u64::from);
    in_range("column", most(&mut columns.iter().copied()), 0, num_columns)?;
    in_range("class", most(&mut rest[..128].iter().flat_map(|&byte| [byte & 15, byte >> 4])), 0, num_classes - 1)
}

/// The place of the payload of golomb in one of section 16.8.
fn codes_at(frame: &Frame<'_>) -> u64 {
    prefix_len(frame) + 2 * param(frame, 0, 1)
}

/// That payload.
fn codes<'a>(frame: &Frame<'a>) -> (Codes, &'a [u8]) {
    let codes = Codes::Golomb {
        remainder_bits: param(frame, 3, 1),
        directory_bits: param(frame, 4, 1),
        entries_per_bucket: 64,
        num_buckets: int(&frame.header[24..32]).div_ceil(64),
        bucket_range: param(frame, 8, 4) | param(frame, 5, 1) << 32,
    };
    (codes, frame.payload.get(codes_at(frame) as usize..).unwrap_or_default())
}

fn integers(frame: &Frame<'_>) -> Checked {
    let (codes, payload) = codes(frame);
    let log_range = match codes {
        Codes::Golomb { bucket_range, .. } => bucket_range.checked_ilog2().unwrap_or(0),
        _ => 0,
    };
    in_range("width", param(frame, 0, 1), 0, 16)?;
    in_range("log_block", param(frame, 2, 1), 0, u64::from(log_range).min(39))?;
    codes.range(Ok(payload)).map_err(|error| match error {
        DecodeError::PayloadLength { declared_bytes, .. } => DecodeError::PayloadLength {
            declared_bytes: declared_bytes.saturating_add(codes_at(frame)),
            actual_bytes: frame.payload.len() as u64,
        },
        error => error,
    })
}
