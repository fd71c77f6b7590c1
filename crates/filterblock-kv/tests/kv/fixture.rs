//! What many of these tests begin with.

use crate::*;

/// A store without filters, whose writing threads do its maintenance.
pub(crate) fn inline() -> StoreOptions {
    StoreOptions::without_filters().with_maintenance(Maintenance::Inline { seed: 1 }).with_seed(3)
}

/// Filters for rows and for cells, of the same policy.
pub(crate) fn with_both(policy: FilterPolicy) -> StoreOptions {
    StoreOptions::without_filters().with_filter(Purpose::Row, policy.clone()).with_filter(Purpose::RowColumn, policy)
}

/// With other filters in some levels.
pub(crate) fn by_level<const N: usize>(all: StoreOptions, of: [(usize, Purpose, FilterPolicy); N]) -> StoreOptions {
    of.into_iter().fold(all, |all, (level, purpose, policy)| all.with_level_filter(level, purpose, policy).unwrap())
}

/// Options without syncs, for small tables in several levels, each larger than the one before it by a constant factor.
pub(crate) fn leveled(options: StoreOptions, memtable: usize, (level, times): (u64, u32), table: u64) -> StoreOptions {
    let options = options.with_durability(Durability::Never).with_max_memtable_bytes(memtable);
    options.with_level_bytes(level, times).with_max_table_bytes(table)
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

/// A table's bytes as a file, in a directory of its own.
pub(crate) fn table_file(bytes: &[u8]) -> (tempfile::TempDir, TableFile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table");
    std::fs::write(&path, bytes).unwrap();
    (dir, TableFile::open(&path).unwrap())
}

/// All files of a simulated disk.
pub(crate) fn sim_files(storage: &SimStorage) -> BTreeMap<String, Vec<u8>> {
    storage.names().into_iter().map(|name| (name.clone(), storage.contents(&name).unwrap())).collect()
}

/// Replaces a file, or removes it.
pub(crate) fn replace(storage: &SimStorage, file: &str, bytes: Option<Vec<u8>>) {
    match bytes {
        Some(bytes) => storage.replace(file, bytes),
        None => Storage::remove(storage, file).unwrap(),
    }
}

/// All files of a directory.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}
