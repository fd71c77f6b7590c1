//! Many threads on one store in a real directory.

use crate::*;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

/// A debug build takes ten times as long, so it runs fewer rounds.
const SPARSENESS: u64 = if cfg!(debug_assertions) { 5 } else { 1 };
const NUM_WRITERS: usize = 4;
const NUM_READERS: usize = 3;
const ROWS_PER_WRITER: u64 = 500;
const ROUNDS: u64 = 40 / SPARSENESS;

fn options() -> StoreOptions {
    let policy = |kind| FilterPolicy::with_bits_per_key(kind, 10.0).unwrap();
    let options = StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(FilterKind::Blocked))
        .with_filter(Purpose::RowColumn, policy(FilterKind::Bloom))
        .with_prefix_filter(3, policy(FilterKind::Blocked))
        .with_range_filter(RangePolicy::with_bits_per_key(12.0).unwrap())
        .with_maintenance(Maintenance::Background)
        .with_cache_bytes(1 << 20);
    let [golomb, ribbon] = [FilterKind::Golomb, FilterKind::Ribbon].map(policy);
    let options = by_level(options, [(2, Purpose::RowColumn, golomb), (1, Purpose::Row, ribbon)]);
    leveled(options, 100_000, (300_000, 3), 100_000)
}

fn row(writer: usize, i: u64) -> Vec<u8> {
    format!("w{writer}/{i:05}").into_bytes()
}

/// Every round increases each row's count by one, but every seventh row exists in every other round only.
fn is_there(i: u64, round: u64) -> bool {
    i % 7 != 0 || round % 2 == 0
}

/// State that the threads share, besides the store.
#[derive(Default)]
struct Progress {
    /// The rounds that each writer has begun and ended.
    begun: [AtomicU64; NUM_WRITERS],
    ended: [AtomicU64; NUM_WRITERS],
    is_over: AtomicBool,
    num_reads: AtomicU64,
    num_snapshots: AtomicU64,
    num_rebuilt: AtomicU64,
}

fn write(store: &Store, progress: &Progress, writer: usize) {
    for round in 1..=ROUNDS {
        progress.begun[writer].store(round, SeqCst);
        for first in (0..ROWS_PER_WRITER).step_by(5) {
            let mut batch = WriteBatch::new();
            for i in first..first + 5 {
                let value = format!("{round:030}");
                match is_there(i, round) {
                    true => batch.put(&row(writer, i), b"round", value.as_bytes()).unwrap(),
                    false => batch.delete(&row(writer, i), b"round").unwrap(),
                };
            }
            store.write(batch).unwrap();
        }
        progress.ended[writer].store(round, SeqCst);
    }
}

fn round_of(value: &[u8]) -> u64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// Reads rows of all writers in some order: each value was written, is not older than the last acknowledged one, and
/// batches are whole.
fn read(store: &Store, progress: &Progress, reader: usize) {
    let mut i = reader as u64;
    // A minimum, however slow the machine is.
    while !progress.is_over.load(SeqCst) || i < 200 {
        i += 1;
        let (writer, place) = (i as usize % NUM_WRITERS, (i * 37) % ROWS_PER_WRITER);
        let lowest = progress.ended[writer].load(SeqCst);
        let found = store.get(&row(writer, place), b"round").unwrap().map(|value| round_of(&value));
        let highest = progress.begun[writer].load(SeqCst);
        match found {
            Some(round) => assert!((lowest..=highest).contains(&round), "{lowest} <= {round} <= {highest}"),
            // Not written yet, or deleted in the current round.
            None => assert!(lowest == 0 || (lowest..=highest).any(|round| !is_there(place, round)), "row {place}"),
        }
        assert_eq!(store.get(&row(writer, place), b"no such column").unwrap(), None);
        if i % 16 == 0 {
            let columns = store.get_row(&row(writer, place)).unwrap();
            assert!(columns.len() <= 1);
        }
        if i % 8 == 0 {
            scan(store, progress, writer, place);
        }
        if i % 64 == 0 {
            check_snapshot(&store.snapshot(), progress);
            progress.num_snapshots.fetch_add(1, SeqCst);
        }
        progress.num_reads.fetch_add(1, SeqCst);
    }
}

/// Scans two batches of a writer: each row that is in every round is there, and none is older than the last
/// acknowledged round. Scans between two rows find nothing.
fn scan(store: &Store, progress: &Progress, writer: usize, place: u64) {
    let (first, last) = (row(writer, place), row(writer, place + 9));
    let lowest = progress.ended[writer].load(SeqCst);
    let cells: Vec<_> = store.scan(&first[..]..=&last[..]).map(Result::unwrap).collect();
    let highest = progress.begun[writer].load(SeqCst);
    assert!(cells.iter().all(|cell| (lowest..=highest).contains(&round_of(&cell.value))), "{lowest}..={highest}");
    for i in (place..place + 10).filter(|i| lowest > 0 && i % 7 != 0 && *i < ROWS_PER_WRITER) {
        assert!(cells.iter().any(|cell| cell.row == row(writer, i)), "row {i} of writer {writer}");
    }
    let (above, below) = ([&first[..], b"!"].concat(), [&first[..], b"~"].concat());
    assert_eq!(store.scan(&above[..]..&below[..]).count(), 0);
    // All tables that have two writers deny this one, in whatever order the threads write.
    assert_eq!(store.scan_prefix(format!("w{writer}~").as_bytes()).count(), 0);
}

/// A snapshot sees each writer between two batches.
fn check_snapshot(snapshot: &Snapshot, progress: &Progress) {
    let all = |snapshot: &Snapshot| snapshot.scan(..).collect::<Result<Vec<_>, _>>().unwrap();
    let first = all(snapshot);
    for writer in 0..NUM_WRITERS {
        let prefix = format!("w{writer}/");
        let cells: Vec<_> = snapshot.scan_prefix(prefix.as_bytes()).map(Result::unwrap).collect();
        assert!(first.iter().filter(|cell| cell.row.starts_with(prefix.as_bytes())).eq(&cells));
        let rounds: Vec<u64> = cells.iter().map(|cell| round_of(&cell.value)).collect();
        let Some((&newest, &oldest)) = rounds.iter().max().zip(rounds.iter().min()) else { continue };
        assert!(newest - oldest <= 1 && newest <= progress.begun[writer].load(SeqCst));
        // Rows of the newer round come first.
        assert!(rounds.is_sorted_by(|a, b| a >= b), "a batch of the older round among those of the newer");
        let num_of_newest = rounds.iter().filter(|&&round| round == newest).count();
        let there = (0..ROWS_PER_WRITER).filter(|&i| is_there(i, newest));
        // Five rows to a batch.
        let is_whole = there.clone().nth(num_of_newest).is_none_or(|next| {
            let last = there.clone().nth(num_of_newest - 1).unwrap_or(0);
            last / 5 < next / 5
        });
        assert!(is_whole, "{num_of_newest} rows of round {newest}");
    }
    assert_eq!(all(snapshot), first, "a snapshot stays as it is");
}

fn maintain(store: &Store, progress: &Progress) {
    let mut turn = 0;
    while !progress.is_over.load(SeqCst) || turn < 8 {
        turn += 1;
        match turn % 4 {
            0 => store.compact().unwrap(),
            1 => store.flush().unwrap(),
            2 => {
                let report = store.rebuild_filters(&RebuildOptions::new().with_seed(turn)).unwrap();
                progress.num_rebuilt.fetch_add(report.tables.len() as u64, SeqCst);
            }
            _ => assert_eq!(store.verify().false_negatives(), 0),
        }
    }
}

/// The final state, on the disk and in the ledger.
fn check_end(dir: &Path, store: &Store) {
    let mut expected = (0..NUM_WRITERS).flat_map(|writer| {
        let there = (0..ROWS_PER_WRITER).filter(|&i| is_there(i, ROUNDS));
        there.map(move |i| (row(writer, i), ROUNDS))
    });
    for cell in store.scan(..) {
        let cell = cell.unwrap();
        assert_eq!(Some((cell.row, round_of(&cell.value))), expected.next());
    }
    assert_eq!(expected.next(), None);
    assert_eq!(store.ledger_report().check(), Ok(()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    let stats = store.stats();
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".flt"))
        .collect();
    names.sort_unstable();
    let count = |extension| names.iter().filter(|name| name.ends_with(extension)).count();
    // Tables, the log, the manifest and the lock.
    let num = stats.tables.len();
    assert_eq!((count(".sst"), count(".wal"), names.len()), (num, 1, num + 3), "{names:?}");
}

#[test]
fn many_threads_write_read_and_maintain_one_store() {
    run(&options());
}

/// Partitions are loaded, evicted and replaced while others read them.
#[test]
fn many_threads_use_partitions_in_a_small_cache() {
    run(&options().with_partition_bytes(256).with_cache_bytes(64 << 10));
}

fn run(options: &StoreOptions) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), options.clone()).unwrap();
    let progress = Progress::default();
    thread::scope(|scope| {
        let (store, progress) = (&store, &progress);
        let writers: Vec<_> =
            (0..NUM_WRITERS).map(|writer| scope.spawn(move || write(store, progress, writer))).collect();
        // Ends the other threads even if a writer fails.
        let others = (0..NUM_READERS).map(|reader| scope.spawn(move || read(store, progress, reader)));
        let others: Vec<_> = others.chain([scope.spawn(move || maintain(store, progress))]).collect();
        let results: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        progress.is_over.store(true, SeqCst);
        results.into_iter().chain(others.into_iter().map(thread::ScopedJoinHandle::join)).for_each(|result| {
            result.unwrap();
        });
    });
    let [num_reads, num_snapshots, num_rebuilt] =
        [&progress.num_reads, &progress.num_snapshots, &progress.num_rebuilt].map(|number| number.load(SeqCst));
    let num_writes = NUM_WRITERS as u64 * ROUNDS * ROWS_PER_WRITER;
    println!(
        "counted: {num_writes} writes, {num_reads} reads, {num_snapshots} snapshots, {num_rebuilt} tables with new filters"
    );
    assert!(num_reads >= 197 * NUM_READERS as u64 && num_snapshots >= 3 * NUM_READERS as u64 && num_rebuilt > 0);
    store.settle().unwrap();
    assert_eq!(store.ledger_report().check(), Ok(()));
    assert!(store.ledger().of(Purpose::Range).count(Outcome::Avoided) > 0, "{}", store.ledger_report());
    store.close().unwrap();
    for _ in 0..2 {
        let store = Store::open_dir(dir.path(), options.clone()).unwrap();
        check_end(dir.path(), &store);
        let flt = std::fs::read_dir(dir.path()).unwrap();
        let num_filter_files = flt.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".flt")
        });
        assert!(num_filter_files.count() <= store.stats().tables.len());
        store.compact().unwrap();
    }
}
