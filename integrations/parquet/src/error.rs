//! The errors: one variant per broken rule, each carrying its numbers.

use crate::sizing::{BLOCK_LEN, MAX_LEN};
use std::fmt;

/// Why a filter cannot be made, or a bitset cannot be used.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A length that no bitset has.
    Length {
        /// The length in bytes, as given or declared.
        len: i64,
    },
    /// More or fewer bytes than the header declares. A bitset of another length has its values in other blocks: it
    /// would deny them.
    DeclaredLength {
        /// The length that the header declares, in bytes.
        declared: i32,
        /// The number of bytes that there are.
        found: usize,
    },
    /// The lengths of the header and of the column chunk's metadata do not fit each other: one of them is wrong, and the
    /// bitset may be a part of the filter's.
    MetadataLength {
        /// The length of the bitset that the header declares, in bytes.
        declared: i32,
        /// The length of header and bitset that the metadata states, in bytes.
        bloom_filter_length: i32,
    },
    /// A rate that is not between 0 and 1.
    Rate {
        /// The rate.
        rate: f64,
    },
    /// The largest filter that readers accept lets more absent values pass.
    TooLarge {
        /// Distinct values to be stored.
        num_values: u64,
        /// The rate that was to be met.
        rate: f64,
        /// The rate of the largest filter.
        least_rate: f64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len } => write!(
                f,
                "bitset length {len} bytes: a bitset has a multiple of {BLOCK_LEN} bytes, at least {BLOCK_LEN}, and a \
                 new one at most {MAX_LEN}"
            ),
            Self::DeclaredLength { declared, found } => {
                write!(f, "bitset length declared {declared} bytes, found {found}")
            }
            Self::MetadataLength { declared, bloom_filter_length } => write!(
                f,
                "bitset length declared {declared} bytes in the header, but with the header {bloom_filter_length} in the \
                 metadata: a header has 1 to {} bytes",
                BLOCK_LEN - 1
            ),
            Self::Rate { rate } => write!(f, "false-positive rate {rate}: it must be greater than 0 and less than 1"),
            Self::TooLarge { num_values, rate, least_rate } => write!(
                f,
                "{num_values} values at a false-positive rate of {rate}: the largest filter, {MAX_LEN} bytes, has a \
                 rate of {least_rate:.3e}"
            ),
        }
    }
}

impl std::error::Error for Error {}
