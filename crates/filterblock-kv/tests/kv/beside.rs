//! Reading a store while another process writes to it.

use crate::*;
use std::process::Child;

const NUM_PAIRS: u32 = 40;

fn options() -> StoreOptions {
    // Tables come and go all the time.
    let small =
        StoreOptions::default().with_max_memtable_bytes(6_000).with_max_table_bytes(8_000).with_max_level0_tables(2);
    small.with_level_bytes(20_000, 2).with_durability(Durability::Never)
}

fn row(side: &str, pair: u32) -> Vec<u8> {
    format!("{side}{pair:03}").into_bytes()
}

fn number(value: &[u8]) -> u64 {
    std::str::from_utf8(&value[..value.len().min(20)]).unwrap().trim_end().parse().unwrap()
}

/// Counts up in both rows of a pair at once, pair by pair, until it is killed.
fn write(dir: &Path) -> ! {
    let store = Store::open_dir(dir, options()).unwrap();
    for round in 1u64.. {
        for pair in 0..NUM_PAIRS {
            let value = format!("{round:<100}").into_bytes();
            let mut batch = WriteBatch::new();
            batch.put(&row("left", pair), b"column", &value).unwrap();
            batch.put(&row("right", pair), b"column", &value).unwrap();
            store.write(batch).unwrap();
        }
        if round % 64 == 0 {
            store.compact().unwrap();
            store.rebuild_filters(&filterblock_kv::RebuildOptions::new().with_seed(round)).unwrap();
        }
    }
    unreachable!()
}

struct Writer(Child);

impl Writer {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "beside::in_a_process_that_writes", "--ignored"]).env("FILTERBLOCK_TEST_DIR", dir);
        Self(child.stdout(std::process::Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "run by `a_reader_sees_one_moment_of_a_store_that_another_process_writes`"]
fn in_a_process_that_writes() {
    if let Some(dir) = std::env::var_os("FILTERBLOCK_TEST_DIR") {
        write(Path::new(&dir));
    }
}

/// Checks that the store is as it was at one moment, and returns how far the first pair had come.
fn check(store: &Store, before: u64) -> u64 {
    let get = |side: &str, pair| store.get(&row(side, pair), b"column").unwrap().map_or(0, |value| number(&value));
    let counts: Vec<u64> = (0..NUM_PAIRS).map(|pair| get("left", pair)).collect();
    assert!((0..NUM_PAIRS).all(|pair| get("right", pair) == counts[pair as usize]), "a batch in part: {counts:?}");
    assert!(counts.is_sorted_by(|a, b| a >= b) && counts[0] - counts[counts.len() - 1] <= 1, "{counts:?}");
    assert!(counts[0] >= before, "{} after {before}", counts[0]);
    let scanned: Vec<u64> = store.scan_prefix(b"left").map(|cell| number(&cell.unwrap().value)).collect();
    assert_eq!(scanned, counts.iter().copied().filter(|&count| count > 0).collect::<Vec<_>>());
    let report = store.verify();
    assert!(report.unreadable.is_empty() && report.false_negatives() == 0, "{:?}", report.unreadable);
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    counts[0]
}

/// For `FILTERBLOCK_TEST_SECONDS`, or 3 seconds.
#[test]
fn a_reader_sees_one_moment_of_a_store_that_another_process_writes() {
    let seconds = std::env::var("FILTERBLOCK_TEST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let dir = tempfile::tempdir().unwrap();
    Store::open_dir(dir.path(), options()).unwrap().close().unwrap();
    let mut writer = Writer::start(dir.path());
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let (mut count, mut num_openings, mut num_moments) = (0, 0u64, 0u64);
    while Instant::now() < deadline || num_moments < 10 {
        assert_eq!(writer.0.try_wait().unwrap(), None, "the writer has ended");
        let store = Store::open_dir(dir.path(), options().with_read_only(true)).unwrap();
        let now = check(&store, count);
        num_openings += 1;
        num_moments += u64::from(now > count);
        count = now;
        // What an open store sees stays the same.
        assert_eq!(check(&store, count), count);
    }
    drop(writer);
    println!("counted: {num_openings} openings beside a writer, {num_moments} moments, {count} rounds");
    let store = Store::open_dir(dir.path(), options()).unwrap();
    check(&store, count);
}
