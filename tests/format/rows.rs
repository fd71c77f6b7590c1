//! The rows of the document's tables of checks that errors belong to.

use crate::oracle::int;
use filterblock::DecodeError;

/// Of section 11, for a block.
pub fn of_block(error: &DecodeError, block: &[u8]) -> &'static str {
    let empty = block.len() >= 64 && block[24..32] == [0; 8];
    let length_is_told = || int(&block[32..40]) == block.len() as u64 - 64;
    match error {
        DecodeError::UnknownKind { .. } => "kind",
        DecodeError::PayloadLength { .. } if !length_is_told() => "payload_len",
        DecodeError::MisplacedEstimate { .. } => "estimate",
        DecodeError::PayloadLength { .. } if empty => "empty-len",
        DecodeError::Reserved { offset_bytes: 40.., .. } if empty => "empty-params",
        DecodeError::Reserved { offset_bytes: 40.., .. } => "reserved",
        DecodeError::PayloadLength { .. } => "range",
        DecodeError::Padding { .. } => "unused",
        error => of_both(error).unwrap_or_else(|| match error {
            DecodeError::Parameter { .. } => "range",
            _ => panic!("{error:?} belongs to no row"),
        }),
    }
}

/// Of section 15.4, for the index of a partitioned filter.
pub fn of_index(error: &DecodeError) -> &'static str {
    match error {
        DecodeError::PayloadLength { .. } => "payload_len",
        DecodeError::Parameter { name: "num_partitions", .. } => "records",
        DecodeError::Parameter { name: "num_entries", .. } => "entries",
        DecodeError::SeparatorOrder { .. } => "order",
        DecodeError::Reserved { offset_bytes: 9 | 44.., .. } => "reserved",
        error => of_both(error).unwrap_or_else(|| match error {
            DecodeError::Parameter { .. } => "record",
            _ => panic!("{error:?} belongs to no row"),
        }),
    }
}

/// The rows that blocks and indexes have in common.
fn of_both(error: &DecodeError) -> Option<&'static str> {
    Some(match error {
        DecodeError::TooShort { .. } => "length",
        DecodeError::Magic { .. } => "magic",
        DecodeError::HeaderChecksum { .. } | DecodeError::WrongContext { .. } => "crc",
        DecodeError::Parameter { name: "version", .. } | DecodeError::NewerVersion { .. } => "version",
        DecodeError::UnknownHash { .. } => "hash_id",
        DecodeError::UnknownFeatures { .. } => "features",
        DecodeError::UnknownTransform { .. } | DecodeError::Reserved { offset_bytes: 14 | 15, .. } => "transform",
        DecodeError::PayloadDigest { .. } => "digest",
        DecodeError::WrongHash { .. }
        | DecodeError::WrongSeed { .. }
        | DecodeError::WrongKey { .. }
        | DecodeError::WrongTransform { .. } => "expected",
        DecodeError::KeyNeeded { .. } => "key",
        _ => return None,
    })
}

/// Of section 10, for a compact frame.
pub fn of_compact(error: &DecodeError, frame: &[u8]) -> &'static str {
    match error {
        DecodeError::TooShort { len_bytes: 0, .. } => "tag",
        DecodeError::Parameter { name: "compact_version", .. } | DecodeError::NewerVersion { .. } => "version",
        DecodeError::UnknownKind { .. } => "kind",
        DecodeError::TooShort { .. } => "trailer",
        DecodeError::PayloadLength { .. } if frame.last() == Some(&0x10) => "empty",
        DecodeError::Parameter { name: "compact_integer_len", .. } | DecodeError::Padding { found: 0, .. } => {
            "integers"
        }
        _ => "payload",
    }
}
