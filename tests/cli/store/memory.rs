//! The memory of filters: the flag of the commands that open a store, and what they show of it.

use super::cells;
use crate::{Place, stderr};
use serde_json::Value;

/// A store `db` of two tables with filters of 16 columns for rows and for cells.
fn with_columns() -> Place {
    let place = Place::new();
    place.write("first.tsv", cells(0, 1500, "old"));
    place.write("second.tsv", cells(1000, 2000, "new"));
    for file in ["first.tsv", "second.tsv"] {
        place.expect(0, &format!("fill db {file} --kind ribbon --fpr 0.0016% --filter-memory-bytes 4KiB"));
    }
    place
}

fn filters(stats: &Value) -> Vec<&Value> {
    let tables = stats["tables"].as_array().unwrap();
    tables.iter().flat_map(|table| table["filters"].as_array().unwrap()).collect()
}

#[test]
fn stats_show_what_is_held_of_what_is_stored() {
    let place = with_columns();
    let without = place.json(0, "stats db --json");
    assert_eq!(without["filter_memory"], Value::Null);
    assert!(filters(&without).iter().all(|filter| filter.get("expected_reads_in_vain").is_none()));
    let stored: u64 = filters(&without).iter().map(|filter| filter["bytes"].as_u64().unwrap()).sum();
    assert!(!place.expect(0, "stats db").contains("filters in memory"));

    let limit = stored / 2;
    let stats = place.json(0, &format!("stats db --filter-memory-bytes {limit} --json"));
    let memory = &stats["filter_memory"];
    assert_eq!(memory["bytes_max"], limit);
    let mut held_bytes = 0;
    let mut in_vain = [("row", 0.0), ("row+column", 0.0)];
    for filter in filters(&stats) {
        let columns = &filter["columns"];
        let held = columns["held"].as_u64().unwrap();
        assert!(columns["stored"] == 16 && (6..=10).contains(&held), "{filter}");
        assert_eq!(filter["held_bytes"], columns["held_bytes"]);
        held_bytes += filter["held_bytes"].as_u64().unwrap();
        let rate = filter["predicted_fpr"].as_f64().unwrap();
        assert!((rate * f64::from(1u32 << held) - 1.0).abs() < 0.1, "{filter}");
        // Both tables are of level 0.
        assert_eq!(filter["expected_reads_in_vain"], rate);
        in_vain.iter_mut().filter(|(purpose, _)| filter["purpose"] == *purpose).for_each(|(_, sum)| *sum += rate);
    }
    assert_eq!(memory["bytes"], held_bytes);
    assert!(held_bytes <= limit && held_bytes > limit * 9 / 10, "{held_bytes} of {limit}");
    for (purpose, sum) in in_vain {
        let shown = memory["expected_reads_in_vain"][purpose].as_f64().unwrap();
        assert!((shown - sum).abs() < 1e-12, "{purpose}: {shown}, {sum}");
    }
    let text = place.expect(0, &format!("stats db --filter-memory-bytes {limit}"));
    assert!(text.contains(&format!("\nfilters in memory: {held_bytes} bytes of at most {limit}\n")), "{text}");
    let line = format!("\nreads in vain expected of 1000 lookups of an absent row: {:.2}\n", in_vain[0].1 * 1e3);
    assert!(text.contains(&line), "{line} in {text}");
    assert!(text.contains("columns held  bytes held  in vain of 1000\n") && text.contains(" of 16 "), "{text}");
    let metrics = place.expect(0, &format!("stats db --filter-memory-bytes {limit} --prometheus"));
    for (name, value) in [("bytes", held_bytes), ("bytes_max", limit)] {
        let line = format!("\nfilterblock_store_filter_memory_{name} {value}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}

/// Less than one column of one filter takes: nothing is denied, every answer is right, and that is shown.
#[test]
fn a_limit_below_the_fewest_columns_holds_none() {
    let place = with_columns();
    for limit in ["0", "100"] {
        let text = place.expect(0, &format!("stats db --filter-memory-bytes {limit}"));
        assert!(text.contains(&format!("filters in memory: 0 bytes of at most {limit}\n")), "{text}");
        assert!(text.contains("  of 4 of 4 filters with columns none is held: lookups read from their tables\n"));
        assert_eq!(text.matches("0 of 16").count(), 4, "{text}");
        assert!(text.contains("of an absent row: 2000.00\n"), "{text}");
        let found = place.run(&format!("get db row-01200 a --explain --filter-memory-bytes {limit}"));
        assert_eq!((found.status.code(), &found.stdout[..]), (Some(0), &b"new-1200"[..]));
        let absent = place.run(&format!("get db row-01200 none --explain --filter-memory-bytes {limit}"));
        let message = stderr(&absent);
        let line = "row+column filter ribbon (0 of 16 columns, 100 %): no filter, 1 read\n";
        assert_eq!((absent.status.code(), message.matches(line).count()), (Some(1), 2), "{message}");
    }
    let expected = cells(0, 1000, "old") + &cells(1000, 2000, "new");
    for limit in ["0", "3KiB", "1GiB"] {
        assert!(place.expect(0, &format!("scan db --filter-memory-bytes {limit}")) == expected);
    }
    for refused in ["-1", "some", "1.5"] {
        for command in ["stats db", "get db row", "scan db", "fill db nothing.tsv"] {
            place.expect_failure(2, &format!("{command} --filter-memory-bytes={refused}"));
        }
    }
}

#[test]
fn an_explanation_names_the_columns() {
    let place = with_columns();
    let line = "get db row-01200 none --explain --filter-memory-bytes 1GiB";
    let message = stderr(&place.run(line));
    assert_eq!(message.matches("row+column filter ribbon (16 of 16 columns, ").count(), 2, "{message}");
    let tables = &place.json(1, &format!("{line} --json"))["explain"]["tables"];
    assert_eq!((&tables[0]["columns"]["held"], &tables[0]["outcome"]), (&16.into(), &"avoided".into()));
    let message = stderr(&place.run("get db row-01200 none --explain"));
    assert!(!message.contains("columns"), "{message}");
}

/// Filters of kinds without columns are held whole, and counted: the limit cannot make them smaller.
#[test]
fn other_kinds_count_and_are_held_whole() {
    let place = Place::new();
    place.write("cells.tsv", cells(0, 1500, "value"));
    place.expect(0, "fill db cells.tsv --kind blocked");
    let stats = place.json(0, "stats db --filter-memory-bytes 1000 --json");
    let bytes: u64 = filters(&stats).iter().map(|filter| filter["bytes"].as_u64().unwrap()).sum();
    assert_eq!((&stats["filter_memory"]["bytes"], &stats["filter_memory"]["bytes_max"]), (&bytes.into(), &1000.into()));
    assert!(filters(&stats).iter().all(|filter| filter.get("columns").is_none()));
    let text = place.expect(0, "stats db --filter-memory-bytes 1000");
    let more = "  that is more: filters without columns and indexes of partitions are held whatever the limit\n";
    assert!(text.contains(&format!("filters in memory: {bytes} bytes of at most 1000\n{more}")), "{text}");
}
