//! When a write is durable: the three settings, groups of writers, batches.

use crate::changed::NoTables;
use crate::*;

fn open(storage: &SimStorage, durability: Durability) -> Store {
    Store::open(Arc::new(storage.clone()), StoreOptions::default().with_durability(durability)).unwrap()
}

/// The value of `row` after the worst crash, which leaves nothing unsynced.
fn after_a_crash(storage: &SimStorage) -> Option<Vec<u8>> {
    let store = open(&storage.crash_image(CrashKind::NothingUnsynced), Durability::Always);
    store.get(b"row", b"column").unwrap()
}

fn syncs_of_logs(storage: &SimStorage) -> usize {
    let is_sync =
        |operation: &&crate::sim::Operation| operation.kind == OperationKind::Sync && operation.file.ends_with(".wal");
    storage.log().iter().filter(is_sync).count()
}

#[test]
fn a_write_is_durable_when_the_setting_promises_it() {
    let hour = Duration::from_secs(3600);
    for (durability, at_once) in [
        (Durability::Always, true),
        (Durability::Interval(Duration::ZERO), true),
        (Durability::Interval(hour), false),
        (Durability::Never, false),
    ] {
        let storage = SimStorage::new();
        let store = open(&storage, durability);
        store.put(b"row", b"column", b"value").unwrap();
        assert_eq!(after_a_crash(&storage).is_some(), at_once, "{durability:?}");
        store.sync().unwrap();
        assert!(after_a_crash(&storage).is_some(), "{durability:?}");
        store.put(b"row", b"column", b"later").unwrap();
        store.close().unwrap();
        assert_eq!(after_a_crash(&storage).as_deref(), Some(&b"later"[..]), "{durability:?}");
    }
}

#[test]
fn an_interval_passes_without_another_write() {
    for maintenance in [Maintenance::Background, Maintenance::Inline { seed: 1 }] {
        let storage = SimStorage::new();
        let options = StoreOptions::default().with_durability(Durability::Interval(Duration::from_millis(1)));
        let store = fixture::open(&storage, options.with_maintenance(maintenance));
        store.put(b"row", b"column", b"value").unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while after_a_crash(&storage).is_none() {
            assert!(Instant::now() < deadline, "an idle store was not synced");
            std::thread::yield_now();
        }
        // Without a thread for maintenance, the thread that syncs does nothing else.
        let own = std::thread::current().id();
        storage.on_operation(move |_, operation| {
            let is_sync = operation.kind == OperationKind::Sync && operation.file.ends_with(".wal");
            let may_be_another = is_sync || maintenance == Maintenance::Background;
            assert!(may_be_another || std::thread::current().id() == own, "{operation} by another thread");
        });
        for i in 0..200u8 {
            store.put(&[i], b"column", &[i; 100]).unwrap();
        }
        store.compact().unwrap();
        store.close().unwrap();
    }
}

#[test]
fn a_manifest_that_ends_with_blocks_of_an_older_one_ends_before_them() {
    // Some file systems give a file blocks of a removed one, and show their old content after a crash.
    let storage = SimStorage::new();
    let images = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&images);
    storage.on_operation(move |storage, operation| {
        if operation.kind.changes() {
            seen.lock().unwrap().push(storage.crash_image(CrashKind::NothingUnsynced));
        }
    });
    let options = StoreOptions::default().with_maintenance(Maintenance::Inline { seed: 1 });
    for i in 0..4u8 {
        let store = Store::open(Arc::new(storage.clone()), options.clone()).unwrap();
        store.put(&[i], b"column", b"value").unwrap();
        if i % 2 == 0 {
            store.flush().unwrap();
        }
        store.put(&[i], b"column", b"again").unwrap();
        store.close().unwrap();
    }
    let images = core::mem::take(&mut *images.lock().unwrap());
    let manifests: Vec<_> = images.iter().map(|image| image.contents("MANIFEST").unwrap_or_default()).collect();
    let cells = |storage: &SimStorage| {
        let store = Store::open(Arc::new(storage.clone()), options.clone()).unwrap();
        store.scan(..).collect::<Result<Vec<_>, _>>().unwrap()
    };
    let mut num_mixed = 0;
    for (i, image) in images.iter().enumerate().filter(|(i, _)| !manifests[*i].is_empty()) {
        let expected = cells(&image.crash_image(CrashKind::Everything));
        let mut olders: Vec<&Vec<u8>> =
            manifests[..i].iter().filter(|older| older.len() > manifests[i].len()).collect();
        olders.dedup();
        for older in olders {
            let mixed = image.crash_image(CrashKind::Everything);
            mixed.replace("MANIFEST", [&manifests[i], &older[manifests[i].len()..]].concat());
            assert_eq!(cells(&mixed), expected, "after operation {i}");
            num_mixed += 1;
        }
    }
    assert!(num_mixed > 50, "{num_mixed}");
}

#[test]
fn writers_share_syncs() {
    const THREADS: u64 = 8;
    const WRITES: u64 = 50;
    let storage = SimStorage::new();
    let store = open(&storage, Durability::Always);
    let before = syncs_of_logs(&storage);
    // While one thread syncs, the others queue up.
    storage.on_operation(|_, operation| {
        if operation.kind == OperationKind::Sync {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for i in 0..WRITES {
                    store.put(&[thread as u8], b"counter", &i.to_string().into_bytes()).unwrap();
                    // An acknowledged write is visible at once.
                    assert_eq!(store.get(&[thread as u8], b"counter").unwrap(), Some(i.to_string().into_bytes()));
                }
            });
        }
    });
    let syncs = syncs_of_logs(&storage) - before;
    println!("{} writes, {syncs} syncs", THREADS * WRITES);
    assert!((syncs as u64) < THREADS * WRITES, "{syncs}");
    let store = open(&storage.crash_image(CrashKind::NothingUnsynced), Durability::Always);
    for thread in 0..THREADS {
        let last = (WRITES - 1).to_string().into_bytes();
        assert_eq!(store.get(&[thread as u8], b"counter").unwrap(), Some(last));
    }
}

#[test]
fn all_writers_of_a_failed_group_get_its_error() {
    const THREADS: u8 = 6;
    let storage = SimStorage::new();
    let store = open(&storage, Durability::Always);
    storage.inject(Fault::persistent(FaultKind::NoSpace, 0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..20 {
                    let error = store.put(&[thread], b"column", b"value").unwrap_err();
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                }
            });
        }
    });
    storage.lift_faults();
    assert_eq!(store.scan(..).count(), 0);
    store.put(b"row", b"column", b"value").unwrap();
    assert_eq!(store.scan(..).count(), 1);
    assert!(after_a_crash(&storage).is_some());
}

#[test]
fn a_batch_is_one_write() {
    let storage = SimStorage::new();
    let store = open(&storage, Durability::Always);
    let mut batch = WriteBatch::new();
    assert!(batch.is_empty());
    store.write(batch.clone()).unwrap();
    for i in 0..100u8 {
        batch.put(&[i], b"column", &[i; 300]).unwrap();
    }
    batch.delete(&[7], b"column").unwrap().put(&[8], b"column", b"twice").unwrap();
    assert_eq!(batch.len(), 102);
    let too_long = batch.put(b"", b"", &vec![0; MAX_VALUE_LEN + 1]).unwrap_err();
    assert!(matches!(too_long, Error::TooLong { what: "value", .. }));
    let before = storage.num_operations();
    store.write(batch).unwrap();
    assert_eq!(storage.num_operations() - before, 2, "a write and a sync");
    assert_eq!(store.scan(..).count(), 99);
    assert_eq!(store.get(&[8], b"column").unwrap().as_deref(), Some(&b"twice"[..]));
    // Every crash leaves all of it or nothing.
    let storage = SimStorage::new();
    let store = open(&storage, Durability::Never);
    store.put(b"before", b"", b"").unwrap();
    store.sync().unwrap();
    let mut batch = WriteBatch::new();
    for i in 0..50u8 {
        batch.put(&[i], b"column", &[i; 300]).unwrap();
    }
    store.write(batch).unwrap();
    let mut left = [0; 2];
    for image in storage.crash_images(1, 200) {
        let store = open(&image.storage, Durability::Always);
        match store.scan(..).count() {
            1 => left[0] += 1,
            51 => left[1] += 1,
            other => panic!("{other} cells left by {:?}", image.kind),
        }
    }
    assert!(left[0] > 10 && left[1] > 0, "{left:?}");
}

#[test]
fn failed_background_work_is_reported_and_retried() {
    let storage = SimStorage::new();
    let options = StoreOptions::default().with_max_memtable_bytes(2_000).with_durability(Durability::Never);
    let store = Store::open(Arc::new(storage.clone()), options.clone()).unwrap();
    store.put(b"before", b"column", b"value").unwrap();
    storage.inject(Fault::persistent(FaultKind::NoSpace, 0));
    assert!(matches!(store.flush(), Err(Error::Io { .. })));
    storage.lift_faults();
    store.flush().unwrap();
    assert_eq!(tables(&storage).len(), 1);

    // Only tables cannot be written: logs are, until memory is full of waiting memtables.
    let refused = NoTables::default();
    let failing = Changed { inner: storage.crash_image(CrashKind::Everything), change: refused.clone() };
    let store = Store::open(Arc::new(failing), options).unwrap();
    refused.set(true);
    let (written, stalled) = put_until_refused(&store, 0, 500);
    assert!(matches!(stalled, Error::Stalled { .. }), "{stalled}");
    assert!(stalled.to_string().contains("no room for tables"), "{stalled}");
    assert!(written > 5, "memory takes some before it is full");
    assert!(matches!(store.flush(), Err(Error::Io { .. } | Error::Stalled { .. })));
    has(&store, 0..written, 500);
    refused.set(false);
    // A refused attempt may be reported only now; the next one succeeds.
    let mut attempts = 0;
    while let Err(error) = store.put(b"after", b"column", b"value") {
        assert!(matches!(error, Error::Stalled { .. }), "{error}");
        attempts += 1;
        assert!(attempts < 10_000, "{error}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    store.settle().unwrap();
    store.flush().unwrap();
    store.settle().unwrap();
    assert_eq!(store.scan(..).count() as u32, written + 2);
    assert_eq!(store.stats().memtable_cells, 0);
}
