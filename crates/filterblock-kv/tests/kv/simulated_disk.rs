//! The simulated disk that other tests and the fuzz targets include, and each of its rules by a test that fails without
//! it.

use crate::sim::Operation;
use crate::sim::inode::SECTOR_LEN;
use crate::*;
use filterblock_kv::{LockMode, read_exact_at};
use std::io::Write;

/// Enough random images for every outcome of these small states.
const MANY: u64 = 400;

fn written(storage: &SimStorage, name: &str, bytes: &[u8]) -> Box<dyn WritableFile> {
    let mut file = storage.create(name).unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A file whose name and bytes are durable.
fn durable(storage: &SimStorage, name: &str, bytes: &[u8]) -> Box<dyn WritableFile> {
    let mut file = written(storage, name, bytes);
    file.sync().unwrap();
    storage.sync_dir().unwrap();
    file
}

/// What a file may be after a crash, over the fixed kinds and many random ones.
fn outcomes(storage: &SimStorage, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    kinds().map(|kind| storage.crash_image(kind).contents(name)).collect()
}

/// The sets of names that a crash may leave.
fn name_outcomes(storage: &SimStorage) -> BTreeSet<String> {
    kinds().map(|kind| storage.crash_image(kind).names().join(" ")).collect()
}

fn kinds() -> impl Iterator<Item = CrashKind> {
    CrashKind::FIXED.into_iter().chain((0..MANY).map(|seed| CrashKind::Random { seed }))
}

fn after(storage: &SimStorage, kind: CrashKind, name: &str) -> Option<Vec<u8>> {
    storage.crash_image(kind).contents(name)
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn synced_bytes_under_a_durable_name_survive_everything() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", &[7; 700]);
    assert_eq!(outcomes(&storage, "a"), [Some(vec![7; 700])].into());
    assert_eq!(storage.crash_images(1, 20).len(), 1);
    file.write_all(&[8; 700]).unwrap();
    // Also the ones that share a sector with bytes that do not.
    assert!(outcomes(&storage, "a").iter().flatten().all(|bytes| bytes.starts_with(&[7; 700])));
}

#[test]
fn unsynced_bytes_are_lost_kept_torn_anywhere_and_reordered_by_sector() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"");
    for byte in 1..=4 {
        file.write_all(&[byte; SECTOR_LEN]).unwrap();
    }
    let outcomes: BTreeSet<Vec<u8>> = outcomes(&storage, "a").into_iter().flatten().collect();
    let all = storage.contents("a").unwrap();
    let sector = |bytes: &[u8], i: usize| bytes.get(i * SECTOR_LEN..(i + 1) * SECTOR_LEN).map(<[u8]>::to_vec);
    let whole = |bytes: &Vec<u8>, i: usize| sector(bytes, i) == sector(&all, i);
    let zero = |bytes: &Vec<u8>, i: usize| sector(bytes, i) == Some(vec![0; SECTOR_LEN]);
    assert!(outcomes.contains(&vec![]) && outcomes.contains(&all));
    assert!(outcomes.iter().any(|bytes| all.starts_with(bytes) && bytes.len() % SECTOR_LEN != 0), "no torn write");
    assert!(outcomes.iter().any(|bytes| zero(bytes, 0) && whole(bytes, 3)), "a later sector without an earlier one");
    assert!(outcomes.iter().any(|bytes| *bytes == vec![0; all.len()]), "length only");
    let garbage = |bytes: &Vec<u8>, i| !whole(bytes, i) && sector(bytes, i).is_some_and(|bytes| bytes[7] != bytes[8]);
    assert!(outcomes.iter().any(|bytes| garbage(bytes, 1) && whole(bytes, 2)), "no garbage among good sectors");
    assert!(outcomes.iter().all(|bytes| bytes.len() <= all.len()), "longer than what was written");
}

#[test]
fn a_sector_is_written_whole_or_not() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"");
    // Two writes to one sector: the second is not there without the first.
    file.write_all(b"first").unwrap();
    file.write_all(b"second").unwrap();
    let outcomes = outcomes(&storage, "a");
    assert!(outcomes.contains(&Some(b"first".to_vec())) && outcomes.contains(&Some(b"firstsec".to_vec())));
    assert!(!outcomes.contains(&Some(b"\0\0\0\0\0second".to_vec())));
    assert!(!outcomes.contains(&Some(b"first\0\0\0\0\0\0".to_vec())));
}

#[test]
fn a_sync_covers_what_was_written_before_it_in_its_file_only() {
    let storage = SimStorage::new();
    let (mut a, mut b) = (durable(&storage, "a", b""), durable(&storage, "b", b""));
    a.write_all(b"old").unwrap();
    b.write_all(b"other").unwrap();
    a.sync().unwrap();
    a.write_all(b"new").unwrap();
    assert_eq!(after(&storage, CrashKind::NothingUnsynced, "a").unwrap(), b"old");
    assert_eq!(after(&storage, CrashKind::NothingUnsynced, "b").unwrap(), b"");
    assert_eq!(after(&storage, CrashKind::Everything, "a").unwrap(), b"oldnew");
}

#[test]
fn a_synced_file_needs_its_name_synced_and_a_name_its_bytes() {
    let storage = SimStorage::new();
    let mut file = written(&storage, "a", b"bytes");
    file.sync().unwrap();
    assert_eq!(outcomes(&storage, "a"), [None, Some(b"bytes".to_vec())].into());
    let storage = SimStorage::new();
    let _file = written(&storage, "a", b"bytes");
    storage.sync_dir().unwrap();
    let outcomes = outcomes(&storage, "a");
    assert!(outcomes.contains(&Some(vec![])) && outcomes.contains(&Some(b"bytes".to_vec())));
    assert!(!outcomes.contains(&None));
}

#[test]
fn the_fixed_kinds_leave_what_they_promise() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"syn");
    file.write_all(b"one").unwrap();
    let _created = written(&storage, "b", b"new");
    file.write_all(b"two").unwrap();
    let of = |kind| (after(&storage, kind, "a").unwrap(), after(&storage, kind, "b"));
    let pair = |a: &[u8], b: Option<&[u8]>| (a.to_vec(), b.map(<[u8]>::to_vec));
    assert_eq!(of(CrashKind::NothingUnsynced), pair(b"syn", None));
    assert_eq!(of(CrashKind::Everything), pair(b"synonetwo", Some(b"new")));
    assert_eq!(of(CrashKind::AllButLast), pair(b"synone", Some(b"new")));
    assert_eq!(of(CrashKind::NamesWithoutData), pair(b"syn", Some(b"")));
    assert_eq!(of(CrashKind::NamesWithLengths), pair(b"syn\0\0\0\0\0\0", Some(b"\0\0\0")));
    assert_eq!(of(CrashKind::DataWithoutNames), pair(b"synonetwo", None));
    storage.remove("b").unwrap();
    assert_eq!(of(CrashKind::AllButLast), pair(b"synonetwo", Some(b"new")));
}

#[test]
fn a_rename_is_atomic_and_keeps_the_bytes() {
    let storage = SimStorage::new();
    durable(&storage, "a", b"old");
    let mut file = written(&storage, "a.tmp", b"new");
    file.sync().unwrap();
    storage.rename("a.tmp", "a").unwrap();
    assert_eq!(outcomes(&storage, "a"), [Some(b"old".to_vec()), Some(b"new".to_vec())].into());
    assert_eq!(name_outcomes(&storage), set(["a", "a a.tmp"]));
    storage.sync_dir().unwrap();
    assert_eq!(outcomes(&storage, "a"), [Some(b"new".to_vec())].into());
    assert_eq!(name_outcomes(&storage), set(["a"]));
    // The writer follows its file to the new name.
    file.write_all(b"er").unwrap();
    assert_eq!(storage.contents("a").unwrap(), b"newer");
}

#[test]
fn a_rename_without_a_sync_of_the_file_may_leave_an_empty_one() {
    let storage = SimStorage::new();
    durable(&storage, "a", b"old");
    written(&storage, "a.tmp", b"new");
    storage.rename("a.tmp", "a").unwrap();
    assert_eq!(after(&storage, CrashKind::NamesWithoutData, "a").unwrap(), b"");
}

#[test]
fn changes_of_different_names_survive_on_their_own_and_of_one_name_in_order() {
    let storage = SimStorage::new();
    durable(&storage, "a", b"a");
    durable(&storage, "b", b"b");
    storage.remove("a").unwrap();
    storage.remove("b").unwrap();
    assert_eq!(name_outcomes(&storage), set(["a b", "a", "b", ""]));
    assert_eq!(after(&storage, CrashKind::NothingUnsynced, "b").unwrap(), b"b");
    storage.sync_dir().unwrap();
    assert_eq!(name_outcomes(&storage), set([""]));

    let storage = SimStorage::new();
    durable(&storage, "a", b"a");
    storage.rename("a", "b").unwrap();
    storage.rename("b", "c").unwrap();
    storage.remove("c").unwrap();
    // Never both names of a rename, never the removal without the renames.
    assert_eq!(name_outcomes(&storage), set(["a", "b", "c", ""]));
    drop(storage.create("a").unwrap());
    assert_eq!(name_outcomes(&storage), set(["a", "b", "c", "", "a b", "a c"]));
    assert!(outcomes(&storage, "b").iter().all(|bytes| bytes.is_none() || bytes.as_deref() == Some(b"a")));
}

#[test]
fn operations_on_files_that_are_not_there_fail() {
    let storage = SimStorage::new();
    drop(written(&storage, "a", b"a"));
    let kind = |error: io::Error| error.kind();
    assert_eq!(storage.create("a").map_err(kind).unwrap_err(), io::ErrorKind::AlreadyExists);
    assert_eq!(storage.open("b").map_err(kind).unwrap_err(), io::ErrorKind::NotFound);
    assert_eq!(storage.rename("b", "a").map_err(kind), Err(io::ErrorKind::NotFound));
    assert_eq!(storage.remove("b").map_err(kind), Err(io::ErrorKind::NotFound));
    assert_eq!(storage.contents("b"), None);
    storage.rename("a", "a").unwrap();
    assert_eq!(storage.list().unwrap(), ["a"]);
}

#[test]
fn an_open_file_outlives_its_name() {
    let storage = SimStorage::new();
    drop(written(&storage, "a", b"bytes"));
    let file = storage.open("a").unwrap();
    storage.remove("a").unwrap();
    storage.replace("a", b"others".to_vec());
    let mut buf = [0; 5];
    read_exact_at(&*file, &mut buf, 0).unwrap();
    assert_eq!((&buf, file.len().unwrap()), (b"bytes", 5));
    assert_eq!(file.read_at(&mut buf, u64::MAX).unwrap(), 0);
    assert_eq!(storage.read_counts().bytes, 5);
    assert_eq!(outcomes(&storage, "a"), [Some(b"others".to_vec())].into());
}

#[test]
fn images_are_distinct_deterministic_independent_and_durable() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"synced");
    file.write_all(&[1; 3000]).unwrap();
    drop(written(&storage, "b", b"b"));
    let all = |seed| -> Vec<_> {
        let images = storage.crash_images(seed, 24);
        images.iter().map(|image| (image.kind, image.storage.contents("a"), image.storage.contents("b"))).collect()
    };
    let images = all(5);
    assert_eq!(images.len(), 24);
    assert_eq!(images, all(5));
    assert_ne!(images, all(6));
    let distinct: BTreeSet<_> = images.iter().map(|(_, a, b)| (a, b)).collect();
    assert_eq!(distinct.len(), 24);
    for image in storage.crash_images(5, 24) {
        // An image's kind is enough to make it again.
        assert_eq!(storage.crash_image(image.kind).contents("a"), image.storage.contents("a"));
        assert_eq!(image.storage.crash_images(1, 9).len(), 1, "an image is durable");
        image.storage.replace("a", b"else".to_vec());
    }
    assert_eq!(storage.contents("a").unwrap().len(), 3006);
    assert_eq!(storage.crash_images(5, 2).len(), CrashKind::FIXED.len(), "{:?}", storage.crash_images(5, 2));
}

#[test]
fn nothing_works_after_the_crash() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"syn");
    file.write_all(b"uns").unwrap();
    let reader = storage.open("a").unwrap();
    storage.crash_after(storage.num_operations() + 1);
    file.write_all(b"last").unwrap();
    let before = storage.num_operations();
    assert!(file.write(b"more").is_err() && file.sync().is_err() && reader.read_at(&mut [0], 0).is_err());
    assert!(storage.open("a").is_err() && storage.create("b").is_err() && storage.rename("a", "b").is_err());
    assert!(storage.remove("a").is_err() && storage.list().is_err() && storage.sync_dir().is_err());
    assert!(reader.len().is_err() && storage.lock("LOCK", LockMode::Shared).is_err());
    assert_eq!(storage.num_operations(), before);
    assert_eq!(after(&storage, CrashKind::NothingUnsynced, "a").unwrap(), b"syn");
    assert_eq!(after(&storage, CrashKind::Everything, "a").unwrap(), b"synunslast");
    assert!(storage.crash_image(CrashKind::Everything).open("a").is_ok());
}

#[test]
fn the_observer_sees_every_operation_and_the_state_after_it() {
    let storage = SimStorage::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (sink, mut last) = (Arc::clone(&seen), 0);
    storage.on_operation(move |storage, operation| {
        // Operations of the observer itself are counted but not observed.
        assert!(storage.list().is_ok() && operation.number > last);
        last = storage.num_operations();
        let images = storage.crash_images(0, 0).len();
        sink.lock().unwrap().push((operation.to_string(), images > 1));
    });
    let mut file = written(&storage, "a", b"a");
    file.sync().unwrap();
    storage.rename("a", "b").unwrap();
    storage.sync_dir().unwrap();
    read_exact_at(&*storage.open("b").unwrap(), &mut [0], 0).unwrap();
    let seen = seen.lock().unwrap();
    let expected = [("create a", true), ("write a", true), ("sync a", true), ("rename a b", true), ("sync dir", false)];
    let reads = [("open b", false), ("read b", false)];
    let expected: Vec<_> = expected.into_iter().chain(reads).map(|(name, open)| (name.to_owned(), open)).collect();
    assert_eq!(*seen, expected);
    let log: Vec<String> = storage.log().iter().map(Operation::to_string).collect();
    assert_eq!(log, ["create a", "write a", "sync a", "rename a b", "sync dir"]);
}

/// One operation of a kind on a storage that has a file `a`, with a fault that is set just before it.
fn perform(storage: &SimStorage, kind: OperationKind, fault: Fault) -> io::Result<()> {
    use OperationKind::{Create, KeepAside, Length, List, Lock, Open, Read, Remove, Rename, Sync, SyncDir, Write};
    let mut writer = storage.create("w").unwrap();
    let reader = storage.open("a").unwrap();
    storage.inject(fault);
    match kind {
        Create => storage.create("b").map(drop),
        Write => writer.write(b"four").map(drop),
        Sync => writer.sync(),
        Rename => storage.rename("a", "b"),
        Remove => storage.remove("a"),
        KeepAside => storage.keep_aside("a", "a").map(drop),
        SyncDir => storage.sync_dir(),
        Lock => storage.lock("LOCK", LockMode::Exclusive).map(drop),
        Open => storage.open("a").map(drop),
        Read => reader.read_at(&mut [0; 4], 0).map(drop),
        Length => reader.len().map(drop),
        List => storage.list().map(drop),
    }
}

#[test]
fn what_is_kept_aside_is_durable_and_never_overwritten() {
    let storage = SimStorage::new();
    for (bytes, kept) in [(b"one", "lost/a"), (b"two", "lost/a.2"), (b"one", "lost/a")] {
        storage.replace("a", bytes.to_vec());
        assert_eq!(storage.keep_aside("a", "a").unwrap(), kept);
        storage.remove("a").unwrap();
        assert_eq!(storage.list().unwrap(), Vec::<String>::new());
        let image = storage.crash_image(CrashKind::NothingUnsynced);
        assert_eq!(image.contents(kept).as_deref(), Some(&bytes[..]));
    }
    assert_eq!(storage.names(), ["lost/a", "lost/a.2"]);
    assert!(storage.keep_aside("a", "a").is_err());
}

#[test]
fn faults_strike_what_they_apply_to_and_are_counted() {
    use OperationKind::{Create, Read, Sync, SyncDir, Write};
    let short = FaultKind::Short { bytes_max: 3 };
    let cases: [(FaultKind, &[OperationKind]); 5] = [
        (FaultKind::Io, &OperationKind::ALL),
        (FaultKind::NoSpace, &[Create, Write]),
        (FaultKind::Interrupted, &[Read, Write]),
        (short, &[Read, Write]),
        (FaultKind::FailedSync, &[Sync, SyncDir]),
    ];
    for (kind, expected) in cases {
        for operation in OperationKind::ALL {
            for fault in [Fault::once(kind, 3), Fault::persistent(kind, 3)] {
                let storage = SimStorage::new();
                storage.replace("a", b"four".to_vec());
                let result = perform(&storage, operation, fault);
                let strikes = expected.contains(&operation);
                assert_eq!(storage.num_injected(), u64::from(strikes), "{kind} {operation}");
                assert_eq!(result.is_err(), strikes && kind != short, "{kind} {operation}");
                assert_eq!(kind.applies_to(operation), strikes);
            }
        }
    }
}

#[test]
fn faults_wait_for_their_operation_and_last_once_or_until_lifted() {
    let storage = SimStorage::new();
    let failed = |fault: Fault| -> Vec<u64> {
        storage.inject(fault);
        let first = storage.num_operations() + 1;
        let failed = (0..6).filter(|_| storage.list().is_err()).collect();
        assert_eq!(storage.num_operations(), first + 5, "operations that fail are counted");
        storage.lift_faults();
        failed
    };
    assert_eq!(failed(Fault::once(FaultKind::Io, 3)), [2]);
    assert_eq!(failed(Fault::persistent(FaultKind::Io, 10)), [3, 4, 5]);
    // A fault waits for an operation that it applies to.
    assert_eq!(failed(Fault::once(FaultKind::FailedSync, 13)), Vec::<u64>::new());
    assert_eq!(failed(Fault::once(FaultKind::Io, 1)), [0]);
    assert_eq!(storage.num_injected(), 5);
}

#[test]
fn an_error_does_nothing_and_a_short_transfer_a_part() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"");
    let next = || storage.num_operations() + 1;
    storage.inject(Fault::once(FaultKind::NoSpace, next()));
    assert_eq!(file.write(b"bytes").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(storage.contents("a").unwrap(), b"");
    storage.inject(Fault::persistent(FaultKind::NoSpace, 0));
    assert_eq!(storage.create("b").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(storage.names(), ["a"]);
    storage.lift_faults();

    storage.inject(Fault::once(FaultKind::Short { bytes_max: 2 }, next()));
    assert_eq!(file.write(b"bytes").unwrap(), 2);
    assert_eq!(file.write(b"tes").unwrap(), 3);
    storage.inject(Fault::persistent(FaultKind::Short { bytes_max: 0 }, 0));
    let (reader, before) = (storage.open("a").unwrap(), storage.num_injected());
    let mut buf = [0; 5];
    assert_eq!(reader.read_at(&mut buf, 0).unwrap(), 1);
    read_exact_at(&*reader, &mut buf, 0).unwrap();
    assert_eq!(&buf, b"bytes");
    // The last read is for one byte, which cannot be short.
    assert_eq!(storage.num_injected() - before, 5);
    storage.lift_faults();

    storage.inject(Fault::persistent(FaultKind::Interrupted, 0));
    assert_eq!(reader.read_at(&mut buf, 0).unwrap_err().kind(), io::ErrorKind::Interrupted);
    read_exact_at(&*reader, &mut buf, 0).unwrap();
    assert_eq!(file.write(b"!").unwrap_err().kind(), io::ErrorKind::Interrupted);
    file.write_all(b"!").unwrap();
    assert_eq!(storage.contents("a").unwrap(), b"bytes!");
}

#[test]
fn a_failed_sync_loses_the_bytes_though_later_syncs_succeed() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"syn");
    file.write_all(b"lost").unwrap();
    storage.inject(Fault::once(FaultKind::FailedSync, 0));
    assert!(file.sync().is_err());
    assert_eq!(storage.contents("a").unwrap(), b"synlost", "the page cache has it");
    file.sync().unwrap();
    file.write_all(b"new").unwrap();
    file.sync().unwrap();
    let expected = Some(b"syn\0\0\0\0new".to_vec());
    assert_eq!(outcomes(&storage, "a"), [expected].into());

    // An ordinary error of a sync loses nothing: the next one does its work.
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", b"syn");
    file.write_all(b"new").unwrap();
    storage.inject(Fault::once(FaultKind::Io, 0));
    assert!(file.sync().is_err());
    assert_eq!(after(&storage, CrashKind::NothingUnsynced, "a").unwrap(), b"syn");
    file.sync().unwrap();
    assert_eq!(outcomes(&storage, "a"), [Some(b"synnew".to_vec())].into());
}

#[test]
fn a_failed_sync_of_the_directory_leaves_names_in_doubt() {
    let storage = SimStorage::new();
    storage.replace("a", b"".to_vec());
    drop(storage.create("b").unwrap());
    storage.inject(Fault::once(FaultKind::FailedSync, 0));
    assert!(storage.sync_dir().is_err());
    drop(storage.create("c").unwrap());
    storage.rename("b", "d").unwrap();
    storage.sync_dir().unwrap();
    storage.sync_dir().unwrap();
    assert_eq!(name_outcomes(&storage), set(["a c", "a b c", "a c d"]));
}

#[test]
fn the_lock_excludes_and_ends_with_its_holder_and_the_machine() {
    let storage = SimStorage::new();
    let taken = |mode| storage.lock("LOCK", mode).map_err(|error| error.kind());
    let held = taken(LockMode::Exclusive).unwrap();
    for mode in [LockMode::Exclusive, LockMode::Shared] {
        assert_eq!(taken(mode).unwrap_err(), io::ErrorKind::WouldBlock);
    }
    assert!(storage.crash_image(CrashKind::Everything).lock("LOCK", LockMode::Exclusive).is_ok());
    drop(held);
    let (first, second) = (taken(LockMode::Shared).unwrap(), taken(LockMode::Shared).unwrap());
    drop(first);
    assert_eq!(taken(LockMode::Exclusive).unwrap_err(), io::ErrorKind::WouldBlock);
    drop(second);
    assert!(taken(LockMode::Exclusive).is_ok());
    assert_eq!(storage.names(), ["LOCK"]);
}

#[test]
fn images_share_what_they_do_not_change() {
    let storage = SimStorage::new();
    let mut file = durable(&storage, "a", &[1; 5000]);
    let image = |kind| Arc::clone(&storage.files_after(kind)["a"]);
    assert!(Arc::ptr_eq(&image(CrashKind::Everything), &image(CrashKind::Random { seed: 3 })));
    let before = image(CrashKind::Everything);
    file.write_all(b"more").unwrap();
    assert_eq!(*before, vec![1; 5000]);
}
