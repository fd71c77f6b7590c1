//! The frame that all frames of 64-byte headers share: filters of keys, filters of ranges, and the indexes of
//! partitioned filters. Its fields, its checksums, and the properties that a caller expects of it.

pub(crate) mod checksums;
pub(crate) mod fields;
mod header;
mod offsets;
mod options;

pub use header::{FORMAT_VERSION, MAGIC};
pub(crate) use header::{Header, StoredParams};
pub use offsets::HEADER_LEN;
pub(crate) use offsets::*;
pub use options::OpenOptions;
