//! The library answers every case of the kit, and every frame of the document's vectors.

use crate::{library, vectors};
use serde_json::Value;
use std::path::PathBuf;

pub fn directory() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "conformance"].iter().collect()
}

/// The names of the kit's files.
pub fn files() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(directory()).expect("the kit");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
    names.filter(|name| name.ends_with(".json"))
}

/// The cases of a file of the kit.
pub fn of_file(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(directory().join(name)).expect("a file of the kit");
    serde_json::from_str(&text).expect("a list in JSON")
}

pub fn all() -> Vec<Value> {
    files().flat_map(|name| of_file(&name)).chain(vectors::cases()).collect()
}

/// A reader's replies have each field of what is expected, with the same value, in frames that it has.
pub fn assert_answered(has: impl Fn(&str) -> bool, answer: impl Fn(&Value) -> Value) {
    let mut wrong = Vec::new();
    for case in all().iter().filter(|case| case["request"]["frame"].as_str().is_some_and(&has)) {
        let (expected, reply) = (case["reply"].as_object().expect("an object"), answer(&case["request"]));
        if expected.is_empty() || expected.iter().any(|(name, value)| reply.get(name) != Some(value)) {
            wrong.push(format!("{}: expected {}, replied {reply}", case["name"], case["reply"]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn the_library_answers_the_kit() {
    assert!(all().len() > 2_350, "{} cases", all().len());
    // Sets are a package of their own, whose tests answer their cases.
    assert_answered(|frame| frame != "set", library::answer);
}
