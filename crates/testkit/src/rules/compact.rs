//! The rows of compact frames, section 10.

use super::params::Params;
use super::{in_range, length_is, without_seed};
use crate::oracle::int;
use filterblock::DecodeError;

/// The required result of opening a compact frame, with the row that fails.
pub fn compact_fault(frame: &[u8]) -> Result<(), (&'static str, DecodeError)> {
    let Some((tag, mut payload)) = frame.split_last() else {
        return Err(("tag", DecodeError::TooShort { actual_bytes: 0, min_bytes: 1 }));
    };
    match (tag >> 4, tag & 15) {
        (version @ (0 | 15), _) => {
            return in_range("compact_version", version.into(), 1, 1).map_err(|error| ("version", error));
        }
        (1, 0) => return length_is(0, payload).map_err(|error| ("empty", error)),
        (1, 1..=5 | 0xb..=0xd) => {}
        (1, found) => return Err(("kind", DecodeError::UnknownKind { found })),
        (found, _) => return Err(("version", DecodeError::NewerVersion { found, supported: 1 })),
    }
    let params = trailer(tag & 7, frame.len(), &mut payload)?;
    let own = without_seed(payload, tag & 8 == 8);
    params.range(own).and_then(|()| params.unused(own?, 0)).map_err(|error| ("payload", error))
}

/// Takes bytes from the end of a frame of `len` bytes.
fn take<'a>(rest: &mut &'a [u8], count: usize, len: usize) -> Result<&'a [u8], (&'static str, DecodeError)> {
    let Some(at) = rest.len().checked_sub(count) else {
        let (actual_bytes, min_bytes) = (len as u64, (len - rest.len() + count) as u64);
        return Err(("trailer", DecodeError::TooShort { actual_bytes, min_bytes }));
    };
    let (before, taken) = rest.split_at(at);
    *rest = before;
    Ok(taken)
}

/// An integer without zeros at its end, which begins at `base` of the frame.
fn integer(bytes: &[u8], base: usize) -> Result<u64, (&'static str, DecodeError)> {
    in_range("compact_integer_len", bytes.len() as u64, 1, 8).map_err(|error| ("integers", error))?;
    if bytes.last() == Some(&0) {
        let offset_bytes = (base + bytes.len() - 1) as u64;
        return Err(("integers", DecodeError::Padding { offset_bytes, found: 0 }));
    }
    Ok(int(bytes))
}

/// The parameters in a compact frame's trailer; `rest` becomes the payload.
fn trailer(kind: u8, len: usize, rest: &mut &[u8]) -> Result<Params, (&'static str, DecodeError)> {
    let byte = |rest: &mut &[u8]| take(rest, 1, len).map(|taken| u64::from(taken[0]));
    let first = byte(rest)?;
    match kind {
        1 => Ok(Params::Bloom { num_probes: first, num_bits: rest.len() as u64 * 8 }),
        2 => Ok(Params::Blocked { num_probes: (first >> 4) + 1, salt_bits: first & 15 }),
        4 => {
            let (columns, last_seed, is_thinned) = (byte(rest)?, byte(rest)?, first & 15 == 15);
            let of_integer = take(rest, if is_thinned { 1 } else { first as usize & 15 }, len)?;
            let value = if first & 15 == 0 { 0 } else { integer(of_integer, rest.len())? };
            let (wide_share, thinned_from) = if is_thinned { (0, value) } else { (value, 0) };
            Ok(Params::Ribbon { columns, num_layers: first >> 4, last_seed, wide_share, thinned_from })
        }
        5 => {
            let (fingerprint_bits, seed) = (byte(rest)?, byte(rest)?);
            let segments = take(rest, first as usize & 7, len)?;
            let num_segments = integer(segments, rest.len())?;
            Ok(Params::Fuse { fingerprint_bits, log2_segment_len: first >> 3, seed, num_segments })
        }
        _ => {
            let golomb = |remainder_bits, directory_bits, num_buckets, bucket_range| Params::Golomb {
                remainder_bits,
                directory_bits,
                entries_per_bucket: 64,
                num_buckets,
                bucket_range,
            };
            if (1..16).contains(&first) {
                let range = take(rest, 1, len)?;
                return Ok(golomb(first, 0, 1, integer(range, rest.len())? << (first - 1)));
            }
            let (directory_bits, remainder_bits) = (byte(rest)?, byte(rest)?);
            // Both integers are there before either is read.
            let range_len = first as usize & 15;
            let both = take(rest, range_len + (first as usize >> 4), len)?;
            let (buckets, range) = both.split_at(both.len() - range_len);
            let bucket_range = integer(range, rest.len() + buckets.len())?;
            Ok(golomb(remainder_bits, directory_bits, integer(buckets, rest.len())?, bucket_range))
        }
    }
}
