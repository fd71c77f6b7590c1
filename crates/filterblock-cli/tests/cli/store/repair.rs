//! `filterblock repair`.

use super::{cells, filter_at, flip, tables, with_store};
use crate::*;

/// The names in `db`, and in `db/lost`.
fn names(place: &Place, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(dir)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command that `text` ends with.
fn last_command(text: &str) -> &str {
    text.trim_end().trim_end_matches("`.").rsplit_once("`filterblock ").unwrap().1
}

#[test]
fn a_store_that_is_whole_needs_nothing() {
    let place = with_store();
    let before = names(&place, "db");
    assert_eq!(place.expect(0, "repair db"), "db: nothing to repair\n");
    assert_eq!(place.expect(0, "repair db --apply"), "db: nothing to repair\n");
    assert_eq!(names(&place, "db"), before);
}

/// What messages advise is followed word for word, from the first failure to the repaired store.
#[test]
fn messages_lead_from_the_damage_to_the_repaired_store() {
    let place = with_store();
    let [newer, older] = &tables(&place)[..] else { panic!("two tables") };
    let damaged = format!("db/{newer}");
    // The second block of the newer table, whose first rows the older one has, too.
    flip(&place, &damaged, 5000);
    let bytes = place.read(&damaged);
    let message = stderr(&place.run("verify db"));
    assert!(message.contains("Without one, run `filterblock repair db`: it shows what can be kept."), "{message}");

    let before = names(&place, "db");
    let (plan, message) = ended(3, &place.run("repair db"));
    assert_eq!(message, "");
    let start = format!("{newer}, level 0: {newer}: at offset 4096: data block checksum stored 0x");
    assert!(plan.starts_with(&start), "{plan}");
    let parts =
        ["  cells kept: ", "; cells lost: ", "  lost: cells in rows from \"row-01", "older values may be visible"];
    assert!(parts.iter().all(|part| plan.contains(part)), "{plan}");
    let end = "db: 1 range of rows with lost cells, named above. Nothing was changed. Restoring copies made after \
               their last write loses nothing: do so, then run `filterblock verify db`. To make this repair, run \
               `filterblock repair db --apply`.\n";
    assert!(plan.ends_with(end), "{plan}");
    assert_eq!(names(&place, "db"), before);

    let report = place.expect(0, last_command(&plan));
    assert!(report.ends_with("named above. Run `filterblock verify db`.\n"), "{report}");
    assert!(report.contains(&format!("moved aside: lost/{newer}\n")), "{report}");
    assert_eq!(place.read(&format!("db/lost/{newer}")), bytes);
    let kept = fs::read_to_string(place.path("db/lost/REPAIR.txt")).unwrap();
    assert!(kept.starts_with(&start) && kept.contains("older values may be visible"), "{kept}");
    assert!(place.expect(0, last_command(&report)).starts_with("db: ok: "));
    assert_eq!(place.expect(0, "repair db"), "db: nothing to repair\n");

    // The cells of the block have their older values; all others are as they were.
    assert!(!tables(&place).contains(newer) && tables(&place).contains(older));
    let scanned = place.expect(0, "scan db");
    let whole = cells(0, 1000, "old") + &cells(1000, 2000, "new");
    let differing: Vec<_> = scanned.lines().zip(whole.lines()).filter(|(found, before)| found != before).collect();
    assert!(differing.len() > 50, "{}", differing.len());
    assert!(differing.iter().all(|(found, before)| found.replace("old", "new") == *before), "{differing:?}");
    // And it is written to.
    place.write("third.tsv", cells(0, 10, "newest"));
    place.expect(0, "fill db third.tsv");
    assert_eq!(place.expect(0, "get db row-00001 b"), "newest");
}

#[test]
fn a_lost_table_is_reported_as_json() {
    let place = with_store();
    let [newer, older] = &tables(&place)[..] else { panic!("two tables") };
    fs::remove_file(place.path(&format!("db/{older}"))).unwrap();
    let plan = place.json(3, "repair db --json");
    let fields = "store applied tables logs filters moved_aside";
    assert_eq!(field_names(&plan), fields);
    assert_eq!((&plan["applied"], &plan["moved_aside"]), (&false.into(), &Value::Array(vec![])));
    let table = &plan["tables"][0];
    assert_eq!((&table["file"], &table["level"], &table["cells_kept"]), (&older.as_str().into(), &0.into(), &0.into()));
    assert_eq!((&table["cells_lost"], &table["kept_in"]), (&Value::Null, &Value::Null));
    let lost = &table["lost"][0];
    assert_eq!((&lost["first_row"], &lost["last_row"]), (&"row-00000".into(), &"row-01499".into()));
    // It was the oldest.
    assert_eq!(lost["has_older_values"], Value::Bool(false));
    let report = place.json(0, "repair db --apply --json");
    assert_eq!((&report["applied"], &report["tables"]), (&true.into(), &plan["tables"]));
    assert_eq!(report["moved_aside"], Value::from(vec!["lost/REPAIR.txt"]));
    assert_eq!(tables(&place), [newer.as_str()]);
    assert_eq!(place.expect(0, "scan db"), cells(1000, 2000, "new"));
}

#[test]
fn damaged_filters_are_built_anew_as_they_were() {
    let place = Place::new();
    // An unusable filter does not show its kind: it gets that of the other table.
    for (start, end) in [(0, 3000), (3000, 6000)] {
        place.write("cells.tsv", cells(start, end, "value"));
        place.expect(0, "fill db cells.tsv --kind golomb --bits-per-key 12 --prefix-len 6");
    }
    let before = super::filters(&place);
    let table = &tables(&place)[0];
    flip(&place, &format!("db/{table}"), filter_at(&place, table, 1) + 100);
    let plan = place.expect(3, "repair db");
    let start = format!("{table}: filters built anew, nothing is lost with them: payload digest");
    assert!(plan.starts_with(&start), "{plan}");
    assert!(plan.contains("db: no cell is lost. Nothing was changed. To make this repair, run `filterblock repair db"));
    place.expect(0, "repair db --apply");
    place.expect(0, "verify db");
    let now = super::filters(&place);
    let kinds = |filters: &[Value]| filters.iter().map(|filter| filter["kind"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&now), kinds(&before));
    assert_eq!(names(&place, "db/lost"), [""; 0]);
}

#[test]
fn a_store_with_a_secret_key_keeps_it() {
    let place = Place::new();
    place.write("key", "0123456789abcdef");
    place.write("cells.tsv", cells(0, 500, "value"));
    place.expect(0, "fill db cells.tsv --hash-key-file key");
    let table = place.json(0, "stats db --hash-key-file key --json")["tables"][0]["file"].as_str().unwrap().to_owned();
    flip(&place, &format!("db/{table}"), 5000);
    place.expect_failure(3, "repair db --apply");
    let plan = place.expect(3, "repair db --hash-key-file key");
    place.expect(0, last_command(&plan));
    place.expect(0, "verify db --hash-key-file key");
}
