//! A small store with one of everything, written by the library, always with the same bytes: the targets damage it, and
//! seeds are made from it.

use crate::sim::SimStorage;
use crate::state::State;
use filterblock::range::RangePolicy;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_kv::{
    Durability, FilterResidence, Maintenance, Purpose, RebuildOptions, Store, StoreOptions, WriteBatch,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Row and column, and the live value.
pub type Cells = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;
/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The closed store, and the answers that it must give.
pub struct Sample {
    pub files: Files,
    pub(crate) state: State,
    /// A table of a deeper level, and one of level 0 with a file of rebuilt filters.
    pub deep: Table,
    pub shallow: Table,
    /// Row and column of the cells of the table of level 0, including tombstones.
    pub shallow_keys: BTreeSet<(Vec<u8>, Vec<u8>)>,
    /// Level and number of each table; see [`levels`].
    pub levels: Vec<(usize, u64)>,
}

/// A table's number and the name of the file in question.
#[derive(Clone, Debug)]
pub struct Table {
    pub number: u64,
    pub file: String,
}

fn policy(kind: FilterKind) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, 12.0).expect("a legal size")
}

/// All purposes and all kinds; every flush and compaction runs at once and in this thread.
pub fn options() -> StoreOptions {
    StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(FilterKind::Golomb))
        .with_filter(Purpose::RowColumn, policy(FilterKind::Bloom))
        .with_prefix_filter(2, policy(FilterKind::Blocked))
        .with_range_filter(RangePolicy::with_bits_per_key(12.0).expect("a legal size"))
        .with_level_filter(0, Purpose::Row, policy(FilterKind::Ribbon))
        .expect("a level")
        .with_level_filter(0, Purpose::RowColumn, policy(FilterKind::Fuse))
        .expect("a level")
        .with_seed(5)
        .with_cache_bytes(64 << 10)
        .with_maintenance(Maintenance::Inline { seed: 1 })
        .with_max_level0_tables(100)
        .with_durability(Durability::Never)
}

/// The same, with filters in a cache that is too small for them.
pub fn crowded_options() -> StoreOptions {
    options().with_filter_residence(FilterResidence::Cached).with_cache_bytes(10 << 10)
}

/// A directory with these files.
pub fn storage(files: &Files) -> SimStorage {
    let storage = SimStorage::new();
    files.iter().for_each(|(name, bytes)| storage.replace(name, bytes.clone()));
    storage
}

/// The files of a directory.
pub fn files(storage: &SimStorage) -> Files {
    let file = |name: String| storage.contents(&name).map(|bytes| (name, bytes));
    storage.names().into_iter().filter_map(file).collect()
}

/// Opens a store that must open.
pub fn open(storage: &SimStorage) -> Store {
    Store::open(Arc::new(storage.clone()), options()).expect("an intact store")
}

fn row(i: u32) -> Vec<u8> {
    format!("{}{i:02}", char::from(b'a' + (i / 4) as u8)).into_bytes()
}

/// Writes to a store and to the map to which it is compared.
struct Writer<'a> {
    store: &'a Store,
    cells: Cells,
    /// Keys written since the last table.
    keys: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

impl Writer<'_> {
    fn put(&mut self, i: u32, column: &[u8], value: &[u8]) {
        self.store.put(&row(i), column, value).expect("a write");
        self.cells.insert((row(i), column.to_vec()), value.to_vec());
        self.keys.insert((row(i), column.to_vec()));
    }

    fn delete(&mut self, i: u32, column: &[u8]) {
        self.store.delete(&row(i), column).expect("a write");
        self.cells.remove(&(row(i), column.to_vec()));
        self.keys.insert((row(i), column.to_vec()));
    }
}

/// Level and number of each table.
pub fn levels(store: &Store) -> Vec<(usize, u64)> {
    store.stats().tables.iter().map(|table| (table.level, table.number)).collect()
}

/// The sample, made only once.
pub fn sample() -> &'static Sample {
    static SAMPLE: OnceLock<Sample> = OnceLock::new();
    SAMPLE.get_or_init(make)
}

fn make() -> Sample {
    let storage = SimStorage::new();
    let store = open(&storage);
    let mut writer = Writer { store: &store, cells: Cells::new(), keys: BTreeSet::new() };
    for i in 0..12 {
        writer.put(i, b"x", format!("deep {i}").as_bytes());
    }
    // A block of two pages.
    writer.put(5, b"long", &vec![b'v'; 4200]);
    store.flush().expect("a table");
    // Overwrites some cells, which compaction resolves.
    writer.put(1, b"x", b"twice");
    writer.delete(2, b"x");
    store.compact().expect("one table");
    writer.keys.clear();
    for i in (0..16).step_by(3) {
        writer.put(i, b"y", format!("shallow {i}").as_bytes());
    }
    writer.delete(4, b"x");
    writer.delete(5, b"none");
    store.flush().expect("a table");
    let shallow_keys = core::mem::take(&mut writer.keys);
    let levels = levels(&store);
    let [(0, shallow), (1.., deep)] = levels[..] else { panic!("tables of two levels: {levels:?}") };
    let rebuilt = store.rebuild_filters(&RebuildOptions::new().with_table(shallow)).expect("filters").tables.remove(0);
    let mut batch = WriteBatch::new();
    batch.put(b"a00", b"x", b"in the log").expect("a cell");
    batch.delete(b"a03", b"y").expect("a cell");
    store.write(batch).expect("a write");
    writer.cells.insert((row(0), b"x".to_vec()), b"in the log".to_vec());
    writer.cells.remove(&(row(3), b"y".to_vec()));
    writer.put(40, b"", b"");
    let cells = writer.cells;
    store.close().expect("a closed store");
    let mut rows: Vec<Vec<u8>> = (0..18).map(row).collect();
    rows.extend([&b""[..], b"b05\0", b"bz", b"k40", b"\xff\xff"].map(<[u8]>::to_vec));
    let columns = [&b""[..], b"long", b"x", b"y"].map(<[u8]>::to_vec);
    Sample {
        files: files(&storage),
        state: State::new(&cells, &rows, &columns),
        deep: Table { number: deep, file: format!("{deep:06}.sst") },
        shallow: Table { number: shallow, file: rebuilt.filter_file },
        shallow_keys,
        levels,
    }
}
