//! Tables that store more columns of their filters than memory holds: how many of each, as lookups move.

use crate::*;
use filterblock_kv::ColumnStats;

const NUM_ROWS: u64 = 24_000;
const NUM_STORED: u32 = 16;
/// Fewer lookups than make the store choose the columns anew.
const NUM_ASKED: u64 = 30_000;
/// Four columns of each entry, and the headers.
const MEMORY_BYTES: u64 = NUM_ROWS / 2 + 1_500;

fn options(maintenance: Maintenance) -> StoreOptions {
    let rate = 0.5f64.powi(NUM_STORED as i32);
    let policy = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, rate).unwrap();
    let options = StoreOptions::without_filters().with_filter(Purpose::RowColumn, policy).with_cache_bytes(0);
    leveled(options, 256 << 10, (8 << 20, 4), 64 << 10).with_seed(5).with_maintenance(maintenance)
}

/// In these tests, rows with even numbers are present.
pub(crate) fn row(number: u64) -> Vec<u8> {
    format!("row-{number:08}").into_bytes()
}

/// One level of tables of equal size.
fn loaded(storage: &SimStorage, maintenance: Maintenance) {
    let store = open(storage, options(maintenance));
    for i in 0..NUM_ROWS {
        store.put(&row(2 * i), b"c", &[i as u8; 8]).unwrap();
    }
    store.compact().unwrap();
    store.close().unwrap();
}

/// Ranks by Zipf's law with the exponent of YCSB: rank *r* is drawn in proportion to r^−0.99.
#[derive(Clone)]
pub(crate) struct Zipf {
    cumulative: Vec<f64>,
    random: Random,
}

impl Zipf {
    pub(crate) fn new(count: u64) -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=count).map(|rank| {
            sum += (rank as f64).powf(-0.99);
            sum
        });
        Self { cumulative: cumulative.collect(), random: Random::new(1) }
    }

    pub(crate) fn draw(&mut self) -> u64 {
        let share = (self.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let total = self.cumulative.last().copied().unwrap();
        self.cumulative.partition_point(|&sum| sum <= share * total) as u64
    }
}

/// A row without the columns that it is asked for, and a row with the column `c` and its value.
type Asked = (Vec<u8>, (Vec<u8>, Vec<u8>));

/// Looks up columns that rows do not have, each once, so that the answers are independent, and now and then one that a
/// row has; popular rows lie side by side. Returns what the ledger counted meanwhile.
pub(crate) fn ask_for(store: &Store, zipf: &mut Zipf, lookups: Range<u64>, of_rank: impl Fn(u64) -> Asked) -> Tally {
    let before = *store.ledger().of(Purpose::RowColumn);
    for i in lookups {
        let (absent, (present, value)) = of_rank(zipf.draw());
        assert_eq!(store.get(&absent, format!("c{i}").as_bytes()).unwrap(), None);
        if i % 16 == 0 {
            assert_eq!(store.get(&present, b"c").unwrap(), Some(value));
        }
    }
    assert_eq!(store.ledger_report().check(), Ok(()));
    store.ledger().of(Purpose::RowColumn).since(&before)
}

fn ask(store: &Store, zipf: &mut Zipf, count: u64) -> Tally {
    ask_for(store, zipf, 0..count, |rank| (row(2 * rank + 1), (row(2 * rank), vec![rank as u8; 8])))
}

pub(crate) fn held(stats: &Stats) -> Vec<ColumnStats> {
    stats.tables.iter().flat_map(|table| &table.filters).map(|filter| filter.columns.unwrap()).collect()
}

/// Wasted reads, and how many were expected of the filters in memory.
pub(crate) fn in_vain(tally: &Tally) -> f64 {
    let observed = tally.count(Outcome::FalsePositive) as f64;
    let expected = tally.expected_false_positives;
    assert!((observed - expected).abs() <= 4.0 * expected.sqrt(), "{observed}, expected {expected}");
    observed + (tally.count(Outcome::NoFilter) - tally.unfiltered_found) as f64
}

#[test]
fn columns_follow_the_lookups() {
    for maintenance in [Maintenance::Inline { seed: 3 }, Maintenance::Background] {
        let storage = SimStorage::new();
        loaded(&storage, maintenance);
        let store = open(&storage, options(maintenance).with_filter_memory_bytes(MEMORY_BYTES));
        let mut zipf = Zipf::new(NUM_ROWS);

        // By size alone: every table is taken to be as popular as the others.
        store.settle().unwrap();
        let stats = store.stats();
        let by_size = held(&stats);
        assert!(by_size.len() >= 5, "{by_size:?}");
        assert!(by_size.iter().all(|columns| columns.stored == NUM_STORED && columns.held >= 3), "{by_size:?}");
        assert_eq!(stats.max_filter_memory_bytes, Some(MEMORY_BYTES));
        assert!((MEMORY_BYTES * 3 / 4..=MEMORY_BYTES).contains(&stats.filter_memory_bytes), "{stats:?}");
        let before = in_vain(&ask(&store, &mut zipf, NUM_ASKED / 16 * 15));
        assert_eq!(held(&store.stats()), by_size);

        // By what the ledger counted.
        ask(&store, &mut zipf, NUM_ASKED / 4);
        store.settle().unwrap();
        let stats = store.stats();
        let by_lookups = held(&stats);
        assert!(stats.filter_memory_bytes <= MEMORY_BYTES);
        assert!(by_lookups[0].held >= by_size[0].held + 2, "{by_lookups:?}");
        let after = in_vain(&ask(&store, &mut zipf, NUM_ASKED / 16 * 15));
        println!("{before} wasted reads, then {after}: {by_size:?}, then {by_lookups:?}");
        assert!(after <= before * 0.5, "{before} wasted reads, then {after}");
        store.close().unwrap();
    }
}

/// Whatever is held, the answers are the same, and each lookup ends in one line of the ledger.
#[test]
fn any_budget_gives_the_same_answers() {
    let storage = SimStorage::new();
    let maintenance = Maintenance::Inline { seed: 4 };
    loaded(&storage, maintenance);
    let all = open(&storage, options(maintenance).with_filter_memory_bytes(u64::MAX));
    let stats = all.stats();
    let stored: u64 = stats.tables.iter().map(|table| table.filter_bytes).sum();
    assert_eq!(stats.filter_memory_bytes, stored);
    all.close().unwrap();
    for (memory_bytes, all_or_none) in [(0, Some(0)), (stored / 3, None), (stored, Some(NUM_STORED))] {
        for read_only in [false, true] {
            let options = options(maintenance).with_filter_memory_bytes(memory_bytes).with_read_only(read_only);
            let store = open(&storage, options);
            let stats = store.stats();
            assert!(stats.filter_memory_bytes <= memory_bytes, "{stats:?}");
            assert_eq!(stats.cache.pinned_bytes, stats.filter_memory_bytes, "{memory_bytes}, {read_only}");
            let columns = held(&stats);
            assert!(columns.iter().all(|columns| all_or_none.is_none_or(|held| columns.held == held)), "{columns:?}");
            let tally = ask(&store, &mut Zipf::new(NUM_ROWS), 2_000);
            let in_range = tally.lookups - tally.count(Outcome::OutOfKeyRange);
            assert_eq!(tally.count(Outcome::NoFilter) == in_range, memory_bytes == 0, "{tally:?}");
            in_vain(&tally);
            // What is stored is verified, not what is held.
            let verified = store.verify();
            assert_eq!((verified.false_negatives(), verified.tables.len()), (0, columns.len()));
            assert!(store.warnings().is_empty());
            store.close().unwrap();
        }
    }
}

/// New tables and rebuilt filters are given columns by the next job; other kinds and residences have none.
#[test]
fn tables_that_come_are_given_columns() {
    let storage = SimStorage::new();
    let maintenance = Maintenance::Inline { seed: 6 };
    loaded(&storage, maintenance);
    let store = open(&storage, options(maintenance).with_filter_memory_bytes(MEMORY_BYTES));
    for i in 0..500 {
        store.put(&row(2 * (i * 40) + 1), b"c", b"new").unwrap();
    }
    store.flush().unwrap();
    store.settle().unwrap();
    let columns = held(&store.stats());
    assert!(columns.iter().all(|columns| columns.held > 0), "{columns:?}");
    assert_eq!(store.get(&row(1), b"c").unwrap().as_deref(), Some(&b"new"[..]));

    store.rebuild_filters(&RebuildOptions::new()).unwrap();
    store.settle().unwrap();
    let stats = store.stats();
    assert!(held(&stats).iter().all(|columns| columns.held > 0) && stats.filter_memory_bytes <= MEMORY_BYTES);
    assert_eq!(store.verify().false_negatives(), 0);

    let blocked = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).unwrap();
    store.rebuild_filters(&RebuildOptions::new().with_filter(Purpose::RowColumn, blocked)).unwrap();
    store.settle().unwrap();
    let stats = store.stats();
    assert!(stats.tables.iter().flat_map(|table| &table.filters).all(|filter| filter.columns.is_none()));
    // They are held as a whole, and count.
    let stored: u64 = stats.tables.iter().map(|table| table.filter_bytes).sum();
    assert!(stored > MEMORY_BYTES, "{stored}");
    assert_eq!((stats.filter_memory_bytes, stats.max_filter_memory_bytes), (stored, Some(MEMORY_BYTES)));
    store.close().unwrap();

    let cached = options(maintenance)
        .with_filter_memory_bytes(0)
        .with_filter_residence(FilterResidence::Cached)
        .with_cache_bytes(1 << 20);
    let store = open(&storage, cached);
    let stats = store.stats();
    assert_eq!((stats.max_filter_memory_bytes, stats.filter_memory_bytes), (None, 0));
    assert_eq!(ask(&store, &mut Zipf::new(NUM_ROWS), 0).lookups, 0);
}
