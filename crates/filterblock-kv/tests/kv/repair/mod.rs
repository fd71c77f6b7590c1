//! A damaged store is repaired to what is left of it, and what is lost is named.

mod device;
mod faults;
mod kept_aside;
mod level0;
mod limits;
mod logs;
mod one_table;

use crate::layout::int;
use crate::unreadable::{Cells, NUM_ROWS, PAGE, options, row};
use crate::*;
use filterblock_kv::RepairReport;

/// A cell as a data block holds it: its row, its sequence number, and its value, or none if it was deleted.
type StoredCell = (Vec<u8>, u64, Option<Vec<u8>>);

/// The cells of each data block of each table, by file and offset, as the documentation of `sstable` describes them.
type Blocks = BTreeMap<(String, usize), Vec<StoredCell>>;

/// The lengths of a table's data and of its index.
fn data_and_index_len(table: &[u8]) -> (usize, usize) {
    let index = Parts::of(table).unwrap().index;
    (index.start, index.len())
}

/// Reads the data blocks of a store's tables. Each is one page: no cell here is larger.
fn blocks(storage: &SimStorage) -> Blocks {
    let mut blocks = Blocks::new();
    for table in tables(storage) {
        let bytes = storage.contents(&table).unwrap();
        for offset in (0..data_and_index_len(&bytes).0).step_by(PAGE) {
            let block = &bytes[offset..offset + PAGE];
            let (mut at, mut cells) = (16, Vec::new());
            for _ in 0..int(&block[12..16]) {
                // A short header, or a long one.
                let (kind, header) = (block[at], if block[at] > 1 { [1, 1, 2, 5] } else { [2, 2, 4, 8] });
                at += 1;
                let [row_len, column_len, value_len, seq] = header.map(|len| {
                    at += len;
                    int(&block[at - len..at]) as usize
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
type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The newest writes that are left, by their sequence numbers and not by the order of tables; `in_log` are newer.
fn newest(blocks: &Blocks, is_lost: impl Fn(&str, usize) -> bool, in_log: &Writes) -> Cells {
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
fn in_log(cells: &Cells) -> Writes {
    (100..105).map(row).map(|row| (cells.get(&row).cloned(), row)).map(|(value, row)| (row, value)).collect()
}

fn plan(storage: &SimStorage) -> Result<RepairReport, Error> {
    Store::repair(Arc::new(storage.clone()), options(), RepairOptions::new())
}

fn repair(storage: &SimStorage) -> Result<RepairReport, Error> {
    Store::repair(Arc::new(storage.clone()), options(), RepairOptions::new().with_apply(true))
}

fn contents(store: &Store) -> Cells {
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

/// Repairs the store, which held `cells`, and compares it with `expected`, which is what is left.
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
        report
    };
    assert_eq!(as_planned(&report), planned, "{context}");

    // Every table that the store no longer has is kept aside, byte for byte.
    for (bytes, name) in before.iter().filter(|(_, name)| name.ends_with(".sst")) {
        let kept = image.contents(&format!("lost/{name}"));
        assert!([image.contents(name), kept].contains(bytes), "{context}: {name}");
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
