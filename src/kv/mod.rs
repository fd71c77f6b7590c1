//! A row/column store that lives from filter blocks: the embedding, and the instrument that measures it.
//!
//! Cells are (row, column) → value, the model of BigTable and HBase. Writes go to a [`Store`]'s memtable; `flush`
//! turns it into an SSTable: 4-KiB data blocks, an index of their key ranges, one filter block a [`Purpose`], and a
//! footer. A lookup asks the memtable, then the tables, newest first:
//!
//! ```text
//! get(row, column) ─ memtable ─ table 7 ─ table 6 ─ … ─ table 1
//!                                  │
//!             key ranges in memory ├─ no block's range holds the key ─▶ out of key range
//!           filter block in memory ├─ no ─▶ avoided by the filter: one data-block read saved
//!                     one pread    └─ maybe ─▶ true positive, tombstone or false positive
//! ```
//!
//! Every lookup in every table ends in exactly one [`Outcome`] of the [`Ledger`], so that what the filters saved,
//! what they missed and what they should have missed by calculation can be read off and compared. Key ranges are
//! asked before the filter: a filter takes no credit for what min/max pruning saves.
//!
//! A filter can only save work. One that is damaged, newer than this library or missing means *maybe*: the lookup
//! reads on, the ledger counts it, and [`Store::warnings`] says so once. Damage to anything else is a typed
//! [`Error`], never a wrong answer.
//!
//! ```
//! use filterblock::kv::{Store, StoreOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let mut store = Store::open_dir(dir.path(), StoreOptions::default())?;
//! store.put(b"com.example.www/", b"language:", b"EN")?;
//! store.put(b"com.example.zoo/", b"language:", b"DE")?;
//! store.flush()?;
//! assert_eq!(store.get(b"com.example.www/", b"language:")?.as_deref(), Some(&b"EN"[..]));
//! assert_eq!(store.get(b"com.example.xyz/", b"language:")?, None);
//! assert_eq!(store.ledger().total().lookups, 2);
//! # Ok(())
//! # }
//! ```
//!
//! The first form of the store has no write-ahead log and no compaction: what was not flushed is lost with the
//! process, and deleted cells keep their space. All I/O goes through [`Storage`], which has the calls both will need.

mod cell;
mod error;
mod ledger;
mod memtable;
mod options;
mod scan;
mod sstable;
mod storage;
mod store;

pub use cell::{Cell, MAX_COLUMN_LEN, MAX_ROW_LEN, MAX_VALUE_LEN};
pub use error::{Damage, Error};
pub use ledger::{Imbalance, Ledger, Outcome, Tally};
pub use options::{Purpose, StoreOptions};
pub use scan::Scan;
pub use sstable::{FilterProblem, TableCheck, TableFile, TableFilter, Warning};
pub use storage::{
    CacheBypass, DirectStorage, FileStorage, LockMode, PAGE_LEN, PageBuf, ReadCounts, ReadableFile, Storage,
    StorageLock, WritableFile, read_exact_at, write_all,
};
pub use store::{Stats, Store, TableStats};
