//! Indexes of partitioned filters that are wrong in one way and in two.

use crate::assembled::{Header, put, repair};
use crate::case::{Case, Expected, Reply, Request};
use crate::expected::{CONTEXTS, elsewhere};
use crate::index::{Filter, filter, request};
use crate::keys::KEY;
use crate::oracle::int;
use crate::order::repair_crc;
use crate::refused::refused;
use std::collections::BTreeSet;

pub const ROWS: [&str; 16] = [
    "length",
    "magic",
    "crc",
    "version",
    "hash_id",
    "features",
    "transform",
    "reserved",
    "payload_len",
    "digest",
    "expected",
    "key",
    "records",
    "entries",
    "record",
    "order",
];

/// An index on its way to being wrong, under context 77. Its partitions are not needed.
struct Draft {
    request: Request,
    digest_is_wrong: bool,
    crc_is_wrong: bool,
    is_cut: bool,
}

impl Draft {
    fn set(&mut self, at: usize, value: u8) {
        self.request.bytes[at] = value;
    }

    fn done(mut self) -> Request {
        let bytes = &mut self.request.bytes;
        repair(bytes, 77);
        if self.digest_is_wrong {
            let digest = int(&bytes[52..60]) ^ 1 << 33;
            put(&mut bytes[52..60], digest);
        }
        repair_crc(bytes, 77, u32::from(self.crc_is_wrong));
        if self.is_cut {
            bytes.truncate(63);
        }
        self.request
    }
}

type Way = (&'static str, &'static str, fn(&mut Draft));

/// Ways to fail each row, that of a sound index of three partitions with separators of two bytes.
const WAYS: [Way; 32] = [
    ("length", "damaged", |draft| draft.is_cut = true),
    ("magic", "damaged", |draft| draft.set(0, 0xf1)),
    ("magic", "damaged", |draft| draft.set(4, 0x4b)),
    ("crc", "damaged", |draft| draft.crc_is_wrong = true),
    ("version", "damaged", |draft| draft.set(8, 0)),
    ("version", "newer", |draft| draft.set(8, 2)),
    ("hash_id", "newer", |draft| draft.set(10, 3)),
    ("hash_id", "newer", |draft| draft.set(10, 0)),
    ("features", "newer", |draft| draft.set(13, 1)),
    ("features", "newer", |draft| draft.set(13, 0x80)),
    ("transform", "newer", |draft| draft.set(11, 5)),
    ("transform", "newer", |draft| draft.set(11, 127)),
    ("transform", "newer", |draft| draft.set(15, 1)),
    ("reserved", "newer", |draft| draft.set(9, 1)),
    ("reserved", "newer", |draft| draft.set(51, 0x80)),
    ("payload_len", "damaged", |draft| draft.request.bytes[32] ^= 1),
    ("digest", "damaged", |draft| draft.digest_is_wrong = true),
    ("expected", "mismatch", |draft| draft.request.transform = Some((1, 0))),
    ("expected", "mismatch", |draft| draft.request.hash = Expected::Seed(1)),
    ("expected", "mismatch", |draft| draft.request.hash = Expected::Key(KEY)),
    ("key", "mismatch", |draft| draft.set(10, 2)),
    ("records", "damaged", |draft| draft.set(40, 4)),
    ("records", "damaged", |draft| draft.set(43, 0x80)),
    ("entries", "damaged", |draft| draft.request.bytes[24..32].fill(0)),
    ("entries", "damaged", |draft| draft.set(24, 2)),
    // Offset, length and separator's end of a record.
    ("record", "damaged", |draft| draft.set(64 + 16, 0)),
    ("record", "damaged", |draft| draft.request.bytes[64 + 32..64 + 40].fill(0xff)),
    ("record", "damaged", |draft| draft.request.bytes[64 + 8..64 + 10].copy_from_slice(&[63, 0])),
    ("record", "damaged", |draft| draft.set(64 + 12, 7)),
    ("record", "damaged", |draft| draft.set(64 + 32 + 12, 5)),
    ("order", "damaged", |draft| draft.set(64 + 48, b'f')),
    ("order", "damaged", |draft| draft.request.bytes[64 + 50..64 + 52].copy_from_slice(b"bb")),
];

/// Three partitions, of entries that are their own separators.
fn three() -> Filter {
    let group = |separator: &[u8]| (separator.to_vec(), BTreeSet::from([separator.to_vec()]));
    filter(Header { context: 77, ..Header::default() }, &[group(b"bb"), group(b"cc"), group(b"dd")], 0)
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let sound = Request { partitions: None, ..request(&three()) };
    let draft = || Draft { request: sound.clone(), digest_is_wrong: false, crc_is_wrong: false, is_cut: false };
    let number = |row: &str| ROWS.iter().position(|name| *name == row).expect("a row");
    for (i, &(row, class, wreck)) in WAYS.iter().enumerate() {
        let mut one = draft();
        wreck(&mut one);
        cases.push(Case::new(format!("index, {row}: way {i}"), one.done(), refused(class, row)));
        // Of the ways to fail a row, the first stands for all, but where they differ in class or are checked apart.
        let is_first = |i: usize| i == 0 || WAYS[i - 1].0 != WAYS[i].0 || ["version", "expected"].contains(&WAYS[i].0);
        let later = (0..WAYS.len()).filter(|&then| is_first(i) && is_first(then) && number(WAYS[then].0) > number(row));
        for (then, _, wreck_too) in later.map(|then| WAYS[then]) {
            // An unknown hash has no key that could be missed.
            if (row, then) != ("hash_id", "key") {
                let mut two = draft();
                wreck(&mut two);
                wreck_too(&mut two);
                cases.push(Case::new(format!("index, {row} before {then}: way {i}"), two.done(), refused(class, row)));
            }
        }
    }
    for context in CONTEXTS {
        let wrong = Request { context, ..sound.clone() };
        cases.push(elsewhere(format!("index, context 0x4d, opened under {context:#x}"), wrong, 77));
    }
    let mut flip = |row: &'static str, class: &'static str, at: usize, bit: usize| {
        let mut wrong = draft();
        wrong.request.bytes[at] ^= 1 << bit;
        cases.push(Case::new(format!("index, {row}: bit {bit} of byte {at}"), wrong.done(), refused(class, row)));
    };
    for bit in 0..8 {
        flip("magic", "damaged", bit, bit);
        flip("reserved", "newer", 9, bit);
        flip("reserved", "newer", 44 + bit, 7 - bit);
        flip("features", "newer", 13, bit);
        flip("payload_len", "damaged", 32 + bit, bit);
    }
    // Records up to the limits.
    let mut limit = |name: &str, changes: &[(usize, u8)], refused_as: Option<&'static str>| {
        let mut filter = three();
        changes.iter().for_each(|&(at, value)| filter.index[at] = value);
        repair(&mut filter.index, 77);
        let num_entries = Some(int(&filter.index[24..32]));
        let reply = match refused_as {
            Some(row) => refused("damaged", row),
            None => Reply::Ok { kind: None, num_entries, partitions: None, answers: String::new() },
        };
        // Nothing is read of the partitions.
        let request = Request { partitions: refused_as.is_none().then(Vec::new), ..request(&filter) };
        cases.push(Case::new(format!("index: {name}"), request, reply));
    };
    let last = 64 + 32;
    let highest: Vec<(usize, u8)> = (1..8).map(|i| (last + i, 0xff)).collect();
    let len = int(&three().index[last + 8..last + 12]) as u8;
    let with = |low: u8| [&[(last, low)][..], &highest].concat();
    limit("a last offset that ends at 2^64", &with(0u8.wrapping_sub(len)), Some("record"));
    limit("a last offset that ends below 2^64", &with(0u8.wrapping_sub(len) - 1), None);
    limit("a length of 64", &[(last + 8, 64), (last + 9, 0)], None);
    limit("most entries", &(24..32).map(|at| (at, 0xff)).collect::<Vec<_>>(), None);
    limit("equal separators", &[(last + 18, b'b'), (last + 19, b'b')], Some("order"));
    limit("an empty first separator", &[(64 + 12, 0)], None);
    limit("an empty second separator", &[(80 + 12, 2)], Some("order"));
    limit("a second separator that ends before it starts", &[(80 + 12, 1)], Some("record"));
    let offsets = [80, 96].map(|at| (at, int(&three().index[at..at + 8])));
    for (at, offset) in offsets {
        let earlier: Vec<(usize, u8)> = (0..8).map(|i| (at + i, ((offset - 1) >> (8 * i)) as u8)).collect();
        limit(
            &format!("a partition that begins at {}, before the end of another", offset - 1),
            &earlier,
            Some("record"),
        );
    }
    let of_150_bytes = [(80 + 8, 150), (80 + 9, 0), (96, 43), (97, 1)];
    limit("a partition that begins at 299, before the end of one of 150 bytes at 150", &of_150_bytes, Some("record"));
    limit("separators that end before the index", &[(last + 12, 5)], Some("record"));
    limit("separators that end behind the index", &[(last + 12, 7)], Some("record"));
    limit("one record fewer", &[(40, 2)], Some("record"));
    limit("no records but entries", &[(40, 0)], Some("entries"));
    limit("no records, no entries, but separators", &[(40, 0), (24, 0)], Some("record"));
    // On both sides of what is expected, of lengths and of checksums.
    let mut stated = |name: &str, change: &dyn Fn(&mut Request), reply: Option<(&'static str, &'static str)>| {
        let mut filter = three();
        filter.index[16] = 9;
        let mut request = Request { partitions: None, ..request(&filter) };
        change(&mut request);
        let answers = String::new();
        let reply = match reply {
            Some((class, row)) => refused(class, row),
            None => Reply::Ok { kind: None, num_entries: Some(3), partitions: None, answers },
        };
        let partitions = matches!(reply, Reply::Ok { .. }).then(Vec::new);
        cases.push(Case::new(format!("index: {name}"), Request { partitions, ..request }, reply));
    };
    let sealed = |request: &mut Request| repair(&mut request.bytes, 77);
    for (seed, reply) in [(0, Some(("mismatch", "expected"))), (9, None), (1 << 40, Some(("mismatch", "expected")))] {
        let change = |request: &mut Request| {
            sealed(request);
            request.hash = Expected::Seed(seed);
        };
        stated(&format!("seed 0x9, {seed:#x} stated"), &change, reply);
    }
    for (id, param) in [(3u8, 5u16), (3, 4), (3, 6), (2, 5), (4, 5)] {
        let change = |request: &mut Request| {
            request.bytes[11] = 3;
            request.bytes[14] = 5;
            sealed(request);
            request.transform = Some((id, param));
        };
        let reply = Some(("mismatch", "expected")).filter(|_| (id, param) != (3, 5));
        stated(&format!("transform (3, 5), {:?} stated", (id, param)), &change, reply);
    }
    for (id, param, reply) in [
        (1, 1, Some(("newer", "transform"))),
        (2, 1, Some(("newer", "transform"))),
        (2, 0, None),
        (126, 0, Some(("newer", "transform"))),
        (128, 1, None),
        (255, 0, None),
    ] {
        let change = |request: &mut Request| {
            request.bytes[11] = id;
            request.bytes[14] = param;
            sealed(request);
        };
        stated(&format!("transform {id}, parameter {param}"), &change, reply);
    }
    for by in [1, -1] {
        let longer = |request: &mut Request| {
            let declared = int(&request.bytes[32..40]).wrapping_add_signed(by);
            put(&mut request.bytes[32..40], declared);
            sealed(request);
        };
        stated(&format!("a length {by} too great"), &longer, Some(("damaged", "payload_len")));
    }
    for bit in 48..64 {
        let digest = |request: &mut Request| {
            sealed(request);
            let digest = int(&request.bytes[52..60]) ^ 1 << bit;
            put(&mut request.bytes[52..60], digest);
            repair_crc(&mut request.bytes, 77, 0);
        };
        stated(&format!("bit {bit} of the digest"), &digest, Some(("damaged", "digest")));
    }
    for bit in 0..32 {
        let crc = |request: &mut Request| {
            sealed(request);
            repair_crc(&mut request.bytes, 77, 1 << bit);
        };
        stated(&format!("bit {bit} of the crc"), &crc, Some(("damaged", "crc")));
    }
    let mut short = three();
    short.index.truncate(64 + 47);
    short.index[32] = 47;
    repair(&mut short.index, 77);
    let request = Request { partitions: None, ..request(&short) };
    cases.push(Case::new("index: records cut", request, refused("damaged", "records")));
    cases
}
