//! The library answers every case of the kit.

use crate::library;
use serde_json::Value;
use std::path::PathBuf;

/// Whether a reply lacks a field of what is expected, or has another value there.
fn differs(expected: &Value, reply: &Value) -> bool {
    let fields = expected.as_object().expect("an object");
    fields.iter().any(|(name, value)| reply.get(name) != Some(value)) && !fields.is_empty()
}

#[test]
fn the_library_answers_the_kit() {
    let dir: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "conformance"].iter().collect();
    let paths = std::fs::read_dir(dir).expect("the kit").map(|entry| entry.expect("an entry").path());
    let (mut num_cases, mut wrong) = (0, Vec::new());
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let text = std::fs::read_to_string(&path).expect("a file of the kit");
        let cases: Value = serde_json::from_str(&text).expect("JSON");
        for case in cases.as_array().expect("a list") {
            num_cases += 1;
            let line = library::answer(&case["request"].to_string());
            let reply: Value = serde_json::from_str(&line).expect("JSON");
            if differs(&case["reply"], &reply) {
                wrong.push(format!("{}: expected {}, replied {line}", case["name"], case["reply"]));
            }
        }
    }
    assert!(num_cases > 2_000, "{num_cases} cases");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}
