//! fjall 3: the documented options of keyspaces, and two calls that are not documented.

use crate::cells::{Key, ROW_LEN};
use crate::engine::{Engine, Settings};
use anyhow::Result;
use fjall::compaction::Leveled;
use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
    PinningPolicy, RestartIntervalPolicy,
};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use std::path::Path;
use std::sync::Arc;

/// RocksDB's default, and the larger of fjall's two.
const RESTART_INTERVAL: u8 = 16;

/// As pinned in Cargo.toml: any release may remove the two calls.
pub const VERSION: &str = "3.1.13";

struct Fjall {
    keyspace: Keyspace,
    // Closed after its keyspace.
    _database: Database,
}

pub fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>> {
    let database = Database::builder(dir).cache_size(settings.cache_bytes).open()?;
    let keyspace = database.keyspace("cells", || options(settings))?;
    Ok(Box::new(Fjall { keyspace, _database: database }))
}

/// Filters and indexes are unpartitioned and pinned, as by default in RocksDB.
fn options(settings: &Settings) -> KeyspaceCreateOptions {
    let levels = Leveled::default()
        .with_l0_threshold(Settings::LEVEL0_TABLES)
        .with_table_target_size(settings.table_bytes)
        .with_level_ratio_policy(vec![f32::from(Settings::LEVEL_RATIO)]);
    let bloom = BloomConstructionPolicy::BitsPerKey(Settings::BITS_PER_KEY as f32);
    KeyspaceCreateOptions::default()
        .max_memtable_size(settings.memtable_bytes)
        .compaction_strategy(Arc::new(levels))
        .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(bloom)))
        .data_block_compression_policy(CompressionPolicy::disabled())
        .index_block_compression_policy(CompressionPolicy::disabled())
        .data_block_size_policy(BlockSizePolicy::all(Settings::BLOCK_BYTES))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(RESTART_INTERVAL))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .index_block_partitioning_policy(PartitioningPolicy::all(false))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
}

impl Engine for Fjall {
    fn put(&self, key: &Key, value: &[u8]) -> Result<()> {
        Ok(self.keyspace.insert(key.joined(), value)?)
    }

    fn get(&self, key: &Key, seen: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        seen(self.keyspace.get(key.joined())?.as_deref());
        Ok(())
    }

    fn scan(&self, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        for cell in self.keyspace.iter() {
            let (key, value) = cell.into_inner()?;
            seen(&key[..ROW_LEN], &value);
        }
        Ok(())
    }

    fn flush_and_compact(&self) -> Result<()> {
        self.keyspace.rotate_memtable_and_wait()?;
        Ok(self.keyspace.major_compact()?)
    }
}
