//! `kill -9` on the real file system: a process that writes a store is killed at a random moment, the store is opened
//! again, and so on in the same directory.
//!
//! A kill loses nothing that was passed to the operating system. So, with every value of `--sync`, every acknowledged
//! write must survive, and of the others at most the one in progress, as a whole. A power loss loses more; that is
//! simulated elsewhere.

mod process;
mod stream;

use filterblock_kv::{Durability, Error, Store, StoreOptions};
use process::{Ended, Moment};
use std::path::Path;
use std::time::Duration;
use stream::{Cells, Stream};
use testkit::extent::by_extent;
use testkit::random::Random;

/// Kills in all, a third of them with each setting of `--sync`.
fn num_kills() -> u64 {
    by_extent(20, 200, 200)
}

/// A small limit, so that tables are flushed and merged all the time.
const SIZES: &str = "--memtable-bytes 16KiB";

/// The runs of one directory, one process after the other.
struct Ordeal<'a> {
    dir: &'a Path,
    sync: &'static str,
    /// Acknowledged cells before a kill are fewer than this.
    max_acks: u64,
    random: Random,
    stream: Stream,
    /// Writes of the stream that are in the store.
    written: u64,
    cells: Cells,
    tally: Tally,
    num_processes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    kills: u64,
    /// Kills at any moment from the start on, without waiting for an acknowledgement.
    early: u64,
    of_rebuilds: u64,
    /// Kills after the end of the input, while tables were flushed and merged.
    of_ends: u64,
    acknowledged: u64,
    /// Kills that the write in progress survived.
    in_flight: u64,
    /// Keys for which filters were probed, none of them denied.
    keys_asked: u64,
    tables: u64,
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let settings = [("always", 30), ("interval:2", 500), ("never", 500)];
    let each = num_kills().div_ceil(settings.len() as u64);
    let mut tallies: Vec<Tally> = Vec::new();
    // One after the other: a process that is being started holds this one's open files, with their locks, until it runs
    // its own program.
    for (seed, (sync, max_acks)) in (1..).zip(settings) {
        let left = num_kills() - tallies.iter().map(|tally| tally.kills).sum::<u64>();
        tallies.push(run(seed, sync, max_acks, each.min(left)));
    }
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    println!(
        "counted: {} kills ({} without waiting, {} at the end, {} of rebuilds): {} cells acknowledged and found",
        sum(|tally| tally.kills),
        sum(|tally| tally.early),
        sum(|tally| tally.of_ends),
        sum(|tally| tally.of_rebuilds),
        sum(|tally| tally.acknowledged),
    );
    assert_eq!(sum(|tally| tally.kills), num_kills());
    for (what, count) in [
        ("kills without waiting", sum(|tally| tally.early)),
        ("cells acknowledged", sum(|tally| tally.acknowledged)),
        ("keys that filters were asked", sum(|tally| tally.keys_asked)),
        ("tables", sum(|tally| tally.tables)),
    ] {
        assert!(count > num_kills() / 10, "{what}: {count}");
    }
    // One process in eight, of which the smallest plan has too few to end one.
    assert!(sum(|tally| tally.of_rebuilds) >= num_kills() / 40, "kills of rebuilds");
}

fn run(seed: u64, sync: &'static str, max_acks: u64, kills: u64) -> Tally {
    let place = tempfile::tempdir().unwrap();
    let (random, stream) = (Random::new(seed), Stream { seed });
    let (written, cells, tally) = (0, Cells::new(), Tally::default());
    let dir = &place.path().join("store");
    let mut ordeal = Ordeal { dir, sync, max_acks, random, stream, written, cells, tally, num_processes: 0 };
    // Some processes end before they are killed.
    for _ in 0..4 * kills {
        if ordeal.tally.kills < kills {
            ordeal.one_process();
        }
    }
    println!("--sync {sync}: {:?}, {} cells in the end", ordeal.tally, ordeal.cells.len());
    ordeal.tally
}

impl Ordeal<'_> {
    fn one_process(&mut self) {
        let delay = Duration::from_micros(self.random.below(4000));
        // The first of them while it creates the store, the others while they recover it.
        let is_early = self.num_processes % 6 == 0;
        self.num_processes += 1;
        if self.num_processes % 8 == 0 {
            let options = ["--random-seed", "--kind golomb", "--kind ribbon", "--kind bloom --bits-per-key 12", ""];
            let options = self.random.of(&options);
            let ended = process::rebuild(self.dir, options, delay * 8);
            self.tally.of_rebuilds += u64::from(ended.killed);
            self.check(&ended, 0, 0);
            return;
        }
        let cells_per_write = *self.random.of(&[1, 1, 5, 40]);
        let acks = if is_early { 0 } else { 1 + self.random.below(self.max_acks) };
        let writes = acks.div_ceil(cells_per_write) + self.random.below(20);
        let supplied = writes * cells_per_write;
        let ends = !is_early && self.random.one_in(5);
        let moment =
            Moment { acks: if ends { supplied } else { acks }, delay: if acks == 0 { delay * 8 } else { delay } };
        let compact = if ends && self.random.one_in(2) { "--merge" } else { "" };
        let options = format!("- --ack {cells_per_write} --sync {} {SIZES} {compact}", self.sync);
        let lines = self.stream.lines(self.written..self.written + supplied);
        let ended = process::fill(self.dir, &options, lines, ends, &moment);
        assert!(ended.acknowledged >= moment.acks && ended.acknowledged <= supplied);
        self.tally.early += u64::from(is_early && ended.killed);
        self.tally.of_ends += u64::from(ends && ended.killed);
        self.check(&ended, cells_per_write, supplied);
    }

    /// Opens the store and checks that it has what was acknowledged, or one write more.
    fn check(&mut self, ended: &Ended, cells_per_write: u64, supplied: u64) {
        self.tally.kills += u64::from(ended.killed);
        self.tally.acknowledged += ended.acknowledged;
        let acknowledged_end = self.written + ended.acknowledged;
        let most_end = (acknowledged_end + cells_per_write).min(self.written + supplied);
        self.stream.apply(self.written..acknowledged_end, &mut self.cells);
        self.written = acknowledged_end;
        let found = self.open_and_verify();
        if found == self.cells {
            return;
        }
        let mut more = self.cells.clone();
        self.stream.apply(acknowledged_end..most_end, &mut more);
        assert!(
            found == more && ended.killed,
            "--sync {}: {} cells found, {} expected, of which {} differ; writes up to {acknowledged_end} were acknowledged",
            self.sync,
            found.len(),
            self.cells.len(),
            self.cells.iter().filter(|(key, value)| found.get(*key) != Some(*value)).count()
        );
        (self.cells, self.written) = (more, most_end);
        self.tally.in_flight += 1;
    }

    /// All cells, by scanning. Half of the time the store is only read, and the next process has to recover it.
    fn open_and_verify(&mut self) -> Cells {
        let read_only = self.random.one_in(2);
        let options =
            StoreOptions::default().with_durability(Durability::Never).with_read_only(read_only).with_create(false);
        let store = match Store::open_dir(self.dir, options) {
            Ok(store) => store,
            // Killed before the store was created.
            Err(Error::NoStore) if self.written == 0 => return Cells::new(),
            Err(error) => panic!("--sync {}: after {} kills: {error}", self.sync, self.tally.kills),
        };
        let cells: Cells = store.scan(..).map(|cell| cell.unwrap()).map(|c| ((c.row, c.column), c.value)).collect();
        for ((row, column), value) in &cells {
            assert_eq!(store.get(row, column).unwrap().as_ref(), Some(value));
        }
        let report = store.verify();
        assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
        assert_eq!(report.false_negatives(), 0);
        assert!(report.tables.iter().all(|table| table.unusable.is_empty()));
        assert_eq!(store.warnings(), []);
        assert_eq!(store.ledger().check(), Ok(()));
        self.tally.keys_asked += report.filters().map(|filter| filter.present_asked).sum::<u64>();
        self.tally.tables = report.tables.len() as u64;
        cells
    }
}
