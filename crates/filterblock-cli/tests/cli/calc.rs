//! `filterblock calc`.

use crate::*;

fn rows(place: &Place, options: &str) -> Vec<Value> {
    let answer = place.json(0, &format!("calc {options} --json"));
    let rows = answer["kinds"].as_array().unwrap().clone();
    assert_eq!(rows.iter().map(|row| row["kind"].as_str().unwrap()).collect::<Vec<_>>(), KINDS);
    rows
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

#[test]
fn every_pair_gives_the_rest() {
    let place = Place::new();
    for options in [
        "--entries 1e6 --fpr 1%",
        "--entries 1_000_000 --bits-per-key 10",
        "--entries 1000000 --max-bytes 1MiB",
        "--fpr 0.01 --max-bytes 1048576",
        "--bits-per-key 9.9 --max-bytes 1MiB",
    ] {
        for row in rows(&place, options) {
            let (entries, bytes, fpr) = (number(&row, "entries"), number(&row, "bytes"), number(&row, "fpr"));
            let bits = number(&row, "bits_per_key");
            assert!((bits - bytes * 8.0 / entries).abs() < 1e-9, "{options}: {row}");
            // Ribbon and fuse are near the bound, so they hold more entries in a size and take less for a rate.
            let (most, least) = match row["kind"].as_str().unwrap() {
                "ribbon" => (1_300_000.0, 0.05),
                "fuse" => (1_200_000.0, 0.4),
                _ => (1_200_000.0, 1.4),
            };
            assert!((800_000.0..most).contains(&entries), "{options}: {row}");
            assert!((0.001..0.03).contains(&fpr), "{options}: {row}");
            let bound = number(&row, "lower_bound_bits_per_key");
            assert!((bound + fpr.log2()).abs() < 1e-9, "{options}: {row}");
            let overhead = number(&row, "overhead_bits_per_key");
            assert!(overhead > least && (overhead - (bits - bound)).abs() < 1e-9, "{options}: {row}");
        }
    }
}

#[test]
fn figures_are_those_that_a_policy_plans() {
    let place = Place::new();
    let mut num_exact = 0;
    for entries in [131_073u64, 1_000_000, 40_000_000] {
        for (option, size) in [("--fpr 1%", "fpr=1%"), ("--bits-per-key 10", "10"), ("--max-bytes 50M", "max=50000000")]
        {
            for row in rows(&place, &format!("--entries {entries} {option}")) {
                let kind = row["kind"].as_str().unwrap();
                let policy: FilterPolicy = format!("{kind}:{size}").parse().unwrap();
                num_exact += 1;
                assert_eq!(row["bytes"], policy.expected_block_len(entries).unwrap(), "{entries} {option}");
                let rate = policy.expected_false_positive_rate(entries).unwrap();
                assert!((number(&row, "fpr") / rate - 1.0).abs() < 1e-12, "{rate}: {row}");
            }
        }
    }
    assert_eq!(num_exact, 5 * 9);
    // The most entries that fit.
    for bytes in [200, 5_000, 1_000_000, 100_000_000_000] {
        for (option, size) in [("--fpr 1%", "fpr=1%"), ("--bits-per-key 12", "12")] {
            for row in rows(&place, &format!("{option} --max-bytes {bytes}")) {
                let policy: FilterPolicy = format!("{}:{size}", row["kind"].as_str().unwrap()).parse().unwrap();
                let entries = policy.expected_num_entries(bytes);
                let len = policy.expected_block_len(entries).unwrap();
                assert_eq!((&row["entries"], &row["bytes"]), (&entries.into(), &len.into()), "{option} {bytes}");
            }
        }
    }
}

#[test]
fn counts_have_units_and_may_be_large() {
    let place = Place::new();
    for (entries, number) in [("1M", 1_000_000), ("10k", 10_000), ("1e6", 1_000_000), ("1e10", 10u64.pow(10))] {
        for row in rows(&place, &format!("--entries {entries} --bits-per-key 10")) {
            assert_eq!(row["entries"], number, "{entries}");
        }
    }
    place.write("cells.tsv", crate::spread_cells(2000, 1));
    place.expect(0, "fill db cells.tsv");
    assert_eq!(place.expect(0, "scan db --limit 1k").lines().count(), 1000);
    let demo = place.json(0, "demo --rows 1k --lookups 0.2k --kind bloom --json");
    assert_eq!((&demo["rows"], &demo["lookups_per_class"]), (&1000.into(), &200.into()));
}

#[test]
fn text_has_a_line_for_each_kind() {
    let place = Place::new();
    let text = place.expect(0, "calc --entries 1e6 --fpr 1%");
    let first = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let table = text.lines().take_while(|line| !line.is_empty());
    assert_eq!(table.map(first).collect::<Vec<_>>(), ["kind", "bloom", "blocked", "golomb", "ribbon", "fuse"]);
    assert!(text.contains("lower bound") && text.contains("overhead"), "{text}");
}

#[test]
fn one_kind_that_cannot_is_an_answer_and_all_kinds_are_a_refusal() {
    let place = Place::new();
    let answers = rows(&place, "--entries 1000 --fpr 1e-12");
    let possible: Vec<_> = answers.iter().map(|row| row.get("error").is_none()).collect();
    assert_eq!(possible, [true, false, true, false, false]);
    let text = place.expect(0, "calc --entries 1000 --fpr 1e-12");
    assert!(text.contains("blocked: a false-positive rate of"), "{text}");
    assert!(place.expect_failure(2, "calc --entries 1000 --fpr 2").contains("no kind can do it"));
}

#[test]
fn anything_but_two_figures_is_refused() {
    let place = Place::new();
    for options in [
        "",
        " --entries 5",
        " --fpr 1%",
        " --fpr 1% --bits-per-key 8",
        " --entries 5 --fpr 1% --max-bytes 100",
        " --entries 5 --fpr 1% --max-bytes 100 --bits-per-key 3",
    ] {
        let message = place.expect_failure(2, &format!("calc{options}"));
        assert!(message.contains("give exactly two") && message.contains("pairs"), "{message}");
    }
    let all = "--entries 0 --fpr 1%; --entries 1.5 --fpr 1%; --entries 1e30 --fpr 1%; --entries -1 --fpr 1%; \
        --entries 5 --fpr x; --entries 5 --fpr NaN; --entries 5 --fpr 0; --entries 5 --bits-per-key 1; \
        --entries 5 --max-bytes 10; --fpr 1% --max-bytes 64; --entries 5 --max-bytes 20000000000GiB";
    for options in all.split("; ") {
        place.expect_failure(2, &format!("calc {options}"));
    }
}

/// By default and with each option: the cost is the sum of its parts, and the choice the least of them.
#[test]
fn the_choice_is_the_kind_that_costs_least() {
    let place = Place::new();
    for (options, [level, queries, read_ns, byte_ns]) in [
        ("--bits-per-key 10", [2, 1_000_000, 30_000, 1_000]),
        ("--fpr 1% --level 0", [0, 1_000_000, 1_000, 10]),
        ("--max-bytes 1MiB --level 5 --queries 2M", [5, 2_000_000, 30_000, 1_000_000]),
        ("--fpr 1% --queries 0 --read-ns 5 --byte-ns 4000000000", [2, 0, 5, 4_000_000_000]),
    ] {
        let answer = place.json(0, &format!("calc --entries 1M {options} --json"));
        let choice = &answer["choice"];
        let workload = ["level", "queries", "read_ns", "byte_ns"].map(|name| choice[name].as_u64().unwrap());
        assert_eq!(workload, [level, queries, read_ns, byte_ns], "{options}");
        let cost = |row: &Value| {
            let of_part = |name: &str| number(&row["cost"], name);
            let parts = ["build_ns", "queries_ns", "reads_ns", "bytes_ns"].map(of_part);
            let total = of_part("total_ns");
            assert!((parts.iter().sum::<f64>() / total - 1.0).abs() < 1e-9, "{row}");
            assert!((of_part("queries_ns") - queries as f64 * of_part("query_ns")).abs() < 1e-3 * total, "{row}");
            // The bytes of the plan, and those of a block that was built; what was granted costs nothing.
            let (bytes, built) = (of_part("bytes_ns") / byte_ns as f64, number(row, "bytes"));
            let counted = if options.contains("--fpr") { built } else { 0.0 };
            assert!((bytes - counted).abs() < 0.01 * built, "{row}");
            total
        };
        let kinds = answer["kinds"].as_array().unwrap();
        let least = kinds.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap();
        assert_eq!(choice["kind"], least["kind"], "{options}");
        let text = place.expect(0, &format!("calc --entries 1M {options}"));
        assert!(text.contains(&format!("\nauto: {} costs least, ", choice["kind"].as_str().unwrap())), "{text}");
        let head: Vec<_> = text.lines().next().unwrap().split_whitespace().collect();
        assert!(head.ends_with(&["build", "ns", "query", "ns", "cost", "ms"]), "{text}");
    }
    let without = place.json(0, "calc --fpr 1% --max-bytes 1MiB --json");
    assert_eq!((&without["choice"], without["kinds"][0].get("cost")), (&Value::Null, None));
    let message = place.expect_failure(2, "calc --fpr 1% --max-bytes 1MiB --level 3");
    assert!(message.contains("--entries <N>"), "{message}");
}

/// A rate leads to bits, and these lead back to the rate.
#[test]
fn a_range_filter_has_a_size_or_a_rate() {
    let place = Place::new();
    let of_rate = place.json(0, "calc --entries 1M --fpr 1% --range-len 1024 --json");
    let (bits, bytes) = (number(&of_rate, "bits_per_key"), number(&of_rate, "bytes"));
    assert!((bits - (102_400f64.log2() + 1.75)).abs() < 1e-6 && (bytes - bits * 125_000.0).abs() < 126.0, "{of_rate}");
    assert_eq!(of_rate["policy"], "range:fpr=0.01,len=1024");
    let of_bits = place.json(0, &format!("calc --entries 1M --bits-per-key {bits} --range-len 1024 --json"));
    assert!((number(&of_bits, "fpr") / 0.01 - 1.0).abs() < 1e-6, "{of_bits}");
    let text = place.expect(0, "calc --entries 1M --fpr 1% --range-len 1024");
    assert!(text.starts_with("range:fpr=0.01,len=1024: 18.394 bits/key, "), "{text}");
    for (options, says) in [
        ("--entries 1M --range-len 1024", "one of --fpr and --bits-per-key"),
        ("--entries 1M --fpr 1% --bits-per-key 9 --range-len 1024", "one of --fpr and --bits-per-key"),
        ("--fpr 1% --range-len 1024", "--entries <N>"),
        (
            "--entries 1M --bits-per-key 9 --range-len 1024",
            "9 bits per key are too few for ranges of 1024 integers: with 12.750 half",
        ),
    ] {
        let message = place.expect_failure(2, &format!("calc {options}"));
        assert!(message.contains(says), "{options}: {message}");
    }
}
