//! A panic of one thread is an error for the others: none waits for ever, and nothing acknowledged is lost.

use crate::*;
use std::sync::mpsc;

/// Bytes of a value.
const LEN: usize = 200;

/// Far longer than anything here takes, unless it waits for ever.
const LONG: Duration = Duration::from_secs(60);

/// The result of `act`, which must return.
fn within_time<T: Send + 'static>(what: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(act()));
    receiver.recv_timeout(LONG).unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn options() -> StoreOptions {
    StoreOptions::default().with_max_memtable_bytes(4_000).with_durability(Durability::Never)
}

/// The next operation of this kind on a file of this ending panics, of those for whose threads `on` holds.
fn panic_at(
    storage: &SimStorage,
    kind: OperationKind,
    ending: &'static str,
    on: impl Fn() -> bool + Send + Sync + 'static,
) -> Arc<AtomicBool> {
    let is_armed = Arc::new(AtomicBool::new(true));
    let armed = Arc::clone(&is_armed);
    storage.on_operation(move |_, operation| {
        let is_it = operation.kind == kind && operation.file.ends_with(ending) && on();
        assert!(!(is_it && armed.swap(false, Ordering::Relaxed)), "a panic made on purpose");
    });
    is_armed
}

#[test]
fn a_panic_of_the_background_thread_is_an_error_for_all_who_wait() {
    let places = [
        (OperationKind::Create, ".sst.tmp"),
        (OperationKind::Sync, ".sst.tmp"),
        (OperationKind::Rename, ".sst.tmp"),
        (OperationKind::Open, ".sst"),
        (OperationKind::SyncDir, ""),
        (OperationKind::Remove, ".wal"),
    ];
    for (kind, ending) in places {
        let storage = SimStorage::new();
        let store = Arc::new(open(&storage, options()));
        (0..5).for_each(|i| put(&store, i, LEN).unwrap());
        // A writer that begins a log syncs the directory, too.
        let is_background = || std::thread::current().name() == Some("store");
        let is_armed = panic_at(&storage, kind, ending, is_background);
        // One waits for a flush, the other for room.
        let [flushing, writing] = [Arc::clone(&store), Arc::clone(&store)];
        let flushed = std::thread::spawn(move || flushing.flush());
        let (written, refused) = within_time("a writer", move || put_until_refused(&writing, 5, LEN));
        let flushed = within_time("a flush", move || flushed.join());
        assert!(!is_armed.load(Ordering::Relaxed), "{kind} {ending}: nothing panicked");
        assert!(matches!(refused, Error::Panicked), "{kind} {ending}: {refused}");
        // It may have been done before, or have been the thread that panicked.
        let is_as_expected = matches!(&flushed, Err(_) | Ok(Ok(()) | Err(Error::Panicked)));
        assert!(is_as_expected, "{kind} {ending}: {flushed:?}");
        let settling = Arc::clone(&store);
        assert!(matches!(within_time("settle", move || settling.settle()), Err(Error::Panicked)));
        has(&store, 0..written, LEN);
        let store = Arc::into_inner(store).unwrap();
        assert!(matches!(within_time("close", move || store.close()), Err(Error::Panicked)));
        has(&Store::open(Arc::new(storage), options()).unwrap(), 0..written, LEN);
    }
}

#[test]
fn a_panic_of_the_writer_that_leads_is_an_error_for_its_group() {
    let storage = SimStorage::new();
    let store = Arc::new(open(&storage, options().with_durability(Durability::Always)));
    put(&store, 0, LEN).unwrap();
    let (reached, is_reached) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let mut calls = 0;
    storage.on_operation(move |_, operation| {
        if operation.kind == OperationKind::Sync && operation.file.ends_with(".wal") {
            calls += 1;
            // Others queue up behind the first writer; the one that leads them all panics.
            if calls == 1 {
                reached.send(()).unwrap();
                may_go_on.recv().unwrap();
            } else {
                panic!("a panic made on purpose");
            }
        }
    });
    let write = |i| {
        let store = Arc::clone(&store);
        std::thread::spawn(move || put(&store, i, LEN))
    };
    let first = write(1);
    is_reached.recv().unwrap();
    let others: Vec<_> = (2..6).map(write).collect();
    std::thread::sleep(Duration::from_millis(200));
    go_on.send(()).unwrap();
    within_time("the first writer", move || first.join()).unwrap().unwrap();
    let results: Vec<_> = others.into_iter().map(|other| within_time("a writer", move || other.join())).collect();
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1, "one leads: {results:?}");
    let mut rest = results.iter().flatten();
    assert!(rest.all(|result| matches!(result, Err(Error::Panicked))), "{results:?}");
    assert!(matches!(put(&store, 9, LEN), Err(Error::Panicked)));
    has(&store, 0..2, LEN);
    drop(store);
    has(&Store::open(Arc::new(storage), options()).unwrap(), 0..2, LEN);
}

#[test]
fn a_panic_of_a_thread_that_does_its_own_maintenance_stops_writes() {
    let storage = SimStorage::new();
    let inline = options().with_maintenance(Maintenance::Inline { seed: 1 });
    let store = Store::open(Arc::new(storage.clone()), inline).unwrap();
    (0..5).for_each(|i| put(&store, i, LEN).unwrap());
    panic_at(&storage, OperationKind::Create, ".sst.tmp", || true);
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| store.flush()));
    assert!(panicked.is_err());
    assert!(matches!(put(&store, 9, LEN), Err(Error::Panicked)));
    assert!(matches!(store.flush(), Err(Error::Panicked)));
    has(&store, 0..5, LEN);
    drop(store);
    has(&Store::open(Arc::new(storage), options()).unwrap(), 0..5, LEN);
}
