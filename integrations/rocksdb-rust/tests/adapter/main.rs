//! Filters inside the RocksDB of the crate `rocksdb`: answers beside a model, every way to leave filters unused, policies
//! and options as texts.

mod model;
mod policies;
mod ranges;
mod useless;

use rocksdb::{BlockBasedOptions, DB, Options};
use tempfile::TempDir;

/// Numbers of the generator SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// The next one.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// One below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}

/// Options of a new database with statistics.
pub fn fresh() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    options
}

/// The same, with tables of these settings.
pub fn with_table(change: impl FnOnce(&mut BlockBasedOptions)) -> Options {
    let mut table = BlockBasedOptions::default();
    change(&mut table);
    let mut options = fresh();
    options.set_block_based_table_factory(&table);
    options
}

/// A database in a directory of its own.
pub fn open(options: &Options) -> (TempDir, DB) {
    let directory = tempfile::tempdir().unwrap();
    let db = DB::open(options, directory.path()).unwrap();
    (directory, db)
}

/// A key that every test has: the even ones are stored.
pub fn key(i: u64) -> Vec<u8> {
    format!("user{i:08}").into_bytes()
}

/// Stores the keys of even numbers below `end`, and flushes them.
pub fn store(db: &DB, end: u64) {
    for i in (0..end).step_by(2) {
        db.put(key(i), b"value").unwrap();
    }
    db.flush().unwrap();
}

/// Queries all keys below `end`. Those of even numbers must be found, and the others not.
pub fn query(db: &DB, end: u64) {
    for i in 0..end {
        assert_eq!(db.get(key(i)).unwrap().is_some(), i % 2 == 0, "{i}");
    }
}

/// Merges everything into the bottommost level, whose tables are written again if they are there already.
pub fn compact(db: &DB) {
    let mut compaction = rocksdb::CompactOptions::default();
    compaction.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::ForceOptimized);
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compaction);
}
