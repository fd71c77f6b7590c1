//! filterblock's store.

use crate::cells::{Key, PREFIX_LEN};
use crate::engine::{Counts, Engine, Settings};
use crate::filters::{Filter, Residence};
use anyhow::Result;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_engine::ledger::Outcome;
use filterblock_kv::{Cell, Durability, Error, FilterResidence, Maintenance, Purpose, Store, StoreOptions};
use std::path::Path;

/// As in the peers.
const PARTITION_BYTES: u64 = 4096;

struct Filterblock(Store);

pub fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>> {
    let options = with_filters(StoreOptions::without_filters(), settings)?
        .with_max_memtable_bytes(usize::try_from(settings.memtable_bytes)?)
        .with_max_level0_tables(usize::from(settings.level0_tables))
        .with_level_bytes(settings.level_base_bytes(), u32::from(Settings::LEVEL_RATIO))
        .with_max_table_bytes(settings.table_bytes)
        .with_maintenance(Maintenance::Background)
        .with_durability(Durability::Never);
    Ok(Box::new(Filterblock(Store::open_dir(dir, options)?)))
}

/// One filter for whole keys, as the peers have; by default the store has another one for rows. The filter of prefixes
/// is separate; RocksDB has whole keys and prefixes in one filter, with the same bits per entry.
fn with_filters(options: StoreOptions, settings: &Settings) -> Result<StoreOptions> {
    let kind = match settings.filters.filter {
        Filter::None => return Ok(options.with_cache_bytes(settings.cache_bytes)),
        Filter::Bloom => FilterKind::Bloom,
        Filter::Blocked => FilterKind::Blocked,
        Filter::Ribbon => FilterKind::Ribbon,
        Filter::Fuse => FilterKind::Fuse,
    };
    let policy = FilterPolicy::with_bits_per_key(kind, f64::from(Settings::BITS_PER_KEY))?;
    let options = options.with_filter(Purpose::RowColumn, policy.clone());
    let options = if settings.has_prefixes { options.with_prefix_filter(PREFIX_LEN as u16, policy) } else { options };
    // The cache's limit includes filters in memory; the peers' limits do not.
    let cached = options.clone().with_filter_residence(FilterResidence::Cached);
    let options = match settings.filters.residence {
        Residence::Memory => options,
        Residence::Half => options.with_filter_memory_bytes(settings.held_filter_bytes()),
        // Filters smaller than a partition come through the cache, too.
        Residence::Partitioned => cached.with_partition_bytes(PARTITION_BYTES),
        Residence::Disk => cached,
    };
    Ok(options.with_cache_bytes(settings.cache_bytes + settings.held_filter_bytes()))
}

fn pass_on(mut cells: impl Iterator<Item = Result<Cell, Error>>, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
    cells.try_for_each(|cell| {
        let cell = cell?;
        seen(&cell.row, &cell.value);
        Ok(())
    })
}

impl Engine for Filterblock {
    fn put(&self, key: &Key, value: &[u8]) -> Result<()> {
        Ok(self.0.put(key.row(), key.column(), value)?)
    }

    fn get(&self, key: &Key, seen: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        seen(self.0.get(key.row(), key.column())?.as_deref());
        Ok(())
    }

    fn scan(&self, seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        pass_on(self.0.scan(..), seen)
    }

    fn scan_prefix(&self, prefix: &[u8], seen: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        pass_on(self.0.scan_prefix(prefix), seen)
    }

    fn flush(&self) -> Result<()> {
        Ok(self.0.flush()?)
    }

    fn compact(&self) -> Result<()> {
        Ok(self.0.compact()?)
    }

    fn counts(&self) -> Result<Counts> {
        let report = self.0.ledger_report();
        report.check()?;
        let (ledger, total) = (&report.total, report.total.total());
        let false_positives = total.count(Outcome::FalsePositive);
        let positives = total.count(Outcome::TruePositive) + total.count(Outcome::Tombstone) + false_positives;
        Ok(Counts {
            data_reads: Some(ledger.data_block_reads()),
            data_bytes: Some(ledger.data_block_bytes()),
            // A table's index is in memory while it is open.
            index_reads: Some(0),
            filter_reads: Some(ledger.filter_block_reads),
            filter_bytes: Some(ledger.filter_block_bytes),
            negatives: Some(total.count(Outcome::Avoided)),
            positives: Some(positives),
            false_positives: Some(false_positives),
        })
    }

    fn filter_bytes(&self) -> Result<u64> {
        Ok(self.0.stats().tables.iter().map(|table| table.filter_bytes).sum())
    }
}
