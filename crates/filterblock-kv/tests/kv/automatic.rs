//! Automatic policies in a store of several levels: each table's filters are of the kind that its level and entries
//! choose.

use crate::*;
use filterblock::{FilterSize, Workload};

const NUM_CELLS: u64 = 20_000;
const SIZE: FilterSize = FilterSize::MillibitsPerKey(10_000);

fn with_levels(options: StoreOptions) -> StoreOptions {
    let options = leveled(options, 32 << 10, (48 << 10, 3), 64 << 10);
    options.with_seed(11).with_maintenance(Maintenance::Inline { seed: 2 })
}

/// A store with tables in level 0 and in several below.
fn load(options: StoreOptions) -> Store {
    let store = Store::open(Arc::new(SimStorage::new()), with_levels(options)).unwrap();
    for i in 0..NUM_CELLS {
        store.put(&scattered(i), b"c", &[(i % 251) as u8]).unwrap();
    }
    store.settle().unwrap();
    // Too few tables for a compaction: they stay in level 0.
    store.put(&scattered(NUM_CELLS), b"c", b"last").unwrap();
    store.flush().unwrap();
    assert!((0..=NUM_CELLS).all(|i| store.get(&scattered(i), b"c").unwrap().is_some()));
    assert!(store.warnings().is_empty());
    store
}

/// Checks each filter against what `policy` chooses for its level and entries; the kinds by level.
fn check(stats: &Stats, policy: impl Fn(usize) -> FilterPolicy) -> BTreeSet<(usize, FilterKind)> {
    let mut kinds = BTreeSet::new();
    for table in &stats.tables {
        assert_eq!(table.filters.len(), 2, "{table:?}");
        for filter in &table.filters {
            let choice = policy(table.level).choice(filter.num_entries).unwrap();
            assert_eq!(filter.kind, choice.cost().kind, "level {}, {} entries", table.level, filter.num_entries);
            kinds.insert((table.level, filter.kind));
        }
    }
    kinds
}

fn of_level(level: usize) -> FilterPolicy {
    FilterPolicy::auto(SIZE, Workload::default().with_level(level as u8)).unwrap()
}

#[test]
fn by_default_each_table_has_the_kind_that_its_level_chooses() {
    let store = load(StoreOptions::default());
    let kinds = check(&store.stats(), of_level);
    let levels: BTreeSet<usize> = kinds.iter().map(|(level, _)| *level).collect();
    assert!(levels.len() > 3 && levels.contains(&0), "{kinds:?}");
    // Fast where tables are young, small in the deepest level.
    let of = |wanted: usize| kinds.iter().filter(move |(level, _)| *level == wanted).map(|(_, kind)| *kind);
    let deepest = levels.last().copied().unwrap();
    let cost = |kind: FilterKind, level: usize| {
        *of_level(level).choice(1_000).unwrap().costs().find(|cost| cost.kind == kind).unwrap()
    };
    for (young, old) in of(0).flat_map(|young| of(deepest).map(move |old| (young, old))) {
        assert!(cost(young, 0).query_ns < cost(old, 0).query_ns, "{kinds:?}");
        assert!(cost(young, 0).false_positive_rate > cost(old, 0).false_positive_rate, "{kinds:?}");
    }
}

#[test]
fn rebuilding_and_a_level_of_its_own_choose_by_the_level_too() {
    let policy = |workload| FilterPolicy::auto(FilterSize::FalsePositiveRate(0.02), workload).unwrap();
    let dear = Workload::default().with_num_queries(0).with_byte_ns(u32::MAX);
    let mut options = StoreOptions::default();
    for purpose in [Purpose::Row, Purpose::RowColumn] {
        options = options.with_level_filter(0, purpose, policy(dear)).unwrap();
    }
    let store = load(options);
    check(&store.stats(), |level| if level == 0 { policy(dear) } else { of_level(level) });
    let given = policy(Workload::default().with_read_ns(7));
    let rebuild =
        RebuildOptions::new().with_filter(Purpose::Row, given.clone()).with_filter(Purpose::RowColumn, given.clone());
    store.rebuild_filters(&rebuild).unwrap();
    check(&store.stats(), |level| given.clone().with_level(level as u8));
    assert!((0..=NUM_CELLS).all(|i| store.get(&scattered(i), b"c").unwrap().is_some()));
}

/// A budget changes the filters' sizes, but not their kinds, which are chosen before for all tables of a level.
#[test]
fn under_a_budget_and_with_partitions() {
    let budget = NUM_CELLS * 2 * 9 / 8;
    // Where a wasted read costs nothing, another kind is chosen than at the neighbouring levels.
    let free_reads = FilterPolicy::auto(SIZE, Workload::default().with_read_ns(0)).unwrap();
    let mut options = StoreOptions::default().with_filter_budget_bytes(budget);
    for purpose in [Purpose::Row, Purpose::RowColumn] {
        options = options.with_level_filter(3, purpose, free_reads.clone()).unwrap();
    }
    let store = load(options);
    store.settle().unwrap();
    let stats = store.stats();
    let filter_bytes: u64 = stats.tables.iter().map(|table| table.filter_bytes).sum();
    assert!(filter_bytes <= budget, "{filter_bytes} bytes of {budget}");
    let kinds = check(&stats, |level| if level == 3 { free_reads.clone().with_level(3) } else { of_level(level) });
    assert!(kinds.iter().map(|(_, kind)| kind).collect::<BTreeSet<_>>().len() > 1, "{stats:?}");
    let store = load(StoreOptions::default().with_partition_bytes(256));
    assert!(store.stats().tables.iter().any(|table| table.filters.iter().any(|filter| filter.num_entries > 500)));
}
