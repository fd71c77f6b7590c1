//! [`BuildError`]: the reasons why a policy or a build was refused.

use super::names::TransformId;
use crate::kind::FilterKind;
use core::fmt;

/// The reason why a policy or a build was refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// The bits per key are outside the kind's legal range.
    BitsPerKey {
        /// The requested kind.
        kind: FilterKind,
        /// The requested number of bits per key.
        asked: f64,
        /// The least legal value, in bits per key.
        min: f64,
        /// The greatest legal value, in bits per key.
        max: f64,
    },
    /// The target false-positive rate is outside the kind's legal range.
    FalsePositiveRate {
        /// The requested kind.
        kind: FilterKind,
        /// The requested rate (0.01 is one per cent).
        asked: f64,
        /// The least legal rate.
        min: f64,
        /// The greatest legal rate.
        max: f64,
    },
    /// The byte cap is too small for any block of this kind with this number of entries.
    ByteCap {
        /// The requested kind.
        kind: FilterKind,
        /// The cap in bytes, including the header.
        cap_bytes: u64,
        /// The least sufficient number of bytes.
        min_bytes: u64,
        /// Distinct entries to be stored.
        num_entries: u64,
    },
    /// A numeric setting is outside its legal range.
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// The requested value.
        asked: u64,
        /// Least legal value.
        min: u64,
        /// Greatest legal value.
        max: u64,
    },
    /// A setting of range filters is outside its legal range.
    RangeSetting {
        /// The name of the setting.
        name: &'static str,
        /// The requested value.
        asked: f64,
        /// Least legal value.
        min: f64,
        /// Greatest legal value.
        max: f64,
    },
    /// The policy requires a range filter of integers, and the rate would not hold for these keys.
    NotIntegers(NotIntegers),
    /// Blocks of this kind cannot be united, and have no fixed shape: their size follows from their entries.
    NoFixedShape {
        /// The requested kind.
        kind: FilterKind,
    },
    /// The policy of a partitioned filter has a byte cap or a fixed shape: partitions have a size of their own.
    CappedPartitions {
        /// The policy's cap or length in bytes.
        cap_bytes: u64,
    },
    /// The block would exceed what the format can describe or this machine can address.
    TooLarge {
        /// Distinct entries to be stored.
        num_entries: u64,
        /// The number of bytes that the payload would need.
        payload_bytes: u64,
        /// The greatest possible number of bytes.
        max_bytes: u64,
    },
    /// There are more entries than the format can count in such a filter.
    TooManyEntries {
        /// Distinct entries to be stored.
        num_entries: u64,
        /// The greatest number of entries.
        max_entries: u64,
    },
    /// No seed of the format suits these entries, which happens to none of trillions of sets of hashes. Choose another
    /// kind for this table.
    Unsolved {
        /// The requested kind.
        kind: FilterKind,
        /// The number of seeds that were tried.
        num_seeds: u32,
        /// The number of entries for which they were tried.
        num_entries: u64,
    },
    /// Keys were added under an engine's own transform whose code is missing, or panicked. Without their entries a reader
    /// that has the code would deny them.
    NoCode {
        /// The transform.
        transform: TransformId,
    },
    /// Keys were added in a form of which the transform makes no entries, such as a row under a transform of whole keys,
    /// or an entry was added that is not as long as a fixed prefix. A filter would deny them in their own form.
    WrongForm {
        /// The transform.
        transform: TransformId,
    },
    /// Nothing was added since the last finish, and [`allow_empty`](crate::FilterBlockBuilder::allow_empty) was not
    /// called.
    Empty,
    /// The memory for the block is too short.
    OutputTooShort {
        /// The number of bytes that were needed when the memory ended; the block may need more.
        needed_bytes: u64,
        /// Bytes given.
        actual_bytes: u64,
    },
    /// A finished block did not contain every hash that it was built from. The memory or the processor of this machine
    /// is faulty, or the library has a defect: discard the block and write the table without a filter.
    SelfCheck {
        /// The first hash that was not found.
        hash: u64,
        /// The number of hashes that were not found; of all, if the list of hashes itself was damaged or the block could
        /// not be opened.
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
                let asked = Short(asked);
                write!(f, "{kind}: a false-positive rate of {asked} is outside the legal range {min:.2e} to {max}")
            }
            Self::ByteCap { kind, cap_bytes, min_bytes, num_entries } => write!(
                f,
                "{kind}: {cap_bytes} bytes cannot hold {num_entries} entries; at least {min_bytes} bytes are needed"
            ),
            Self::Setting { name, asked, min, max } => {
                write!(f, "{name} = {asked} is outside the legal range {min} to {max}")
            }
            Self::RangeSetting { name, asked, min, max } => {
                write!(f, "{name} = {} is outside the legal range {} to {}", Short(asked), Short(min), Short(max))
            }
            Self::NotIntegers(reason) => write!(
                f,
                "no range filter of integers can be made: {reason}; without form=integers one of cut keys is made, which \
                 has no rate"
            ),
            Self::NoFixedShape { kind } => {
                write!(f, "{kind}: no blocks of a fixed number of bytes and probes; bloom has them")
            }
            Self::CappedPartitions { cap_bytes } => write!(
                f,
                "a partitioned filter takes bits per key or a false-positive rate, not a cap of {cap_bytes} bytes"
            ),
            Self::TooLarge { num_entries, payload_bytes, max_bytes } => {
                write!(f, "{num_entries} entries need a payload of {payload_bytes} bytes; the limit is {max_bytes}")
            }
            Self::TooManyEntries { num_entries, max_entries } => {
                write!(f, "{num_entries} entries are more than the {max_entries} of one filter; store it in partitions")
            }
            Self::Unsolved { kind, num_seeds, num_entries } => {
                write!(f, "{kind}: none of {num_seeds} seeds suits {num_entries} entries; choose another kind")
            }
            Self::NoCode { transform } => write!(
                f,
                "keys were added under the transform {transform}, whose code was not given, or panicked: add entries instead"
            ),
            Self::WrongForm { transform } => {
                write!(f, "keys were added in a form of which the transform {transform} makes no entries")
            }
            Self::Empty => f.write_str("nothing was added since the last finish: keep the bytes of a finished block"),
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

/// The reason why keys are not integers for which a range filter's rate would hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotIntegers {
    /// They have not all one length.
    Lengths {
        /// The length of the shortest in bytes.
        shortest: u64,
        /// The length of the longest in bytes.
        longest: u64,
    },
    /// They have too many bytes after those that all begin with.
    Width {
        /// The number of these bytes.
        bytes: u64,
        /// The most possible.
        max: u64,
    },
    /// They all begin with too many bytes.
    Prefix {
        /// The number of these bytes.
        bytes: u64,
        /// The most possible.
        max: u64,
    },
    /// Too many of them are too near each other for ranges as long as the policy's.
    Crowded {
        /// The number of integers in ranges for which the policy is.
        len: u64,
        /// The number of consecutive integers of which more are keys than there is room for.
        within: u64,
    },
}

impl fmt::Display for NotIntegers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Lengths { shortest, longest } => {
                write!(f, "keys have {shortest} to {longest} bytes, where integers have one length")
            }
            Self::Width { bytes, max } => {
                write!(f, "keys have {bytes} bytes after those that all begin with, and integers at most {max}")
            }
            Self::Prefix { bytes, max } => {
                write!(f, "{bytes} bytes are common to all keys, of which at most {max} can be stored")
            }
            Self::Crowded { len, within } => {
                write!(f, "too many keys are within {within} integers for a rate at ranges of {len}")
            }
        }
    }
}

/// A number with as many digits as it needs, or an exponent if it is small.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 != 0.0 && self.0.abs() < 1e-3 {
            true => write!(f, "{:e}", self.0),
            false => write!(f, "{}", self.0),
        }
    }
}

/// Formats three significant digits, not below `value`, so that the least legal value in a message is legal.
fn rounded_up(value: f64) -> f64 {
    let mut scale = 1.0;
    // The loop runs at most some three hundred times.
    while value > 0.0 && value * scale < 100.0 {
        scale *= 10.0;
    }
    let whole = (value * scale) as u64 as f64;
    (if whole < value * scale { whole + 1.0 } else { whole }) / scale
}

impl core::error::Error for BuildError {}
