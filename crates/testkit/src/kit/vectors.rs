//! The frames of the document's vectors, as cases of the kit.

use super::library::number;
use crate::specification;
use serde_json::{Value, json};

/// The words of each line of the vectors called `name`.
pub fn lines(name: &str) -> Vec<Vec<String>> {
    let word = |word: &str| if word == "-" { String::new() } else { word.to_owned() };
    specification::vectors(name).iter().map(|line| line.split(' ').map(word).collect()).collect()
}

fn letter(answer: &str) -> &'static str {
    if answer == "maybe" { "m" } else { "n" }
}

/// What the caller states of a compact frame.
fn compact(bytes: &str) -> Value {
    json!({"frame": "compact", "bytes": bytes, "seed": "0x0", "transform": [0, 0]})
}

fn block(bytes: &str) -> Value {
    json!({"frame": "block", "bytes": bytes})
}

pub fn cases() -> Vec<Value> {
    let mut cases = Vec::new();
    let mut add = |name: &str, mut request: Value, queries: &[&str], reply: Value| {
        if !queries.is_empty() {
            request["queries"] = json!(queries);
        }
        cases.push(json!({"name": name, "request": request, "reply": reply}));
    };
    for words in lines("found-context") {
        let found = (!words[1].is_empty()).then(|| format!("{:#x}", number(&words[1])));
        let reply = found.map(|found| json!({"class": words[0], "row": "crc", "found_context": found}));
        add("found-context", block(&words[2]), &[], reply.unwrap_or_else(|| json!({"class": words[0]})));
    }
    for words in lines("accept") {
        add(&words[0], block(&words[2]), &["entry:61"], json!({"class": "ok", "answers": letter(&words[1])}));
    }
    for words in lines("block") {
        let request = if words[0] == "block" { block(&words[3]) } else { compact(&words[3]) };
        let answer = if words[2] == "a" { "m" } else { "n" };
        add(&words[1], request, &["entry:61", "key:61"], json!({"class": "ok", "answers": answer.repeat(2)}));
    }
    let transforms = lines("transform");
    for words in transforms.iter().filter(|words| words.len() == 3) {
        let asked = || transforms.iter().filter(|other| other.len() > 3 && other[..2] == words[..2]);
        let queries: Vec<&str> = asked().map(|other| other[2].as_str()).collect();
        let answers: String = asked().map(|other| letter(&other[5])).collect();
        add("transform", block(&words[2]), &queries, json!({"class": "ok", "answers": answers}));
    }
    let parts = lines("partitioned-example");
    let of = |name: &str| -> String {
        parts.iter().filter(|words| words[0].starts_with(name)).map(|words| words[1].as_str()).collect()
    };
    let request = json!({"frame": "index", "bytes": of("index"), "context": "0x1",
        "partitions": of("partition-")});
    let answers = lines("partitioned-answers");
    let queries: Vec<String> = answers.iter().map(|words| format!("key:{}", words[0])).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let letters: String = answers.iter().map(|words| letter(&words[2])).collect();
    add("partitioned-example", request, &queries, json!({"class": "ok", "answers": letters}));
    cases
}
