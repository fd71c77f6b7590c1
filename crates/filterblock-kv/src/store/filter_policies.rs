//! The filters with which a table is written, and the budget that all of them share.
//!
//! The budget is allocated whenever a table is written, for the tables that there will be then. Tables keep their
//! filters until they are compacted; only while all filters together exceed the budget are those that exceed their
//! share the most rebuilt. Filters are written for a little less than the budget, so that this is rare.

use super::{
    Arc, Error, FilterKind, FilterOptions, FilterPolicies, FilterPolicy, MaintenanceState, NO_PREFIXES, Purpose,
    Shared, Table, Version, rebuild,
};
use filterblock_engine::budget::{Run, Share, allocate};

/// Filters are written for this part of the budget.
const WRITTEN_SHARE: (u64, u64) = (15, 16);
/// A partition's record in the index, 16 bytes, and room for its separator, which is seldom longer than 32.
const INDEX_BYTES_PER_PARTITION: u64 = 48;
/// Steps in which the least number of partitions that a budget must pay for is sought, to a 64th of the most.
const PARTITION_HALVINGS: u32 = 6;
/// Filters of a table are rebuilt if that saves at least this part of their length.
const WORTHWHILE_PART: u64 = 32;

/// Entries by purpose, in the order of [`Purpose::OF_KEYS`].
pub(super) type Entries = [u64; Purpose::OF_KEYS.len()];

/// The entries of a table merged from `tables`, at most.
pub(super) fn entries_of<'a>(tables: impl IntoIterator<Item = &'a Arc<Table>>) -> Entries {
    let mut sum = Entries::default();
    for table in tables {
        for (sum, purpose) in sum.iter_mut().zip(Purpose::OF_KEYS) {
            *sum += table.num_entries(purpose);
        }
    }
    sum
}

/// A group of tables of which a lookup probes one: a level, or a single table of level 0.
struct SortedRun {
    level: usize,
    /// The table of level 0, if it exists already.
    table: Option<u64>,
    entries: Entries,
    num_tables: u64,
}

/// Kind and share of a sorted run's filters, by purpose.
type Shares = [Option<(FilterKind, Share)>; Purpose::OF_KEYS.len()];

/// The shares of every sorted run's filters.
struct Allocation(Vec<(SortedRun, Shares)>);

/// A policy for a table of `level` with the hasher and transform of the store; `None` for prefixes of length 0,
/// whose filter would be useless.
pub(super) fn complete(shared: &Shared, policy: FilterPolicy, level: usize, purpose: Purpose) -> Option<FilterPolicy> {
    let prefixes = shared.tables.prefixes;
    let is_void = purpose == Purpose::Prefix && prefixes == NO_PREFIXES;
    let policy = policy.with_level(level as u8).with_hasher(shared.hasher());
    (!is_void).then(|| policy.with_transform(purpose.transform(prefixes)))
}

/// The configured policy of a level, before the budget resizes it.
fn configured(shared: &Shared, level: usize, purpose: Purpose) -> Option<FilterPolicy> {
    complete(shared, shared.options.filters.policy(level, purpose)?, level, purpose)
}

/// The filters of tables to be written to `level` with `entries` in place of the tables `gone`.
pub(super) fn choose(
    shared: &Shared,
    version: &Version,
    gone: &[u64],
    level: usize,
    entries: Entries,
) -> FilterPolicies {
    let Some(budget) = shared.options.filters.budget_bytes else {
        return with_rest(shared, level, Purpose::OF_KEYS.map(|purpose| configured(shared, level, purpose)));
    };
    let stays = version.tables().filter(|table| !gone.contains(&table.number()));
    let new_range = shared.options.filters.ranges[level].map_or(0, |policy| {
        let len = policy.expected_block_len(entries[0]);
        let num_partitions = shared.options.filters.partition_bytes.map_or(1, |bytes| len.div_ceil(bytes));
        if num_partitions > 1 { len + num_partitions * INDEX_BYTES_PER_PARTITION } else { len }
    });
    let budget = budget.saturating_sub(range_bytes(stays.clone()) + new_range);
    let new = SortedRun { level, table: None, entries, num_tables: 1 + gone.len() as u64 };
    allocate_all(shared, sorted_runs(stays.map(run_of).chain([new])), budget).filter_policies(shared, level, None)
}

/// Adds to the policies of hashed filters what no budget changes.
fn with_rest(
    shared: &Shared,
    level: usize,
    by_purpose: [Option<FilterPolicy>; Purpose::OF_KEYS.len()],
) -> FilterPolicies {
    let FilterOptions { ranges, partition_bytes, .. } = &shared.options.filters;
    FilterPolicies { by_purpose, range: ranges[level], partition_bytes: *partition_bytes }
}

/// The part of the budget that range filters have taken.
fn range_bytes<'a>(tables: impl Iterator<Item = &'a Arc<Table>>) -> u64 {
    tables.map(|table| table.filters.range_bytes()).sum()
}

fn allocate_all(shared: &Shared, runs: Vec<SortedRun>, budget: u64) -> Allocation {
    let (mut units, mut targets) = (Vec::new(), Vec::new());
    for (i, run) in runs.iter().enumerate() {
        for purpose in Purpose::OF_KEYS {
            let entries = run.entries[purpose.index()];
            let policy = configured(shared, run.level, purpose);
            // The kind that is chosen for the configured size, which the budget then changes.
            if let Some(kind) = policy.and_then(|policy| kind_of(&policy, entries / run.num_tables.max(1))) {
                units.push((kind, entries, run.num_tables));
                targets.push((i, purpose));
            }
        }
    }
    let mut allocation = Allocation(runs.into_iter().map(|run| (run, Default::default())).collect());
    let (part, whole) = WRITTEN_SHARE;
    let budget = (u128::from(budget) * u128::from(part) / u128::from(whole)) as u64;
    let shares = allocate_blocks(&units, budget, shared.options.filters.partition_bytes);
    for ((i, purpose), (&(kind, ..), share)) in targets.into_iter().zip(units.iter().zip(shares)) {
        allocation.0[i].1[purpose.index()] = Some((kind, share));
    }
    allocation
}

/// Rebuilds the filters of the table that exceeds its share the most. False if all filters are within the budget,
/// or no rebuild would help.
pub(super) fn shrink_filters(shared: &Shared, maintenance: &mut MaintenanceState) -> Result<bool, Error> {
    let Some(budget) = shared.options.filters.budget_bytes else {
        return Ok(false);
    };
    let version = Arc::clone(&shared.view().version);
    let total: u64 = version.tables().map(|table| table.filters.bytes()).sum();
    if total <= budget {
        return Ok(false);
    }
    let shrunk = &mut maintenance.shrunk;
    shrunk.retain(|number, _| version.tables().any(|table| table.number() == *number));
    let budget = budget.saturating_sub(range_bytes(version.tables()));
    let allocation = allocate_all(shared, sorted_runs(version.tables().map(run_of)), budget);
    let excess = |table: &&Arc<Table>| {
        let (bytes, share) = (table.filters.bytes() - table.filters.range_bytes(), allocation.len_bytes(table));
        // Filters of few keys exceed any small share. A table is retried only for a clearly smaller share, so that
        // retries end.
        let is_tried = shrunk.get(&table.number()).is_some_and(|&tried| share > tried / 8 * 7);
        let excess = bytes.saturating_sub(share);
        if excess > bytes / WORTHWHILE_PART && !is_tried { excess } else { 0 }
    };
    let Some(table) = version.tables().max_by_key(excess).filter(|table| excess(table) > 0) else {
        return Ok(false);
    };
    let number = (table.level == 0).then_some(table.number());
    let policies = allocation.filter_policies(shared, table.level, number);
    rebuild::rebuild_table(shared, table, &policies)?;
    shrunk.insert(table.number(), allocation.len_bytes(table));
    Ok(true)
}

/// The kind of a policy's filters of `num_entries` entries; `None` if no kind can have its size.
fn kind_of(policy: &FilterPolicy, num_entries: u64) -> Option<FilterKind> {
    policy.kind().or_else(|| Some(policy.choice(num_entries).ok()?.cost().kind))
}

/// A run's filters of one purpose: their kind, entries, and number of tables.
type Unit = (FilterKind, u64, u64);

/// The shares of filters.
fn allocate_blocks(units: &[Unit], budget: u64, partition_bytes: Option<u64>) -> Vec<Share> {
    let shares = allocate_partitions(units, budget, &vec![0; units.len()]);
    let Some(partition_bytes) = partition_bytes else {
        return shares;
    };
    let num_partitions = |(share, &(kind, entries, _)): (&Share, &Unit)| {
        let per_partition = share.policy(kind).map_or(u64::MAX, |policy| policy.expected_num_entries(partition_bytes));
        entries / per_partition.max(1)
    };
    let partitions_of = |shares: &[Share]| -> Vec<u64> { shares.iter().zip(units).map(num_partitions).collect() };
    // As many as these shares give suffice: paying for them leaves fewer bits per key, which give fewer.
    let (mut too_few, mut enough) = (vec![0u64; units.len()], partitions_of(&shares));
    for _ in 0..PARTITION_HALVINGS {
        let middle: Vec<u64> = too_few.iter().zip(&enough).map(|(&few, &many)| few.midpoint(many)).collect();
        let needed = partitions_of(&allocate_partitions(units, budget, &middle));
        let suffice = needed.iter().zip(&middle).all(|(needed, paid)| needed <= paid);
        *(if suffice { &mut enough } else { &mut too_few }) = middle;
    }
    allocate_partitions(units, budget, &enough)
}

/// The shares of filters with `partitions` partitions each: a partition is a block with a header, and has a record in
/// an index.
fn allocate_partitions(units: &[Unit], budget: u64, partitions: &[u64]) -> Vec<Share> {
    let (mut runs, mut num_records) = (Vec::new(), 0);
    for (&(kind, entries, num_tables), num_partitions) in units.iter().zip(partitions) {
        runs.push(Run::new(kind, entries).with_num_blocks(num_tables + num_partitions));
        if *num_partitions > 0 {
            num_records += num_tables + num_partitions;
        }
    }
    allocate(&runs, budget.saturating_sub(num_records * INDEX_BYTES_PER_PARTITION))
}

fn run_of(table: &Arc<Table>) -> SortedRun {
    let (level, number) = (table.level, table.number());
    SortedRun { level, table: (level == 0).then_some(number), entries: entries_of([table]), num_tables: 1 }
}

/// Joins the runs of a level, unless it is level 0.
fn sorted_runs(all: impl Iterator<Item = SortedRun>) -> Vec<SortedRun> {
    let mut runs: Vec<SortedRun> = Vec::new();
    for more in all {
        match runs.iter_mut().find(|run| run.level > 0 && run.level == more.level) {
            Some(run) => {
                run.num_tables += more.num_tables;
                run.entries.iter_mut().zip(more.entries).for_each(|(sum, more)| *sum += more);
            }
            None => runs.push(more),
        }
    }
    runs
}

impl Allocation {
    fn shares(&self, level: usize, table: Option<u64>) -> Shares {
        let run = self.0.iter().find(|(run, _)| run.level == level && run.table == table);
        run.map_or_else(Default::default, |(_, shares)| *shares)
    }

    fn filter_policies(&self, shared: &Shared, level: usize, table: Option<u64>) -> FilterPolicies {
        let shares = self.shares(level, table);
        let by_purpose = Purpose::OF_KEYS.map(|purpose| {
            let (kind, share) = shares[purpose.index()]?;
            complete(shared, share.policy(kind)?, level, purpose)
        });
        with_rest(shared, level, by_purpose)
    }

    /// Length of a table's filters if each of its keys takes its share.
    fn len_bytes(&self, table: &Table) -> u64 {
        let shares = self.shares(table.level, (table.level == 0).then(|| table.number()));
        let len = |(purpose, share): (Purpose, Option<(FilterKind, Share)>)| {
            let millibits = share.map_or(0, |(_, share)| u64::from(share.millibits_per_key));
            (table.num_entries(purpose) * millibits).div_ceil(8_000)
        };
        Purpose::OF_KEYS.into_iter().zip(shares).map(len).sum()
    }
}
