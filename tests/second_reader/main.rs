//! The library against a second reader, in Python, that was written from format-spec.md alone.
//!
//! `cargo test --release --test second_reader -- --ignored --nocapture`. `FILTERBLOCK_FRAMES` is the number of random
//! frames, if it is not to be that of the plan ([`extent`]), and `FILTERBLOCK_PYTHON` the interpreter. The same number
//! gives the same frames.

use extent::by_extent;
use material::hex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use testkit::kit::frames::frame;
use testkit::kit::{Expected, library, ranges};
use testkit::random::Random;
use testkit::{extent, material, oracle};

/// Of frames by sort and class, of answers and of disagreements.
#[derive(Debug, Default)]
struct Counts(BTreeMap<String, u64>);

impl Counts {
    fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    fn compare(&mut self, expected: &Expected, got: &Value) {
        let Expected { request, reply, open } = expected;
        let mut count = |name: &str, is_so: bool| *self.0.entry(name.to_owned()).or_default() += u64::from(is_so);
        count(if request["frame"] == "compact" { "compact" } else { "blocks" }, true);
        count(reply["class"].as_str().expect("a class"), true);
        count("contexts found", reply.get("found_context").is_some());
        count("rebuilt", got["rebuilt"] == json!(true));
        let answers = |reply: &Value| reply["answers"].as_str().unwrap_or_default().to_owned();
        let (ours, theirs) = (answers(reply), answers(got));
        let mut differ = ours.len() != theirs.len();
        for (i, (ours, theirs)) in ours.bytes().zip(theirs.bytes()).enumerate() {
            let is_open = open.get(i).is_some_and(|&open| open);
            count(if is_open { "left open" } else { "answers" }, true);
            differ |= !is_open && ours != theirs;
        }
        let fields = reply.as_object().expect("an object");
        differ |= fields.iter().any(|(name, value)| name != "answers" && got.get(name) != Some(value));
        count("disagreements", differ);
        if differ && self.of("disagreements") <= 5 {
            println!("disagreement: {:.3000}\n  expected {reply}\n  replied  {got}", request.to_string());
        }
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{} {:03}", grouped(number / 1000), number % 1000),
    }
}

/// Sends requests to a process of the second reader, and compares its replies.
fn ask(requests: impl Iterator<Item = Expected>) -> Counts {
    let counts = Mutex::default();
    ask_for(&counts, requests);
    counts.into_inner().expect("no panic")
}

/// The same, added to the counts of other processes.
fn ask_for(counts: &Mutex<Counts>, requests: impl Iterator<Item = Expected>) {
    let mut command = Command::new(std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into()));
    // Without leaving compiled files there.
    command.current_dir(directory("second_reader")).args(["-B", "conformance.py"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut replies = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for expected in requests {
        stdin.write_all(format!("{}\n", expected.request).as_bytes()).expect("a reader");
        let line = replies.next().expect("a reply to each request").expect("text");
        counts.lock().expect("no panic").compare(&expected, &serde_json::from_str(&line).expect("JSON"));
    }
    drop(stdin);
    assert!(child.wait().expect("python3 ends").success());
}

/// Number of processes, each with a share of the frames.
const NUM_SERVERS: u64 = 2;

/// Asks for the frame of each number, of several processes.
fn ask_of_numbers(num_frames: u64, expected: impl Fn(u64) -> Expected + Sync) -> Counts {
    let counts = Mutex::default();
    std::thread::scope(|scope| {
        for first in 0..NUM_SERVERS {
            let (counts, expected) = (&counts, &expected);
            scope.spawn(move || ask_for(counts, (first..num_frames).step_by(NUM_SERVERS as usize).map(expected)));
        }
    });
    counts.into_inner().expect("no panic")
}

fn directory(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", name].iter().collect()
}

/// The list of a directory of golden files.
fn list(directory: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join("index.json")).expect("a list");
    serde_json::from_str(&text).expect("JSON")
}

fn lines(path: PathBuf) -> Vec<String> {
    std::fs::read_to_string(path).expect("text").lines().map(str::to_owned).collect()
}

/// What a list says of the hash and the context of a file.
fn stated(request: &mut Value, listed: &Value) {
    let number = |name: &str| listed[name].as_str().map(|text| format!("{:#x}", library::number(text)));
    request["context"] = number("context").into();
    match listed["hash_key"].as_str() {
        Some(key) => request["key"] = key.into(),
        None if listed["seed"].is_string() => request["seed"] = number("seed").into(),
        None => {}
    }
}

/// Each frame opens, holds its entries, and is rebuilt from them bit for bit.
fn golden_frames() -> Vec<Expected> {
    let golden = directory("golden").join("v1");
    let expected = |listed: Value| {
        let name = |field: &str| golden.join(listed[field].as_str().expect("a name"));
        let entries = lines(name("entries"));
        let mut request = json!({
            "frame": listed["frame"],
            "bytes": hex(&std::fs::read(name("file")).expect("a golden file")),
            "transform": [listed["transform_id"], listed["transform_param"]],
            "queries": entries.iter().map(|entry| format!("entry:{entry}")).collect::<Vec<_>>(),
            "entries": entries,
        });
        stated(&mut request, &listed);
        let expected = Expected::of_library(request);
        assert_eq!(expected.reply["answers"], "m".repeat(entries.len()), "{listed}");
        expected
    };
    list(&golden).into_iter().map(expected).collect()
}

/// Each index and each partition opens, and the entries are found at their order keys.
fn golden_partitioned() -> Vec<Expected> {
    let golden = directory("golden").join("v1").join("partitioned");
    let expected = |listed: Value| {
        let path = |extension: &str| golden.join(format!("{}.{extension}", listed["name"].as_str().expect("a name")));
        let read = |extension: &str| std::fs::read(path(extension)).expect("a golden file");
        let queries: Vec<_> = lines(path("keys")).iter().map(|line| format!("at:{}", line.replace(' ', ":"))).collect();
        let num_partitions = oracle::int(&read("index")[40..44]) as usize;
        let reply =
            json!({"class": "ok", "partitions": vec!["ok"; num_partitions], "answers": "m".repeat(queries.len())});
        let mut request = json!({"frame": "index", "bytes": hex(&read("index")),
            "partitions": hex(&read("partitions")), "queries": queries});
        stated(&mut request, &listed);
        Expected::new(request, reply)
    };
    list(&golden).into_iter().map(expected).collect()
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn golden_files() {
    let (frames, partitioned) = (golden_frames(), golden_partitioned());
    let num_frames = frames.len() as u64;
    let partitions = |expected: &Expected| expected.reply["partitions"].as_array().map_or(0, Vec::len);
    let num_partitions: usize = partitioned.iter().map(partitions).sum();
    let (of_frames, of_partitions) = (ask(frames.into_iter()), ask(partitioned.into_iter()));
    assert_eq!(["disagreements", "rebuilt"].map(|name| of_frames.of(name)), [0, num_frames]);
    assert_eq!(of_partitions.of("disagreements"), 0);
    println!(
        "counted: {num_frames} golden files, {} entries, all bit for bit; {} entries in {num_partitions} partitions of \
         partitioned filters",
        of_frames.of("answers"),
        of_partitions.of("answers")
    );
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn random_frames() {
    let wanted =
        std::env::var("FILTERBLOCK_FRAMES").ok().map(|text| text.parse().expect("FILTERBLOCK_FRAMES is a number"));
    let num_frames = wanted.unwrap_or_else(|| by_extent(6_000, 132_000, 132_000));
    let counts = ask_of_numbers(num_frames, |number| Expected::random(&frame(Random::new(number).next())));
    let of = |name| counts.of(name);
    println!("counted: {} random frames, {:?}", grouped(num_frames), counts.0);
    assert_eq!((of("disagreements"), of("blocks") + of("compact")), (0, num_frames));
    // Every class keeps its share.
    assert!(of("rebuilt") * 2 > num_frames && of("damaged") * 10 > num_frames, "{counts:?}");
    assert!(of("newer") * 200 > num_frames && of("contexts found") * 200 > num_frames, "{counts:?}");
    assert!(of("mismatch") > of("contexts found") && of("compact") * 5 > num_frames, "{counts:?}");
    assert!(of("answers") > 30 * num_frames && of("left open") * 200 < of("answers"), "{counts:?}");
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn range_filters() {
    let num_frames = by_extent(400, 8_000, 8_000);
    let counts = ask_of_numbers(num_frames, ranges::expected);
    let of = |name| counts.of(name);
    println!("counted: {} range filters, {:?}", grouped(num_frames), counts.0);
    assert_eq!((of("disagreements"), of("blocks")), (0, num_frames));
    assert!(of("rebuilt") * 4 > 3 * num_frames && of("answers") == 60 * of("rebuilt"), "{counts:?}");
    assert!(of("damaged") * 20 > num_frames && of("newer") * 60 > num_frames && of("mismatch") > 0, "{counts:?}");
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn partitioned_range_filters() {
    let num_filters = by_extent(200, 4_000, 4_000);
    let counts = ask_of_numbers(num_filters, ranges::expected_of_partitions);
    assert_eq!(["disagreements", "answers"].map(|name| counts.of(name)), [0, 60 * num_filters], "{counts:?}");
    println!("counted: {num_filters} partitioned range filters, {:?}", counts.0);
}
