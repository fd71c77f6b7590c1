//! Reads for absent keys are as many as the filters' predicted rates.

use crate::*;

/// A debug build takes ten times as long, so it looks up fewer.
const NUM_ABSENT: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
const NUM_ROWS: u64 = 20_000;

/// Several tables in each of several levels, over the same range of rows.
fn load(storage: &SimStorage, policy: FilterPolicy) -> Store {
    let options = leveled(with_both(policy), 100_000, (300_000, 3), 100_000).with_seed(13);
    let options = options.with_maintenance(Maintenance::Inline { seed: 1 }).with_cache_bytes(0);
    let store = open(storage, options);
    // The first and the last of all rows are present, so that absent ones are between them.
    for bound in [&b""[..], &[0xff]] {
        store.put(bound, b"column", b"").unwrap();
    }
    for i in 0..NUM_ROWS {
        store.put(&scattered(i), b"column", &[7; 20]).unwrap();
    }
    store.flush().unwrap();
    store.settle().unwrap();
    let stats = store.stats();
    let levels: std::collections::BTreeSet<usize> = stats.tables.iter().map(|table| table.level).collect();
    assert!(levels.len() >= 2 && stats.tables.len() >= 10, "{} tables in levels {levels:?}", stats.tables.len());
    store
}

fn reads_are_predicted(kind: FilterKind, bits_per_key: f64) {
    let storage = SimStorage::new();
    let store = load(&storage, FilterPolicy::with_bits_per_key(kind, bits_per_key).unwrap());
    let (before, reads_before) = (store.ledger(), storage.read_counts());
    assert_eq!(before.total().lookups, 0);
    // Cells and rows alternate, each counted under their own filters.
    for i in NUM_ROWS..NUM_ROWS + NUM_ABSENT {
        match i % 2 {
            0 => assert_eq!(store.get(&scattered(i), b"column").unwrap(), None),
            _ => assert!(store.get_row(&scattered(i)).unwrap().is_empty()),
        }
    }
    let (report, stats) = (store.ledger_report(), store.stats());
    assert_eq!(report.check(), Ok(()));
    let reads = storage.read_counts();
    let (num_reads, num_bytes) = (reads.reads - reads_before.reads, reads.bytes - reads_before.bytes);
    assert_eq!(report.total.data_block_reads(), num_reads);
    assert_eq!(report.total.data_block_bytes(), num_bytes);
    // Each false positive costs one read, and nothing else is read.
    assert_eq!(report.total.total().count(Outcome::FalsePositive), num_reads);
    for purpose in [Purpose::Row, Purpose::RowColumn] {
        let tally = report.total.of(purpose);
        let (mut expected, mut variance) = (0.0, 0.0);
        for table in &stats.tables {
            let filter = table.filters.iter().find(|filter| filter.purpose == purpose).unwrap();
            let asked = table.ledger.of(purpose).absent_asked() as f64;
            expected += filter.predicted_fpr * asked;
            variance += filter.predicted_fpr * (1.0 - filter.predicted_fpr) * asked;
        }
        assert!((expected - tally.expected_false_positives).abs() < 1e-6 * expected, "the ledger's own sum");
        let found = tally.count(Outcome::FalsePositive);
        let deviation = (found as f64 - expected) / variance.sqrt();
        println!(
            "counted: {kind} {purpose}: {} absent asked, {found} reads, {expected:.1} predicted, {deviation:+.2} standard deviations",
            tally.absent_asked()
        );
        assert!(tally.absent_asked() > NUM_ABSENT, "several tables for each lookup");
        assert!(found > 100 && deviation.abs() <= 4.0, "{deviation}");
    }
}

macro_rules! of_kinds {
    ($($test:ident: $Kind:ident, $bits_per_key:literal;)+) => {$(
        #[test]
        fn $test() {
            reads_are_predicted(FilterKind::$Kind, $bits_per_key);
        }
    )+};
}

of_kinds! {
    reads_for_absent_rows_are_those_that_bloom_filters_predict: Bloom, 9.0;
    reads_for_absent_rows_are_those_that_blocked_filters_predict: Blocked, 9.0;
    reads_for_absent_rows_are_those_that_golomb_filters_predict: Golomb, 7.0;
    reads_for_absent_rows_are_those_that_ribbon_filters_predict: Ribbon, 7.0;
    reads_for_absent_rows_are_those_that_fuse_filters_predict: Fuse, 7.0;
}
