//! Range filters: what scans skip by them, how the ledger counts it, and what is left when one cannot be used.

use crate::*;
use filterblock::range::RangeFilterBuilder;
use proptest::prelude::*;

pub(crate) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type RowBound = Bound<Vec<u8>>;

fn bits(bits: f64) -> RangePolicy {
    RangePolicy::with_bits_per_key(bits).unwrap()
}

/// The range filter of a table.
pub(crate) fn of_range(table: &TableFile) -> &filterblock_kv::TableFilter {
    table.filters().iter().find(|filter| filter.purpose == Purpose::Range).unwrap()
}

/// The range filter's place in a table.
pub(crate) fn place(table: &[u8]) -> Range<usize> {
    let parts = Parts::of(table).unwrap();
    parts.filters.into_iter().find(|(purpose, _)| *purpose == Purpose::Range.id()).unwrap().1
}

/// Damages the range filter of every table, and returns how many there are.
fn damage_all(storage: &SimStorage) -> usize {
    for table in tables(storage) {
        change(storage, &table, |bytes| {
            let place = place(bytes);
            bytes[place.end - 1] ^= 0x10;
        });
    }
    tables(storage).len()
}

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, u16),
    Delete(Vec<u8>),
    Flush,
    Compact,
    Scan(RowBound, RowBound),
    ScanPrefix(Vec<u8>),
}

/// Numbers, words with long common prefixes, and short strings of few bytes.
fn row() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0..200u8, any::<bool>()).prop_map(|(i, odd)| vec![0, i, if odd { 0xff } else { 0x80 }, 0]),
        (0..40u8, 0..5u8).prop_map(|(host, page)| format!("com.example.{host}/page/{page}").into_bytes()),
        prop::collection::vec(prop_oneof![Just(0), Just(b'a'), Just(0xff)], 0..4),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let bound = || {
        let beside = |(mut row, byte): (Vec<u8>, Option<u8>)| {
            row.extend(byte);
            row
        };
        let near = || (row(), prop::option::of(any::<u8>())).prop_map(beside);
        prop_oneof![near().prop_map(Bound::Included), near().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
    };
    let prefix = (row(), 0..30usize).prop_map(|(row, len)| row[..len.min(row.len())].to_vec());
    prop_oneof![
        12 => (row(), 0..400u16).prop_map(|(row, len)| Op::Put(row, len)),
        6 => row().prop_map(Op::Delete),
        2 => Just(Op::Flush),
        1 => Just(Op::Compact),
        6 => (bound(), bound()).prop_map(|(start, end)| Op::Scan(start, end)),
        3 => prefix.prop_map(Op::ScanPrefix),
    ]
}

fn check(
    found: impl Iterator<Item = Result<Cell, filterblock_kv::Error>>,
    rows: &Rows,
    within: impl Fn(&[u8]) -> bool,
) {
    let found: Vec<(Vec<u8>, Vec<u8>)> = found.map(|cell| cell.map(|cell| (cell.row, cell.value)).unwrap()).collect();
    let expected = rows.iter().filter(|(row, _)| within(row)).map(|(row, value)| (row.clone(), value.clone()));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

fn scan(store: &Store, rows: &Rows, op: &Op) {
    match op {
        Op::Scan(start, end) => {
            let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
            check(store.scan(range), rows, |row| RangeBounds::<[u8]>::contains(&range, row));
        }
        Op::ScanPrefix(prefix) => check(store.scan_prefix(prefix), rows, |row| row.starts_with(prefix)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans_are_those_of_a_map_with_range_filters_without_and_with_damaged_ones(
        ops in prop::collection::vec(op(), 1..200),
    ) {
        let cached = inline().with_filter_residence(FilterResidence::Cached).with_cache_bytes(20_000);
        for options in [
            inline(),
            inline().with_range_filter(bits(14.0)),
            inline().with_range_filter(bits(80.0)).with_partition_bytes(256).with_cache_bytes(2_000),
            cached.with_range_filter(bits(4.0)).with_prefix_filter(2, policy(FilterKind::Bloom, 4.0)),
            inline().with_level_range_filter(0, bits(30.0)).unwrap(),
        ] {
            let options = leveled(options.with_max_level0_tables(2), 3_000, (20_000, 2), 6_000);
            let (storage, mut rows) = (SimStorage::new(), Rows::new());
            let store = open(&storage, options.clone());
            for op in &ops {
                match op {
                    Op::Put(row, len) => {
                        let value = vec![*len as u8; (*len).into()];
                        store.put(row, b"column", &value).unwrap();
                        rows.insert(row.clone(), value);
                    }
                    Op::Delete(row) => {
                        store.delete(row, b"column").unwrap();
                        rows.remove(row);
                    }
                    Op::Flush => store.flush().unwrap(),
                    Op::Compact => store.compact().unwrap(),
                    Op::Scan(..) | Op::ScanPrefix(_) => scan(&store, &rows, op),
                }
            }
            store.flush().unwrap();
            prop_assert_eq!(store.verify().false_negatives(), 0);
            ops.iter().for_each(|op| scan(&store, &rows, op));
            prop_assert_eq!(store.ledger_report().check(), Ok(()));
            let has_all = store.stats().tables.iter().all(|table| table.range_filter.is_some());
            prop_assert!(store.warnings().is_empty());
            store.close().unwrap();
            if has_all {
                let num_tables = damage_all(&storage);
                let store = open(&storage, options);
                ops.iter().for_each(|op| scan(&store, &rows, op));
                prop_assert_eq!(store.warnings().len(), num_tables);
                prop_assert_eq!(store.ledger_report().check(), Ok(()));
            }
        }
    }
}

/// A row of the scripted store.
fn numbered(i: u32) -> Vec<u8> {
    format!("row/{i:06}").into_bytes()
}

/// What is in each table of the scripted store, from the oldest: rows that are written, and one that is deleted.
fn contents(table: u32) -> (Vec<u32>, Option<u32>) {
    match table {
        // A row in 100, and none from 30 000 to 60 000.
        0 => ((0..900).map(|i| 100 * i + if i < 300 { 0 } else { 30_000 }).collect(), None),
        1 => ((0..500).map(|i| 200 * i + 50).collect(), None),
        _ => ([0].into_iter().chain((0..300).map(|i| 60_003 + 7 * i)).chain([99_999]).collect(), Some(50_000)),
    }
}

fn scripted(storage: &SimStorage, options: StoreOptions) -> Store {
    let store = open(storage, options.with_cache_bytes(0).with_max_level0_tables(100).with_max_memtable_bytes(1 << 30));
    for table in 0..3 {
        let (written, deleted) = contents(table);
        written.iter().for_each(|&i| store.put(&numbered(i), b"column", &[0; 100]).unwrap());
        deleted.iter().for_each(|&i| store.delete(&numbered(i), b"column").unwrap());
        store.flush().unwrap();
    }
    store
}

/// The number of tables that a scan reaches, by what ends its lookup there. `passes` says whether the filter of a table
/// passes a range of rows.
fn expected(passes: impl Fn(u32, u32, u32) -> bool, ranges: &[(u32, u32)]) -> [u64; 4] {
    let mut outcomes = [0; 4];
    for &(start, end) in ranges {
        for table in 0..3 {
            let (written, deleted) = contents(table);
            let mut rows: Vec<u32> = written.into_iter().chain(deleted).collect();
            rows.sort_unstable();
            let is_out = end <= rows[0] || start > rows[rows.len() - 1];
            let has_some = rows.iter().any(|row| (start..end).contains(row));
            outcomes[match (is_out, has_some, passes(table, start, end)) {
                (true, ..) => 0,
                (false, false, false) => 1,
                (false, true, _) => 2,
                (false, false, true) => 3,
            }] += 1;
        }
    }
    outcomes
}

/// The filters are asked beside the store: from their files, with the format's own reader.
#[test]
fn every_table_that_a_scan_skips_and_every_false_positive_is_counted() {
    let within = (0..200).map(|i| (500 * i + 60 + i % 35, 500 * i + 60 + i % 35 + 1 + i % 90));
    let ranges: Vec<(u32, u32)> =
        within.chain([(0, 100_000), (49_990, 50_010), (99_950, 99_990), (100_000, 100_001)]).collect();
    let mut num_wrong = Vec::new();
    for policy in [bits(80.0), bits(2.0)] {
        let storage = SimStorage::new();
        let store = scripted(&storage, inline().with_range_filter(policy));
        let files: Vec<_> = tables(&storage).iter().map(|name| table_file(&storage.contents(name).unwrap())).collect();
        let filters: Vec<_> = files.iter().map(|(_, file)| of_range(file).open::<Ranges>().unwrap()).collect();
        assert_eq!(files.iter().map(|(_, file)| file.check().unwrap().missing_in_range_filter).sum::<u64>(), 0);
        let passes = |table: u32, start, end| {
            let bounds = [numbered(start), numbered(end)];
            filters[table as usize].may_contain_range(Bound::Included(&bounds[0]), Bound::Excluded(&bounds[1]))
        };
        for &(start, end) in &ranges {
            let (start, end) = (numbered(start), numbered(end));
            assert!(store.scan(&start[..]..&end[..]).all(|cell| cell.is_ok()));
        }
        let num = store.scan(&numbered(50_000)[..]..=&numbered(50_000)[..]).count();
        assert_eq!(num, 0, "the tombstone is not skipped");
        let (ranges, ledger) = ([&ranges[..], &[(50_000, 50_001)]].concat(), store.ledger());
        let of = ledger.of(Purpose::Range);
        let outcomes = [Outcome::OutOfKeyRange, Outcome::Avoided, Outcome::TruePositive, Outcome::FalsePositive];
        let counts = outcomes.map(|outcome| of.count(outcome));
        assert_eq!(counts, expected(passes, &ranges));
        assert_eq!(of.lookups, 3 * ranges.len() as u64);
        // Each costs the block that shows it.
        assert_eq!(of.data_block_reads, counts[2] + counts[3]);
        assert_eq!((of.predicted_fpr(), ledger.check()), (None, Ok(())));
        assert!(counts.iter().take(3).all(|&count| count > 0) && counts[1] > 50, "{counts:?}");
        let report = store.ledger_report().to_string();
        assert!(report.lines().any(|line| line.split_whitespace().take(3).eq(["0", "range", "-"])), "{report}");
        num_wrong.push(counts[3]);
    }
    assert!(num_wrong[0] < 10 && num_wrong[1] > 20, "{num_wrong:?}");
}

#[test]
fn a_range_filter_that_is_missing_damaged_or_of_other_rows_means_maybe_and_is_said_once() {
    let (storage, options) = (SimStorage::new(), inline().with_range_filter(bits(20.0)));
    let empty = |store: &Store| {
        assert_eq!(store.scan(&numbered(40_001)[..]..&numbered(40_009)[..]).count(), 0);
        let of = *store.ledger().of(Purpose::Range);
        [Outcome::Avoided, Outcome::NoFilter, Outcome::FilterUnusable].map(|outcome| of.count(outcome))
    };
    let store = scripted(&storage, options.clone());
    assert_eq!(empty(&store), [3, 0, 0]);
    let filters = store.stats().tables.iter().map(|table| table.range_filter.unwrap()).collect::<Vec<_>>();
    assert_eq!(filters.iter().map(|filter| filter.num_keys).collect::<Vec<_>>(), [303, 500, 900]);
    assert_eq!(store.stats().filter_memory_bytes, filters.iter().map(|filter| filter.bytes).sum::<u64>());
    store.close().unwrap();

    // A block under the right context and of the same length, with more rows.
    let table = tables(&storage).remove(0);
    let whole = storage.contents(&table).unwrap();
    let context = of_range(&table_file(&whole).1).context;
    let longer = |num_more: u32, tenths: u32| {
        let mut builder = RangeFilterBuilder::new(bits(f64::from(tenths) / 10.0));
        contents(0).0.iter().for_each(|&i| builder.add_key(&numbered(i)));
        (0..num_more).for_each(|i| builder.add_key(&numbered(i * 100 + 1)));
        builder.set_context(context);
        builder.finish().unwrap()
    };
    let place = place(&whole);
    let mut blocks = (1..400).flat_map(|num| (180..220).step_by(4).map(move |tenths| (num, longer(num, tenths))));
    let (num_more, block) = blocks.find(|(_, block)| block.len() == place.len()).expect("such a length");
    change(&storage, &table, |bytes| bytes[place.clone()].copy_from_slice(&block));
    let store = open(&storage, options.clone());
    assert_eq!(store.scan(..=&numbered(0)[..]).count(), 1);
    let warnings = store.warnings();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].problem, FilterProblem::NotAllRows { num_keys: 900 + u64::from(num_more), num_rows: 900 });
    assert_eq!(store.stats().tables[2].unusable, [Purpose::Range]);
    store.close().unwrap();

    damage_all(&storage);
    let store = open(&storage, options.clone());
    assert_eq!((empty(&store), empty(&store)), ([0, 0, 3], [0, 0, 6]));
    assert_eq!(store.warnings().len(), 3);
    assert!(store.warnings()[0].to_string().contains("range v1"), "{}", store.warnings()[0]);
    store.rebuild_filters(&RebuildOptions::new().with_range_filter(None)).unwrap();
    let before = empty(&store);
    assert!(before[1] == 3 && store.stats().tables.iter().all(|table| table.range_filter.is_none()), "{before:?}");
    store.rebuild_filters(&RebuildOptions::new()).unwrap();
    assert_eq!(empty(&store)[0], 3);
    let refused = RebuildOptions::new().with_filter(Purpose::Range, None);
    assert!(store.rebuild_filters(&refused).is_err());
    store.close().unwrap();
    // Written filters answer, whatever the options are; without any, nothing is counted.
    assert_eq!(empty(&open(&storage, inline())), [3, 0, 0]);
    assert_eq!(scripted(&SimStorage::new(), inline()).ledger().of(Purpose::Range).lookups, 0);
}

#[test]
fn range_filters_count_in_the_budget() {
    let options = inline().with_range_filter(bits(14.0)).with_filter(Purpose::Row, policy(FilterKind::Bloom, 10.0));
    let bytes_of = |budget| {
        let store = scripted(&SimStorage::new(), options.clone().with_filter_budget_bytes(budget));
        store.settle().unwrap();
        let tables = store.stats().tables;
        let of_ranges: u64 = tables.iter().map(|table| table.range_filter.unwrap().bytes).sum();
        (tables.iter().map(|table| table.filter_bytes).sum::<u64>(), of_ranges)
    };
    let (all, of_ranges) = bytes_of(4_000);
    assert!((3_400..=4_000).contains(&all) && of_ranges > 2_000, "{all} {of_ranges}");
    let (all, of_ranges) = bytes_of(8_000);
    assert!((6_000..=8_000).contains(&all) && of_ranges < 3_500, "{all} {of_ranges}");
}
