//! What a repair refuses, and what it leaves alone.

use super::level0::level0;
use super::{plan, repair};
use crate::fixture::sim_files;
use crate::layout::seal_footer;
use crate::unreadable::{PAGE, options, store};
use crate::*;

#[test]
fn a_store_that_is_whole_is_left_as_it_is() {
    let (storage, _) = store();
    let before = sim_files(&storage);
    let report = repair(&storage).unwrap();
    assert!(report.is_empty() && !report.is_applied, "{report}");
    assert!(sim_files(&storage) == before);
}

#[test]
fn a_manifest_is_not_repaired() {
    let (storage, _) = store();
    let intact = storage.contents("MANIFEST").unwrap();
    let missing = storage.crash_image(CrashKind::Everything);
    Storage::remove(&missing, "MANIFEST").unwrap();
    let damaged = storage.crash_image(CrashKind::Everything);
    damaged.replace("MANIFEST", [&[intact[0] ^ 1], &intact[1..]].concat());
    // A log with writes is newer than all that it names, so it has lost records.
    let behind = storage.crash_image(CrashKind::Everything);
    let store = Store::open(Arc::new(storage.clone()), options()).unwrap();
    store.put(b"row", b"column", b"value").unwrap();
    let log = storage.names().into_iter().rfind(|name| name.ends_with(".wal")).unwrap();
    behind.replace(&log, storage.contents(&log).unwrap());
    for image in [missing, damaged, behind] {
        let before = sim_files(&image);
        let opened = Store::open(Arc::new(image.clone()), options());
        for refused in [plan(&image).map(drop), repair(&image).map(drop), opened.map(drop)] {
            let error = refused.unwrap_err();
            let is_damaged = matches!(&error, Error::Damaged { file, .. } if file == "MANIFEST");
            assert!(is_damaged || matches!(&error, Error::NoManifest { .. }), "{error}");
        }
        assert!(sim_files(&image) == before, "something was changed");
    }
}

#[test]
fn a_repair_needs_the_store_for_itself() {
    let (storage, _) = store();
    let store = Store::open(Arc::new(storage.clone()), options()).unwrap();
    assert!(matches!(repair(&storage), Err(Error::Locked)));
    assert!(matches!(plan(&storage), Err(Error::Locked)));
    store.close().unwrap();
    assert!(plan(&storage).unwrap().is_empty());
}

#[test]
fn a_newer_table_ends_a_repair() {
    let storage = level0();
    let tables = tables(&storage);
    storage.replace(&tables[0], Vec::new());
    let mut newer = storage.contents(&tables[1]).unwrap();
    let footer = newer.len() - PAGE;
    newer[footer + 8] += 1;
    seal_footer(&mut newer);
    storage.replace(&tables[1], newer);
    let names = storage.names();
    for repaired in [plan(&storage), repair(&storage)] {
        assert!(matches!(repaired, Err(Error::NewerVersion { .. })), "{repaired:?}");
    }
    assert_eq!(storage.names(), names);
}
