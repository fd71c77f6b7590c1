//! The demo as a program: its figures must support its claims. Times are not checked.

use filterblock::{FilterKind, FilterPolicy};
use serde_json::Value;
use std::process::{Command, Output};

pub(crate) fn demo(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_filterblock")).arg("demo").args(args).output().unwrap()
}

pub(crate) fn json(args: &[&str]) -> Value {
    let output = demo(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "nothing is said where there is no terminal");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn count(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field} in {value}"))
}

#[test]
fn the_figures_add_up() {
    let report = json(&["--rows", "4_000", "--lookups", "500"]);
    assert_eq!(report["answers_identical"], true);
    assert_eq!((count(&report, "answers_wrong"), count(&report, "lookups_per_class")), (0, 500));
    assert!(report["direct_io"].is_boolean());
    let runs = report["runs"].as_array().unwrap();
    let names: Vec<_> = runs.iter().map(|run| run["filter"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "bloom", "blocked", "golomb", "ribbon", "fuse"]);
    let unfiltered = count(&runs[0], "data_block_reads");
    for run in runs {
        assert_ne!(run["reads_match_os"], false);
        if cfg!(target_os = "linux") {
            assert_eq!(count(run, "os_read_bytes"), count(run, "ledger_read_bytes"));
        }
        assert_eq!(run["ledger_balanced"], true);
        assert_eq!(count(run, "reads_avoided"), unfiltered - count(run, "data_block_reads"));
        assert_eq!(run["answers_hash"], runs[0]["answers_hash"]);
        for class in run["classes"].as_array().unwrap() {
            let outcomes = [
                "out_of_key_range",
                "avoided",
                "true_positives",
                "false_positives",
                "tombstones",
                "no_filter",
                "filter_unusable",
            ];
            let sum: u64 = outcomes.iter().map(|outcome| count(class, outcome)).sum();
            assert_eq!(sum, count(class, "table_lookups"));
        }
    }
    for (run, &kind) in runs[1..].iter().zip(FilterKind::ALL) {
        // A step of the rate takes 1.07 to 1.3 bits per key.
        let least = if FilterPolicy::rate_has_steps(kind) { 8.5 } else { 9.5 };
        assert!((least..10.5).contains(&run["bits_per_key"].as_f64().unwrap()), "{run}");
        assert!(run["absent_reads_avoided_share"].as_f64().unwrap() > 0.985);
        let (observed, predicted) = (run["observed_fpr"].as_f64().unwrap(), run["predicted_fpr"].as_f64().unwrap());
        let asked = count(run, "false_positives") as f64 / observed;
        let sigma = (predicted * (1.0 - predicted) / asked).sqrt();
        assert!((observed - predicted).abs() < 4.0 * sigma, "{observed} against {predicted} ± {sigma}");
    }
}

#[test]
fn users_lists_can_be_looked_up() {
    let dir = tempfile::tempdir().unwrap();
    let list = |name: &str, numbers: std::ops::Range<u32>, step: usize| {
        let path = dir.path().join(name);
        let lines: String = numbers.step_by(step).map(|i| format!("word{i:05}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (keys, absent) = (list("keys", 0..2000, 2), list("absent", 0..2200, 1));
    let report = json(&["--keys", &keys, "--absent", &absent, "--kind", "blocked", "--lookups", "200"]);
    // Of the 2200 given as absent, 1000 are present and 201 after the last row.
    assert_eq!((count(&report, "rows"), count(&report, "absent_rows_dropped")), (1000, 1201));
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert_eq!(report["answers_identical"], true);

    let table = demo(&["--keys", &keys, "--absent", &absent, "--kind", "bloom,golomb", "--lookups", "200"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("Answers identical in all runs:        yes"), "{table}");
    assert!(!table.contains("NO"), "{table}");
}

#[test]
fn impossible_runs_are_usage_errors() {
    for args in [
        &["--rows", "10"][..],
        &["--bits-per-key", "1"],
        &["--kind", "cuckoo"],
        &["--keys", "there-is-no-such-file"],
        &["--rows", "1000", "--keys", "a", "--absent", "b"],
        &["--workload", "latest"],
        &["--absent-share", "10"],
        &["--workload", "zipfian", "--absent-share", "101"],
        &["--workload", "adversary", "--absent-share", "10"],
    ] {
        assert_eq!(demo(args).status.code(), Some(2), "{args:?}");
    }
    assert_eq!(demo(&["--keys", "no-such-file", "--absent", "no-such-file"]).status.code(), Some(4));
}
