//! Filters of prefixes and of ranges, exhaustively at the boundaries of prefixes and tables: every range between rows of
//! up to three bytes, with tables that end after each of them.

use crate::*;

/// The least byte, the greatest, and others: a row with a zero appended is its successor, and rows of 0xff have none.
const ALPHABET: [u8; 3] = [0x00, b'a', 0xff];
/// Compaction ends a table after a value of this length.
const LONG: usize = 3_000;
/// A debug build takes ten times as long.
const SPARSENESS: usize = if cfg!(debug_assertions) { 8 } else { 1 };

/// All rows of up to three bytes, in order.
fn rows() -> Vec<Vec<u8>> {
    let mut rows = vec![Vec::new()];
    for start in [0, 1, 4] {
        for i in start..rows.len() {
            rows.extend(ALPHABET.map(|byte| [&rows[i][..], &[byte]].concat()));
        }
    }
    rows.sort();
    rows
}

/// The newest value of each row that has one.
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What is written to a level: rows by number, deleted or with a value that is long or short.
struct Layer {
    written: Vec<usize>,
    deleted: Vec<usize>,
    /// Rows after which a table ends.
    long: Vec<usize>,
}

impl Layer {
    fn write(&self, store: &Store, model: &mut Model, name: &str) {
        let rows = rows();
        for &i in &self.written {
            let len = if self.long.contains(&i) { LONG } else { 20 };
            let value = format!("{name} {i:>len$}").into_bytes();
            store.put(&rows[i], b"", &value).unwrap();
            model.insert(rows[i].clone(), value);
        }
        for &i in &self.deleted {
            store.delete(&rows[i], b"").unwrap();
            model.remove(&rows[i]);
        }
    }
}

/// The store's tables: two tables at least in each of the levels 2 and 1, two in level 0, and writes in memory.
struct Layout {
    levels: [Layer; 2],
    flushed: [Layer; 2],
    memory: Layer,
    max_table_bytes: u64,
}

impl Layout {
    /// Tables of the deeper levels end after row `boundary`, on which also depends which rows are in which layer.
    fn with_boundary(boundary: usize) -> Self {
        let every = |step: usize, from: usize| (0..rows().len()).filter(move |i| i % step == from % step);
        let layer = |written: Vec<usize>, deleted: Vec<usize>| {
            let long = vec![boundary, boundary + 1, boundary + 7];
            Layer { written, deleted, long }
        };
        let with_boundary = |mut written: Vec<usize>| {
            written.extend([0, boundary, (boundary + 1) % rows().len(), rows().len() - 1]);
            written.sort_unstable();
            written.dedup();
            written
        };
        Self {
            levels: [
                layer(with_boundary(every(3, boundary).chain(every(5, boundary)).collect()), Vec::new()),
                layer(with_boundary(every(7, boundary + 2).collect()), every(6, boundary + 2).collect()),
            ],
            flushed: [
                layer(every(11, boundary).collect(), every(13, boundary + 1).collect()),
                layer(vec![boundary], vec![(boundary + 20) % rows().len()]),
            ],
            memory: layer(every(17, boundary + 3).collect(), vec![(boundary + 5) % rows().len()]),
            max_table_bytes: LONG as u64,
        }
    }

    /// Every cell in a table of its own.
    fn of_single_cells() -> Self {
        Self { max_table_bytes: 1, ..Self::with_boundary(13) }
    }

    /// Tables of several blocks, and no boundary between them.
    fn of_blocks() -> Self {
        let mut layout = Self { max_table_bytes: 1 << 30, ..Self::with_boundary(26) };
        for layer in &mut layout.levels {
            layer.long = layer.written.clone();
        }
        layout
    }

    /// Returns whether tables end after a row that is not the last.
    fn is_split(&self) -> bool {
        self.levels[0].long[0] + 1 < rows().len() && self.max_table_bytes <= LONG as u64
    }

    fn build(&self, options: StoreOptions) -> (Store, Model) {
        let (storage, mut model) = (SimStorage::new(), Model::new());
        // Two tables of level 0 that share keys are merged and not just moved.
        let options =
            options.with_maintenance(Maintenance::Inline { seed: 1 }).with_cache_bytes(0).with_max_level0_tables(2);
        for (i, layer) in self.levels.iter().enumerate() {
            // Level 1 takes nothing the first time, so that all goes on to level 2; then it keeps all.
            let level_bytes_base = [1, 1 << 30][i];
            let options =
                options.clone().with_level_bytes(level_bytes_base, 1 << 30).with_max_table_bytes(self.max_table_bytes);
            let store = Store::open(Arc::new(storage.clone()), options).unwrap();
            layer.write(&store, &mut model, "overwritten");
            store.flush().unwrap();
            layer.write(&store, &mut model, ["deepest", "deep"][i]);
            store.flush().unwrap();
            store.settle().unwrap();
            assert!(store.stats().tables.iter().all(|table| table.level == 2 || i == 1 && table.level == 1));
            store.close().unwrap();
        }
        let options = options.with_max_level0_tables(100).with_level_bytes(1 << 30, 2);
        let store = Store::open(Arc::new(storage), options).unwrap();
        for layer in &self.flushed {
            layer.write(&store, &mut model, "flushed");
            store.flush().unwrap();
        }
        self.memory.write(&store, &mut model, "in memory");
        (store, model)
    }
}

/// Scans every range of rows, with every kind of bounds, and every prefix. Returns the number of scans.
fn ask(store: &Store, model: &Model) -> u64 {
    let rows = rows();
    let mut num_scans = 0;
    let of = |row: &Vec<u8>| [Bound::Included(row.clone()), Bound::Excluded(row.clone())];
    let bounds: Vec<Bound<Vec<u8>>> = rows.iter().flat_map(of).chain([Bound::Unbounded]).collect();
    let mut compare = |scan: &mut dyn Iterator<Item = _>, is_in: &dyn Fn(&[u8]) -> bool, what: &dyn Fn() -> String| {
        num_scans += 1;
        let mut expected = model.iter().filter(|(row, _)| is_in(row));
        for cell in scan {
            let cell: filterblock_kv::Cell = cell;
            assert_eq!(expected.next(), Some((&cell.row, &cell.value)), "{}", what());
        }
        assert_eq!(expected.next(), None, "{}", what());
    };
    for start in &bounds {
        for end in &bounds {
            let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
            let is_in = |row: &[u8]| RangeBounds::<[u8]>::contains(&range, row);
            compare(&mut store.scan(range).map(Result::unwrap), &is_in, &|| format!("{range:?}"));
        }
    }
    let longer = rows.iter().flat_map(|row| ALPHABET.map(|byte| [&row[..], &[byte]].concat()));
    for prefix in rows.iter().cloned().chain(longer) {
        let is_in = |row: &[u8]| row.starts_with(&prefix);
        compare(&mut store.scan_prefix(&prefix).map(Result::unwrap), &is_in, &|| format!("prefix {prefix:?}"));
    }
    num_scans
}

/// The scans of many layouts with these filters, which count under `purpose`.
fn explore(purpose: Purpose, what: &str, with: impl Fn(StoreOptions) -> StoreOptions) {
    let (mut layouts, mut num_scans, mut num_boundaries) = (0u64, 0, 0);
    let mut sum = Tally::default();
    let boundaries = (0..rows().len()).step_by(SPARSENESS).map(Layout::with_boundary);
    for layout in boundaries.chain([Layout::of_single_cells(), Layout::of_blocks()]) {
        let (store, model) = layout.build(with(StoreOptions::without_filters().with_seed(layouts * 31 + 17)));
        let stats = store.stats();
        let tables_of = |level| stats.tables.iter().filter(|table| table.level == level).count();
        assert_eq!(tables_of(0), 2);
        let boundaries = [tables_of(1) - 1, tables_of(2) - 1];
        num_boundaries += boundaries.iter().sum::<usize>();
        assert!(!layout.is_split() || boundaries.iter().all(|&boundaries| boundaries > 0), "{boundaries:?}");
        num_scans += ask(&store, &model);
        layouts += 1;

        let report = store.ledger_report();
        assert_eq!(report.check(), Ok(()));
        let scans = *report.total.of(purpose);
        assert_eq!(scans.lookups, Outcome::ALL.iter().map(|&outcome| scans.count(outcome)).sum::<u64>());
        // Every table has its filter, and no lookup was for anything else.
        let never = [Outcome::NoFilter, Outcome::FilterUnusable, Outcome::Tombstone, Outcome::Failed];
        assert_eq!(never.map(|outcome| scans.count(outcome)), [0; 4]);
        assert_eq!(report.total.total().lookups, scans.lookups);
        assert!(store.warnings().is_empty());
        sum = sum + scans;
    }
    println!("{what}: {layouts} layouts, {num_boundaries} boundaries between tables, {num_scans} scans");
    for &outcome in Outcome::ALL {
        println!("{what}: {:>9} {outcome}", sum.count(outcome));
    }
    println!("{what}: {:>9} true positives without a row in range", sum.entry_only);
    assert_eq!(num_scans, layouts * (81 * 81 + 40 + 120));
    for outcome in [Outcome::OutOfKeyRange, Outcome::Avoided, Outcome::TruePositive] {
        assert!(sum.count(outcome) > 100, "{outcome}");
    }
    assert!(sum.count(Outcome::FalsePositive) > 100 || what == MANY, "false positives");
    assert!(if purpose == Purpose::Prefix { sum.entry_only > 100 } else { sum.entry_only == 0 });
}

const MANY: &str = "ranges of many bits, and prefixes";

/// So few bits that many answers are wrong.
fn prefixes(len: u16) -> impl Fn(StoreOptions) -> StoreOptions {
    move |options| options.with_prefix_filter(len, FilterPolicy::with_bits_per_key(FilterKind::Bloom, 2.0).unwrap())
}

fn ranges(bits: f64) -> impl Fn(StoreOptions) -> StoreOptions {
    move |options| options.with_range_filter(RangePolicy::with_bits_per_key(bits).unwrap())
}

#[test]
fn every_range_with_prefixes_of_one_byte() {
    explore(Purpose::Prefix, "prefixes of 1", prefixes(1));
}

#[test]
fn every_range_with_prefixes_of_two_bytes() {
    explore(Purpose::Prefix, "prefixes of 2", prefixes(2));
}

/// The delimiter is one of the bytes that rows consist of.
#[test]
fn every_range_with_prefixes_up_to_delimiters() {
    for (delimiter, levels) in [(ALPHABET[0], 255), (ALPHABET[1], 2)] {
        let prefixes = KeyTransform::DelimitedPrefix { delimiter, levels };
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 2.0).unwrap();
        explore(Purpose::Prefix, &prefixes.to_string(), |options| options.with_prefixes(prefixes, policy.clone()));
    }
}

#[test]
fn every_range_with_range_filters() {
    explore(Purpose::Range, "ranges of few bits", ranges(40.0));
    explore(Purpose::Range, MANY, |options| prefixes(1)(ranges(100.0)(options)));
}
