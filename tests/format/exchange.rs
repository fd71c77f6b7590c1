//! What one machine writes, others read: the golden frames, and the directory of a small store.
//!
//! Each run writes into a directory named after its processor, and reads the contents of all such directories: first it
//! compares them byte by byte with its own, then it reads them through the library. The environment variable
//! `FILTERBLOCK_EXCHANGE_DIR` names their parent, so that several machines can share it; without it, the run uses a
//! directory of its own. `FILTERBLOCK_EXCHANGE_FROM` lists the machines whose directories must be present.

use crate::golden;
use crate::material::{hex, numbers};
use filterblock::kv::{Durability, Maintenance, Purpose, RebuildOptions, Store, StoreOptions, WriteBatch};
use filterblock::{FilterKind, FilterPolicy};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of this machine's processor.
const HERE: &str = std::env::consts::ARCH;

const ROWS: usize = 1_500;
const WRITES: usize = 6_000;
const WRITES_IN_BATCH: usize = 8;

type Cells = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// Flushes and compactions at fixed points, several levels, every kind of filter, sized by rates and by a budget.
fn options() -> StoreOptions {
    let bits = |kind, bits| FilterPolicy::with_bits_per_key(kind, bits).expect("legal");
    let rate = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.01).expect("legal");
    StoreOptions::without_filters()
        .filter(Purpose::Row, bits(FilterKind::Blocked, 9.5))
        .filter(Purpose::RowColumn, rate)
        .prefix_filter(13, bits(FilterKind::Bloom, 12.0))
        .level_filter(0, Purpose::RowColumn, bits(FilterKind::Bloom, 10.0))
        .expect("a level")
        .level_filter(2, Purpose::Row, bits(FilterKind::Ribbon, 9.5))
        .expect("a level")
        .level_filter(2, Purpose::RowColumn, bits(FilterKind::Fuse, 9.5))
        .expect("a level")
        .filter_budget_bytes(9_000)
        .seed(0xfeed_f00d_dead_beef)
        .memtable_bytes_max(60_000)
        .level0_tables_max(2)
        .level_bytes(64 << 10, 2)
        .table_bytes_max(48 << 10)
        .maintenance(Maintenance::Inline { seed: 5 })
        .durability(Durability::Never)
}

fn row(number: u64) -> Vec<u8> {
    format!("{}.example/{:04}", ["com", "net", "org"][(number % 3) as usize], number % ROWS as u64).into_bytes()
}

/// Fixed: released versions have written them, too (`releases`). The writes in their order; a write without a value is
/// a deletion.
fn writes() -> impl Iterator<Item = (Vec<u8>, Vec<u8>, Option<Vec<u8>>)> {
    numbers(11).take(WRITES).map(|number| {
        let column = if number >> 32 & 1 == 0 { b"title".to_vec() } else { vec![0x80, 0xff, 0x00] };
        let value = hex(&number.to_string().into_bytes()).repeat((number >> 33) as usize % 4).into_bytes();
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
pub fn write_store(dir: &Path) {
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
            store.rebuild_filters(&RebuildOptions::new().seed(0x0123_4567_89ab_cdef)).expect("filters");
        }
    }
    let stats = store.stats();
    assert!(stats.memtable_cells > 0, "a log with something in it");
    assert!(stats.tables.iter().any(|table| table.filter_file.is_some()), "filters in files of their own");
    assert!(stats.tables.iter().any(|table| table.level >= 2), "several levels");
    let is_used = |kind| stats.tables.iter().flat_map(|table| &table.filters).any(|filter| filter.kind == kind);
    assert!(FilterKind::ALL.iter().copied().all(is_used), "every kind: {stats:?}");
    store.close().expect("a closed store");
}

/// Checks every cell, as many absent ones, a scan of all, and every filter. Returns the number of answers.
pub fn check_store(dir: &Path) -> usize {
    let store = Store::open_dir(dir, options().read_only(true)).expect("a store");
    let cells = cells();
    for ((row, column), value) in &cells {
        assert_eq!(store.get(row, column).expect("an answer").as_ref(), Some(value));
        assert_eq!(store.get(row, b"no such column").expect("an answer"), None);
    }
    let scanned = store.scan(..).map(|cell| cell.expect("a cell"));
    assert!(scanned.map(|cell| ((cell.row, cell.column), cell.value)).eq(cells.clone()), "the scan");
    let report = store.verify();
    assert_eq!(report.false_negatives(), 0);
    assert!(report.tables.iter().all(|table| !table.filters.is_empty() && table.unusable.is_empty()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    3 * cells.len()
}

/// All files of a directory except the lock.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let files = paths.map(|path| (name(&path), fs::read(&path).expect("a file")));
    files.filter(|(name, _)| name != "LOCK").collect()
}

fn write_all(dir: &Path) {
    if dir.exists() {
        fs::remove_dir_all(dir).expect("an old directory removed");
    }
    fs::create_dir_all(dir.join("frames")).expect("a directory");
    for case in golden::cases() {
        fs::write(dir.join("frames").join(&case.name), case.build(&case.keys())).expect("a file");
    }
    write_store(&dir.join("store"));
}

/// Compares the files in `there` with those in `here`, and queries them.
fn read_all(there: &Path, here: &Path, machine: &str) {
    for part in ["frames", "store"] {
        let (theirs, ours) = (files(&there.join(part)), files(&here.join(part)));
        assert!(theirs.keys().eq(ours.keys()), "{machine}: {:?}, here: {:?}", theirs.keys(), ours.keys());
        for (name, bytes) in &theirs {
            assert!(*bytes == ours[name], "{part}/{name} of {machine} is not what is written here");
        }
    }
    let frames = files(&there.join("frames"));
    let store = files(&there.join("store"));
    for extension in [".sst", ".flt", ".wal", "MANIFEST"] {
        assert!(store.keys().any(|name| name.ends_with(extension)), "no {extension}");
    }
    let cases = golden::cases();
    assert!(cases.len() >= 24 && cases.len() == frames.len());
    let answers: usize = cases.iter().map(|case| case.check_answers(&frames[&case.name])).sum();
    let answers = answers + check_store(&there.join("store"));
    println!(
        "counted: {} golden frames and {} files of a store written on {machine}, read on {HERE}: the same bytes, \
         {answers} answers",
        frames.len(),
        store.len()
    );
}

#[test]
fn machines_read_what_others_write() {
    let own = tempfile::tempdir().expect("a directory");
    let shared = std::env::var_os("FILTERBLOCK_EXCHANGE_DIR");
    let dir = shared.as_deref().map_or(own.path(), Path::new);
    write_all(&dir.join(HERE));
    let mut machines: Vec<String> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    machines.sort_unstable();
    let expected = std::env::var("FILTERBLOCK_EXCHANGE_FROM").unwrap_or_default();
    for machine in expected.split_whitespace() {
        assert!(machines.iter().any(|found| found == machine), "nothing from {machine}, only from {machines:?}");
    }
    for machine in &machines {
        read_all(&dir.join(machine), &dir.join(HERE), machine);
    }
}
