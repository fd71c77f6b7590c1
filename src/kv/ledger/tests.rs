//! Accounts that open and close, and the report for people.

use super::super::purpose::Purpose;
use super::{Accounts, FilterAccount, Ledger, LedgerReport, Outcome, TableCounters, Tally};
use crate::FilterKind;
use std::sync::Arc;

/// A lookup with this outcome, and a block of 4096 bytes where it costs a read: every third from the cache.
fn book(counters: &TableCounters, purpose: Purpose, outcome: Outcome, times: u64) {
    let counters = counters.of(purpose);
    for time in 0..times {
        counters.begin();
        match (outcome.costs_a_read(), time % 3) {
            (false, _) => {}
            (true, 2) => counters.blocks().note_cache_hit(),
            (true, _) => counters.blocks().note_read(4096),
        }
        counters.end(outcome);
    }
}

fn filter(kind: FilterKind, predicted_fpr: f64) -> Option<FilterAccount> {
    Some(FilterAccount { kind, predicted_fpr })
}

/// Two tables in two levels, and one that is gone.
fn accounts() -> (Accounts, [Arc<TableCounters>; 2]) {
    let accounts = Accounts::default();
    let gone = accounts.open(3, 0, [filter(FilterKind::Blocked, 0.01), None, None]);
    book(&gone, Purpose::Row, Outcome::Avoided, 99);
    book(&gone, Purpose::Row, Outcome::FalsePositive, 1);
    book(&gone, Purpose::RowColumn, Outcome::NoFilter, 4);
    gone.of(Purpose::RowColumn).note_unfiltered_found();
    gone.scans().note_read(8192);
    drop(gone);

    let first = accounts.open(7, 0, [filter(FilterKind::Blocked, 0.02), filter(FilterKind::Golomb, 0.001), None]);
    book(&first, Purpose::Row, Outcome::Avoided, 197);
    book(&first, Purpose::Row, Outcome::FalsePositive, 3);
    book(&first, Purpose::Row, Outcome::TruePositive, 5);
    first.of(Purpose::Row).note_column_absent();
    book(&first, Purpose::RowColumn, Outcome::Tombstone, 2);
    book(&first, Purpose::RowColumn, Outcome::Failed, 1);
    first.filter_blocks().note_read(5000);
    first.filter_blocks().note_cache_hit();

    let second = accounts.open(2, 1, [None, None, filter(FilterKind::Bloom, 0.05)]);
    book(&second, Purpose::Prefix, Outcome::TruePositive, 3);
    second.of(Purpose::Prefix).note_range_absent();
    book(&second, Purpose::Prefix, Outcome::Avoided, 19);
    book(&second, Purpose::Prefix, Outcome::FalsePositive, 1);
    book(&second, Purpose::Row, Outcome::FilterUnusable, 1);
    book(&second, Purpose::Row, Outcome::OutOfKeyRange, 6);
    second.scans().note_cache_hit();
    (accounts, [first, second])
}

fn find(report: &LedgerReport, level: u32, purpose: Purpose, kind: Option<FilterKind>) -> Tally {
    let mut found = report.by_level.iter().filter(|of| (of.level, of.purpose, of.kind) == (level, purpose, kind));
    let tally = found.next().expect("a line").tally;
    assert!(found.next().is_none(), "one line a level, purpose and kind");
    tally
}

#[test]
fn closed_accounts_stay_in_the_sums() {
    let (accounts, [first, second]) = accounts();
    let report = accounts.report();
    assert_eq!(report.check(), Ok(()));
    assert_eq!(report.tables.iter().map(|account| account.table).collect::<Vec<_>>(), [7, 2]);
    let rows = find(&report, 0, Purpose::Row, Some(FilterKind::Blocked));
    assert_eq!((rows.count(Outcome::Avoided), rows.count(Outcome::FalsePositive)), (99 + 197, 1 + 3));
    assert!((rows.expected_false_positives - (100.0 * 0.01 + 200.0 * 0.02)).abs() < 1e-12);
    assert_eq!(find(&report, 0, Purpose::RowColumn, None).unfiltered_found, 1);
    assert_eq!(find(&report, 0, Purpose::RowColumn, Some(FilterKind::Golomb)).lookups, 3);
    assert_eq!(find(&report, 1, Purpose::Prefix, Some(FilterKind::Bloom)).range_absent, 1);
    assert_eq!(report.total.scan_block_bytes, 8192);
    assert_eq!((report.total.filter_block_bytes, report.total.filter_block_cache_hits), (5000, 1));
    let from_cache = [1, 4, 3, 5, 2, 3, 1, 1].iter().map(|costly: &u64| costly / 3).sum::<u64>() + 1;
    assert_eq!(report.total.data_block_cache_hits(), from_cache, "every third read, and a scan's");

    // Other filters, the same table: a line of its own, while a reader still counts on the old account.
    let replaced = accounts.open(7, 0, [filter(FilterKind::Bloom, 0.5), None, None]);
    book(&replaced, Purpose::Row, Outcome::Avoided, 10);
    book(&first, Purpose::Row, Outcome::Avoided, 1);
    let now = accounts.report();
    assert_eq!(now.check(), Ok(()));
    assert_eq!(find(&now, 0, Purpose::Row, Some(FilterKind::Bloom)).expected_false_positives, 5.0);
    assert_eq!(find(&now, 0, Purpose::Row, Some(FilterKind::Blocked)).lookups, rows.lookups + 1);
    assert_eq!((now.total.row.lookups, now.tables.len()), (report.total.row.lookups + 11, 3));

    drop((first, second, replaced));
    let closed = accounts.report();
    assert_eq!((closed.total, closed.check(), closed.tables.len()), (now.total, Ok(()), 0));
    let lines = |report: &LedgerReport| report.by_level.iter().map(|of| of.tally.lookups).collect::<Vec<_>>();
    let asked = |lines: Vec<u64>| lines.into_iter().filter(|&lookups| lookups > 0).collect::<Vec<_>>();
    assert_eq!(asked(lines(&closed)), asked(lines(&now)));
}

#[test]
fn a_snapshot_and_what_happened_since_add_up() {
    let (accounts, [first, second]) = accounts();
    let before = accounts.report().total;
    book(&first, Purpose::RowColumn, Outcome::Tombstone, 3);
    second.scans().note_read(512);
    second.scans().note_cache_hit();
    first.filter_blocks().note_read(100);
    first.filter_blocks().note_cache_hit();
    let after = accounts.report().total;
    let since = after.since(&before);
    assert_eq!((since.row, since.prefix), (Tally::default(), Tally::default()));
    assert_eq!((since.row_column.lookups, since.row_column.count(Outcome::Tombstone)), (3, 3));
    assert_eq!((since.scan_block_reads, since.scan_block_bytes, since.scan_block_cache_hits), (1, 512, 1));
    assert_eq!((since.filter_block_reads, since.filter_block_bytes, since.filter_block_cache_hits), (1, 100, 1));
    assert_eq!(before + since, after);
    assert_eq!(after.since(&after), Ledger::default());
}

#[test]
fn a_lookup_that_never_ended_is_an_imbalance_of_its_purpose() {
    for purpose in Purpose::ALL {
        let (accounts, [first, _]) = accounts();
        first.of(purpose).begin();
        let report = accounts.report();
        let lookups = report.total.of(purpose).lookups;
        for imbalance in [report.total.check(), report.check()].map(|checked| checked.expect_err("not ended")) {
            assert_eq!((imbalance.purpose, imbalance.rule), (purpose, "lookups = sum of outcomes"));
            let text = imbalance.to_string();
            assert!(text.ends_with(&format!("but {lookups} against {}", lookups - 1)), "{text}");
        }
    }
}

#[test]
fn closed_accounts_are_dropped_without_reports() {
    const HELD: usize = 50;
    let accounts = Accounts::default();
    let open = |table| accounts.open(table, 0, [None, None, None]);
    let held: Vec<_> = (0..HELD as u64).map(open).collect();
    let gone: Vec<_> = (0..1000).map(|table| Arc::downgrade(&open(table))).collect();
    let kept = gone.iter().filter(|counters| counters.strong_count() > 0).count();
    assert!(kept <= 2 * HELD, "{kept} of those that are gone beside {HELD} held");
    assert_eq!(accounts.report().tables.len(), held.len());
}

#[test]
fn levels_and_total_may_add_their_rates_in_another_order() {
    let accounts = Accounts::default();
    let rates = [(0, 0.01), (0, 0.01), (1, 0.02), (1, 0.05)];
    let tables = rates.map(|(level, rate)| accounts.open(1, level, [filter(FilterKind::Bloom, rate), None, None]));
    tables.iter().for_each(|table| book(table, Purpose::Row, Outcome::Avoided, 1));
    let report = accounts.report();
    let [shallow, deep] = [0, 1].map(|level| find(&report, level, Purpose::Row, Some(FilterKind::Bloom)));
    let sum = shallow.expected_false_positives + deep.expected_false_positives;
    assert_ne!(sum, report.total.row.expected_false_positives, "else this test shows nothing");
    assert_eq!(report.check(), Ok(()));
}

#[test]
fn names_of_outcomes_agree() {
    for outcome in Outcome::ALL {
        assert!(outcome.to_string().replace(' ', "_").starts_with(outcome.id()), "{outcome}");
        assert_eq!(format!("{outcome:<24}").len(), 24, "columns line up");
    }
}

#[test]
fn nothing_is_lost_while_accounts_close_under_reports() {
    const THREADS: u32 = 4;
    const TABLES: u64 = 50;
    const LOOKUPS: u64 = 200;
    let accounts = Accounts::default();
    std::thread::scope(|scope| {
        for level in 0..THREADS {
            let accounts = &accounts;
            scope.spawn(move || {
                for table in 0..TABLES {
                    let counters = accounts.open(table, level, [filter(FilterKind::Golomb, 0.25), None, None]);
                    book(&counters, Purpose::Row, Outcome::FalsePositive, LOOKUPS);
                }
            });
        }
        let mut last = 0;
        for _ in 0..100 {
            let lookups = accounts.report().total.row.lookups;
            assert!(lookups >= last, "{lookups} after {last}");
            last = lookups;
        }
    });
    let report = accounts.report();
    assert_eq!((report.check(), report.tables.len()), (Ok(()), 0));
    assert_eq!(report.total.row.lookups, u64::from(THREADS) * TABLES * LOOKUPS);
    assert_eq!(report.total.row.expected_false_positives, report.total.row.lookups as f64 / 4.0);
}

#[test]
fn the_table_is_that_of_the_golden_file() {
    let (accounts, _held) = accounts();
    let table = accounts.report().to_string();
    assert_eq!(table, include_str!("report.golden.txt"), "\n{table}");
}

#[test]
fn the_sums_of_data_blocks_are_of_all_purposes_and_scans() {
    let tally = |blocks: u64| Tally {
        data_block_reads: blocks,
        data_block_bytes: blocks * 4096,
        data_block_cache_hits: blocks * 1_000_000,
        ..Tally::default()
    };
    let ledger = Ledger {
        row: tally(3),
        row_column: tally(50),
        prefix: tally(700),
        scan_block_reads: 11_000,
        scan_block_bytes: 11_000 * 4096,
        scan_block_cache_hits: 11_000 * 1_000_000,
        ..Ledger::default()
    };
    assert_eq!(ledger.total(), tally(753));
    assert_eq!(ledger.data_block_reads(), 11_753);
    assert_eq!(ledger.data_block_bytes(), 11_753 * 4096);
    assert_eq!(ledger.data_block_cache_hits(), 11_753 * 1_000_000);
}
