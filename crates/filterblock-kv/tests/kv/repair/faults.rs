//! Crashes and failures in the middle of a repair: the store is no worse, and repairing again finishes.

use super::{blocks, contents, in_log, newest, plan, repair};
use crate::unreadable::{Cells, NUM_ROWS, PAGE, options, row, store};
use crate::*;

/// A damaged store, what it is repaired to, and the files that must be kept aside.
struct Case {
    what: &'static str,
    storage: SimStorage,
    expected: Cells,
    kept: Vec<(String, Vec<u8>)>,
}

/// Damage of each sort that a repair treats differently, and all sorts together.
fn cases() -> Vec<Case> {
    let (storage, cells) = store();
    let (all_blocks, in_log) = (blocks(&storage), in_log(&cells));
    let tables = tables(&storage);
    let log = storage.names().into_iter().rfind(|name| name.ends_with(".wal")).unwrap();
    let deep = tables[3].clone();
    // The newest tables are those of level 0.
    let of_level0 = tables[tables.len() - 2].clone();
    let gone = tables[5].clone();
    let filters = tables[7].clone();
    let case = |what, damages: &[&str]| {
        let image = storage.crash_image(CrashKind::Everything);
        let (mut lost, mut kept) = (Vec::new(), Vec::new());
        let mut flip = |file: &String, at: usize| {
            let mut bytes = image.contents(file).unwrap();
            bytes[at] ^= 1;
            image.replace(file, bytes.clone());
            kept.push((file.clone(), bytes));
        };
        let mut in_log = in_log.clone();
        for damage in damages {
            match *damage {
                "block" => {
                    flip(&deep, PAGE + 100);
                    lost.push((deep.clone(), PAGE..2 * PAGE));
                }
                "level 0" => {
                    flip(&of_level0, 100);
                    lost.push((of_level0.clone(), 0..PAGE));
                }
                "missing" => {
                    Storage::remove(&image, &gone).unwrap();
                    image.replace("unrelated", b"a stranger's".to_vec());
                    lost.push((gone.clone(), 0..usize::MAX));
                }
                "filters" => {
                    let len = image.contents(&filters).unwrap().len();
                    // The last filter is before the footer.
                    let mut bytes = image.contents(&filters).unwrap();
                    bytes[len - 2 * PAGE + 70] ^= 1;
                    image.replace(&filters, bytes);
                }
                "log" => {
                    // The payload of the third of five batches, after two of one length: the others are kept.
                    let bytes = image.contents(&log).unwrap();
                    let record_len = 24 + usize::from(bytes[48 + 8]) + 256 * usize::from(bytes[48 + 9]);
                    flip(&log, 48 + 2 * record_len + 24 + 30);
                    in_log.remove(&row(102));
                }
                other => panic!("{other}"),
            }
        }
        let is_lost = |file: &str, offset: usize| lost.iter().any(|(of, at)| of == file && at.contains(&offset));
        let expected = newest(&all_blocks, is_lost, &in_log);
        Case { what, storage: image, expected, kept }
    };
    vec![
        case("a block", &["block"]),
        case("level 0", &["level 0"]),
        case("a missing table", &["missing"]),
        case("filters", &["filters"]),
        case("a log", &["log"]),
        case("everything", &["block", "level 0", "missing", "filters", "log"]),
    ]
}

/// The answers of the store to readers, errors as none; `None` if it does not open for reading.
fn answers(storage: &SimStorage) -> Option<Vec<Option<Option<Vec<u8>>>>> {
    let store = Store::open(Arc::new(storage.clone()), options().with_read_only(true)).ok()?;
    Some((0..NUM_ROWS).map(|i| store.get(&row(i), b"column").ok()).collect())
}

/// A store in which a repair was interrupted: its readers see what they saw before, or what they see after; repairing
/// it again finishes, and keeps aside what is replaced.
fn check(case: &Case, image: &SimStorage, before: &Option<Vec<Option<Option<Vec<u8>>>>>, context: &str) {
    let after: Vec<_> = (0..NUM_ROWS).map(|i| Some(case.expected.get(&row(i)).cloned())).collect();
    let seen = answers(image);
    assert!(seen == *before || seen.as_ref() == Some(&after), "{context}: readers see something else");
    let report = repair(image).unwrap_or_else(|error| panic!("{context}: {error}"));
    let store = Store::open(Arc::new(image.clone()), options()).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(contents(&store) == case.expected, "{context}: not what is left, {report}");
    store.close().unwrap();
    assert!(plan(image).unwrap().is_empty(), "{context}: not repaired");
    for (file, bytes) in &case.kept {
        let is_kept = image
            .names()
            .iter()
            .any(|name| name.starts_with(&format!("lost/{file}")) && image.contents(name).as_ref() == Some(bytes));
        assert!(is_kept, "{context}: {file} is not kept: {:?}", image.names());
    }
    let names = image.names();
    assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{context}: {names:?}");
}

#[test]
fn a_crash_at_any_moment_leaves_a_store_to_be_repaired_again() {
    let (mut num_operations, mut num_images) = (0, 0);
    for case in cases() {
        let before = answers(&case.storage);
        let storage = case.storage.crash_image(CrashKind::Everything);
        let points = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&points);
        storage.on_operation(move |storage, operation| {
            if operation.kind.changes() {
                sink.lock().unwrap().push((operation.to_string(), storage.crash_images(operation.number, 8)));
            }
        });
        repair(&storage).unwrap();
        for (operation, images) in std::mem::take(&mut *points.lock().unwrap()) {
            num_operations += 1;
            for image in images {
                let context = format!("{}, crash after {operation}, {}", case.what, image.kind);
                check(&case, &image.storage, &before, &context);
                num_images += 1;
            }
        }
        check(&case, &storage, &before, case.what);
    }
    assert!(num_images > 500, "{num_images}");
    println!("counted: {num_images} crashes after {num_operations} operations of repairs, each repaired again");
}

#[test]
fn a_failure_at_any_moment_leaves_a_store_to_be_repaired_again() {
    let kinds = [
        FaultKind::Io,
        FaultKind::NoSpace,
        FaultKind::Interrupted,
        FaultKind::Short { bytes_max: 700 },
        FaultKind::FailedSync,
    ];
    let (mut num_faults, mut num_failed) = (0, 0);
    for case in cases() {
        let before = answers(&case.storage);
        let storage = case.storage.crash_image(CrashKind::Everything);
        let operations = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&operations);
        storage.on_operation(move |_, operation| sink.lock().unwrap().push((operation.number, operation.kind)));
        repair(&storage).unwrap();
        let operations = std::mem::take(&mut *operations.lock().unwrap());
        for (number, operation) in operations {
            // Most operations are reads, which all fail in the same way.
            if !operation.changes() && number % 7 != 0 {
                continue;
            }
            for kind in kinds.into_iter().filter(|kind| kind.applies_to(operation)) {
                for fault in [Fault::once(kind, number), Fault::persistent(kind, number)] {
                    let image = case.storage.crash_image(CrashKind::Everything);
                    image.inject(fault);
                    let repaired = repair(&image);
                    assert!(image.num_injected() > 0 || matches!(kind, FaultKind::Short { .. }));
                    image.lift_faults();
                    let context = format!("{}, {fault:?} at {operation}: {repaired:?}", case.what);
                    if let Err(error) = repaired {
                        let is_typed = matches!(error, Error::Io { .. } | Error::Poisoned);
                        assert!(is_typed, "{context}");
                        num_failed += 1;
                    }
                    check(&case, &image.crash_image(CrashKind::NothingUnsynced), &before, &context);
                    check(&case, &image, &before, &context);
                    num_faults += 1;
                }
            }
        }
    }
    assert!(num_faults > 500 && num_failed > 300, "{num_faults} {num_failed}");
    println!("counted: {num_faults} faults in repairs, {num_failed} of which failed, each repaired again");
}
