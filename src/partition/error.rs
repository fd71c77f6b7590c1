//! The errors of lookups in a partitioned filter, each of which means *maybe*.

use crate::error::DecodeError;
use core::error::Error;
use core::fmt::{self, Display};

/// The reason why a partition did not answer. It always means *maybe*, for the keys of this partition only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartitionError<E> {
    /// The caller could not load it.
    Load {
        /// Its number, from 0.
        partition: u32,
        /// The error that the caller's function returned.
        error: E,
    },
    /// The loaded bytes are not the partition's block.
    Decode {
        /// Its number, from 0.
        partition: u32,
        /// The error of these bytes.
        error: DecodeError,
    },
    /// The caller gave an [opened](super::OpenedPartition) partition that is not this one: it has another number, or was
    /// opened for an index of other bytes. A cache confuses numbers or tables.
    WrongPartition {
        /// The number of the partition that was to be loaded, from 0.
        partition: u32,
        /// The number of the one that was given.
        found: u32,
    },
}

impl<E: Display> Display for PartitionError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load { partition, error } => write!(f, "loading partition {partition} of the filter: {error}"),
            Self::Decode { partition, error } => write!(f, "partition {partition} of the filter: {error}"),
            Self::WrongPartition { partition, found } if partition == found => {
                write!(f, "partition {partition} of the filter: an opened partition of another index was given")
            }
            Self::WrongPartition { partition, found } => {
                write!(f, "partition {partition} of the filter: the opened partition {found} was given")
            }
        }
    }
}

impl<E: fmt::Debug + Display> Error for PartitionError<E> {}

/// The reason why a loaded partition does not answer.
pub enum Unusable {
    /// Its bytes are not the partition's block.
    Decode(DecodeError),
    /// It was opened as the partition of this number, or of another index.
    Other(u32),
}

impl<E> PartitionError<E> {
    /// Returns the error of a loaded partition that does not answer.
    pub(super) fn of_loaded(partition: u32, reason: Unusable) -> Self {
        match reason {
            Unusable::Decode(error) => Self::Decode { partition, error },
            Unusable::Other(found) => Self::WrongPartition { partition, found },
        }
    }
}
