//! What is asked of a store.

use crate::cells::Key;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Settings that all engines get alike.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Settings {
    pub memtable_bytes: u64,
    /// Of data blocks; filters and indexes are in memory besides.
    pub cache_bytes: u64,
    /// A table's size that compactions aim at.
    pub table_bytes: u64,
    /// What the filters will take when all cells are written.
    pub filter_bytes: u64,
}

impl Settings {
    pub const BITS_PER_KEY: u32 = 10;
    pub const BLOCK_BYTES: u32 = 4096;
    /// Level 0 is compacted when it has so many tables.
    pub const LEVEL0_TABLES: u8 = 4;
    pub const LEVEL_RATIO: u8 = 10;

    /// What level 1 holds. fjall knows no other than this.
    pub fn level_base_bytes(&self) -> u64 {
        self.table_bytes * u64::from(Self::LEVEL0_TABLES)
    }
}

/// A store under measurement. Opened by [`crate::engines::open`]; dropping it closes it in good order.
pub trait Engine: Send + Sync {
    /// Writes a cell: through the log to the operating system, without waiting for the disk.
    fn put(&self, key: &Key, value: &[u8]) -> Result<()>;

    /// Hands the cell's value to `seen`, in place where the engine can.
    fn get(&self, key: &Key, seen: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// Hands the row and the value of every cell to `seen`, in the order of their keys.
    fn scan(&self, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;

    /// Brings everything to the deepest level.
    fn flush_and_compact(&self) -> Result<()>;
}
