//! `filterblock fill`.

use super::{cells, filters};
use crate::*;
use filterblock::{FilterSize, Workload};

fn summary(place: &Place, line: &str) -> Value {
    place.json(0, &format!("fill {} --json", line.trim_end()))
}

#[test]
fn a_store_is_created_and_later_added_to() {
    let place = Place::new();
    place.write("first.tsv", cells(0, 300, "old"));
    place.write("second.tsv", cells(200, 400, "new"));
    let first = summary(&place, "db first.tsv");
    assert_eq!((&first["created"], &first["cells_written"]), (&true.into(), &600.into()));
    let second = summary(&place, "db second.tsv");
    assert_eq!((&second["created"], &second["cells_written"]), (&false.into(), &400.into()));
    assert_eq!(second["tables"], 2);
    let text = place.expect(0, "fill db second.tsv");
    assert!(text.starts_with("db: opened, 400 cells written (0 deletions); the store has 3 tables of "), "{text}");
    let third = summary(&place, "db second.tsv");
    let store = Store::open_dir(&place.path("db"), StoreOptions::default().with_read_only(true)).unwrap();
    for row in 0..400 {
        let value = format!("{}-{row}", if row < 200 { "old" } else { "new" });
        assert_eq!(store.get(format!("row-{row:05}").as_bytes(), b"a").unwrap(), Some(value.into_bytes()));
    }
    assert_eq!(store.scan(..).count(), 800);
    let stats = store.stats();
    assert_eq!(third["file_bytes"], stats.tables.iter().map(|table| table.file_bytes).sum::<u64>());
    assert_eq!(third["filter_bytes"], stats.tables.iter().map(|table| table.filter_bytes).sum::<u64>());
}

#[test]
fn later_lines_overwrite_and_delete_earlier_ones() {
    let place = Place::new();
    place.write("cells.tsv", "a\tc\t1\nb\tc\t1\na\tc\t2\nb\tc\t\\N\nc\tc\t\\N\nd\tc\t\\\\N\n\t\t");
    let summary = summary(&place, "db cells.tsv");
    assert_eq!((&summary["cells_written"], &summary["deletions"]), (&7.into(), &2.into()));
    assert_eq!(place.expect(0, "scan db"), "\t\t\na\tc\t2\nd\tc\t\\\\N\n");
}

#[test]
fn any_bytes_can_be_written_and_read_back() {
    let place = Place::new();
    let every_byte: String = (0..=255).map(|byte| format!("\\x{byte:02x}")).collect();
    place.write("cells.tsv", [format!("{every_byte}\tc\t{every_byte}\n").as_bytes(), b"\xff raw\tc\tta\tb\n"].concat());
    place.expect(0, "fill db cells.tsv");
    let store = Store::open_dir(&place.path("db"), StoreOptions::default().with_read_only(true)).unwrap();
    let every_byte: Vec<u8> = (0..=255).collect();
    assert_eq!(store.get(&every_byte, b"c").unwrap(), Some(every_byte));
    assert_eq!(store.get(b"\xff raw", b"c").unwrap(), Some(b"ta\tb".to_vec()));
    drop(store);
    let scanned = place.expect(0, "scan db");
    assert_eq!(scanned.lines().count(), 2);
    place.write("scanned.tsv", &scanned);
    place.expect(0, "fill copy scanned.tsv");
    assert_eq!(place.expect(0, "scan copy"), scanned);
}

#[test]
fn rows_only_get_one_column() {
    let place = Place::new();
    place.write("rows", "C:\\new\nplain\n\n");
    place.expect(0, "fill db --rows-only rows");
    assert_eq!(place.expect(0, "scan db"), "\tcolumn\t\nC:\\\\new\tcolumn\t\nplain\tcolumn\t\n");
    place.write("rows0", "two\nlines\0one\0");
    place.expect(0, "fill null -0 --rows-only rows0");
    assert_eq!(place.expect(0, "scan null"), "one\tcolumn\t\ntwo\\nlines\tcolumn\t\n");
}

#[test]
fn keys_come_from_standard_input_by_default_or_for_a_dash() {
    let place = Place::new();
    for line in ["fill db", "fill db -"] {
        let (_, message) = ended(0, &place.with_stdin(line, b"row\tcolumn\tvalue\n"));
        assert_eq!(message, "", "no progress where standard error is no terminal");
        assert_eq!(place.expect(0, "get db row column"), "value");
        std::fs::remove_dir_all(place.path("db")).unwrap();
    }
}

#[test]
fn each_write_is_acknowledged() {
    let place = Place::new();
    let input = cells(0, 10, "value");
    let acks = |line: &str| String::from_utf8(place.with_stdin(line, input.as_bytes()).stdout).unwrap();
    let each = acks("fill db --ack 1 --sync never");
    let numbers: String = (1..=20).map(|number| format!("ok {number}\n")).collect();
    assert!(each.starts_with(&format!("{numbers}db: ")) && each.lines().count() == 21, "{each}");
    let batches = acks("fill db --ack 8 --sync interval:1");
    assert!(batches.starts_with("ok 8\nok 16\nok 20\ndb: "), "{batches}");
}

/// The kinds of the row+column filters, by level.
fn kinds(place: &Place) -> Vec<(u64, String)> {
    let stats = place.json(0, "stats db --json");
    let mut kinds = Vec::new();
    for table in stats["tables"].as_array().unwrap() {
        let filters = table["filters"].as_array().unwrap();
        for filter in filters.iter().filter(|filter| filter["purpose"] == "row+column") {
            kinds.push((table["level"].as_u64().unwrap(), filter["kind"].as_str().unwrap().to_owned()));
        }
    }
    kinds.dedup();
    kinds
}

/// What an automatic policy chooses at this level, for any of the stores of the test below.
fn chosen(level: u8) -> String {
    let policy =
        FilterPolicy::auto(FilterSize::MillibitsPerKey(10_000), Workload::default().with_level(level)).unwrap();
    let kinds = [500, 5_000].map(|num_entries| policy.choice(num_entries).unwrap().cost().kind);
    assert_eq!(kinds[0], kinds[1], "the test needs other sizes");
    kinds[0].to_string()
}

#[test]
fn filters_follow_the_options() {
    let place = Place::new();
    place.write("cells.tsv", spread_cells(5000, 20));
    let fill = |options: &str| {
        let _ = std::fs::remove_dir_all(place.path("db"));
        summary(&place, &format!("db cells.tsv --seed 3 {options}"))
    };
    let bits = |filter: &Value| filter["bits_per_key"].as_f64().unwrap();
    fill("");
    assert_eq!(kinds(&place), [(0, chosen(0))]);
    assert!(filters(&place).iter().all(|filter| (9.5..10.5).contains(&bits(filter))));
    fill("--kind golomb --bits-per-key 14");
    assert_eq!(kinds(&place), [(0, "golomb".to_owned())]);
    assert!(filters(&place).iter().all(|filter| (13.5..14.5).contains(&bits(filter))));
    fill("--kind bloom --fpr 0.1%");
    for filter in filters(&place) {
        assert!((0.0007..0.0011).contains(&filter["predicted_fpr"].as_f64().unwrap()), "{filter}");
    }
    assert_eq!(fill("--kind none")["filter_bytes"], 0);
    // In a deeper level, by its own costs.
    fill("--kind golomb --level-kind 0=auto");
    assert_eq!(kinds(&place), [(0, chosen(0))]);
    fill("--kind auto --merge");
    let [(level, kind)] = &kinds(&place)[..] else { panic!("one level") };
    assert_eq!((*level, kind.clone()), (1, chosen(1)));
    fill("--kind golomb --level-kind 0=bloom --level-kind 1=none");
    assert_eq!(kinds(&place), [(0, "bloom".to_owned())]);
    assert_eq!(fill("--level-kind 0=bloom --level-kind 1=none --merge")["filter_bytes"], 0);
    let purposes = |place: &Place| filters(place).iter().map(|filter| filter["purpose"].clone()).collect::<Vec<_>>();
    fill("--prefix-len 6 --merge");
    assert_eq!(purposes(&place), ["row", "row+column", "prefix"]);
    let of_prefixes = &filters(&place)[2];
    assert!((100..=256).contains(&of_prefixes["entries"].as_u64().unwrap()), "{of_prefixes}");
}

#[test]
fn a_budget_is_met() {
    let place = Place::new();
    place.write("cells.tsv", spread_cells(5000, 100));
    let summary = summary(&place, "db cells.tsv --max-bytes 6KiB --memtable-bytes 32KiB");
    let bytes = summary["filter_bytes"].as_u64().unwrap();
    assert!((3000..=6144).contains(&bytes), "{summary}");
    let stats = place.json(0, "stats db --json");
    assert!(stats["levels"].as_array().unwrap().len() > 1, "{stats}");
}

#[test]
fn compacted_stores_have_one_level_and_no_tombstones() {
    let place = Place::new();
    place.write("deleted.tsv", "row-00003\ta\t\\N\nrow-00003\tb\t\\N\n");
    place.write("cells.tsv", cells(0, 10, "value"));
    place.expect(0, "fill db cells.tsv");
    place.expect(0, "fill db deleted.tsv");
    let tombstones = |place: &Place| place.json(0, "stats db --json")["levels"][0]["tombstones"].clone();
    assert_eq!(tombstones(&place), 2);
    let output = place.with_stdin("fill db --merge --json", b"");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&summary["cells_written"], &summary["tables"]), (&0.into(), &1.into()));
    assert_eq!(tombstones(&place), 0);
    assert_eq!(place.expect(0, "scan db").lines().count(), 18);
}

#[test]
fn a_malformed_line_ends_the_input_and_the_cells_before_it_are_kept() {
    for (bad, part) in [
        ("row", "expected a row, a tab, a column, a tab and a value"),
        ("row\tcolumn", "expected a row"),
        ("", "expected a row"),
        ("row\tcolumn\tC:\\users", "'\\user' is not an escape"),
        ("row\\", "expected a row"),
        ("ro\\w\tcolumn\tvalue", "not an escape"),
        (&format!("{}\tcolumn\tvalue", "r".repeat(70_000)), "a row of 70000 bytes is above the limit of 65535"),
    ] {
        let place = Place::new();
        place.write("cells.tsv", format!("{}{bad}\nz\tz\tz\n", cells(0, 5, "value")));
        let message = place.expect_failure(2, "fill db cells.tsv");
        assert!(message.starts_with("cells.tsv: line 11: ") && message.contains(part), "{message}");
        assert!(message.ends_with(". Cells written before it: 10. Run `filterblock fill --help`.\n"), "{message}");
        assert_eq!(place.expect(0, "scan db"), cells(0, 5, "value"));
    }
}

#[test]
fn impossible_requests_are_refused_and_no_store_is_created() {
    let place = Place::new();
    place.write("keys.txt", lines("key", 3));
    for (options, part) in [
        ("--kind cuckoo", "bloom, blocked, golomb, ribbon, fuse"),
        ("--bits-per-key 1", "legal range"),
        ("--kind golomb --fpr 1.5", "legal range"),
        ("--bits-per-key 10 --fpr 1%", "cannot be used with"),
        ("--max-bytes 1KiB --fpr 1%", "cannot be used with"),
        ("--level-kind 7=bloom", "level from 0 to 6"),
        ("--level-kind bloom", "as in 0=bloom"),
        ("--level-kind 0=cuckoo", "bloom, blocked, golomb, ribbon, fuse"),
        ("--prefix-len 0", ""),
        ("--prefix-len 65536", ""),
        ("--sync sometimes", "always, never"),
        ("--sync interval:0", "interval:100"),
        ("--ack many", "whole number"),
        ("--seed 0x10000000000000000", "64-bit"),
    ] {
        let message = place.expect_failure(2, &format!("fill db {options}"));
        assert!(message.contains(part), "{options}: {message}");
        assert!(!place.path("db").exists(), "{options}");
    }
    assert!(place.expect_failure(4, "fill db missing.tsv").starts_with("missing.tsv: cannot open: "));
    assert!(!place.path("db").exists());
    assert!(place.expect_failure(4, "fill keys.txt/db keys.txt").starts_with("keys.txt/db: cannot open the store: "));
}

/// A limit on the length of files: the same as a full disk, but for the number. What the message advises is followed.
#[cfg(target_os = "linux")]
#[test]
fn cells_written_before_the_disk_is_full_are_found_as_advised() {
    let place = Place::new();
    place.write("rows.txt", lines("some-row", 20_000));
    let fill = "$FB fill db --rows-only rows.txt";
    let (_, message) = ended(4, &place.shell(&format!("ulimit -f 300; exec {fill}")));
    let (_, rest) = message.split_once("Cells written before: ").unwrap();
    let (number, rest) = rest.split_once(", which are in its log and tables. ").unwrap();
    let number: u64 = number.parse().unwrap();
    assert!((100..20_000).contains(&number), "{message}");
    let command = rest.split('`').nth(1).unwrap().strip_prefix("filterblock ").unwrap();
    assert_eq!(command, "verify db");
    let text = place.expect(0, command);
    assert!(text.contains(&format!("; {number} cells in the log only\n")), "{text}");
    assert_eq!(place.json(0, "verify db --json")["cells_in_log"], number);
    assert_eq!(place.expect(0, "scan db").lines().count() as u64, number);
}

#[test]
fn flags_without_effect_are_refused() {
    let place = Place::new();
    place.write("cells.tsv", cells(0, 3, "value"));
    place.expect(0, "fill db cells.tsv --seed 7");
    for (options, part) in [
        ("db cells.tsv --seed 8", "`filterblock rebuild --help`"),
        ("new cells.tsv --kind none --fpr 1%", "no filter"),
        ("new cells.tsv --kind none --max-bytes 1KiB --level-kind 1=none", "no filter"),
        ("new cells.tsv --kind none --prefix-len 3", "no filter"),
    ] {
        let message = place.expect_failure(2, &format!("fill {options}"));
        assert!(message.contains(part), "{options}: {message}");
        assert!(!place.path("new").exists(), "{options}");
    }
    place.expect(0, "fill new cells.tsv --kind none --level-kind 0=bloom --bits-per-key 12");
    place.expect_failure(2, "rebuild db --kind none --bits-per-key 9");
    place.expect_failure(2, "rebuild db --kind none --prefix-len 4");
    place.expect_failure(2, "verify db --context 3");
    place.expect_failure(2, "query cells.tsv --null key");
    assert_eq!(place.expect(0, "scan db"), cells(0, 3, "value"));
}
