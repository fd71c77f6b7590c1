//! One run: load a store, query it, and keep everything that can be counted.

use super::ask::{self, Observed, Query};
use super::data::Dataset;
use super::stage::Stage;
use filterblock::FilterPolicy;
use filterblock::kv::Stats;
use std::path::Path;
use std::time::{Duration, Instant};

/// Queries of each series before counting starts, so that the program's own pages are in memory.
pub(super) const NUM_WARM_UP: u64 = 100;
const DEFAULT_LOOKUPS: u64 = 10_000;
const MIN_LOOKUPS: u64 = 1_000;
/// The longest time that the run without filters may take on a slow disk, unless a number of lookups is given.
const MAX_UNFILTERED: Duration = Duration::from_secs(15);

/// The number of queries in each series, the same in every run.
pub(super) struct Plan {
    lookups_given: Option<u64>,
    lookups: Option<u64>,
}

impl Plan {
    pub(super) fn new(lookups_given: Option<u64>) -> Self {
        // Queries are drawn with replacement, so there may be more of them than keys.
        let lookups_given = lookups_given.map(|lookups| lookups.max(1));
        Self { lookups_given, lookups: lookups_given }
    }

    /// Decided in the first run, by the time that its warm-up took.
    pub(super) fn decide(&mut self, warm_up: Duration) -> u64 {
        *self.lookups.get_or_insert_with(|| {
            let per_lookup = warm_up.as_secs_f64() / NUM_WARM_UP as f64;
            let affordable = (MAX_UNFILTERED.as_secs_f64() / per_lookup.max(1e-9)) as u64;
            affordable.clamp(MIN_LOOKUPS, DEFAULT_LOOKUPS)
        })
    }

    pub(super) fn num_lookups(&self) -> u64 {
        self.lookups.unwrap_or(0)
    }

    /// Whether there are fewer queries than usual because the disk is slow.
    pub(super) fn is_shortened(&self) -> bool {
        self.lookups_given.is_none() && self.num_lookups() < DEFAULT_LOOKUPS
    }
}

/// The results of one run.
pub(super) struct Run {
    /// `"none"` without filters.
    pub(super) filter: &'static str,
    /// The ledgers of its tables cover the counted queries only.
    pub(super) stats: Stats,
    pub(super) load: Duration,
    /// One for each series of queries.
    pub(super) series: Vec<Observed>,
    /// Whether the whole ledger, warm-up included, is consistent.
    pub(super) balanced: bool,
    pub(super) warnings: Vec<String>,
}

/// Loads a store, runs every series of queries on it, and removes it again.
pub(super) fn run<'a>(
    data: &Dataset,
    series: &[impl Fn(u64) -> Query<'a>],
    plan: &mut Plan,
    policy: Option<FilterPolicy>,
    parent: &Path,
) -> anyhow::Result<Run> {
    let stage = Stage::set(data, policy, parent)?;
    let store = &stage.store;
    let started = Instant::now();
    for query in series {
        ask::ask(store, (0..NUM_WARM_UP).map(query))?;
    }
    let lookups = plan.decide(started.elapsed());
    let before = store.stats();
    let series = series.iter().map(|query| ask::ask(store, (0..lookups).map(query)));
    let run = Run {
        filter: policy.map_or("none", |policy| policy.kind_name()),
        series: series.collect::<Result<_, _>>()?,
        stats: stats_since(store.stats(), &before),
        load: stage.load,
        balanced: store.ledger().check().is_ok(),
        warnings: store.warnings().iter().map(ToString::to_string).collect(),
    };
    stage.strike()?;
    Ok(run)
}

/// `stats` with the ledgers of the tables since `before`.
fn stats_since(mut stats: Stats, before: &Stats) -> Stats {
    for table in &mut stats.tables {
        if let Some(before) = before.tables.iter().find(|before| before.file == table.file) {
            table.ledger = table.ledger.since(&before.ledger);
        }
    }
    stats
}
