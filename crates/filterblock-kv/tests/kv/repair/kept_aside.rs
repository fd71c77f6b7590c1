//! What a repair keeps aside: nothing there is overwritten.

use super::level0::level0;
use super::repair;
use crate::unreadable::row;
use crate::*;

#[test]
fn what_interrupted_work_has_left_is_kept_when_something_is_lost() {
    let storage = level0();
    let tables = tables(&storage);
    let leftover = storage.contents(&tables[2]).unwrap();
    storage.replace("000900.sst", leftover.clone());
    storage.replace("000901.sst.tmp", vec![7; 100]);
    storage.replace(&tables[1], Vec::new());
    let report = repair(&storage).unwrap();
    assert!(report.moved_aside.contains(&"lost/000900.sst".to_owned()), "{report}");
    assert_eq!(storage.contents("lost/000900.sst"), Some(leftover));
    assert!(!storage.names().iter().any(|name| name.ends_with(".tmp")));
}

/// In a directory, where a file of that name was kept aside before; the report is written beside them.
#[test]
fn repairs_of_a_directory_keep_what_earlier_ones_have_kept() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().with_seed(1).with_maintenance(Maintenance::Inline { seed: 1 });
    let mut kept = BTreeSet::new();
    for round in 0..3 {
        let store = Store::open_dir(dir.path(), options.clone()).unwrap();
        store.put(&row(round), b"column", b"value").unwrap();
        store.flush().unwrap();
        let tables = store.stats().tables;
        store.close().unwrap();
        let newest = tables.iter().map(|table| table.file.clone()).max().unwrap();
        std::fs::write(dir.path().join(&newest), [round as u8; 100]).unwrap();
        // A stranger's, under the name that the file would get.
        std::fs::create_dir_all(dir.path().join("lost")).unwrap();
        std::fs::write(dir.path().join("lost").join(&newest), "mine").unwrap();
        let report = Store::repair_dir(dir.path(), options.clone(), RepairOptions::new().with_apply(true)).unwrap();
        assert!(report.moved_aside.contains(&format!("lost/{newest}.2")), "{report}");
        assert_eq!(std::fs::read(dir.path().join(format!("lost/{newest}.2"))).unwrap(), [round as u8; 100]);
        assert_eq!(std::fs::read(dir.path().join("lost").join(&newest)).unwrap(), b"mine");
        let text = report.moved_aside.iter().find(|path| path.contains("REPAIR.txt")).unwrap();
        let written = std::fs::read_to_string(dir.path().join(text)).unwrap();
        assert!(written.contains(&newest) && written.contains(&format!("row \"row{round:04}\"")), "{written}");
        kept.extend(report.moved_aside);
    }
    assert_eq!(kept.len(), 6, "{kept:?}");
    let storage = FileStorage::open(dir.path()).unwrap();
    assert!(Store::open(Arc::new(storage), options).unwrap().verify().unreadable.is_empty());
}
