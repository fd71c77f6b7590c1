//! Configuration: which kind of filter, how large, of which entries.
//!
//! A policy belongs to the writer. Only its effects are stored, so a policy can be renamed or changed at any time, and
//! every older block stays readable.

#[cfg(feature = "std")]
mod settings;
mod transform;

#[cfg(feature = "std")]
pub use settings::FilterPolicy;
pub use transform::{CustomTransform, KeyTransform};
