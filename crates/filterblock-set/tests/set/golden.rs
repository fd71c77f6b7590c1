//! Golden sets, both ways: the bytes that are built equal the stored ones, and the sets of this version and of every
//! release answer. They are in `tests/golden` of the repository, beside the blocks.
//!
//! `FILTERBLOCK_BLESS=1 cargo test -p filterblock-set golden` writes those that are missing in `v1`; `.ci/release` calls it
//! with `FILTERBLOCK_RELEASE=0.2.0`, which adds those of a release.

use crate::sample::COLUMNS;
use crate::*;
use filterblock_set::{Shape, Sizing};
use std::fs;
use std::path::{Path, PathBuf};

/// Name, number of visits, bands and bits of a row, and rate; for files that usually have 30 keys.
const CASES: [(&str, u8, u8, u8, f64); 5] = [
    ("pages", 3, 2, 3, 0.01),
    ("pages-small-rate", 6, 2, 3, 0.0001),
    ("rows-anywhere", 7, 1, 0, 0.01),
    ("lines", 1, 4, 7, 0.01),
    ("three-bands", 2, 3, 4, 0.02),
];

/// The files of every golden set. Released sets have these, so they never change.
fn files() -> Vec<Table> {
    tables(0, 5, 30)
}

/// A set of three files, continued by two.
fn build((_, num_visits, num_bands, row_bits, rate): (&str, u8, u8, u8, f64)) -> Vec<u8> {
    let shape = Shape { num_visits, num_bands, row_bits };
    let sizing = Sizing::with_shape(shape, 30, rate).expect("small files");
    let [id, word] = COLUMNS;
    let columns = [SetColumn::new(id, ValueClass::Number, sizing), SetColumn::new(word, ValueClass::Text, sizing)];
    let files = files();
    let [mut first, mut second] = [0, 1].map(|_| SetBuilder::new(&hasher(), &columns).expect("a builder"));
    add(&mut first, &files[..3]);
    let mut set = finish(first);
    let old = open(&set).expect("an index");
    add(&mut second, &files[3..]);
    second.finish_append(&old, |_| false, &mut set).expect("a longer set");
    set
}

fn write(dir: &Path) {
    fs::create_dir_all(dir).expect("a directory");
    for case in CASES {
        let path = dir.join(format!("{}.set", case.0));
        if !path.exists() {
            fs::write(path, build(case)).expect("a written file");
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
    for case @ (name, ..) in CASES {
        let set = fs::read(golden.join(format!("v1/sets/{name}.set"))).expect("a golden file");
        assert!(build(case) == set, "{name} differs from what is built now");
    }
    let (stored, files) = (stored(&golden), files());
    assert!(stored.len() >= CASES.len());
    // Of each value, the files that do not have it.
    let absent = 2 * files.len() * 30 * (files.len() - 1);
    for (path, set) in &stored {
        let seen = no_row_lost(set, &files);
        let is_right = seen.opened && seen.denied > absent * 9 / 10;
        assert!(is_right, "{}: {seen:?} of {absent}", path.display());
    }
    println!("counted: {} golden filter sets, of this version and of releases, no row lost", stored.len());
}
