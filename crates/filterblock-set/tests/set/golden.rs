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
const CASES: [(&str, u8, u8, u8, f64); 6] = [
    ("pages", 3, 2, 3, 0.01),
    ("pages-small-rate", 6, 2, 3, 0.0001),
    ("rows-anywhere", 7, 1, 0, 0.01),
    ("lines", 1, 4, 7, 0.01),
    ("three-bands", 2, 3, 4, 0.02),
    (DROPPED, 3, 2, 3, 0.01),
];
/// The set of which the second file was dropped when it was continued.
const DROPPED: &str = "pages-dropped";
/// The set under a secret key, with a column for each class of values.
const CLASSES: &str = "classes-keyed";

/// The files of every golden set. Released sets have these, so they never change.
fn files() -> Vec<Table> {
    tables(0, 5, 30)
}

/// A set of three files, continued by two.
fn build((name, num_visits, num_bands, row_bits, rate): (&str, u8, u8, u8, f64)) -> Vec<u8> {
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
    let is_dropped = |file: &[u8]| name == DROPPED && file == files[1].name.as_bytes();
    second.finish_append(&old, is_dropped, &mut set).expect("a longer set");
    set
}

fn secret() -> KeyHasher {
    KeyHasher::keyed([7; 16])
}

/// A value of each class; those of two files differ.
fn values(number: i64) -> [Value<'static>; 8] {
    let bytes: &'static [u8] = [&b"\0"[..], b"key 1", b"\xff\xff"][number as usize % 3];
    let text = ["", "word 1", "\u{1f980}"][number as usize % 3];
    [
        Value::Opaque(bytes),
        Value::Decimal { unscaled: 105 - i128::from(number), scale: 1 },
        Value::Text(text),
        Value::Binary(bytes),
        Value::LocalTimestamp(-1_500 + number, TimeUnit::Millisecond),
        Value::Instant(1_700_000_000_000_000 + number, TimeUnit::Microsecond),
        Value::Date(20_000 + number as i32),
        Value::TimeOfDay(86_399_999_999_999 - number, TimeUnit::Nanosecond),
    ]
}

/// A set of three files, each with [`values`] of its number.
fn build_of_classes() -> Vec<u8> {
    let columns = ValueClass::ALL.map(|class| SetColumn::new([class.to_wire()], class, usual(3, 0.001)));
    let mut builder = SetBuilder::new(&secret(), &columns).expect("a builder");
    for (number, name) in (0..).zip(["a", "b", "c"]) {
        let mut file = builder.file(name, number).expect("a new file");
        (0..).zip(values(number as i64)).for_each(|(column, value)| assert!(file.add(column, value)));
        file.finish().expect("a file in memory");
    }
    finish(builder)
}

/// Each value is in the file that has it, and denied by the others.
fn check_classes(bytes: &[u8]) {
    let Ok(Opening::Ready(set)) = FilterSet::open(bytes.len() as u64, bytes, Some(&secret())) else {
        panic!("an index, of all bytes")
    };
    let files = set.select([("a", 0), ("b", 1), ("c", 2)]);
    for number in 0..3 {
        for (class, value) in (0..).zip(values(number as i64)) {
            let mut lookup = set.lookup(&set.query(&[class], [value]), &files);
            lookup.load(64, |range| Ok::<_, ()>(&bytes[range.start as usize..range.end as usize])).expect("in memory");
            let has: Vec<bool> = (0..3).map(|file| file == number).collect();
            assert_eq!(bools(&lookup.any()), has, "{value:?}");
        }
    }
}

fn write(dir: &Path) {
    fs::create_dir_all(dir).expect("a directory");
    for case in CASES {
        let path = dir.join(format!("{}.set", case.0));
        if !path.exists() {
            fs::write(path, build(case)).expect("a written file");
        }
    }
    let path = dir.join(format!("{CLASSES}.set"));
    if !path.exists() {
        fs::write(path, build_of_classes()).expect("a written file");
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
    let path = golden.join(format!("v1/sets/{CLASSES}.set"));
    assert!(build_of_classes() == fs::read(path).expect("a golden file"), "{CLASSES} differs from what is built now");
    let (stored, files) = (stored(&golden), files());
    assert!(stored.len() > CASES.len());
    for (path, set) in &stored {
        if path.file_stem().is_some_and(|name| name == CLASSES) {
            check_classes(set);
            continue;
        }
        // Of each value, the files that are known, without the one that has it.
        let absent = 2 * 30 * open(set).map_or(0, |set| set.files().count()) * (files.len() - 1);
        let seen = no_row_lost(set, &files);
        let is_right = seen.opened && seen.denied > absent * 9 / 10;
        assert!(is_right, "{}: {seen:?} of {absent}", path.display());
    }
    println!("counted: {} golden filter sets, of this version and of releases, no row lost", stored.len());
}
