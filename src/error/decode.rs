//! [`DecodeError`]: the reasons why bytes were not accepted as a filter.

use super::names::{HashName, TransformId};
use crate::kind::FilterKind;
use core::fmt;

/// The meaning of a [`DecodeError`] for the caller; see [`DecodeError::class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorClass {
    /// The bytes are not those that a writer wrote: rebuild the filter.
    Damaged,
    /// The bytes are intact but use something that this version does not know: upgrade the reader.
    Newer,
    /// The bytes are an intact block of this format, but not the one that the caller expects here: the context, hash,
    /// seed or key transform is a different one, or it is a range filter where one of keys is expected, or the reverse.
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

/// The reason why bytes were not accepted as a filter. All variants mean *maybe* to a storage engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are fewer bytes than in the smallest frame. Never treat this as "no entries".
    TooShort {
        /// Bytes given.
        actual_bytes: u64,
        /// The least number of bytes of a frame.
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
    /// The block is marked as remapped, which a filter of this kind never is, nor one without entries.
    MisplacedSeed {
        /// The kind.
        kind: FilterKind,
        /// The number of entries.
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
    /// The payload's length differs from the one that the header's fields determine.
    PayloadLength {
        /// The payload's length by the header: by its payload length, or else by its number of entries and parameters.
        declared_bytes: u64,
        /// The number of payload bytes present.
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
    /// A byte or bit that must be zero is not.
    Padding {
        /// Offset of the byte from the start of the frame.
        offset_bytes: u64,
        /// Its value.
        found: u8,
    },
    /// The separators of a partitioned filter's index do not ascend.
    SeparatorOrder {
        /// The number of the partition whose separator is not above the one before it.
        partition: u32,
    },
    /// The format version is unknown to this library.
    NewerVersion {
        /// The stored version.
        found: u8,
        /// The newest version that this library reads.
        supported: u8,
    },
    /// The filter kind is unknown to this library.
    UnknownKind {
        /// The stored tag.
        found: u8,
    },
    /// The hash function is unknown to this library.
    UnknownHash {
        /// The stored id.
        found: u8,
    },
    /// The key transform is in the range reserved for later versions.
    UnknownTransform {
        /// The stored id.
        found: u8,
    },
    /// A required feature is unknown to this library.
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
        /// The id of the caller's hash function.
        expected: u8,
        /// The id of the block's hash function.
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
        /// The id of the caller's key, which does not reveal it.
        expected: u64,
        /// The id of the block's key.
        found: u64,
    },
    /// The block's entries were hashed under a secret key, which it does not contain and the caller did not give.
    KeyNeeded {
        /// The id of the key, which does not reveal it.
        key_id: u64,
    },
    /// The block's entries were derived by another key transform than the caller's.
    WrongTransform {
        /// The caller's transform.
        expected: TransformId,
        /// The block's transform.
        found: TransformId,
    },
    /// The block, or the index of partitions, is a filter of ranges where one of keys is expected, or the reverse.
    WrongFamily {
        /// The byte at offset 9: that of [`BlockKind::Ranges`](crate::BlockKind) for ranges; for keys the block's kind, or 0
        /// in an index.
        found: u8,
    },
}

impl DecodeError {
    /// Compares the length that is stated of the bytes after a header, or follows from parameters, with theirs.
    pub(crate) fn check_len(declared_bytes: u64, actual_bytes: u64) -> Result<(), Self> {
        match declared_bytes == actual_bytes {
            true => Ok(()),
            false => Err(Self::PayloadLength { declared_bytes, actual_bytes }),
        }
    }

    /// Refuses the first of some parameters, each with its name, its value, and the least and the greatest legal value,
    /// that is not within these.
    pub(crate) fn check_params(params: &[(&'static str, u64, u64, u64)]) -> Result<(), Self> {
        match params.iter().find(|(_, value, min, max)| !(min..=max).contains(&value)) {
            Some(&(name, value, min, max)) => Err(Self::Parameter { name, value, min, max }),
            None => Ok(()),
        }
    }

    /// Refuses a byte that is not zero, the first of which is at `offset_bytes` of the frame.
    pub(crate) fn check_reserved(offset_bytes: usize, bytes: &[u8]) -> Result<(), Self> {
        match (offset_bytes as u64..).zip(bytes.iter().copied()).find(|&(_, byte)| byte != 0) {
            Some((offset_bytes, found)) => Err(Self::Reserved { offset_bytes, found }),
            None => Ok(()),
        }
    }

    /// Returns the meaning of the error for the caller: damaged bytes, a newer format, or an intact block that is not
    /// the expected one.
    ///
    /// ```
    /// use filterblock::{DecodeError, DecodeErrorClass, OpenOptions};
    /// let error = OpenOptions::new().open(b"short").unwrap_err();
    /// assert_eq!(error, DecodeError::TooShort { actual_bytes: 5, min_bytes: 64 });
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
            | Self::MisplacedSeed { .. }
            | Self::SeparatorOrder { .. }
            | Self::Padding { .. } => DecodeErrorClass::Damaged,
            Self::NewerVersion { .. }
            | Self::UnknownKind { .. }
            | Self::UnknownHash { .. }
            | Self::UnknownTransform { .. }
            | Self::UnknownFeatures { .. }
            | Self::Reserved { .. } => DecodeErrorClass::Newer,
            Self::WrongFamily { .. }
            | Self::WrongContext { .. }
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
            Self::TooShort { actual_bytes, min_bytes } => {
                write!(f, "{actual_bytes} bytes are too few for a filter (at least {min_bytes})")
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
            Self::MisplacedSeed { kind, num_entries } => {
                write!(f, "it is marked as remapped, which a {kind} filter of {num_entries} entries cannot be")
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
            Self::WrongFamily { found } => match FilterKind::from_tag(found) {
                Some(kind) => write!(f, "a {kind} filter (kind {found}) where a range filter is expected"),
                None if found == 0 => {
                    write!(f, "an index of filters of keys (kind {found}) where range filters are expected")
                }
                None => write!(f, "a range filter (kind {found}) where a filter of keys is expected"),
            },
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
                write!(f, "key transform expected {expected}, found {found}")
            }
        }
    }
}

impl core::error::Error for DecodeError {}
