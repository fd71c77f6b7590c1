//! A row/column store built around filter blocks: an example of embedding them, and the instrument that measures them.
//!
//! Cells are (row, column) → value, the model of BigTable and HBase. The store is a log-structured merge tree: a write
//! goes to a log and to a memtable; a full memtable is flushed to a table of level 0; compaction merges tables into
//! deeper levels, each ten times the one above. Tables have 4-KiB data blocks, an index of their last keys, one filter
//! block for each [`Purpose`], and a footer. A lookup searches memtables, then tables, the newest first:
//!
//! ```text
//! get(row, column) ─ memtables ─ tables of level 0 ─ a table of level 1 ─ … ─ a table of level 6
//!                                   │
//!               key range in memory ├─ does not hold the key ─▶ out of key range
//!                      filter block ├─ no ─▶ avoided by the filter: one data-block read saved
//!            cache, then one pread  └─ maybe ─▶ true positive, tombstone or false positive
//! ```
//!
//! # Guarantees
//!
//! - **A write that returned is kept**, from the moment that [`Durability`] chooses, and in the order of writes: a
//!   crash loses at most the last of them. A [`WriteBatch`] is kept as a whole or not at all. Files are synced,
//!   renamed, and their directory synced, before the manifest names them; after a failed sync, or a panic, the store
//!   takes no more writes.
//! - **Readers see one moment.** A [`Snapshot`] holds memtables and tables that are never changed, only replaced. Any
//!   number of threads may read and write one [`Store`].
//! - **Damage is a typed [`Error`], never a wrong answer.** Every byte that an answer depends on is covered by a
//!   checksum that includes its file, and its offset or, in a filter, its purpose; padding of an index or a filter to
//!   its page does not matter. A table that cannot be read costs its own rows: a store opens for reading without
//!   it, and what it may hold is an error, and never absent. [`Store::repair`] brings a damaged store back to what can
//!   be proved of it, and names what is lost. A log whose end was torn off by a crash is distinguished from a damaged
//!   one by the synced length in later records.
//! - **A filter can only save work.** One that is damaged, newer than this library or missing means *maybe*: the lookup
//!   reads the data, the ledger counts it, and [`Store::warnings`] reports it once. [`Store::verify`] probes every
//!   filter for every key of its table; [`Store::rebuild_filters`] replaces filters and leaves the data unchanged.
//!
//! # Filters
//!
//! Tables have filters of rows, of cells, of rows' prefixes, or any of these ([`StoreOptions::with_filter`]), by level
//! if wanted. A [budget](filterblock_engine::budget) in bytes for the whole store is allocated for the least sum of
//! false-positive rates whenever a table is written. An absent row *and* an absent column of a row that exists each
//! save their read; a scan whose rows share a prefix skips tables without such rows. A [range
//! filter](StoreOptions::with_range_filter) of the rows answers every scan, whatever its bounds. Of one that is
//! [partitioned](StoreOptions::with_partition_bytes) a scan queries at most the two partitions of its bounds, and none
//! where the index shows that all rows of a partition lie between them.
//!
//! All filters of a store have one hasher. Where strangers choose the keys, give it a secret key
//! ([`StoreOptions::with_hasher`]): the store's files then contain the key's id only, and the store opens with this key
//! only.
//!
//! Every lookup of one cell, one row, one prefix or one range in one table ends in exactly one
//! [`Outcome`](filterblock_engine::ledger::Outcome) of the [ledger](filterblock_engine::ledger), so that what the
//! filters saved, their false positives and the predicted number of these can be compared, by table, level, kind and
//! purpose ([`Store::ledger_report`]). Key ranges are checked before the filter: reads that min/max pruning saves are
//! not credited to a filter.
//!
//! A lookup is counted under the [`Purpose`] of the filter that answers it: row lookups under [`Purpose::Row`]; cell
//! lookups under [`Purpose::RowColumn`], except in tables that have a row filter only, where that one answers. In a
//! table without either, row lookups count under row and cell lookups under row+column. A scan whose rows all share a
//! prefix of the store's prefix length makes one prefix lookup in each table that it reaches. In a table with a range
//! filter, and in others of a store that writes them unless it is a lookup of a prefix there, a scan counts under
//! [`Purpose::Range`]: up to the first block that it reads in the table.
//!
//! ```
//! use filterblock_kv::{Store, StoreOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let store = Store::open_dir(dir.path(), StoreOptions::default())?;
//! store.put(b"com.example.www/", b"language:", b"EN")?;
//! store.put(b"com.example.zoo/", b"language:", b"DE")?;
//! store.flush()?;
//! assert_eq!(store.get(b"com.example.www/", b"language:")?.as_deref(), Some(&b"EN"[..]));
//! assert_eq!(store.get(b"com.example.xyz/", b"language:")?, None);
//! assert_eq!(store.ledger().total().lookups, 2);
//! store.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! The store reads and writes only through [`Storage`]: files, direct I/O, or a storage that the caller gives. The trait is
//! public for simulated disks, such as that of the store's tests, which loses, tears and reorders what was not synced;
//! an engine that only stores data uses [`Store::open_dir`].
#![forbid(unsafe_code)]

mod batch;
mod bytes;
mod cache;
mod cell;
mod compaction;
mod context;
mod encoding;
mod error;
mod fences;
mod filters;
mod footer;
mod log;
mod manifest;
mod memtable;
mod merge;
mod names;
mod options;
mod prefix;
mod purpose;
mod range;
mod sstable;
mod storage;
mod store;
mod sync;
mod version;
mod warning;

pub use batch::{MAX_BATCH_LEN, WriteBatch};
pub use cache::{CacheStats, FilterResidence};
pub use cell::{Cell, CellKey, MAX_COLUMN_LEN, MAX_ROW_LEN, MAX_VALUE_LEN};
pub use error::{Damage, Error};
pub use filters::{ColumnStats, FilterStats, RangeFilterStats, TableFilter, TablePartitions};
pub use options::{Durability, Maintenance, StoreOptions};
pub use purpose::Purpose;
pub use sstable::{TableCell, TableCheck, TableFile};
pub use storage::{
    CacheBypass, FileStorage, LockMode, PAGE_LEN, PageBuf, ReadCounts, ReadableFile, Storage, StorageLock,
    WritableFile, read_exact_at,
};
pub use store::{
    FilterVerification, LevelStats, LostRows, RangeFilterVerification, RebuildOptions, RebuildReport, RebuiltTable,
    RepairOptions, RepairReport, RepairedFilters, RepairedLog, RepairedTable, Scan, Snapshot, Stats, Store, TableStats,
    TableVerification, UnreadableRows, VerifyReport,
};
pub use warning::{FilterProblem, Warning};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
