//! Configuration: the kind of a filter, its size, and its entries.
//!
//! A policy belongs to the writer. Only its effects are stored, so a policy can be renamed or changed at any time, and
//! every older block stays readable.

mod choice;
mod settings;
mod sized_kind;
mod text;
mod workload;

pub use choice::{Choice, KindCost};
pub use settings::FilterPolicy;
pub(crate) use sized_kind::{SizedKind, closer};
pub use workload::Workload;
