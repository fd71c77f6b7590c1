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
mod cursor;
mod data;
mod index;
mod inspect;
mod reader;
mod salvage;
mod table;
mod walk;
mod writer;

pub(crate) use cursor::{LevelCursor, Reading};
pub use inspect::{TableCell, TableCheck, TableFile};
pub(crate) use salvage::{IoErrors, LostKeys, Salvage};
pub(crate) use table::Table;
pub(crate) use walk::Probes;
pub(crate) use writer::TableWriter;

use super::cell::{Cell, CellKey, CellRef, CellValue, OwnedKey};
use super::context::{OpenFile, TableContext};
use super::encoding::{Cursor, Push, masked_crc};
use super::error::{Damage, Error};
use super::fences::{Fences, partition_point};
use super::filters::{
    CountedScans, EntryHashes, FilterPolicies, FilterWriter, Loaded, Probe, ScanLookup, TableFilter, TableFilters,
    Verdict, read_filter,
};
use super::footer::{FOOTER_LEN, FOOTER_MAGIC, Footer, filter_context, open_footer, padded, read_pages};
use super::manifest::{Rows, TableState};
use super::names::FileName;
use super::prefix::prefix_range;
use super::purpose::Purpose;
use super::range::{RowRange, is_after, is_before};
use super::storage::{PAGE_LEN, PageBuf, ReadableFile, Storage, WritableFile, open_file};
use super::warning::{FilterProblem, Warning, claimed_format};
use block::{BLOCK_MAGIC, BlockBuilder, BlockReader, CellLocation, SHORT_HEADER_LEN, cell_cut_off, claimed_len};
use core::ops::{Bound, Range, RangeBounds};
use data::{Block, TableData};
use filterblock::KeyHasher;
use filterblock_engine::ledger::{BlockCounters, Outcome};
use index::{BlockHandle, Index, IndexBuilder};
use reader::{Run, TableReader, check_is_named};
use std::sync::Arc;
use walk::{Walk, check_cells};
