//! Level 0, whose order is that of sequence numbers: a table that is written anew keeps its place.

use super::{Counts, Writes, blocks, check_repair, newest, plan};
use crate::unreadable::{options, row};
use crate::*;

/// A store of five tables in level 0, each of which overwrites or deletes cells of those before.
pub(super) fn level0() -> SimStorage {
    let storage = SimStorage::new();
    let store = open(&storage, options().with_max_level0_tables(50).with_max_memtable_bytes(1 << 20));
    for round in 0..5 {
        for i in (0..60).filter(|i| i % (round + 1) == 0) {
            match (i + round) % 7 {
                0 => store.delete(&row(i), b"column").unwrap(),
                _ => store.put(&row(i), b"column", format!("{round:<300}").as_bytes()).unwrap(),
            }
        }
        store.flush().unwrap();
    }
    store.close().unwrap();
    storage
}

#[test]
fn level0_keeps_its_order() {
    let storage = level0();
    let blocks = blocks(&storage);
    let cells = newest(&blocks, |_, _| false, &Writes::new());
    assert_eq!(tables(&storage).len(), 5);
    let mut counts = Counts::default();
    // One block of a table, or of any two.
    let places: Vec<&(String, usize)> = blocks.keys().collect();
    for (i, one) in places.iter().enumerate() {
        for other in &places[i..] {
            let image = storage.crash_image(CrashKind::Everything);
            for (table, offset) in BTreeSet::from([one, other]) {
                let mut bytes = image.contents(table).unwrap();
                bytes[offset + 30] ^= 1;
                image.replace(table, bytes);
            }
            let is_lost = |table: &str, offset: usize| [one, other].iter().any(|(t, o)| t == table && *o == offset);
            let expected = newest(&blocks, is_lost, &Writes::new());
            let report = check_repair(&image, &cells, &expected, &format!("{one:?} and {other:?}"), &mut counts);
            assert!(report.tables.iter().all(|table| table.file == one.0 || table.file == other.0), "{report}");
        }
    }
    assert!(counts.older_values > 50 && counts.undeleted > 5, "{counts:?}");
}

#[test]
fn a_report_names_what_is_lost_and_its_danger() {
    let storage = level0();
    let tables = tables(&storage);
    Storage::remove(&storage, &tables[4]).unwrap();
    let report = plan(&storage).unwrap();
    let text = report.to_string();
    assert!(text.contains(&format!("{}, level 0: {}: missing", tables[4], tables[4])), "{text}");
    assert!(text.contains("cells kept: 0; cells lost: an unknown number"), "{text}");
    assert!(text.contains("lost: cells in rows from \"row0000\" to \"row0055\""), "{text}");
    assert!(text.contains("older values may be visible again there, and cells that had been deleted"), "{text}");
}
