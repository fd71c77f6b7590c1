//! The family of filters of keys: from a policy to a builder, and from a block of 64-byte header and payload, or a
//! compact frame for engines that have headers of their own, to answers.

#[cfg(feature = "std")]
mod build;
mod compact;
pub(crate) mod kinds;
mod open;
#[cfg(feature = "std")]
pub(crate) mod policy;
mod queries;
mod reader;
mod tables;
#[cfg(all(test, feature = "std"))]
mod tests;
mod thin;

#[cfg(feature = "std")]
pub use build::{AlignedBytes, CombineError, FilterBlockBuilder};
pub use compact::CompactFrameReader;
pub use reader::{FilterBlock, FilterBlockReader};
pub use tables::probe_tables;
pub use thin::ThinError;
