//! Warnings of filters that are not used.
//!
//! A problem with a filter is never an error of the store. It becomes a [`Warning`], and lookups continue as if the
//! filter had answered *maybe*.

use super::purpose::Purpose;
use core::fmt;
use filterblock::{BlockKind, BuildError, DecodeError, DecodeErrorClass, MAGIC};

/// Why a table's filter is not used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilterProblem {
    /// Its bytes are not an intact block of this table, seed and purpose, or are newer than this library.
    Decode(DecodeError),
    /// Its bytes could not be read.
    Unreadable(String),
    /// Its purpose in the footer is unknown to this version.
    UnknownPurpose(u8),
    /// Its parameter in the footer is one that this version does not write for its purpose.
    UnknownParameter {
        /// The filter's purpose.
        purpose: Purpose,
        /// The parameter: the length of a prefix filter's prefixes, 0 for the other purposes.
        param: u16,
    },
    /// It has more entries than its table can have.
    TooManyEntries {
        /// Entries that its block claims.
        num_entries: u64,
        /// The table's cells, or for a filter of rows or prefixes its rows.
        max: u64,
    },
    /// A range filter has fewer keys than its table has rows, or more, so that it cannot speak for all of them.
    NotAllRows {
        /// Keys that its block claims.
        num_keys: u64,
        /// The table's rows.
        num_rows: u64,
    },
    /// It could not be built, so the table was written without it.
    NotBuilt(BuildError),
    /// It was built as partitions for which no index can be written, so the table was written without it.
    NotIndexed {
        /// The number of its partitions before the last.
        num_partitions: u32,
    },
}

impl FilterProblem {
    /// Returns whether the table was written without the filter.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::NotBuilt(_) | Self::NotIndexed { .. })
    }
}

impl fmt::Display for FilterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
            Self::UnknownPurpose(id) => write!(f, "purpose {id} is unknown to this reader"),
            Self::UnknownParameter { purpose, param } => {
                write!(f, "parameter {param} of a {purpose} filter is unknown to this reader")
            }
            Self::TooManyEntries { num_entries, max } => {
                write!(f, "has {num_entries} entries, and its table can have {max} at most")
            }
            Self::NotAllRows { num_keys, num_rows } => {
                write!(f, "has {num_keys} keys, and its table has {num_rows} rows")
            }
            Self::NotBuilt(error) => write!(f, "not written: {error}"),
            Self::NotIndexed { num_partitions } => {
                write!(f, "not written: the index of more than {num_partitions} partitions is longer than 4 GiB")
            }
        }
    }
}

/// A filter that is not used, reported once for each opening of its table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The table's file.
    pub file: String,
    /// The offset of the filter block in it.
    pub offset: u64,
    /// The filter block's length.
    pub len: u64,
    /// Kind and version in the block's bytes, which may be damaged themselves.
    pub claimed_format: String,
    /// The problem.
    pub problem: FilterProblem,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, len, claimed_format, problem } = self;
        if problem.is_missing() {
            return write!(f, "{file}: filter {problem}. Lookups stay correct but slower.");
        }
        write!(
            f,
            "{file}: filter block at offset {offset} ({len} bytes, {claimed_format}): {problem}. \
             Filter ignored: lookups stay correct but slower. "
        )?;
        match problem {
            FilterProblem::UnknownPurpose(_) | FilterProblem::UnknownParameter { .. } => {
                f.write_str("A newer version of this program reads it.")
            }
            FilterProblem::Decode(error) if error.class() == DecodeErrorClass::Newer => {
                f.write_str("A newer version of this program reads it.")
            }
            _ => write!(f, "Run `filterblock rebuild {file}`."),
        }
    }
}

/// Kind and version in the bytes of `block`.
pub(crate) fn claimed_format(block: &[u8]) -> String {
    let Some(&[version, tag, ..]) = block.strip_prefix(&MAGIC[..]) else {
        return "unknown format".to_owned();
    };
    match BlockKind::from_tag(tag) {
        Some(kind) => format!("{kind} v{version}"),
        None => format!("kind {tag} v{version}"),
    }
}
