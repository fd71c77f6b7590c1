//! What a store under measurement must offer.

use crate::cells::Key;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Settings that are the same for all engines.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Settings {
    pub memtable_bytes: u64,
    /// For data blocks; filters and indexes are in memory in addition.
    pub cache_bytes: u64,
    /// The table size that compactions aim at.
    pub table_bytes: u64,
    /// Size of the filters once all cells are written.
    pub filter_bytes: u64,
}

impl Settings {
    pub const BITS_PER_KEY: u32 = 10;
    pub const BLOCK_BYTES: u32 = 4096;
    /// Level 0 is compacted when it has this many tables.
    pub const LEVEL0_TABLES: u8 = 4;
    pub const LEVEL_RATIO: u8 = 10;

    /// Capacity of level 1. fjall supports no other than this product.
    pub fn level_base_bytes(&self) -> u64 {
        self.table_bytes * u64::from(Self::LEVEL0_TABLES)
    }
}

/// A store under measurement. Opened by [`crate::engines::open`]; dropping it closes it cleanly.
pub trait Engine: Send + Sync {
    /// Writes a cell: through the log to the operating system, without waiting for the disk.
    fn put(&self, key: &Key, value: &[u8]) -> Result<()>;

    /// Passes the cell's value to `seen`, in place if the engine can.
    fn get(&self, key: &Key, seen: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// Passes the row and the value of every cell to `seen`, in the order of their keys.
    fn scan(&self, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;

    /// Moves everything to the deepest level.
    fn flush_and_compact(&self) -> Result<()>;
}
