//! The offsets in the header of 64 bytes, before a block's payload or the index of a partitioned filter, and the
//! fixed lengths of a compact frame.

pub(crate) const MAGIC_LEN: usize = 8;
pub(crate) const VERSION_AT: usize = MAGIC_LEN;
/// A block's kind; in an index the family of its partitions.
pub(crate) const KIND_AT: usize = VERSION_AT + 1;
pub(crate) const HASH_AT: usize = KIND_AT + 1;
pub(crate) const TRANSFORM_AT: usize = HASH_AT + 1;
pub(crate) const FEATURES_AT: usize = TRANSFORM_AT + 1;
pub(crate) const TRANSFORM_PARAM_AT: usize = FEATURES_AT + 2;
pub(crate) const SEED_AT: usize = TRANSFORM_PARAM_AT + 2;
pub(crate) const NUM_ENTRIES_AT: usize = SEED_AT + 8;
pub(crate) const PAYLOAD_LEN_AT: usize = NUM_ENTRIES_AT + 8;
/// The kind's parameters; in an index, fields of its own.
pub(crate) const PARAMS_AT: usize = PAYLOAD_LEN_AT + 8;
/// The number of bytes that are set aside for a kind's parameters.
pub(crate) const PARAMS_LEN: usize = 12;
pub(crate) const DIGEST_AT: usize = PARAMS_AT + PARAMS_LEN;
pub(crate) const CRC_AT: usize = DIGEST_AT + 8;
/// Length of the header in bytes.
pub const HEADER_LEN: usize = CRC_AT + 4;
const _: () = assert!(SEED_AT == 16 && PARAMS_AT == 40 && HEADER_LEN == 64);

/// Length of the compact frame of no entries: its tag.
pub(crate) const EMPTY_COMPACT_LEN: usize = 1;
/// The most bytes that follow the payload of a compact frame: the parameters of any kind, and the tag.
pub(crate) const MAX_TRAILER_LEN: u64 = 20;
