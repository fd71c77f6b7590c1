//! A process that may have few file descriptors, and a store of more tables than that.

use crate::*;
use std::fs::File;

/// Bytes of a value.
const LEN: usize = 100;

const NUM_TABLES: u32 = 100;

/// Runs a test of this module as a process that may have 64 descriptors.
fn with_few_descriptors(test: &str) {
    let mut child = Command::new("sh");
    child.args(["-c", "ulimit -n 64; exec \"$0\" --exact \"$1\" --ignored --nocapture"]);
    let output = child.arg(std::env::current_exe().unwrap()).arg(format!("descriptors::{test}")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "the test has another name");
}

fn options() -> StoreOptions {
    // No table is merged with others.
    StoreOptions::default().with_durability(Durability::Never).with_max_level0_tables(1_000).with_cache_bytes(0)
}

/// Descriptors of files in `dir`, and of the directory.
#[cfg(target_os = "linux")]
fn held(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| entry.unwrap().path().read_link().ok());
    links.filter(|link| link.starts_with(dir)).collect()
}

#[test]
fn a_store_has_more_tables_than_the_process_has_descriptors() {
    with_few_descriptors("many_tables");
}

#[test]
#[ignore = "run with few descriptors"]
fn many_tables() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), options()).unwrap();
    for i in 0..NUM_TABLES {
        put(&store, i, LEN).unwrap();
        // A row that all tables share: otherwise compaction would leave them as they are.
        store.put(b"shared", b"column", b"value").unwrap();
        store.flush().unwrap();
    }
    assert_eq!(store.stats().tables.len() as u32, NUM_TABLES);
    has(&store, 0..NUM_TABLES, LEN);
    assert!(store.verify().unreadable.is_empty());
    store.close().unwrap();
    let direct: Arc<dyn Storage> = Arc::new(FileStorage::open_direct(dir.path()).unwrap());
    let store = Store::open(direct, options()).unwrap();
    has(&store, 0..NUM_TABLES, LEN);
    // The directory, the lock, the manifest, the log, and a quarter of 64.
    #[cfg(target_os = "linux")]
    assert!(held(dir.path()).len() <= 4 + 16, "{:?}", held(dir.path()));
    assert_eq!(store.scan(..).count() as u32, NUM_TABLES + 1);
    store.rebuild_filters(&filterblock_kv::RebuildOptions::new().with_seed(3)).unwrap();
    store.compact().unwrap();
    has(&store, 0..NUM_TABLES, LEN);
    // The descriptors of removed tables are closed.
    #[cfg(target_os = "linux")]
    assert!(held(dir.path()).len() <= 5, "{:?}", held(dir.path()));
}

#[test]
fn a_process_without_descriptors_does_not_poison_its_store() {
    with_few_descriptors("none_left");
}

#[test]
#[ignore = "run with few descriptors"]
fn none_left() {
    // How many descriptors are left to the store.
    for left in 0..6 {
        let dir = tempfile::tempdir().unwrap();
        let inline = options().with_maintenance(Maintenance::Inline { seed: 1 });
        let store = Store::open_dir(dir.path(), inline.clone()).unwrap();
        let mut acknowledged = 0;
        let mut write = |store: &Store, wanted: usize| {
            let mut results = Vec::new();
            while results.len() < wanted {
                results
                    .push(put(store, acknowledged, LEN).inspect(|()| acknowledged += 1).and_then(|()| store.flush()));
            }
            results
        };
        assert!(write(&store, 10).iter().all(Result::is_ok));
        let mut others: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        others.truncate(others.len() - left);
        for refused in write(&store, 10).into_iter().filter_map(Result::err) {
            assert!(refused.to_string().contains("Too many open files"), "{left}: {refused}");
        }
        drop(others);
        assert!(write(&store, 10).iter().all(Result::is_ok), "{left}: the store did not recover");
        has(&store, 0..acknowledged, LEN);
        store.close().unwrap();
        has(&Store::open_dir(dir.path(), inline).unwrap(), 0..acknowledged, LEN);
    }
}
