//! Verdicts on a table of reports, and the statistics that they rest on.

use super::tests::{CELL, CLASSES, PREFIX, ROW, book, filter};
use super::verdict::sigmas_above;
use super::{Accounts, FilterFacts, Finding, LedgerReport, MIN_LOOKUPS, MIN_PASSED, MIN_SIGMAS, Outcome, Verdict};
use filterblock::FilterKind;
use std::collections::BTreeSet;

type Filters = [Option<FilterFacts>; CLASSES.len()];

/// A report of one table in level 2 with these filters, whose lookups ended so.
fn report(filters: Filters, lookups: &[(usize, Outcome, u64)]) -> LedgerReport {
    let accounts = Accounts::new(&CLASSES);
    let table = accounts.open(1, 2, filters);
    lookups.iter().for_each(|&(class, outcome, times)| book(&table, class, outcome, times));
    let report = accounts.report();
    assert_eq!(report.check(), Ok(()));
    report
}

/// Names, filters, lookups, and what is found.
type Case = (&'static str, Filters, Vec<(usize, Outcome, u64)>, Vec<Finding>);

fn cases() -> Vec<Case> {
    use Outcome::{Avoided, Failed, FalsePositive, FilterUnusable, NoFilter, OutOfKeyRange, Tombstone, TruePositive};
    const NONE: Filters = [None; CLASSES.len()];
    const KIND: FilterKind = FilterKind::Golomb;
    let cells = |rate| [None, filter(KIND, rate), None];
    let (cell, kind, level) = ("row+column", Some(KIND), 2);
    let above = |absent, passed, expected: f64| {
        let sigmas = sigmas_above(passed as f64, expected);
        vec![Finding::RateAbovePredicted { level, purpose: cell, kind, absent, passed, expected, sigmas }]
    };
    let missing = |lookups, of| Finding::Missing { purpose: cell, lookups, of };
    let unusable = |lookups, of| Finding::Unusable { purpose: cell, lookups, of };
    let unqueried = |purpose, lookups| vec![Finding::NeverQueried { purpose, lookups }];
    let passes = |absent| Finding::NeverDenied { level, purpose: "prefix", kind: None, absent };
    vec![
        ("nothing happened", cells(0.01), vec![], vec![Finding::NoLookups]),
        ("no filters, no lookups", NONE, vec![], vec![Finding::NoLookups]),
        ("as predicted", cells(0.01), vec![(CELL, Avoided, 9_900), (CELL, FalsePositive, 100)], vec![]),
        ("few absent keys", cells(0.01), vec![(CELL, Avoided, 1), (CELL, TruePositive, 5_000)], vec![]),
        ("fewer pass than predicted", cells(0.5), vec![(CELL, Avoided, 9_999), (CELL, FalsePositive, 1)], vec![]),
        ("too few to tell", cells(0.01), vec![(CELL, Avoided, 499), (CELL, FalsePositive, 500)], vec![]),
        (
            "enough to tell",
            cells(0.01),
            vec![(CELL, Avoided, 500), (CELL, FalsePositive, 500)],
            above(1_000, 500, 10.0),
        ),
        ("chance", cells(0.001), vec![(CELL, Avoided, 995), (CELL, FalsePositive, 5)], vec![]),
        ("significant, and small", cells(0.25), vec![(CELL, Avoided, 60_000), (CELL, FalsePositive, 40_000)], vec![]),
        (
            "the filter is ignored",
            cells(0.01),
            vec![(CELL, NoFilter, 7)],
            [unqueried(cell, 7), vec![missing(7, 7)]].concat(),
        ),
        ("other lookups alone", cells(0.01), vec![(ROW, OutOfKeyRange, 7)], unqueried(cell, 0)),
        ("all end before it", cells(0.01), vec![(CELL, OutOfKeyRange, 6), (CELL, Failed, 1)], unqueried(cell, 7)),
        ("no table has one", NONE, vec![(CELL, NoFilter, 7)], vec![missing(7, 7)]),
        ("none opens", NONE, vec![(CELL, FilterUnusable, 9)], vec![unusable(9, 9)]),
        (
            "a part fails, others have none",
            cells(0.5),
            vec![
                (CELL, FilterUnusable, 1),
                (CELL, NoFilter, 2),
                (CELL, Avoided, 3),
                (CELL, FalsePositive, 4),
                (CELL, Tombstone, 5),
                (CELL, OutOfKeyRange, 6),
                (CELL, Failed, 7),
            ],
            vec![unusable(1, 15), missing(2, 15)],
        ),
        ("a range filter passes all", NONE, vec![(PREFIX, FalsePositive, MIN_PASSED)], vec![passes(MIN_PASSED)]),
        ("a range filter passes some", NONE, vec![(PREFIX, FalsePositive, MIN_PASSED - 1)], vec![]),
        ("and denies one", NONE, vec![(PREFIX, FalsePositive, 9_999), (PREFIX, Avoided, 1)], vec![]),
        (
            "no key is absent",
            cells(0.01),
            vec![(CELL, TruePositive, MIN_LOOKUPS - 1), (CELL, Tombstone, 1)],
            vec![Finding::NothingAbsent { purpose: cell, lookups: MIN_LOOKUPS }],
        ),
        ("no key was absent so far", cells(0.01), vec![(CELL, TruePositive, MIN_LOOKUPS - 1)], vec![]),
    ]
}

#[test]
fn each_way_to_be_useless_is_found() {
    let mut texts = Vec::new();
    for (name, filters, lookups, expected) in cases() {
        let verdict = report(filters, &lookups).verdict();
        assert_eq!(verdict.findings, expected, "{name}");
        assert_eq!(verdict.is_fine(), expected.is_empty(), "{name}");
        let text = verdict.to_string();
        let lines: Vec<&str> = text.lines().collect();
        // One line each, with a consequence and a next step, and one for the savings.
        assert_eq!(lines.len(), expected.len() + 1, "{name}: {text}");
        lines[..expected.len()].iter().for_each(|line| assert!(line.contains(": ") && !line.contains("  "), "{line}"));
        assert!(lines[expected.len()].starts_with("filters saved "), "{text}");
        texts.extend(lines[..expected.len()].iter().map(|line| (*line).to_owned()));
    }
    // No two findings read alike.
    let findings: BTreeSet<String> = cases().iter().flat_map(|case| &case.3).map(|it| format!("{it:?}")).collect();
    let num_findings = findings.len();
    assert!(num_findings >= 10, "{findings:#?}");
    assert_eq!(texts.into_iter().collect::<BTreeSet<_>>().len(), num_findings);
}

#[test]
fn filters_that_cost_and_filters_that_are_not_built_are_found() {
    for (filter_reads, avoided, is_costly) in
        [(MIN_LOOKUPS, 999, true), (MIN_LOOKUPS, 1_001, false), (MIN_LOOKUPS - 1, 0, false), (5_000, 4_999, true)]
    {
        let accounts = Accounts::new(&CLASSES);
        let table = accounts.open(1, 0, [None, filter(FilterKind::Ribbon, 0.5), None]);
        book(&table, CELL, Outcome::TruePositive, 1);
        book(&table, CELL, Outcome::Avoided, avoided);
        book(&table, CELL, Outcome::FalsePositive, 1);
        (0..filter_reads).for_each(|_| table.filter_blocks().note_read(100));
        let costly = Finding::CostlyReads { filter_block_reads: filter_reads, reads_avoided: avoided };
        assert_eq!(accounts.report().verdict().findings, if is_costly { vec![costly] } else { vec![] });

        accounts.note_filter_not_built();
        accounts.note_filter_not_built();
        assert_eq!(accounts.report().verdict().findings.last(), Some(&Finding::NotBuilt { filters: 2 }));
    }
}

/// What one level's filters pass must not be hidden by the many that another denies.
#[test]
fn levels_are_judged_apart() {
    let accounts = Accounts::new(&CLASSES);
    let [good, bad] = [0, 1].map(|level| accounts.open(1, level, [None, filter(FilterKind::Fuse, 0.004), None]));
    book(&good, CELL, Outcome::Avoided, 1_000_000);
    book(&bad, CELL, Outcome::Avoided, 980);
    book(&bad, CELL, Outcome::FalsePositive, 40);
    let verdict = accounts.report().verdict();
    assert!(
        matches!(verdict.findings[..], [Finding::RateAbovePredicted { level: 1, absent: 1020, passed: 40, .. }]),
        "{verdict}"
    );
    // Closed tables stay in it.
    drop((good, bad));
    assert_eq!(accounts.report().verdict(), verdict);
}

#[test]
fn savings_are_those_of_the_counts() {
    let accounts = Accounts::new(&CLASSES);
    let table = accounts.open(1, 0, [None, filter(FilterKind::Ribbon, 0.5), None]);
    assert_eq!(accounts.report().verdict().savings.bytes_avoided, None, "no block was read yet");
    book(&table, CELL, Outcome::Avoided, 300);
    book(&table, CELL, Outcome::FalsePositive, 200);
    book(&table, CELL, Outcome::NoFilter, 5);
    let lookup = table.of(CELL).begin();
    lookup.blocks().note_read(4096);
    lookup.end_unfiltered(Outcome::FilterUnusable, true);
    table.filter_blocks().note_read(100);
    let savings = accounts.report().verdict().savings;
    assert_eq!((savings.reads_avoided, savings.reads_wasted, savings.reads_unfiltered), (300, 200, 5));
    assert_eq!(savings.bytes_avoided, Some(300 * 4096), "every block has 4096 bytes");
    assert_eq!((savings.filter_block_reads, savings.filter_block_bytes), (1, 100));
    assert_eq!(LedgerReport::default().verdict(), Verdict { findings: vec![Finding::NoLookups], ..Verdict::default() });
}

/// The bound must hold: beside the exact probability of at least x of n events, each with probability p.
#[test]
fn deviations_bound_the_exact_probability() {
    let mut num_significant = 0;
    for (n, p) in [(1_000u32, 0.01f64), (1_000, 0.25), (2_000, 0.001), (5_000, 0.0001), (1_000, 0.49)] {
        let expected = f64::from(n) * p;
        // ln of the probability of exactly x, by the ratio of neighbours.
        let mut exactly = vec![f64::from(n) * (-p).ln_1p()];
        for x in 0..n {
            let ratio = (f64::from(n - x) / f64::from(x + 1)).ln() + p.ln() - (-p).ln_1p();
            exactly.push(exactly[x as usize] + ratio);
        }
        let mut at_least = 0.0;
        for (x, ln) in exactly.iter().enumerate().rev() {
            at_least += ln.exp();
            let sigmas = sigmas_above(x as f64, expected);
            let bound = (-sigmas * sigmas / 2.0).exp();
            assert!(at_least <= bound * (1.0 + 1e-9), "{x} of {n}, {p}: {at_least:e} above {bound:e}");
            num_significant += usize::from(sigmas >= MIN_SIGMAS && at_least > 1e-30);
        }
    }
    assert!(num_significant > 50, "{num_significant}");
    assert_eq!([0.0, 3.0, 10.0].map(|count| sigmas_above(count, 10.0)), [0.0; 3]);
}
