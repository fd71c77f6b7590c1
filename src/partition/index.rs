//! The index's bytes.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 1 | version |
//! | 9 | 1 | family: 0 for partitions of keys, 6 for those of ranges |
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

use crate::bytes;
use crate::error::DecodeError;
use crate::frame::fields::{self, Fields};
use crate::frame::{self, HEADER_LEN, KIND_AT, OpenOptions, checksums};
use crate::hash::{self, EntryHasher};
use crate::kind::RANGES_TAG;

/// The first eight bytes of an index. Like a block's magic, they are not text, have no zero byte, and contain CR LF and
/// ^Z.
pub const INDEX_MAGIC: [u8; 8] = *b"\xf2FBLI\r\n\x1a";
const INDEX_VERSION: u8 = 1;

const NUM_PARTITIONS_AT: usize = frame::PARAMS_AT;
const RESERVED_AT: usize = NUM_PARTITIONS_AT + 4;
const RESERVED_END: usize = RESERVED_AT + 8;
const _: () = assert!(RESERVED_END == 52 && HEADER_LEN == 64);

pub(super) const RECORD_LEN: usize = 16;
/// The offsets within a record.
const LEN_AT: usize = 8;
const SEPARATOR_END_AT: usize = 12;

/// The statements of the header and of partitions' records, after they have been checked.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) entries: EntryHasher,
    pub(super) num_entries: u64,
    pub(super) num_partitions: u32,
}

/// The place of a partition, and the end of its separator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) separator_end: u32,
}

impl Record {
    /// Returns the bytes of the record.
    pub(super) fn encode(self) -> [u8; RECORD_LEN] {
        let mut record = [0; RECORD_LEN];
        bytes::put_u64(&mut record, 0, self.offset);
        bytes::put_u32(&mut record, LEN_AT, self.len);
        bytes::put_u32(&mut record, SEPARATOR_END_AT, self.separator_end);
        record
    }

    /// Returns the record of a partition that exists.
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

/// Returns the separator of a partition that exists, in a checked index.
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
pub(super) fn write_header(index: &mut [u8], tag: u8, facts: &Facts, context: u64) {
    let (hasher, transform) = (facts.entries.hasher(), facts.entries.transform());
    let (hash_id, seed, num_entries) = (hasher.hash_id(), hasher.seed(), facts.num_entries);
    index[KIND_AT] = tag;
    bytes::put_u32(index, NUM_PARTITIONS_AT, facts.num_partitions);
    Fields { hash_id, transform, features: 0, seed, num_entries }.write(INDEX_MAGIC, INDEX_VERSION, index, context);
}

/// Checks all of `index`, which must state `tag` as its family, in time linear in its length.
pub(super) fn check(index: &[u8], tag: u8, options: &OpenOptions) -> Result<Facts, DecodeError> {
    let header = fields::check_start(index, INDEX_MAGIC, INDEX_VERSION, options.context())?;
    match header[KIND_AT] {
        found if found == tag => {}
        found @ (0 | RANGES_TAG) => return Err(DecodeError::WrongFamily { found }),
        found => return Err(DecodeError::UnknownKind { found }),
    }
    let Fields { hash_id, transform, seed, num_entries, .. } = Fields::read(&header, 0)?;
    DecodeError::check_reserved(RESERVED_AT, &header[RESERVED_AT..RESERVED_END])?;
    fields::check_payload_len(index, &header)?;
    if options.digest_check() {
        checksums::check_digest(index, options.context())?;
    }
    let entries = options.check_expected(hash_id, seed, transform)?;
    let num_partitions = bytes::u32_at(&header, NUM_PARTITIONS_AT);
    let facts = Facts { entries, num_entries, num_partitions };
    check_partitions(index, &facts)?;
    Ok(facts)
}

/// Checks the records and the separators.
fn check_partitions(index: &[u8], facts: &Facts) -> Result<(), DecodeError> {
    let num_partitions = u64::from(facts.num_partitions);
    let payload_len = (index.len() - HEADER_LEN) as u64;
    let records_max = payload_len / RECORD_LEN as u64;
    // Every partition has an entry.
    let max_entries = if num_partitions == 0 { 0 } else { u64::MAX };
    DecodeError::check_params(&[
        ("num_partitions", num_partitions, 0, records_max),
        ("num_entries", facts.num_entries, num_partitions, max_entries),
    ])?;
    let separators_len = payload_len - num_partitions * RECORD_LEN as u64;
    // This fits `usize`, as the index is longer.
    let num_partitions = num_partitions as usize;
    let mut end = Record { offset: 0, len: 0, separator_end: 0 };
    for partition in 0..num_partitions {
        let record = Record::of(index, partition);
        let min = end.offset + u64::from(end.len);
        let max = u64::MAX - u64::from(record.len);
        DecodeError::check_params(&[
            ("offset", record.offset, min, max),
            ("len", record.len.into(), HEADER_LEN as u64, u32::MAX.into()),
            ("separator_end", record.separator_end.into(), end.separator_end.into(), separators_len),
        ])?;
        end = record;
    }
    DecodeError::check_params(&[("separator_end", end.separator_end.into(), separators_len, separators_len)])?;
    let separator_of = |partition| separator(index, num_partitions, partition);
    match (1..num_partitions).find(|&partition| separator_of(partition - 1) >= separator_of(partition)) {
        Some(partition) => Err(DecodeError::SeparatorOrder { partition: partition as u32 }),
        None => Ok(()),
    }
}

/// Returns the context of a partition's block. It differs from the contexts of all other partitions of the table and,
/// except with a chance of 2^−64 for each pair, of all other tables.
pub(super) fn partition_context(context: u64, partition: u32) -> u64 {
    hash::mix(context ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(partition.into())
}
