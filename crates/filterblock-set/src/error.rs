//! Why a set was not written, or its index not fetched.

use filterblock::DecodeError;
use std::{error, fmt, io};

/// The reason why a set, or a file's part of it, was not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetBuildError {
    /// Nothing was added since the builder was made, and no set without files was permitted
    /// ([`SetBuilder::allow_empty`](crate::SetBuilder::allow_empty)); or nothing is added to the set that was to be
    /// continued, nor dropped from it.
    Empty,
    /// A file's name is empty, or already in the set.
    FileName(Vec<u8>),
    /// Two columns have this name, or it is another column, or one of other filters, in the set that was to be continued.
    ColumnName(Vec<u8>),
    /// More columns, files, keys or bytes than the format describes, or more than 2^24 files whose filters have one size.
    TooLarge,
    /// The set that was to be continued, or taken over, is not usable.
    Decode(DecodeError),
    /// The scratch, the sink, or a set that is taken over could not be read or written.
    Io(io::Error),
    /// A key was not found where it had been added, or the scratch has other bytes than were written to it: a fault of the
    /// machine, or another writer in the scratch. What was written is not a set.
    Check,
}

impl fmt::Display for SetBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no file was added since the last finish, and no empty set was asked for"),
            Self::FileName(name) => {
                write!(f, "file {:?} is empty or already in the set", String::from_utf8_lossy(name))
            }
            Self::ColumnName(name) => write!(f, "column {:?} does not fit the set", String::from_utf8_lossy(name)),
            Self::TooLarge => f.write_str("more columns, files, keys or bytes than a set can have"),
            Self::Decode(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::Check => f.write_str("memory or scratch lost bits that had been written to it"),
        }
    }
}

impl error::Error for SetBuildError {}

impl From<DecodeError> for SetBuildError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<io::Error> for SetBuildError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The reason why an index could not be fetched. It means *maybe* for all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError<E> {
    /// The bytes could not be read.
    Fetch(E),
    /// The bytes are not an index that can be used.
    Decode(DecodeError),
}

impl<E: fmt::Display> fmt::Display for FetchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch(error) => write!(f, "the index was not read: {error}"),
            Self::Decode(error) => write!(f, "the index is not used: {error}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> error::Error for FetchError<E> {}
