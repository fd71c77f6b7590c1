//! The errors of a build of a partitioned filter: a table without this filter.

use crate::error::BuildError;
use crate::hash::KeyTransform;
use core::error::Error;
use core::fmt::{self, Display};

/// The reason why a build failed. The filter is then incomplete and must not be used: the builder accepts nothing more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PartitionBuildError<E> {
    /// An order key is below the one before it.
    Unordered {
        /// The number of calls that added an entry before this one.
        num_added: u64,
    },
    /// The policy's transform makes no entry from the arguments of this call.
    Transform {
        /// The policy's transform.
        transform: KeyTransform,
    },
    /// Another context was given after partitions had been closed under the first.
    LateContext {
        /// The number of partitions closed until then.
        num_partitions: u32,
    },
    /// A partition's block could not be built.
    Build {
        /// The partition's number, from 0.
        partition: u32,
        /// The builder's error.
        error: BuildError,
    },
    /// The caller could not store a partition.
    Store {
        /// The partition's number, from 0.
        partition: u32,
        /// The error that the caller's function returned.
        error: E,
    },
    /// The caller stored a partition at an offset within or before the one before it, or beyond 64 bits.
    Offset {
        /// The partition's number, from 0.
        partition: u32,
        /// The offset that the caller's function returned.
        offset: u64,
        /// The least possible offset: the end of the partition before.
        min: u64,
    },
    /// There are more than 2³² − 1 partitions, or bytes of separators or of a partition.
    TooLarge {
        /// The number of partitions so far.
        num_partitions: u32,
    },
    /// Nothing was added, and [`allow_empty`](crate::partition::PartitionedFilterBuilder::allow_empty) was not called.
    Empty,
    /// An earlier call failed.
    Failed,
}

impl<E: Display> Display for PartitionBuildError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unordered { num_added } => {
                write!(f, "keys of a partitioned filter must ascend; after {num_added} added entries, one does not")
            }
            Self::Transform { transform } => write!(f, "not the call for the transform {transform}"),
            Self::LateContext { num_partitions } => {
                write!(f, "the context of a partitioned filter was changed after {num_partitions} of its partitions")
            }
            Self::Build { partition, error } => write!(f, "building partition {partition} of the filter: {error}"),
            Self::Store { partition, error } => write!(f, "storing partition {partition} of the filter: {error}"),
            Self::Offset { partition, offset, min } => {
                write!(f, "partition {partition} of the filter cannot be stored at {offset}: at least {min}")
            }
            Self::TooLarge { num_partitions } => {
                write!(f, "an index cannot hold more separators than those of {num_partitions} partitions")
            }
            Self::Empty => f.write_str("nothing was added: a filter without entries would deny every key"),
            Self::Failed => f.write_str("an earlier call failed; write the table without this filter"),
        }
    }
}

impl<E: fmt::Debug + Display> Error for PartitionBuildError<E> {}
