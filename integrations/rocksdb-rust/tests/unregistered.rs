//! An options file in a process that has not registered the adapter, which takes a program of its own.

use filterblock_rocksdb::{Filters, Finding, Policies, set_filter_policy};
use rocksdb::{Cache, DB, Env, Options};
use std::fs;
use std::path::Path;

/// Names a policy in the newest options file.
fn name_the_policy(directory: &Path) {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS")).max().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let named = text.replace("  filter_policy=nullptr", "  filter_policy=filterblock:blocked:10/ribbon:10");
    assert_ne!(text, named);
    fs::write(&file, named).unwrap();
}

#[test]
fn rocksdb_leaves_out_a_policy_that_is_not_registered() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    drop(DB::open(&options, directory.path()).unwrap());
    name_the_policy(directory.path());

    let read = |ignore_unknown| {
        Options::load_latest(directory.path(), Env::new().unwrap(), ignore_unknown, Cache::new_lru_cache(1 << 20))
    };
    let (read_options, families) = read(true).unwrap();
    let db = DB::open_cf_descriptors(&read_options, directory.path(), families).unwrap();
    assert!(Filters::of(&db).is_none());
    let filters = set_filter_policy(&mut options, &Policies::default()).unwrap();
    assert_eq!(filters.in_use(&db).findings, [Finding::NoPolicy]);
    drop(db);
    // That call has registered the adapter. Meanwhile the database has written another options file.
    name_the_policy(directory.path());
    let (read_options, families) = read(false).unwrap();
    let db = DB::open_cf_descriptors(&read_options, directory.path(), families).unwrap();
    assert_eq!(filters.in_use(&db).findings, []);
    assert!(Filters::of(&db).is_some());
}
