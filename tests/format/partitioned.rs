//! The format's chapter on partitions: its vectors, and the golden partitioned filters, against a reader and a separator
//! written from the document in the simplest code possible.
//!
//! `FILTERBLOCK_BLESS=1 cargo test --test format partitioned` writes the golden files that are missing.

use crate::harness::{Stored, Writer, sure};
use crate::material::{hex, sized};
use crate::oracle::Oracle;
use crate::oracle::index::{Index, order_key_of_pair, partition_context};
use crate::spec::compare;
use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter};
use filterblock::{CustomTransform, FilterKind, FilterPolicy, KeyHasher, KeyTransform, OpenOptions, Query};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Whether the partition that `order_key` leads to may contain `hash`.
fn may_contain(index: &Index<'_>, file: &[u8], order_key: &[u8], hash: u64) -> bool {
    index.find(order_key).is_some_and(|i| {
        let (offset, len, _) = index.partitions[i];
        Oracle::open(&file[offset as usize..][..len as usize]).may_contain(hash)
    })
}

/// The row and the column of an order key of such a pair; `None` if it is of none.
fn pair_of(order_key: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut row, mut rest) = (Vec::new(), order_key);
    loop {
        match *rest {
            [0, 0, ref column @ ..] => return Some((row, column)),
            [0, 1, ..] => (row.push(0), rest = &rest[2..]).0,
            [0, ..] | [] => return None,
            [byte, ..] => (row.push(byte), rest = &rest[1..]).0,
        }
    }
}

/// The partition that an order key leads to.
pub fn led_to<B: AsRef<[u8]>>(filter: &PartitionedFilter<B>, order_key: &[u8]) -> Option<PartitionHandle> {
    let found = match filter.entry_hasher().transform() {
        KeyTransform::RowColumn => {
            let (row, column) = pair_of(order_key).expect("of a pair");
            filter.find(Query::Cell(&row, column))
        }
        KeyTransform::Row => filter.find(Query::Row(order_key)),
        KeyTransform::Custom(_) => filter.find(Query::Entry { order_key, entry: b"" }),
        _ => filter.find(Query::Key(order_key)),
    };
    found.partitions().next()
}

/// The shortest separator, found by trying all candidates: `last`, and its prefixes with their last byte raised.
fn separator(last: &[u8], next: &[u8]) -> Vec<u8> {
    let above = (0..=next.len()).map(|len| &next[..len]).find(|prefix| *prefix > last).expect("in order");
    let raised = (1..last.len()).filter_map(|len| {
        let mut candidate = last[..len].to_vec();
        candidate[len - 1] = candidate[len - 1].checked_add(1)?;
        Some(candidate)
    });
    let candidates = raised.chain([last.to_vec()]);
    candidates.filter(|c| &c[..] >= last && &c[..] < above).min_by_key(Vec::len).expect("the last key at least")
}

fn list(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".into() } else { hex(bytes) }
}

/// How a case adds its keys.
#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Whole,
    /// Pairs of each row and the columns "" and "title".
    Cells,
    /// Each key, and its first 12 bytes.
    WithPrefixes,
    /// Each key's directory.
    Paths,
}

struct Case {
    name: &'static str,
    policy: FilterPolicy,
    limit: PartitionLimit,
    context: u64,
    keys: Keys,
    count: usize,
    /// Whether an earlier writer made it, whose choices were others: it is read, but not built.
    is_earlier: bool,
}

const HASH_KEY: [u8; 16] = *b"16 secret bytes.";

fn cases() -> Vec<Case> {
    let bits = |kind| sized(kind, 10.0);
    let own = KeyTransform::Custom(CustomTransform::new(150, 12).expect("legal"));
    let keyed = bits(FilterKind::Blocked).with_hasher(KeyHasher::keyed(HASH_KEY)).with_transform(own);
    let case = |name, policy, limit, context, keys, count| Case {
        name,
        policy,
        limit,
        context,
        keys,
        count,
        is_earlier: name == "fuse",
    };
    let (bloom, blocked, golomb) = (bits(FilterKind::Bloom), bits(FilterKind::Blocked), bits(FilterKind::Golomb));
    let (ribbon, fuse) = (bits(FilterKind::Ribbon), bits(FilterKind::Fuse));
    let paths = KeyTransform::DelimitedPrefix { delimiter: b'/', levels: 2 };
    let (entries, prefix) = (PartitionLimit::Entries, KeyTransform::FixedPrefix { len: 16 });
    vec![
        case(
            "whole",
            blocked.clone().with_seed(7),
            PartitionLimit::Bytes(512),
            0x0123_4567_89ab_cdef,
            Keys::Whole,
            1000,
        ),
        case("none", bloom.clone(), PartitionLimit::default(), 3, Keys::Whole, 0),
        case("prefixes", bloom.with_transform(prefix), entries(7), 0, Keys::Whole, 1000),
        case("cells", golomb.with_transform(KeyTransform::RowColumn), entries(37), u64::MAX, Keys::Cells, 200),
        case("keys-and-prefixes-keyed", keyed, entries(50), 1, Keys::WithPrefixes, 500),
        case("ribbon", ribbon.with_seed(8), entries(150), 2, Keys::Whole, 700),
        case("fuse", fuse.clone().with_seed(9), entries(150), 2, Keys::Whole, 700),
        case("fuse-aside", fuse.with_seed(9), entries(150), 2, Keys::Whole, 700),
        case("paths", blocked.with_transform(paths), entries(37), 5, Keys::Paths, 500),
    ]
}

impl Case {
    fn words(&self) -> Vec<Vec<u8>> {
        let word = |i: usize| format!("com.example.{:05}/{}", i * 7919 % 100_003, "path".repeat(i % 3)).into_bytes();
        let mut words: Vec<_> = (0..self.count).map(word).collect();
        words.sort();
        words
    }

    /// The order keys and entries, as the document makes them.
    fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let transform = self.policy.transform();
        let entries = self.words().into_iter().flat_map(|word| match self.keys {
            Keys::Whole => {
                let entry = transform.entry_of(&word).expect("no word is too short").to_vec();
                vec![(entry.clone(), entry)]
            }
            Keys::Cells => {
                let pair = |column: &[u8]| {
                    let len: [u8; 4] = std::array::from_fn(|i| (word.len() >> (8 * i)) as u8);
                    (order_key_of_pair(&word, column), [&word[..], column, &len].concat())
                };
                vec![pair(b""), pair(b"title")]
            }
            Keys::WithPrefixes => vec![(word.clone(), word[..12].to_vec()), (word.clone(), word)],
            Keys::Paths => vec![(word.clone(), word[..18].to_vec())],
        });
        let mut entries: Vec<_> = entries.collect();
        entries.dedup();
        entries
    }

    fn build(&self) -> Stored {
        let mut writer = Writer::new(self.policy.clone(), self.limit, self.context);
        for word in self.words() {
            match self.keys {
                Keys::Whole | Keys::Paths => writer.key(&word),
                Keys::Cells => writer.pair(&word, b"").and_then(|()| writer.pair(&word, b"title")),
                Keys::WithPrefixes => writer.entry(&word, &word[..12]).and_then(|()| writer.entry(&word, &word)),
            }
            .expect("in order");
        }
        writer.finish_any().expect("an index")
    }

    fn path(extension: &str) -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "tests", "golden", "v1", "partitioned", extension].iter().collect()
    }

    fn keys_file(&self) -> String {
        self.entries().iter().map(|(order_key, entry)| format!("{} {}\n", hex(order_key), hex(entry))).collect()
    }

    fn describe(&self) -> serde_json::Value {
        let key = (self.policy.hasher().hash_id() == 2).then(|| hex(&HASH_KEY));
        json!({"name": self.name, "context": format!("{:#018x}", self.context), "hash_key": key})
    }
}

/// Writes the partitioned filters that are missing in `dir`, their keys, and their list.
pub fn write(dir: &Path) {
    std::fs::create_dir_all(dir).expect("a directory");
    let write = |name: String, bytes: &[u8]| {
        if !dir.join(&name).exists() {
            std::fs::write(dir.join(name), bytes).expect("a written file");
        }
    };
    let mut cases = cases();
    cases.retain(|case| !case.is_earlier || dir.join(format!("{}.index", case.name)).exists());
    let described: Vec<_> = cases.iter().map(Case::describe).collect();
    let list = serde_json::to_string_pretty(&described).expect("JSON") + "\n";
    write("index.json".into(), list.as_bytes());
    for case in cases.iter().filter(|case| !case.is_earlier) {
        let (built, name) = (case.build(), case.name);
        write(format!("{name}.index"), &built.index);
        write(format!("{name}.partitions"), &built.file);
        write(format!("{name}.keys"), case.keys_file().as_bytes());
    }
}

#[test]
fn golden_partitioned_filters() {
    let read = |name: &str| std::fs::read(Case::path(name)).expect("a golden file");
    if std::env::var_os("FILTERBLOCK_BLESS").is_some() {
        write(&Case::path(""));
    }
    let described: Vec<_> = cases().iter().map(Case::describe).collect();
    let listed: serde_json::Value = serde_json::from_slice(&read("index.json")).expect("JSON");
    assert_eq!(listed, json!(described));
    for case in cases() {
        let name = case.name;
        let [index, partitions, keys] = ["index", "partitions", "keys"].map(|extension| format!("{name}.{extension}"));
        let stored = Stored { index: read(&index), file: read(&partitions) };
        assert!(case.is_earlier || case.build() == stored, "{name} differs from what is built now");
        assert_eq!(read(&keys), case.keys_file().as_bytes(), "{name}.keys is not what this test generates");
        check_answers(&case, &stored);
    }
}

fn check_answers(case: &Case, stored: &Stored) {
    let hasher = case.policy.hasher();
    let options = OpenOptions::new().with_context(case.context).expect_hasher(hasher);
    let filter = PartitionedFilter::open(&stored.index, options.clone()).expect("an intact index");
    let index = Index::open(&stored.index);
    for partition in filter.partitions() {
        let options = options.clone().with_context(partition_context(case.context, partition.number.into()));
        let Ok(block) = stored.load(partition);
        options.open(block).expect("a block under the document's context");
    }
    let library = |order_key: &[u8], entry: &[u8]| {
        led_to(&filter, order_key).is_some_and(|p| {
            let Ok(block) = stored.load(p);
            filter.open_partition(p, block).expect("intact").may_contain_hash(hasher.hash(entry))
        })
    };
    for (order_key, entry) in case.entries() {
        assert!(library(&order_key, &entry), "{}: a stored key is denied", case.name);
        for at in 0..order_key.len() {
            let mut absent = order_key.clone();
            absent[at] ^= 1;
            if filter.entry_hasher().transform() == KeyTransform::RowColumn && pair_of(&absent).is_none() {
                continue;
            }
            let expected = may_contain(&index, &stored.file, &absent, hasher.hash(&absent).get());
            assert_eq!(library(&absent, &absent), expected, "{}", case.name);
        }
    }
    // The separators are the shortest.
    let entries = case.entries();
    for (_, _, stored) in index.partitions.split_last().map_or(&[][..], |(_, all)| all) {
        let next = entries.partition_point(|(order_key, _)| &order_key[..] <= *stored);
        let (last, next) = (&entries[next - 1].0, &entries[next].0);
        assert_eq!(*stored, separator(last, next), "{}", case.name);
    }
}

#[test]
fn order_key_vectors() {
    let cells: [(&[u8], &[u8]); 5] = [(b"", b""), (b"\0", b""), (b"\0", b"\xff"), (b"a", b"b"), (b"a\0", b"\0")];
    let lines = cells.map(|(row, column)| {
        // The last separator is the last order key.
        let policy = sized(FilterKind::Bloom, 10.0).with_transform(KeyTransform::RowColumn);
        let mut writer = Writer::new(policy, PartitionLimit::default(), 0);
        writer.pair(row, column).expect("in order");
        let index = writer.finish().expect("an index").index;
        format!("{} {} {}", list(row), list(column), hex(Index::open(&index).partitions[0].2))
    });
    compare("order-key", &lines);
}

#[test]
fn separator_vectors() {
    let pairs: [(&[u8], &[u8]); 8] = [
        (b"", b"a"),
        (b"a", b"ab"),
        (b"abc", b"az"),
        (b"abc", b"ac"),
        (b"abc", b"bzz"),
        (b"a\xffc", b"b\0"),
        (b"a\xffcd", b"b\0"),
        (b"\xff\0\0", b"\xff\x01"),
    ];
    let lines = pairs.map(|(last, next)| {
        let stored = stored([last, next], &sized(FilterKind::Bloom, 10.0), 1, 0);
        let written = Index::open(&stored.index).partitions[0].2.to_vec();
        assert_eq!(written, separator(last, next));
        format!("{} {} {}", list(last), list(next), list(&written))
    });
    compare("separator", &lines);
}

#[test]
fn partition_context_vectors() {
    let places = [(0, 0), (0, 1), (1, 0), (0x0123_4567_89ab_cdef, 2), (u64::MAX, u64::from(u32::MAX) - 1)];
    let lines = places.map(|(context, partition)| {
        format!("{context:#018x} {partition} {:#018x}", partition_context(context, partition))
    });
    compare("partition-context", &lines);
}

fn stored<'a>(keys: impl IntoIterator<Item = &'a [u8]>, policy: &FilterPolicy, entries: u64, context: u64) -> Stored {
    let mut writer = Writer::new(policy.clone(), PartitionLimit::Entries(entries), context);
    keys.into_iter().for_each(|key| writer.key(key).expect("in order"));
    writer.finish().expect("an index")
}

#[test]
fn the_worked_example() {
    let keys = ["apple", "apricot", "banana"].map(str::as_bytes);
    let stored = stored(keys, &sized(FilterKind::Bloom, 16.3), 2, 1);
    let Stored { index, file } = &stored;
    let mut lines = vec![format!("index {}", hex(index))];
    let partitions = Index::open(index).partitions;
    for (i, (offset, len, separator)) in partitions.iter().enumerate() {
        let block = &file[*offset as usize..][..*len as usize];
        assert!(OpenOptions::new().with_context(partition_context(1, i as u64)).open(block).is_ok());
        lines.push(format!("partition-{i} {}", hex(block)));
        lines.push(format!("separator-{i} {}", hex(separator)));
    }
    compare("partitioned-example", &lines);

    let filter = stored.open(1);
    let lines = ["", "apple", "apricot", "aqua", "b", "banana", "banana ", "cherry"].map(|key| {
        let partition = filter.find(Query::Key(key.as_bytes())).partitions().next();
        assert_eq!(partition.map(|p| p.number as usize), Index::open(index).find(key.as_bytes()));
        let maybe = sure(filter.may_match(Query::Key(key.as_bytes()), |p| stored.load(p)));
        let partition = partition.map_or("-".to_owned(), |p| p.number.to_string());
        format!("{} {partition} {}", list(key.as_bytes()), if maybe { "maybe" } else { "no" })
    });
    compare("partitioned-answers", &lines);
}
