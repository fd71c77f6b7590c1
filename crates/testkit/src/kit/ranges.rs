//! Range filters of keys of several sorts, a fifth of them damaged, and ranges and prefixes that both readers answer.

use super::Expected;
use crate::assembled::{put, repair};
use crate::harness::{self, Stored};
use crate::material::hex;
use crate::random::Random;
use filterblock::OpenOptions;
use filterblock::partition::{PartitionLimit, PartitionedRangeFilter};
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use serde_json::json;
use std::collections::BTreeSet;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds as _;

const WORDS: [&str; 12] =
    ["a", "an", "and", "index", "indexes", "of", "or", "order", "ordered", "table", "tables", "the"];

/// A key of the set's sort.
type Sort = fn(&mut Random) -> Vec<u8>;

const SORTS: [Sort; 11] = [
    |random| random.next().to_be_bytes().to_vec(),
    // Dense numbers.
    |random| random.below(5_000).to_be_bytes().to_vec(),
    // A series and a time.
    |random| [&(random.below(20) as u32).to_be_bytes()[..], &(random.below(1_000) * 60).to_be_bytes()].concat(),
    |random| {
        let (host, page) = (random.below(30), random.below(1_000));
        format!("https://www.{}{host}.example/{}/{page}", random.pick(&WORDS), random.pick(&WORDS)).into_bytes()
    },
    |random| (0..1 + random.below(3)).map(|_| random.pick(&WORDS)).collect::<String>().into_bytes(),
    |random| short(random, b"ab"),
    |random| short(random, &[0, 1]),
    |random| [&b"shared"[..], &short(random, &[0, 7, b'x', 255])].concat(),
    // Equal bits of different length.
    |random| [&short(random, b"ac")[..], &vec![0; random.below(4) as usize]].concat(),
    // Keys that agree as far as filters look, or nearly.
    |random| {
        let len = 120 + random.below(12) as usize;
        [&vec![b'q' + random.below(2) as u8; len][..], &short(random, b"\0pqr")].concat()
    },
    |random| {
        let len = random.below(6);
        random.bytes(len)
    },
];

fn short(random: &mut Random, alphabet: &[u8]) -> Vec<u8> {
    (0..random.below(11)).map(|_| random.pick(alphabet)).collect()
}

/// A bound near a key: itself, or what precedes or follows it, or lacks a part of it.
fn near(random: &mut Random, mut key: Vec<u8>) -> Vec<u8> {
    match random.below(10) {
        0 => key.push(random.pick(&[0, 1, b'a', 255])),
        1 => key.truncate(random.below(key.len() as u64 + 1) as usize),
        2 => {
            key.truncate(random.below(key.len() as u64 + 1) as usize);
            key.push(random.next() as u8);
        }
        3..6 if !key.is_empty() => {
            let at = random.below(key.len() as u64) as usize;
            let at = if random.one_in(2) { key.len() - 1 } else { at };
            key[at] = key[at].wrapping_add(random.pick(&[1, 255, 16, 128]));
        }
        _ => {}
    }
    key
}

enum Asked {
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Prefix(Vec<u8>),
}

impl Asked {
    fn random(random: &mut Random, sort: Sort, sorted: &[Vec<u8>]) -> Self {
        let at = random.below(sorted.len() as u64) as usize;
        let stored = |at: usize| sorted.get(at).cloned().unwrap_or_default();
        let either = |random: &mut Random| if random.one_in(2) { stored(at) } else { sort(random) };
        let bound = |random: &mut Random, key| match random.below(12) {
            0 => Unbounded,
            1..6 => Excluded(key),
            _ => Included(key),
        };
        match random.below(8) {
            // Beside each other in the table, or nearly.
            0 => Self::Range(Excluded(stored(at)), Excluded(stored(at + 1))),
            1 | 2 => {
                let (lower, upper) = (near(random, stored(at)), near(random, stored(at + 1)));
                Self::Range(bound(random, lower), bound(random, upper))
            }
            // In either order.
            3 => {
                let (lower, upper) = (either(random), sort(random));
                Self::Range(bound(random, lower), bound(random, upper))
            }
            // One key, or none.
            4 => {
                let key = either(random);
                Self::Range(bound(random, key.clone()), bound(random, key))
            }
            5 => {
                let key = either(random);
                let (lower, upper) = (near(random, key.clone()), near(random, key));
                Self::Range(bound(random, lower), bound(random, upper))
            }
            _ => {
                let mut prefix = either(random);
                prefix.truncate(random.below(prefix.len() as u64 + 1) as usize);
                Self::Prefix(if random.one_in(2) { near(random, prefix) } else { prefix })
            }
        }
    }

    fn is_of(&self, key: &Vec<u8>) -> bool {
        match self {
            Self::Range(lower, upper) => (lower.as_ref(), upper.as_ref()).contains(key),
            Self::Prefix(prefix) => key.starts_with(prefix),
        }
    }

    fn text(&self) -> String {
        let bound = |bound: &Bound<Vec<u8>>| match bound {
            Unbounded => "u".to_owned(),
            Included(key) => format!("i{}", hex(key)),
            Excluded(key) => format!("e{}", hex(key)),
        };
        match self {
            Self::Range(lower, upper) => format!("range:{}:{}", bound(lower), bound(upper)),
            Self::Prefix(prefix) => format!("prefix:{}", hex(prefix)),
        }
    }
}

fn keys(random: &mut Random, sort: Sort) -> Vec<Vec<u8>> {
    let count = match random.below(300) {
        0..4 => 0,
        4..30 => 1,
        30..70 => 2,
        70..240 => 3 + random.below(130),
        240..298 => 133 + random.below(800),
        _ => 4_000 + random.below(6_000), // more than one level above the leaves
    };
    let mut keys: BTreeSet<Vec<u8>> = (0..count).map(|_| sort(random)).collect();
    if random.one_in(20) {
        keys.insert(Vec::new());
    }
    keys.into_iter().collect()
}

fn damage(random: &mut Random, block: &mut Vec<u8>, context: &mut u64) {
    let flip = |random: &mut Random, bytes: &mut [u8]| {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    };
    if random.one_in(3) && block.len() > 64 {
        flip(random, &mut block[8..52]);
    }
    match random.below(10) {
        0 => return flip(random, block),
        1 => return block.truncate(random.below(block.len() as u64) as usize),
        2 => flip(random, &mut block[8..52]),
        3 => block[8 + random.below(8) as usize] = random.pick(&[0, 1, 2, 5, 6, 7, 255]),
        4 => flip(random, &mut block[40..52]),
        5 => block[40 + random.below(12) as usize] = random.pick(&[0, 1, 2, 4, 31, 64, 255]),
        6 => return *context = !*context,
        7 => block[9] = 1 + random.below(5) as u8,
        8 if block.len() > 64 => flip(random, &mut block[64..]),
        _ => {
            let len = random.below(block.len() as u64 - 63);
            block.truncate(64 + len as usize);
            put(&mut block[32..40], len);
        }
    }
    repair(block, *context);
}

/// A partitioned filter of a set, at times with a damaged partition, and what the library says of it.
pub fn expected_of_partitions(number: u64) -> Expected {
    let random = &mut Random::new(Random::new(number).next());
    let sort = random.pick(&SORTS);
    let keys = keys(random, sort);
    let policy = RangePolicy::with_bits_per_key(2.0 + random.below(38) as f64).expect("2 to 40");
    let limit = PartitionLimit::Entries(1 + random.below(40) * random.below(20));
    let context = if random.one_in(2) { random.next() } else { 0 };
    let Stored { mut file, index } = harness::ranges(context, policy, limit, &keys);
    let filter = PartitionedRangeFilter::open(&index[..], OpenOptions::new().with_context(context));
    let partitions: Vec<_> = filter.expect("just written").partitions().collect();
    if !partitions.is_empty() && random.one_in(3) {
        let at = random.pick(&partitions);
        let stored = &mut file[at.offset as usize..][..at.len as usize];
        let mut block = stored.to_vec();
        damage(random, &mut block, &mut context.clone());
        block.resize(stored.len(), 0);
        stored.copy_from_slice(&block);
        // Not one with right checksums.
        stored[stored.len() - 1] ^= 1;
    }
    let stored = if keys.is_empty() { vec![Vec::new()] } else { keys.clone() };
    let queries: Vec<_> = (0..60).map(|_| Asked::random(random, sort, &stored)).collect();
    let expected =
        Expected::of_library(json!({"frame": "range-index", "bytes": hex(&index), "context": format!("{context:#x}"),
            "partitions": hex(&file), "queries": queries.iter().map(Asked::text).collect::<Vec<_>>()}));
    assert_holds(&keys, &queries, &expected);
    expected
}

/// No key is denied.
fn assert_holds(keys: &[Vec<u8>], queries: &[Asked], expected: &Expected) {
    let answers = expected.reply["answers"].as_str().expect("a filter that opens");
    assert_eq!(answers.len(), queries.len());
    for (query, answer) in queries.iter().zip(answers.chars()) {
        let is_right = answer == 'm' || !keys.iter().any(|key| query.is_of(key));
        assert!(is_right, "{}: {}", expected.request, query.text());
    }
}

/// A filter of a set, or a damaged one, and what the library says of it.
pub fn expected(number: u64) -> Expected {
    let random = &mut Random::new(Random::new(number).next());
    let sort = random.pick(&SORTS);
    let keys = keys(random, sort);
    let mut context = if random.one_in(2) { random.next() } else { 0 };
    let bits = 2.0 + random.below(38_001) as f64 / 1000.0;
    let policy = if random.one_in(2) {
        let (rate, len) = (random.pick(&[0.5, 0.1, 0.01, 0.001]), 1 + random.next() % (2 << random.below(20)));
        RangePolicy::with_false_positive_rate(rate, len).expect("a quotient below 2^31")
    } else {
        RangePolicy::with_bits_per_key(bits).expect("2 to 40")
    };
    let mut builder = RangeFilterBuilder::new(policy);
    builder.set_context(context).allow_empty();
    keys.iter().for_each(|key| builder.add_key(key));
    let mut block = builder.finish().expect("a filter");
    let is_damaged = random.one_in(5);
    if is_damaged {
        damage(random, &mut block, &mut context);
    }
    let stored = if keys.is_empty() { vec![Vec::new()] } else { keys.clone() };
    let queries: Vec<_> = (0..60).map(|_| Asked::random(random, sort, &stored)).collect();
    let mut request = json!({"frame": "range", "bytes": hex(&block), "context": format!("{context:#x}")});
    // Of changed groups a reader may say anything.
    if !is_damaged {
        request["queries"] = queries.iter().map(Asked::text).collect();
        request["entries"] = keys.iter().map(|key| hex(key)).collect();
    }
    let mut expected = Expected::of_library(request);
    if let Ok(filter) = OpenOptions::new().with_context(context).open_ranges(&block[..]) {
        expected.reply["num_leaves"] = filter.num_leaves().into();
    }
    if !is_damaged {
        assert_holds(&keys, &queries, &expected);
    }
    expected
}
