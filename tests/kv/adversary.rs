//! The demo of an attacker: every crafted row costs a read while the seed is known, and as many as the rate predicts
//! while it is not. Times are not checked.

use crate::demo::{count, demo, json};
use serde_json::Value;

const SMALL: [&str; 6] = ["--workload", "adversary", "--rows", "4_000", "--lookups", "500"];

fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let mut steps = run["steps"].as_array().unwrap().iter().filter(|step| step["step"] == name);
    let step = steps.next().unwrap_or_else(|| panic!("no {name}"));
    assert!(steps.next().is_none());
    step
}

/// Asserts that a step has the false positives that the filters' bits predict, within four standard deviations.
fn assert_as_predicted(step: &Value) {
    let (found, rate) = (count(step, "false_positives") as f64, step["predicted_fpr"].as_f64().unwrap());
    let asked = count(step, "false_positives") + count(step, "reads_avoided");
    let sigma = (asked as f64 * rate * (1.0 - rate)).sqrt();
    let expected = asked as f64 * rate;
    assert!((found - expected).abs() <= 4.0 * sigma, "{found} for {expected} ± {sigma} in {step}");
}

#[test]
fn a_known_seed_costs_a_read_each_and_a_secret_one_the_rate() {
    let report = json(&SMALL);
    assert_eq!((report["answers_identical"].as_bool(), count(&report, "answers_wrong")), (Some(true), 0));
    assert_eq!(report["seed_known"], "0x0000000000000000");
    let runs = report["runs"].as_array().unwrap();
    let names: Vec<_> = runs.iter().map(|run| run["filter"].as_str().unwrap()).collect();
    assert_eq!(names, ["bloom", "blocked", "golomb", "ribbon", "fuse"]);
    for run in runs {
        assert_eq!((count(run, "crafted_rows"), run["tables_untouched"].as_bool()), (500, Some(true)));
        assert!(count(run, "candidates_tried") > 10_000 && count(run, "candidates_passed") >= 500);
        assert!(count(run, "rebuild_bytes") > 4_000);

        let (ordinary, crafted) = (step(run, "ordinary_rows"), step(run, "crafted_rows"));
        assert_as_predicted(ordinary);
        assert_eq!((count(crafted, "lookups"), count(crafted, "lookups_with_reads")), (500, 500));
        // No read finds anything; some rows pass more than one filter.
        let reads = count(crafted, "data_block_reads");
        assert_eq!(reads, count(crafted, "false_positives"));
        assert!((500..550).contains(&reads), "{reads}");

        let secret = step(run, "crafted_rows_secret_seed");
        assert_eq!(count(secret, "lookups"), 500);
        assert_as_predicted(secret);
        let (replay, renewed) = (step(run, "replay"), step(run, "replay_new_seed"));
        assert_eq!(count(replay, "lookups"), count(secret, "lookups_with_reads"));
        assert_eq!(count(replay, "lookups_with_reads"), count(replay, "lookups"));
        assert_eq!(count(replay, "data_block_reads"), count(secret, "data_block_reads"));
        assert_eq!(count(renewed, "lookups"), count(replay, "lookups"));
        assert!(count(renewed, "lookups_with_reads") < count(replay, "lookups_with_reads"));
        assert_eq!(count(step(run, "present_cells"), "lookups"), 500);

        let keyed = step(run, "crafted_rows_secret_key");
        assert_eq!(count(keyed, "lookups"), 500);
        assert_as_predicted(keyed);
    }
}

#[test]
fn the_account_of_every_step_is_that_of_the_system_and_of_the_store_without_filters() {
    let report = json(&SMALL);
    for run in report["runs"].as_array().unwrap() {
        let steps = run["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 7);
        for step in steps {
            assert_eq!(step["ledger_balanced"], true);
            assert_ne!(step["reads_match_os"], false);
            if cfg!(target_os = "linux") {
                assert_eq!(count(step, "os_read_bytes"), count(step, "ledger_read_bytes"));
            }
            assert_eq!(count(step, "reads_avoided"), count(step, "reads_fewer_than_unfiltered"));
        }
        let sum: u64 = steps.iter().map(|step| count(step, "ledger_read_bytes")).sum();
        assert_eq!(count(run, "ledger_read_bytes"), sum);
    }
}

#[test]
fn a_list_is_all_that_the_attacker_has() {
    let dir = tempfile::tempdir().unwrap();
    let list = |name: &str, step: usize| {
        let path = dir.path().join(name);
        let lines: String = (0..20_001).step_by(step).map(|i| format!("word{i:05}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (keys, absent) = (list("keys", 2), list("absent", 1));
    let args = ["--workload", "adversary", "--keys", &keys, "--absent", &absent, "--kind", "blocked"];
    let report = json(&[&args[..], &["--lookups", "5000"]].concat());
    let run = &report["runs"][0];
    // All of the 10 000 absent rows are tried, and pass at the rate of any absent rows.
    assert_eq!(count(run, "candidates_tried"), 10_000);
    let (crafted, ordinary) = (step(run, "crafted_rows"), step(run, "ordinary_rows"));
    let lookups = count(crafted, "lookups");
    assert_eq!(count(crafted, "lookups_with_reads"), lookups);
    assert_eq!(count(ordinary, "lookups"), 5000);
    let (tried, asked) = (lookups as f64 / 10_000.0, count(ordinary, "lookups_with_reads") as f64 / 5_000.0);
    let sigma = (tried / 10_000.0 + asked / 5_000.0).sqrt();
    assert!((tried - asked).abs() <= 4.0 * sigma, "{tried} passed at home, {asked} in the store");

    // At so low a rate no absent row passes.
    let output = demo(&[&args[..], &["--lookups", "100", "--bits-per-key", "40"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("of 10000 absent rows no filter lets one pass"), "{message}");
}

#[test]
fn the_terminal_shows_the_attack() {
    let output = demo(&[&SMALL[..], &["--kind", "golomb"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    for line in [
        "Attacker:  knows what is in each table, and the seed of its filters: 0",
        "Answers identical in all runs:        yes",
    ] {
        assert_eq!(table.matches(line).count(), 1, "{table}");
    }
    // Of the crafted rows while the seed is known, and of the rows that are queried again.
    assert_eq!(table.matches("100.00 %").count(), 2, "{table}");
    assert!(!table.contains("NO"), "{table}");
}
