//! Partitioned filters in the store: the same answers as with one block a filter, one partition read a lookup, and
//! damage that costs a partition's keys only.

use crate::*;
use filterblock::partition::INDEX_MAGIC;

const NUM_ROWS: u32 = 3_000;
const PARTITION_BYTES: u64 = 512;

fn options(kind: FilterKind) -> StoreOptions {
    let policy = policy(kind, 10.0);
    let options = with_both(policy.clone()).with_prefix_filter(6, policy).with_seed(5).with_cache_bytes(0);
    options.with_maintenance(Maintenance::Inline { seed: 1 })
}

fn partitioned(kind: FilterKind) -> StoreOptions {
    options(kind).with_partition_bytes(PARTITION_BYTES)
}

/// Rows of different prefixes of six bytes, with a zero byte now and then.
fn row(i: u32) -> Vec<u8> {
    let zero = if i % 7 == 0 { "\0" } else { "" };
    format!("r{i:05}{zero}x").into_bytes()
}

fn columns(i: u32) -> &'static [&'static [u8]] {
    if i % 3 == 0 { &[b"", b"\0", b"title"] } else { &[b"title"] }
}

/// A closed store of one table with every other row.
fn written(options: StoreOptions) -> SimStorage {
    let storage = SimStorage::new();
    let store = open(&storage, options);
    for i in (0..NUM_ROWS).map(|i| 2 * i) {
        for column in columns(i) {
            store.put(&row(i), column, format!("value {i}").as_bytes()).unwrap();
        }
    }
    store.flush().unwrap();
    store.close().unwrap();
    storage
}

fn table_of(storage: &SimStorage) -> (String, Vec<u8>) {
    let name = tables(storage).remove(0);
    (name.clone(), storage.contents(&name).unwrap())
}

/// The offsets of blocks or indexes, which begin with `magic` at a multiple of 64.
fn places_of(bytes: &[u8], magic: &[u8]) -> Vec<usize> {
    (0..bytes.len()).step_by(64).filter(|&at| bytes[at..].starts_with(magic)).collect()
}

/// Looks up every row and as many absent ones, and every prefix.
fn check_answers(store: &Store) {
    for i in 0..2 * NUM_ROWS {
        let is_present = i % 2 == 0;
        for column in [&b""[..], b"\0", b"title", b"absent"] {
            let expected = (is_present && columns(i).contains(&column)).then(|| format!("value {i}").into_bytes());
            assert_eq!(store.get(&row(i), column).unwrap(), expected, "row {i}");
        }
        assert_eq!(store.get_row(&row(i)).unwrap().len(), if is_present { columns(i).len() } else { 0 });
    }
    for i in (0..2 * NUM_ROWS).step_by(5) {
        let prefix = &row(i)[..6];
        let expected = u32::from(i % 2 == 0) * columns(i).len() as u32;
        assert_eq!(store.scan_prefix(prefix).count() as u32, expected, "{prefix:?}");
    }
    store.ledger().check().unwrap();
}

#[test]
fn partitioned_filters_answer_as_whole_ones() {
    for &kind in FilterKind::ALL {
        let storage = written(partitioned(kind));
        let (_, bytes) = table_of(&storage);
        assert_eq!(places_of(&bytes, &INDEX_MAGIC).len(), 3, "{kind}: an index for each filter");
        assert!(places_of(&bytes, &MAGIC).len() > 20, "{kind}: several partitions");
        for residence in [FilterResidence::Pinned, FilterResidence::Cached] {
            let store = open(&storage, partitioned(kind).with_filter_residence(residence).with_cache_bytes(1 << 20));
            check_answers(&store);
            assert_eq!(store.warnings(), []);
            assert!(store.ledger().filter_block_cache_hits > 1000, "partitions are cached");
            let report = store.verify();
            assert_eq!((report.false_negatives(), report.filters().count()), (0, 3));
            for filter in report.filters() {
                assert_eq!(filter.kind, kind);
                assert!(filter.present_asked >= u64::from(NUM_ROWS));
                let (observed, predicted) =
                    (filter.false_positives as f64, filter.predicted_fpr * filter.absent_asked as f64);
                assert!((observed - predicted).abs() < 4.0 * predicted.sqrt(), "{observed} {predicted}");
            }
            let stats = &store.stats().tables[0];
            assert_eq!(stats.filters.iter().map(|filter| filter.bytes).sum::<u64>(), stats.filter_bytes);
        }
    }
}

/// Without a cache a lookup of an absent row reads one partition, in whole pages, and nothing else unless the row
/// passes.
#[test]
fn a_lookup_reads_one_partition() {
    let storage = written(partitioned(FilterKind::Blocked));
    let store = open(&storage, partitioned(FilterKind::Blocked));
    let before = store.ledger();
    for i in (1..2 * NUM_ROWS).step_by(2) {
        assert_eq!(store.get(&row(i), b"title").unwrap(), None);
    }
    let ledger = store.ledger().since(&before);
    let out_of_range = ledger.of(Purpose::RowColumn).count(Outcome::OutOfKeyRange);
    assert_eq!(ledger.filter_block_reads + out_of_range, u64::from(NUM_ROWS));
    assert_eq!(ledger.filter_block_bytes, ledger.filter_block_reads * PAGE_LEN as u64);
    assert!(ledger.of(Purpose::RowColumn).count(Outcome::Avoided) > u64::from(NUM_ROWS) * 95 / 100);
}

/// Partitions take little more of the cache than their length: one of half as much again as they have holds them.
#[test]
fn a_cache_holds_partitions_of_about_its_size() {
    let options = inline().with_filter(Purpose::RowColumn, policy(FilterKind::Ribbon, 10.0));
    let options = options.with_seed(5).with_partition_bytes(4096);
    let storage = SimStorage::new();
    let store = open(&storage, options.clone());
    (0..20_000).for_each(|i| store.put(&row(2 * i), b"title", b"").unwrap());
    store.flush().unwrap();
    let bytes = store.stats().tables[0].filter_bytes;
    store.close().unwrap();
    let store = open(&storage, options.with_cache_bytes(bytes * 3 / 2));
    let look_up = || (1..40_000).step_by(14).for_each(|i| drop(store.get(&row(i), b"title").unwrap()));
    look_up();
    let before = store.ledger();
    (0..5).for_each(|_| look_up());
    let reads = store.ledger().since(&before).filter_block_reads;
    assert!(reads < 5 * 40_000 / 14 / 10, "{reads} reads of {bytes} bytes");
}

/// Partitions lie in no more pages than they must, and small ones share a page.
#[test]
fn partitions_waste_no_pages() {
    for &kind in FilterKind::ALL {
        for partition_bytes in [256, 512, 1500, 5000] {
            let storage = written(options(kind).with_partition_bytes(partition_bytes));
            let (name, bytes) = table_of(&storage);
            let store = open(&storage, options(kind));
            let stats = &store.stats().tables[0];
            let lens: u64 = stats.filters.iter().map(|filter| filter.bytes).sum();
            let padded: u64 =
                stats.filters.iter().map(|filter| filter.bytes.next_multiple_of(PAGE_LEN as u64)).sum::<u64>();
            let first = places_of(&bytes, &MAGIC)[0];
            let in_file = (bytes.len() - PAGE_LEN - first) as u64;
            println!("{kind} {partition_bytes}: {name} has filters of {lens} bytes in {in_file}");
            assert!(in_file >= padded && in_file * 10 <= padded * 15, "{kind} {partition_bytes}: {in_file} for {lens}");
            for at in places_of(&bytes, &MAGIC) {
                let block = &bytes[at..];
                let payload_len = block[32..40].iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
                let len = 64 + payload_len;
                let num_pages = (at % PAGE_LEN + len).div_ceil(PAGE_LEN);
                assert_eq!(num_pages, len.div_ceil(PAGE_LEN), "{kind} {partition_bytes}: {len} bytes at {at}");
            }
        }
    }
}

/// A budget counts partitions and indexes, not what lies between them, and is used.
#[test]
fn a_budget_counts_partitions_and_indexes() {
    for &kind in FilterKind::ALL {
        for partition_bytes in [256, 512, 2048] {
            let budget = 3 * u64::from(NUM_ROWS);
            let storage = SimStorage::new();
            let store =
                open(&storage, options(kind).with_partition_bytes(partition_bytes).with_filter_budget_bytes(budget));
            for i in 0..NUM_ROWS {
                store.put(&row(i), b"title", b"value").unwrap();
            }
            store.flush().unwrap();
            store.settle().unwrap();
            let stats = store.stats();
            let bytes: u64 = stats.tables.iter().map(|table| table.filter_bytes).sum();
            println!("{kind} {partition_bytes}: {bytes} of {budget}");
            assert!(bytes <= budget && bytes > budget / 2, "{kind} {partition_bytes}: {bytes} of {budget}");
        }
    }
}

/// Filters that are smaller than a partition are written as without the option.
#[test]
fn filters_below_the_size_are_one_block() {
    for &kind in FilterKind::ALL {
        let (plain, large) = (written(options(kind)), written(options(kind).with_partition_bytes(1 << 30)));
        assert!(table_of(&plain) == table_of(&large), "{kind}: the same bytes");
        assert!(places_of(&table_of(&plain).1, &INDEX_MAGIC).is_empty());
    }
}

#[test]
fn filters_are_rebuilt_partitioned_and_whole() {
    let storage = written(options(FilterKind::Golomb));
    for (options, num_indexes) in [(partitioned(FilterKind::Blocked), 3), (options(FilterKind::Bloom), 0)] {
        let store = open(&storage, options);
        store.rebuild_filters(&RebuildOptions::default()).unwrap();
        check_answers(&store);
        assert_eq!(store.warnings(), []);
        assert_eq!(store.verify().false_negatives(), 0);
        store.close().unwrap();
        let name = storage.names().into_iter().find(|name| name.ends_with(".flt")).unwrap();
        assert_eq!(places_of(&storage.contents(&name).unwrap(), &INDEX_MAGIC).len(), num_indexes);
    }
}

#[test]
fn compaction_keeps_partitions() {
    let storage = written(partitioned(FilterKind::Blocked));
    let store = open(&storage, partitioned(FilterKind::Blocked));
    store.put(&row(1), b"title", b"new").unwrap();
    store.compact().unwrap();
    store.delete(&row(1), b"title").unwrap();
    check_answers(&store);
    assert_eq!(store.verify().false_negatives(), 0);
}

/// Looks up everything in a store with a damaged partition, which is reported once, and returns how often a lookup of
/// a filter ended so.
fn with_damage_at(at: usize, storage: &SimStorage, options: StoreOptions) -> impl Fn(Outcome) -> u64 {
    let (name, sound) = table_of(storage);
    change(storage, &name, |bytes| bytes[at + 100] ^= 1);
    let store = open(storage, options);
    assert_eq!(store.warnings().len(), 1);
    assert_eq!(store.warnings()[0].offset, at as u64);
    check_answers(&store);
    assert_eq!(store.warnings().len(), 1, "reported once");
    let ledger = store.ledger();
    assert_eq!(store.verify().false_negatives(), 0);
    storage.replace(&name, sound);
    move |outcome| Purpose::OF_KEYS.map(|purpose| ledger.of(purpose).count(outcome)).iter().sum()
}

/// A damaged partition is reported; its keys are looked up in the data, and absent keys of the others are still denied.
#[test]
fn a_damaged_partition_costs_only_its_own_keys() {
    let storage = written(partitioned(FilterKind::Blocked));
    let (name, sound) = table_of(&storage);
    let partitions = places_of(&sound, &MAGIC);
    for at in partitions.iter().copied().step_by(5) {
        let count = with_damage_at(at, &storage, partitioned(FilterKind::Blocked));
        assert!(
            count(Outcome::Avoided) > u64::from(NUM_ROWS) * 3,
            "{} lookups are still avoided",
            count(Outcome::Avoided)
        );
    }
    // Two partitions swapped.
    let mut bytes = sound;
    let (left, right) = bytes.split_at_mut(partitions[1]);
    let first = &mut left[partitions[0]..];
    first.swap_with_slice(&mut right[..first.len()]);
    storage.replace(&name, bytes);
    let store = open(&storage, partitioned(FilterKind::Blocked));
    assert_eq!(store.warnings().len(), 2);
    check_answers(&store);
}

/// Bytes of filters in memory other than columns: here the indexes.
fn index_bytes(stats: &Stats) -> u64 {
    let filters = stats.tables.iter().flat_map(|table| &table.filters);
    filters.map(|filter| filter.held_bytes - filter.columns.map_or(0, |columns| columns.held_bytes)).sum()
}

/// Of partitions with columns memory holds as many columns as its budget allows, the same number of each partition, and
/// no lookup loads a partition. Indexes are held first, and count.
#[test]
fn a_budget_of_memory_holds_columns_of_partitions() {
    let storage = written(partitioned(FilterKind::Ribbon));
    let opened = |bytes| open(&storage, partitioned(FilterKind::Ribbon).with_filter_memory_bytes(bytes));
    let all = opened(u64::MAX).stats();
    assert_eq!(all.filter_memory_bytes, all.tables[0].filter_bytes);
    assert_eq!(all.tables[0].filters.len(), 3);
    let indexes = index_bytes(&all);
    for bytes in [0, indexes - 1, indexes + 100, all.filter_memory_bytes / 3, all.filter_memory_bytes / 2, u64::MAX] {
        let store = opened(bytes);
        let stats = store.stats();
        println!("{bytes}: {} held, of which {indexes} of indexes", stats.filter_memory_bytes);
        assert_eq!((index_bytes(&stats), stats.max_filter_memory_bytes), (indexes, Some(bytes)));
        assert!(stats.filter_memory_bytes <= bytes.max(indexes), "{stats:?}");
        let filters = &stats.tables[0].filters;
        let held: Vec<_> = filters.iter().map(|filter| filter.columns.expect("columns")).collect();
        let (most, least) = (|n: u32, of: u32| n == of, |n: u32, _: u32| n == 0);
        let is_extreme = if bytes == u64::MAX { most } else { least };
        let middle = bytes > indexes + 100 && bytes < u64::MAX;
        assert!(middle || held.iter().all(|columns| is_extreme(columns.held, columns.stored)), "{held:?}");
        assert!(!middle || held.iter().any(|columns| (1..columns.stored).contains(&columns.held)), "{held:?}");
        check_answers(&store);
        let ledger = store.ledger();
        assert_eq!((ledger.filter_block_reads, ledger.filter_block_cache_hits), (0, 0), "no partition is loaded");
        for (purpose, columns) in Purpose::OF_KEYS.into_iter().zip(&held) {
            let tally = ledger.of(purpose);
            assert_eq!(tally.count(Outcome::NoFilter) == 0, columns.held > 0, "{purpose}: {tally:?}");
            // Lookups are not independent: four are of the same absent row, and several have the same prefix.
            let (observed, expected) = (tally.count(Outcome::FalsePositive) as f64, tally.expected_false_positives);
            assert!((observed - expected).abs() <= 4.0 * (4.0 * expected).sqrt(), "{observed}, expected {expected}");
        }
        assert_eq!(store.verify().false_negatives(), 0);
    }
}

/// Partitions of other kinds still come through the cache; only their indexes are held, whatever the budget.
#[test]
fn a_budget_of_memory_counts_the_indexes_of_other_kinds() {
    for &kind in FilterKind::ALL.iter().filter(|&&kind| kind != FilterKind::Ribbon) {
        let storage = written(partitioned(kind));
        let whole = written(options(kind));
        for bytes in [0, 1 << 20] {
            let store = open(&storage, partitioned(kind).with_filter_memory_bytes(bytes).with_cache_bytes(1 << 20));
            let stats = store.stats();
            let filters = &stats.tables[0].filters;
            assert!(filters.iter().all(|filter| filter.columns.is_none() && filter.held_bytes < filter.bytes / 2));
            assert_eq!((stats.filter_memory_bytes, stats.filter_memory_bytes > 0), (index_bytes(&stats), true));
            check_answers(&store);
            assert!(store.ledger().filter_block_cache_hits > 1000);
            // Filters of one block are held whole.
            let stats = open(&whole, options(kind).with_filter_memory_bytes(bytes)).stats();
            assert_eq!(stats.filter_memory_bytes, stats.tables[0].filter_bytes);
        }
    }
}

/// Whatever the size of partitions, of which the last may be small, and the bits per key: all columns together are all
/// bytes of the filter.
#[test]
fn columns_of_partitions_of_all_sizes_add_up() {
    for partition_bytes in [256, 700, 5_000] {
        for bits_per_key in [3.0, 9.5, 20.0] {
            let options = inline().with_filter(Purpose::RowColumn, policy(FilterKind::Ribbon, bits_per_key));
            let options = options.with_seed(5).with_cache_bytes(0).with_partition_bytes(partition_bytes);
            let storage = written(options.clone());
            let all = open(&storage, options.clone().with_filter_memory_bytes(u64::MAX)).stats();
            assert_eq!(all.filter_memory_bytes, all.tables[0].filter_bytes, "{partition_bytes}, {bits_per_key}");
            let filter = &all.tables[0].filters[0];
            let columns = filter.columns.unwrap();
            assert_eq!(columns.held, columns.stored);
            let unlimited = open(&storage, options.clone()).stats().tables[0].filters[0];
            assert!((filter.predicted_fpr / unlimited.predicted_fpr - 1.0).abs() < 1e-9, "{filter:?} {unlimited:?}");
            // Each step down takes less, and passes more.
            let mut last = (all.filter_memory_bytes, filter.predicted_fpr, columns.held);
            while last.2 > 0 {
                let stats = open(&storage, options.clone().with_filter_memory_bytes(last.0 - 1)).stats();
                let filter = &stats.tables[0].filters[0];
                let next = (stats.filter_memory_bytes, filter.predicted_fpr, filter.columns.unwrap().held);
                assert!(next.0 < last.0 && next.1 > last.1 && next.2 < last.2, "{last:?}, then {next:?}");
                last = next;
            }
        }
    }
}

/// A damaged partition whose columns are to be held costs its own keys only, and is reported once.
#[test]
fn a_damaged_partition_holds_no_columns() {
    let storage = written(partitioned(FilterKind::Ribbon));
    let places = places_of(&table_of(&storage).1, &MAGIC);
    for (&at, memory_bytes) in places.iter().step_by(7).zip([u64::MAX, 6_000].into_iter().cycle()) {
        let options = partitioned(FilterKind::Ribbon).with_filter_memory_bytes(memory_bytes);
        let count = with_damage_at(at, &storage, options);
        let (unusable, avoided) = (count(Outcome::FilterUnusable), count(Outcome::Avoided));
        assert!(unusable > 20 && avoided > u64::from(NUM_ROWS), "{unusable} {avoided}");
    }
}

#[test]
fn a_damaged_index_costs_its_filter() {
    let storage = written(partitioned(FilterKind::Bloom));
    let (name, sound) = table_of(&storage);
    for at in places_of(&sound, &INDEX_MAGIC) {
        for offset in [0, 8, 30, 70, 90] {
            let mut bytes = sound.clone();
            bytes[at + offset] ^= 1;
            storage.replace(&name, bytes);
            let store = open(&storage, partitioned(FilterKind::Bloom));
            assert_eq!(store.warnings().len(), 1);
            assert_eq!(store.stats().tables[0].unusable.len(), 1);
            if offset == 30 {
                check_answers(&store);
            }
        }
    }
}
