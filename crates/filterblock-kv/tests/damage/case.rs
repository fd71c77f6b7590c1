//! A change of a store's files, its outcome, and the counts of many.

use crate::extent::by_extent;
use crate::layout::Kind;
use crate::sim::{OperationKind, SimStorage};
use crate::state::{Asked, assert_typed};
use crate::stores::Sample;
use filterblock_kv::{Storage, Store};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// One case in this many is tried.
pub(crate) fn spacing() -> usize {
    by_extent(23, 1, 1)
}

/// One case in this many is compacted, opened again and opened for reading too.
const MORE_EACH: u64 = 16;

/// The outcome of a change, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Every answer is right, without a warning.
    Right,
    /// Every answer is right, with a warning of an unusable filter.
    Warned,
    /// The state of this number, before the last records of a log without a seal.
    Earlier(usize),
    /// The store opens; some answers are typed errors, the others right.
    Partial,
    /// Opening fails with a typed error, and nothing in the directory has changed.
    Refused,
}

/// Files and their new contents; `None` removes one.
pub(crate) type Changes = Vec<(String, Option<Vec<u8>>)>;

/// Tries changes and counts their outcomes.
pub(crate) struct Trial<'a> {
    pub(crate) sample: &'a Sample,
    counts: BTreeMap<(&'static str, Kind, Outcome), u64>,
    num_cases: u64,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        Self { sample, counts: BTreeMap::new(), num_cases: 0 }
    }

    /// Makes changes, described by `what` and `kind`, to a copy of the store, and returns their outcome.
    pub(crate) fn run(
        &mut self,
        what: &'static str,
        kind: Kind,
        changes: &Changes,
        place: &dyn Fn() -> String,
    ) -> Outcome {
        self.num_cases += 1;
        let asked_more = self.num_cases % MORE_EACH == 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| outcome(self.sample, changes, asked_more)));
        let outcome = outcome.unwrap_or_else(|panic| {
            let files: Vec<&str> = changes.iter().map(|(name, _)| name.as_str()).collect();
            eprintln!("the case: {what} {files:?} {}", place());
            resume_unwind(panic)
        });
        // Earlier states were compared already and are counted together.
        let counted = if let Outcome::Earlier(_) = outcome { Outcome::Earlier(0) } else { outcome };
        *self.counts.entry((what, kind, counted)).or_default() += 1;
        outcome
    }

    /// As [`Trial::run`], with a known outcome.
    pub(crate) fn expect(
        &mut self,
        what: &'static str,
        kind: Kind,
        changes: &Changes,
        expected: Outcome,
        place: &dyn Fn() -> String,
    ) {
        let found = self.run(what, kind, changes, place);
        assert_eq!(found, expected, "{what} {} {}", changes[0].0, place());
    }

    /// Prints the counts and returns how many cases there were.
    pub(crate) fn report(&self, name: &str) -> u64 {
        for ((what, kind, outcome), count) in &self.counts {
            let outcome = if let Outcome::Earlier(_) = outcome { "Earlier".to_owned() } else { format!("{outcome:?}") };
            println!("{name}: {what:<28} {:<9} {outcome:<8} {count:>7}", format!("{kind:?}"));
        }
        println!("counted: {name}: {} changed files, each outcome the one that its place demands", self.num_cases);
        assert_eq!(self.counts.values().sum::<u64>(), self.num_cases);
        self.num_cases
    }

    /// The number of cases with this outcome.
    pub(crate) fn count(&self, what: &str, outcome: Outcome) -> u64 {
        let of = |&(&(this, _, that), _): &(&(&str, Kind, Outcome), _)| this == what && that == outcome;
        self.counts.iter().filter(of).map(|(_, count)| count).sum()
    }
}

fn changed(sample: &Sample, changes: &Changes) -> SimStorage {
    let storage = sample.image();
    for (name, bytes) in changes {
        match bytes {
            Some(bytes) => storage.replace(name, bytes.clone()),
            None => storage.remove(name).unwrap(),
        }
    }
    storage
}

fn outcome(sample: &Sample, changes: &Changes, asked_more: bool) -> Outcome {
    let storage = changed(sample, changes);
    let (outcome, store) = open_and_ask(sample, &storage, false);
    if asked_more {
        let read_only = open_and_ask(sample, &changed(sample, changes), true).0;
        // For reading it opens without a table that cannot be read.
        let is_without = (outcome, read_only) == (Outcome::Refused, Outcome::Partial)
            && changes.iter().any(|(name, _)| Kind::of(name) == Some(Kind::Table));
        assert!(read_only == outcome || is_without, "{outcome:?}, opened for reading {read_only:?}");
        if let Some(store) = store {
            ask_more(sample, outcome, store, &storage);
        }
    }
    outcome
}

/// Opens a store and asks it for everything. A store that does not open, or is opened for reading, must stay unchanged.
fn open_and_ask(sample: &Sample, storage: &SimStorage, is_read_only: bool) -> (Outcome, Option<Store>) {
    let (names, num_before) = (storage.names(), storage.log().len());
    let assert_untouched = || {
        let log = storage.log();
        assert!(log[num_before..].iter().all(|operation| operation.kind == OperationKind::Lock), "{log:?}");
        let mut now = storage.names();
        now.retain(|name| name != "LOCK" || names.contains(name));
        assert_eq!(now, names);
    };
    let store = match Store::open(Arc::new(storage.clone()), sample.options.clone().with_read_only(is_read_only)) {
        Ok(store) => store,
        Err(error) => {
            assert_typed(&error);
            assert_untouched();
            return (Outcome::Refused, None);
        }
    };
    let last = sample.states.len() - 1;
    let found: Result<Vec<_>, _> = store.scan(..).collect();
    // Where a table cannot be read, answers from the others identify the state.
    let is_found = |number: &usize| found.as_ref().is_ok_and(|found| sample.states[*number].all() == found);
    let state = if found.is_err() { last } else { (0..=last).rfind(is_found).expect("one of the states") };
    let asked = sample.states[state].ask(&store);
    if is_read_only {
        assert_untouched();
    }
    let outcome = match (asked.errors, state) {
        (1.., _) => Outcome::Partial,
        (0, state) if state < last => Outcome::Earlier(state),
        _ if !store.warnings().is_empty() => Outcome::Warned,
        _ => Outcome::Right,
    };
    (outcome, Some(store))
}

/// Answers stay the same after compaction and after reopening. A table that cannot be read is not compacted away, but
/// it may have nothing to be merged with.
fn ask_more(sample: &Sample, outcome: Outcome, store: Store, storage: &SimStorage) {
    let state = match outcome {
        Outcome::Earlier(state) => &sample.states[state],
        _ => &sample.states[sample.states.len() - 1],
    };
    let is_partial = outcome == Outcome::Partial;
    let ask = |store: &Store| {
        let Asked { errors, .. } = state.ask(store);
        assert_eq!(errors > 0, is_partial, "asked again");
    };
    let compacted = store.compact();
    assert!(is_partial || compacted.is_ok(), "{compacted:?}");
    compacted.err().iter().for_each(assert_typed);
    ask(&store);
    store.close().unwrap();
    let store = Store::open(Arc::new(storage.clone()), sample.options.clone()).unwrap();
    ask(&store);
    assert!(is_partial || store.warnings().is_empty(), "compaction has written new filters");
}
