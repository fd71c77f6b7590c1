//! Sets of keys, and loads of ranges in which none of them lies.

use crate::bits::{common as common_bits, order};
use crate::common::Keys;
use std::ops::Range as Numbers;

struct Random(Keys);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Keys::new(seed))
    }

    fn number(&mut self, numbers: Numbers<u64>) -> u64 {
        let product = u128::from(self.0.number()) * u128::from(numbers.end - numbers.start);
        numbers.start + (product >> 64) as u64
    }

    /// Returns a number from 0 to 1.
    fn share(&mut self) -> f64 {
        self.0.number() as f64 / 2f64.powi(64)
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.number(0..list.len() as u64) as usize]
    }
}

/// A range of keys, both ends included.
#[derive(Clone)]
pub struct Range {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
}

/// Ranges of one kind.
pub struct Load {
    pub name: String,
    pub ranges: Vec<Range>,
}

pub struct Set {
    pub name: &'static str,
    /// In order, and distinct as strings of bits.
    pub keys: Vec<Vec<u8>>,
    pub loads: Vec<Load>,
}

const NUM_RANGES: usize = 2_000;

/// The keys that begin with `prefix`.
fn with_prefix(prefix: &[u8]) -> Range {
    let mut upper = prefix.to_vec();
    upper.resize(prefix.len() + 24, 0xff);
    Range { lower: prefix.to_vec(), upper }
}

fn sorted(mut keys: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    keys.sort_unstable_by(|a, b| order(a, b));
    keys.dedup_by(|a, b| common_bits(a, b) == usize::MAX);
    keys
}

/// Draws ranges until enough have no key; most do.
fn load(name: impl Into<String>, keys: &[Vec<u8>], mut draw: impl FnMut() -> Range) -> Load {
    let is_empty = |range: &Range| {
        let behind = keys.partition_point(|key| order(key, &range.lower).is_lt());
        order(&range.lower, &range.upper).is_le() && keys.get(behind).is_none_or(|key| order(key, &range.upper).is_gt())
    };
    let drawn = (0..NUM_RANGES * 200).map(|_| draw()).filter(is_empty).take(NUM_RANGES);
    Load { name: name.into(), ranges: drawn.collect() }
}

/// Random integers of 64 bits.
pub fn integers(num_keys: usize) -> Set {
    let mut random = Random::new(1);
    let keys = sorted((0..num_keys).map(|_| random.0.number().to_be_bytes().to_vec()).collect());
    let range = |lower: u64, len: u64| Range {
        lower: lower.to_be_bytes().to_vec(),
        upper: lower.saturating_add(len - 1).to_be_bytes().to_vec(),
    };
    let mut loads = Vec::new();
    for log in [5, 10, 20] {
        loads.push(load(format!("2^{log} anywhere"), &keys, || range(random.0.number(), 1 << log)));
        loads.push(load(format!("2^{log} beside a key"), &keys, || {
            let key = u64::from_be_bytes(random.of(&keys)[..].try_into().expect("8 bytes"));
            range(key.wrapping_add(1 + random.number(0..1 << log)), 1 << log)
        }));
    }
    Set { name: "integers", keys, loads }
}

/// Rows `series, time`: 1 000 series with points about ten seconds apart, in milliseconds, and gaps of up to a day.
pub fn series(num_keys: usize) -> Set {
    const DAY: u64 = 86_400_000;
    let mut random = Random::new(2);
    let start = 1_760_000_000_000;
    let ids: Vec<u64> = (0..1000).map(|_| random.number(0..1 << 40)).collect();
    let row = |id: u64, time: u64| [id.to_be_bytes(), time.to_be_bytes()].concat();
    let mut keys = Vec::new();
    for &id in &ids {
        let mut time = start + random.number(0..DAY * 3);
        for _ in 0..num_keys / ids.len() {
            keys.push(row(id, time));
            time += 9_000 + random.number(0..2_000);
            if random.share() < 0.003 {
                time += random.number(600_000..DAY);
            }
        }
    }
    let keys = sorted(keys);
    let mut loads = Vec::new();
    for log in [5, 12, 16, 20] {
        loads.push(load(format!("2^{log} ms"), &keys, || {
            let key = random.of(&keys);
            let half = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("8 bytes"));
            let (id, time) = (half(&key[..8]), half(&key[8..]));
            let far = if log > 12 { random.number(0..DAY * 2) } else { 0 };
            let lower = time + random.number(1..9_000) + far;
            Range { lower: row(id, lower), upper: row(id, lower + (1 << log) - 1) }
        }));
    }
    loads.push(load("an absent series", &keys, || with_prefix(&random.number(0..1 << 40).to_be_bytes())));
    Set { name: "series, time", keys, loads }
}

/// Returns the lines of a file of words.
pub fn list(path: &str) -> Option<Vec<Vec<u8>>> {
    let text = std::fs::read(path).ok()?;
    Some(text.split(|&byte| byte == b'\n').filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Four fifths of the words; queried are the others, and their first letters.
pub fn words(mut all: Vec<Vec<u8>>, num_keys: usize) -> Set {
    let mut random = Random::new(3);
    (1..all.len()).rev().for_each(|last| all.swap(last, random.number(0..last as u64 + 1) as usize));
    let rest = all.split_off(all.len() * 4 / 5);
    all.truncate(num_keys);
    let keys = sorted(all);
    let mut loads = Vec::new();
    for len in [4, 6, 8] {
        let long: Vec<_> = rest.iter().filter(|word| word.len() >= len).collect();
        let draw = || with_prefix(&random.of(&long)[..len]);
        loads.push(load(format!("first {len} letters"), &keys, draw));
    }
    loads.push(load("a whole word", &keys, || with_prefix(&random.of(&rest)[..])));
    Set { name: "words", keys, loads }
}

/// Addresses made of words: sites of unequal size, sections, titles.
pub fn addresses(all: &[Vec<u8>], num_keys: usize) -> Set {
    let mut random = Random::new(4);
    let all: Vec<_> = all.iter().filter(|word| word.len() > 2 && word.iter().all(u8::is_ascii_lowercase)).collect();
    let word = |random: &mut Random| &random.of(&all)[..];
    let site = |random: &mut Random| {
        let mut site = [b"https://www.", word(random)].concat();
        if random.share() < 0.4 {
            site.push(b'-');
            site.extend_from_slice(word(random));
        }
        site
    };
    let sections: Vec<Vec<u8>> = (0..60).map(|_| word(&mut random).to_vec()).collect();
    // Each site has a few of the sections.
    let sites: Vec<(Vec<u8>, Vec<Vec<u8>>)> = (0..20_000)
        .map(|_| {
            let ending = random.of(&[".com/", ".org/", ".net/", ".de/"]).as_bytes();
            let own = (0..random.number(1..12)).map(|_| random.of(&sections).clone()).collect();
            ([&site(&mut random)[..], ending].concat(), own)
        })
        .collect();
    // The first sites have many times as many addresses as the last ones.
    let pick = |random: &mut Random| &sites[(20_000f64.powf(random.share()) - 1.0) as usize];
    let section = |random: &mut Random| {
        let (site, own) = pick(random);
        [&site[..], &random.of(own)[..], b"/"].concat()
    };
    let keys = (0..num_keys).map(|_| {
        let mut key = section(&mut random);
        for i in 0..random.number(1..5) {
            key.extend_from_slice(if i > 0 { b"-" } else { b"" });
            key.extend_from_slice(word(&mut random));
        }
        if random.share() < 0.3 {
            key.extend(format!("?page={}", random.number(1..40)).bytes());
        }
        key
    });
    let keys = sorted(keys.collect());
    let loads = vec![
        load("an absent site", &keys, || with_prefix(&[&site(&mut random)[..], b".com/"].concat())),
        load("an absent section", &keys, || {
            with_prefix(&[&pick(&mut random).0[..], &random.of(&sections)[..], b"/"].concat())
        }),
        load("a title's first 3 letters", &keys, || {
            with_prefix(&[&section(&mut random)[..], &word(&mut random)[..3]].concat())
        }),
        load("a title's first word", &keys, || {
            with_prefix(&[&section(&mut random)[..], word(&mut random), b"-"].concat())
        }),
    ];
    Set { name: "addresses", keys, loads }
}
