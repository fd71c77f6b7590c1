//! The library against a second reader, in Python, that was written from format-spec.md alone
//! (`tests/second_reader/sets.py` of the repository).
//!
//! `cargo test --release -p filterblock-set -- --ignored --nocapture second_reader`. `FILTERBLOCK_PYTHON` is the
//! interpreter. The same number gives the same set.

use crate::sample::{COLUMNS, add_some};
use crate::*;
use filterblock_set::{Shape, Sizing};
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use testkit::material::hex;

const SETS: u64 = 10_000;

/// A set of files, a part of which was appended.
fn set(numbers: &mut Random, hasher: Option<&KeyHasher>, tables: &[Table]) -> Vec<u8> {
    let shape = Shape {
        num_visits: 1 + numbers.index(9) as u8,
        num_bands: 1 + numbers.index(4) as u8,
        row_bits: numbers.index(7) as u8,
    };
    let rate = numbers.pick(&[0.3, 0.03, 0.001]);
    let sizing = Sizing::with_shape(shape, 1 + numbers.below(40), rate).expect("a small file");
    let [id, word] = COLUMNS;
    let columns = [SetColumn::new(id, ValueClass::Number, sizing), SetColumn::new(word, ValueClass::Text, sizing)];
    let builder = || SetBuilder::new(hasher.unwrap_or(&KeyHasher::new(0)), &columns).expect("a builder");
    let mut of_first = builder();
    let (first, second) = tables.split_at(numbers.index(tables.len() + 1));
    add_some(&mut of_first, first, || numbers.index(4) > 0);
    of_first.allow_empty();
    let mut bytes = finish(of_first);
    if !second.is_empty() {
        let (mut of_second, mut more) = (builder(), Vec::new());
        add_some(&mut of_second, second, || numbers.index(4) > 0);
        let Ok(Opening::Ready(old)) = FilterSet::open(bytes.len() as u64, &bytes, hasher) else {
            panic!("just written");
        };
        let dropped = tables[numbers.index(2 * tables.len()).min(tables.len() - 1)].name.as_bytes();
        of_second.finish_append(&old, |name| name == dropped, &mut more).expect("a longer set");
        // An append that ended early, or that another writer has made, lies before this one.
        match numbers.index(4) {
            0 => bytes.extend_from_slice(&more),
            1 => bytes.extend_from_slice(&more[..numbers.index(more.len())]),
            _ => {}
        }
        bytes.extend(more);
    }
    bytes
}

/// A change of `bytes`, of a kind that disks, networks and programs make.
fn mutate(bytes: &mut Vec<u8>, numbers: &mut Random) {
    let len = bytes.len();
    let (at, run) = (numbers.index(len), 1 + numbers.index(200));
    let end = (at + run).min(len);
    match numbers.index(5) {
        0 => bytes[at] ^= 1 << numbers.index(8),
        1 => bytes[at..end].fill(0),
        2 => bytes.copy_within(at..end, numbers.index(len - (end - at) + 1)),
        3 => drop(bytes.drain(at..end)),
        _ => bytes.truncate(at),
    }
}

/// A value from its text.
fn value(text: &str) -> Value<'_> {
    match text.split_once(':') {
        Some(("int", number)) => Value::Int(number.parse().expect("a number")),
        Some((_, word)) => Value::Text(word),
        None => panic!("{text}"),
    }
}

/// A request, and what the library would reply.
fn request(number: u64) -> (Json, Json) {
    let numbers = &mut Random::new(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (seed, key) = (numbers.next(), [numbers.next() as u8; 16]);
    let (mut hasher, mut expected) = match numbers.index(3) {
        0 => (None, None),
        1 => (Some(KeyHasher::new(seed)), Some(("seed", format!("{seed:#x}")))),
        _ => (Some(KeyHasher::keyed(key)), Some(("key", hex(&key)))),
    };
    let num_files = if numbers.one_in(20) { 1 + numbers.index(90) } else { 1 + numbers.index(5) };
    let keys = numbers.index(25);
    let stored = tables(0, num_files, keys);
    let mut bytes = set(numbers, hasher.as_ref(), &stored);
    match numbers.index(6) {
        0 => mutate(&mut bytes, numbers),
        1 => {
            let at = bytes.len() - 1 - numbers.index((FOOTER_LEN + 100).min(bytes.len()));
            bytes[at] ^= 1 << numbers.index(8);
            bytes = repaired(bytes);
        }
        _ => {}
    }
    if numbers.one_in(20) {
        (hasher, expected) = (Some(KeyHasher::new(1)), Some(("seed", "0x1".into())));
    }
    // The files that there are now: one has changed, one is new.
    let mut now = tables(0, num_files + 1, keys);
    let changed = numbers.index(2 * now.len());
    if let Some(table) = now.get_mut(changed) {
        table.identity ^= 1 << numbers.index(64);
    }
    let mut queries: Vec<(&str, Vec<String>)> = Vec::new();
    for _ in 0..12 {
        let [a, b] = [0; 2].map(|_| numbers.index(26) * 1000 + numbers.index(num_files + 2));
        queries.push(("id", vec![format!("int:{a}"), format!("int:{b}")]));
        queries.push(("word", vec![format!("text:word {a}")]));
        queries.push((if a % 2 == 0 { "word" } else { "none" }, vec![format!("int:{a}")]));
    }
    let files: Vec<_> =
        now.iter().map(|table| json!([hex(table.name.as_bytes()), format!("{:#x}", table.identity)])).collect();
    let asked: Vec<_> = queries.iter().map(|(column, values)| json!([hex(column.as_bytes()), values])).collect();
    let mut request = json!({"set": hex(&bytes), "files": files, "queries": asked});
    if let Some((name, text)) = expected {
        request[name] = text.into();
    }
    let opened = match FilterSet::open(bytes.len() as u64, &bytes, hasher.as_ref()) {
        Ok(Opening::Ready(opened)) => opened,
        Ok(Opening::Needs(range)) => panic!("all bytes were given, {range:?} is asked for"),
        Err(error) => return (request, json!({"class": error.class().to_string()})),
    };
    let answer = |(column, values): &(&str, Vec<String>)| {
        let values: Vec<_> = values.iter().map(|text| value(text)).collect();
        let answers = look_up(&opened, &bytes, &now, column, &values);
        let may_match = |file: usize| answers.iter().any(|of_value| of_value[file]);
        (0..now.len()).map(|file| if may_match(file) { 'm' } else { 'n' }).collect::<String>()
    };
    let answers: Vec<_> = queries.iter().map(answer).collect();
    (request, json!({"class": "ok", "answers": answers}))
}

#[test]
#[ignore = "needs Python with the package xxhash; see .ci/run"]
fn a_second_reader_agrees_on_sets() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into()));
    command.current_dir(root.join("tests/second_reader")).args(["-B", "sets.py"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let mut requests = child.stdin.take().expect("a pipe");
    let mut replies = BufReader::new(child.stdout.take().expect("a pipe"));
    let (mut opened, mut denied, mut maybe) = (0, 0, 0);
    for number in 0..SETS {
        let (request, expected) = request(number);
        writeln!(requests, "{request}").expect("a reader");
        let mut reply = String::new();
        replies.read_line(&mut reply).expect("a reply");
        assert_eq!(serde_json::from_str::<Json>(&reply).expect("JSON"), expected, "set {number}: {request}");
        opened += u32::from(expected["class"] == "ok");
        let answers = expected["answers"].to_string();
        denied += answers.matches('n').count() - answers.matches("null").count();
        maybe += answers.matches('m').count();
    }
    drop(requests);
    assert!(child.wait().expect("an end").success());
    let document = root.join("format").canonicalize().expect("the document");
    assert!(command.arg("vectors").arg(document).status().expect("python3 runs").success());
    println!("counted: {SETS} filter sets, {opened} opened, {denied} files denied and {maybe} maybe, by both readers");
    assert!(opened > 7000 && denied > 200_000 && maybe > 200_000);
}
