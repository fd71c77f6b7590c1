//! A damaged store is repaired to what is left of it, and what is lost is named.

use crate::sim::{CrashKind, SimStorage};
use crate::unreadable::{Cells, NUM_ROWS, PAGE, options, row, store};
use filterblock::kv::{
    Cell, Error, FileStorage, LockMode, Maintenance, ReadCounts, ReadableFile, RepairOptions, RepairReport, Storage,
    StorageLock, Store, StoreOptions, WritableFile, WriteBatch,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// A cell as a data block holds it: its row, its sequence number, and its value, or none if it was deleted.
pub(crate) type StoredCell = (Vec<u8>, u64, Option<Vec<u8>>);

/// The cells of each data block of each table, by file and offset, as the documentation of `sstable` describes them.
pub(crate) type Blocks = BTreeMap<(String, usize), Vec<StoredCell>>;

fn number(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

fn data_and_index_len(table: &[u8]) -> (usize, usize) {
    let footer = table.len() - PAGE;
    (number(table, footer + 80, 8), number(table, footer + 88, 8))
}

pub(crate) fn tables(storage: &SimStorage) -> Vec<String> {
    let is_table = |name: &String| name.ends_with(".sst") && !name.contains('/');
    storage.names().into_iter().filter(is_table).collect()
}

/// Reads the data blocks of a store's tables. Each is one page: no cell here is larger.
pub(crate) fn blocks(storage: &SimStorage) -> Blocks {
    let mut blocks = Blocks::new();
    for table in tables(storage) {
        let bytes = storage.contents(&table).unwrap();
        for offset in (0..data_and_index_len(&bytes).0).step_by(PAGE) {
            let block = &bytes[offset..offset + PAGE];
            let (mut at, mut cells) = (16, Vec::new());
            for _ in 0..number(block, 12, 4) {
                // A short header, or a long one.
                let (kind, header) = (block[at], if block[at] > 1 { [1, 1, 2, 5] } else { [2, 2, 4, 8] });
                at += 1;
                let [row_len, column_len, value_len, seq] = header.map(|len| {
                    at += len;
                    number(block, at - len, len)
                });
                let row_at = at;
                let value_at = row_at + row_len + column_len;
                let value = (kind % 2 == 1).then(|| block[value_at..value_at + value_len].to_vec());
                cells.push((block[row_at..row_at + row_len].to_vec(), seq as u64, value));
                at = value_at + value_len;
            }
            blocks.insert((table.clone(), offset), cells);
        }
    }
    blocks
}

/// The last writes to rows; none for a deletion.
pub(crate) type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The newest writes that are left, by their sequence numbers and not by the order of tables; `in_log` are newer.
pub(crate) fn newest(blocks: &Blocks, is_lost: impl Fn(&str, usize) -> bool, in_log: &Writes) -> Cells {
    let mut newest: BTreeMap<&Vec<u8>, (u64, &Option<Vec<u8>>)> = BTreeMap::new();
    let left = blocks.iter().filter(|((table, offset), _)| !is_lost(table, *offset));
    let in_blocks = left.flat_map(|(_, cells)| cells).map(|(row, seq, value)| (row, *seq, value));
    for (row, seq, value) in in_blocks.chain(in_log.iter().map(|(row, value)| (row, u64::MAX, value))) {
        let entry = newest.entry(row).or_insert((seq, value));
        if seq > entry.0 {
            *entry = (seq, value);
        }
    }
    newest.into_iter().filter_map(|(row, (_, value))| Some((row.clone(), value.clone()?))).collect()
}

/// The writes that [`store`] leaves in its log.
pub(crate) fn in_log(cells: &Cells) -> Writes {
    (100..105).map(row).map(|row| (cells.get(&row).cloned(), row)).map(|(value, row)| (row, value)).collect()
}

pub(crate) fn plan(storage: &SimStorage) -> Result<RepairReport, Error> {
    Store::repair(Arc::new(storage.clone()), options(), RepairOptions::new())
}

pub(crate) fn repair(storage: &SimStorage) -> Result<RepairReport, Error> {
    Store::repair(Arc::new(storage.clone()), options(), RepairOptions::new().apply(true))
}

pub(crate) fn contents(store: &Store) -> Cells {
    store.scan(..).map(Result::unwrap).map(|Cell { row, value, .. }| (row, value)).collect()
}

/// What a test of a repair counts.
#[derive(Debug, Default)]
struct Counts {
    repairs: u32,
    /// Cells that are absent, or have another value than before.
    cells_lost: u32,
    older_values: u32,
    undeleted: u32,
}

/// Repairs the store and compares it with what is left, which is `expected`; `cells` are what it held.
fn check_repair(
    image: &SimStorage,
    cells: &Cells,
    expected: &Cells,
    context: &str,
    counts: &mut Counts,
) -> RepairReport {
    let files = |storage: &SimStorage| {
        let names = storage.names().into_iter().filter(|name| name != "LOCK");
        names.map(|name| (storage.contents(&name), name)).collect::<Vec<_>>()
    };
    let before = files(image);
    let planned = plan(image).unwrap();
    assert!(!planned.is_applied && files(image) == before, "{context}: a plan has changed something");
    let report = repair(image).unwrap();
    assert!(report.is_applied, "{context}");
    let as_planned = |report: &RepairReport| {
        let mut report = report.clone();
        (report.is_applied, report.moved_aside) = (false, Vec::new());
        report.tables.iter_mut().for_each(|table| table.kept_in = None);
        report.renumbered.iter_mut().for_each(|table| table.kept_in = None);
        report
    };
    assert_eq!(as_planned(&report), planned, "{context}");

    // Every file that the store has no more is kept aside, byte for byte, but for filters, logs and the manifest.
    for (bytes, name) in before.iter().filter(|(_, name)| name.ends_with(".sst")) {
        assert!(
            image.contents(name) == *bytes || image.contents(&format!("lost/{name}")) == *bytes,
            "{context}: {name}"
        );
    }
    let kept = report.moved_aside.iter().map(|path| image.contents(path).unwrap()).collect::<Vec<_>>();
    assert_eq!(kept.is_empty(), report.tables.is_empty() && report.logs.is_empty(), "{context}");

    let store = Store::open(Arc::new(image.clone()), options()).unwrap();
    assert!(contents(&store) == *expected, "{context}: a scan differs");
    for i in 0..=NUM_ROWS {
        let row = row(i);
        let found = store.get(&row, b"column").unwrap();
        assert_eq!(found.as_ref(), expected.get(&row), "{context}: {i}");
        assert_eq!(store.get_row(&row).unwrap().get(&b"column"[..]), expected.get(&row), "{context}: {i}");
        if found.as_ref() != cells.get(&row) {
            assert!(report.may_have_lost(&row), "{context}: row {i} is lost and not named\n{report}");
            assert!(found.is_none() || report.may_show_older(&row), "{context}: row {i} is older\n{report}");
            counts.cells_lost += 1;
            counts.older_values += u32::from(found.is_some());
            counts.undeleted += u32::from(!cells.contains_key(&row));
        }
    }
    assert!(store.warnings().is_empty(), "{context}: {:?}", store.warnings());
    let stats = store.stats();
    assert!(stats.tables.iter().all(|table| table.unusable.is_empty() && !table.filters.is_empty()), "{context}");
    // Verifying probes each filter ten thousand times.
    if counts.repairs % 16 == 0 {
        let verified = store.verify();
        assert!(verified.unreadable.is_empty() && verified.false_negatives() == 0, "{context}: {verified:?}");
    }
    store.put(b"after", b"column", b"the repair").unwrap();
    store.compact().unwrap();
    let mut with_new = expected.clone();
    with_new.insert(b"after".to_vec(), b"the repair".to_vec());
    assert!(contents(&store) == with_new, "{context}: merged into one level, it differs");
    store.close().unwrap();
    assert!(plan(image).unwrap().is_empty(), "{context}: not repaired");
    counts.repairs += 1;
    report
}

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
        cases.extend(
            [0, 8, 40, 80, 100, PAGE - 1].map(|at| (format!("footer at {at}"), flipped(&[footer + at]), none.clone())),
        );
        cases.extend([0, 5, index_len / 2, index_len - 1].map(|at| {
            let what = format!("index at {at}");
            (what, flipped(&[data_len + at]), none.clone())
        }));
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
            match bytes {
                Some(bytes) => image.replace(table, bytes),
                None => Storage::remove(&image, table).unwrap(),
            }
            let expected = newest(&blocks, |file, offset| file == table && lost.contains(&offset), &in_log);
            let report = check_repair(&image, &cells, &expected, &context, &mut counts);
            let [repaired] = &report.tables[..] else { panic!("{context}: {report}") };
            assert_eq!(&repaired.file, table, "{context}");
            let of_table = |offset: &usize| blocks[&(table.clone(), *offset)].len() as u64;
            let num_cells =
                |offsets: core::ops::Range<usize>| offsets.step_by(PAGE).map(|at| of_table(&at)).sum::<u64>();
            assert_eq!(repaired.cells_kept, num_cells(0..data_len) - num_cells(lost.clone()), "{context}");
            if let Some(cells_lost) = repaired.cells_lost {
                assert_eq!(cells_lost, num_cells(lost.clone()), "{context}");
            }
            // What is not lost is not said to be, but for the last row where blocks were followed without an index.
            let follows = what == "footer and index";
            assert_eq!(repaired.lost.is_empty(), lost.is_empty() && !follows, "{context}: {report}");
            if lost.len() == PAGE && !what.starts_with("cut") && !what.starts_with("index") && lost != all {
                let block = &blocks[&(table.clone(), lost.start)];
                // The index has the last keys of blocks.
                let before = lost.start.checked_sub(PAGE).map(|at| blocks[&(table.clone(), at)].last().unwrap());
                let rows = (before.unwrap_or(&block[0]).0.clone(), block[block.len() - 1].0.clone());
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

/// A store of five tables in level 0, each of which overwrites or deletes cells of those before.
fn level0() -> SimStorage {
    let storage = SimStorage::new();
    let store =
        Store::open(Arc::new(storage.clone()), options().level0_tables_max(50).memtable_bytes_max(1 << 20)).unwrap();
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
    let tables = tables(&storage);
    assert_eq!(tables.len(), 5);
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
            // All that are newer than one that is written anew.
            let rewritten = report.tables.iter().filter(|table| table.cells_kept > 0).map(|table| &table.file).min();
            let newer = tables.iter().filter(|table| rewritten.is_some_and(|oldest| table > &oldest));
            let renumbered: Vec<_> = report.renumbered.iter().map(|table| &table.file).collect();
            assert!(newer.filter(|table| **table != one.0 && **table != other.0).eq(renumbered), "{report}");
        }
    }
    assert!(counts.older_values > 50 && counts.undeleted > 5, "{counts:?}");
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

#[test]
fn a_store_that_is_whole_is_left_as_it_is() {
    let (storage, _) = store();
    let files = || storage.names().into_iter().map(|name| (storage.contents(&name), name)).collect::<Vec<_>>();
    let before = files();
    let report = repair(&storage).unwrap();
    assert!(report.is_empty() && !report.is_applied, "{report}");
    assert!(files() == before);
}

/// A store of 30 batches of two cells in a log, which is sealed or as a crash leaves it.
fn with_a_log(is_sealed: bool) -> (SimStorage, String) {
    let storage = SimStorage::new();
    let store = Store::open(Arc::new(storage.clone()), options().memtable_bytes_max(1 << 20)).unwrap();
    (0..30).for_each(|i| store.put(&row(i), b"column", b"before").unwrap());
    store.flush().unwrap();
    for i in 0..30 {
        let mut batch = WriteBatch::new();
        batch.put(&row(i), b"column", format!("{i:050}").as_bytes()).unwrap();
        batch.delete(&row(29 - i), b"column").unwrap();
        store.write(batch).unwrap();
    }
    let storage = match is_sealed {
        true => storage,
        false => storage.crash_image(CrashKind::NothingUnsynced),
    };
    store.close().unwrap();
    let log = storage.names().into_iter().rfind(|name| name.ends_with(".wal")).unwrap();
    (storage, log)
}

/// The cells after those batches for which `is_kept`.
fn after_batches(is_kept: impl Fn(usize) -> bool) -> Cells {
    let mut cells: Cells = (0..30).map(|i| (row(i), b"before".to_vec())).collect();
    for i in (0..30).filter(|&i| is_kept(i as usize)) {
        cells.insert(row(i), format!("{i:050}").into_bytes());
        cells.remove(&row(29 - i));
    }
    cells
}

#[test]
fn a_log_keeps_every_batch_that_is_proved() {
    let (storage, log) = with_a_log(true);
    let intact = storage.contents(&log).unwrap();
    // The first record has 24 bytes after its header; the batches are of one length.
    let record_len = (intact.len() - 48) / 30;
    assert_eq!(48 + 30 * record_len, intact.len());
    let whole = after_batches(|_| true);
    let mut counts = Counts::default();
    let mut check = |bytes: Option<Vec<u8>>, is_kept: &dyn Fn(usize) -> bool, context: &str| {
        let image = storage.crash_image(CrashKind::Everything);
        match bytes {
            Some(bytes) => image.replace(&log, bytes),
            None => Storage::remove(&image, &log).unwrap(),
        }
        assert!(Store::open(Arc::new(image.clone()), options()).is_err(), "{context}");
        let expected = after_batches(is_kept);
        let report = check_repair(&image, &whole, &expected, context, &mut counts);
        let [repaired] = &report.logs[..] else { panic!("{context}: {report}") };
        let num_kept = (0..30).filter(|&i| is_kept(i)).count();
        assert_eq!(repaired.batches_kept, num_kept as u64, "{context}");
        let payload_lost = (30 - num_kept) * record_len;
        let bytes_lost = repaired.bytes_lost.unwrap() as usize;
        assert!((payload_lost..payload_lost + 48 + 1).contains(&bytes_lost), "{context}: {bytes_lost} {payload_lost}");
    };
    for i in 0..30 {
        let at = 48 + i * record_len;
        for place in (0..record_len).step_by(5) {
            let mut bytes = intact.clone();
            bytes[at + place] ^= 16;
            // With the header right, what follows it is found.
            let is_kept = |other: usize| other < i || place >= 24 && other > i;
            check(Some(bytes), &is_kept, &format!("record {i}, byte {place}"));
        }
        check(Some(intact[..at + 30].to_vec()), &|other| other < i, &format!("cut in record {i}"));
    }
    for place in 0..48 {
        let mut bytes = intact.clone();
        bytes[place] ^= 1;
        check(Some(bytes), &|_| true, &format!("first record, byte {place}"));
    }
    check(Some(Vec::new()), &|_| false, "empty");
    check(None, &|_| false, "missing");
}

/// The end that a crash tears off was never promised: it is no damage, and no loss.
#[test]
fn the_torn_end_of_a_log_is_no_damage() {
    let (storage, log) = with_a_log(false);
    let intact = storage.contents(&log).unwrap();
    let record_len = (intact.len() - 48) / 30;
    let damaged = |records: &[usize]| {
        let image = storage.crash_image(CrashKind::Everything);
        let mut bytes = intact.clone();
        records.iter().for_each(|record| bytes[48 + record * record_len + 40] ^= 1);
        image.replace(&log, bytes);
        image
    };
    let contents = |image: SimStorage| contents(&Store::open(Arc::new(image), options()).unwrap());
    // The last record is durable, but no later one says so.
    let torn = damaged(&[29]);
    assert!(plan(&torn).unwrap().is_empty());
    assert!(contents(torn) == after_batches(|i| i != 29));
    for (records, num_lost) in [(&[10][..], 1), (&[10, 29], 1), (&[0, 10, 27], 3), (&[28], 1)] {
        let image = damaged(records);
        assert!(Store::open(Arc::new(image.clone()), options()).is_err(), "{records:?}");
        let report = repair(&image).unwrap();
        assert_eq!(report.logs[0].bytes_lost, Some((num_lost * record_len) as u64), "{report}");
        assert!(contents(image) == after_batches(|i| !records.contains(&i)), "{records:?}");
    }
}

#[test]
fn a_manifest_is_not_repaired() {
    let (storage, _) = store();
    let intact = storage.contents("MANIFEST").unwrap();
    let missing = storage.crash_image(CrashKind::Everything);
    Storage::remove(&missing, "MANIFEST").unwrap();
    let damaged = storage.crash_image(CrashKind::Everything);
    damaged.replace("MANIFEST", [&[intact[0] ^ 1], &intact[1..]].concat());
    for image in [missing, damaged] {
        let files = || image.names().into_iter().map(|name| (image.contents(&name), name)).collect::<Vec<_>>();
        let before = files();
        for repaired in [plan(&image), repair(&image)] {
            let error = repaired.unwrap_err();
            assert!(
                matches!(&error, Error::NoManifest { .. })
                    || matches!(&error, Error::Damaged { file, .. } if file == "MANIFEST"),
                "{error}"
            );
        }
        assert!(files() == before, "something was changed");
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
    // The checksum as `kv/encoding.rs` computes it, of number 0 at the footer's offset.
    let offset: Vec<u8> = (0..8).map(|i| (footer as u64 >> (8 * i)) as u8).collect();
    let mut crc = crc32(&[&[0; 8][..], &offset, &newer[footer..footer + PAGE - 4]].concat());
    crc = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    (0..4).for_each(|i| newer[footer + PAGE - 4 + i] = (crc >> (8 * i)) as u8);
    storage.replace(&tables[1], newer);
    let names = storage.names();
    for repaired in [plan(&storage), repair(&storage)] {
        assert!(matches!(repaired, Err(Error::NewerVersion { .. })), "{repaired:?}");
    }
    assert_eq!(storage.names(), names);
}

/// CRC-32, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

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

/// In a directory: twice the same file, so that nothing kept aside is overwritten; and the report beside it.
#[test]
fn repairs_of_a_directory_keep_what_earlier_ones_have_kept() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().seed(1).maintenance(Maintenance::Inline { seed: 1 });
    let mut kept = BTreeSet::new();
    for round in 0..3 {
        let store = Store::open_dir(dir.path(), options).unwrap();
        store.put(&row(round), b"column", b"value").unwrap();
        store.flush().unwrap();
        let tables = store.stats().tables;
        store.close().unwrap();
        let newest = tables.iter().map(|table| table.file.clone()).max().unwrap();
        std::fs::write(dir.path().join(&newest), [round as u8; 100]).unwrap();
        // A stranger's, under the name that the file would get.
        std::fs::create_dir_all(dir.path().join("lost")).unwrap();
        std::fs::write(dir.path().join("lost").join(&newest), "mine").unwrap();
        let report = Store::repair_dir(dir.path(), options, RepairOptions::new().apply(true)).unwrap();
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
    let open = || Store::open(Arc::new(dir.clone()), options().memtable_bytes_max(1 << 20)).unwrap();
    // A block for page 1 of table 3, taken from a table with that number.
    let donor = SimStorage::new();
    let store = Store::open(Arc::new(donor.clone()), options().memtable_bytes_max(1 << 20)).unwrap();
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
    assert!(text.contains("older values may be visible again, and cells that had been deleted"), "{text}");
}

/// A disk that fails to read some bytes of a file.
#[derive(Clone, Debug)]
struct BadSectors {
    files: SimStorage,
    file: String,
    bad: core::ops::Range<u64>,
}

#[derive(Debug)]
struct BadFile {
    file: Arc<dyn ReadableFile>,
    bad: core::ops::Range<u64>,
}

impl ReadableFile for BadFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match offset < self.bad.end && self.bad.start < offset + buf.len() as u64 {
            // EIO.
            true => Err(io::Error::from_raw_os_error(5)),
            false => self.file.read_at(buf, offset),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl Storage for BadSectors {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        self.files.create(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        let file = self.files.open(name)?;
        let bad = if name == self.file { self.bad.clone() } else { 0..0 };
        Ok(Arc::new(BadFile { file, bad }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn keep_aside(&self, name: &str, kept: &str) -> io::Result<String> {
        self.files.keep_aside(name, kept)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.files.sync_dir()
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        self.files.lock(name, mode)
    }

    fn read_counts(&self) -> ReadCounts {
        self.files.read_counts()
    }
}

/// The bytes may be right: only on demand are they given up, and no others with them.
#[test]
fn what_the_device_fails_to_read_is_given_up_on_demand() {
    let (storage, cells) = store();
    let (blocks, in_log) = (blocks(&storage), in_log(&cells));
    let file = tables(&storage)[2].clone();
    let len = storage.contents(&file).unwrap().len();
    let (data_len, _) = data_and_index_len(&storage.contents(&file).unwrap());
    for page in (0..len).step_by(PAGE) {
        // Filters hold no data, and are built anew in any case.
        let is_filter = page > data_len && page + PAGE < len;
        let files = storage.crash_image(CrashKind::Everything);
        let bad = page as u64 + 100..page as u64 + 101;
        let disk = Arc::new(BadSectors { files: files.clone(), file: file.clone(), bad });
        let repair = |how: RepairOptions| Store::repair(disk.clone(), options(), how);
        let before: Vec<_> = files.names().into_iter().map(|name| files.contents(&name)).collect();
        if !is_filter {
            for apply in [false, true] {
                let refused = repair(RepairOptions::new().apply(apply));
                assert!(matches!(&refused, Err(Error::Io { .. })), "{page}: {refused:?}");
            }
            let after: Vec<_> = files.names().into_iter().map(|name| files.contents(&name)).collect();
            assert!(before == after, "{page}: something was changed");
        }
        let report = repair(RepairOptions::new().give_up_unreadable(true).apply(true)).unwrap();
        assert!(report.is_applied, "{page}");
        let is_lost = |table: &str, offset: usize| table == file && offset == page;
        let expected = newest(&blocks, is_lost, &in_log);
        let store = Store::open(disk, options()).unwrap();
        assert!(contents(&store) == expected, "{page}: not what is left\n{report}");
        assert_eq!(report.lost().count(), usize::from(page < data_len), "{page}: {report}");
    }
}
