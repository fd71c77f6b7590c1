//! The directory of a small store, written on one machine and read on others, or by a release and read by all later ones.

use crate::between_machines;
use crate::*;
use std::fs;

const ROWS: usize = 1_500;
const WRITES: usize = 6_000;
const WRITES_IN_BATCH: usize = 8;

type Cells = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// Flushes and compactions at fixed points, several levels, every kind of filter, sized by rates and by a budget.
fn options() -> StoreOptions {
    let rate = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.01).expect("legal");
    let options = StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(FilterKind::Blocked, 9.5))
        .with_filter(Purpose::RowColumn, rate)
        .with_prefix_filter(13, policy(FilterKind::Bloom, 12.0))
        .with_range_filter(RangePolicy::with_bits_per_key(12.0).expect("legal"))
        .with_filter_budget_bytes(9_000)
        .with_seed(0xfeed_f00d_dead_beef)
        .with_max_level0_tables(2)
        .with_maintenance(Maintenance::Inline { seed: 5 });
    let of_levels = [
        (0, Purpose::RowColumn, policy(FilterKind::Bloom, 10.0)),
        (2, Purpose::Row, policy(FilterKind::Ribbon, 9.5)),
        (2, Purpose::RowColumn, policy(FilterKind::Fuse, 9.5)),
    ];
    leveled(by_level(options, of_levels), 60_000, (64 << 10, 2), 48 << 10)
}

fn row(number: u64) -> Vec<u8> {
    format!("{}.example/{:04}", ["com", "net", "org"][(number % 3) as usize], number % ROWS as u64).into_bytes()
}

/// The writes in their order; a write without a value is a deletion. Released stores have these, so they never change.
fn writes() -> impl Iterator<Item = (Vec<u8>, Vec<u8>, Option<Vec<u8>>)> {
    let mut random = Random::new(11);
    (0..WRITES).map(move |_| {
        let number = random.next();
        let column = if number >> 32 & 1 == 0 { b"title".to_vec() } else { vec![0x80, 0xff, 0x00] };
        let value = format!("{number:x}").repeat((number >> 33) as usize % 4).into_bytes();
        (row(number >> 16), column, (number >> 40 & 7 != 0).then_some(value))
    })
}

fn cells() -> Cells {
    let mut cells = Cells::new();
    for (row, column, value) in writes() {
        match value {
            Some(value) => cells.insert((row, column), value),
            None => cells.remove(&(row, column)),
        };
    }
    cells
}

/// Filters are rebuilt near the end; the last writes are only in a log.
fn write_store(dir: &Path) {
    let store = Store::open_dir(dir, options()).expect("a store");
    let writes: Vec<_> = writes().collect();
    for (batch_number, part) in writes.chunks(WRITES_IN_BATCH).enumerate() {
        let mut batch = WriteBatch::new();
        for (row, column, value) in part {
            match value {
                Some(value) => batch.put(row, column, value).expect("legal"),
                None => batch.delete(row, column).expect("legal"),
            };
        }
        store.write(batch).expect("a write");
        if batch_number == WRITES / WRITES_IN_BATCH * 9 / 10 {
            store.rebuild_filters(&RebuildOptions::new().with_seed(0x0123_4567_89ab_cdef)).expect("filters");
        }
    }
    let stats = store.stats();
    assert!(stats.memtable_cells > 0, "a log with something in it");
    assert!(stats.tables.iter().any(|table| table.filter_file.is_some()), "filters in files of their own");
    assert!(stats.tables.iter().any(|table| table.level >= 2), "several levels");
    assert!(stats.tables.iter().all(|table| table.range_filter.is_some()), "range filters");
    let is_used = |kind| stats.tables.iter().flat_map(|table| &table.filters).any(|filter| filter.kind == kind);
    assert!(FilterKind::ALL.iter().copied().all(is_used), "every kind: {stats:?}");
    store.close().expect("a closed store");
}

/// Checks every cell, as many absent ones, scans of all and of each row, and every filter. Returns the number of answers.
fn check_store(dir: &Path) -> usize {
    let store = Store::open_dir(dir, options().with_read_only(true)).expect("a store");
    let cells = cells();
    for ((row, column), value) in &cells {
        assert_eq!(store.get(row, column).expect("an answer").as_ref(), Some(value));
        assert_eq!(store.get(row, b"no such column").expect("an answer"), None);
    }
    let scanned = store.scan(..).map(|cell| cell.expect("a cell"));
    assert!(scanned.map(|cell| ((cell.row, cell.column), cell.value)).eq(cells.clone()), "the scan");
    for (row, column) in cells.keys() {
        for mut scanned in [store.scan(&row[..]..=&row[..]), store.scan_prefix(row)] {
            assert!(scanned.any(|cell| cell.expect("a cell").column == *column), "a scan of {row:?}");
        }
    }
    let report = store.verify();
    assert_eq!(report.false_negatives(), 0);
    assert!(report.tables.iter().all(|table| !table.filters.is_empty() && table.unusable.is_empty()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    5 * cells.len()
}

#[test]
fn machines_read_stores_that_others_write() {
    between_machines::exchange("store", "files of a store", write_store, check_store);
}

/// `FILTERBLOCK_RELEASE=0.1.0 cargo test -p filterblock-kv --test kv released` adds the store of a release; `.ci/release`
/// calls it.
#[test]
fn released_stores_are_read() {
    let released: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect();
    if let Ok(version) = std::env::var("FILTERBLOCK_RELEASE") {
        let dir = released.join(version);
        fs::create_dir_all(&released).expect("a directory");
        fs::create_dir(&dir).expect("a release that is not there yet");
        write_store(&dir);
        fs::remove_file(dir.join("LOCK")).expect("a lock removed");
    }
    for dir in fs::read_dir(released).into_iter().flatten() {
        let (dir, copy) = (dir.expect("an entry").path(), tempfile::tempdir().expect("a directory"));
        for file in fs::read_dir(&dir).expect("a directory").map(|file| file.expect("an entry")) {
            fs::copy(file.path(), copy.path().join(file.file_name())).expect("a copied file");
        }
        println!("counted: the store of {}, {} answers", dir.display(), check_store(copy.path()));
        Store::open_dir(copy.path(), options())
            .expect("a store to write to")
            .put(b"row", b"column", b"")
            .expect("a write");
    }
}
