//! What many of these tests begin with.

use crate::sim::SimStorage;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_kv::{Maintenance, Store, StoreOptions};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A store without filters, whose writing threads do its maintenance.
pub(crate) fn inline() -> StoreOptions {
    StoreOptions::without_filters().with_maintenance(Maintenance::Inline { seed: 1 }).with_seed(3)
}

#[track_caller]
pub(crate) fn open(storage: &SimStorage, options: StoreOptions) -> Store {
    Store::open(Arc::new(storage.clone()), options).unwrap()
}

pub(crate) fn policy(kind: FilterKind, bits_per_key: f64) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, bits_per_key).unwrap()
}

/// The tables of a store, by name.
pub(crate) fn tables(storage: &SimStorage) -> Vec<String> {
    let is_table = |name: &String| name.ends_with(".sst") && !name.contains('/');
    storage.names().into_iter().filter(is_table).collect()
}

/// Changes the bytes of a file.
pub(crate) fn change(storage: &SimStorage, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = storage.contents(file).unwrap();
    change(&mut bytes);
    storage.replace(file, bytes);
}

/// All files of a directory.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}
