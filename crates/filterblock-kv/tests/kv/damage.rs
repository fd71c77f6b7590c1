//! Damage, faults of the storage, and formats newer than this library: the right answer or a typed error.

use crate::fixture;
use crate::fixture::change as damage;
use crate::*;
use filterblock::DecodeError;

const NUM_ROWS: u64 = 60;

fn options() -> StoreOptions {
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0).unwrap();
    fixture::with_both(policy).with_seed(5).with_cache_bytes(0).with_maintenance(Maintenance::Inline { seed: 1 })
}

fn open(storage: &SimStorage) -> Result<Store, Error> {
    Store::open(Arc::new(storage.clone()), options())
}

fn key(i: u64) -> Vec<u8> {
    format!("row{i:04}").into_bytes()
}

fn value(i: u64) -> Vec<u8> {
    format!("{i:0100}").into_bytes()
}

/// A closed store of one table.
fn filled(options: StoreOptions, rows: impl Iterator<Item = u64>) -> SimStorage {
    let storage = SimStorage::new();
    let store = Store::open(Arc::new(storage.clone()), options).unwrap();
    rows.zip(0..).for_each(|(row, i)| store.put(&key(row), b"column", &value(i)).unwrap());
    store.flush().unwrap();
    store.close().unwrap();
    storage
}

/// A closed store of one table, and the table's name.
fn storage() -> (SimStorage, String) {
    let storage = filled(options(), (0..NUM_ROWS).map(|i| 2 * i));
    let table = tables(&storage).remove(0);
    // Two data blocks, an index, two filters and a footer: a page each.
    assert_eq!(storage.contents(&table).unwrap().len(), 6 * PAGE_LEN);
    (storage, table)
}

/// Looks up everything in the store and as much that is absent. Errors are allowed, wrong answers are not; returns the
/// number of lookups that failed.
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

/// The offsets of the row and the row+column filter.
const FILTERS_AT: [usize; 2] = [3 * PAGE_LEN, 4 * PAGE_LEN];

#[test]
fn a_damaged_filter_is_counted_and_reported_once_and_answers_stay_right() {
    let (storage, table) = storage();
    damage(&storage, &table, |bytes| bytes[FILTERS_AT[1] + 70] ^= 1);
    let store = open(&storage).unwrap();
    assert_eq!(ask(&store), 0);
    assert_eq!(ask(&store), 0);
    let ledger = store.ledger();
    let (row, cell) = (ledger.of(Purpose::Row), ledger.of(Purpose::RowColumn));
    assert!(row.count(Outcome::Avoided) > 80 && row.count(Outcome::FilterUnusable) == 0);
    assert_eq!(cell.count(Outcome::Avoided) + cell.count(Outcome::NoFilter), 0);
    assert_eq!(cell.count(Outcome::FilterUnusable) + cell.count(Outcome::OutOfKeyRange), 4 * NUM_ROWS);
    assert_eq!(cell.unfiltered_found, 2 * NUM_ROWS);
    let warnings = store.warnings();
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    let FilterProblem::Decode(DecodeError::PayloadDigest { stored, computed }) = warning.problem else {
        panic!("{warning}")
    };
    let expected = format!(
        "{table}: filter block at offset 16384 ({} bytes, bloom v1): payload digest stored {stored:#018x}, computed \
         {computed:#018x}. Filter ignored: lookups stay correct but slower. Run `filterblock rebuild {table}`.",
        warning.len
    );
    assert_eq!(warning.to_string(), expected);

    // The command in the message repairs it.
    store.rebuild_filters(&RebuildOptions::new()).unwrap();
    store.close().unwrap();
    let store = open(&storage).unwrap();
    assert_eq!(ask(&store), 0);
    assert!(store.warnings().is_empty());
    assert_eq!(store.ledger().total().count(Outcome::FilterUnusable), 0);
    assert!(store.ledger().of(Purpose::RowColumn).count(Outcome::Avoided) > 50);
}

/// Twice as many rows at half the bits: a block of the same length, seed and location, with right checksums.
#[test]
fn a_filter_of_more_entries_than_its_table_has_is_not_used() {
    let (storage, table) = storage();
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 5.0).unwrap();
    let other = filled(options().with_filter(Purpose::Row, policy), 0..2 * NUM_ROWS).contents(&table).unwrap();
    let other_at = other.len() - 3 * PAGE_LEN;
    damage(&storage, &table, |bytes| {
        bytes[FILTERS_AT[0]..FILTERS_AT[1]].copy_from_slice(&other[other_at..other_at + PAGE_LEN]);
    });
    let store = open(&storage).unwrap();
    assert_eq!(ask(&store), 0);
    let warnings = store.warnings();
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert_eq!(warning.problem, FilterProblem::TooManyEntries { num_entries: 2 * NUM_ROWS, max: NUM_ROWS });
    let expected = "has 120 entries, and its table can have 60 at most. Filter ignored";
    assert!(warning.to_string().contains(expected), "{warning}");
    let [table] = &store.stats().tables[..] else { panic!("one table") };
    assert_eq!((&table.unusable[..], table.filter_entries), (&[Purpose::Row][..], NUM_ROWS));
}

/// The files have the same numbers in both stores.
#[test]
fn filters_that_were_rebuilt_for_another_stores_table_are_not_used() {
    let ((storage, _), others) = (storage(), filled(options(), 1000..=1000 + NUM_ROWS));
    for storage in [&storage, &others] {
        let store = open(storage).unwrap();
        store.rebuild_filters(&RebuildOptions::new()).unwrap();
        store.close().unwrap();
    }
    let name = storage.names().into_iter().find(|name| name.ends_with(".flt")).unwrap();
    storage.replace(&name, others.contents(&name).unwrap());
    let store = open(&storage).unwrap();
    assert_eq!(ask(&store), 0);
    let [warning] = &store.warnings()[..] else { panic!("one warning: {:?}", store.warnings()) };
    let footer_at = others.contents(&name).unwrap().len() - PAGE_LEN;
    let expected =
        format!("{name}: at offset {footer_at}: number, count or sequence number of its table is 61 where 60");
    assert!(warning.to_string().contains(&expected), "{warning}");
}

/// A store with a write that waits to be flushed, and the number of its last operation.
fn unflushed() -> (SimStorage, Store, u64) {
    let (storage, _) = storage();
    let store = Store::open(Arc::new(storage.clone()), options().with_durability(Durability::Never)).unwrap();
    store.put(b"new", b"column", b"value").unwrap();
    let last = storage.num_operations();
    (storage, store, last)
}

#[test]
fn after_a_failed_sync_the_store_takes_no_more_writes() {
    let (storage, store, last) = unflushed();
    let operations = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&operations);
    storage.on_operation(move |_, operation| seen.lock().unwrap().push(operation.kind));
    store.flush().unwrap();
    let operations = operations.lock().unwrap().clone();
    let mut num_poisoned = 0;
    for (number, kind) in (last + 1..).zip(operations) {
        let (storage, store, last_now) = unflushed();
        assert_eq!(last_now, last);
        storage.inject(Fault::once(FaultKind::Io, number));
        let flushed = store.flush();
        // An obsolete log may stay until the store is reopened, and an unreadable filter is just not used.
        let is_harmless = kind == OperationKind::Remove || !store.warnings().is_empty();
        assert_eq!(flushed.is_ok(), is_harmless, "{kind}");
        assert!(is_harmless || matches!(flushed, Err(Error::Io { .. })), "{kind}: {flushed:?}");
        use OperationKind::{Rename, Sync, SyncDir, Write};
        // Whether a failed write to the manifest took effect is also unknown.
        let is_poison = matches!(kind, Sync | SyncDir | Rename) || (kind == Write && store.flush().is_err());
        num_poisoned += u64::from(is_poison);
        let writes =
            [store.flush(), store.put(b"more", b"column", b"value"), store.delete(b"gone", b"column"), store.compact()];
        for write in writes {
            match is_poison {
                true => assert!(matches!(write, Err(Error::Poisoned)), "{kind}: {write:?}"),
                false => write.unwrap(),
            }
        }
        assert_eq!(store.get(b"new", b"column").unwrap().as_deref(), Some(&b"value"[..]));
        assert_eq!(ask(&store), 0);
        assert_eq!(store.close().is_err(), is_poison);
        let store = open(&storage).unwrap();
        assert_eq!(ask(&store), 0);
        assert_eq!(store.get(b"new", b"column").unwrap().as_deref(), Some(&b"value"[..]));
        store.put(b"more", b"column", b"value").unwrap();
    }
    // Both logs and the table synced, the table renamed, two syncs of the directory, two edits written and synced.
    assert_eq!(num_poisoned, 3 + 1 + 2 + 2 + 2);
}

#[test]
fn unfinished_files_are_removed_and_other_files_left_alone() {
    let (storage, _) = storage();
    // The number of one is beyond all that a store reaches.
    let unfinished =
        ["000007.sst.tmp", "000008.flt.tmp", "000009.sst", "9007199254740992.sst", "000005.wal", "MANIFEST.tmp"];
    for name in unfinished.iter().chain(&["notes.tmp", "2.sst", "notes"]) {
        storage.replace(name, vec![1; 100]);
    }
    let store = open(&storage).unwrap();
    assert_eq!(ask(&store), 0);
    let strange: Vec<String> = storage.names().into_iter().filter(|name| !name.starts_with("0000")).collect();
    assert_eq!(strange, ["2.sst", "LOCK", "MANIFEST", "notes", "notes.tmp"]);
    assert_eq!(storage.names().len(), strange.len() + 2);
    // Numbers of earlier files are not reused.
    store.put(b"row", b"column", b"value").unwrap();
    store.flush().unwrap();
    assert!(storage.names().iter().any(|name| name.ends_with(".sst") && name.as_str() > "000009.sst"));
    assert!(store.close().is_ok() && ask(&open(&storage).unwrap()) == 0);
}

#[test]
fn other_directories_are_refused_and_left_alone() {
    type Case<'a> = (&'a [&'a str], fn(&Error) -> bool);
    let cases: [Case<'_>; 3] = [
        (&["photo.jpg", "notes"], |error| matches!(error, Error::NotAStore { num_files: 2, .. })),
        (&["000001.sst", "000002.wal", "x"], |error| matches!(error, Error::NoManifest { num_files: 2 })),
        (&["MANIFEST"], |error| matches!(error, Error::Damaged { .. })),
    ];
    for (names, is_expected) in cases {
        let storage = SimStorage::new();
        names.iter().for_each(|name| storage.replace(name, b"something".to_vec()));
        let error = open(&storage).unwrap_err();
        assert!(is_expected(&error), "{error}");
        assert!(names.iter().all(|name| storage.contents(name).as_deref() == Some(b"something")));
    }
    for options in [options().with_create(false), options().with_read_only(true)] {
        let error = Store::open(Arc::new(SimStorage::new()), options).unwrap_err();
        assert!(matches!(error, Error::NoStore), "{error}");
    }
}

#[test]
fn a_store_is_open_once_for_writing_and_often_for_reading() {
    let (storage, _) = storage();
    let reader = || Store::open(Arc::new(storage.clone()), options().with_read_only(true));
    let store = open(&storage).unwrap();
    assert!(matches!(open(&storage), Err(Error::Locked)));
    let early = reader().unwrap();
    store.put(b"in the log", b"column", b"value").unwrap();
    assert_eq!(early.get(b"in the log", b"column").unwrap(), None);
    let in_log = |store: &Store| store.get(b"in the log", b"column").unwrap();
    assert_eq!(in_log(&reader().unwrap()).as_deref(), Some(&b"value"[..]));
    drop(store);
    let before = fixture::sim_files(&storage);
    let readers = [reader().unwrap(), reader().unwrap()];
    for store in &readers {
        assert_eq!(ask(store), 0);
        assert_eq!(in_log(store).as_deref(), Some(&b"value"[..]));
        assert!(matches!(store.put(b"", b"", b""), Err(Error::ReadOnly)));
        assert!(matches!(store.flush(), Err(Error::ReadOnly)));
        assert!(matches!(store.compact(), Err(Error::ReadOnly)));
        assert!(matches!(store.sync(), Err(Error::ReadOnly)));
        assert!(matches!(store.rebuild_filters(&RebuildOptions::new()), Err(Error::ReadOnly)));
        assert_eq!(store.verify().false_negatives(), 0);
    }
    drop(readers);
    assert!(before == fixture::sim_files(&storage), "readers change nothing");
}

#[test]
fn a_file_with_an_impossible_number_is_not_the_stores() {
    let storage = SimStorage::new();
    fixture::open(&storage, inline()).put(b"row", b"column", b"value").unwrap();
    storage.replace("18446744073709551615.sst.tmp", vec![]);
    for i in 0..5u8 {
        let store = fixture::open(&storage, inline());
        assert!(store.get(b"row", b"column").unwrap().is_some());
        store.put(&[i], b"column", b"value").unwrap();
        store.flush().unwrap();
    }
    assert_eq!(fixture::open(&storage, inline()).scan(..).count(), 6);
}
