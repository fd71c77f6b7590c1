//! Partitioned filters, for tables too large for one block.
//!
//! The keys come in order. When a partition has grown to its size it is closed: it becomes a filter block of its own,
//! with its own checksum, which the caller's function stores at once. Only an index of separators remains in memory,
//! which is stored last. A lookup finds its one partition in the index, has the engine load it (from its cache, or from
//! the disk), and queries it.
//!
//! ```
//! use filterblock::partition::{PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
//! use filterblock::{FilterKind, FilterPolicy, OpenOptions, Query};
//! use std::convert::Infallible;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
//! let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Bytes(1024))?;
//! builder.set_context(42);
//! let mut file = Vec::new();
//! let mut store = |block: &[u8]| {
//!     let offset = file.len() as u64;
//!     file.extend_from_slice(block);
//!     Ok::<_, Infallible>(offset)
//! };
//! for number in 0..10_000 {
//!     builder.add_key(format!("user{number:05}").as_bytes(), &mut store)?;
//! }
//! let index = builder.finish(&mut store)?;
//!
//! let filter = PartitionedFilter::open(index, OpenOptions::new().with_context(42).expect(&policy))?;
//! let load = |partition: filterblock::partition::PartitionHandle| {
//!     Ok::<_, Infallible>(&file[partition.offset as usize..][..partition.len as usize])
//! };
//! // Every error means "maybe".
//! assert!(filter.may_match(Query::Key(b"user00042"), load).unwrap_or(true));
//! assert_eq!(filter.may_match(Query::Key(b"zebra"), load), Ok(false));
//! # Ok(())
//! # }
//! ```
//!
//! This opens and verifies the partition at each lookup. An engine that caches partitions keeps them opened, as
//! [`OpenedPartition`] shows.
//!
//! # Entries and their order
//! An entry is found by the *order key* with which it was added; order keys are compared as byte strings.
//!
//! | transform | order key | entry | calls; queries |
//! |---|---|---|---|
//! | whole key | the key | the key | `add_key`; `Key` |
//! | row | the row | the row | `add_row`, `add_row_column`; `Row`, `Cell` |
//! | fixed prefix | the prefix | the prefix | `add_key`; `Key`, `Prefix` |
//! | whole key and prefix | the key | the key; its prefix | `add_key`; `Key`, `Prefix` |
//! | delimited prefix | the key | its prefixes | `add_key`; `Key`, `Prefix` |
//! | row and column | the row, each zero byte followed by 1; two zero bytes; the column | [`row_column_entry`] | `add_row_column`; `Cell` |
//! | an engine's own | given | given | `add_entry`; `Entry` |
//! | (filters of ranges) | the key | the key | `add_key`; `Key`, `Prefix`, `Range` |
//!
//! [`Partitioned::may_match`] takes a [`Query`](crate::Query), finds its partitions, has them loaded and queries them. An
//! engine that loads partitions itself [finds](Partitioned::find) them.
//!
//! [`row_column_entry`]: crate::KeyTransform::row_column_entry
//!
//! A key shorter than a fixed prefix, or without a delimiter, has no entry: it is counted, not added, and the answer for
//! it is *maybe*. A fixed prefix is stored once, in one partition, because it is its own order key: it cannot span two. A
//! delimited one is in each partition that has keys with it.
//!
//! Under an engine's own transform, the index does not define its order keys. So the answer for a key is *maybe*, with
//! or without [code](crate::FilterPolicy::with_custom_transform), and `add_key` refuses. Several entries may be added at
//! one order key, and an entry at several. Let q be a byte string with which some of the order keys begin. A lookup at
//! q then reaches the partition of the least of them. So an engine that adds, at every key, both the key and its prefix
//! finds the prefix at the key and at the prefix itself.
//!
//! # Places and checks
//!
//! | what | checked by | if damaged |
//! |---|---|---|
//! | index | own magic, version, CRC and digest, under the table's context | the table is read without a filter |
//! | partition | its block's checksums, under a context from the table's and its number | its own keys are *maybe* |
//! | opened partition | the index and the number for which it was opened | its lookup is *maybe* |
//!
//! The bytes are specified in `format/partition.md`, those of range filters in its section 15.5.

#[cfg(feature = "std")]
mod build_error;
#[cfg(feature = "std")]
mod builder;
mod error;
mod family;
#[cfg(feature = "std")]
mod heads;
mod index;
#[cfg(feature = "std")]
mod limit;
mod lookup;
mod opened;
mod order;
#[cfg(feature = "std")]
mod parts;
mod reader;

#[cfg(feature = "std")]
pub use build_error::PartitionBuildError;
#[cfg(feature = "std")]
pub use builder::{BuildFamily, PartitionedBuilder};
pub use error::PartitionError;
pub use family::{Family, Filter, Keys, Ranges};
pub use index::INDEX_MAGIC;
#[cfg(feature = "std")]
pub use limit::PartitionLimit;
pub use lookup::{Lookup, PartitionHandle};
pub use opened::{LoadedPartition, OpenedPartition};
#[cfg(feature = "std")]
pub use parts::{PartitionedFilterBuilder, PartitionedRangeFilterBuilder};
pub use reader::{Partitioned, PartitionedFilter, PartitionedRangeFilter};
