//! The library against a second reader, in Python, that was written from format-spec.md alone.
//!
//! `cargo test --release --test second_reader -- --ignored --nocapture`. `FILTERBLOCK_FRAMES` is the number of random
//! frames, if it is not to be that of the plan ([`extent`]), and `FILTERBLOCK_PYTHON` the interpreter. The same number
//! gives the same frames.

#[path = "../format/assembled.rs"]
mod assembled;
#[path = "../extent/mod.rs"]
mod extent;
mod frames;
#[path = "../format/oracle/mod.rs"]
#[expect(dead_code, reason = "tests/format uses more of it")]
mod oracle;
#[path = "../format/readers.rs"]
#[expect(dead_code, reason = "tests/battery needs more of it")]
mod readers;

use extent::by_extent;
use filterblock::{CompactFrameReader, DecodeErrorClass, KeyHash, OpenOptions};
use frames::{Frame, Hash, Random, frame};
use oracle::{Golomb, Oracle};
use readers::Reading;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

fn path(relative: &str) -> String {
    format!("{}/{relative}", env!("CARGO_MANIFEST_DIR"))
}

/// The interpreter, run in the second reader's directory without leaving compiled files there.
fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into()));
    command.current_dir(path("tests/second_reader")).arg("-B").args(arguments);
    command
}

#[track_caller]
fn succeeds(arguments: &[&str]) {
    let status = python(arguments).status().expect("python3 runs");
    assert!(status.success(), "{arguments:?}: {status}");
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn golden_files_and_vectors() {
    succeeds(&["check.py", "golden", &path("tests/golden/v1")]);
    succeeds(&["check.py", "vectors", &path("format-spec.md")]);
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn its_own_tests() {
    succeeds(&["-m", "unittest", "--quiet"]);
}

/// The library's reply to a request, and where two readers may differ.
struct Expected {
    request: String,
    reply: Value,
    /// Queries whose answers the document leaves open.
    open: Vec<bool>,
    compact: bool,
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn request(frame: &Frame) -> String {
    let hasher = frame.hash.map(|hash| match hash {
        Hash::Seed(seed) => json!({"hash_id": 1, "seed": format!("{seed:#x}")}),
        Hash::Key(key) => json!({"hash_id": 2, "key": hexadecimal(&key)}),
    });
    let all = |entries: &[Vec<u8>]| entries.iter().map(|entry| hexadecimal(entry)).collect::<Vec<_>>();
    let request = json!({
        "frame": if frame.compact { "compact" } else { "block" },
        "bytes": hexadecimal(&frame.bytes),
        "context": format!("{:#x}", frame.context),
        "hasher": hasher,
        "transform": frame.transform.map(|transform| transform.to_wire()),
        "ask": all(&frame.asked),
        "hashes": frame.hashes.iter().map(|hash| format!("{hash:#x}")).collect::<Vec<_>>(),
        "entries": frame.sound.then(|| all(&frame.entries)),
    });
    request.to_string()
}

fn expected(frame: &Frame) -> Expected {
    let hasher = frame.hash.map(Hash::hasher);
    let opened = match (frame.compact, hasher, frame.transform) {
        (true, Some(hasher), Some(transform)) => {
            CompactFrameReader::open(&frame.bytes, hasher, transform).map(|reader| {
                (reader.kind(), reader.kind().is_none().then_some(0), Box::new(reader) as Box<dyn Reading + '_>)
            })
        }
        _ => {
            let options = OpenOptions::new().context(frame.context);
            let options = hasher.map_or(options, |hasher| options.expect_hasher(hasher));
            let options = frame.transform.map_or(options, |transform| options.expect_transform(transform));
            let opened = options.open(&frame.bytes);
            opened.map(|reader| {
                (Some(reader.kind()), Some(reader.num_entries()), Box::new(reader) as Box<dyn Reading + '_>)
            })
        }
    };
    let num_questions = frame.asked.len() + frame.hashes.len();
    let (mut reply, mut open) = (
        json!({"class": "ok", "found_context": null, "kind": null, "num_entries": null, "rebuilt": null}),
        vec![false; num_questions],
    );
    match opened {
        Err(error) => {
            reply["class"] = error.class().to_string().into();
            reply["answers"] = "m".repeat(num_questions).into();
            if let filterblock::DecodeError::WrongContext { found, .. } = error {
                assert_eq!(error.class(), DecodeErrorClass::Mismatch);
                reply["found_context"] = format!("{found:#018x}").into();
            }
        }
        Ok((kind, num_entries, reader)) => {
            reply["kind"] = kind.map(|kind| kind.name()).into();
            reply["num_entries"] = num_entries.into();
            reply["rebuilt"] = frame.sound.then_some(true).into();
            let mut answers: Vec<bool> = frame.asked.iter().map(|entry| reader.may_contain_entry(entry)).collect();
            let hashes: Vec<KeyHash> = frame.hashes.iter().map(|&hash| KeyHash::from_raw(hash)).collect();
            answers.resize(num_questions, false);
            reader.may_contain_hashes(&hashes, &mut answers[frame.asked.len()..]);
            reply["answers"] = answers.iter().map(|&maybe| if maybe { 'm' } else { 'n' }).collect::<String>().into();
            let oracle = if frame.compact { Oracle::open_compact(&frame.bytes) } else { Oracle::open(&frame.bytes) };
            if let Oracle::Golomb { golomb, payload } = oracle {
                let asked = frame.asked.iter().map(|entry| reader.hasher().hash(entry).get());
                let buckets = asked.chain(frame.hashes.iter().copied()).map(|hash| golomb.locate(hash).0);
                open = buckets.map(|bucket| goes_beyond_64_bits(&golomb, &payload, bucket)).collect();
            }
        }
    }
    Expected { request: request(frame), reply, open, compact: frame.compact }
}

/// Whether a sum or shift of the document's loop over a bucket is 2⁶⁴ or more: there readers may differ.
fn goes_beyond_64_bits(golomb: &Golomb, payload: &[u8], bucket: u64) -> bool {
    let r = golomb.remainder_bits;
    // Each unary bit and each remainder adds at most 2^r.
    if (16 * payload.len() as u128) << r < 1 << 64 {
        return false;
    }
    let (s, e) = (golomb.start(payload, bucket), golomb.start(payload, bucket + 1));
    let codes_end = golomb.start(payload, golomb.num_buckets);
    let codes = &payload[payload.len() - codes_end as usize / 8..];
    let (mut unary, mut remainders, mut next) = (s, e, 0u128);
    if s > e || e > codes_end {
        return false;
    }
    while remainders > unary + r {
        remainders -= r;
        let Some(one) = (unary..remainders).find(|&i| oracle::bit(codes, i) == 1) else { break };
        let remainder: u128 = (0..r).map(|i| u128::from(oracle::bit(codes, remainders + i)) << i).sum();
        next += (u128::from(one - unary) << r) + remainder + 1;
        if next > u128::from(u64::MAX) {
            return true;
        }
        unary = one + 1;
    }
    false
}

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
        *if expected.compact { &mut self.compact } else { &mut self.blocks } += 1;
        match expected.reply["class"].as_str() {
            Some("ok") => self.ok += 1,
            Some("damaged") => self.damaged += 1,
            Some("newer") => self.newer += 1,
            _ => self.mismatch += 1,
        }
        self.contexts_found += u64::from(!expected.reply["found_context"].is_null());
        self.rebuilt += u64::from(got["rebuilt"] == json!(true));
        let answers = |reply: &Value| reply["answers"].as_str().unwrap_or_default().to_owned();
        let (ours, theirs) = (answers(&expected.reply), answers(got));
        let mut differ = ours.len() != theirs.len() || ours.len() != expected.open.len();
        for ((ours, theirs), &open) in ours.bytes().zip(theirs.bytes()).zip(&expected.open) {
            self.answers += u64::from(!open);
            self.left_open += u64::from(open);
            differ |= !open && ours != theirs;
        }
        for name in ["class", "found_context", "kind", "num_entries", "rebuilt"] {
            differ |= expected.reply[name] != got[name];
        }
        if differ {
            self.disagreements += 1;
            if self.disagreements <= 5 {
                println!("disagreement: {:.3000}\n  library {}\n  second  {got}", expected.request, expected.reply);
            }
        }
    }

    fn add(&mut self, other: &Self) {
        let Self { blocks, compact, ok, damaged, newer, mismatch, contexts_found, .. } = other;
        let Self { answers, left_open, rebuilt, disagreements, .. } = other;
        self.blocks += blocks;
        self.compact += compact;
        self.ok += ok;
        self.damaged += damaged;
        self.newer += newer;
        self.mismatch += mismatch;
        self.contexts_found += contexts_found;
        self.answers += answers;
        self.left_open += left_open;
        self.rebuilt += rebuilt;
        self.disagreements += disagreements;
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{} {:03}", grouped(number / 1000), number % 1000),
    }
}

/// Number of processes, each with a share of the frames.
const NUM_SERVERS: u64 = 2;

/// Sends every [`NUM_SERVERS`]th frame to one process.
fn ask_server(first: u64, num_frames: u64) -> Counts {
    let mut child: Child =
        python(&["check.py", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    let (sender, receiver) = mpsc::sync_channel(1000);
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        // Writes while replies are read: neither pipe can fill up and stop both sides.
        scope.spawn(move || {
            let mut stdin = BufWriter::new(stdin);
            for number in (first..num_frames).step_by(NUM_SERVERS as usize) {
                let expected = expected(&frame(Random::new(number).next()));
                if writeln!(stdin, "{}", expected.request).is_err() || sender.send(expected).is_err() {
                    break;
                }
            }
        });
        let mut replies = BufReader::new(stdout).lines();
        for expected in receiver {
            let line = replies.next().expect("a reply to each request").expect("text");
            counts.compare(&expected, &serde_json::from_str(&line).expect("JSON"));
        }
    });
    assert!(child.wait().expect("python3 ends").success());
    counts
}

#[test]
#[ignore = "needs python3 and its package xxhash"]
fn random_frames() {
    let wanted =
        std::env::var("FILTERBLOCK_FRAMES").ok().map(|text| text.parse().expect("FILTERBLOCK_FRAMES is a number"));
    let num_frames = wanted.unwrap_or_else(|| by_extent(6_000, 132_000, 132_000));
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        let servers: Vec<_> =
            (0..NUM_SERVERS).map(|first| scope.spawn(move || ask_server(first, num_frames))).collect();
        for server in servers {
            counts.add(&server.join().expect("no panic"));
        }
    });
    println!(
        "counted: {} random frames ({} blocks, {} compact; {} ok, {} damaged, {} newer, {} mismatch, of which {} contexts \
         found), {} answers ({} more left open by the document), {} rebuilt bit for bit, {} disagreements",
        grouped(counts.blocks + counts.compact),
        grouped(counts.blocks),
        grouped(counts.compact),
        grouped(counts.ok),
        grouped(counts.damaged),
        grouped(counts.newer),
        grouped(counts.mismatch),
        grouped(counts.contexts_found),
        grouped(counts.answers),
        grouped(counts.left_open),
        grouped(counts.rebuilt),
        counts.disagreements,
    );
    assert_eq!(counts.disagreements, 0);
    assert_eq!(counts.blocks + counts.compact, num_frames);
    // Every class keeps its share.
    assert!(counts.rebuilt * 2 > num_frames && counts.damaged * 10 > num_frames, "{counts:?}");
    assert!(counts.newer * 200 > num_frames && counts.contexts_found * 200 > num_frames, "{counts:?}");
    assert!(counts.mismatch > counts.contexts_found && counts.compact * 5 > num_frames, "{counts:?}");
    assert!(counts.answers > 30 * num_frames && counts.left_open * 200 < counts.answers, "{counts:?}");
}
