//! The demo of elastic filters: the figures add up, and counted lookups halve the reads in vain where they favour few
//! tables.

use crate::demo::{count, demo, json};
use serde_json::Value;

const SMALL: [&str; 6] = ["--workload", "elastic", "--rows", "8_000", "--lookups", "5000"];

fn figure(run: &Value, field: &str) -> f64 {
    run[field].as_f64().unwrap_or_else(|| panic!("{field} in {run}"))
}

#[test]
fn the_figures_add_up_and_the_ratio_is_met() {
    let report = json(&SMALL);
    assert_eq!((report["answers_identical"].as_bool(), count(&report, "answers_wrong")), (Some(true), 0));
    assert!(count(&report, "levels") >= 5 && count(&report, "tables") >= 5, "{report}");
    let (stored, limit) = (count(&report, "filter_bytes_stored"), count(&report, "filter_memory_bytes_max"));
    assert_eq!(limit, (stored as f64 * 0.4) as u64);
    let orders = report["orders"].as_array().unwrap();
    let names: Vec<_> = orders.iter().map(|order| order["popular_rows"].as_str().unwrap()).collect();
    assert_eq!(names, ["side by side", "scattered"]);
    for order in orders {
        let runs = order["runs"].as_array().unwrap();
        let held: Vec<_> = runs.iter().map(|run| run["held"].as_str().unwrap()).collect();
        assert_eq!(held, ["nothing", "by sizes", "by sizes and lookups", "all columns"]);
        let bytes: Vec<u64> = runs.iter().map(|run| count(run, "filter_memory_bytes")).collect();
        assert_eq!((bytes[0], bytes[3]), (0, stored));
        assert!(bytes[1..3].iter().all(|&bytes| bytes <= limit && bytes > limit * 9 / 10), "{bytes:?} of {limit}");
        for run in runs {
            assert_eq!((&run["ledger_balanced"], count(run, "lookups")), (&Value::Bool(true), 5000));
            assert_ne!(run["reads_match_os"], false);
            assert_eq!(run["answers_hash"], runs[0]["answers_hash"]);
            // Every other read is of a present cell.
            let present = count(run, "data_block_reads") - count(run, "reads_in_vain");
            assert_eq!(present, count(&runs[0], "data_block_reads") - count(&runs[0], "reads_in_vain"));
            // No absent key comes twice, though a present one may.
            let (observed, expected) = (figure(run, "reads_in_vain"), figure(run, "expected_reads_in_vain"));
            assert!((observed - expected).abs() <= 4.0 * expected.sqrt() + 5.0, "{observed}, expected {expected}");
        }
        let ratio = count(&runs[2], "reads_in_vain") as f64 / count(&runs[1], "reads_in_vain") as f64;
        assert!((ratio - figure(&runs[2], "reads_in_vain_times")).abs() < 1e-9);
        println!("{}: {ratio:.3}", order["popular_rows"]);
        assert!(ratio <= if order["popular_rows"] == "side by side" { 0.5 } else { 1.0 }, "{order}");
    }
}

#[test]
fn the_limit_is_the_flags() {
    let report = json(&[&SMALL[..], &["--filter-memory-bytes", "10KiB"]].concat());
    assert_eq!(count(&report, "filter_memory_bytes_max"), 10 << 10);
    let runs = report["orders"][0]["runs"].as_array().unwrap();
    assert!(runs[1..3].iter().all(|run| count(run, "filter_memory_bytes") <= 10 << 10));
    assert_eq!(report["answers_identical"], true);
    for refused in [
        &["--workload", "zipfian", "--filter-memory-bytes", "10KiB"][..],
        &["--workload", "elastic", "--kind", "blocked"],
        &["--workload", "elastic", "--filter-memory-bytes", "ten"],
        &["--workload", "elastic", "--absent-share", "10"],
    ] {
        assert_eq!(demo(refused).status.code(), Some(2), "{refused:?}");
    }
}
