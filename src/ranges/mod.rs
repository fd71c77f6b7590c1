//! Range filters: whether a table may have a key between two bounds, or with a prefix.
//!
//! A scan of a narrow range reads every table whose first and last key enclose it. A range filter says which of them have
//! nothing there. It stands beside a table's filter of keys, and answers for single keys, too, but less well.
//!
//! ```
//! use filterblock::OpenOptions;
//! use filterblock::range::{RangeFilter, RangeFilterBuilder, RangePolicy};
//! use std::ops::Bound::{Excluded, Included};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(16.0)?);
//! for user in 0..1000 {
//!     builder.add_key(format!("user{user:03}/settings").as_bytes());
//! }
//! let block = builder.finish()?;
//!
//! let filter = RangeFilter::open(&block[..], &OpenOptions::new())?;
//! assert!(filter.may_contain_prefix(b"user007/"));
//! assert!(filter.may_contain_range(Included(b"user5"), Excluded(b"user6")));
//! assert!(!filter.may_contain_prefix(b"visitor"));
//! # Ok(())
//! # }
//! ```
//!
//! # What it stores
//!
//! Of each key the first bits: as many as tell it from the keys before and after it, and some more. They are bits of a
//! code that keeps the order of keys and gives frequent bytes fewer bits, and are stored as differences from the key
//! before, in groups of 64 that are found through a tree. A range is denied if no stored key may lie in it, whatever the
//! bits that were not stored are.
//!
//! So a filter knows most where keys lie close together: a gap within a series of measurements, an absent section of a
//! large site. It knows least of what lies beside a stored key and differs from it only in later bytes. There is no rate
//! that holds for all ranges.
//!
//! Large tables have them in [partitions](crate::partition::PartitionedRangeFilterBuilder). The bytes are specified in
//! `format/ranges.md`.

#[cfg(feature = "std")]
mod builder;
mod cut;
mod form;
mod header;
mod integers;
#[cfg(feature = "std")]
mod keys;
pub mod order;
#[cfg(feature = "std")]
mod policy;
mod query;
mod reader;
mod tables;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(all(test, feature = "std"))]
mod work;

#[cfg(feature = "std")]
pub use builder::RangeFilterBuilder;
pub use form::RangeForm;
pub use order::are_ordered;
#[cfg(feature = "std")]
pub use policy::RangePolicy;
pub use reader::{RangeFilter, RangeFilterReader};
pub use tables::{probe_tables, probe_tables_for_prefix};
