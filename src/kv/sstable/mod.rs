//! SSTables: immutable files of sorted cells, each with its index, its filters and its footer.
//!
//! ```text
//! | data block | data block | … | index | filter block | filter block | footer |
//! 0            4096 · n                                                       ^ last 4096 bytes
//! ```
//!
//! Every part starts at a multiple of 4096 bytes and is padded with zeros to the next, so that each is read into
//! aligned memory with one direct read. All integers are little-endian. Their fields stand in the files
//! that write them.

mod block;
mod filters;
mod format;
mod index;
mod inspect;
mod reader;
mod writer;

pub use filters::{FilterProblem, Warning};
pub(crate) use format::{table_name, table_number};
pub use inspect::{TableCheck, TableFile, TableFilter};
pub(crate) use reader::{EntryHashes, Table};
pub(crate) use writer::TableWriter;
