//! One run: load a store, query it, and keep everything that can be counted.

use super::data::Dataset;
use super::queries::{Class, Observed};
use super::store::LoadedStore;
use crate::exit::Failure;
use filterblock::FilterPolicy;
use filterblock_kv::{Error, Purpose, RebuildOptions, Stats, Store};
use std::path::Path;
use std::time::{Duration, Instant};

/// Queries of each class before counting starts, so that the program's own pages are in memory.
const NUM_WARM_UP: u64 = 100;
const DEFAULT_LOOKUPS: u64 = 10_000;
const MIN_LOOKUPS: u64 = 1_000;
/// The longest time that the run without filters may take on a slow disk, unless a number of lookups is given.
const MAX_UNFILTERED: Duration = Duration::from_secs(15);

/// The number of queries of each class, the same in every run.
pub(super) struct Plan {
    lookups: Option<u64>,
}

impl Plan {
    pub(super) fn new(given: Option<u64>) -> Self {
        // Queries are drawn with replacement, so there may be more of them than keys.
        Self { lookups: given.map(|lookups| lookups.max(1)) }
    }

    /// Decided in the first run, by the time that its warm-up took.
    fn decide(&mut self, warm_up: Duration) -> u64 {
        *self.lookups.get_or_insert_with(|| {
            let per_lookup = warm_up.as_secs_f64() / NUM_WARM_UP as f64;
            let affordable = (MAX_UNFILTERED.as_secs_f64() / per_lookup.max(1e-9)) as u64;
            affordable.clamp(MIN_LOOKUPS, DEFAULT_LOOKUPS)
        })
    }

    pub(super) fn num_lookups(&self) -> u64 {
        self.lookups.unwrap_or(0)
    }
}

/// The results of one run.
pub(super) struct Run {
    /// `"none"` without filters.
    pub(super) filter: &'static str,
    pub(super) stats: Stats,
    /// One for each class of queries.
    pub(super) series: Vec<Observed>,
    /// With filters of directories, in place of range filters, which are then written: their length in bytes, and the scans
    /// of absent directories.
    pub(super) directories: Option<(u64, Observed)>,
    /// Whether the whole ledger, warm-up included, is consistent.
    pub(super) balanced: bool,
    pub(super) warnings: Vec<String>,
}

impl Run {
    /// Loads a store, runs the queries of every class on it, and removes it again.
    pub(super) fn new(
        data: &Dataset,
        plan: &mut Plan,
        policy: Option<FilterPolicy>,
        parent: &Path,
    ) -> Result<Self, Failure> {
        let loaded = LoadedStore::new(data, policy.clone(), parent)?;
        let store = &loaded.store;
        let series = query(store, data, plan).map_err(|error| loaded.failure(&error))?;
        let stats = store.stats();
        let of_directories = |policy| with_directories(store, data, plan.num_lookups(), policy);
        let directories = policy.clone().map(of_directories).transpose().map_err(|error| loaded.failure(&error))?;
        let run = Self {
            filter: policy.map_or("none", |policy| policy.kind_name()),
            series,
            directories,
            stats,
            balanced: store.ledger().check().is_ok(),
            warnings: store.warnings().iter().map(ToString::to_string).collect(),
        };
        loaded.remove()?;
        Ok(run)
    }
}

fn with_directories(store: &Store, data: &Dataset, num: u64, policy: FilterPolicy) -> Result<(u64, Observed), Error> {
    store.rebuild_filters(&RebuildOptions::new().with_filter(Purpose::Prefix, policy).with_range_filter(None))?;
    let stats = store.stats();
    let of_prefixes = stats.tables.iter().flat_map(|table| &table.filters).filter(|of| of.purpose == Purpose::Prefix);
    Ok((of_prefixes.map(|filter| filter.bytes).sum(), Observed::of(store, data, Class::AbsentDirectory, num)?))
}

fn query(store: &Store, data: &Dataset, plan: &mut Plan) -> Result<Vec<Observed>, Error> {
    let started = Instant::now();
    for class in Class::ALL {
        Observed::of(store, data, class, NUM_WARM_UP)?;
    }
    let num_lookups = plan.decide(started.elapsed());
    Class::ALL.into_iter().map(|class| Observed::of(store, data, class, num_lookups)).collect()
}
