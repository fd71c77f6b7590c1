//! SSTables: immutable files of sorted cells, each with its index, its filters and its footer.
//!
//! ```text
//! | data block | data block | … | index | filter block | filter block | footer |
//! 0            4096 · n                                                       ^ last 4096 bytes
//! ```
//!
//! Every part starts at a multiple of 4096 bytes and is padded with zeros to the next, so that each is read into
//! aligned memory with one direct read. All integers are little-endian. Their fields are listed in the
//! files that write them.

mod block;
mod columns;
mod context;
mod cursor;
mod data;
mod entries;
mod filter;
mod filter_writer;
mod filters;
mod format;
mod index;
mod inspect;
mod partitioned;
mod prefix_lookup;
mod reader;
mod salvage;
mod table;
mod walk;
mod warning;
mod writer;

pub use columns::ColumnStats;
pub(crate) use context::TableContext;
pub(crate) use cursor::{LevelCursor, Reading};
pub(crate) use entries::EntryHashes;
pub use filter::FilterStats;
pub(crate) use filter_writer::{FilterFileWriter, FilterPolicies};
pub use inspect::{TableCheck, TableFile, TableFilter};
pub use partitioned::TablePartitions;
pub(crate) use salvage::{IoErrors, LostKeys, Salvage};
pub(crate) use table::Table;
pub(crate) use walk::Probes;
pub use warning::{FilterProblem, Warning};
pub(crate) use writer::TableWriter;
