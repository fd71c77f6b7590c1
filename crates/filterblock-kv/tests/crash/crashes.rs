//! Power loss after every operation, and again during recovery.

use crate::model::{State, applied, ask_everything, check_filters, check_ledger, contents, snapshot_contents, write};
use crate::plan::{CrashPlan, first_seed, report};
use crate::sim::{CrashImage, CrashKind, SimStorage};
use crate::workload::{Step, options, steps};
use filterblock_kv::{Durability, Error, Snapshot, Store, StoreOptions};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

/// Images of a crash after one operation.
struct Point {
    operation: String,
    images: Vec<CrashImage>,
}

type Points = Arc<Mutex<Vec<Point>>>;

/// Makes images after every operation that changes something.
fn record(storage: &SimStorage, seed: u64, images_per_operation: usize) -> Points {
    let points = Points::default();
    let sink = Arc::clone(&points);
    storage.on_operation(move |storage, operation| {
        if operation.kind.changes() {
            let images = storage.crash_images(seed ^ operation.number, images_per_operation);
            let operation = format!("{} {operation}", operation.number);
            sink.lock().unwrap().push(Point { operation, images });
        }
    });
    points
}

#[derive(Debug, Default)]
struct Counts {
    operations: u64,
    images: u64,
    recoveries: u64,
    second_crashes: u64,
    /// The deepest level that had a table.
    deepest_level: usize,
    tables_written: usize,
}

pub(crate) fn run(plan: &CrashPlan, durability: Durability) {
    let mut counts = Counts::default();
    for seed in (first_seed()..).take(plan.num_workloads) {
        Run::new(plan, seed, durability, &mut counts).run(&steps(seed, plan.num_steps));
    }
    let Counts { operations, images, recoveries, second_crashes, deepest_level, tables_written } = counts;
    report(&format!(
        "crashes, {durability:?}: {images} images after {operations} operations, {second_crashes} crashes of recoveries, \
         {recoveries} recoveries, {tables_written} tables, down to level {deepest_level}, nothing lost"
    ));
    assert!(counts.images >= plan.num_images_min, "{counts:?} of {plan:?}");
    assert!(counts.deepest_level >= plan.deepest_level_min, "{counts:?} of {plan:?}");
    assert!(counts.second_crashes >= plan.num_second_crashes_min, "{counts:?} of {plan:?}");
}

/// Runs a workload twice and compares all operations on the storage.
pub(crate) fn check_that_seeds_decide(durability: Durability) {
    let log = || {
        let storage = SimStorage::new();
        let mut store = Store::open(Arc::new(storage.clone()), options(first_seed(), durability)).unwrap();
        for step in steps(first_seed(), 100) {
            match step {
                Step::Write(batch) => write(&store, &batch).unwrap(),
                Step::Compact => store.compact().unwrap(),
                Step::Reopen { .. } => {
                    store.close().unwrap();
                    store = Store::open(Arc::new(storage.clone()), options(first_seed(), durability)).unwrap();
                }
                _ => {}
            }
        }
        drop(store);
        let files: Vec<_> = storage.names().iter().map(|name| storage.contents(name)).collect();
        (storage.log(), files)
    };
    let (first, second) = (log(), log());
    assert!(first.0.len() > 200, "{} operations", first.0.len());
    assert!(first == second, "the same seed, but other operations or bytes");
}

/// One workload.
struct Run<'a> {
    plan: &'a CrashPlan,
    seed: u64,
    durability: Durability,
    options: StoreOptions,
    storage: SimStorage,
    points: Points,
    /// The state after each batch, the empty one first.
    history: Vec<State>,
    /// The last of them that must survive a crash.
    durable: usize,
    step: String,
    counts: &'a mut Counts,
}

impl<'a> Run<'a> {
    fn new(plan: &'a CrashPlan, seed: u64, durability: Durability, counts: &'a mut Counts) -> Self {
        let storage = SimStorage::new();
        let points = record(&storage, seed << 32, plan.images_per_operation);
        let options = options(seed, durability);
        let (history, step) = (vec![State::new()], "open".to_owned());
        Self { plan, seed, durability, options, storage, points, history, durable: 0, step, counts }
    }

    fn run(mut self, steps: &[Step]) {
        let mut store = Some(self.open(&self.storage));
        self.check_points();
        let mut held = None;
        let mut deepest = 0;
        for (i, step) in steps.iter().enumerate() {
            self.step = format!("{i} {}", step.describe());
            if let Step::Write(batch) = step {
                // In progress from here on: it may survive a crash.
                self.history.push(applied(&self.history[self.history.len() - 1], batch));
            }
            self.perform(step, &mut store, &mut held);
            deepest = deepest.max(store.as_ref().map_or(0, deepest_level));
            self.check_points();
            let syncs = matches!(step, Step::Sync | Step::Flush | Step::Compact | Step::Reopen { .. });
            if syncs || self.durability == Durability::Always {
                self.durable = self.history.len() - 1;
            }
            // Acknowledged: from here on it must survive.
            let images = self.storage.crash_images(self.seed ^ i as u64, self.plan.images_per_operation);
            let operation = "(after the step)".to_owned();
            self.points.lock().unwrap().push(Point { operation, images });
            self.check_points();
        }
        self.counts.operations += self.storage.num_operations();
        self.counts.deepest_level = self.counts.deepest_level.max(deepest);
        let log = self.storage.log();
        self.counts.tables_written += log.iter().filter(|operation| operation.to.ends_with(".sst")).count();
    }

    fn open(&self, storage: &SimStorage) -> Store {
        Store::open(Arc::new(storage.clone()), self.options.clone())
            .unwrap_or_else(|error| panic!("{error}: {}", self.at()))
    }

    /// Where the run is, for messages.
    fn at(&self) -> String {
        format!("seed {}, {:?}, step {}", self.seed, self.durability, self.step)
    }

    fn perform(&self, step: &Step, store: &mut Option<Store>, held: &mut Option<(Snapshot, State)>) {
        let state = &self.history[self.history.len() - 1];
        let of = store.as_ref().unwrap();
        let done = match step {
            Step::Write(batch) => write(of, batch),
            Step::Sync => of.sync(),
            Step::Flush => of.flush(),
            Step::Compact => of.compact(),
            Step::Settle => of.settle(),
            Step::RebuildFilters(options) => of.rebuild_filters(options).map(drop),
            Step::Read => ask_everything(of, state, &|| self.at()),
            Step::Hold => {
                *held = Some((of.snapshot(), state.clone()));
                Ok(())
            }
            Step::Release => Ok(()),
            Step::Reopen { close } => {
                // Readers hold the lock.
                self.release(held);
                let store_to_end = store.take().unwrap();
                let closed = if *close {
                    store_to_end.close()
                } else {
                    drop(store_to_end);
                    Ok(())
                };
                *store = Some(self.open(&self.storage));
                closed
            }
        };
        done.unwrap_or_else(|error| panic!("{error}: {}", self.at()));
        if matches!(step, Step::Release) {
            self.release(held);
        }
        let found = store.as_ref().map(contents).unwrap().unwrap_or_else(|error| panic!("{error}: {}", self.at()));
        assert!(found == *state, "wrong without a crash: {}", self.at());
    }

    fn release(&self, held: &mut Option<(Snapshot, State)>) {
        if let Some((snapshot, state)) = held.take() {
            assert!(snapshot_contents(&snapshot).unwrap() == state, "snapshot: {}", self.at());
        }
    }

    /// Recovers the images made since the last call.
    fn check_points(&mut self) {
        let points = std::mem::take(&mut *self.points.lock().unwrap());
        for Point { operation, images } in points {
            for image in images {
                self.check_image(&operation, &image, self.durable..=self.history.len() - 1);
            }
        }
    }

    fn check_image(&mut self, operation: &str, image: &CrashImage, allowed: RangeInclusive<usize>) {
        self.counts.images += 1;
        let at = || format!("{}, operation {operation}, image {}", self.at(), image.kind);
        let again = (self.counts.images % self.plan.images_per_second_crash == 0)
            .then(|| image.storage.crash_image(CrashKind::Everything));
        let verifies = self.counts.images % self.plan.images_per_verification == 0;
        let read_only = verifies.then(|| contents_read_only(&image.storage, self.options.clone(), &at));
        let store = Store::open(Arc::new(image.storage.clone()), self.options.clone())
            .unwrap_or_else(|error| panic!("cannot be recovered: {error}: {}\n{:?}", at(), image.storage.names()));
        let found = contents(&store).unwrap_or_else(|error| panic!("{error}: {}", at()));
        if !allowed.clone().any(|i| self.history[i] == found) {
            let same: Vec<usize> = (0..self.history.len()).filter(|&i| self.history[i] == found).collect();
            panic!("recovered states {same:?} of history instead of {allowed:?}: {}", at());
        }
        ask_everything(&store, &found, &at).unwrap_or_else(|error| panic!("{error}: {}", at()));
        check_whole(&store, &image.storage, &at);
        if let Some(seen) = read_only {
            assert!(seen == found, "the contents differ when opened for reading: {}", at());
            check_filters(&store, &at);
        }
        // What one recovery found, later ones find too, after a clean shutdown or a crash.
        let after = match self.counts.images % 2 {
            0 => {
                store.close().unwrap_or_else(|error| panic!("{error}: {}", at()));
                image.storage.clone()
            }
            _ => image.storage.crash_image(CrashKind::NothingUnsynced),
        };
        let second =
            Store::open(Arc::new(after), self.options.clone()).unwrap_or_else(|error| panic!("{error}: {}", at()));
        assert!(contents(&second).unwrap() == found, "the second recovery differs: {}", at());
        drop(second);
        let at = at();
        self.counts.recoveries += 2;
        if let Some(storage) = again {
            self.crash_again(&storage, &found, &at);
        }
    }

    /// Crashes at every operation of a recovery. All recoveries must find the same.
    fn crash_again(&mut self, storage: &SimStorage, right: &State, at: &str) {
        let points = record(storage, self.seed ^ self.counts.images, self.plan.images_per_recovery_operation);
        drop(Store::open(Arc::new(storage.clone()), self.options.clone()).unwrap());
        for Point { operation, images } in std::mem::take(&mut *points.lock().unwrap()) {
            for image in images {
                let at = format!("{at}, then operation {operation} of the recovery, image {}", image.kind);
                let store = Store::open(Arc::new(image.storage), self.options.clone())
                    .unwrap_or_else(|error| panic!("cannot be recovered again: {error}: {at}"));
                assert!(contents(&store).unwrap() == *right, "recovered again, differently: {at}");
                self.counts.second_crashes += 1;
                self.counts.recoveries += 1;
            }
        }
    }
}

/// The contents of a store opened for reading, before it is recovered. This changes nothing, except that it creates the
/// lock file if that was lost in the crash.
fn contents_read_only(storage: &SimStorage, options: StoreOptions, at: &dyn Fn() -> String) -> State {
    let files = || {
        let names = storage.names().into_iter().filter(|name| name != "LOCK");
        names.map(|name| (storage.contents(&name), name)).collect::<Vec<_>>()
    };
    let before = files();
    let found = match Store::open(Arc::new(storage.clone()), options.with_read_only(true)) {
        Ok(store) => contents(&store).unwrap_or_else(|error| panic!("{error}: {}", at())),
        Err(Error::NoStore) => State::new(),
        Err(error) => panic!("cannot be read: {error}: {}", at()),
    };
    let changed = files() != before;
    assert!(!changed, "changed by opening for reading: {}", at());
    found
}

fn deepest_level(store: &Store) -> usize {
    store.stats().tables.iter().map(|table| table.level).max().unwrap_or(0)
}

/// The ledger balances, every filter is usable, and no file is left over.
fn check_whole(store: &Store, storage: &SimStorage, at: &dyn Fn() -> String) {
    check_ledger(store, false, at);
    assert!(store.warnings().is_empty(), "{:?}: {}", store.warnings(), at());
    let names = storage.names();
    let num_tables = names.iter().filter(|name| name.ends_with(".sst")).count();
    assert_eq!(num_tables, store.stats().tables.len(), "{names:?}: {}", at());
    assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{names:?}: {}", at());
}
