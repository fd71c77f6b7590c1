//! The demo of where filters are: the figures add up, filters are read where they are not in memory, and answers do not
//! depend on it.

use crate::demo::{count, demo, json};

const SMALL: [&str; 6] = ["--workload", "residence", "--rows", "12_000", "--lookups", "500"];
const CLASSES: [&str; 5] = ["absent_row", "absent_column", "present_cell", "absent_prefix", "present_prefix"];

#[test]
fn the_figures_add_up_wherever_the_filters_are() {
    let report = json(&SMALL);
    assert_eq!((report["answers_identical"].as_bool(), count(&report, "answers_wrong")), (Some(true), 0));
    assert_eq!((report["kind"].as_str(), count(&report, "lookups_per_class")), (Some("bloom"), 500));
    assert!((1..100).contains(&count(&report, "prefix_len")), "{report}");
    let popularities = report["popularities"].as_array().unwrap();
    let names: Vec<_> = popularities.iter().map(|popularity| popularity["popularity"].as_str().unwrap()).collect();
    assert_eq!(names, ["uniform", "zipfian"]);
    for popularity in popularities {
        let runs = popularity["runs"].as_array().unwrap();
        let names: Vec<_> = runs.iter().map(|run| run["filter"].as_str().unwrap()).collect();
        assert_eq!(names, ["none", "in memory", "partitioned", "on the disk"]);
        let taken = |run| count(run, "data_block_reads") + count(run, "data_block_cache_hits");
        for run in runs {
            assert_eq!(run["ledger_balanced"], true);
            assert_ne!(run["reads_match_os"], false);
            assert_eq!(run["answers_hash"], runs[0]["answers_hash"]);
            assert_eq!(count(run, "reads_avoided"), taken(&runs[0]) - taken(run));
            let reads = count(run, "data_block_reads") + count(run, "filter_block_reads");
            assert_eq!(count(run, "ledger_reads"), reads);
            let classes = run["classes"].as_array().unwrap();
            assert_eq!(classes.iter().map(|class| class["class"].as_str().unwrap()).collect::<Vec<_>>(), CLASSES);
            for field in ["data_block_reads", "filter_block_reads", "filter_block_bytes", "false_positives"] {
                assert_eq!(count(run, field), classes.iter().map(|class| count(class, field)).sum::<u64>());
            }
            let of = |field| classes.iter().map(|class| count(class, field)).collect::<Vec<u64>>();
            let (avoided, lookups) = (of("avoided"), of("table_lookups"));
            if run["filter"] == "none" {
                let unfiltered = of("no_filter").into_iter().zip(of("out_of_key_range")).map(|(a, b)| a + b);
                assert_eq!(unfiltered.collect::<Vec<u64>>(), lookups);
            } else {
                // Most lookups of absent keys meet several tables, and are denied by nearly all.
                for class in [0, 1, 3] {
                    assert!(avoided[class] > 500, "{avoided:?}");
                    assert!(count(&classes[class], "false_positives") * 20 < avoided[class], "{run}");
                }
                // Whatever is present was found.
                assert!(count(&classes[4], "true_positives") >= 500, "{run}");
            }
        }
        let filter_reads: Vec<u64> = runs.iter().map(|run| count(run, "filter_block_reads")).collect();
        assert_eq!(filter_reads[..2], [0, 0]);
        assert!(filter_reads[2..].iter().all(|&reads| reads > 0), "{filter_reads:?}");
        let held: Vec<u64> = runs.iter().map(|run| count(run, "filter_memory_bytes")).collect();
        assert!(held[0] == 0 && held[3] < held[1] && held[2] < held[1] / 4, "{held:?}");
        // In memory the filters take twice the bytes of the cache.
        let memory: Vec<u64> = runs.iter().map(|run| count(run, "memory_bytes")).collect();
        assert!(memory[0] == memory[3] && memory[1].abs_diff(2 * memory[0]) <= 1, "{memory:?}");
    }
}

#[test]
fn the_cache_has_the_flags_bytes() {
    let report = json(&[&SMALL[..], &["--filter-memory-bytes", "64MiB", "--kind", "ribbon"]].concat());
    assert_eq!((report["kind"].as_str(), &report["answers_identical"]), (Some("ribbon"), &true.into()));
    let runs = report["popularities"][0]["runs"].as_array().unwrap();
    for run in [&runs[0], &runs[2], &runs[3]] {
        assert_eq!(count(run, "memory_bytes"), 64 << 20);
    }
    // The cache has room for all filters, and has them since the tables were opened.
    assert_eq!(count(&runs[3], "filter_block_reads"), 0);
    for refused in [
        &["--workload", "uniform", "--filter-memory-bytes", "1MiB"][..],
        &["--workload", "residence", "--absent-share", "10"],
    ] {
        assert_eq!(demo(refused).status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn filters_that_no_cache_can_hold_are_reported() {
    let table = demo(&["--workload", "residence", "--rows", "200", "--lookups", "100"]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("the cache is too small to hold every one"), "{table}");
    assert!(table.contains("Answers identical in all runs:        yes") && !table.contains("NO"), "{table}");
}

#[test]
fn the_terminal_shows_both_popularities() {
    let table = demo(&[&SMALL[..], &["--kind", "blocked"]].concat());
    let table = String::from_utf8(table.stdout).unwrap();
    for line in ["\nuniform ", "\nzipfian ", "filter-block reads", "Answers identical in all runs:        yes"] {
        assert_eq!(table.matches(line).count(), if line.starts_with("filter") { 2 } else { 1 }, "{line}: {table}");
    }
    assert!(!table.contains("NO"), "{table}");
}
