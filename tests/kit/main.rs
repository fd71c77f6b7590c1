//! The conformance kit of the format, which tests/conformance/README.md describes: the library, a reader made of the
//! document's rules alone, and the second reader answer it.

mod answers;
mod document;
mod precedence;

use answers::directory;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use testkit::kit::{corpus, library, vectors};
use testkit::{material, oracle, rules};

/// A file is a list with a case in each line, and an answer for each query.
#[test]
fn the_files_are_lists_of_cases() {
    let (mut num_cases, mut num_answers, mut num_bytes) = (0, 0, 0);
    for name in answers::files() {
        let text = std::fs::read_to_string(directory().join(&name)).expect("a file of the kit");
        let cases = answers::of_file(&name);
        assert_eq!(text.lines().count(), cases.len() + 2, "{name}");
        for case in cases {
            let count = |value: &Value| value.as_array().map_or(0, Vec::len);
            let num_queries = count(&case["request"]["queries"]);
            assert_eq!(case["reply"]["answers"].as_str().map_or(0, str::len), num_queries, "{}", case["name"]);
            num_answers += num_queries;
            num_cases += 1;
        }
        num_bytes += text.len();
    }
    println!("counted: {num_cases} cases of the conformance kit, {num_answers} answers, {} kB", num_bytes / 1000);
}

#[test]
fn the_example_of_the_protocol() {
    let text = std::fs::read_to_string(directory().join("README.md")).expect("a text");
    let line = |mark: &str| text.lines().find_map(|line| line.strip_prefix(mark)).expect("an example");
    let [request, shown] = ["    > ", "    < "].map(|mark| serde_json::from_str::<Value>(line(mark)).expect("JSON"));
    assert_eq!(library::answer(&request), shown);
}

/// The same number gives the same case, which the library answers; each class and frame has its share.
#[test]
fn a_corpus_has_all_sorts_of_frames() {
    let cases: Vec<_> = (0..400).map(|number| corpus::case(7, number)).collect();
    let (mut frames, mut classes) = (BTreeMap::new(), BTreeMap::new());
    for (number, case) in (0..).zip(&cases) {
        assert_eq!(*case, corpus::case(7, number));
        let (reply, expected) = (library::answer(&case["request"]), case["reply"].as_object().expect("an object"));
        assert!(expected.iter().all(|(field, value)| reply[field] == *value), "{number}: {reply}");
        assert_ne!(case["request"], corpus::case(8, number)["request"], "{number}");
        *frames.entry(case["request"]["frame"].to_string()).or_insert(0) += 1;
        *classes.entry(expected["class"].to_string()).or_insert(0) += 1;
    }
    assert!(frames.len() == 4 && frames.values().all(|&num| num > 20), "{frames:?}");
    assert!(classes.len() == 4 && classes.values().all(|&num| num > 3), "{classes:?}");
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn the_second_reader_answers_the_kit() {
    let python = std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into());
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/corpus.json");
    // And the document's vectors, which are cases, too.
    let of_document = vectors::cases();
    println!("counted: {} frames of the document's vectors", of_document.len());
    let cases: Vec<_> = (0..400).map(|number| corpus::case(9, number)).chain(of_document).collect();
    std::fs::write(file, serde_json::to_string(&cases).expect("JSON")).expect("a file");
    let reader = ["-B", "../second_reader/conformance.py"];
    for (arguments, command, passes) in [
        (&["--every-field"][..], &reader[..], true),
        (&["--every-field", "--files", file], &reader, true),
        (&["--kinds", "blocked,ribbon"], &reader, true),
        (&["--level", "1"], &reader, true),
        (&["--level", "1"], &[reader[0], reader[1], "--level", "1"], true),
        (&["--kinds", "blocked,ribbon"], &[reader[0], reader[1], "--level", "1"], false),
    ] {
        let run = [&["-B", "run.py"], arguments, &[&python], command].concat();
        let output = Command::new(&python).args(run).current_dir(directory()).output().expect("python3 runs");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.success(), passes, "{arguments:?} {command:?}: {shown}");
        if arguments == ["--every-field"] {
            print!("{shown}");
        }
    }
    // The runner notices what is wrong, and rows.json is what cases.py makes.
    for script in [&["../kit/runner.py"][..], &["../second_reader/cases.py", "--check"]] {
        let status = Command::new(&python).arg("-B").args(script).current_dir(directory()).status();
        assert!(status.expect("python3 runs").success(), "{script:?}");
    }
}
