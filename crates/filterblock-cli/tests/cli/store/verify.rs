//! `filterblock verify` of a store.

use super::{cells, filter_at, flip, tables, with_store};
use crate::*;

fn report(place: &Place, code: i32) -> Value {
    place.json(code, "verify db --json")
}

#[test]
fn every_cell_is_checked_and_rates_match_the_prediction() {
    let place = Place::new();
    place.write("cells.tsv", crate::spread_cells(20_000, 10));
    for kind in crate::KINDS {
        place.expect(0, &format!("fill db cells.tsv --kind {kind} --seed 5 --prefix-len 7"));
        let report = report(&place, 0);
        let expected = "file ok num_cells cells_in_log false_negatives unreadable tables";
        assert_eq!(field_names(&report), expected);
        assert_eq!((&report["ok"], &report["num_cells"]), (&true.into(), &20_000.into()));
        assert_eq!(report["false_negatives"], 0);
        let filters = report["tables"][0]["filters"].as_array().unwrap();
        let purposes = filters.iter().map(|filter| &filter["purpose"]).collect::<Vec<_>>();
        assert_eq!(purposes, ["row", "row+column", "prefix"]);
        for filter in filters {
            assert_eq!((&filter["kind"], &filter["keys_asked"]), (&kind.into(), &20_000.into()));
            let number = |name: &str| filter[name].as_f64().unwrap();
            assert_eq!(number("observed_fpr"), number("false_positives") / number("absent_asked"));
            let (asked, predicted) = (number("absent_asked"), number("predicted_fpr"));
            let sigma = (number("observed_fpr") - predicted) / (predicted * (1.0 - predicted) / asked).sqrt();
            assert!((sigma - number("deviation_sigma")).abs() < 1e-6, "{filter}");
            // Keys and hashes are fixed, so this result is deterministic.
            assert!(asked >= 20_000.0 && sigma.abs() < 4.0, "{filter}");
        }
        std::fs::remove_dir_all(place.path("db")).unwrap();
    }
    let place = with_store();
    let text = place.expect(0, "verify db");
    assert!(text.starts_with("db: ok: 5000 cells in 2 tables, 4 filters; every data block is right, 0 cells missing"));
    assert_eq!(text.lines().count(), 2 + 4);
}

#[test]
fn unusable_filters_are_listed_and_not_probed() {
    let place = with_store();
    let table = &tables(&place)[1];
    let offset = filter_at(&place, table, 1);
    flip(&place, &format!("db/{table}"), offset + 100);
    let start = format!("db/{table}: filter block at offset {offset} (");
    let (printed, message) = ended(3, &place.run("verify db"));
    assert!(printed.starts_with("db: 5000 cells in 2 tables, 3 filters; every data block is right"));
    assert!(message.starts_with(&start) && message.contains("payload digest stored 0x"), "{message}");
    let report = report(&place, 3);
    assert_eq!((&report["ok"], &report["exit_code"]), (&false.into(), &3.into()));
    assert_eq!(report["errors"][0], message.trim_end());
    assert_eq!(report["tables"][1]["unusable_filters"][0], "row+column");
    // Following the message helps.
    let (_, command) = message.split_once("Run `filterblock ").unwrap();
    place.expect(0, command.split('`').next().unwrap());
    place.expect(0, "verify db");
}

#[test]
fn damaged_tables_are_all_named() {
    let place = with_store();
    for table in tables(&place) {
        flip(&place, &format!("db/{table}"), 5000);
    }
    let (printed, message) = ended(3, &place.run("verify db"));
    assert!(printed.contains("in 2 tables, 4 filters; 2 ranges of rows cannot be read, 0 cells missing"));
    let report = report(&place, 3);
    assert_eq!(report["unreadable"].as_array().unwrap().len(), 2);
    for (line, table) in message.lines().zip(tables(&place)) {
        assert!(line.starts_with(&format!("db/{table}: at offset 4096: data block checksum stored 0x")), "{message}");
        assert!(line.contains(". Lookups of rows from \"") && line.contains(" fail unless a newer cell"), "{message}");
        assert!(line.ends_with(super::RESTORE), "{message}");
    }
    assert_eq!(message.lines().count(), 2);
    assert_eq!(report["errors"].as_array().unwrap().len(), 2);
}

/// An intact filter of other keys, detected only by probing it for the table's cells.
#[test]
fn a_filter_that_hides_cells_is_the_worst() {
    let place = Place::new();
    place.write("these.tsv", cells(0, 500, "value"));
    place.write("those.tsv", cells(500, 1000, "value"));
    place.expect(0, "fill db these.tsv --kind bloom --seed 9");
    place.expect(0, "fill other those.tsv --kind bloom --seed 9");
    let table = &tables(&place)[0];
    let at = filter_at(&place, table, 0);
    let mut bytes = place.read(&format!("db/{table}"));
    let others = place.read(&format!("other/{table}"));
    assert_eq!(bytes.len(), others.len());
    bytes[at..at + 4096].copy_from_slice(&others[at..at + 4096]);
    place.write(&format!("db/{table}"), bytes);
    let (_, message) = ended(3, &place.run("verify db"));
    let start = format!("db/{table}: the row filter answers 'no' for ");
    assert!(message.starts_with(&start) && message.contains(" of 1000 cells that the table holds."), "{message}");
    assert!(message.ends_with(&format!("Run `filterblock rebuild db/{table}`.\n")), "{message}");
    let report = report(&place, 3);
    let missing = report["false_negatives"].as_u64().unwrap();
    assert!(missing > 900 && report["tables"][0]["filters"][0]["false_negatives"] == missing, "{report}");
    place.expect(0, &format!("rebuild db/{table}"));
    place.expect(0, "verify db");
}

#[test]
fn stores_blocks_and_tables_may_be_mixed_and_the_worst_code_wins() {
    let place = with_store();
    place.write("keys.txt", "key\n");
    place.expect(0, "build --kind bloom --output t.fb keys.txt");
    let table = &tables(&place)[0];
    let reports = place.expect(4, &format!("verify t.fb db missing db/{table} --json"));
    let reports: Vec<Value> = reports.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let column = |name: &str| reports.iter().map(|report| report[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("file"), ["t.fb".into(), "db".into(), Value::from("missing"), format!("db/{table}").into()]);
    assert_eq!(column("ok"), [true, true, false, true]);
    assert!(place.expect_failure(2, "verify db --keys keys.txt").contains("leave out --keys"));
}
