//! The errors: one variant per broken rule, each carrying its numbers.
//!
//! There are two families. [`BuildError`] belongs to the writer: a setting outside its legal range, or a size that
//! cannot be met. [`DecodeError`] belongs to the reader: bytes that are not a filter block from which this library can
//! answer. On any `DecodeError` a storage engine must behave as if the filter had answered *maybe*.

mod build;
mod decode;
mod names;
#[cfg(feature = "std")]
mod policy;

pub use build::{BuildError, NotIntegers};
pub use decode::{DecodeError, DecodeErrorClass};
pub use names::TransformId;
#[cfg(feature = "std")]
pub use policy::ParsePolicyError;
