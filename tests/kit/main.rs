//! The conformance kit of the format: makes its data, which are checked in, and has the library and the second reader
//! answer it.
//!
//! `FILTERBLOCK_BLESS=1 cargo test --test kit` writes the data anew. tests/conformance/README.md describes them.

mod answers;
#[path = "../format/assembled.rs"]
mod assembled;
mod case;
mod compact;
mod expected;
mod golomb;
mod index;
mod index_refused;
mod keys;
mod kinds;
mod library;
#[path = "../format/material.rs"]
#[expect(dead_code, reason = "tests/format uses more of it")]
mod material;
#[path = "../format/oracle/mod.rs"]
mod oracle;
mod order;
mod precedence;
#[path = "../format/readers.rs"]
#[expect(dead_code, reason = "tests/battery needs more of it")]
mod readers;
mod refused;
#[path = "../format/rows.rs"]
mod rows;

use case::Case;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn path(relative: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", relative].iter().collect()
}

/// A file's name, and what makes its cases.
type File = (&'static str, fn() -> Vec<Case>);

/// The files of the kit.
fn files() -> [File; 8] {
    [
        ("kinds.json", kinds::cases),
        ("golomb.json", golomb::cases),
        ("keys.json", keys::cases),
        ("expected.json", expected::cases),
        ("refused.json", refused::cases),
        ("order.json", order::cases),
        ("compact.json", compact::cases),
        ("partitioned.json", index::cases),
    ]
}

#[test]
fn the_data_are_what_is_made_here() {
    let (mut num_cases, mut num_answers, mut num_bytes) = (0, 0, 0);
    for (name, cases) in files() {
        let cases = cases();
        let (text, path) = (case::file(&cases), path("conformance").join(name));
        if std::env::var_os("FILTERBLOCK_BLESS").is_some() {
            std::fs::write(&path, &text).expect("a written file");
        }
        let stored = std::fs::read_to_string(&path).expect("a file of the kit");
        assert!(stored == text, "{name} differs from what is made now");
        num_cases += cases.len();
        num_answers += cases.iter().map(|case| case.request.queries.len()).sum::<usize>();
        num_bytes += text.len();
    }
    println!("counted: {num_cases} cases of the conformance kit, {num_answers} answers, {} kB", num_bytes / 1000);
}

#[test]
fn the_example_of_the_protocol() {
    let text = std::fs::read_to_string(path("conformance/README.md")).expect("a text");
    let line = |mark: &str| text.lines().find_map(|line| line.strip_prefix(mark)).expect("an example");
    let [reply, shown] = [&library::answer(line("    > ")), line("    < ")]
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(reply, shown);
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn the_second_reader_answers_the_kit() {
    let python = std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-B", "run.py", "--every-field", &python, "-B", "../second_reader/conformance.py"]);
    let status = command.current_dir(path("conformance")).status().expect("python3 runs");
    assert!(status.success(), "{status}");
}
