//! Every kind of fault at every operation of a workload, once and from then on.

use crate::model::{State, applied, ask_everything, check_filters, check_ledger, contents, write};
use crate::plan::{FaultPlan, first_seed, report};
use crate::sim::{CrashKind, Fault, FaultKind, Operation, OperationKind, SimStorage};
use crate::workload::{Batch, Step, options, steps, steps_of_every_kind};
use filterblock_kv::{Durability, Error, Store, StoreOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

const KINDS: [FaultKind; 6] = [
    FaultKind::Io,
    FaultKind::NoSpace,
    FaultKind::Interrupted,
    FaultKind::Short { bytes_max: 1 },
    FaultKind::Short { bytes_max: 700 },
    FaultKind::FailedSync,
];

/// Verifying the filters takes longer than the rest of a trial.
const TRIALS_PER_VERIFICATION: u64 = 16;

#[derive(Debug, Default)]
struct Counts {
    /// Runs of a workload, each with its own fault.
    trials: u64,
    trials_by_kind: BTreeMap<FaultKind, u64>,
    /// Operations with an injected fault: many in a trial with a persistent one.
    injected: u64,
    /// Power losses after a fault.
    images: u64,
}

pub(crate) fn run(plan: &FaultPlan, durability: Durability) {
    let mut counts = Counts::default();
    for seed in (first_seed()..).take(plan.num_workloads) {
        let workload = Workload::new(plan, seed, durability);
        let operations = workload.operations();
        for operation in &operations {
            for strike in strikes(operation) {
                Trial::new(&workload, operation, strike).run(&mut counts);
            }
        }
    }
    let Counts { trials, trials_by_kind, injected, images, .. } = &counts;
    report(&format!(
        "faults, {durability:?}: {trials} trials, {injected} faults, {images} crashes after them, nothing lost; {trials_by_kind:?}"
    ));
    assert!(counts.trials >= plan.num_trials_min, "{counts:?} of {plan:?}");
    assert!(KINDS.iter().all(|kind| counts.trials_by_kind[kind] > 0), "{counts:?}");
}

/// The fault of an operation, and of those after it.
#[derive(Clone, Debug)]
struct Strike {
    kind: FaultKind,
    faults: Vec<Fault>,
    once: bool,
}

/// All faults that an operation can have.
fn strikes(operation: &Operation) -> Vec<Strike> {
    let at = operation.number;
    let mut strikes = Vec::new();
    for kind in KINDS.into_iter().filter(|kind| kind.applies_to(operation.kind)) {
        strikes.push(Strike { kind, faults: vec![Fault::once(kind, at)], once: true });
        // Persistent transfers of single bytes take too long; those of a page in a few pieces are short too.
        if kind != (FaultKind::Short { bytes_max: 1 }) {
            strikes.push(Strike { kind, faults: vec![Fault::persistent(kind, at)], once: false });
        }
    }
    if operation.kind == OperationKind::Write {
        // The disk takes the first bytes only: a part of a record remains.
        let short = Fault::once(FaultKind::Short { bytes_max: 30 }, at);
        for kind in [FaultKind::Io, FaultKind::NoSpace] {
            strikes.push(Strike { kind, faults: vec![short, Fault::once(kind, at + 1)], once: true });
            strikes.push(Strike { kind, faults: vec![short, Fault::persistent(kind, at + 1)], once: false });
        }
    }
    strikes
}

/// A store in some state, and the steps to run on it.
struct Workload {
    seed: u64,
    durability: Durability,
    options: StoreOptions,
    storage: SimStorage,
    state: State,
    steps: Vec<Step>,
}

impl Workload {
    fn new(plan: &FaultPlan, seed: u64, durability: Durability) -> Self {
        let options = options(seed, durability);
        let mut storage = SimStorage::new();
        let store = Store::open(Arc::new(storage.clone()), options.clone()).unwrap();
        let mut state = State::new();
        for step in steps(seed, plan.num_steps_before) {
            match step {
                Step::Write(batch) => {
                    state = applied(&state, &batch);
                    write(&store, &batch).unwrap();
                }
                Step::Compact => store.compact().unwrap(),
                _ => {}
            }
        }
        // Half of the workloads begin with a recovery.
        if seed % 2 == 0 {
            storage = storage.crash_image(CrashKind::Random { seed });
            let copy = storage.crash_image(CrashKind::Everything);
            state = contents(&Store::open(Arc::new(copy), options.clone()).unwrap()).unwrap();
        }
        drop(store);
        Self { seed, durability, options, storage, state, steps: steps_of_every_kind(seed) }
    }

    /// A storage to run it on.
    fn start(&self) -> SimStorage {
        self.storage.crash_image(CrashKind::Everything)
    }

    /// The operations of a run without faults.
    fn operations(&self) -> Vec<Operation> {
        let storage = self.start();
        let operations = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&operations);
        storage.on_operation(move |_, operation| sink.lock().unwrap().push(operation.clone()));
        let none =
            Operation { number: 0, kind: OperationKind::List, file: String::new(), to: String::new(), fault: None };
        let mut trial = Trial::new(self, &none, Strike { kind: FaultKind::Io, faults: Vec::new(), once: true });
        trial.storage = storage.clone();
        trial.run_steps();
        assert_eq!(trial.errors, Vec::<String>::new(), "seed {}", self.seed);
        storage.on_operation(|_, _| {});
        std::mem::take(&mut operations.lock().unwrap())
    }
}

/// A run of a workload with a fault.
struct Trial<'a> {
    workload: &'a Workload,
    operation: &'a Operation,
    strike: Strike,
    storage: SimStorage,
    store: Option<Store>,
    /// What readers must see: every acknowledged write.
    visible: State,
    /// The state when the store was opened last, and the batches since then, with whether they were acknowledged.
    opened: State,
    since: Vec<(Batch, bool)>,
    /// The number of these that must survive a crash.
    durable: usize,
    step: String,
    errors: Vec<String>,
}

impl<'a> Trial<'a> {
    fn new(workload: &'a Workload, operation: &'a Operation, strike: Strike) -> Self {
        Self {
            workload,
            operation,
            strike,
            storage: workload.start(),
            store: None,
            visible: workload.state.clone(),
            opened: workload.state.clone(),
            since: Vec::new(),
            durable: 0,
            step: String::new(),
            errors: Vec::new(),
        }
    }

    fn at(&self) -> String {
        let Self { workload: Workload { seed, durability, .. }, operation, strike, step, errors, .. } = self;
        format!(
            "seed {seed}, {durability:?}, {strike:?} at operation {operation}, step {step}, errors so far {errors:?}"
        )
    }

    fn run(mut self, counts: &mut Counts) {
        self.strike.faults.iter().for_each(|&fault| self.storage.inject(fault));
        self.run_steps();
        let injected = self.storage.num_injected();
        if injected == 0 {
            // The transfer has too few bytes to be short.
            assert!(matches!(self.strike.kind, FaultKind::Short { .. }), "not injected: {}", self.at());
            return;
        }
        counts.trials += 1;
        *counts.trials_by_kind.entry(self.strike.kind).or_default() += 1;
        counts.injected += injected;
        self.storage.lift_faults();
        self.check_errors();
        self.step = "faults lifted".to_owned();
        if let Some(store) = &self.store {
            self.expect(ask_everything(store, &self.visible, &|| self.at()));
            check_ledger(store, true, &|| self.at());
        }
        self.check_crashes(counts);
        self.check_reopened(counts.trials);
    }

    fn run_steps(&mut self) {
        let workload = self.workload;
        for (i, step) in workload.steps.iter().enumerate() {
            self.step = format!("{i} {}", step.describe());
            if self.store.is_none() && !self.open() {
                continue;
            }
            let done = self.perform(step);
            self.note(done);
        }
    }

    /// Opens the store and checks that every acknowledged write is there.
    fn open(&mut self) -> bool {
        match Store::open(Arc::new(self.storage.clone()), self.workload.options.clone()) {
            Ok(store) => {
                let found = contents(&store);
                self.store = Some(store);
                match found {
                    Ok(found) => self.begin_again(found),
                    Err(error) => {
                        // It is then unknown which failed writes were made after all, which is not tested here.
                        self.note(Err(error));
                        self.store = None;
                    }
                }
            }
            Err(error) => self.note(Err(error)),
        }
        self.store.is_some()
    }

    /// Continues with the state in which the store was opened: all acknowledged writes, as the machine did not crash,
    /// and possibly some others.
    fn begin_again(&mut self, found: State) {
        assert!(self.outcomes(self.since.len()).contains(&found), "not what was written: {}", self.at());
        self.visible = found.clone();
        self.opened = found;
        self.since.clear();
        self.durable = 0;
    }

    fn perform(&mut self, step: &Step) -> Result<(), Error> {
        let Some(store) = &self.store else { return Ok(()) };
        let done = match step {
            Step::Write(batch) => {
                let done = write(store, batch);
                if done.is_ok() {
                    self.visible = applied(&self.visible, batch);
                }
                self.since.push((batch.clone(), done.is_ok()));
                if self.workload.durability == Durability::Always && done.is_ok() {
                    self.durable = self.since.len();
                }
                done
            }
            Step::Sync => store.sync(),
            Step::Flush => store.flush(),
            Step::Compact => store.compact(),
            Step::Settle => store.settle(),
            Step::RebuildFilters(options) => store.rebuild_filters(options).map(drop),
            Step::Read => ask_everything(store, &self.visible, &|| self.at()),
            Step::Hold | Step::Release => Ok(()),
            Step::Reopen { .. } => {
                let closed = self.store.take().map_or(Ok(()), Store::close);
                if closed.is_ok() {
                    self.durable = self.since.len();
                }
                self.open();
                closed
            }
        };
        if done.is_ok() && matches!(step, Step::Sync | Step::Flush | Step::Compact) {
            self.durable = self.since.len();
        }
        done
    }

    fn note(&mut self, done: Result<(), Error>) {
        if let Err(error) = done {
            let typed = matches!(error, Error::Io { .. } | Error::Poisoned | Error::Stalled { .. });
            assert!(typed, "a fault of the storage reported as something else: {error}: {}", self.at());
            self.errors.push(format!("{}: {error}", self.step));
        }
    }

    fn expect<T>(&self, done: Result<T, Error>) -> T {
        done.unwrap_or_else(|error| panic!("{error}: {}", self.at()))
    }

    /// Checks how many steps failed because of one fault.
    fn check_errors(&self) {
        let transparent = matches!(self.strike.kind, FaultKind::Interrupted | FaultKind::Short { .. });
        assert!(!transparent || self.errors.is_empty(), "not retried: {}", self.at());
        let of_manifest = self.operation.file.starts_with("MANIFEST");
        let poisons = match self.operation.kind {
            OperationKind::Sync | OperationKind::SyncDir | OperationKind::Rename => true,
            OperationKind::Create | OperationKind::Write | OperationKind::Remove => of_manifest,
            _ => false,
        };
        assert!(!self.strike.once || poisons || self.errors.len() <= 1, "one fault, several errors: {}", self.at());
    }

    /// The possible states of the store if at least the first `kept` batches survive, and all acknowledged ones among
    /// them.
    fn outcomes(&self, kept: usize) -> BTreeSet<State> {
        let mut possible = BTreeSet::from([self.opened.clone()]);
        let mut outcomes = BTreeSet::new();
        for (i, (batch, acknowledged)) in self.since.iter().enumerate() {
            if i >= kept {
                outcomes.extend(possible.iter().cloned());
            }
            let with: Vec<State> = possible.iter().map(|state| applied(state, batch)).collect();
            if *acknowledged {
                possible.clear();
            }
            possible.extend(with);
        }
        outcomes.extend(possible);
        outcomes
    }

    /// Power loss after the fault.
    fn check_crashes(&self, counts: &mut Counts) {
        let log = self.storage.log();
        let doubt = log.iter().position(|operation| {
            operation.kind == OperationKind::SyncDir && operation.fault == Some(FaultKind::FailedSync)
        });
        // After a failed sync of the directory, no later one is reliable: only the store that saw the failure, and
        // takes no more writes, can guarantee anything.
        let reopened = doubt.is_some_and(|at| log[at..].iter().any(|operation| operation.kind == OperationKind::Lock));
        if reopened {
            return;
        }
        let allowed = self.outcomes(self.durable);
        let random = CrashKind::Random { seed: self.operation.number };
        for kind in [CrashKind::NothingUnsynced, random] {
            counts.images += 1;
            let storage = self.storage.crash_image(kind);
            let at = || format!("crash, {kind}: {}", self.at());
            let store = Store::open(Arc::new(storage), self.workload.options.clone())
                .unwrap_or_else(|error| panic!("cannot be recovered: {error}: {}", at()));
            let found = contents(&store).unwrap_or_else(|error| panic!("{error}: {}", at()));
            assert!(allowed.contains(&found), "not what was durable: {}", at());
        }
    }

    /// The store opens and works again.
    fn check_reopened(mut self, num_trials: u64) {
        drop(self.store.take());
        let storage = Arc::new(self.storage.clone());
        let store = self.expect(Store::open(storage.clone(), self.workload.options.clone()));
        let found = self.expect(contents(&store));
        assert!(self.outcomes(self.since.len()).contains(&found), "not what was written: {}", self.at());
        self.expect(ask_everything(&store, &found, &|| self.at()));
        check_ledger(&store, false, &|| self.at());
        if num_trials % TRIALS_PER_VERIFICATION == 0 {
            check_filters(&store, &|| self.at());
        }
        self.expect(store.put(b"after", b"", b"the fault"));
        self.expect(store.close());
        let store = self.expect(Store::open(storage, self.workload.options.clone()));
        assert_eq!(self.expect(store.get(b"after", b"")).as_deref(), Some(&b"the fault"[..]));
    }
}
