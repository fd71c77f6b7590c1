//! Configuration: which kind of filter, how large, of which entries.
//!
//! A policy belongs to the writer. Only its effects are stored, so a policy can be renamed or changed at any time, and
//! every older block stays readable.

mod entry_hasher;
#[cfg(feature = "std")]
mod settings;
#[cfg(feature = "std")]
mod text;
mod transform;
#[cfg(feature = "std")]
mod workload;

pub use entry_hasher::EntryHasher;
#[cfg(feature = "std")]
pub use settings::FilterPolicy;
#[cfg(feature = "std")]
pub(crate) use settings::{SizedKind, closer};
#[cfg(feature = "std")]
pub use text::ParsePolicyError;
pub use transform::{CustomTransform, EntryOf, KeyTransform};
#[cfg(feature = "std")]
pub use workload::Workload;
