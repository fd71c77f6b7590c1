//! Blocks of each kind with payloads that no writer makes, of bits at random: about half of all hashes pass, so a
//! reader that computes any part of a probe otherwise is wrong for half of them.

use crate::assembled::{Header, raw_block};
use crate::case::{Case, KINDS, Reply, Request, letters};
use crate::material::numbers;
use crate::oracle::ribbon::Row;
use crate::oracle::{Oracle, bit, bloom_bits, int, range, word_positions};

/// A source of numbers for one payload.
pub struct Random(Box<dyn Iterator<Item = u64>>);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Box::new(numbers(seed)))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next().expect("without end")
    }

    pub fn below(&mut self, n: u64) -> u64 {
        range(self.next(), n)
    }

    /// Bytes whose bits are 1 with a probability of `share`.
    pub fn bits(&mut self, len: usize, share: f64) -> Vec<u8> {
        let limit = (share * 2f64.powi(64)) as u64;
        (0..len).map(|_| (0..8).map(|i| u8::from(self.next() < limit) << i).sum()).collect()
    }
}

/// At most `most` of the numbers of `seed` that pass, and as many that do not.
pub fn balanced(oracle: &Oracle, seed: u64, most: usize) -> Vec<u64> {
    let (mut chosen, mut counts) = (Vec::new(), [0, 0]);
    for hash in numbers(seed).take(4_000) {
        let count = &mut counts[usize::from(oracle.may_contain(hash))];
        if *count < most {
            *count += 1;
            chosen.push(hash);
        }
    }
    chosen
}

/// The ends of what a hash can be, and of its halves.
pub const EXTREMES: [u64; 6] = [0, 1, 1 << 63, u64::MAX, u32::MAX as u64, 1 << 32];

pub fn hash_queries(hashes: &[u64]) -> Vec<String> {
    hashes.iter().map(|hash| format!("hash:{hash:#x}")).collect()
}

/// The case of a block that opens, queried for hashes.
pub fn block_case(name: String, block: Vec<u8>, hashes: &[u64]) -> Case {
    let oracle = Oracle::open(&block);
    let reply = Reply::Ok {
        kind: Some(KINDS[usize::from(block[9])]),
        num_entries: Some(int(&block[24..32])),
        partitions: None,
        answers: letters(hashes.iter().map(|&hash| oracle.may_contain(hash))),
    };
    let request = Request { frame: "block", bytes: block, queries: hash_queries(hashes), ..Request::default() };
    Case::new(name, request, reply)
}

pub fn params(fields: [u8; 4], number: u64) -> [u8; 12] {
    let mut params = [0; 12];
    params[..4].copy_from_slice(&fields);
    (0..8).for_each(|i| params[4 + i] = (number >> (8 * i)) as u8);
    params
}

fn raw(kind: u8, num_entries: u64, params: [u8; 12], payload: &[u8]) -> Vec<u8> {
    raw_block(kind, &Header::default(), num_entries, params, payload)
}

/// For each of the `count` probes a hash that `misses` with this one alone.
fn missing_one(seed: u64, count: usize, misses: impl Fn(u64) -> Vec<usize>) -> Vec<u64> {
    let mut found = vec![None; count];
    for hash in numbers(seed).take(20_000) {
        if let [probe] = misses(hash)[..] {
            found[probe].get_or_insert(hash);
        }
    }
    found.into_iter().flatten().collect()
}

fn bloom(cases: &mut Vec<Case>) {
    for (num_probes, num_bits) in [
        (1, 1),
        (1, 3),
        (2, 8),
        (3, 64),
        (6, 65),
        (7, 1000),
        (8, 255),
        (16, 777),
        (17, 800),
        (25, 1201),
        (33, 1600),
        (64, 3001),
    ] {
        let mut random = Random::new(100 + num_bits);
        let share = 0.5f64.powf(1.0 / f64::from(num_probes));
        let mut bits = random.bits(num_bits.div_ceil(8) as usize, share);
        if num_bits % 8 > 0 {
            *bits.last_mut().expect("a byte") &= (1 << (num_bits % 8)) - 1;
        }
        let block = raw(1, 5, params([num_probes, 0, 0, 0], num_bits), &bits);
        let misses = |hash| {
            let probed = bloom_bits(hash, num_bits, num_probes.into());
            (0..probed.len()).filter(|&i| bit(&bits, probed[i]) == 0).collect()
        };
        let mut hashes = missing_one(200 + num_bits, num_probes.into(), misses);
        assert!(num_bits < 64 || hashes.len() == usize::from(num_probes), "{num_probes} probes");
        hashes.extend(balanced(&Oracle::open(&block), 300 + num_bits, 8));
        hashes.extend(EXTREMES);
        cases.push(block_case(format!("bloom: {num_probes} probes of {num_bits} bits"), block, &hashes));
    }
}

fn blocked(cases: &mut Vec<Case>) {
    for (num_probes, salt_bits, num_lines) in [
        (1, 0, 1),
        (2, 6, 2),
        (3, 3, 1),
        (5, 4, 3),
        (7, 1, 1),
        (8, 5, 2),
        (9, 4, 1),
        (11, 0, 2),
        (12, 2, 1),
        (15, 6, 1),
        (16, 6, 1),
        (16, 0, 1),
        (8, 3, 64),
    ] {
        let seed = u64::from(num_probes) * 100 + u64::from(salt_bits);
        let share = 0.5f64.powf(1.0 / f64::from(num_probes));
        let mut lines = Random::new(seed).bits(64 * num_lines, share);
        // No word of ones only: each probe can be the one that misses.
        lines.iter_mut().step_by(8).for_each(|byte| *byte &= !8);
        let block = raw(2, 7, params([num_probes, salt_bits, 0, 0], 0), &lines);
        let word_of = |hash: u64, w: usize| int(&lines[range(hash, num_lines as u64) as usize * 64 + 8 * w..][..8]);
        let positions_of = |hash: u64, w: usize| {
            let salt = if salt_bits == 0 { 0 } else { word_of(hash, w) >> (64 - salt_bits) };
            word_positions(hash, num_probes.into(), salt_bits.into(), w, salt)
        };
        // The number of a probe: its word, and 8 more for the second in it.
        let misses = |hash: u64| {
            let of_word = |w: usize| {
                let (word, positions) = (word_of(hash, w), positions_of(hash, w));
                (0..positions.len()).filter(move |&i| word >> positions[i] & 1 == 0).map(move |i| w + 8 * i)
            };
            (0..8).flat_map(of_word).collect()
        };
        let mut hashes = missing_one(seed + 1, 16, misses);
        assert!(hashes.len() >= usize::from(num_probes), "{num_probes} probes");
        // Both probes of a word are one bit, and the only one that misses.
        let misses_one_twice = |hash: &u64| {
            let is_one = |w: usize| positions_of(*hash, w)[..] == [positions_of(*hash, w)[0]; 2];
            matches!(misses(*hash)[..], [first, second] if second == first + 8 && is_one(first))
        };
        let twice = numbers(seed + 3).take(100_000).find(misses_one_twice);
        assert_eq!(twice.is_some(), num_probes > 8, "{num_probes} probes");
        hashes.extend(twice);
        hashes.extend(balanced(&Oracle::open(&block), seed + 2, 12));
        hashes.extend(EXTREMES);
        let name = format!("blocked: {num_probes} probes, salts of {salt_bits} bits, {num_lines} lines");
        cases.push(block_case(name, block, &hashes));
    }
}

/// Columns, share, last seed, thinned from, blocks of each layer.
type RibbonShape = (u8, u32, u8, u8, &'static [u32]);

const RIBBONS: [RibbonShape; 15] = [
    (1, 0, 0, 0, &[2]),
    (1, 0, 31, 0, &[5]),
    (1, 1, 1, 0, &[4]),
    (2, 1 << 31, 0, 0, &[6]),
    (1, u32::MAX, 0, 0, &[3]),
    (3, 0x5555_5555, 2, 0, &[7]),
    (1, 0, 0, 2, &[3]),
    (1, 0, 5, 32, &[3]),
    (2, 0, 0, 0, &[3, 2]),
    (1, 1 << 30, 7, 0, &[9, 4]),
    (1, 0, 1, 0, &[12, 5, 3]),
    (1, 0x8000_0001, 0, 0, &[5, 4, 3, 2]),
    (1, 0, 3, 0, &[2, 2, 2, 2, 2, 2, 2, 2]),
    (9, 0, 0, 0, &[3]),
    (1, 0, 0, 0, &[150, 3]),
];

/// A payload of random words, and thresholds that bump about half.
pub fn ribbon_payload(shape: RibbonShape, random: &mut Random) -> Vec<u8> {
    let (columns, wide_share, _, _, num_blocks) = shape;
    let mut thresholds = Vec::new();
    let mut words = 0;
    for (layer, &num) in num_blocks.iter().enumerate() {
        let num = u64::from(num);
        let wide = ((num - 1) * u64::from(wide_share)).div_ceil(1 << 32);
        words += num * u64::from(columns) + if wide > 0 { wide + 1 } else { 0 };
        if layer + 1 < num_blocks.len() {
            let buckets = (num - 1).div_ceil(2);
            let mut fields = random.bits(buckets.div_ceil(4) as usize, 0.6);
            if buckets % 4 > 0 {
                *fields.last_mut().expect("a byte") &= (1 << (2 * (buckets % 4))) - 1;
            }
            thresholds.extend(fields);
        }
    }
    let mut payload = random.bits(8 * words as usize, 0.5);
    payload.extend(thresholds);
    num_blocks.iter().for_each(|num| payload.extend((0..4).map(|i| (num >> (8 * i)) as u8)));
    payload
}

fn ribbon(cases: &mut Vec<Case>) {
    for (i, shape) in RIBBONS.into_iter().enumerate() {
        let (columns, wide_share, last_seed, thinned_from, num_blocks) = shape;
        let payload = ribbon_payload(shape, &mut Random::new(400 + i as u64));
        let fields = [columns, num_blocks.len() as u8, last_seed, thinned_from];
        let block = raw(4, 9, params(fields, wide_share.into()), &payload);
        let oracle = Oracle::open(&block);
        let mut hashes = balanced(&oracle, 500 + i as u64, 24);
        if let (Oracle::Ribbon { ribbon, .. }, 2..) = (&oracle, num_blocks.len()) {
            // On both sides of the limits beyond which equations are bumped.
            let num_starts = ribbon.layers()[0].num_starts();
            let distance = |hash: u64| 127 - Row::new(hash, num_starts).start % 128;
            let at_limits =
                numbers(550 + i as u64).filter(|&hash| [0, 95, 96, 115, 116, 127].contains(&distance(hash)));
            hashes.extend(at_limits.take(60));
        }
        hashes.extend(EXTREMES);
        let name = format!("ribbon: {columns} columns, share {wide_share:#x}, seed {last_seed}, blocks {num_blocks:?}");
        cases.push(block_case(name, block, &hashes));
    }
}

/// Bits, logarithm of the segments' length, seed, segments.
pub const FUSES: [(u8, u8, u8, u32); 11] = [
    (1, 0, 0, 1),
    (1, 3, 0, 2),
    (1, 7, 1, 1),
    (2, 5, 63, 3),
    (3, 4, 2, 5),
    (5, 2, 9, 4),
    (7, 1, 31, 3),
    (8, 0, 32, 9),
    (1, 9, 5, 2),
    (9, 2, 4, 2),
    (1, 8, 17, 7),
];

/// A payload of random slots.
pub fn fuse_payload(bits: u8, log2_segment_len: u8, num_segments: u32, random: &mut Random) -> Vec<u8> {
    let used = ((u64::from(num_segments) + 3) << log2_segment_len) * u64::from(bits);
    let len = (used - u64::from(bits)) / 8 + 8;
    let mut payload = random.bits(len as usize, 0.5);
    (used..8 * len).for_each(|i| payload[(i / 8) as usize] &= !(1 << (i % 8)));
    payload
}

fn fuse(cases: &mut Vec<Case>) {
    for (i, (bits, log2, seed, num_segments)) in FUSES.into_iter().enumerate() {
        let payload = fuse_payload(bits, log2, num_segments, &mut Random::new(600 + i as u64));
        let block = raw(5, 9, params([bits, log2, seed, 0], num_segments.into()), &payload);
        let mut hashes = balanced(&Oracle::open(&block), 700 + i as u64, 24);
        hashes.extend(EXTREMES);
        let name = format!("fuse: {bits} bits, segments of 2^{log2}, seed {seed}, {num_segments} segments");
        cases.push(block_case(name, block, &hashes));
    }
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    bloom(&mut cases);
    blocked(&mut cases);
    ribbon(&mut cases);
    fuse(&mut cases);
    cases
}
