//! The index's bytes.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 1 | version |
//! | 9 | 1 | zero |
//! | 10 | 1 | hash id |
//! | 11 | 1 | key-transform id |
//! | 12 | 2 | feature bits |
//! | 14 | 2 | key-transform parameter |
//! | 16 | 8 | hash seed, or the id of a secret key |
//! | 24 | 8 | number of entries, of all partitions |
//! | 32 | 8 | bytes that follow the header |
//! | 40 | 4 | number of partitions |
//! | 44 | 8 | zero |
//! | 52 | 12 | checksums, as in a block |
//! | 64 | 16 each | partition: offset (8), length (4), end of its separator among the separators (4) |
//! | | | separators, without gaps |

use crate::block::checksums;
use crate::block::{HEADER_LEN, OpenOptions, REQUIRED_FEATURES};
use crate::bytes;
use crate::error::DecodeError;
use crate::hash::{self, KeyHasher};
use crate::policy::KeyTransform;

/// The first eight bytes of an index. Like a block's magic, not text, without a zero byte, with CR LF and ^Z inside.
pub const INDEX_MAGIC: [u8; 8] = *b"\xf2FBLI\r\n\x1a";
const INDEX_VERSION: u8 = 1;

const VERSION_AT: usize = INDEX_MAGIC.len();
const ZERO_AT: usize = VERSION_AT + 1;
const HASH_AT: usize = ZERO_AT + 1;
const TRANSFORM_AT: usize = HASH_AT + 1;
const FEATURES_AT: usize = TRANSFORM_AT + 1;
const TRANSFORM_PARAM_AT: usize = FEATURES_AT + 2;
const SEED_AT: usize = TRANSFORM_PARAM_AT + 2;
const NUM_ENTRIES_AT: usize = SEED_AT + 8;
const PAYLOAD_LEN_AT: usize = NUM_ENTRIES_AT + 8;
const NUM_PARTITIONS_AT: usize = PAYLOAD_LEN_AT + 8;
const RESERVED_AT: usize = NUM_PARTITIONS_AT + 4;
const RESERVED_END: usize = RESERVED_AT + 8;
const _: () = assert!(RESERVED_END == 52 && HEADER_LEN == 64);

pub(super) const RECORD_LEN: usize = 16;
/// Within a record.
const LEN_AT: usize = 8;
const SEPARATOR_END_AT: usize = 12;

/// What the header states, and the record of a partition, after they have been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) transform: KeyTransform,
    pub(super) hasher: KeyHasher,
    pub(super) num_entries: u64,
    pub(super) num_partitions: u32,
}

/// Where a partition is stored, and where its separator ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) separator_end: u32,
}

impl Record {
    #[cfg(feature = "std")]
    pub(super) fn encode(self) -> [u8; RECORD_LEN] {
        let mut record = [0; RECORD_LEN];
        bytes::put_u64(&mut record, 0, self.offset);
        bytes::put_u32(&mut record, LEN_AT, self.len);
        bytes::put_u32(&mut record, SEPARATOR_END_AT, self.separator_end);
        record
    }

    /// The record of a partition that exists.
    #[inline]
    pub(super) fn of(index: &[u8], partition: usize) -> Self {
        let record = &index[HEADER_LEN + partition * RECORD_LEN..][..RECORD_LEN];
        Self {
            offset: bytes::u64_at(record, 0),
            len: bytes::u32_at(record, LEN_AT),
            separator_end: bytes::u32_at(record, SEPARATOR_END_AT),
        }
    }
}

/// The separator of a partition that exists, of a checked index.
#[inline]
pub(super) fn separator(index: &[u8], num_partitions: usize, partition: usize) -> &[u8] {
    let start = match partition.checked_sub(1) {
        Some(before) => Record::of(index, before).separator_end,
        None => 0,
    };
    let end = Record::of(index, partition).separator_end;
    &index[HEADER_LEN + num_partitions * RECORD_LEN..][start as usize..end as usize]
}

/// Fills the first [`HEADER_LEN`] bytes of `index`, which must be complete otherwise.
#[cfg(feature = "std")]
pub(super) fn write_header(index: &mut [u8], facts: &Facts, context: u64) {
    let payload_len = (index.len() - HEADER_LEN) as u64;
    let (transform, transform_param) = facts.transform.to_wire();
    index[..VERSION_AT].copy_from_slice(&INDEX_MAGIC);
    index[VERSION_AT] = INDEX_VERSION;
    index[HASH_AT] = facts.hasher.hash_id();
    index[TRANSFORM_AT] = transform;
    bytes::put_u16(index, TRANSFORM_PARAM_AT, transform_param);
    bytes::put_u64(index, SEED_AT, facts.hasher.seed());
    bytes::put_u64(index, NUM_ENTRIES_AT, facts.num_entries);
    bytes::put_u64(index, PAYLOAD_LEN_AT, payload_len);
    bytes::put_u32(index, NUM_PARTITIONS_AT, facts.num_partitions);
    checksums::write(index, context);
}

/// Checks all of `index`, in time linear in its length.
pub(super) fn check(index: &[u8], options: &OpenOptions) -> Result<Facts, DecodeError> {
    let Some(header) = bytes::array_at::<HEADER_LEN>(index, 0) else {
        return Err(DecodeError::TooShort { len_bytes: index.len() as u64, min_bytes: HEADER_LEN as u64 });
    };
    if header[..VERSION_AT] != INDEX_MAGIC {
        return Err(DecodeError::Magic { found: bytes::u64_at(&header, 0) });
    }
    checksums::check_crc(index, options.given_context())?;
    match header[VERSION_AT] {
        INDEX_VERSION => {}
        0 => return Err(out_of_range("version", 0, 1, INDEX_VERSION.into())),
        found => return Err(DecodeError::NewerVersion { found, supported: INDEX_VERSION }),
    }
    let hash_id = header[HASH_AT];
    if ![hash::XXH3_ID, hash::SIPHASH_ID].contains(&hash_id) {
        return Err(DecodeError::UnknownHash { found: hash_id });
    }
    let bits = bytes::u16_at(&header, FEATURES_AT) & REQUIRED_FEATURES;
    if bits != 0 {
        return Err(DecodeError::UnknownFeatures { bits });
    }
    let transform = KeyTransform::from_wire(header[TRANSFORM_AT], bytes::u16_at(&header, TRANSFORM_PARAM_AT))?;
    let reserved = core::iter::once(ZERO_AT).chain(RESERVED_AT..RESERVED_END).find(|&at| header[at] != 0);
    if let Some(at) = reserved {
        return Err(DecodeError::Reserved { offset_bytes: at as u64, found: header[at] });
    }
    let (declared_bytes, actual_bytes) = (bytes::u64_at(&header, PAYLOAD_LEN_AT), (index.len() - HEADER_LEN) as u64);
    if declared_bytes != actual_bytes {
        return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes });
    }
    if !options.is_trusted() {
        checksums::check_digest(index, options.given_context())?;
    }
    let entries = options.check_expected(hash_id, bytes::u64_at(&header, SEED_AT), transform)?;
    let num_partitions = bytes::u32_at(&header, NUM_PARTITIONS_AT);
    let num_entries = bytes::u64_at(&header, NUM_ENTRIES_AT);
    let facts = Facts { transform: entries.transform(), hasher: entries.hasher(), num_entries, num_partitions };
    check_partitions(index, &facts)?;
    Ok(facts)
}

/// Checks the records and the separators.
fn check_partitions(index: &[u8], facts: &Facts) -> Result<(), DecodeError> {
    let num_partitions = u64::from(facts.num_partitions);
    let payload_len = (index.len() - HEADER_LEN) as u64;
    let records_max = payload_len / RECORD_LEN as u64;
    if num_partitions > records_max {
        return Err(out_of_range("num_partitions", num_partitions, 0, records_max));
    }
    // Every partition has an entry.
    let entries_max = if num_partitions == 0 { 0 } else { u64::MAX };
    if !(num_partitions..=entries_max).contains(&facts.num_entries) {
        return Err(out_of_range("num_entries", facts.num_entries, num_partitions, entries_max));
    }
    let separators_len = payload_len - num_partitions * RECORD_LEN as u64;
    // Within `usize`, by the length of the index.
    let num_partitions = num_partitions as usize;
    let mut end = Record { offset: 0, len: 0, separator_end: 0 };
    for partition in 0..num_partitions {
        let record = Record::of(index, partition);
        let min = end.offset + u64::from(end.len);
        let max = u64::MAX - u64::from(record.len);
        if !(min..=max).contains(&record.offset) {
            return Err(out_of_range("offset", record.offset, min, max));
        }
        if (record.len as usize) < HEADER_LEN {
            return Err(out_of_range("len", record.len.into(), HEADER_LEN as u64, u32::MAX.into()));
        }
        let separator_end = u64::from(record.separator_end);
        if !(end.separator_end.into()..=separators_len).contains(&separator_end) {
            return Err(out_of_range("separator_end", separator_end, end.separator_end.into(), separators_len));
        }
        let separator_of = |partition| separator(index, num_partitions, partition);
        if partition > 0 && separator_of(partition - 1) >= separator_of(partition) {
            return Err(DecodeError::SeparatorOrder { partition: partition as u32 });
        }
        end = record;
    }
    if u64::from(end.separator_end) != separators_len {
        let (value, min) = (end.separator_end.into(), separators_len);
        return Err(out_of_range("separator_end", value, min, min));
    }
    Ok(())
}

fn out_of_range(name: &'static str, value: u64, min: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min, max }
}

/// The context of a partition's block: differs from that of every other partition of the table, and (but for a chance
/// in 2^64 for each pair) from those of all other tables.
pub(super) fn partition_context(context: u64, partition: u32) -> u64 {
    hash::mix(context ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(partition.into())
}
