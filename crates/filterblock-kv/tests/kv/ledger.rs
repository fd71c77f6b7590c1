//! The outcome of every lookup, and that the sums agree.

use crate::*;

fn policy() -> FilterPolicy {
    FilterPolicy::with_bits_per_key(FilterKind::Blocked, 20.0).unwrap()
}

/// 1000 rows `r0000`, `r0002`, …, each with the columns `a` and `c`.
pub(crate) fn load(store: &Store) {
    let mut batch = WriteBatch::new();
    for i in 0..1000 {
        let row = format!("r{:04}", 2 * i);
        batch.put(row.as_bytes(), b"a", b"value of a").unwrap();
        batch.put(row.as_bytes(), b"c", b"value of c").unwrap();
    }
    store.write(batch).unwrap();
    store.flush().unwrap();
}

pub(crate) fn ask(store: &Store) {
    for i in 0..2000 {
        let row = format!("r{i:04}");
        let present = i % 2 == 0;
        assert_eq!(store.get(row.as_bytes(), b"a").unwrap().is_some(), present);
        assert_eq!(store.get(row.as_bytes(), b"b").unwrap(), None);
        assert_eq!(store.get_row(row.as_bytes()).unwrap().len(), if present { 2 } else { 0 });
    }
}

fn ledger_of(options: StoreOptions) -> Ledger {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), options.with_cache_bytes(0)).unwrap();
    load(&store);
    ask(&store);
    let ledger = store.ledger();
    assert_eq!(ledger.check(), Ok(()));
    assert_eq!(ledger.total().lookups, 6000);
    ledger
}

#[test]
fn with_both_filters_every_absent_key_is_avoided_or_a_false_positive() {
    let ledger = ledger_of(with_both(policy()).with_seed(1));
    let (row, cell) = (ledger.of(Purpose::Row), ledger.of(Purpose::RowColumn));
    assert_eq!((row.lookups, cell.lookups), (2000, 4000));
    assert_eq!((row.count(Outcome::TruePositive), cell.count(Outcome::TruePositive)), (1000, 1000));
    assert_eq!(row.absent_asked() + row.count(Outcome::OutOfKeyRange), 1000);
    assert_eq!(cell.absent_asked() + cell.count(Outcome::OutOfKeyRange), 3000);
    assert!(row.count(Outcome::OutOfKeyRange) >= 1, "the last absent row is after the last row");
    assert!(row.count(Outcome::Avoided) > 950 && cell.count(Outcome::Avoided) > 2900);
    // A cell lookup that is not decided in memory reads exactly one block.
    assert_eq!(cell.data_block_reads, 1000 + cell.count(Outcome::FalsePositive));
    assert_eq!(ledger.data_block_bytes(), ledger.data_block_reads() * 4096);
    assert!(cell.predicted_fpr().is_some_and(|rate| rate > 0.0 && rate < 0.001));
}

#[test]
fn what_is_avoided_is_what_would_have_been_read() {
    let none = ledger_of(StoreOptions::without_filters());
    let both = ledger_of(with_both(policy()));
    assert_eq!(none.total().count(Outcome::Avoided), 0);
    assert_eq!(none.data_block_reads() - both.data_block_reads(), both.total().count(Outcome::Avoided));
    // Key ranges are checked first, so filters do not change what they decide.
    let out_of_range = |ledger: &Ledger| ledger.total().count(Outcome::OutOfKeyRange);
    assert_eq!(out_of_range(&none), out_of_range(&both));
    let unfiltered = none.total();
    assert_eq!(unfiltered.count(Outcome::NoFilter) + out_of_range(&none), 6000);
    assert_eq!(unfiltered.unfiltered_found, 2000);
    assert_eq!((none.of(Purpose::Row).lookups, none.of(Purpose::RowColumn).lookups), (2000, 4000));
}

#[test]
fn a_row_filter_alone_answers_for_cells_and_is_right_about_rows() {
    let ledger = ledger_of(StoreOptions::without_filters().with_filter(Purpose::Row, policy()));
    let row = ledger.of(Purpose::Row);
    assert_eq!((row.lookups, ledger.of(Purpose::RowColumn).lookups), (6000, 0));
    assert_eq!(row.count(Outcome::TruePositive), 2000 + row.entry_only, "rows, cells, rows of absent columns");
    assert_eq!(row.entry_only, 1000, "of each row that has the column before and the one after");
    assert!(row.count(Outcome::FalsePositive) < 20);
}

/// A row that ends a block is told from an absent one, though the queried key is in the range of the next block.
#[test]
fn a_row_filter_is_right_about_rows_that_end_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::without_filters().with_filter(Purpose::Row, policy());
    let store = Store::open_dir(dir.path(), options.with_seed(1)).unwrap();
    load(&store);
    assert!(store.stats().tables[0].num_blocks > 10);
    for i in 0..999 {
        assert_eq!(store.get(format!("r{:04}", 2 * i).as_bytes(), b"d").unwrap(), None);
    }
    let row = *store.ledger().of(Purpose::Row);
    assert_eq!((row.count(Outcome::FalsePositive), row.entry_only), (0, 999));
}

#[test]
fn a_row_column_filter_alone_does_not_answer_for_rows() {
    let ledger = ledger_of(StoreOptions::without_filters().with_filter(Purpose::RowColumn, policy()));
    let row = ledger.of(Purpose::Row);
    assert_eq!(row.count(Outcome::NoFilter) + row.count(Outcome::OutOfKeyRange), 2000);
    assert_eq!(row.unfiltered_found, 1000);
    assert_eq!(ledger.of(Purpose::RowColumn).count(Outcome::TruePositive), 1000);
}

#[test]
fn tombstones_hide_older_values_and_have_their_own_line() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), StoreOptions::default()).unwrap();
    store.put(b"row", b"column", b"old").unwrap();
    store.put(b"row", b"other", b"stays").unwrap();
    store.flush().unwrap();
    store.delete(b"row", b"column").unwrap();
    store.flush().unwrap();
    assert_eq!(store.get(b"row", b"column").unwrap(), None);
    let ledger = store.ledger();
    let cell = ledger.of(Purpose::RowColumn);
    assert_eq!((cell.lookups, cell.count(Outcome::Tombstone)), (1, 1));
    assert_eq!(store.get_row(b"row").unwrap().len(), 1);
    let row = *store.ledger().of(Purpose::Row);
    assert_eq!((row.count(Outcome::Tombstone), row.count(Outcome::TruePositive)), (1, 1));
    let stats = store.stats();
    assert_eq!((stats.tables[0].num_tombstones, stats.tables[1].num_tombstones), (1, 0));
    assert!(stats.tables[0].number > stats.tables[1].number, "newest first");
    // Written again, the cell is back.
    store.put(b"row", b"column", b"new").unwrap();
    assert_eq!(store.get(b"row", b"column").unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(store.ledger().check(), Ok(()));
}

#[test]
fn cached_blocks_are_not_read_again_and_answers_stay() {
    let options = with_both(policy()).with_seed(1);
    let none = ledger_of(options.clone());
    for residence in [FilterResidence::Pinned, FilterResidence::Cached] {
        let dir = tempfile::tempdir().unwrap();
        let options = options.clone().with_filter_residence(residence).with_cache_bytes(4 << 20);
        let store = Store::open_dir(dir.path(), options.clone()).unwrap();
        load(&store);
        ask(&store);
        let (ledger, cache) = (store.ledger(), store.stats().cache);
        assert_eq!(ledger.check(), Ok(()));
        for purpose in [Purpose::Row, Purpose::RowColumn] {
            let (cached, read) = (ledger.of(purpose), none.of(purpose));
            assert_eq!(cached.data_block_reads + cached.data_block_cache_hits, read.data_block_reads);
            assert_eq!(cached.expected_false_positives, read.expected_false_positives);
            for &outcome in Outcome::ALL {
                assert_eq!(cached.count(outcome), read.count(outcome), "{outcome}");
            }
        }
        let num_blocks = store.stats().tables[0].num_blocks;
        assert_eq!(ledger.data_block_reads(), num_blocks, "each block is read once");
        assert_eq!(cache.data_misses, num_blocks);
        assert!(cache.held_bytes + cache.pinned_bytes <= cache.max_bytes);
        let is_cached = residence == FilterResidence::Cached;
        assert_eq!((cache.pinned_bytes == 0, ledger.filter_block_cache_hits > 4000), (is_cached, is_cached));
        assert_eq!(ledger.filter_block_reads, 0, "they came into the cache when the table was written");
        drop(store);

        // With room for a few blocks only, filters are read repeatedly, and are right each time.
        let store = Store::open_dir(dir.path(), options.with_cache_bytes(40 << 10)).unwrap();
        ask(&store);
        ask(&store);
        let ledger = store.ledger();
        assert_eq!(ledger.check(), Ok(()));
        assert!(ledger.data_block_reads() > num_blocks);
        let avoided = |ledger: &Ledger| ledger.of(Purpose::RowColumn).count(Outcome::Avoided);
        assert_eq!(avoided(&ledger), 2 * avoided(&none));
        assert_eq!(ledger.filter_block_reads > 0, is_cached);
        assert!(store.warnings().is_empty());
    }
}

#[test]
fn filters_that_cannot_be_built_are_counted_and_answers_stay() {
    // A block of this length cannot hold that many rows.
    let too_small = FilterPolicy::with_max_bytes(FilterKind::Blocked, 65).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::without_filters().with_filter(Purpose::Row, too_small);
    let store = Store::open_dir(dir.path(), options).unwrap();
    load(&store);
    ask(&store);
    let report = store.ledger_report();
    assert_eq!((report.filters_not_built, report.check()), (1, Ok(())));
    let row = report.total.of(Purpose::Row);
    assert_eq!(row.count(Outcome::NoFilter) + row.count(Outcome::OutOfKeyRange), 2000);
    let warnings = store.warnings();
    assert!(matches!(&warnings[..], [one] if matches!(one.problem, FilterProblem::NotBuilt(_))), "{warnings:?}");
    // Once for each table that is written: another flush, the compaction of both, and a rebuild.
    load(&store);
    store.compact().unwrap();
    ask(&store);
    store.rebuild_filters(&RebuildOptions::new()).unwrap();
    assert_eq!((store.ledger_report().filters_not_built, store.warnings().len()), (4, 4));
}
