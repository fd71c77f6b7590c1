//! Partitioned filters: an index and its partitions, with queries of every form.

use crate::assembled::{Header, Shape, put, repair};
use crate::case::{Case, Expected, Reply, Request, letters};
use crate::expected::{CONTEXTS, unmix};
use crate::index_refused;
use crate::keys::{KEY, entry_of};
use crate::library::query;
use crate::material::{hex, unhex};
use crate::oracle::{Oracle, int, mix};
use std::collections::{BTreeMap, BTreeSet};

const MAGIC: [u8; 8] = [0xf2, 0x46, 0x42, 0x4c, 0x49, 0x0d, 0x0a, 0x1a];

fn partition_context(context: u64, i: usize) -> u64 {
    mix(context ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(i as u64)
}

fn escaped(row: &[u8], column: &[u8]) -> Vec<u8> {
    let row = row.iter().flat_map(|&byte| if byte == 0 { vec![0, 1] } else { vec![byte] });
    row.chain([0, 0]).chain(column.iter().copied()).collect()
}

/// Where the entry of a query is to be found, as section 15.1 of the document has it.
fn order_key(transform: (u8, u16), query: &str) -> Option<Vec<u8>> {
    let parts: Vec<&str> = query.split(':').collect();
    match (parts[0], transform.0) {
        ("at", 128..) => Some(unhex(parts[1])),
        ("cell", 2) => Some(escaped(&unhex(parts[1]), &unhex(parts[2]))),
        _ => entry_of(transform, query),
    }
}

/// An index, and the bytes in which its partitions are.
#[derive(Clone)]
pub struct Filter {
    header: Header,
    pub index: Vec<u8>,
    file: Vec<u8>,
}

/// `groups` are the partitions: their separators, and their entries.
pub fn filter(header: Header, groups: &[(Vec<u8>, BTreeSet<Vec<u8>>)], gap: usize) -> Filter {
    let (mut file, mut records, mut separators, mut num_entries) = (vec![], vec![], Vec::<u8>::new(), 0);
    for (i, (separator, entries)) in groups.iter().enumerate() {
        let hashes: BTreeSet<u64> = entries.iter().map(|entry| header.hasher.hash(entry).get()).collect();
        let shape = match i % 3 {
            0 => Shape::Fuse { fingerprint_bits: 16, log2_segment_len: 3, num_segments: 2 + hashes.len() as u32 / 2 },
            1 => Shape::Bloom { num_probes: 5, num_bits: 61 },
            _ => Shape::Golomb { remainder_bits: 6, entries_per_bucket: 2, bucket_range: 150 },
        };
        let block = shape.block(&Header { context: partition_context(header.context, i), ..header }, &hashes);
        file.extend(vec![0xee; gap * i]);
        separators.extend_from_slice(separator);
        let mut record = [0; 16];
        put(&mut record[..8], file.len() as u64);
        put(&mut record[8..12], block.len() as u64);
        put(&mut record[12..], separators.len() as u64);
        records.extend(record);
        file.extend(block);
        num_entries += hashes.len() as u64;
    }
    let mut index = vec![0; 64];
    index[..8].copy_from_slice(&MAGIC);
    index[8..12].copy_from_slice(&[1, 0, header.hasher.hash_id(), header.transform.0]);
    put(&mut index[12..14], header.features.into());
    put(&mut index[14..16], header.transform.1.into());
    put(&mut index[16..24], header.hasher.seed());
    put(&mut index[24..32], num_entries);
    put(&mut index[32..40], (records.len() + separators.len()) as u64);
    put(&mut index[40..44], groups.len() as u64);
    index.extend(records);
    index.extend(separators);
    repair(&mut index, header.context);
    Filter { header, index, file }
}

/// What becomes of a partition, by its number: another class than "ok".
type Classes = BTreeMap<usize, &'static str>;

fn case(name: &str, filter: &Filter, hash: Expected, classes: &Classes, queries: Vec<String>) -> Case {
    let Filter { header, index, file } = filter;
    let num = int(&index[40..44]) as usize;
    let (mut start, mut partitions) = (64 + 16 * num, Vec::new());
    for i in 0..num {
        let record = &index[64 + 16 * i..][..16];
        let end = 64 + 16 * num + int(&record[12..]) as usize;
        partitions.push((&index[start..end], &file[int(&record[..8]) as usize..][..int(&record[8..12]) as usize]));
        start = end;
    }
    let answer = |query: &String| {
        let Some(at) = order_key(header.transform, query) else { return true };
        let Some(i) = partitions.iter().position(|(separator, _)| *separator >= &at[..]) else { return false };
        let entry = match query.strip_prefix("at:") {
            Some(of_engine) => unhex(of_engine.split_once(':').expect("an entry").1),
            None => entry_of(header.transform, query).expect("an entry, as it has an order key"),
        };
        classes.contains_key(&i) || Oracle::open(partitions[i].1).may_contain(header.hasher.hash(&entry).get())
    };
    let answers = letters(queries.iter().map(answer));
    let of = |i| classes.get(&i).copied().unwrap_or("ok");
    let (num_entries, classes) = (Some(int(&index[24..32])), Some((0..num).map(of).collect()));
    let reply = Reply::Ok { kind: None, num_entries, partitions: classes, answers };
    Case::new(name, Request { hash, queries, ..request(filter) }, reply)
}

pub fn request(filter: &Filter) -> Request {
    let Filter { header, index, file } = filter.clone();
    let partitions = Some(file);
    Request { frame: "index", bytes: index, context: header.context, partitions, ..Request::default() }
}

const WORDS: [&[u8]; 16] = [
    b"",
    b"\0",
    b"\0\0a",
    b"a",
    b"a\0",
    b"ab",
    b"abc",
    b"abd",
    b"b\xff",
    b"b\xff\xff",
    b"ba",
    b"c",
    b"cherry",
    b"cherrz",
    b"\xfe",
    b"\xff\0",
];

fn queries(names: &[&str]) -> Vec<String> {
    let absent: [&[u8]; 8] = [b"\0\0", b"aa", b"abcd", b"b", b"cherrx", b"d", b"\xff", b"\xff\0\0"];
    let words = || WORDS.iter().chain(&absent);
    let mut queries: Vec<String> = names.iter().flat_map(|name| words().map(move |word| query(name, word))).collect();
    let pairs =
        words().flat_map(|row| [&b""[..], b"x", b"\0"].map(|column| format!("cell:{}:{}", hex(row), hex(column))));
    queries.extend(pairs.step_by(if names.contains(&"all-cells") { 1 } else { 7 }));
    queries.retain(|query| !query.starts_with("all-cells"));
    queries
}

/// Entries by their order keys, for each transform.
fn entries(transform: (u8, u16)) -> BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> {
    let mut entries: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for (i, word) in WORDS.iter().enumerate() {
        let asked = match transform.0 {
            1 => vec![query("row", word)],
            2 => [&b""[..], b"x"][..1 + i % 2]
                .iter()
                .map(|column| format!("cell:{}:{}", hex(word), hex(column)))
                .collect(),
            128.. => vec![format!("at:{}:{}", hex(word), hex(&word.repeat(2)))],
            _ => vec![query("key", word)],
        };
        for query in asked {
            let Some(at) = order_key(transform, &query) else { continue };
            let entry = match transform.0 {
                128.. => word.repeat(2),
                _ => entry_of(transform, &query).expect("an entry"),
            };
            let of_key = entries.entry(at).or_default();
            of_key.insert(entry);
            // At the key's own place.
            of_key.extend(entry_of(transform, &crate::library::query("prefix", word)).filter(|_| transform.0 == 4));
        }
    }
    entries
}

/// Partitions of `size` order keys, with separators as short as the document allows, or as long.
fn groups(transform: (u8, u16), size: usize, short: bool) -> Vec<(Vec<u8>, BTreeSet<Vec<u8>>)> {
    let entries: Vec<_> = entries(transform).into_iter().collect();
    let chunks: Vec<_> = entries.chunks(size).collect();
    let group = |i: usize| {
        let last = &chunks[i][chunks[i].len() - 1].0;
        let separator = match chunks.get(i + 1).filter(|_| short) {
            Some(next) => shortest(last, &next[0].0),
            None => last.clone(),
        };
        (separator, chunks[i].iter().flat_map(|(_, entries)| entries.clone()).collect())
    };
    (0..chunks.len()).map(group).collect()
}

fn shortest(last: &[u8], next: &[u8]) -> Vec<u8> {
    let above = (0..=next.len()).map(|len| &next[..len]).find(|prefix| *prefix > last).expect("in order");
    let raised = (1..last.len()).filter_map(|len| {
        let mut candidate = last[..len].to_vec();
        candidate[len - 1] = candidate[len - 1].checked_add(1)?;
        Some(candidate)
    });
    let candidates = raised.chain([last.to_vec()]).filter(|c| &c[..] >= last && &c[..] < above);
    candidates.min_by_key(Vec::len).expect("the last key at least")
}

fn sound(cases: &mut Vec<Case>) {
    let transforms: [((u8, u16), &[&str]); 7] = [
        ((0, 0), &["key", "prefix", "row"]),
        ((1, 0), &["key", "row"]),
        ((2, 0), &["key", "row", "all-cells"]),
        ((3, 0), &["key", "prefix"]),
        ((3, 2), &["key", "prefix", "row"]),
        ((4, 2), &["key", "prefix", "row"]),
        ((200, 9), &["key", "prefix", "row"]),
    ];
    for (i, (transform, names)) in transforms.into_iter().enumerate() {
        for (size, short, gap) in [(1, true, 0), (3, true, 5), (4, false, 0), (100, true, 3)] {
            let hash = if i % 2 == 0 { Expected::Seed(i as u64) } else { Expected::Key(KEY) };
            let hasher = hash.hasher().expect("a seed or a key");
            let header = Header { hasher, transform, features: 0, context: CONTEXTS[i] };
            let filter = filter(header, &groups(transform, size, short), gap);
            let mut queries = queries(names);
            if transform.0 >= 128 {
                let at = |word: &&[u8]| format!("at:{}:{}", hex(word), hex(&word.repeat(2)));
                queries.extend(WORDS.iter().map(at));
                queries.extend(WORDS.iter().map(|word| format!("at:{}:{}", hex(word), hex(word))));
                queries.push("at:ff00ff:61".into());
            }
            let name = format!("index: transform {transform:?}, {size} keys in a partition, short separators {short}");
            cases.push(case(&name, &filter, hash, &Classes::new(), queries));
        }
    }
    // The first partition's context is 2^64 - 1, the next one's 0: that of a table whose mix is the last of all.
    let context = unmix(u64::MAX) ^ 0x9e37_79b9_7f4a_7c15;
    assert_eq!((partition_context(context, 0), partition_context(context, 1)), (u64::MAX, 0));
    let wrapping = filter(Header { context, ..Header::default() }, &groups((0, 0), 4, true), 0);
    let name = "index: contexts of partitions beyond 2^64";
    cases.push(case(name, &wrapping, Expected::Nothing, &Classes::new(), queries(&["key"])));
    let filter = filter(Header { context: 4, features: 0xfe, ..Header::default() }, &[], 0);
    cases.push(case(
        "index: no partitions, ignored features",
        &filter,
        Expected::Nothing,
        &Classes::new(),
        queries(&["key"]),
    ));
}

/// Partitions that do not open cost their own keys.
fn bad_partitions(cases: &mut Vec<Case>) {
    let header = Header { context: 77, ..Header::default() };
    let sound = filter(header, &groups((0, 0), 3, true), 0);
    let at = |i: usize| int(&sound.index[64 + 16 * i..][..8]) as usize;
    let mut bad = |name: &str, class: &'static str, number: usize, change: &dyn Fn(&mut Filter)| {
        let mut filter = sound.clone();
        change(&mut filter);
        let classes = Classes::from([(number, class)]);
        cases.push(case(name, &filter, Expected::Nothing, &classes, queries(&["key"])));
    };
    bad("index: a flipped bit in partition 1", "damaged", 1, &|filter| filter.file[at(1) + 64] ^= 1);
    bad("index: a newer version in partition 0", "newer", 0, &|filter| {
        let end = at(1);
        filter.file[8] = 2;
        repair(&mut filter.file[..end], partition_context(77, 0));
    });
    bad("index: another seed in partition 2", "mismatch", 2, &|filter| {
        let (start, end) = (at(2), at(3));
        filter.file[start + 16] = 1;
        repair(&mut filter.file[start..end], partition_context(77, 2));
    });
    bad("index: another transform in partition 2", "mismatch", 2, &|filter| {
        let (start, end) = (at(2), at(3));
        filter.file[start + 11] = 200;
        repair(&mut filter.file[start..end], partition_context(77, 2));
    });
    bad("index: partition 1 written as partition 3 of the table", "damaged", 1, &|filter| {
        let (start, end) = (at(1), at(2));
        repair(&mut filter.file[start..end], partition_context(77, 3));
        // So that it is damage for every reader, whether it finds contexts or not.
        filter.file[start + 60] ^= 1;
    });
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    sound(&mut cases);
    bad_partitions(&mut cases);
    cases.extend(index_refused::cases());
    cases
}
