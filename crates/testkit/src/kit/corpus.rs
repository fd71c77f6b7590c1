//! Random frames with the answers that a reader must give, as cases of the conformance kit.

use super::frames::frame;
use super::{Expected, ranges};
use crate::random::Random;
use serde_json::{Value, json};

/// The program that writes the frames, with its version.
fn producer() -> String {
    let manifest = include_str!("../../../../Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    format!("filterblock {}, in Rust", version.expect("the library's version").trim_end_matches('"'))
}

/// Case `number` of a seed: blocks and compact frames, range filters, and indexes of range filters; a part of them
/// damaged, or of another caller. Without queries whose answers the document leaves open.
pub fn case(seed: u64, number: u64) -> Value {
    let chosen = Random::new(seed).next().wrapping_add(number);
    let Expected { mut request, mut reply, open } = match number % 8 {
        0..5 => Expected::random(&frame(Random::new(chosen).next())),
        5 | 6 => ranges::expected(chosen),
        _ => ranges::expected_of_partitions(chosen),
    };
    // What is no part of the protocol.
    request.as_object_mut().expect("an object").remove("entries");
    for field in ["rebuilt", "num_leaves"] {
        reply.as_object_mut().expect("an object").remove(field);
    }
    if open.contains(&true) {
        let is_closed = |i: usize| !open.get(i).is_some_and(|&is_open| is_open);
        let queries = request["queries"].as_array().expect("queries").iter().enumerate();
        request["queries"] = queries.filter(|(i, _)| is_closed(*i)).map(|(_, query)| query.clone()).collect();
        let answers = reply["answers"].as_str().unwrap_or_default().char_indices();
        reply["answers"] = answers.filter(|(i, _)| is_closed(*i)).map(|(_, letter)| letter).collect::<String>().into();
    }
    if reply["class"] != "ok" {
        request.as_object_mut().expect("an object").remove("queries");
    }
    json!({"name": format!("seed {seed}, {number}"), "producer": producer(), "request": request, "reply": reply})
}
