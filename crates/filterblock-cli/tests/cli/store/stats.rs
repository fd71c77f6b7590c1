//! `filterblock stats`.

use super::{filter_at, flip, tables, with_store};
use crate::*;

#[test]
fn figures_match_the_store() {
    let place = with_store();
    let json = place.json(0, "stats db --json");
    let fields = "store hash_key_id cells_in_log levels tables findings unreadable warnings";
    assert_eq!(field_names(&json), fields);
    let store = Store::open_dir(&place.path("db"), StoreOptions::default().with_read_only(true)).unwrap();
    let stats = store.stats();
    assert_eq!(json["tables"].as_array().unwrap().len(), stats.tables.len());
    for (json, table) in json["tables"].as_array().unwrap().iter().zip(&stats.tables) {
        assert_eq!((&json["file"], &json["level"]), (&table.file.as_str().into(), &table.level.into()));
        assert_eq!((&json["cells"], &json["file_bytes"]), (&table.num_cells.into(), &table.file_bytes.into()));
        for (json, filter) in json["filters"].as_array().unwrap().iter().zip(&table.filters) {
            assert_eq!((&json["kind"], &json["bytes"]), (&filter.kind.name().into(), &filter.bytes.into()));
            assert_eq!(json["bits_per_key"], filter.bytes as f64 * 8.0 / filter.num_entries as f64);
            assert_eq!(json["predicted_fpr"], filter.predicted_fpr);
        }
    }
    assert_eq!(json["levels"][0]["cells"], 5000);
    assert_eq!(json["levels"][0]["filter_bytes"], stats.tables.iter().map(|table| table.filter_bytes).sum::<u64>());
    let text = place.expect(0, "stats db");
    for table in &stats.tables {
        assert_eq!(text.matches(&table.file).count(), table.filters.len(), "{text}");
    }
    assert!(text.starts_with("db: 2 tables, 0 cells in the log only\n") && !text.contains("lookups"), "{text}");
}

#[test]
fn unusable_filters_cause_a_warning() {
    let place = with_store();
    let table = &tables(&place)[0];
    let offset = filter_at(&place, table, 0);
    flip(&place, &format!("db/{table}"), offset + 90);
    let output = place.run("stats db --json");
    let start = format!("db/{table}: filter block at offset {offset} (");
    let end = format!("lookups stay correct but slower. Run `filterblock rebuild db/{table}`.\n");
    let message = stderr(&output);
    assert!(message.starts_with(&start) && message.ends_with(&end), "{message}");
    let json = place.json(0, "stats db --json");
    assert_eq!(json["warnings"][0], message.trim_end());
    assert_eq!(json["tables"][0]["unusable_filters"][0], "row");
    assert!(place.expect(0, "stats db").contains("unusable"));
}

/// What makes filters useless is in the text and in JSON, and the commands of it end it.
#[test]
fn useless_filters_are_named() {
    let place = with_store();
    let fine = "every table has filters, all of them can be used, and each denies most absent keys\n";
    let findings = |num: usize, says: &str| {
        let text = place.expect(0, "stats db");
        let json = place.json(0, "stats db --json");
        let findings = json["findings"].as_array().unwrap();
        assert_eq!(findings.len(), num, "{text}");
        assert_eq!(text.ends_with(fine), num == 0, "{text}");
        for finding in findings.iter().map(|finding| finding.as_str().unwrap()) {
            assert!(finding.contains(says) && text.contains(&format!("\n{finding}\n")), "{text}");
            let [command] = &crate::commands(finding)[..] else { panic!("{finding}") };
            place.expect(0, &command["filterblock ".len()..]);
        }
    };
    findings(0, "");
    place.expect(0, "rebuild db --kind none");
    findings(1, "2 of 2 tables have no filter: every lookup in their rows reads them.");
    // The command of the finding has been run.
    findings(0, "");
    place.expect(0, "rebuild db --kind fuse --bits-per-key 2");
    findings(4, "filter passes 50.0 % of absent keys: it saves few reads.");
    findings(0, "");
    let table = &tables(&place)[0];
    place.expect(0, &format!("rebuild db/{table}"));
}

#[test]
fn names_are_quoted_in_commands_to_run() {
    let place: Place = with_store();
    let table = &tables(&place)[0];
    flip(&place, &format!("db/{table}"), filter_at(&place, table, 0) + 90);
    std::fs::rename(place.path("db"), place.path("two words")).unwrap();
    let output = place.command(["stats", "two words"]).output().unwrap();
    let message = stderr(&output);
    assert!(message.ends_with(&format!("Run `filterblock rebuild 'two words/{table}'`.\n")), "{message}");
    let rebuilt = place.command(["rebuild", &format!("two words/{table}")]).output().unwrap();
    assert_eq!(rebuilt.status.code(), Some(0));
    assert_eq!(stderr(&place.command(["stats", "two words"]).output().unwrap()), "");
}
