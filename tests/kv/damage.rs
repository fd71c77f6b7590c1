//! Damage, faults of the storage, and what is newer than this library: the right answer or a typed error.

use crate::faulty::MemStorage;
use filterblock::kv::{
    Damage, Error, FilterProblem, Outcome, PAGE_LEN, Purpose, Storage, Store, StoreOptions, read_exact_at,
};
use filterblock::{DecodeError, FilterKind, FilterPolicy};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const TABLE: &str = "000001.sst";
const NUM_ROWS: u64 = 60;

fn options() -> StoreOptions {
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0).unwrap();
    StoreOptions::without_filters().filter(Purpose::Row, policy).filter(Purpose::RowColumn, policy).seed(5)
}

fn key(i: u64) -> Vec<u8> {
    format!("row{i:04}").into_bytes()
}

fn value(i: u64) -> Vec<u8> {
    format!("{i:0100}").into_bytes()
}

/// A table of two data blocks, an index, two filters and a footer: a page each.
fn storage() -> Arc<MemStorage> {
    let storage = Arc::new(MemStorage::default());
    let mut store = Store::open(storage.clone(), options()).unwrap();
    for i in 0..NUM_ROWS {
        store.put(&key(2 * i), b"column", &value(i)).unwrap();
    }
    store.flush().unwrap();
    assert_eq!(storage.contents(TABLE).len(), 6 * PAGE_LEN);
    storage
}

/// Asks for everything that is there and as much that is not. Errors are fine, wrong answers are not; returns how many
/// lookups ended in an error.
fn ask(store: &Store) -> u64 {
    let mut num_errors = 0;
    for i in 0..2 * NUM_ROWS {
        let present = i % 2 == 0;
        match store.get(&key(i), b"column") {
            Ok(found) => assert_eq!(found, present.then(|| value(i / 2)), "cell {i}"),
            Err(error) => num_errors += u64::from(is_damage(&error)),
        }
        match store.get_row(&key(i)) {
            Ok(columns) => assert_eq!(columns.len(), usize::from(present), "row {i}"),
            Err(error) => num_errors += u64::from(is_damage(&error)),
        }
    }
    let ledger = store.ledger();
    assert_eq!(ledger.check(), Ok(()));
    assert_eq!(ledger.total().count(Outcome::Failed), num_errors);
    num_errors
}

fn is_damage(error: &Error) -> bool {
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    true
}

#[test]
fn every_flipped_byte_gives_the_right_answer_or_a_typed_error() {
    let storage = storage();
    let intact = storage.contents(TABLE);
    let mut num_warned = 0;
    for at in 0..intact.len() {
        let mut damaged = intact.clone();
        damaged[at] ^= 1 << (at % 8);
        storage.replace(TABLE, damaged);
        let page = at / PAGE_LEN;
        match Store::open(storage.clone(), options()) {
            Ok(store) => {
                let num_errors = ask(&store);
                assert_eq!(num_errors > 0, page < 2, "byte {at}: every byte of a data block is checked, and no filter");
                assert!(store.warnings().len() <= 1);
                assert!(store.warnings().is_empty() || matches!(page, 3 | 4));
                num_warned += store.warnings().len();
            }
            Err(error) => assert!(matches!(page, 2 | 5) && is_damage(&error), "byte {at}: {error}"),
        }
    }
    // Each byte of both filter blocks, without the zeros that fill up their pages.
    storage.replace(TABLE, intact);
    let store = Store::open(storage, options()).unwrap();
    assert_eq!(num_warned as u64, store.stats().tables[0].filter_bytes);
    assert_eq!(ask(&store), 0);
}

#[test]
fn every_truncation_is_refused() {
    let storage = storage();
    let intact = storage.contents(TABLE);
    for len in 0..intact.len() {
        storage.replace(TABLE, intact[..len].to_vec());
        is_damage(&Store::open(storage.clone(), options()).unwrap_err());
    }
    let longer = [&intact[..], &[0; PAGE_LEN]].concat();
    storage.replace(TABLE, longer);
    is_damage(&Store::open(storage, options()).unwrap_err());
}

/// The offsets of the row and the row+column filter.
const FILTERS_AT: [usize; 2] = [3 * PAGE_LEN, 4 * PAGE_LEN];

#[test]
fn a_damaged_filter_is_counted_and_said_once_and_answers_stay_right() {
    let storage = storage();
    let mut bytes = storage.contents(TABLE);
    bytes[FILTERS_AT[1] + 70] ^= 1;
    storage.replace(TABLE, bytes);
    let store = Store::open(storage, options()).unwrap();
    assert_eq!(ask(&store), 0);
    assert_eq!(ask(&store), 0);
    let (row, cell) = (store.ledger().row, store.ledger().row_column);
    assert!(row.count(Outcome::Avoided) > 80 && row.count(Outcome::FilterUnusable) == 0);
    assert_eq!(cell.count(Outcome::Avoided) + cell.count(Outcome::NoFilter), 0);
    assert_eq!(cell.count(Outcome::FilterUnusable) + cell.count(Outcome::OutOfKeyRange), 4 * NUM_ROWS);
    assert_eq!(cell.unfiltered_found, 2 * NUM_ROWS);
    let [warning] = store.warnings() else { panic!("one warning: {:?}", store.warnings()) };
    let FilterProblem::Decode(DecodeError::PayloadDigest { stored, computed }) = warning.problem else {
        panic!("{warning}")
    };
    let expected = format!(
        "000001.sst: filter block at offset 16384 ({} bytes, bloom v1): payload digest stored {stored:#018x}, computed \
         {computed:#018x}. Filter ignored: lookups stay correct but slower. Run 'filterblock verify 000001.sst'.",
        warning.len_bytes
    );
    assert_eq!(warning.to_string(), expected);
}

#[test]
fn filters_of_another_place_or_purpose_are_not_asked() {
    let storage = storage();
    let mut bytes = storage.contents(TABLE);
    let (row, cell) = bytes[FILTERS_AT[0]..FILTERS_AT[1] + PAGE_LEN].split_at_mut(PAGE_LEN);
    row.swap_with_slice(cell);
    storage.replace(TABLE, bytes);
    let store = Store::open(storage, options()).unwrap();
    assert_eq!(ask(&store), 0);
    assert_eq!(store.warnings().len(), 2);
    for warning in store.warnings() {
        let FilterProblem::Decode(error) = &warning.problem else { panic!("{warning}") };
        assert!(matches!(error, DecodeError::WrongContext { .. }), "{warning}");
    }
}

#[test]
fn a_table_under_another_name_is_refused() {
    let storage = storage();
    storage.rename(TABLE, "000002.sst").unwrap();
    let error = Store::open(storage, options()).unwrap_err();
    assert!(matches!(error, Error::Misplaced { named: 2, stored: 1, .. }), "{error}");
}

#[test]
fn tables_of_another_seed_are_read_without_their_filters() {
    let (older, newer) = (storage(), Arc::new(MemStorage::default()));
    let mut store = Store::open(newer.clone(), options().seed(6)).unwrap();
    store.put(b"unrelated", b"", b"").unwrap();
    store.flush().unwrap();
    store.put(b"another", b"", b"").unwrap();
    store.flush().unwrap();
    newer.replace(TABLE, older.contents(TABLE));
    let store = Store::open(newer, options()).unwrap();
    assert_eq!(ask(&store), 0);
    assert_eq!(store.warnings().len(), 2);
    assert!(store.ledger().total().count(Outcome::FilterUnusable) > 0);
}

#[test]
fn short_and_interrupted_reads_change_nothing() {
    let storage = storage();
    for limit in [1, 7, 4095, 4097] {
        storage.faults.read_at_most.store(limit, Ordering::Relaxed);
        storage.faults.interrupt.store(limit != 7, Ordering::Relaxed);
        let store = Store::open(storage.clone(), options()).unwrap();
        assert_eq!(ask(&store), 0, "{limit}");
        assert!(store.warnings().is_empty());
        assert!(store.ledger().total().count(Outcome::Avoided) > 100);
    }
    storage.faults.interrupt.store(false, Ordering::Relaxed);
    let file = storage.open(TABLE).unwrap();
    let error = read_exact_at(&*file, &mut [0; 2], 6 * PAGE_LEN as u64 - 1).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn flushes_sync_rename_and_sync_the_directory_in_that_order() {
    let storage = storage();
    let log = storage.log.lock().unwrap().clone();
    assert_eq!(log, ["sync 000001.sst.tmp", "rename 000001.sst.tmp 000001.sst", "sync dir"]);
}

#[test]
fn after_a_failed_sync_the_store_takes_no_more_writes() {
    for sync_dir in [false, true] {
        let storage = storage();
        let mut store = Store::open(storage.clone(), options()).unwrap();
        store.put(b"new", b"column", b"value").unwrap();
        let fault = if sync_dir { &storage.faults.fail_sync_dir } else { &storage.faults.fail_sync };
        fault.store(true, Ordering::Relaxed);
        assert!(matches!(store.flush(), Err(Error::Io { .. })));
        fault.store(false, Ordering::Relaxed);
        assert!(matches!(store.flush(), Err(Error::Poisoned)));
        assert!(matches!(store.put(b"more", b"column", b"value"), Err(Error::Poisoned)));
        assert!(matches!(store.delete(b"more", b"column"), Err(Error::Poisoned)));
        assert_eq!(store.get(b"new", b"column").unwrap().as_deref(), Some(&b"value"[..]));
        assert_eq!(ask(&store), 0);
    }
}

#[test]
fn a_failed_write_can_be_tried_again() {
    let storage = storage();
    let mut store = Store::open(storage.clone(), options()).unwrap();
    store.put(b"new", b"column", b"value").unwrap();
    storage.faults.fail_append.store(true, Ordering::Relaxed);
    assert!(matches!(store.flush(), Err(Error::Io { .. })));
    assert_eq!(storage.list().unwrap(), [TABLE]);
    storage.faults.fail_append.store(false, Ordering::Relaxed);
    store.flush().unwrap();
    let store = Store::open(storage, options()).unwrap();
    assert_eq!(store.get(b"new", b"column").unwrap().as_deref(), Some(&b"value"[..]));
}

#[test]
fn unfinished_tables_are_removed_and_other_files_left_alone() {
    let storage = storage();
    storage.replace("000002.sst.tmp", vec![1; 100]);
    for name in ["notes.tmp", "2.sst", "notes"] {
        storage.replace(name, vec![1]);
    }
    let store = Store::open(storage.clone(), options()).unwrap();
    assert_eq!(ask(&store), 0);
    assert_eq!(storage.list().unwrap(), [TABLE, "2.sst", "notes", "notes.tmp"]);
}

#[test]
fn a_block_of_another_place_is_refused() {
    let storage = storage();
    let mut bytes = storage.contents(TABLE);
    let (first, second) = bytes[..2 * PAGE_LEN].split_at_mut(PAGE_LEN);
    first.swap_with_slice(second);
    storage.replace(TABLE, bytes);
    let store = Store::open(storage, options()).unwrap();
    let error = store.get(&key(0), b"column").unwrap_err();
    assert!(
        matches!(error, Error::Damaged { offset: 0, damage: Damage::Checksum { unit: "data block", .. }, .. }),
        "{error}"
    );
    assert!(store.scan(..).any(|cell| cell.is_err()));
}
