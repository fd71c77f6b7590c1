//! The demo of Zipfian reads: the figures add up, and all runs have the same queries. Times are not checked.

use crate::demo::{count, demo, json};

const SHARES: &str = "0,50,100";

#[test]
fn the_figures_of_each_share_add_up() {
    let report = json(&["--rows", "4_000", "--lookups", "1000", "--workload", "zipfian", "--absent-share", SHARES]);
    assert_eq!((report["answers_identical"].as_bool(), count(&report, "answers_wrong")), (Some(true), 0));
    assert_eq!((count(&report, "lookups_per_share"), report["theta"].as_f64()), (1000, Some(0.99)));
    let shares = report["shares"].as_array().unwrap();
    assert_eq!(shares.iter().map(|share| count(share, "absent_percent")).collect::<Vec<_>>(), [0, 50, 100]);
    for share in shares {
        let (percent, absent) = (count(share, "absent_percent"), count(share, "absent_lookups"));
        // Four standard deviations of 1000 draws are 63 at the most.
        assert!(absent.abs_diff(percent * 10) <= 63, "{absent} of 1000 for {percent} %");
        assert!(percent % 100 != 0 || absent == percent * 10);
        assert!(count(share, "distinct_cells") < 900, "skewed questions come again");
        let runs = share["runs"].as_array().unwrap();
        let names: Vec<_> = runs.iter().map(|run| run["filter"].as_str().unwrap()).collect();
        assert_eq!(names, ["none", "bloom", "blocked", "golomb", "ribbon", "fuse"]);
        let unfiltered = count(&runs[0], "data_block_reads");
        for run in runs {
            assert_eq!(run["ledger_balanced"], true);
            assert_ne!(run["reads_match_os"], false);
            assert_eq!(count(run, "reads_avoided"), unfiltered - count(run, "data_block_reads"));
            assert_eq!(run["answers_hash"], runs[0]["answers_hash"]);
        }
        for run in &runs[1..] {
            // A present cell takes one read; every other read is in vain.
            assert_eq!(count(run, "data_block_reads"), 1000 - absent + count(run, "false_positives"));
            assert!(count(run, "data_block_reads") < unfiltered);
        }
    }
}

#[test]
fn questions_do_not_depend_on_what_else_is_run() {
    let answers = |args: &[&str]| {
        let report = json(&[&["--lookups", "500", "--workload", "zipfian"], args].concat());
        let shares = report["shares"].as_array().unwrap();
        let half = shares.iter().find(|share| count(share, "absent_percent") == 50).unwrap();
        half["runs"][1]["answers_hash"].as_str().unwrap().to_owned()
    };
    let alone = answers(&["--rows", "2_000", "--absent-share", "50", "--kind", "golomb"]);
    assert_eq!(alone, answers(&["--rows", "2_000", "--kind", "blocked,bloom"]));
    assert_ne!(alone, answers(&["--rows", "2_001", "--absent-share", "50", "--kind", "golomb"]));
}

#[test]
fn the_terminal_shows_each_share() {
    let table = demo(&["--rows", "2_000", "--lookups", "500", "--workload", "zipfian", "--absent-share", "7,93"]);
    let table = String::from_utf8(table.stdout).unwrap();
    for share in ["7 % of lookups absent", "93 % of lookups absent"] {
        assert_eq!(table.matches(share).count(), 1, "{table}");
    }
    assert!(table.contains("Answers identical in all runs:        yes"), "{table}");
    assert!(!table.contains("NO"), "{table}");
}
