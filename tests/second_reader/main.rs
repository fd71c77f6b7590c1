//! The library against a second reader, in Python, that was written from format-spec.md alone.
//!
//! `cargo test --release --test second_reader -- --ignored --nocapture`. `FILTERBLOCK_FRAMES` is the number of random
//! frames, if it is not to be that of the plan ([`extent`]), and `FILTERBLOCK_PYTHON` the interpreter. The same number
//! gives the same frames.

use extent::by_extent;
use material::hex;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use testkit::kit::frames::frame;
use testkit::kit::{Expected, library, ranges, vectors};
use testkit::random::Random;
use testkit::{extent, material, oracle};

#[derive(Debug, Default)]
struct Counts {
    blocks: u64,
    compact: u64,
    ok: u64,
    damaged: u64,
    newer: u64,
    mismatch: u64,
    contexts_found: u64,
    answers: u64,
    left_open: u64,
    rebuilt: u64,
    disagreements: u64,
}

impl Counts {
    fn compare(&mut self, expected: &Expected, got: &Value) {
        let Expected { request, reply, open } = expected;
        *if request["frame"] == "compact" { &mut self.compact } else { &mut self.blocks } += 1;
        match reply["class"].as_str() {
            Some("ok") => self.ok += 1,
            Some("damaged") => self.damaged += 1,
            Some("newer") => self.newer += 1,
            _ => self.mismatch += 1,
        }
        self.contexts_found += u64::from(reply.get("found_context").is_some());
        self.rebuilt += u64::from(got["rebuilt"] == json!(true));
        let answers = |reply: &Value| reply["answers"].as_str().unwrap_or_default().to_owned();
        let (ours, theirs) = (answers(reply), answers(got));
        let mut differ = ours.len() != theirs.len();
        for (i, (ours, theirs)) in ours.bytes().zip(theirs.bytes()).enumerate() {
            let is_open = open.get(i).is_some_and(|&open| open);
            self.answers += u64::from(!is_open);
            self.left_open += u64::from(is_open);
            differ |= !is_open && ours != theirs;
        }
        let fields = reply.as_object().expect("an object");
        differ |= fields.iter().any(|(name, value)| name != "answers" && got.get(name) != Some(value));
        if differ {
            self.disagreements += 1;
            if self.disagreements <= 5 {
                println!("disagreement: {:.3000}\n  expected {reply}\n  replied  {got}", request.to_string());
            }
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
fn ask(requests: impl Iterator<Item = Expected> + Send) -> Counts {
    let counts = Mutex::default();
    ask_for(&counts, requests);
    counts.into_inner().expect("no panic")
}

/// The same, added to the counts of other processes.
fn ask_for(counts: &Mutex<Counts>, requests: impl Iterator<Item = Expected> + Send) {
    let mut command = Command::new(std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into()));
    // Without leaving compiled files there.
    command.current_dir(directory("second_reader")).args(["-B", "conformance.py"]);
    let mut child: Child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    let (sender, receiver) = mpsc::sync_channel(1000);
    std::thread::scope(|scope| {
        // Writes while replies are read: neither pipe can fill up and stop both sides.
        scope.spawn(move || {
            let mut stdin = BufWriter::new(stdin);
            for expected in requests {
                if writeln!(stdin, "{}", expected.request).is_err() || sender.send(expected).is_err() {
                    break;
                }
            }
        });
        let mut replies = BufReader::new(stdout).lines();
        for expected in receiver {
            let line = replies.next().expect("a reply to each request").expect("text");
            let reply = serde_json::from_str(&line).expect("JSON");
            counts.lock().expect("no panic").compare(&expected, &reply);
        }
    });
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
    assert_eq!((of_frames.disagreements, of_frames.rebuilt, of_partitions.disagreements), (0, num_frames, 0));
    println!(
        "counted: {num_frames} golden files, {} entries, all bit for bit; {} entries in {num_partitions} partitions of \
         partitioned filters",
        of_frames.answers, of_partitions.answers
    );
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn frames_of_the_documents_vectors() {
    let cases = vectors::cases().into_iter();
    let counts = ask(cases.map(|case| Expected::new(case["request"].clone(), case["reply"].clone())));
    assert_eq!(counts.disagreements, 0);
    let num_frames = counts.blocks + counts.compact;
    assert!(num_frames > 40 && counts.answers > 90, "{counts:?}");
    println!("counted: {num_frames} frames of the document's vectors, {} answers", counts.answers);
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn random_frames() {
    let wanted =
        std::env::var("FILTERBLOCK_FRAMES").ok().map(|text| text.parse().expect("FILTERBLOCK_FRAMES is a number"));
    let num_frames = wanted.unwrap_or_else(|| by_extent(6_000, 132_000, 132_000));
    let counts = ask_of_numbers(num_frames, |number| Expected::random(&frame(Random::new(number).next())));
    let Counts { ok, damaged, newer, mismatch, contexts_found, .. } = counts;
    let [ok, damaged, newer, mismatch, found] = [ok, damaged, newer, mismatch, contexts_found].map(grouped);
    let [frames, blocks, compact] = [counts.blocks + counts.compact, counts.blocks, counts.compact].map(grouped);
    let [answers, open, rebuilt] = [counts.answers, counts.left_open, counts.rebuilt].map(grouped);
    let disagreements = counts.disagreements;
    println!(
        "counted: {frames} random frames ({blocks} blocks, {compact} compact; {ok} ok, {damaged} damaged, {newer} newer, \
         {mismatch} mismatch, of which {found} contexts found), {answers} answers ({open} more left open by the document), \
         {rebuilt} rebuilt bit for bit, {disagreements} disagreements"
    );
    assert_eq!(counts.disagreements, 0);
    assert_eq!(counts.blocks + counts.compact, num_frames);
    // Every class keeps its share.
    assert!(counts.rebuilt * 2 > num_frames && counts.damaged * 10 > num_frames, "{counts:?}");
    assert!(counts.newer * 200 > num_frames && counts.contexts_found * 200 > num_frames, "{counts:?}");
    assert!(counts.mismatch > counts.contexts_found && counts.compact * 5 > num_frames, "{counts:?}");
    assert!(counts.answers > 30 * num_frames && counts.left_open * 200 < counts.answers, "{counts:?}");
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn range_filters() {
    let num_frames = by_extent(400, 8_000, 8_000);
    let counts = ask_of_numbers(num_frames, ranges::expected);
    let Counts { ok, damaged, newer, mismatch, .. } = counts;
    let [frames, answers, rebuilt] = [counts.blocks, counts.answers, counts.rebuilt].map(grouped);
    println!(
        "counted: {frames} range filters ({ok} ok, {damaged} damaged, {newer} newer, {mismatch} mismatch), {answers} \
         answers, {rebuilt} rebuilt bit for bit, {} disagreements",
        counts.disagreements
    );
    assert_eq!((counts.disagreements, counts.blocks), (0, num_frames));
    assert!(counts.rebuilt * 4 > 3 * num_frames && counts.answers == 60 * counts.rebuilt, "{counts:?}");
    assert!(damaged * 20 > num_frames && newer * 60 > num_frames && mismatch > 0, "{counts:?}");
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn partitioned_range_filters() {
    let num_filters = by_extent(200, 4_000, 4_000);
    let counts = ask_of_numbers(num_filters, ranges::expected_of_partitions);
    assert_eq!((counts.disagreements, counts.answers), (0, 60 * num_filters), "{counts:?}");
    println!("counted: {num_filters} partitioned range filters, {} answers, 0 disagreements", grouped(counts.answers));
}
