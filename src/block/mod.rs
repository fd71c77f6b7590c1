//! The block: a 64-byte header and a filter's payload; and the compact frame, for engines that have headers of their
//! own.

#[cfg(feature = "std")]
mod aligned;
#[cfg(feature = "std")]
mod builder;
pub(crate) mod checksums;
#[cfg(feature = "std")]
mod combine;
mod compact;
pub(crate) mod fields;
mod header;
mod options;
#[cfg(feature = "std")]
mod payload;
mod queries;
mod reader;
#[cfg(feature = "std")]
mod self_check;
mod tables;
#[cfg(all(test, feature = "std"))]
mod tests;
mod thin;

#[cfg(feature = "std")]
pub use aligned::AlignedBytes;
#[cfg(feature = "std")]
pub use builder::FilterBlockBuilder;
#[cfg(feature = "std")]
pub use combine::CombineError;
pub use compact::CompactFrameReader;
pub use header::{FORMAT_VERSION, MAGIC};
pub use options::{OpenError, OpenOptions};
pub use reader::{FilterBlock, FilterBlockReader};
pub use tables::probe_tables;
pub use thin::ThinError;
