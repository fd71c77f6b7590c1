//! A budget of filter bytes over five levels against the same bytes spread evenly, and filters chosen by level.

use crate::*;

/// A debug build takes ten times as long, so it writes less.
const SPARSENESS: u64 = if cfg!(debug_assertions) { 4 } else { 1 };
const NUM_CELLS: u64 = 320_000 / SPARSENESS;
const NUM_ABSENT: u64 = 200_000 / SPARSENESS;
const PURPOSE: Purpose = Purpose::RowColumn;

/// Levels of about 100 KB, 4 times as much, …
fn options() -> StoreOptions {
    let (level, table) = ((96 << 10) / SPARSENESS, (26 << 10) / SPARSENESS);
    let options = leveled(StoreOptions::without_filters(), 42 << 10, (level, 4), table).with_max_level0_tables(4);
    options.with_seed(11).with_maintenance(Maintenance::Inline { seed: 2 }).with_cache_bytes(0)
}

fn bloom(bits_per_key: f64) -> FilterPolicy {
    policy(FilterKind::Bloom, bits_per_key)
}

fn filter_bytes(stats: &Stats) -> u64 {
    stats.tables.iter().map(|table| table.filter_bytes).sum()
}

/// Writes all cells, settling 16 times meanwhile and once at the end, each time followed by `check`. Two tables of the
/// last cells stay in level 0.
fn load(options: StoreOptions, mut check: impl FnMut(&Stats)) -> Store {
    let store = Store::open(Arc::new(SimStorage::new()), options).unwrap();
    for i in 0..NUM_CELLS {
        store.put(&scattered(i), b"c", &[(i % 251) as u8]).unwrap();
        if i + 200 == NUM_CELLS {
            store.flush().unwrap();
        }
        if i + 400 < NUM_CELLS && (i + 1) % (NUM_CELLS / 16) == 0 {
            store.settle().unwrap();
            check(&store.stats());
        }
    }
    store.flush().unwrap();
    store.settle().unwrap();
    check(&store.stats());
    store
}

/// Looks up absent rows.
fn ask_absent(store: &Store) -> LedgerReport {
    for i in NUM_CELLS..NUM_CELLS + NUM_ABSENT {
        assert_eq!(store.get(&scattered(i), b"c").unwrap(), None);
    }
    let report = store.ledger_report();
    assert_eq!(report.check(), Ok(()));
    report
}

#[test]
fn a_budget_saves_a_quarter_of_the_false_positives_of_the_same_bytes() {
    let uniform = load(options().with_filter(PURPOSE, bloom(8.0)), |_| {});
    let budget = filter_bytes(&uniform.stats());
    let mut highest = 0;
    let solved = load(options().with_filter(PURPOSE, bloom(8.0)).with_filter_budget_bytes(budget), |stats| {
        assert!(filter_bytes(stats) <= budget, "{} of {budget}", filter_bytes(stats));
        highest = highest.max(filter_bytes(stats));
    });
    // All levels have the same kind of data.
    for i in (0..NUM_CELLS).step_by(7) {
        for store in [&uniform, &solved] {
            assert_eq!(store.get(&scattered(i), b"c").unwrap(), Some(vec![(i % 251) as u8]));
        }
    }
    assert!(uniform.scan(..).map(Result::unwrap).eq(solved.scan(..).map(Result::unwrap)));

    let before: [Ledger; 2] = [&uniform, &solved].map(Store::ledger);
    let reports = [&uniform, &solved].map(ask_absent);
    for store in [&uniform, &solved] {
        let levels: BTreeSet<usize> = store.stats().tables.iter().map(|table| table.level).collect();
        assert!(levels.len() >= 5, "{levels:?}");
    }
    let false_positives: Vec<u64> = (reports.iter().zip(&before))
        .map(|(report, before)| report.total.since(before).of(PURPOSE).count(Outcome::FalsePositive))
        .collect();
    let [of_uniform, of_budget] = false_positives[..] else { panic!("two stores") };
    let ratio = of_budget as f64 / of_uniform as f64;
    println!("{NUM_CELLS} cells, {budget} filter bytes uniformly, at most {highest} with that budget");
    println!("{NUM_ABSENT} absent rows: {of_uniform} false positives, {of_budget} with the budget: {ratio:.3}");
    assert!(highest > budget / 2, "the budget is used");
    assert!(of_uniform > 1_000 && of_budget > 100, "enough to be compared");
    assert!(ratio <= 0.75, "{ratio}");
}

#[test]
fn levels_have_the_kinds_that_were_chosen_and_the_deepest_has_none() {
    let [golomb, ribbon, blocked] =
        [(FilterKind::Golomb, 8.0), (FilterKind::Ribbon, 8.0), (FilterKind::Blocked, 10.0)].map(|(k, b)| policy(k, b));
    let chosen = [(0, Some(blocked.clone())), (2, Some(golomb)), (3, None), (4, Some(ribbon))];
    let of_levels = |options: StoreOptions| {
        let levels = chosen.iter().cloned();
        levels.fold(options, |all, (level, policy)| all.with_level_filter(level, PURPOSE, policy).unwrap())
    };
    // The order of the calls makes no difference.
    let orders =
        [of_levels(options().with_filter(PURPOSE, bloom(8.0))), of_levels(options()).with_filter(PURPOSE, bloom(8.0))];
    let beyond = options().with_level_filter(7, PURPOSE, blocked);
    assert!(matches!(beyond, Err(Error::NoSuchLevel { level: 7, max: 6 })), "{beyond:?}");
    for by_level in orders {
        let store = load(by_level, |_| {});
        let stats = store.stats();
        let deepest = stats.tables.iter().map(|table| table.level).max().unwrap();
        let mut counts: BTreeMap<(usize, Option<FilterKind>), u64> = BTreeMap::new();
        for table in &stats.tables {
            assert!(table.filters.iter().all(|filter| filter.purpose == PURPOSE));
            *counts.entry((table.level, table.filters.first().map(|filter| filter.kind))).or_default() += 1;
        }
        println!("{counts:?}");
        for &(level, kind) in counts.keys() {
            let expected = match level {
                0 => Some(FilterKind::Blocked),
                2 => Some(FilterKind::Golomb),
                3 => None,
                4 => Some(FilterKind::Ribbon),
                _ => Some(FilterKind::Bloom),
            };
            assert_eq!(kind, expected, "level {level} of {deepest}");
        }
        assert!(deepest >= 4);
    }
}

#[test]
fn filters_that_cannot_shrink_to_the_budget_are_not_rebuilt_for_ever() {
    let small = policy(FilterKind::Blocked, 10.0);
    let above_golomb = inline().with_filter(Purpose::Row, policy(FilterKind::Golomb, 24.0));
    let above_golomb = above_golomb.with_level_filter(0, Purpose::Row, small.clone()).unwrap();
    let some_by_level = inline().with_filter(Purpose::Row, policy(FilterKind::Blocked, 24.0));
    let some_by_level = some_by_level.with_level_filter(0, Purpose::RowColumn, small).unwrap();
    let mut num_budgets = 0;
    for options in [above_golomb, some_by_level] {
        let options = options.with_max_level0_tables(1000).with_max_table_bytes(4096);
        let storage = SimStorage::new();
        let store = open(&storage, options.clone());
        for i in 0..1500u32 {
            store.put(format!("row{i:06}").as_bytes(), b"c", &[0; 20]).unwrap();
        }
        store.compact().unwrap();
        store.put(b"row000000", b"c", b"x").unwrap();
        store.flush().unwrap();
        let tables = store.stats().tables;
        let total: u64 = tables.iter().map(|table| table.filter_bytes).sum();
        store.close().unwrap();
        for budget in (total / 3..total).step_by(64) {
            let image = storage.crash_image(CrashKind::Everything);
            let store = open(&image, options.clone().with_filter_budget_bytes(budget));
            // Enough to build the filters of each table twenty times.
            image.crash_after(image.num_operations() + 20 * 12 * tables.len() as u64);
            store.settle().unwrap();
            num_budgets += 1;
        }
    }
    assert!(num_budgets > 50, "{num_budgets}");
}
