//! What can go wrong: one variant per broken rule, each carrying its numbers.
//!
//! There are two families. [`BuildError`] belongs to the writer: a setting outside its legal range, or a size that
//! cannot be met. [`DecodeError`] belongs to the reader: bytes that are not a filter block from which this library can
//! answer. On any `DecodeError` a storage engine must behave as if the filter had answered *maybe*.

use crate::hash_name::HashName;
use crate::kind::FilterKind;
use crate::transform_name::TransformName;
use core::fmt;

/// Why a policy or a build was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// Bits per key outside the kind's legal range.
    BitsPerKey {
        /// The requested kind.
        kind: FilterKind,
        /// The requested number of bits per key.
        asked: f64,
        /// Least legal value, in bits per key.
        min: f64,
        /// Greatest legal value, in bits per key.
        max: f64,
    },
    /// Target false-positive rate outside the kind's legal range.
    FalsePositiveRate {
        /// The requested kind.
        kind: FilterKind,
        /// The requested rate (0.01 is one per cent).
        asked: f64,
        /// Least legal rate.
        min: f64,
        /// Greatest legal rate.
        max: f64,
    },
    /// A byte cap too small for any block of this kind over this many entries.
    ByteCap {
        /// The requested kind.
        kind: FilterKind,
        /// The cap in bytes, including the header.
        cap_bytes: u64,
        /// Least sufficient number of bytes.
        min_bytes: u64,
        /// Distinct entries to be stored.
        num_entries: u64,
    },
    /// A numeric setting outside its legal range.
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// The requested value.
        asked: u64,
        /// Least legal value.
        min: u64,
        /// Greatest legal value.
        max: u64,
    },
    /// A partitioned filter of a policy with a byte cap: partitions have a size of their own.
    CappedPartitions {
        /// The policy's cap in bytes.
        cap_bytes: u64,
    },
    /// The block would exceed what the format can describe or this machine can address.
    TooLarge {
        /// Distinct entries to be stored.
        num_entries: u64,
        /// Bytes that the payload would need.
        payload_bytes: u64,
        /// Greatest possible number of bytes.
        max_bytes: u64,
    },
    /// No seed that the format has suits these entries: among trillions of sets of hashes there is none. Choose another
    /// kind for this table.
    Unsolved {
        /// The requested kind.
        kind: FilterKind,
        /// Seeds that were tried.
        num_seeds: u32,
        /// Entries for which they were tried.
        num_entries: u64,
    },
    /// Keys were given to be transformed by an engine's own transform, but not its code. Without their entries a reader
    /// that has the code would deny them.
    NoCode {
        /// Id and parameter of the transform.
        transform: (u8, u16),
    },
    /// The memory for the block is too short.
    OutputTooShort {
        /// Bytes that were needed when the memory ended; the block may need more.
        needed_bytes: u64,
        /// Bytes given.
        actual_bytes: u64,
    },
    /// A finished block did not contain every hash that it was built from. The memory or the processor of this machine
    /// is faulty, or the library has a defect: discard the block and write the table without a filter.
    SelfCheck {
        /// The first hash that was not found.
        hash: u64,
        /// Number of hashes that were not found.
        num_missing: u64,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BitsPerKey { kind, asked, min, max } => {
                write!(f, "{kind}: {asked} bits per key is outside the legal range {min} to {max}")
            }
            Self::FalsePositiveRate { kind, asked, min, max } => {
                let (min, max) = (rounded_up(min), (max * 1e3) as u64 as f64 / 1e3);
                write!(f, "{kind}: a false-positive rate of ")?;
                if asked.abs() < 1e-3 {
                    write!(f, "{asked:e}")?
                } else {
                    write!(f, "{asked}")?
                }
                write!(f, " is outside the legal range {min:.2e} to {max}")
            }
            Self::ByteCap { kind, cap_bytes, min_bytes, num_entries } => write!(
                f,
                "{kind}: {cap_bytes} bytes cannot hold {num_entries} entries; at least {min_bytes} bytes are needed"
            ),
            Self::Setting { name, asked, min, max } => {
                write!(f, "{name} = {asked} is outside the legal range {min} to {max}")
            }
            Self::CappedPartitions { cap_bytes } => write!(
                f,
                "a partitioned filter takes bits per key or a false-positive rate, not a cap of {cap_bytes} bytes"
            ),
            Self::TooLarge { num_entries, payload_bytes, max_bytes } => {
                write!(f, "{num_entries} entries need a payload of {payload_bytes} bytes; the limit is {max_bytes}")
            }
            Self::Unsolved { kind, num_seeds, num_entries } => {
                write!(f, "{kind}: none of {num_seeds} seeds suits {num_entries} entries; choose another kind")
            }
            Self::NoCode { transform: (id, param) } => {
                let name = TransformName { id, param };
                write!(f, "keys were added under the transform {name}, whose code was not given: add entries instead")
            }
            Self::OutputTooShort { needed_bytes, actual_bytes } => {
                write!(f, "a block of at least {needed_bytes} bytes does not fit memory of {actual_bytes} bytes")
            }
            Self::SelfCheck { hash, num_missing } => write!(
                f,
                "self-check failed: {num_missing} added hashes, {hash:#018x} first, are not found in the finished \
                 block; discard it and write the table without a filter (faulty memory or processor?)"
            ),
        }
    }
}

/// Three significant digits, not below `value`, so that what a message names as the least legal value is legal.
fn rounded_up(value: f64) -> f64 {
    let mut scale = 1.0;
    // At most some three hundred times.
    while value > 0.0 && value * scale < 100.0 {
        scale *= 10.0;
    }
    let whole = (value * scale) as u64 as f64;
    (if whole < value * scale { whole + 1.0 } else { whole }) / scale
}

impl core::error::Error for BuildError {}

/// What a [`DecodeError`] means for the caller; see [`DecodeError::class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorClass {
    /// The bytes are not what a writer wrote: rebuild the filter.
    Damaged,
    /// The bytes are intact but use something that this version does not know: upgrade the reader.
    Newer,
    /// The bytes are an intact block of this format, but not the one that the caller expects here: the context, hash,
    /// seed or key transform is a different one.
    Mismatch,
}

impl fmt::Display for DecodeErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "damaged",
            Self::Newer => "newer",
            Self::Mismatch => "mismatch",
        })
    }
}

/// Why bytes were not accepted as a filter. All variants mean *maybe* to a storage engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// Fewer bytes than the smallest frame has. Never to be taken for "no entries".
    TooShort {
        /// Bytes given.
        len_bytes: u64,
        /// Least number of bytes a frame has.
        min_bytes: u64,
    },
    /// The first eight bytes are not this format's magic.
    Magic {
        /// The first eight bytes, as a little-endian integer.
        found: u64,
    },
    /// The number of entries is flagged as an estimate, which is legal only for a block with entries of a kind that
    /// combines.
    MisplacedEstimate {
        /// The block's kind.
        kind: FilterKind,
        /// Its number of entries.
        num_entries: u64,
    },
    /// The header's CRC-32 does not match its bytes.
    HeaderChecksum {
        /// The stored checksum.
        stored: u32,
        /// The checksum computed from the bytes.
        computed: u32,
    },
    /// The payload's XXH3-64 does not match its bytes.
    PayloadDigest {
        /// The stored digest.
        stored: u64,
        /// The digest computed from the bytes.
        computed: u64,
    },
    /// The payload has another length than the header's fields call for.
    PayloadLength {
        /// Payload bytes by the header: by its payload length, or else by its number of entries and parameters.
        declared_bytes: u64,
        /// Payload bytes present.
        actual_bytes: u64,
    },
    /// A parameter violates the format's rules.
    Parameter {
        /// The parameter's name in the format specification.
        name: &'static str,
        /// Its value.
        value: u64,
        /// Least legal value.
        min: u64,
        /// Greatest legal value.
        max: u64,
    },
    /// Bytes or bits that must be zero are not.
    Padding {
        /// Offset of the byte from the start of the frame.
        offset_bytes: u64,
        /// Its value.
        found: u8,
    },
    /// The separators of a partitioned filter's index do not ascend.
    SeparatorOrder {
        /// Number of the partition whose separator is not above the one before it.
        partition: u32,
    },
    /// A format version that this library does not know.
    NewerVersion {
        /// The stored version.
        found: u8,
        /// The newest version that this library reads.
        supported: u8,
    },
    /// A filter kind that this library does not know.
    UnknownKind {
        /// The stored tag.
        found: u8,
    },
    /// A hash function that this library does not know.
    UnknownHash {
        /// The stored id.
        found: u8,
    },
    /// A key transform in the range reserved for later versions.
    UnknownTransform {
        /// The stored id.
        found: u8,
    },
    /// A required feature that this library does not know.
    UnknownFeatures {
        /// The unknown bits among bits 8 to 15.
        bits: u16,
    },
    /// A reserved parameter byte is in use.
    Reserved {
        /// Offset of the byte from the start of the frame.
        offset_bytes: u64,
        /// Its value.
        found: u8,
    },
    /// Header and payload are intact and agree with each other, but were written under another context than the
    /// caller's: the block was read from the wrong place.
    WrongContext {
        /// The caller's context.
        expected: u64,
        /// The context under which the block was written.
        found: u64,
    },
    /// The block's entries were hashed by another function than the caller's: 1 is XXH3 with a seed, 2 is SipHash under
    /// a secret key.
    WrongHash {
        /// Id of the caller's hash.
        expected: u8,
        /// Id of the block's hash.
        found: u8,
    },
    /// The block's entries were hashed with another seed than the caller's.
    WrongSeed {
        /// The caller's seed.
        expected: u64,
        /// The block's seed.
        found: u64,
    },
    /// The block's entries were hashed under another secret key than the caller's.
    WrongKey {
        /// Identifies the caller's key without revealing it.
        expected: u64,
        /// Identifies the block's key.
        found: u64,
    },
    /// The block's entries were hashed under a secret key, which it does not contain and the caller did not give.
    KeyNeeded {
        /// Identifies the key without revealing it.
        key_id: u64,
    },
    /// The block's entries were derived by another key transform than the caller's.
    WrongTransform {
        /// The caller's transform: id and parameter.
        expected: (u8, u16),
        /// The block's transform: id and parameter.
        found: (u8, u16),
    },
}

impl DecodeError {
    /// What the error means for the caller: damaged bytes, a newer format, or an intact block that is not
    /// the expected one.
    ///
    /// ```
    /// use filterblock::{DecodeError, DecodeErrorClass, FilterBlockReader};
    /// let error = FilterBlockReader::open(b"short").unwrap_err();
    /// assert_eq!(error, DecodeError::TooShort { len_bytes: 5, min_bytes: 64 });
    /// assert_eq!(error.class(), DecodeErrorClass::Damaged);
    /// ```
    pub const fn class(&self) -> DecodeErrorClass {
        match self {
            Self::TooShort { .. }
            | Self::Magic { .. }
            | Self::HeaderChecksum { .. }
            | Self::PayloadDigest { .. }
            | Self::PayloadLength { .. }
            | Self::Parameter { .. }
            | Self::MisplacedEstimate { .. }
            | Self::SeparatorOrder { .. }
            | Self::Padding { .. } => DecodeErrorClass::Damaged,
            Self::NewerVersion { .. }
            | Self::UnknownKind { .. }
            | Self::UnknownHash { .. }
            | Self::UnknownTransform { .. }
            | Self::UnknownFeatures { .. }
            | Self::Reserved { .. } => DecodeErrorClass::Newer,
            Self::WrongContext { .. }
            | Self::WrongHash { .. }
            | Self::WrongSeed { .. }
            | Self::WrongKey { .. }
            | Self::KeyNeeded { .. }
            | Self::WrongTransform { .. } => DecodeErrorClass::Mismatch,
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { len_bytes, min_bytes } => {
                write!(f, "{len_bytes} bytes are too few for a filter (at least {min_bytes})")
            }
            Self::Magic { found } => write!(f, "not a filter block: magic {found:#018x}"),
            Self::HeaderChecksum { stored, computed } => {
                write!(f, "header checksum stored {stored:#010x}, computed {computed:#010x}")
            }
            Self::PayloadDigest { stored, computed } => {
                write!(f, "payload digest stored {stored:#018x}, computed {computed:#018x}")
            }
            Self::PayloadLength { declared_bytes, actual_bytes } => {
                write!(f, "the header calls for {declared_bytes} bytes of payload, found {actual_bytes}")
            }
            Self::Parameter { name, value, min, max } => {
                write!(f, "{name} = {value} is outside the legal range {min} to {max}")
            }
            Self::MisplacedEstimate { kind, num_entries } => {
                write!(
                    f,
                    "{num_entries} entries of a {kind} block are flagged as an estimate; only a block with \
                     entries, of a kind that combines, can have one"
                )
            }
            Self::Padding { offset_bytes, found } => {
                write!(f, "byte {offset_bytes} holds {found:#04x} where unused bits must be zero")
            }
            Self::SeparatorOrder { partition } => {
                write!(f, "the separator of partition {partition} is not above the one before it")
            }
            Self::NewerVersion { found, supported } => {
                write!(f, "format version {found} is newer than this reader's {supported}")
            }
            Self::UnknownKind { found } => write!(f, "filter kind {found} is unknown to this reader"),
            Self::UnknownHash { found } => write!(f, "hash id {found} is unknown to this reader"),
            Self::UnknownTransform { found } => write!(f, "key transform {found} is unknown to this reader"),
            Self::UnknownFeatures { bits } => {
                write!(f, "required feature bits {bits:#06x} are unknown to this reader")
            }
            Self::Reserved { offset_bytes, found } => {
                write!(f, "reserved byte {offset_bytes} holds {found:#04x}: written by a newer version")
            }
            Self::WrongContext { expected, found } => {
                write!(f, "intact block from another place: context expected {expected:#018x}, found {found:#018x}")
            }
            Self::WrongSeed { expected, found } => {
                write!(f, "hash seed expected {expected:#018x}, found {found:#018x}")
            }
            Self::WrongKey { expected, found } => {
                write!(f, "secret key expected {expected:#018x}, found {found:#018x} (ids, not the keys)")
            }
            Self::WrongHash { expected, found } => {
                let [expected, found] = [expected, found].map(|id| HashName { id });
                write!(f, "hash function expected {expected}, found {found}")
            }
            Self::KeyNeeded { key_id } => {
                write!(f, "hashed under the secret key {key_id:#018x}, which was not given")
            }
            Self::WrongTransform { expected, found } => {
                let [expected, found] = [expected, found].map(|(id, param)| TransformName { id, param });
                write!(f, "key transform expected {expected}, found {found}")
            }
        }
    }
}

impl core::error::Error for DecodeError {}
