//! One run: load a store, ask it, and keep everything that can be counted.

use super::ask::{self, Asked, Class};
use super::data::Dataset;
use super::os;
use super::stage::Stage;
use filterblock::FilterPolicy;
use filterblock::kv::{CacheBypass, Ledger, Outcome, Stats, Tally};
use std::path::Path;
use std::time::{Duration, Instant};

/// Questions of each sort asked before counting starts, so that the program's own pages are in memory.
pub(super) const NUM_WARM_UP: usize = 100;
const DEFAULT_LOOKUPS: usize = 10_000;
const MIN_LOOKUPS: usize = 1_000;
/// What the run without filters may take on a slow disk, unless a number of lookups is asked for.
const MAX_UNFILTERED: Duration = Duration::from_secs(15);

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
    pub(super) fn lookups(&mut self, warm_up: Duration) -> usize {
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
    pub(super) asked: Asked,
    /// See [`ask::repetition`].
    pub(super) repetition: f64,
}

/// What one run came to.
pub(super) struct Measurement {
    pub(super) policy: Option<FilterPolicy>,
    pub(super) bypass: CacheBypass,
    /// Its tables' accounts are of the counted questions.
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
        self.classes.iter().fold(Ledger::default(), |sum, class| sum + class.asked.ledger)
    }

    /// The account of the questions for what is not there.
    pub(super) fn absent_ledger(&self) -> Ledger {
        let absent = self.classes.iter().filter(|class| class.class.is_absent());
        absent.fold(Ledger::default(), |sum, class| sum + class.asked.ledger)
    }

    /// Times of the questions for what is not there, ascending.
    pub(super) fn absent_nanos(&self) -> Vec<u64> {
        let absent = self.classes.iter().filter(|class| class.class.is_absent());
        let mut nanos: Vec<u64> = absent.flat_map(|class| class.asked.nanos.iter().copied()).collect();
        nanos.sort_unstable();
        nanos
    }

    /// Four standard errors of the rate of false positives in `ledger`, the account of some of the tables: a binomial
    /// deviation for each purpose, widened for questions that come again. `None` before the first absent key.
    pub(super) fn four_sigma(&self, ledger: &Ledger) -> Option<f64> {
        let asked = ledger.total().absent_asked();
        let variance = |tally: &Tally, classes: fn(Class) -> bool| {
            let rate = tally.predicted_fpr().unwrap_or(0.0);
            self.repetition(classes) * tally.absent_asked() as f64 * rate * (1.0 - rate)
        };
        let of_rows = variance(&ledger.row, |class| class == Class::AbsentRow);
        let of_cells = variance(&ledger.row_column, |class| class != Class::AbsentRow);
        (asked > 0).then(|| 4.0 * (of_rows + of_cells).sqrt() / asked as f64)
    }

    /// [`ask::repetition`] of the questions that `classes` selects, by how often filters met them.
    fn repetition(&self, classes: fn(Class) -> bool) -> f64 {
        let (mut weighted, mut sum) = (0.0, 0.0);
        for class in self.classes.iter().filter(|class| classes(class.class)) {
            let absent_asked = class.asked.ledger.total().absent_asked() as f64;
            weighted += absent_asked * class.repetition;
            sum += absent_asked;
        }
        if sum > 0.0 { weighted / sum } else { 1.0 }
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
    let stage = Stage::set(data, policy, parent)?;
    let store = &stage.store;
    let started = Instant::now();
    for class in Class::ALL {
        ask::ask(store, (0..NUM_WARM_UP as u64).map(|i| class.question(data, i)), &mut 0)?;
    }
    let lookups = plan.lookups(started.elapsed()) as u64;

    let before = store.stats();
    let direct = stage.bypass == CacheBypass::Active;
    let mut answers = 0;
    let (classes, os) = os::count(direct, || {
        let questions = |class: Class| (0..lookups).map(move |i| class.question(data, i));
        let ask = |class| ask::ask(store, questions(class), &mut answers).map(|asked| (class, asked));
        Class::ALL.into_iter().map(ask).collect::<Result<Vec<_>, _>>()
    });
    let measured = |(class, asked)| {
        let repetition = ask::repetition((0..lookups).map(|i| Class::question(class, data, i)));
        ClassMeasurement { class, asked, repetition }
    };
    let measurement = Measurement {
        policy,
        bypass: stage.bypass.clone(),
        stats: stats_since(store.stats(), &before),
        load: stage.load,
        classes: classes?.into_iter().map(measured).collect(),
        answers,
        os,
        imbalance: store.ledger().check().err().map(|imbalance| imbalance.to_string()),
        warnings: store.warnings().iter().map(ToString::to_string).collect(),
    };
    stage.strike()?;
    Ok(measurement)
}

/// `stats` with the accounts of what happened since `before`, table by table.
fn stats_since(mut stats: Stats, before: &Stats) -> Stats {
    for table in &mut stats.tables {
        if let Some(before) = before.tables.iter().find(|before| before.file == table.file) {
            table.ledger = table.ledger.since(&before.ledger);
        }
    }
    stats
}
