//! Configuration: the kind of a filter, its size, and its entries.
//!
//! A policy belongs to the writer. Only its effects are stored, so a policy can be renamed or changed at any time, and
//! every older block stays readable.

#[cfg(feature = "std")]
mod choice;
mod entry_hasher;
#[cfg(feature = "std")]
mod settings;
#[cfg(feature = "std")]
mod sized_kind;
#[cfg(feature = "std")]
mod text;
mod transform;
#[cfg(feature = "std")]
mod workload;

#[cfg(feature = "std")]
pub use choice::{Choice, KindCost};
pub use entry_hasher::{EntryHasher, EntryOf};
#[cfg(feature = "std")]
pub use settings::FilterPolicy;
#[cfg(feature = "std")]
pub(crate) use sized_kind::{SizedKind, closer};
#[cfg(feature = "std")]
pub use text::ParsePolicyError;
pub use transform::{CustomTransform, KeyTransform};
#[cfg(feature = "std")]
pub use workload::Workload;
