//! filterblock's store.

use crate::cells::Key;
use crate::engine::{Engine, Settings};
use anyhow::Result;
use filterblock::kv::{Durability, FilterResidence, Maintenance, Purpose, Store, StoreOptions};
use filterblock::{FilterKind, FilterPolicy};
use std::path::Path;

struct Filterblock(Store);

/// With one filter for whole keys, as the peers have; by default the store has another one for rows.
pub fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>> {
    let bloom = FilterPolicy::with_bits_per_key(FilterKind::Blocked, f64::from(Settings::BITS_PER_KEY))?;
    let options = StoreOptions::without_filters()
        .filter(Purpose::RowColumn, bloom)
        .filter_residence(FilterResidence::Pinned)
        // Here the cache's limit includes pinned filters; the peers' limits do not.
        .cache_bytes(settings.cache_bytes + settings.filter_bytes)
        .memtable_bytes_max(usize::try_from(settings.memtable_bytes)?)
        .level0_tables_max(usize::from(Settings::LEVEL0_TABLES))
        .level_bytes(settings.level_base_bytes(), u32::from(Settings::LEVEL_RATIO))
        .table_bytes_max(settings.table_bytes)
        .maintenance(Maintenance::Background)
        .durability(Durability::Never);
    Ok(Box::new(Filterblock(Store::open_dir(dir, options)?)))
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
        for cell in self.0.scan(..) {
            let cell = cell?;
            seen(&cell.row, &cell.value);
        }
        Ok(())
    }

    fn flush_and_compact(&self) -> Result<()> {
        Ok(self.0.compact()?)
    }
}
