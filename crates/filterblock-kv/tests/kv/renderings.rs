//! The ledger's report as JSON, read back.

use crate::*;
use serde_json::Value;

/// The report of a store with filters of every kind and purpose in two levels, some of them rebuilt, whose lookups
/// ended in every way but errors.
fn report() -> LedgerReport {
    let policy = |kind| FilterPolicy::with_bits_per_key(kind, 3.0).unwrap();
    let options = inline()
        .with_filter(Purpose::Row, policy(FilterKind::Blocked))
        .with_filter(Purpose::RowColumn, policy(FilterKind::Golomb))
        .with_prefix_filter(3, policy(FilterKind::Bloom))
        .with_max_level0_tables(100)
        .with_seed(7);
    let [ribbon, fuse] = [FilterKind::Ribbon, FilterKind::Fuse].map(policy);
    let options = by_level(options, [(0, Purpose::RowColumn, ribbon), (0, Purpose::Prefix, fuse)]);
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), options).unwrap();
    let row = |i: u32| format!("{i:05}").into_bytes();
    let put = |i: u32| store.put(&row(i), b"column", &[7; 50]).unwrap();
    let ask = || {
        for i in 0..2_000 {
            store.get(&row(i), b"column").unwrap();
            store.get(&row(i), b"none").unwrap();
            store.get_row(&row(i)).unwrap();
        }
        for i in 0..40 {
            store.scan_prefix(&row(50 * i)[..4]).for_each(|cell| drop(cell.unwrap()));
        }
    };
    (0..1_000).for_each(|i| put(2 * i));
    store.compact().unwrap();
    (0..300).for_each(|i| put(6 * i + 1));
    store.delete(&row(6), b"column").unwrap();
    store.flush().unwrap();
    ask();
    let bloom =
        RebuildOptions::new().with_filter(Purpose::Row, policy(FilterKind::Bloom)).with_filter(Purpose::Prefix, None);
    store.rebuild_filters(&bloom).unwrap();
    ask();
    let report = store.ledger_report();
    assert!(report.by_level.len() > 6 && report.tables.len() == 2, "{report}");
    let kinds: BTreeSet<FilterKind> = report.by_level.iter().filter_map(|line| line.kind).collect();
    assert_eq!(kinds.len(), FilterKind::ALL.len(), "{report}");
    let total = report.total.total();
    let seen = |outcome: &Outcome| total.count(*outcome) > 0;
    use Outcome::{Avoided, FalsePositive, NoFilter, OutOfKeyRange, Tombstone, TruePositive};
    assert!([Avoided, FalsePositive, NoFilter, OutOfKeyRange, Tombstone, TruePositive].iter().all(seen), "{report}");
    report
}

fn check_tally(json: &Value, tally: &Tally) {
    let count = |name: &str| json[name].as_u64().expect(name);
    assert_eq!(count("lookups"), tally.lookups);
    let outcomes = json["outcomes"].as_object().expect("a map");
    assert_eq!(outcomes.len(), Outcome::ALL.len());
    for &outcome in Outcome::ALL {
        assert_eq!(outcomes[outcome.id()], tally.count(outcome), "{outcome}");
    }
    assert_eq!(count("unfiltered_found"), tally.unfiltered_found);
    assert_eq!(count("entry_only"), tally.entry_only);
    assert_eq!(count("data_block_reads"), tally.data_block_reads);
    assert_eq!(count("data_block_bytes"), tally.data_block_bytes);
    assert_eq!(count("data_block_cache_hits"), tally.data_block_cache_hits);
    // The parser may be off by the last bit.
    let near = |name: &str, value: Option<f64>| match (json[name].as_f64(), value) {
        (Some(read), Some(value)) => assert!((read - value).abs() <= value * 1e-15, "{name}: {read} for {value}"),
        (read, value) => assert_eq!((read, json[name].is_null()), (value, true), "{name}"),
    };
    near("expected_false_positives", Some(tally.expected_false_positives));
    near("observed_fpr", tally.observed_fpr());
    near("predicted_fpr", tally.predicted_fpr());
}

fn check_ledger(json: &Value, ledger: &Ledger) {
    let purposes = Purpose::ALL.into_iter();
    purposes.for_each(|purpose| check_tally(&json[purpose.name()], ledger.of(purpose)));
    let rest = [
        ("scan_block_reads", ledger.scan_block_reads),
        ("scan_block_bytes", ledger.scan_block_bytes),
        ("scan_block_cache_hits", ledger.scan_block_cache_hits),
        ("filter_block_reads", ledger.filter_block_reads),
        ("filter_block_bytes", ledger.filter_block_bytes),
        ("filter_block_cache_hits", ledger.filter_block_cache_hits),
    ];
    rest.into_iter().for_each(|(name, value)| assert_eq!(json[name], value, "{name}"));
    assert_eq!(json.as_object().map(serde_json::Map::len), Some(4 + rest.len()));
}

#[test]
fn json_has_every_number() {
    let report = report();
    let json: Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    check_ledger(&json["total"], &report.total);
    let levels = json["by_level"].as_array().unwrap();
    assert_eq!(levels.len(), report.by_level.len());
    for (json, of_level) in levels.iter().zip(&report.by_level) {
        assert_eq!((&json["level"], &json["purpose"]), (&of_level.level.into(), &of_level.purpose.into()));
        assert_eq!(json["kind"].as_str(), of_level.kind.map(FilterKind::name));
        check_tally(&json["tally"], &of_level.tally);
    }
    let tables = json["tables"].as_array().unwrap();
    assert_eq!(tables.len(), report.tables.len());
    for (json, account) in tables.iter().zip(&report.tables) {
        assert_eq!((&json["table"], &json["level"]), (&account.table.into(), &account.level.into()));
        for (purpose, of) in Purpose::OF_KEYS.into_iter().zip(&account.kinds) {
            assert_eq!(of.purpose, purpose.name());
            assert_eq!(json["kinds"][of.purpose].as_str(), of.kind.map(FilterKind::name));
        }
        check_ledger(&json["ledger"], &account.ledger);
    }
    let (verdict, findings) = (report.verdict(), json["verdict"]["findings"].as_array().unwrap());
    assert!(!verdict.is_fine() && findings.len() == verdict.findings.len(), "{verdict}");
    assert_eq!(json["verdict"]["savings"]["reads_avoided"], report.total.total().count(Outcome::Avoided));
    let of_rows = findings.iter().find(|finding| finding["finding"] == "missing").expect("a level without");
    assert!(of_rows["lookups"].as_u64() <= of_rows["of"].as_u64() && of_rows["purpose"].is_string());
    assert_eq!(json.as_object().map(serde_json::Map::len), Some(5));
}

#[test]
fn an_empty_report_is_well_formed() {
    let dir = tempfile::tempdir().unwrap();
    let report = Store::open_dir(dir.path(), StoreOptions::default()).unwrap().ledger_report();
    assert_eq!(report.to_string().lines().count(), 1 + Purpose::OF_KEYS.len() + 1 + 5 + 2);
    assert_eq!(report.check(), Ok(()));
}
