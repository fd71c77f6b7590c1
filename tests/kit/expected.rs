//! What the caller states: contexts, hashes, transforms; and blocks that are something else.

use crate::assembled::{Header, Shape, put, repair};
use crate::case::{Case, Expected, Reply, Request};
use crate::keys::{KEY, asked};
use crate::oracle::{int, mix};
use crate::order::repair_crc;
use crate::refused::refused;
use filterblock::KeyHasher;

const OTHER_KEY: [u8; 16] = *b"16 others bytes.";

/// A block of "a" and "b".
fn block(hasher: KeyHasher, transform: (u8, u16), context: u64) -> Vec<u8> {
    let hashes = [b"a", b"b"].map(|entry| hasher.hash(entry).get()).into();
    Shape::Bloom { num_probes: 9, num_bits: 26 }.block(&Header { hasher, transform, features: 0, context }, &hashes)
}

fn request(bytes: Vec<u8>) -> Request {
    let queries = ["entry:61", "entry:62", "entry:63", "key:61", "key:64"].map(str::to_owned).into();
    Request { frame: "block", bytes, queries, ..Request::default() }
}

/// Another context whose mix has the same low half.
fn same_low_half(context: u64) -> u64 {
    unmix(mix(context) ^ 1 << 32)
}

/// The inverse of `mix`.
pub fn unmix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0x9cb4_b2f8_1293_37db);
    z = (z ^ (z >> 33)).wrapping_mul(0x4f74_430c_22a5_4005);
    z ^ (z >> 33)
}

pub const CONTEXTS: [u64; 7] = [0, 1, 0xff, 1 << 32, 1 << 63, 0x0123_4567_89ab_cdef, u64::MAX];

/// The block is intact under `found`, as far as the document lets a reader know.
pub fn elsewhere(name: String, request: Request, found: u64) -> Case {
    let reply = Reply::Refused { class: "mismatch", row: "crc", found_context: Some(found) };
    Case { or: Some(refused("damaged", "crc")), ..Case::new(name, request, reply) }
}

fn contexts(cases: &mut Vec<Case>) {
    let hasher = KeyHasher::new(0);
    for context in CONTEXTS {
        let bytes = block(hasher, (0, 0), context);
        let right = Request { context, ..request(bytes.clone()) };
        cases.push(asked(format!("context {context:#x}"), right, hasher, (0, 0)));
        for given in CONTEXTS.into_iter().filter(|&given| given != context) {
            let wrong = Request { context: given, ..request(bytes.clone()) };
            cases.push(elsewhere(format!("context {context:#x}, opened under {given:#x}"), wrong, context));
        }
        let near = Request { context: same_low_half(context), ..request(bytes.clone()) };
        let name = format!("context {context:#x}, opened under one whose mix has the same low half");
        cases.push(Case::new(name, near, refused("damaged", "digest")));
    }
    // Under another context, and wrong in another way besides: only if what is written is intact is the context known.
    let sound = block(hasher, (0, 0), 5);
    let mut wrong = |what: &str, change: &dyn Fn(&mut Vec<u8>), found: Option<u64>| {
        let mut bytes = sound.clone();
        change(&mut bytes);
        let name = format!("context 0x5, opened under 0x0, {what}");
        cases.push(match found {
            Some(found) => elsewhere(name, request(bytes), found),
            None => Case::new(name, request(bytes), refused("damaged", "crc")),
        });
    };
    let set = |at: usize, value: u8| {
        move |bytes: &mut Vec<u8>| {
            bytes[at] = value;
            repair(bytes, 5);
        }
    };
    wrong("version 2", &set(8, 2), Some(5));
    wrong("version 0", &set(8, 0), Some(5));
    wrong("kind 6", &set(9, 6), Some(5));
    wrong("another length", &set(32, 9), Some(5));
    wrong("no entries but a payload", &set(24, 0), Some(5));
    wrong("a byte more", &|bytes| bytes.push(0), None);
    wrong("a byte less", &|bytes| bytes.truncate(bytes.len() - 1), None);
    wrong("a flipped bit of the header", &|bytes| bytes[24] ^= 1, None);
    wrong("a flipped bit of the payload", &|bytes| bytes[64] ^= 1, None);
    wrong("a flipped bit of the crc", &|bytes| bytes[63] ^= 1, None);
    wrong(
        "a digest of other bytes",
        &|bytes| {
            bytes[64] ^= 1;
            repair_crc(bytes, 5, 0);
        },
        None,
    );
    let mut bytes = sound.clone();
    bytes[0] = 0xf2;
    cases.push(Case::new("context 0x5, opened under 0x0, another magic", request(bytes), refused("damaged", "magic")));
}

fn hashers(cases: &mut Vec<Case>) {
    let key_id = KeyHasher::keyed(KEY).seed();
    let written = [Expected::Seed(0), Expected::Seed(7), Expected::Seed(key_id), Expected::Key(KEY)];
    let given = [
        Expected::Nothing,
        Expected::Seed(0),
        Expected::Seed(7),
        Expected::Seed(7 << 32),
        Expected::Seed(key_id),
        Expected::Key(KEY),
        Expected::Key(OTHER_KEY),
    ];
    for of_block in written {
        let hasher = of_block.hasher().expect("a seed or a key");
        let bytes = block(hasher, (0, 0), 0);
        for hash in given {
            let request = Request { hash, ..request(bytes.clone()) };
            let name = format!("hash id {}, {}", hasher.hash_id(), stated(hash));
            let case = match (of_block, hash) {
                (Expected::Seed(_), Expected::Nothing) => asked(name, request, hasher, (0, 0)),
                (Expected::Key(_), Expected::Nothing) => Case::new(name, request, refused("mismatch", "key")),
                _ if of_block == hash => asked(name, request, hasher, (0, 0)),
                _ => Case::new(name, request, refused("mismatch", "expected")),
            };
            cases.push(case);
        }
    }
    // A key's id in the header that is not the key's.
    let mut bytes = block(KeyHasher::keyed(KEY), (0, 0), 0);
    let id = int(&bytes[16..24]) ^ 1 << 63;
    put(&mut bytes[16..24], id);
    repair(&mut bytes, 0);
    let other = Request { hash: Expected::Key(KEY), ..request(bytes) };
    cases.push(Case::new("hash id 2, the id of no key", other, refused("mismatch", "expected")));
}

fn stated(hash: Expected) -> String {
    match hash {
        Expected::Nothing => "nothing stated".into(),
        Expected::Seed(seed) => format!("seed {seed:#x} stated"),
        Expected::Key(_) => format!("key of id {:#x} stated", hash.hasher().expect("a key").seed()),
    }
}

fn transforms(cases: &mut Vec<Case>) {
    let hasher = KeyHasher::new(0);
    let written = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (3, 0x0101), (128, 1), (255, 0)];
    for transform in written {
        let bytes = block(hasher, transform, 0);
        let given =
            [(0, 0), (1, 0), (2, 0), (3, 1), (3, 2), (4, 1), (3, 0x0101), (128, 1), (129, 1), (128, 0x0101), (255, 0)];
        for stated in given {
            let request = Request { transform: Some(stated), ..request(bytes.clone()) };
            let name = format!("transform {transform:?}, {stated:?} stated");
            cases.push(match stated == transform {
                true => asked(name, request, hasher, transform),
                false => Case::new(name, request, refused("mismatch", "expected")),
            });
        }
    }
    let stated = Request { hash: Expected::Seed(0), transform: Some((1, 0)), ..request(block(hasher, (0, 0), 0)) };
    cases.push(Case::new("the stated seed, another transform", stated, refused("mismatch", "expected")));
    let stated = Request { hash: Expected::Seed(1), transform: Some((0, 0)), ..request(block(hasher, (0, 0), 0)) };
    cases.push(Case::new("another seed, the stated transform", stated, refused("mismatch", "expected")));
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    contexts(&mut cases);
    hashers(&mut cases);
    transforms(&mut cases);
    cases
}
