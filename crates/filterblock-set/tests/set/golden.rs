//! Golden sets, both ways: the bytes that are built equal the stored ones, and the sets of this version and of every
//! release answer. They are in `tests/golden` of the repository, beside the blocks.
//!
//! `FILTERBLOCK_BLESS=1 cargo test -p filterblock-set golden` writes those that are missing in `v1`; `.ci/release` calls it
//! with `FILTERBLOCK_RELEASE=0.2.0`, which adds those of a release.

use crate::sample::columns_of;
use crate::*;
use filterblock_set::{Shape, Sizing};
use std::fs;
use std::path::{Path, PathBuf};

/// How a set is made of its files.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Whole,
    /// Of three files, continued by two.
    Appended,
    /// And the second file was dropped when it was continued.
    Dropped,
    /// And written anew without it, from the set alone.
    Compacted,
}

/// Name, number of visits, bands and bits of a row, rate; how it is made, and of files of how many keys, which usually
/// have 30. Released sets are these, so that none of them changes.
type Case = (&'static str, u8, u8, u8, f64, Made, [usize; 5]);

const CASES: [Case; 9] = [
    ("pages", 3, 2, 3, 0.01, Made::Appended, [30; 5]),
    ("pages-small-rate", 6, 2, 3, 0.0001, Made::Appended, [30; 5]),
    ("rows-anywhere", 7, 1, 0, 0.01, Made::Appended, [30; 5]),
    ("lines", 1, 4, 7, 0.01, Made::Appended, [30; 5]),
    ("three-bands", 2, 3, 4, 0.02, Made::Appended, [30; 5]),
    ("pages-whole", 3, 2, 3, 0.01, Made::Whole, [30; 5]),
    ("pages-dropped", 3, 2, 3, 0.01, Made::Dropped, [30; 5]),
    ("pages-compacted", 3, 2, 3, 0.01, Made::Compacted, [30; 5]),
    // Filters of four sizes.
    ("pages-sizes", 3, 2, 3, 0.01, Made::Appended, [1, 12, 30, 30, 200]),
];
/// The set under a secret key, with a column for each class of values.
const CLASSES: &str = "classes-keyed";

fn files(num_keys: [usize; 5]) -> Vec<Table> {
    (0..5).flat_map(|file| tables(file, 1, num_keys[file])).collect()
}

fn build((_, num_visits, num_bands, row_bits, rate, made, num_keys): Case) -> Vec<u8> {
    let shape = Shape { num_visits, num_bands, row_bits };
    let columns = columns_of(Sizing::with_shape(shape, 30, rate).expect("small files"));
    let files = files(num_keys);
    let (first, second) = files.split_at(if made == Made::Whole { 5 } else { 3 });
    let builder = || SetBuilder::new(&hasher(), &columns).expect("a builder");
    let [mut of_first, mut of_second, mut of_all] = [builder(), builder(), builder()];
    add(&mut of_first, first);
    let mut set = finish(of_first);
    if made != Made::Whole {
        let old = open(&set).expect("an index");
        add(&mut of_second, second);
        let is_dropped = |file: &[u8]| made != Made::Appended && file == files[1].name.as_bytes();
        of_second.finish_append(&old, is_dropped, &mut set).expect("a longer set");
    }
    if made == Made::Compacted {
        let fetch = |at: Range<u64>| Ok(&set[at.start as usize..at.end as usize]);
        assert!(matches!(of_all.absorb(&open(&set).expect("an index"), |_| true, fetch), Ok(0)));
        set = finish(of_all);
    }
    set
}

/// No row is lost, and nine in ten answers of known files about rows of others are *no*.
fn check((name, .., num_keys): Case, set: &[u8]) {
    let files = files(num_keys);
    let known: Vec<_> = open(set).expect("an index").files().map(|(name, _)| name.to_vec()).collect();
    let of_others = |file: &Table| 2 * (num_keys.iter().sum::<usize>() - file.ids.len());
    let absent: usize =
        files.iter().filter(|file| known.iter().any(|name| name == file.name.as_bytes())).map(of_others).sum();
    let seen = no_row_lost(set, &files);
    assert!(known.len() >= 4 && seen.denied > absent * 9 / 10, "{name}: {seen:?} of {absent}");
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
    for (name, set) in CASES.into_iter().map(|case| (case.0, build(case))).chain([(CLASSES, build_of_classes())]) {
        let path = dir.join(format!("{name}.set"));
        if !path.exists() {
            fs::write(path, set).expect("a written file");
        }
    }
}

/// The stored sets of all directories.
fn stored(golden: &Path) -> Vec<PathBuf> {
    let directories = fs::read_dir(golden).expect("a directory").map(|dir| dir.expect("an entry").path().join("sets"));
    let files = directories.filter(|sets| sets.exists()).flat_map(|sets| fs::read_dir(sets).expect("a directory"));
    files.map(|file| file.expect("an entry").path()).collect()
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
    let (stored, v1) = (stored(&golden), golden.join("v1"));
    assert_eq!(stored.iter().filter(|path| path.starts_with(&v1)).count(), CASES.len() + 1);
    for path in &stored {
        let (set, name) = (fs::read(path).expect("a set"), path.file_stem().and_then(|name| name.to_str()));
        let case = CASES.into_iter().find(|case| Some(case.0) == name);
        assert!(case.is_some() || name == Some(CLASSES), "{}: not known", path.display());
        case.map_or_else(|| check_classes(&set), |case| check(case, &set));
        let is_built = !path.starts_with(&v1) || case.map_or_else(build_of_classes, build) == set;
        assert!(is_built, "{} differs from what is built now", path.display());
    }
    println!("counted: {} golden filter sets, of this version and of releases, no row lost", stored.len());
}
