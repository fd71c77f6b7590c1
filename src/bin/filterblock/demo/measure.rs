//! One run: load a store, ask it, and keep everything that can be counted.

use super::data::{Dataset, random};
use super::os;
use anyhow::Context;
use filterblock::kv::{CacheBypass, DirectStorage, Ledger, Outcome, Purpose, Stats, Storage, Store, StoreOptions};
use filterblock::{FilterPolicy, KeyHasher};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fixed, so that a run can be repeated bit for bit. A store that strangers write to leaves its seed to chance.
const SEED: u64 = 0x5eed;
/// Tables that lie side by side, as compaction leaves them.
const NUM_SETTLED: u64 = 4;
/// Tables across the whole key range, as flushes leave them.
const NUM_RECENT: u64 = 2;
/// One row in so many is in a recent table.
const RECENT_SHARE: u64 = 4;
/// Questions of each sort asked before counting starts, so that the program's own pages are in memory.
const NUM_WARM_UP: usize = 100;
const DEFAULT_LOOKUPS: usize = 10_000;
const MIN_LOOKUPS: usize = 1_000;
/// What the run without filters may take on a slow disk, unless a number of lookups is asked for.
const MAX_UNFILTERED: Duration = Duration::from_secs(15);

/// A sort of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    AbsentRow,
    AbsentColumn,
    PresentCell,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::AbsentRow, Self::AbsentColumn, Self::PresentCell];

    pub(super) const fn is_absent(self) -> bool {
        !matches!(self, Self::PresentCell)
    }
}

/// Which questions every run is asked.
pub(super) struct Plan {
    lookups_asked: Option<usize>,
    lookups: Option<usize>,
}

impl Plan {
    pub(super) fn new(lookups: Option<u64>) -> Self {
        // Questions are drawn with replacement, so there may be more of them than keys.
        let lookups = lookups.map(|lookups| usize::try_from(lookups).unwrap_or(usize::MAX).max(1));
        Self { lookups_asked: lookups, lookups }
    }

    /// Questions of each sort. The first run decides, by how fast its disk is, and all runs keep to it.
    fn lookups(&mut self, warm_up: Duration) -> usize {
        *self.lookups.get_or_insert_with(|| {
            let per_lookup = warm_up.as_secs_f64() / NUM_WARM_UP as f64;
            let affordable = (MAX_UNFILTERED.as_secs_f64() / per_lookup.max(1e-9)) as usize;
            affordable.clamp(MIN_LOOKUPS, DEFAULT_LOOKUPS)
        })
    }

    pub(super) fn num_lookups(&self) -> u64 {
        self.lookups.unwrap_or(0) as u64
    }

    /// Whether fewer questions are asked than usual because the disk is slow.
    pub(super) fn is_shortened(&self) -> bool {
        self.lookups_asked.is_none() && self.lookups.is_some_and(|lookups| lookups < DEFAULT_LOOKUPS)
    }
}

/// What one sort of question came to.
pub(super) struct ClassMeasurement {
    pub(super) class: Class,
    pub(super) ledger: Ledger,
    /// One for each question, in ascending order.
    pub(super) nanos: Vec<u64>,
    pub(super) num_wrong: u64,
}

/// What one run came to.
pub(super) struct Measurement {
    pub(super) policy: Option<FilterPolicy>,
    pub(super) bypass: CacheBypass,
    pub(super) stats: Stats,
    pub(super) load: Duration,
    pub(super) classes: Vec<ClassMeasurement>,
    /// A hash over all answers in order.
    pub(super) answers: u64,
    /// What the system counted, where it does.
    pub(super) os: Option<os::Count>,
    /// The whole account, warm-up included, that did not balance.
    pub(super) imbalance: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl Measurement {
    /// The account of all counted questions.
    pub(super) fn ledger(&self) -> Ledger {
        self.classes.iter().fold(Ledger::default(), |sum, class| sum + class.ledger)
    }

    /// The account of the questions for what is not there.
    pub(super) fn absent_ledger(&self) -> Ledger {
        let absent = self.classes.iter().filter(|class| class.class.is_absent());
        absent.fold(Ledger::default(), |sum, class| sum + class.ledger)
    }

    /// Times of the questions for what is not there, ascending.
    pub(super) fn absent_nanos(&self) -> Vec<u64> {
        let absent = self.classes.iter().filter(|class| class.class.is_absent());
        let mut nanos: Vec<u64> = absent.flat_map(|class| class.nanos.iter().copied()).collect();
        nanos.sort_unstable();
        nanos
    }

    pub(super) fn reads_avoided(&self) -> u64 {
        self.ledger().total().count(Outcome::Avoided)
    }
}

/// Loads, warms up, asks, and removes the store again.
pub(super) fn run(
    data: &Dataset,
    plan: &mut Plan,
    policy: Option<FilterPolicy>,
    parent: &Path,
) -> anyhow::Result<Measurement> {
    let dir = parent.join(policy.map_or("none", |policy| policy.kind().name()));
    let storage = Arc::new(DirectStorage::open(&dir).context("cannot open the store's directory")?);
    let bypass = storage.cache_bypass();
    let options = StoreOptions::without_filters()
        .filter(Purpose::Row, policy)
        .filter(Purpose::RowColumn, policy)
        .seed(SEED)
        .memtable_bytes_max(usize::MAX);
    let started = Instant::now();
    let mut store = Store::open(storage, options)?;
    load(data, &mut store)?;
    let load = started.elapsed();

    let started = Instant::now();
    for class in Class::ALL {
        ask(data, &store, class, NUM_WARM_UP, &mut 0)?;
    }
    let lookups = plan.lookups(started.elapsed());

    let direct = bypass == CacheBypass::Active;
    let mut answers = 0;
    let (classes, os) = os::count(direct, || {
        Class::ALL.into_iter().map(|class| ask(data, &store, class, lookups, &mut answers)).collect::<Result<_, _>>()
    });
    let imbalance = store.ledger().check().err().map(|imbalance| imbalance.to_string());
    let warnings = store.warnings().iter().map(ToString::to_string).collect();
    let stats = store.stats();
    drop(store);
    std::fs::remove_dir_all(&dir).context("cannot remove the store")?;
    Ok(Measurement { policy, bypass, stats, load, classes: classes?, answers, os, imbalance, warnings })
}

/// Fills the store table by table: most rows in tables side by side, the others in tables across the whole range, so
/// that lookups meet tables they can rule out by key range and tables they cannot.
fn load(data: &Dataset, store: &mut Store) -> Result<(), filterblock::kv::Error> {
    let num_rows = data.rows.len() as u64;
    let table_of = |i: u64| match random(b"table", i) {
        r if r % RECENT_SHARE == 0 => NUM_SETTLED + (r >> 32) % NUM_RECENT,
        _ => i * NUM_SETTLED / num_rows,
    };
    for table in 0..NUM_SETTLED + NUM_RECENT {
        for (row, _) in data.rows.iter().zip(0..).filter(|(_, i)| table_of(*i) == table) {
            for (column, value) in &row.columns {
                store.put(&row.row, column, value)?;
            }
        }
        store.flush()?;
    }
    Ok(())
}

/// Asks `num` questions of a class, chaining all answers into `answers`.
fn ask(
    data: &Dataset,
    store: &Store,
    class: Class,
    num: usize,
    answers: &mut u64,
) -> Result<ClassMeasurement, filterblock::kv::Error> {
    let before = store.ledger();
    let mut nanos = Vec::with_capacity(num.min(1 << 20));
    let mut num_wrong = 0;
    let mut chain = |answer: &[u8]| *answers = KeyHasher::new(*answers).hash(answer).get();
    for i in 0..num as u64 {
        let r = random(b"question", i);
        let row = &data.rows[(r % data.rows.len() as u64) as usize];
        if class == Class::AbsentRow {
            let row = &data.absent_rows[(r % data.absent_rows.len() as u64) as usize];
            let started = Instant::now();
            let columns = store.get_row(row)?;
            nanos.push(started.elapsed().as_nanos() as u64);
            num_wrong += u64::from(!columns.is_empty());
            chain(b"row");
            columns.iter().for_each(|(column, value)| {
                chain(column);
                chain(value);
            });
            continue;
        }
        let (column, expected) = match class {
            Class::PresentCell => {
                let (column, value) = &row.columns[((r >> 32) % row.columns.len() as u64) as usize];
                (column, Some(value))
            }
            Class::AbsentRow | Class::AbsentColumn => (&row.absent_column, None),
        };
        let started = Instant::now();
        let value = store.get(&row.row, column)?;
        nanos.push(started.elapsed().as_nanos() as u64);
        num_wrong += u64::from(value.as_ref() != expected);
        chain(if value.is_some() { b"value" } else { b"none" });
        chain(&value.unwrap_or_default());
    }
    nanos.sort_unstable();
    Ok(ClassMeasurement { class, ledger: store.ledger().since(&before), nanos, num_wrong })
}
