//! The rows of range filters, section 16.

use super::params::Params as Codes;
use super::{
    Checked, Frame, HEADER_LEN, PARAMS_AT, Row, crc, digest, features, in_range, length, length_is, magic, payload_len,
    transform, version, zero,
};
use crate::oracle::int;
use filterblock::DecodeError;

const LEN: u64 = 12;

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
        found if frame.has_entries() && found & 12 != 0 && found != 4 => {
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
        if is_of_integers { codes.unused(payload, HEADER_LEN as u64 + prefix_len(frame)) } else { Ok(()) }
    }),
];

fn param(frame: &Frame<'_>, at: usize, size: usize) -> u64 {
    int(&frame.header[PARAMS_AT + at..PARAMS_AT + at + size])
}

fn prefix_len(frame: &Frame<'_>) -> u64 {
    param(frame, 6, 2)
}

fn has_bytes(declared_bytes: u64, payload: &[u8]) -> Checked {
    let actual_bytes = payload.len() as u64;
    match declared_bytes <= actual_bytes {
        true => Ok(()),
        false => Err(DecodeError::PayloadLength { declared_bytes, actual_bytes }),
    }
}

/// Sections 16.1 to 16.3.
fn cut_keys(frame: &Frame<'_>) -> Checked {
    let (flags, depth, payload) = (param(frame, 1, 1), param(frame, 4, 2), frame.payload);
    let has_table = flags & 1 == 1;
    in_range("end_len", flags >> 4, 0, if has_table { LEN } else { 0 })?;
    in_range("depth", depth, 0, 1023)?;
    in_range("least", param(frame, 2, 2) % 1024, 0, depth)?;
    in_range("extra", param(frame, 0, 1), 0, depth)?;
    in_range("num_leaves", param(frame, 8, 4), 1, int(&frame.header[24..32]))?;
    let start = prefix_len(frame) + if has_table { 128 } else { 0 };
    // Bytes that are not there are 0.
    let first_len = int(payload.get(start as usize..).map_or(&[], |rest| &rest[..rest.len().min(2)]));
    has_bytes(start + 2 + first_len.div_ceil(8), payload)?;
    in_range("first_len", first_len, 0, depth)?;
    if has_table { table(&payload[start as usize - 128..start as usize], flags >> 4) } else { Ok(()) }
}

/// Section 16.1: the lengths of all bytes' bits, which must leave nothing of 2^12.
fn table(table: &[u8], end_len: u64) -> Checked {
    let all = 1 << LEN;
    let mut taken: u64 = if end_len == 0 { 0 } else { 1 << (LEN - end_len) };
    for len in table.iter().flat_map(|byte| [u64::from(byte & 15), u64::from(byte >> 4)]).filter(|&len| len > 0) {
        let least = (0..=LEN).find(|len| taken % (1 << (LEN - len)) == 0).expect("12 divides all");
        in_range("code_len", len, least, LEN)?;
        taken += 1 << (LEN - len);
        in_range("code", taken, 0, all).map_err(|_| DecodeError::Parameter {
            name: "code",
            value: taken,
            min: all,
            max: all,
        })?;
    }
    in_range("code", taken, all, all)
}

/// Section 16.6: the payload of golomb that follows the prefix.
fn codes<'a>(frame: &Frame<'a>) -> (Codes, &'a [u8]) {
    let codes = Codes::Golomb {
        remainder_bits: param(frame, 3, 1),
        directory_bits: param(frame, 4, 1),
        entries_per_bucket: 64,
        num_buckets: int(&frame.header[24..32]).div_ceil(64),
        bucket_range: param(frame, 8, 4) | param(frame, 5, 1) << 32,
    };
    (codes, frame.payload.get(prefix_len(frame) as usize..).unwrap_or_default())
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
            declared_bytes: declared_bytes.saturating_add(prefix_len(frame)),
            actual_bytes: frame.payload.len() as u64,
        },
        error => error,
    })
}
