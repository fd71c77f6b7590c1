//! The stores that are damaged.

use crate::layout::{self, Kind};
use crate::sim::{CrashKind, SimStorage};
use crate::state::{Asked, Cells, State};
use filterblock::range::RangePolicy;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_kv::{Durability, Maintenance, PAGE_LEN, Purpose, RebuildOptions, Store, StoreOptions, WriteBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A store on the disk, not open, and the answers that it must give.
pub(crate) struct Sample {
    pub(crate) storage: SimStorage,
    pub(crate) options: StoreOptions,
    /// Its files.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Its states: the last one if nothing is lost, earlier ones if records of its open log are.
    pub(crate) states: Vec<State>,
    pub(crate) open_log: Option<OpenLog>,
    /// Tables with rebuilt filters: the filters in their own files are not read.
    pub(crate) superseded: Vec<String>,
}

/// A write-ahead log without a seal: its length is not stored.
pub(crate) struct OpenLog {
    pub(crate) name: String,
    /// The length of the log when it held each of the states.
    pub(crate) lens: Vec<usize>,
    /// The state that was synced before the last group of records was written.
    pub(crate) before_last_group: usize,
}

const NUM_ROWS: usize = 24;

fn row(i: usize) -> Vec<u8> {
    format!("{}{i:02}", char::from(b'a' + (i / 6) as u8)).into_bytes()
}

/// Present ones, absent ones between them, and absent ones with and without a neighbour of the same prefix.
fn rows() -> Vec<Vec<u8>> {
    let absent = [&b""[..], b"a", b"b07\0", b"bz", b"e", b"\xff\xff"].map(<[u8]>::to_vec);
    (0..NUM_ROWS).map(row).chain(absent).collect()
}

fn columns() -> Vec<Vec<u8>> {
    [&b"big"[..], b"small"].map(<[u8]>::to_vec).to_vec()
}

fn policy(kind: FilterKind) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, 10.0).unwrap()
}

/// All kinds, and both forms of range filters: level 0 has its own.
fn options() -> StoreOptions {
    StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(FilterKind::Golomb))
        .with_filter(Purpose::RowColumn, policy(FilterKind::Bloom))
        .with_prefix_filter(2, policy(FilterKind::Blocked))
        .with_range_filter(RangePolicy::with_bits_per_key(14.0).unwrap())
        .with_level_filter(0, Purpose::Row, policy(FilterKind::Ribbon))
        .unwrap()
        .with_level_filter(0, Purpose::RowColumn, policy(FilterKind::Fuse))
        .unwrap()
        .with_level_range_filter(0, RangePolicy::with_false_positive_rate(0.01, 16).unwrap())
        .unwrap()
        .with_seed(5)
        .with_cache_bytes(0)
        .with_maintenance(Maintenance::Inline { seed: 1 })
        .with_max_level0_tables(100)
        .with_max_table_bytes(5_000)
        .with_durability(Durability::Never)
}

fn open(storage: &SimStorage, options: StoreOptions) -> Store {
    Store::open(Arc::new(storage.clone()), options).unwrap()
}

/// Writes to a store and to the map that it is compared with.
struct Writes<'a> {
    store: &'a Store,
    cells: &'a mut Cells,
}

impl Writes<'_> {
    fn put(&mut self, i: usize, column: &[u8], value: &[u8]) {
        self.store.put(&row(i), column, value).unwrap();
        self.cells.insert((row(i), column.to_vec()), value.to_vec());
    }

    fn delete(&mut self, i: usize, column: &[u8]) {
        self.store.delete(&row(i), column).unwrap();
        self.cells.remove(&(row(i), column.to_vec()));
    }

    /// Moves a cell to another row, and counts it in a third.
    fn batch(&mut self, from: usize, to: usize, count: u8) {
        let value = self.cells.remove(&(row(from), b"small".to_vec())).unwrap_or_default();
        let mut batch = WriteBatch::new();
        batch.delete(&row(from), b"small").unwrap();
        batch.put(&row(to), b"small", &value).unwrap();
        batch.put(b"count", b"big", &[count]).unwrap();
        self.store.write(batch).unwrap();
        self.cells.insert((row(to), b"small".to_vec()), value);
        self.cells.insert((b"count".to_vec(), b"big".to_vec()), vec![count]);
    }
}

/// Two tables in level 1, one with rebuilt filters; two in level 0; writes and deletions in the log, which is sealed.
fn write_closed(storage: &SimStorage) -> Cells {
    let mut cells = Cells::new();
    let store = open(storage, options().with_filter(Purpose::Prefix, None));
    let mut writes = Writes { store: &store, cells: &mut cells };
    for i in (0..NUM_ROWS).filter(|i| i % 3 != 2) {
        writes.put(i, b"big", &[i as u8; 500]);
        if i % 2 == 0 {
            writes.put(i, b"small", &[i as u8; 10]);
        }
    }
    // Tables that share no key would be moved to level 1 as they are.
    store.flush().unwrap();
    Writes { store: &store, cells: &mut cells }.put(1, b"big", &[1; 490]);
    store.compact().unwrap();
    let mut writes = Writes { store: &store, cells: &mut cells };
    writes.put(0, b"big", b"newer");
    writes.delete(3, b"big");
    writes.put(5, b"small", b"only here");
    store.flush().unwrap();
    store.close().unwrap();

    let store = open(storage, options());
    let mut writes = Writes { store: &store, cells: &mut cells };
    writes.put(0, b"big", b"newest");
    writes.put(3, b"big", b"back");
    writes.delete(9, b"big");
    writes.put(17, b"big", &[17; 100]);
    store.flush().unwrap();
    let table = store.stats().tables.iter().find(|table| table.level == 1).unwrap().number;
    store.rebuild_filters(&RebuildOptions::new().with_table(table).with_seed(77)).unwrap();
    let mut writes = Writes { store: &store, cells: &mut cells };
    for i in [1, 4, 20] {
        writes.put(i, b"small", b"in the log");
    }
    writes.delete(10, b"big");
    writes.batch(0, 23, 1);
    writes.batch(6, 22, 2);
    store.close().unwrap();
    cells
}

impl Sample {
    /// The store after it was closed.
    pub(crate) fn closed() -> Self {
        let storage = SimStorage::new();
        let cells = write_closed(&storage);
        let sample = Self::new(&storage, options(), &[cells], None);
        let count = |kind| sample.files_of(kind).count();
        assert_eq!((count(Kind::Table), count(Kind::Filters), count(Kind::Log)), (4, 1, 1));
        let num_records = |kind| {
            let (_, bytes) = sample.files_of(kind).next().unwrap();
            layout::records(bytes).len()
        };
        // Magic; writes.
        assert_eq!(num_records(Kind::Log), 1 + 6);
        // Magic; state when it was opened; first log begun, second one, table added, seed, filters rebuilt, log sealed.
        assert_eq!(num_records(Kind::Manifest), 1 + 1 + 6);
        sample
    }

    /// The store as a crash leaves it: a sealed log whose memtable waits to be flushed, and an open one of three
    /// groups.
    pub(crate) fn crashed() -> Self {
        // Work is done inline at random: retried until the first log is not flushed.
        (0..1000).find_map(Self::crashed_with).expect("a seed that does not flush at once")
    }

    fn crashed_with(seed: u64) -> Option<Self> {
        let storage = SimStorage::new();
        let mut cells = write_closed(&storage);
        let options = options().with_max_memtable_bytes(4_000).with_maintenance(Maintenance::Inline { seed });
        let store = open(&storage, options.clone());
        let newest = store.stats().tables[0].number;
        store.rebuild_filters(&RebuildOptions::new().with_table(newest)).unwrap();
        let logs = || storage.names().into_iter().filter(|name| Kind::of(name) == Some(Kind::Log)).collect::<Vec<_>>();
        let first = logs();
        let (mut before, mut i) = (cells.clone(), 0);
        while logs() == first {
            before.clone_from(&cells);
            Writes { store: &store, cells: &mut cells }.put(i % NUM_ROWS, b"small", format!("filler {i}").as_bytes());
            i += 1;
        }
        let [_, name] = &logs()[..] else { return None };
        let len = || storage.contents(name).unwrap().len();
        // The write that found the memtable full is in the second log, after its magic.
        let magic_len = layout::records(&storage.contents(name).unwrap())[0].end;
        let (mut states, mut lens) = (vec![before, cells.clone()], vec![magic_len, len()]);
        let mut before_last_group = 0;
        for (group, writes) in [(0, 1..3), (1, 3..6), (2, 6..9)] {
            store.sync().unwrap();
            before_last_group = states.len() - 1;
            for i in writes {
                let mut writes = Writes { store: &store, cells: &mut cells };
                match i % 3 {
                    0 => writes.batch(i, i + 10, i as u8),
                    1 => writes.put(2 * i, b"big", format!("group {group}").as_bytes()),
                    _ => writes.delete(i - 1, b"big"),
                }
                states.push(cells.clone());
                lens.push(len());
            }
        }
        store.sync().unwrap();
        let image = storage.crash_image(CrashKind::Everything);
        let is_unflushed = logs().len() == 2 && logs()[1] == *name;
        let open_log = OpenLog { name: name.clone(), lens, before_last_group };
        is_unflushed.then(|| Self::new(&image, options, &states, Some(open_log)))
    }

    fn new(storage: &SimStorage, options: StoreOptions, cells: &[Cells], open_log: Option<OpenLog>) -> Self {
        let (mut rows, columns) = (rows(), columns());
        rows.push(b"count".to_vec());
        let states: Vec<State> = cells.iter().map(|cells| State::new(cells, &rows, &columns)).collect();
        let file = |name: String| {
            let bytes = storage.contents(&name).unwrap();
            (name, bytes)
        };
        let files = storage.names().into_iter().map(file).collect();
        let storage = storage.crash_image(CrashKind::Everything);
        let mut sample = Self { storage, options, files, states, open_log, superseded: Vec::new() };
        let store = open(&sample.image(), sample.options.clone());
        let asked = sample.states.last().unwrap().ask(&store);
        assert!(matches!(asked, Asked { answers: 90.., errors: 0 }), "{asked:?}");
        assert!(store.warnings().is_empty());
        let filters = store.stats().tables.into_iter().flat_map(|table| table.filters);
        let kinds: BTreeSet<FilterKind> = filters.map(|filter| filter.kind).collect();
        assert_eq!(kinds.len(), FilterKind::ALL.len(), "{kinds:?}");
        // Bytes 24 to 32 of the footer of a filter file are the number of its table.
        let table = |bytes: &[u8]| format!("{:06}.sst", layout::u64_at(&bytes[bytes.len() - PAGE_LEN..], 24));
        sample.superseded = sample.files_of(Kind::Filters).map(|(_, bytes)| table(bytes)).collect();
        assert!(!sample.superseded.is_empty() && sample.superseded.iter().all(|name| sample.files.contains_key(name)));
        sample
    }

    /// A copy of it.
    pub(crate) fn image(&self) -> SimStorage {
        self.storage.crash_image(CrashKind::Everything)
    }

    pub(crate) fn files_of(&self, kind: Kind) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.files.iter().filter(move |(name, _)| Kind::of(name) == Some(kind));
        files.map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}
