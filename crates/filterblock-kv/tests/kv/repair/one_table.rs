//! Tables that are missing, cut, another one, or damaged in any part, and damaged filters.

use super::{Counts, blocks, check_repair, contents, data_and_index_len, in_log, newest, plan, repair};
use crate::unreadable::{Cells, PAGE, options, row, store};
use crate::*;

#[test]
fn each_table_in_turn_is_repaired_to_what_is_left() {
    let (storage, cells) = store();
    let (blocks, in_log) = (blocks(&storage), in_log(&cells));
    assert_eq!(newest(&blocks, |_, _| false, &in_log), cells, "the oracle is right");
    let tables = tables(&storage);
    let mut counts = Counts::default();
    for (table, other) in tables.iter().zip(tables.iter().cycle().skip(1)) {
        let intact = storage.contents(table).unwrap();
        let (footer, (data_len, index_len)) = (intact.len() - PAGE, data_and_index_len(&intact));
        let flipped = |places: &[usize]| {
            let mut bytes = intact.clone();
            places.iter().for_each(|&at| bytes[at] ^= 4);
            Some(bytes)
        };
        let (all, none) = (0..data_len, 0..0);
        let mut cases: Vec<(String, Option<Vec<u8>>, core::ops::Range<usize>)> = vec![
            ("missing".to_owned(), None, all.clone()),
            ("empty".to_owned(), Some(Vec::new()), all.clone()),
            ("another".to_owned(), storage.contents(other), all.clone()),
            ("zeros".to_owned(), Some(vec![0; intact.len()]), all.clone()),
            ("cut by a page".to_owned(), Some(intact[..footer].to_vec()), none.clone()),
            ("cut after the index".to_owned(), Some(intact[..data_len + PAGE].to_vec()), none.clone()),
            ("cut inside a page".to_owned(), Some(intact[..footer + 77].to_vec()), none.clone()),
            ("a page more".to_owned(), Some([&intact[..], &[0; PAGE]].concat()), none.clone()),
            ("footer and index".to_owned(), flipped(&[footer + 90, data_len + 9]), none.clone()),
        ];
        let one = |what: &str, start, at| (format!("{what} at {at}"), flipped(&[start + at]), none.clone());
        cases.extend([0, 8, 40, 80, 100, PAGE - 1].map(|at| one("footer", footer, at)));
        cases.extend([0, 5, index_len / 2, index_len - 1].map(|at| one("index", data_len, at)));
        for at in (0..data_len).step_by(PAGE) {
            cases.push((format!("cut at {at}"), Some(intact[..at].to_vec()), at..data_len));
            cases.push((format!("index, block at {at}"), flipped(&[data_len, at + 9]), at..data_len));
            cases.push((format!("footer, block at {at}"), flipped(&[footer, at + 20]), at..at + PAGE));
            for place in [0, 50, PAGE - 1] {
                cases.push((format!("block at {at}, byte {place}"), flipped(&[at + place]), at..at + PAGE));
            }
        }
        for (what, bytes, lost) in cases {
            let context = format!("{table}, {what}");
            let image = storage.crash_image(CrashKind::Everything);
            replace(&image, table, bytes);
            let expected = newest(&blocks, |file, offset| file == table && lost.contains(&offset), &in_log);
            let report = check_repair(&image, &cells, &expected, &context, &mut counts);
            let [repaired] = &report.tables[..] else { panic!("{context}: {report}") };
            assert_eq!(&repaired.file, table, "{context}");
            let of_table = |offset: &usize| blocks[&(table.clone(), *offset)].len() as u64;
            let num_cells = |at: core::ops::Range<usize>| at.step_by(PAGE).map(|at| of_table(&at)).sum::<u64>();
            assert_eq!(repaired.cells_kept, num_cells(0..data_len) - num_cells(lost.clone()), "{context}");
            if let Some(cells_lost) = repaired.cells_lost {
                assert_eq!(cells_lost, num_cells(lost.clone()), "{context}");
            }
            // Nothing else is reported as lost.
            assert_eq!(repaired.lost.is_empty(), lost.is_empty(), "{context}: {report}");
            if lost.len() == PAGE && !what.starts_with("cut") && !what.starts_with("index") && lost != all {
                let block = &blocks[&(table.clone(), lost.start)];
                // The index has the last keys of blocks.
                let before = lost.start.checked_sub(PAGE).map(|at| blocks[&(table.clone(), at)].last().unwrap());
                let rows = before.unwrap_or(&block[0]).0.clone()..=block[block.len() - 1].0.clone();
                assert_eq!(repaired.lost[0].rows.as_ref(), Some(&rows), "{context}");
                assert_eq!(repaired.lost.len(), 1, "{context}");
            }
        }
    }
    let Counts { repairs, cells_lost, older_values, undeleted } = counts;
    assert!(older_values > 100 && undeleted > 10 && cells_lost > older_values, "{counts:?}");
    println!(
        "counted: {repairs} stores with a damaged table of {}, repaired; {cells_lost} cells lost, of these {older_values} \
         with an older value, {undeleted} of them deleted before; 0 not named, 0 wrong",
        tables.len()
    );
}

#[test]
fn damaged_filters_are_built_anew_and_nothing_else_changes() {
    let (storage, cells) = store();
    let mut counts = Counts::default();
    for table in tables(&storage) {
        let image = storage.crash_image(CrashKind::Everything);
        let mut bytes = image.contents(&table).unwrap();
        let (data_len, index_len) = data_and_index_len(&bytes);
        let filter = data_len + index_len.next_multiple_of(PAGE);
        bytes[filter + 70] ^= 1;
        image.replace(&table, bytes);
        let report = check_repair(&image, &cells, &cells, &table, &mut counts);
        assert_eq!((report.tables.len(), report.filters.len()), (0, 1), "{report}");
        assert_eq!(report.filters[0].file, table);
        assert_eq!(report.lost().count(), 0);
    }
}

/// Files that another store wrote under the same number prove nothing here.
#[test]
fn a_table_of_another_store_is_not_used() {
    let (storage, _) = store();
    let (other, _) = store();
    let store = Store::open(Arc::new(other.clone()), options()).unwrap();
    store.put(b"stranger", b"column", b"value").unwrap();
    store.compact().unwrap();
    store.close().unwrap();
    let named = tables(&storage)[0].clone();
    // Under its own number it would be misplaced.
    let foreign = tables(&other)[0].clone();
    storage.replace(&named, other.contents(&foreign).unwrap());
    let report = repair(&storage).unwrap();
    let [table] = &report.tables[..] else { panic!("{report}") };
    assert_eq!((table.cells_kept, table.kept_in.as_ref()), (0, None));
    assert!(matches!(plan(&storage), Ok(report) if report.is_empty()));
    let store = Store::open(Arc::new(storage), options()).unwrap();
    assert_eq!(store.get(b"stranger", b"column").unwrap(), None);
}

/// A value that has the bytes of a store's blocks, under the number and at the offset of its own table, is a value.
#[test]
fn bytes_of_a_value_are_never_taken_for_a_block() {
    let dir = SimStorage::new();
    let open = || Store::open(Arc::new(dir.clone()), options().with_max_memtable_bytes(1 << 20)).unwrap();
    // A block for page 1 of table 3, taken from a table with that number.
    let donor = SimStorage::new();
    let store = Store::open(Arc::new(donor.clone()), options().with_max_memtable_bytes(1 << 20)).unwrap();
    (0..30).for_each(|i| store.put(&row(i), b"column", &[b'f'; 300]).unwrap());
    store.flush().unwrap();
    store.close().unwrap();
    let table = tables(&donor)[0].clone();
    let forged = donor.contents(&table).unwrap()[PAGE..2 * PAGE].to_vec();

    // A cell whose block begins at page 0, so that its value covers page 1.
    let store = open();
    let header = 16 + 10 + "a".len() + "column".len();
    let value = [&vec![1; PAGE - header][..], &forged, &[2; 100]].concat();
    store.put(b"a", b"column", &value).unwrap();
    store.put(b"z", b"column", b"last").unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    assert_eq!(tables(&dir), core::slice::from_ref(&table), "of the same number");
    let mut bytes = dir.contents(&table).unwrap();
    assert_eq!(bytes[PAGE..2 * PAGE], forged);
    let (data_len, _) = data_and_index_len(&bytes);
    bytes[9] ^= 1;
    bytes[data_len] ^= 1;
    dir.replace(&table, bytes);
    let report = repair(&dir).unwrap();
    assert_eq!(report.tables[0].cells_kept, 0, "{report}");
    assert_eq!(contents(&open()), Cells::new());
}
