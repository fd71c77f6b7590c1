//! The memory of filters: what `stats` shows of a limit.

use super::cells;
use crate::Place;
use serde_json::Value;

fn filters(stats: &Value) -> Vec<&Value> {
    let tables = stats["tables"].as_array().unwrap();
    tables.iter().flat_map(|table| table["filters"].as_array().unwrap()).collect()
}

#[test]
fn stats_show_what_is_held_of_what_is_stored() {
    let place = Place::new();
    place.write("first.tsv", cells(0, 1500, "old"));
    place.write("second.tsv", cells(1000, 2000, "new"));
    for file in ["first.tsv", "second.tsv"] {
        place.expect(0, &format!("fill db {file} --kind ribbon --fpr 0.0016%"));
    }
    let without = place.json(0, "stats db --json");
    assert_eq!(without["filter_memory_bytes_max"], Value::Null);
    let stored: u64 = filters(&without).iter().map(|filter| filter["bytes"].as_u64().unwrap()).sum();
    assert!(!place.expect(0, "stats db").contains("filters in memory"));

    let limit = stored / 2;
    let stats = place.json(0, &format!("stats db --filter-memory-bytes {limit} --json"));
    assert_eq!(stats["filter_memory_bytes_max"], limit);
    let text = place.expect(0, &format!("stats db --filter-memory-bytes {limit}"));
    let mut held_bytes = 0;
    for filter in filters(&stats) {
        let columns = &filter["columns"];
        let held = columns["held"].as_u64().unwrap();
        assert!(columns["stored"] == 16 && (6..=10).contains(&held), "{filter}");
        assert_eq!(filter["held_bytes"], columns["held_bytes"]);
        held_bytes += filter["held_bytes"].as_u64().unwrap();
        let rate = filter["predicted_fpr"].as_f64().unwrap();
        assert!((rate * f64::from(1u32 << held) - 1.0).abs() < 0.1, "{filter}");
        assert!(text.contains(&format!(" {held} of 16 ")), "{text}");
    }
    assert_eq!(stats["filter_memory_bytes"], held_bytes);
    assert!(held_bytes <= limit && held_bytes > limit * 9 / 10, "{held_bytes} of {limit}");
    assert!(text.contains(&format!("\nfilters in memory: {held_bytes} bytes of at most {limit}\n")), "{text}");
    for refused in ["-1", "many"] {
        place.expect_failure(2, &format!("stats db --filter-memory-bytes={refused}"));
    }
}
