//! fjall 3: the documented options of keyspaces, and three calls that are not documented.

use crate::cells::{Key, ROW_LEN};
use crate::engine::{Counts, Engine, Settings};
use crate::filters::{Filter, Residence};
use anyhow::Result;
use fjall::AbstractTree;
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

/// As pinned in Cargo.toml: any release may remove these calls.
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

/// Indexes are pinned and not partitioned, as by default in RocksDB, unless filters are.
fn options(settings: &Settings) -> KeyspaceCreateOptions {
    let levels = Leveled::default()
        .with_l0_threshold(settings.level0_tables)
        .with_table_target_size(settings.table_bytes)
        .with_level_ratio_policy(vec![f32::from(Settings::LEVEL_RATIO)]);
    let filters = match settings.filters.filter {
        Filter::None => FilterPolicy::disabled(),
        _ => FilterPolicy::all(FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(
            Settings::BITS_PER_KEY as f32,
        ))),
    };
    let are_pinned = settings.filters.residence == Residence::Memory;
    let are_partitioned = settings.filters.residence == Residence::Partitioned;
    KeyspaceCreateOptions::default()
        .max_memtable_size(settings.memtable_bytes)
        .compaction_strategy(Arc::new(levels))
        .filter_policy(filters)
        .data_block_compression_policy(CompressionPolicy::disabled())
        .index_block_compression_policy(CompressionPolicy::disabled())
        .data_block_size_policy(BlockSizePolicy::all(Settings::BLOCK_BYTES))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(RESTART_INTERVAL))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_pinning_policy(PinningPolicy::all(are_pinned))
        .index_block_partitioning_policy(PartitioningPolicy::all(false))
        .filter_block_partitioning_policy(PartitioningPolicy::all(are_partitioned))
}

fn pass_on(cells: fjall::Iter, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
    for cell in cells {
        let (key, value) = cell.into_inner()?;
        seen(&key[..ROW_LEN], &value);
    }
    Ok(())
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
        pass_on(self.keyspace.iter(), seen)
    }

    /// Without a filter: there are none of prefixes.
    fn scan_prefix(&self, prefix: &[u8], seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        pass_on(self.keyspace.prefix(prefix), seen)
    }

    fn flush(&self) -> Result<()> {
        Ok(self.keyspace.rotate_memtable_and_wait()?)
    }

    fn compact(&self) -> Result<()> {
        Ok(self.keyspace.major_compact()?)
    }

    fn counts(&self) -> Result<Counts> {
        let metrics = self.keyspace.metrics();
        let reads = |loaded: usize, cached: usize| Some((loaded - cached) as u64);
        Ok(Counts {
            data_reads: reads(metrics.data_block_load_count(), metrics.data_block_load_cached_count()),
            data_bytes: Some(metrics.data_block_io()),
            index_reads: reads(metrics.index_block_load_count(), metrics.index_block_load_cached_count()),
            filter_reads: reads(metrics.filter_block_load_count(), metrics.filter_block_load_cached_count()),
            filter_bytes: Some(metrics.filter_block_io()),
            negatives: Some(metrics.io_skipped_by_filter() as u64),
            positives: None,
            // Probes for keys that are present count as neither.
            false_positives: Some((metrics.filter_queries() - metrics.io_skipped_by_filter()) as u64),
        })
    }

    fn filter_bytes(&self) -> Result<u64> {
        Ok(self.keyspace.tree.filter_size())
    }
}
