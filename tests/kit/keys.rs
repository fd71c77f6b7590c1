//! From keys to answers: each transform with queries of every form, each branch of the hash functions, and frames
//! without entries.

use crate::assembled::{Header, Shape, raw_block};
use crate::case::{Case, Expected, KINDS, Reply, Request, letters};
use crate::library::{long, query};
use crate::material::{hex, unhex};
use crate::oracle::{Oracle, int};
use filterblock::KeyHasher;
use std::collections::BTreeSet;

pub const KEY: [u8; 16] = *b"16 secret bytes.";

/// The entry of a query under a transform, as section 4.3 of the document has it.
pub fn entry_of((id, param): (u8, u16), query: &str) -> Option<Vec<u8>> {
    let parts: Vec<&str> = query.split(':').collect();
    let bytes = |i: usize| unhex(parts[i]);
    let prefix = |key: Vec<u8>| key.get(..param.into()).map(<[u8]>::to_vec);
    match (parts[0], id) {
        ("entry", _) => Some(bytes(1)),
        ("long", _) => Some(long(parts[1].parse().expect("a length"))),
        ("key", 0 | 4) => Some(bytes(1)),
        ("key", 3) | ("prefix", 3 | 4) => prefix(bytes(1)),
        ("row" | "cell", 1) => Some(bytes(1)),
        ("cell", 2) => {
            let (mut row, column) = (bytes(1), bytes(2));
            let len = row.len();
            row.extend(column);
            row.extend((0..4).map(|i| (len >> (8 * i)) as u8));
            Some(row)
        }
        _ => None,
    }
}

/// The case of a frame that opens and is queried for keys and entries, with what its caller states.
pub fn asked(name: String, request: Request, hasher: KeyHasher, transform: (u8, u16)) -> Case {
    let compact = request.frame == "compact";
    let oracle = if compact { Oracle::open_compact(&request.bytes) } else { Oracle::open(&request.bytes) };
    let answer = |query: &String| entry_of(transform, query).is_none_or(|e| oracle.may_contain(hasher.hash(&e).get()));
    let answers = letters(request.queries.iter().map(answer));
    let kind = if compact { request.bytes.last().expect("a tag") & 15 } else { request.bytes[9] };
    let kind = Some(KINDS[usize::from(kind)]).filter(|kind| !kind.is_empty());
    let num_entries = (!compact).then(|| int(&request.bytes[24..32]));
    Case::new(name, request, Reply::Ok { kind, num_entries, partitions: None, answers })
}

/// The transforms, each with entries that it makes of keys.
fn stored((id, param): (u8, u16)) -> Vec<Vec<u8>> {
    let keys: [&[u8]; 7] = [b"apple", b"app", b"", b"\0", b"\xff\xfe\xfd\xfc", b"row/column", b"banana split"];
    let of = |queries: &[String]| {
        queries.iter().filter_map(|query| entry_of((id, param), query)).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let key_queries: Vec<String> = keys.iter().map(|key| query("key", key)).collect();
    match id {
        0 | 3 => of(&key_queries),
        4 => of(&keys.iter().flat_map(|key| [query("key", key), query("prefix", key)]).collect::<Vec<_>>()),
        1 => of(&keys.iter().map(|row| query("row", row)).collect::<Vec<_>>()),
        2 => of(&cells().into_iter().step_by(2).collect::<Vec<_>>()),
        _ => keys.iter().map(|key| key.to_vec()).collect(),
    }
}

/// Pairs; every second one is stored. Neighbours have the same bytes, cut elsewhere.
fn cells() -> Vec<String> {
    let long_row = |len: usize| vec![b'r'; len];
    let pairs: [(Vec<u8>, Vec<u8>); 12] = [
        (b"com.example".into(), b"title".into()),
        (b"com.examplet".into(), b"itle".into()),
        (b"".into(), b"".into()),
        (b"\0".into(), b"".into()),
        (b"".into(), b"ab".into()),
        (b"a".into(), b"b".into()),
        (b"ab".into(), b"".into()),
        (b"".into(), b"ab\x02\0\0\0".into()),
        (long_row(258), b"c".into()),
        (long_row(257), b"rc".into()),
        (long_row(2), b"rc".into()),
        (long_row(3), b"c".into()),
    ];
    pairs.iter().map(|(row, column)| format!("cell:{}:{}", hex(row), hex(column))).collect()
}

fn all_queries() -> Vec<String> {
    let strings: [&[u8]; 14] = [
        b"apple",
        b"app",
        b"",
        b"\0",
        b"\xff\xfe\xfd\xfc",
        b"row/column",
        b"banana split",
        b"appl",
        b"ap",
        b"applf",
        b"banana",
        b"absent",
        b"\xff\xfe\xfd",
        b"row",
    ];
    let mut queries = Vec::new();
    for name in ["key", "prefix", "row", "entry"] {
        queries.extend(strings.iter().map(|text| query(name, text)));
    }
    queries.extend(cells());
    queries.extend([b"apple", b"banan"].map(|row| format!("cell:{}:78", hex(row))));
    queries
}

const TRANSFORMS: [(u8, u16); 12] =
    [(0, 0), (1, 0), (2, 0), (3, 0), (3, 4), (3, 300), (4, 0), (4, 3), (4, 300), (128, 0), (200, 7), (255, 65_535)];

fn filter(entries: &[Vec<u8>], hasher: KeyHasher, transform: (u8, u16)) -> Vec<u8> {
    let hashes: BTreeSet<u64> = entries.iter().map(|entry| hasher.hash(entry).get()).collect();
    let header = Header { hasher, transform, ..Header::default() };
    match transform.0 % 2 {
        0 => Shape::Fuse { fingerprint_bits: 32, log2_segment_len: 2, num_segments: 12 }.block(&header, &hashes),
        _ => Shape::Ribbon { columns: 32, wide_share: 0, millislots: 995 }.block(&header, &hashes),
    }
}

fn transforms(cases: &mut Vec<Case>) {
    for transform in TRANSFORMS {
        let (hasher, entries) = (KeyHasher::new(11), stored(transform));
        let block = filter(&entries, hasher, transform);
        let sound = Oracle::open(&block);
        assert!(entries.iter().all(|entry| sound.may_contain(hasher.hash(entry).get())));
        let (id, param) = transform;
        let request = Request { frame: "block", bytes: block, queries: all_queries(), ..Request::default() };
        cases.push(asked(format!("transform {id} with parameter {param}"), request, hasher, transform));
        // Of no entries: every entry is absent, and a key without one is maybe.
        let header = Header { hasher, transform, ..Header::default() };
        let none = raw_block(1 + id % 5, &header, 0, [0; 12], &[]);
        let queries: Vec<String> = all_queries().into_iter().step_by(5).collect();
        let request = Request { frame: "block", bytes: none, queries: queries.clone(), ..Request::default() };
        cases.push(asked(format!("transform {id} with parameter {param}, no entries"), request, hasher, transform));
        let request = Request {
            frame: "compact",
            bytes: vec![0x10],
            hash: Expected::Seed(11),
            transform: Some(transform),
            queries,
            ..Request::default()
        };
        let name = format!("transform {id} with parameter {param}, compact frame of no entries");
        cases.push(asked(name, request, hasher, transform));
    }
    // Pairs under a secret key: a reader may hash their parts without joining them.
    let (hasher, transform) = (KeyHasher::keyed(KEY), (2, 0));
    let (bytes, hash) = (filter(&stored(transform), hasher, transform), Expected::Key(KEY));
    let request = Request { frame: "block", bytes, hash, queries: all_queries(), ..Request::default() };
    cases.push(asked("transform 2 under a secret key".into(), request, hasher, transform));
}

/// Lengths on both sides of every branch of XXH3 and of SipHash.
const LENGTHS: [usize; 62] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 143, 144,
    145, 159, 160, 161, 176, 177, 224, 225, 239, 240, 241, 255, 256, 257, 287, 319, 320, 321, 512, 513, 1023, 1024,
    1025, 1087, 1088, 1089, 1151, 2047, 2048, 2049, 2112, 3333,
];

fn hashes(cases: &mut Vec<Case>) {
    let seeds = [0, 1, 0x9e37_79b9_7f4a_7c15, 1 << 63, u64::MAX].map(Expected::Seed);
    let keys = [[0; 16], std::array::from_fn(|i| i as u8), [0xff; 16], KEY].map(Expected::Key);
    for (i, expected) in seeds.into_iter().chain(keys).enumerate() {
        let hasher = expected.hasher().expect("a seed or a key");
        for parity in 0..2 {
            let stored: Vec<_> = LENGTHS.iter().skip(parity).step_by(2).map(|&len| long(len)).collect();
            let transform = ((i + parity) as u8 % 2 * 3, 0);
            let bytes = filter(&stored, hasher, transform);
            let queries = LENGTHS.iter().map(|len| format!("long:{len}")).collect();
            // A seed may be read in the header, a key not.
            let hash = if matches!(expected, Expected::Seed(_)) && parity == 0 { Expected::Nothing } else { expected };
            let request = Request { frame: "block", bytes, hash, queries, ..Request::default() };
            let hash = match expected {
                Expected::Key(key) => format!("key {}", hex(&key)),
                _ => format!("seed {:#x}", hasher.seed()),
            };
            cases.push(asked(format!("{hash}: every second length from {parity}"), request, hasher, transform));
        }
    }
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    transforms(&mut cases);
    hashes(&mut cases);
    cases
}
