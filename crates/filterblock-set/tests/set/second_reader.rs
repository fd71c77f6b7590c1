//! The library against a second reader, in Python, that was written from format-spec.md alone
//! (`tests/second_reader/sets.py` of the repository).
//!
//! `cargo test --release -p filterblock-set -- --ignored --nocapture second_reader`. `FILTERBLOCK_PYTHON` is the
//! interpreter. The same number gives the same set.

use crate::damage::mutate;
use crate::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const SETS: u64 = 10_000;
const POLICIES: [&str; 6] = ["bloom:10", "blocked:8", "golomb:6", "ribbon:fpr=1%", "fuse:8", "ribbon:fpr=20%"];

/// What the reader expects of the hash.
#[derive(Clone, Copy)]
enum Hash {
    Any,
    Seed(u64),
    Key([u8; 16]),
}

impl Hash {
    fn hasher(self) -> Option<KeyHasher> {
        match self {
            Self::Any => None,
            Self::Seed(seed) => Some(KeyHasher::new(seed)),
            Self::Key(key) => Some(KeyHasher::keyed(key)),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Seed(seed) => format!(", \"seed\": \"{seed:#x}\""),
            Self::Key(key) => format!(", \"key\": \"{}\"", hex(&key)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A set of files, a part of which was appended.
fn set(numbers: &mut Random, hash: Hash, slices: u16, tables: &[Table]) -> Vec<u8> {
    let policy = policy(POLICIES[numbers.index(POLICIES.len())]);
    let policy = match hash.hasher() {
        Some(hasher) => policy.with_hasher(hasher),
        None => policy,
    };
    let mut builder = SetBuilder::new(&policy, &columns(slices)).expect("a builder");
    let (first, second) = tables.split_at(numbers.index(tables.len() + 1));
    add(numbers, &mut builder, first);
    let mut bytes = builder.allow_empty().finish().expect("a set");
    if !second.is_empty() {
        add(numbers, &mut builder, second);
        let Ok(Opening::Ready(old)) = FilterSet::open(bytes.len() as u64, &bytes, hash.hasher().as_ref()) else {
            panic!("just written");
        };
        let dropped = tables[numbers.index(2 * tables.len()).min(tables.len() - 1)].name.as_bytes();
        let more = builder.finish_append(&old, |name| name == dropped).expect("a longer set");
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

fn add(numbers: &mut Random, builder: &mut SetBuilder, tables: &[Table]) {
    for table in tables {
        let mut file = builder.file(&table.name, table.identity).expect("a new file");
        table.ids.iter().for_each(|&id| assert!(file.add(0, Value::Int(id))));
        table.words.iter().for_each(|word| assert!(file.add(1, Value::Text(word))));
        file.allow_empty(0);
        match numbers.index(4) {
            0 => file.give_up(1),
            _ => file.allow_empty(1),
        }
        file.finish().expect("blocks");
    }
}

/// A request, and the line that the library would reply.
fn request(number: u64) -> (String, String) {
    let numbers = &mut Random::new(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let hash = match numbers.index(3) {
        0 => Hash::Any,
        1 => Hash::Seed(numbers.next()),
        _ => Hash::Key([numbers.next() as u8; 16]),
    };
    let slices = 1 + numbers.index(3) as u16;
    let (num_files, keys) = (1 + numbers.index(5), numbers.index(25));
    let stored = tables(0, num_files, keys);
    let mut bytes = set(numbers, hash, slices, &stored);
    match numbers.index(6) {
        0 => mutate(&mut bytes, numbers),
        1 => {
            let at = bytes.len() - 1 - numbers.index((FOOTER_LEN + 100).min(bytes.len()));
            bytes[at] ^= 1 << numbers.index(8);
            bytes = repaired(bytes);
        }
        _ => {}
    }
    let hash = if numbers.index(20) == 0 { Hash::Seed(1) } else { hash };
    // The files that there are now: one has changed, one is new.
    let mut now = tables(0, num_files + 1, keys);
    let changed = numbers.index(2 * now.len());
    if let Some(table) = now.get_mut(changed) {
        table.identity ^= 1 << numbers.index(64);
    }
    let ids: Vec<[i64; 2]> = (0..12).map(|_| [0; 2].map(|_| numbers.index(26_000) as i64 / 1000 * 1000)).collect();
    let ids: Vec<_> = ids.into_iter().map(|ids| ids.map(|id| id + numbers.index(num_files + 2) as i64)).collect();
    let files: Vec<_> =
        now.iter().map(|table| format!("[\"{}\", \"{:#x}\"]", hex(table.name.as_bytes()), table.identity)).collect();
    let queries = ids.iter().map(|[a, b]| {
        [
            format!("[\"{}\", [\"int:{a}\", \"int:{b}\"]]", hex(b"id")),
            format!("[\"{}\", [\"text:word {a}\"]]", hex(b"word")),
            format!("[\"{}\", [\"int:{a}\"]]", hex(if a % 2 == 0 { b"word" } else { b"none" })),
        ]
    });
    let queries: Vec<_> = queries.flatten().collect();
    let request = format!(
        "{{\"set\": \"{}\"{}, \"files\": [{}], \"queries\": [{}]}}",
        hex(&bytes),
        hash.text(),
        files.join(", "),
        queries.join(", ")
    );
    let opened = match FilterSet::open(bytes.len() as u64, &bytes, hash.hasher().as_ref()) {
        Ok(Opening::Ready(opened)) => opened,
        Ok(Opening::Needs(range)) => panic!("all bytes were given, {range:?} is asked for"),
        Err(error) => {
            let class = match error.class() {
                DecodeErrorClass::Damaged => "damaged",
                DecodeErrorClass::Newer => "newer",
                DecodeErrorClass::Mismatch => "mismatch",
                class => panic!("{class}"),
            };
            return (request, format!("{{\"class\": \"{class}\"}}"));
        }
    };
    let mut answers = Vec::new();
    for [a, b] in ids {
        let word = format!("word {a}");
        let queries: [(&str, &[Value<'_>]); 3] = [
            ("id", &[Value::Int(a), Value::Int(b)]),
            ("word", &[Value::Text(&word)]),
            (if a % 2 == 0 { "word" } else { "none" }, &[Value::Int(a)]),
        ];
        for (column, values) in queries {
            let may_match = look_up(&opened, &bytes, &now, column, values).of_any_key();
            let letters: String = may_match.iter().map(|&may| if may { 'm' } else { 'n' }).collect();
            answers.push(format!("\"{letters}\""));
        }
    }
    (request, format!("{{\"class\": \"ok\", \"answers\": [{}]}}", answers.join(", ")))
}

#[test]
#[ignore = "needs Python with the package xxhash; see .ci/run"]
fn a_second_reader_agrees_on_sets() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var("FILTERBLOCK_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(python);
    command.current_dir(root.join("tests/second_reader")).args(["-B", "sets.py"]);
    let document = root.join("format").canonicalize().expect("the document");
    let mut vectors = Command::new(command.get_program());
    vectors.current_dir(root.join("tests/second_reader")).args(["-B", "sets.py", "vectors"]).arg(document);
    assert!(vectors.status().expect("python3 runs").success());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let mut requests = child.stdin.take().expect("a pipe");
    let mut replies = BufReader::new(child.stdout.take().expect("a pipe"));
    let (mut opened, mut denied, mut maybe) = (0, 0, 0);
    for number in 0..SETS {
        let (request, expected) = request(number);
        writeln!(requests, "{request}").expect("a reader");
        let mut reply = String::new();
        replies.read_line(&mut reply).expect("a reply");
        assert_eq!(reply.trim_end(), expected, "set {number}: {request}");
        opened += u32::from(expected.contains("ok"));
        let answers = expected.split_once("answers").map_or("", |(_, answers)| answers);
        denied += answers.matches('n').count();
        maybe += answers.matches('m').count();
    }
    drop(requests);
    assert!(child.wait().expect("an end").success());
    println!("counted: {SETS} filter sets, {opened} opened, {denied} files denied and {maybe} maybe, by both readers");
    assert!(opened > 7000 && denied > 200_000 && maybe > 200_000);
}
