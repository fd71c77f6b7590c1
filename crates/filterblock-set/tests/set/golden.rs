//! Golden sets, both ways: the bytes that are built equal the stored ones, and the sets of this version and of every
//! release answer. They are in `tests/golden` of the repository, beside the blocks.
//!
//! `FILTERBLOCK_BLESS=1 cargo test -p filterblock-set golden` writes those that are missing in `v1`; `.ci/release` calls it
//! with `FILTERBLOCK_RELEASE=0.2.0`, which adds those of a release.

use crate::*;
use std::fs;
use std::path::Path;

/// Name, policy, and slices of the numbers' column.
const CASES: [(&str, &str, u16); 5] = [
    ("bloom", "bloom:10", 1),
    ("blocked-slices3", "blocked:9,seed=7", 3),
    ("golomb", "golomb:8", 1),
    ("ribbon-slices2", "ribbon:fpr=1%,seed=5", 2),
    ("fuse", "fuse:12", 1),
];

/// The files of every golden set. Released sets have these, so they never change.
fn files() -> Vec<Table> {
    tables(0, 5, 30)
}

/// A set of three files, continued by two.
fn build(policy_text: &str, slices: u16) -> Vec<u8> {
    let files = files();
    let mut builder = SetBuilder::new(&policy(policy_text), &columns(slices)).expect("a builder");
    add(&mut builder, &files[..3]);
    let mut set = builder.finish().expect("a set");
    let old = open(&set).expect("an index");
    add(&mut builder, &files[3..]);
    set.extend(builder.finish_append(&old, |_| false).expect("a longer set"));
    set
}

fn write(dir: &Path) {
    fs::create_dir_all(dir).expect("a directory");
    for (name, policy, slices) in CASES {
        let path = dir.join(format!("{name}.set"));
        if !path.exists() {
            fs::write(path, build(policy, slices)).expect("a written file");
        }
    }
}

/// The stored sets of all directories, with their paths.
fn stored(golden: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let directories = fs::read_dir(golden).expect("a directory").map(|dir| dir.expect("an entry").path().join("sets"));
    let files = directories.filter(|sets| sets.exists()).flat_map(|sets| fs::read_dir(sets).expect("a directory"));
    files
        .map(|file| file.expect("an entry").path())
        .map(|path| (path.clone(), fs::read(path).expect("a set")))
        .collect()
}

#[test]
fn golden_sets() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    if std::env::var_os("FILTERBLOCK_BLESS").is_some() {
        write(&golden.join("v1/sets"));
    }
    if let Ok(version) = std::env::var("FILTERBLOCK_RELEASE") {
        write(&golden.join(version).join("sets"));
    }
    for (name, policy, slices) in CASES {
        let set = fs::read(golden.join(format!("v1/sets/{name}.set"))).expect("a golden file");
        assert!(build(policy, slices) == set, "{name} differs from what is built now");
    }
    let (stored, files) = (stored(&golden), files());
    assert!(stored.len() >= CASES.len());
    // Of each value, the files that do not have it.
    let absent = 2 * files.len() * 30 * (files.len() - 1);
    for (path, set) in &stored {
        let seen = no_row_lost(set, &files);
        let is_right = seen.opened && seen.bad_blocks == 0 && seen.denied > absent * 9 / 10;
        assert!(is_right, "{}: {seen:?} of {absent}", path.display());
    }
    println!("counted: {} golden filter sets, of this version and of releases, no row lost", stored.len());
}
