//! The compact frame: a payload and a few bytes behind it, for engines whose filter blocks are tiny (one for every 2 KiB
//! of data) or already checksummed and described elsewhere. It carries no checksum, seed, transform or count.
//!
//! The last byte is a tag: the frame's version, 1, in the upper four bits, the kind in the lower four; kind 0 is the
//! frame of no entries, one byte long. Before the tag stand the kind's parameters:
//!
//! | kind | bytes before the tag |
//! |---|---|
//! | bloom | `num_probes`; `num_bits` is 8 for each byte of the payload |
//! | blocked | `num_probes` − 1 in the upper four bits, `salt_bits` in the lower four |
//! | golomb | `num_buckets` and `bucket_range` in as many bytes as they need, `remainder_bits`, `directory_bits`, and a byte of their two lengths: that of `num_buckets` in the upper four bits |

use crate::bytes;
use crate::error::DecodeError;
use crate::filter::{FilterView, Params, blocked, bloom, golomb};
use crate::kind::FilterKind;

/// Version of the frame, in the tag's upper four bits.
const VERSION: u8 = 1;
/// No version to come: erased flash reads as ones.
const ERASED: u8 = 15;

/// The frame of a filter without entries.
#[cfg(feature = "std")]
pub(crate) const EMPTY: [u8; 1] = [VERSION << 4];

/// Appends what follows the payload of `params`.
#[cfg(feature = "std")]
pub(crate) fn write_trailer(params: &Params, out: &mut std::vec::Vec<u8>) {
    match params {
        Params::Bloom(p) => out.push(p.num_probes() as u8),
        Params::Blocked(p) => out.push(((p.num_probes() - 1) << 4 | p.salt_bits()) as u8),
        Params::Golomb(p) => {
            let lens = [p.num_buckets(), p.bucket_range()].map(|value| bytes::push_short(out, value));
            out.extend([p.remainder_bits() as u8, p.directory_bits() as u8, lens[0] << 4 | lens[1]]);
        }
    }
    out.push(VERSION << 4 | params.kind().tag());
}

/// Reads a frame.
pub(crate) fn read(frame: &[u8]) -> Result<(Option<Params>, FilterView<'_>), DecodeError> {
    let mut rest = frame;
    let tag = pop(&mut rest, frame)?;
    if tag >> 4 != VERSION {
        return Err(match tag >> 4 {
            found @ (0 | ERASED) => {
                DecodeError::Parameter { name: "compact_version", value: found.into(), min: 1, max: VERSION.into() }
            }
            found => DecodeError::NewerVersion { found, supported: VERSION },
        });
    }
    if tag & 0xf == 0 {
        return match rest.len() {
            0 => Ok((None, FilterView::Empty)),
            more => Err(DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: more as u64 }),
        };
    }
    let kind = FilterKind::from_tag(tag & 0xf).ok_or(DecodeError::UnknownKind { found: tag & 0xf })?;
    let params = match kind {
        FilterKind::Bloom => {
            let num_probes = u32::from(pop(&mut rest, frame)?);
            Params::Bloom(bloom::Params::new(rest.len() as u64 * 8, num_probes)?)
        }
        FilterKind::Blocked => {
            let byte = pop(&mut rest, frame)?;
            let (num_probes, salt_bits) = (u32::from(byte >> 4) + 1, u32::from(byte & 0xf));
            Params::Blocked(blocked::Params::with_payload_len(rest.len() as u64, num_probes, salt_bits)?)
        }
        FilterKind::Golomb => {
            let lens = pop(&mut rest, frame)?;
            let (directory_bits, remainder_bits) = (pop(&mut rest, frame)?, pop(&mut rest, frame)?);
            let bucket_range = pop_short(&mut rest, frame, lens & 0xf)?;
            let num_buckets = pop_short(&mut rest, frame, lens >> 4)?;
            Params::Golomb(golomb::Params::new(num_buckets, bucket_range, remainder_bits, directory_bits)?)
        }
    };
    Ok((Some(params), FilterView::new(params, rest, 0)?))
}

/// Takes the last `len` bytes of `rest`.
fn pop_many<'a>(rest: &mut &'a [u8], frame: &[u8], len: usize) -> Result<&'a [u8], DecodeError> {
    let Some((before, taken)) = rest.len().checked_sub(len).and_then(|at| rest.split_at_checked(at)) else {
        let min_bytes = (frame.len() - rest.len() + len) as u64;
        return Err(DecodeError::TooShort { len_bytes: frame.len() as u64, min_bytes });
    };
    *rest = before;
    Ok(taken)
}

fn pop(rest: &mut &[u8], frame: &[u8]) -> Result<u8, DecodeError> {
    Ok(pop_many(rest, frame, 1)?[0])
}

/// Takes an integer of `len` bytes, 1 to 8, whose last byte is not zero: there is one way to write a value, and none for 0.
fn pop_short(rest: &mut &[u8], frame: &[u8], len: u8) -> Result<u64, DecodeError> {
    if !(1..=8).contains(&len) {
        return Err(DecodeError::Parameter { name: "compact_integer_len", value: u64::from(len), min: 1, max: 8 });
    }
    let taken = pop_many(rest, frame, usize::from(len))?;
    match taken.last() {
        Some(0) => Err(DecodeError::Padding { offset_bytes: (rest.len() + taken.len() - 1) as u64, found: 0 }),
        _ => Ok(bytes::u64_padded(taken, 0)),
    }
}
