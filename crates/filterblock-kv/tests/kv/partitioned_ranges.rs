//! Partitioned range filters: scans as those of a map, two partitions read at most, and damage that costs the ranges of
//! a partition only.

use crate::ranges::{Rows, of_range, place};
use crate::*;
use filterblock::partition::{PartitionLimit, PartitionedRangeFilterBuilder};
use std::convert::Infallible;

type RowRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn whole() -> StoreOptions {
    let policy = RangePolicy::with_bits_per_key(20.0).unwrap();
    inline().with_range_filter(policy).with_cache_bytes(0).with_max_level0_tables(100).with_max_memtable_bytes(1 << 30)
}

fn partitioned() -> StoreOptions {
    whole().with_partition_bytes(512)
}

/// Rows of three lengths, in order of `i`.
fn row(i: u32) -> Vec<u8> {
    format!("row/{i:06}{}", ["", "/", "\0z"][i as usize % 3]).into_bytes()
}

/// Three tables, each newer than the one before: rows with gaps, others between them, and rows deleted.
fn written(options: StoreOptions) -> (SimStorage, Rows) {
    let (storage, mut rows) = (SimStorage::new(), Rows::new());
    let store = open(&storage, options);
    let put = |rows: &mut Rows, i: u32| {
        let value = format!("value {i}").into_bytes();
        store.put(&row(i), b"column", &value).unwrap();
        rows.insert(row(i), value);
    };
    (0..900).for_each(|i| put(&mut rows, 100 * i));
    store.flush().unwrap();
    (0..600).for_each(|i| put(&mut rows, 150 * i + 7));
    store.flush().unwrap();
    for i in 0..700 {
        store.delete(&row(100 * i), b"column").unwrap();
        rows.remove(&row(100 * i));
        if i % 5 == 0 {
            put(&mut rows, 100 * i + 50);
        }
    }
    store.flush().unwrap();
    store.close().unwrap();
    (storage, rows)
}

/// The offsets of a table's partitions.
fn partitions(table: &[u8]) -> Vec<usize> {
    place(table).step_by(64).filter(|&at| table[at..].starts_with(&MAGIC)).collect()
}

/// Narrow and wide ranges of all rows, from a step to the next.
fn ranges() -> Vec<RowRange> {
    let mut all = Vec::new();
    for i in (0..91_000).step_by(37) {
        let ends = [1, 3, 20, 60, 400, 5_000, 30_000];
        let end = row(i + ends[i as usize / 37 % ends.len()]);
        all.push(match i % 3 {
            0 => (Bound::Included(row(i)), Bound::Excluded(end)),
            1 => (Bound::Excluded(row(i)), Bound::Included(end)),
            _ => (Bound::Included(row(i)), Bound::Included(end)),
        });
    }
    // From a row of the second table to the next: some of these pairs are in two partitions.
    for (i, next) in (0..599).map(|i| (row(150 * i + 7), row(150 * (i + 1) + 7))) {
        all.push((Bound::Excluded(i.clone()), Bound::Included(next.clone())));
        all.push((Bound::Excluded(i), Bound::Excluded(next)));
    }
    all.extend([
        (Bound::Unbounded, Bound::Included(row(7))),
        (Bound::Included(row(89_000)), Bound::Unbounded),
        (Bound::Unbounded, Bound::Unbounded),
    ]);
    all
}

fn scan(store: &Store, rows: &Rows, (start, end): &RowRange) {
    let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
    let found: Vec<_> = store.scan(range).map(|cell| cell.map(|cell| (cell.row, cell.value)).unwrap()).collect();
    let within = rows.iter().filter(|(row, _)| RangeBounds::<[u8]>::contains(&range, row.as_slice()));
    assert_eq!(found, within.map(|(row, value)| (row.clone(), value.clone())).collect::<Vec<_>>(), "{range:?}");
}

/// Compares scans with a map, and returns the ledger of them.
fn check_scans(store: &Store, rows: &Rows) -> Ledger {
    let before = store.ledger();
    ranges().iter().for_each(|range| scan(store, rows, range));
    for i in (0..91_000).step_by(1_111) {
        for len in [5, 8, 9, 10, 11] {
            let prefix = &row(i)[..len.min(row(i).len())];
            let found = store.scan_prefix(prefix).map(|cell| cell.unwrap().row);
            assert!(found.eq(rows.keys().filter(|row| row.starts_with(prefix)).cloned()), "{prefix:?}");
        }
    }
    store.ledger_report().check().unwrap();
    store.ledger().since(&before)
}

#[test]
fn scans_are_those_of_a_map_and_read_two_partitions_of_a_table_at_most() {
    let (storage, rows) = written(partitioned());
    let num: Vec<usize> =
        tables(&storage).iter().map(|name| partitions(&storage.contents(name).unwrap()).len()).collect();
    assert!(num.iter().all(|&num| num > 2), "{num:?}");
    let store = open(&storage, partitioned());
    let of = *check_scans(&store, &rows).of(Purpose::Range);
    let avoided = of.count(Outcome::Avoided);
    assert!(avoided > 2_000 && of.count(Outcome::FilterUnusable) == 0, "{of:?}");
    let mut reads = [0; 7];
    for range in ranges() {
        let before = store.ledger();
        scan(&store, &rows, &range);
        let ledger = store.ledger().since(&before);
        assert_eq!(ledger.filter_block_bytes, ledger.filter_block_reads * PAGE_LEN as u64);
        reads[ledger.filter_block_reads as usize] += 1;
    }
    assert!(reads[0] > 10 && reads[3] > 100 && reads[4..].iter().sum::<u64>() > 0, "{reads:?}");
    // All rows of some partition lie between the bounds.
    let before = store.ledger();
    scan(&store, &rows, &(Bound::Included(row(1)), Bound::Included(row(80_000))));
    let ledger = store.ledger().since(&before);
    assert_eq!((ledger.filter_block_reads, ledger.of(Purpose::Range).count(Outcome::TruePositive)), (0, 3));

    assert_eq!((store.verify().false_negatives(), store.warnings()), (0, vec![]));
    assert!(store.verify().tables.iter().all(|table| table.range_filter.unwrap().present_asked == table.num_cells));
    let stats = store.stats();
    for filter in stats.tables.iter().map(|table| table.range_filter.unwrap()) {
        assert!(filter.held_bytes > 64 && filter.held_bytes * 4 < filter.bytes, "{filter:?}");
    }
    store.compact().unwrap();
    check_scans(&store, &rows);
    assert_eq!((store.verify().false_negatives(), store.warnings()), (0, vec![]));
}

#[test]
fn a_damaged_partition_costs_the_scans_that_end_in_it() {
    let (storage, rows) = written(partitioned());
    for name in tables(&storage) {
        let sound = storage.contents(&name).unwrap();
        for at in partitions(&sound) {
            change(&storage, &name, |bytes| bytes[at + 70] ^= 1);
            let store = open(&storage, partitioned());
            let of = *check_scans(&store, &rows).of(Purpose::Range);
            assert!(of.count(Outcome::FilterUnusable) > 5 && of.count(Outcome::Avoided) > 1_000, "{at}: {of:?}");
            assert_eq!(store.verify().false_negatives(), 0);
            let warnings = store.warnings();
            assert_eq!((warnings.len(), warnings[0].offset), (1, at as u64), "said once");
            assert!(store.stats().tables.iter().all(|table| table.unusable.is_empty()));
            store.close().unwrap();
            storage.replace(&name, sound.clone());
        }
    }
}

#[test]
fn a_partition_that_cannot_be_read_is_maybe_and_is_not_read_again() {
    let (storage, rows) = written(partitioned());
    let store = open(&storage, partitioned());
    storage.inject(Fault::once(FaultKind::Io, storage.num_operations()));
    let narrow = (Bound::Included(row(20_001)), Bound::Included(row(20_003)));
    let unusable = || {
        scan(&store, &rows, &narrow);
        store.ledger().of(Purpose::Range).count(Outcome::FilterUnusable)
    };
    assert_eq!((unusable(), unusable(), storage.num_injected()), (1, 2, 1));
    let of = *check_scans(&store, &rows).of(Purpose::Range);
    assert!(of.count(Outcome::FilterUnusable) > 5 && of.count(Outcome::Avoided) > 1_000, "{of:?}");
    let problem = &store.warnings()[0].problem;
    assert!(matches!(problem, FilterProblem::Unreadable(_)) && store.warnings().len() == 1, "{problem}");
    assert_eq!(store.verify().false_negatives(), 0);
}

#[test]
fn an_index_that_is_damaged_or_of_other_rows_costs_the_filter_until_it_is_rebuilt() {
    let (storage, rows) = written(partitioned());
    let names = tables(&storage);
    let sound = storage.contents(&names[0]).unwrap();
    let all_unusable = |store: &Store, rows: &Rows| {
        let of = *check_scans(store, rows).of(Purpose::Range);
        assert!(of.count(Outcome::FilterUnusable) > 1_000 && of.count(Outcome::Avoided) > 1_000, "{of:?}");
        assert_eq!((store.warnings().len(), store.verify().false_negatives()), (1, 0));
    };
    change(&storage, &names[0], |bytes| bytes[place(&sound).end - 1] ^= 1);
    let store = open(&storage, partitioned());
    all_unusable(&store, &rows);
    assert!(matches!(store.warnings()[0].problem, FilterProblem::Decode(_)));
    assert_eq!(store.verify().tables[2].unusable, [Purpose::Range]);
    store.rebuild_filters(&RebuildOptions::new()).unwrap();
    let of = *check_scans(&store, &rows).of(Purpose::Range);
    assert_eq!((of.count(Outcome::FilterUnusable), store.warnings().len()), (0, 1));
    assert!(store.stats().tables.iter().all(|table| table.range_filter.is_some_and(|of| of.held_bytes < of.bytes)));
    store.close().unwrap();

    // An index under the right context that lacks a row.
    let (storage, rows) = written(partitioned());
    let (_dir, table) = table_file(&sound);
    assert_eq!(table.check().unwrap().missing_in_range_filter, 0);
    let filter = of_range(&table);
    let partitions = filter.open_partitions::<Ranges>().unwrap();
    assert!(filter.open::<Ranges>().is_err() && partitions.partitions().all(|(_, opened)| opened.is_ok()));
    // As one of the other family it is refused.
    assert!(filter.open_partitions::<Keys>().is_err());
    let limit = PartitionLimit::Bytes(512);
    let mut builder =
        PartitionedRangeFilterBuilder::new(&RangePolicy::with_bits_per_key(20.0).unwrap(), limit).unwrap();
    builder.set_context(filter.context);
    let mut end = 0;
    let mut store = |block: &[u8]| {
        end += block.len() as u64;
        Ok::<_, Infallible>(end - block.len() as u64)
    };
    (0..900).filter(|&i| i != 898).for_each(|i| builder.add_key(&row(100 * i), &mut store).unwrap());
    let index = builder.finish(&mut store).unwrap();
    assert_eq!(index.len(), filter.index_len as usize);
    change(&storage, &names[0], |bytes| {
        let end = place(bytes).end;
        bytes[end - index.len()..end].copy_from_slice(&index);
    });
    let store = open(&storage, partitioned());
    all_unusable(&store, &rows);
    assert_eq!(store.warnings()[0].problem, FilterProblem::NotAllRows { num_keys: 899, num_rows: 900 });
    store.close().unwrap();
    let apply = RepairOptions::new().with_apply(true);
    let report = Store::repair(Arc::new(storage.clone()), partitioned(), apply).unwrap();
    assert_eq!(report.filters.len(), 1);
    let store = open(&storage, partitioned());
    check_scans(&store, &rows);
    assert!(store.warnings().is_empty());
}

/// Every byte of a filter, its padding and index included.
#[test]
fn no_changed_byte_hides_a_row() {
    let (storage, rows) = written(partitioned());
    let name = tables(&storage).pop().unwrap();
    let sound = storage.contents(&name).unwrap();
    let mut num_noticed = 0;
    for at in place(&sound).step_by(61) {
        storage.replace(&name, sound.clone());
        change(&storage, &name, |bytes| bytes[at] ^= 4);
        let store = open(&storage, partitioned());
        ranges().iter().step_by(7).for_each(|range| scan(&store, &rows, range));
        assert!(store.warnings().len() < 2 && store.verify().false_negatives() == 0);
        num_noticed += store.warnings().len();
    }
    // What is not noticed lies between partitions.
    assert!(num_noticed * 100 > place(&sound).len() / 61 * 70, "{num_noticed} of {}", place(&sound).len() / 61);
}

#[test]
fn swapped_partitions_answer_nothing() {
    let (storage, rows) = written(partitioned());
    let name = tables(&storage).remove(0);
    let [first, second] = partitions(&storage.contents(&name).unwrap())[..2] else { panic!("two partitions") };
    change(&storage, &name, |bytes| {
        let (left, right) = bytes.split_at_mut(second);
        left[first..].swap_with_slice(&mut right[..second - first]);
    });
    let store = open(&storage, partitioned());
    check_scans(&store, &rows);
    assert_eq!((store.warnings().len(), store.verify().false_negatives()), (2, 0));
}

#[test]
fn whole_filters_are_read_and_rebuilt_as_partitions_and_back() {
    let (storage, rows) = written(whole());
    let (large, _) = written(whole().with_partition_bytes(1 << 20));
    let bytes = |storage: &SimStorage| tables(storage).iter().map(|name| storage.contents(name).unwrap()).collect();
    let [of_whole, of_large]: [Vec<Vec<u8>>; 2] = [bytes(&storage), bytes(&large)];
    assert!(of_whole == of_large, "a filter that would be one partition is one block");
    for (options, is_partitioned) in [(partitioned(), true), (whole(), false)] {
        let store = open(&storage, options);
        check_scans(&store, &rows);
        store.rebuild_filters(&RebuildOptions::new()).unwrap();
        check_scans(&store, &rows);
        let filters: Vec<_> = store.stats().tables.iter().map(|table| table.range_filter.unwrap()).collect();
        assert!(filters.iter().all(|of| (of.held_bytes < of.bytes) == is_partitioned), "{filters:?}");
        assert_eq!((store.warnings(), store.verify().false_negatives()), (vec![], 0));
        store.close().unwrap();
    }
}

#[test]
fn partitions_and_indexes_count_in_the_budget() {
    let budget = 6_000;
    let policy = policy(FilterKind::Bloom, 10.0);
    let options = |options: StoreOptions| {
        options
            .with_range_filter(RangePolicy::with_bits_per_key(12.0).unwrap())
            .with_filter(Purpose::Row, policy.clone())
    };
    let (storage, rows) = written(options(partitioned()).with_filter_budget_bytes(budget));
    let store = open(&storage, options(partitioned()).with_filter_budget_bytes(budget));
    store.settle().unwrap();
    let bytes: u64 = store.stats().tables.iter().map(|table| table.filter_bytes).sum();
    assert!((budget * 3 / 4..=budget).contains(&bytes), "{bytes} of {budget}");
    check_scans(&store, &rows);
}

/// The cache has room for one of six filters. Every scan asks all six, for a place where they have no row.
#[test]
fn a_small_cache_reads_fewer_bytes_of_partitions_than_of_whole_filters() {
    let bytes_of = |options: StoreOptions| {
        let options = options.with_filter_residence(FilterResidence::Cached);
        let storage = SimStorage::new();
        let store = open(&storage, options.clone());
        for table in 0..6 {
            (0..12_000).for_each(|i| store.put(&row(60 * i + table), b"column", b"").unwrap());
            store.flush().unwrap();
        }
        store.close().unwrap();
        let store = open(&storage, options.clone());
        let filters: Vec<u64> = store.stats().tables.iter().map(|table| table.range_filter.unwrap().bytes).collect();
        store.close().unwrap();
        let cache_bytes = filters.iter().max().unwrap() * 5 / 4;
        assert!(filters.iter().all(|bytes| bytes * 2 > cache_bytes), "{filters:?}");
        let store = open(&storage, options.with_cache_bytes(cache_bytes));
        assert_eq!(store.stats().cache.pinned_bytes > 0, store.stats().filter_memory_bytes > 0);
        let before = store.ledger();
        let num_scans = 2_000;
        for scan in 0..num_scans {
            let i = 60 * (scan * 7_919 % 12_000);
            assert_eq!(store.scan(&row(i + 20)[..]..&row(i + 24)[..]).count(), 0);
        }
        let ledger = store.ledger().since(&before);
        let of = ledger.of(Purpose::Range);
        println!(
            "{} bytes of filters a scan in {} reads, {} in the cache; {} of {} avoided",
            ledger.filter_block_bytes / u64::from(num_scans),
            ledger.filter_block_reads,
            ledger.filter_block_cache_hits,
            of.count(Outcome::Avoided),
            of.lookups
        );
        assert!(of.count(Outcome::Avoided) * 100 > of.lookups * 95, "{of:?}");
        ledger.filter_block_bytes
    };
    let (of_whole, of_partitions) = (bytes_of(whole()), bytes_of(whole().with_partition_bytes(4_096)));
    assert!(of_partitions * 4 < of_whole, "{of_partitions} and {of_whole}");
}
