//! Accounts that open and close, and the report for people.

use super::{Accounts, FilterFacts, Ledger, LedgerReport, LookupClass, Outcome, TableCounters, Tally};
use filterblock::FilterKind;
use std::sync::Arc;

pub(super) static CLASSES: [LookupClass; 3] =
    [LookupClass::group("row"), LookupClass::point("row+column"), LookupClass::range("prefix")];
pub(super) const ROW: usize = 0;
pub(super) const CELL: usize = 1;
pub(super) const PREFIX: usize = 2;

/// A lookup with this outcome, and a block of 4096 bytes where it costs a read: every third from the cache.
pub(super) fn book(counters: &TableCounters, class: usize, outcome: Outcome, times: u64) {
    for time in 0..times {
        let lookup = counters.of(class).begin();
        match (outcome.costs_a_read(), time % 3) {
            (false, _) => {}
            (true, 2) => lookup.blocks().note_cache_hit(),
            (true, _) => lookup.blocks().note_read(4096),
        }
        lookup.end(outcome);
    }
}

pub(super) fn filter(kind: FilterKind, predicted_fpr: f64) -> Option<FilterFacts> {
    Some(FilterFacts::new(kind, predicted_fpr))
}

/// Two tables in two levels, and one that is gone.
fn accounts() -> (Accounts, [Arc<TableCounters>; 2]) {
    let accounts = Accounts::new(&CLASSES);
    let gone = accounts.open(3, 0, [filter(FilterKind::Blocked, 0.01), None, None]);
    book(&gone, ROW, Outcome::Avoided, 99);
    book(&gone, ROW, Outcome::FalsePositive, 1);
    book(&gone, CELL, Outcome::NoFilter, 3);
    gone.of(CELL).blocks().note_read(4096);
    gone.of(CELL).begin().end_unfiltered(Outcome::NoFilter, true);
    gone.scans().note_read(8192);
    drop(gone);

    let first = accounts.open(7, 0, [filter(FilterKind::Blocked, 0.02), filter(FilterKind::Golomb, 0.001), None]);
    book(&first, ROW, Outcome::Avoided, 197);
    book(&first, ROW, Outcome::FalsePositive, 3);
    book(&first, ROW, Outcome::TruePositive, 4);
    first.of(ROW).blocks().note_read(4096);
    first.of(ROW).begin().end_entry_only();
    book(&first, CELL, Outcome::Tombstone, 2);
    drop(first.of(CELL).begin());
    first.filter_blocks().note_read(5000);
    first.filter_blocks().note_cache_hit();

    let second = accounts.open(2, 1, [None, None, filter(FilterKind::Bloom, 0.05)]);
    book(&second, PREFIX, Outcome::TruePositive, 2);
    second.of(PREFIX).blocks().note_cache_hit();
    second.of(PREFIX).begin().end_entry_only();
    book(&second, PREFIX, Outcome::Avoided, 19);
    book(&second, PREFIX, Outcome::FalsePositive, 1);
    book(&second, ROW, Outcome::FilterUnusable, 1);
    book(&second, ROW, Outcome::OutOfKeyRange, 6);
    second.scans().note_cache_hit();
    (accounts, [first, second])
}

fn find(report: &LedgerReport, level: u32, class: usize, kind: Option<FilterKind>) -> Tally {
    let purpose = CLASSES[class].purpose();
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
    let rows = find(&report, 0, ROW, Some(FilterKind::Blocked));
    assert_eq!((rows.count(Outcome::Avoided), rows.count(Outcome::FalsePositive)), (99 + 197, 1 + 3));
    assert!((rows.expected_false_positives - (100.0 * 0.01 + 200.0 * 0.02)).abs() < 1e-12);
    assert_eq!(find(&report, 0, CELL, None).unfiltered_found, 1);
    assert_eq!(find(&report, 0, CELL, Some(FilterKind::Golomb)).lookups, 3);
    assert_eq!(find(&report, 1, PREFIX, Some(FilterKind::Bloom)).entry_only, 1);
    assert_eq!(report.total.scan_block_bytes, 8192);
    assert_eq!((report.total.filter_block_bytes, report.total.filter_block_cache_hits), (5000, 1));
    let from_cache = [1, 4, 3, 5, 2, 3, 1, 1].iter().map(|costly: &u64| costly / 3).sum::<u64>() + 1;
    assert_eq!(report.total.data_block_cache_hits(), from_cache, "every third read, and a scan's");

    // Other filters, the same table: a line of its own, while a reader still counts on the old account.
    let replaced = accounts.open(7, 0, [filter(FilterKind::Bloom, 0.5), None, None]);
    book(&replaced, ROW, Outcome::Avoided, 10);
    book(&first, ROW, Outcome::Avoided, 1);
    let now = accounts.report();
    assert_eq!(now.check(), Ok(()));
    assert_eq!(find(&now, 0, ROW, Some(FilterKind::Bloom)).expected_false_positives, 5.0);
    assert_eq!(find(&now, 0, ROW, Some(FilterKind::Blocked)).lookups, rows.lookups + 1);
    assert_eq!((now.total.of(ROW).lookups, now.tables.len()), (report.total.of(ROW).lookups + 11, 3));

    drop((first, second, replaced));
    let closed = accounts.report();
    assert_eq!((&closed.total, closed.check(), closed.tables.len()), (&now.total, Ok(()), 0));
    let lines = |report: &LedgerReport| report.by_level.iter().map(|of| of.tally.lookups).collect::<Vec<_>>();
    let asked = |lines: Vec<u64>| lines.into_iter().filter(|&lookups| lookups > 0).collect::<Vec<_>>();
    assert_eq!(asked(lines(&closed)), asked(lines(&now)));
}

#[test]
fn a_snapshot_and_what_happened_since_add_up() {
    let (accounts, [first, second]) = accounts();
    let before = accounts.report().total;
    book(&first, CELL, Outcome::Tombstone, 3);
    second.scans().note_read(512);
    second.scans().note_cache_hit();
    first.filter_blocks().note_read(100);
    first.filter_blocks().note_cache_hit();
    let after = accounts.report().total;
    let since = after.since(&before);
    assert_eq!([ROW, PREFIX].map(|class| *since.of(class)), [Tally::default(); 2]);
    assert_eq!((since.of(CELL).lookups, since.of(CELL).count(Outcome::Tombstone)), (3, 3));
    assert_eq!((since.scan_block_reads, since.scan_block_bytes, since.scan_block_cache_hits), (1, 512, 1));
    assert_eq!((since.filter_block_reads, since.filter_block_bytes, since.filter_block_cache_hits), (1, 100, 1));
    assert_eq!(before + &since, after);
    assert_eq!(Ledger::default() + &after, after);
    assert_eq!(after.since(&after), Accounts::new(&CLASSES).report().total);
}

#[test]
fn a_lookup_that_never_ended_is_an_imbalance_of_its_purpose() {
    for class in [ROW, CELL, PREFIX] {
        let (accounts, [first, _]) = accounts();
        std::mem::forget(first.of(class).begin());
        let report = accounts.report();
        let lookups = report.total.of(class).lookups;
        for imbalance in [report.total.check(), report.check()].map(|checked| checked.expect_err("not ended")) {
            assert_eq!((imbalance.purpose, imbalance.rule), (CLASSES[class].purpose(), "lookups = sum of outcomes"));
            let text = imbalance.to_string();
            assert!(text.ends_with(&format!("but {lookups} against {}", lookups - 1)), "{text}");
        }
    }
}

#[test]
fn closed_accounts_are_dropped_without_reports() {
    const HELD: usize = 50;
    let accounts = Accounts::new(&CLASSES);
    let open = |table| accounts.open(table, 0, [None, None, None]);
    let held: Vec<_> = (0..HELD as u64).map(open).collect();
    let gone: Vec<_> = (0..1000).map(|table| Arc::downgrade(&open(table))).collect();
    let kept = gone.iter().filter(|counters| counters.strong_count() > 0).count();
    assert!(kept <= 2 * HELD, "{kept} of those that are gone beside {HELD} held");
    assert_eq!(accounts.report().tables.len(), held.len());
}

#[test]
fn levels_and_total_may_add_their_rates_in_another_order() {
    let accounts = Accounts::new(&CLASSES);
    let rates = [(0, 0.01), (0, 0.01), (1, 0.02), (1, 0.05)];
    let tables = rates.map(|(level, rate)| accounts.open(1, level, [filter(FilterKind::Bloom, rate), None, None]));
    tables.iter().for_each(|table| book(table, ROW, Outcome::Avoided, 1));
    let report = accounts.report();
    let [shallow, deep] = [0, 1].map(|level| find(&report, level, ROW, Some(FilterKind::Bloom)));
    let sum = shallow.expected_false_positives + deep.expected_false_positives;
    assert_ne!(sum, report.total.of(ROW).expected_false_positives, "else this test shows nothing");
    assert_eq!(report.check(), Ok(()));
}

#[test]
fn names_of_outcomes_agree() {
    for &outcome in Outcome::ALL {
        assert!(outcome.to_string().replace(' ', "_").starts_with(outcome.id()), "{outcome}");
        assert_eq!(format!("{outcome:<24}").len(), 24, "columns line up");
    }
}

#[test]
fn nothing_is_lost_while_accounts_close_under_reports() {
    const THREADS: u32 = 4;
    const TABLES: u64 = 50;
    const LOOKUPS: u64 = 200;
    let accounts = Accounts::new(&CLASSES);
    std::thread::scope(|scope| {
        for level in 0..THREADS {
            let accounts = &accounts;
            scope.spawn(move || {
                for table in 0..TABLES {
                    let counters = accounts.open(table, level, [filter(FilterKind::Golomb, 0.25), None, None]);
                    book(&counters, ROW, Outcome::FalsePositive, LOOKUPS);
                }
            });
        }
        let mut last = 0;
        for _ in 0..100 {
            let lookups = accounts.report().total.of(ROW).lookups;
            assert!(lookups >= last, "{lookups} after {last}");
            last = lookups;
        }
    });
    let report = accounts.report();
    assert_eq!((report.check(), report.tables.len()), (Ok(()), 0));
    assert_eq!(report.total.of(ROW).lookups, u64::from(THREADS) * TABLES * LOOKUPS);
    assert_eq!(report.total.of(ROW).expected_false_positives, report.total.of(ROW).lookups as f64 / 4.0);
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
        tallies: CLASSES.into_iter().zip([3, 50, 700].map(tally)).collect(),
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
