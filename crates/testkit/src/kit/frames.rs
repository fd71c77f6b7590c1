//! Random frames, a third of them damaged, and the queries that both readers answer.

use crate::assembled::{Header, Shape, raw_block, repair};
use crate::material::rate_limits;
use crate::oracle::{int, mix};
use crate::random::Random;
use crate::rules::unmix;
use crate::trailers;
use filterblock::{
    CompactFrameReader, CustomTransform, EntryHasher, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy,
    KeyHasher, KeyTransform, OpenOptions,
};

/// The hash of the entries.
#[derive(Clone, Copy, PartialEq)]
pub enum Hash {
    Seed(u64),
    Key([u8; 16]),
}

impl Hash {
    pub fn hasher(self) -> KeyHasher {
        match self {
            Self::Seed(seed) => KeyHasher::new(seed),
            Self::Key(key) => KeyHasher::keyed(key),
        }
    }

    fn random(random: &mut Random) -> Self {
        match random.below(10) {
            0..=3 => Self::Seed(0),
            4..=7 => Self::Seed(random.next()),
            _ => Self::Key([random.below(20) as u8; 16]),
        }
    }
}

/// Bytes, what the caller expects of them, and its queries.
pub struct Frame {
    pub compact: bool,
    pub bytes: Vec<u8>,
    pub context: u64,
    pub hash: Option<Hash>,
    pub transform: Option<KeyTransform>,
    pub entries: Vec<Vec<u8>>,
    /// A writer builds these bytes from `entries`.
    pub sound: bool,
    pub asked: Vec<Vec<u8>>,
    pub hashes: Vec<u64>,
}

/// The most policies that are tried for a set: a cap may be too small.
const MAX_TRIES: usize = 1_000;

const MAGIC: &[u8] = b"\xf1FBLK\r\n\x1a";

pub fn frame(seed: u64) -> Frame {
    let random = &mut Random::new(seed);
    let entries = entries(random);
    let (hash, transform) = (Hash::random(random), transform(random));
    let context = match random.below(4) {
        0 => random.next(),
        1 => random.below(100),
        _ => 0,
    };
    let (bytes, compact, sound) = sound_bytes(random, &entries, hash, transform, context);
    let states = |random: &mut Random| compact || random.one_in(2);
    let mut frame = Frame {
        compact,
        bytes,
        context,
        hash: (matches!(hash, Hash::Key(_)) || states(random)).then_some(hash),
        transform: states(random).then_some(transform),
        asked: Vec::new(),
        hashes: Vec::new(),
        entries,
        sound,
    };
    if random.one_in(3) {
        frame.sound = false;
        match compact {
            true => damage_compact(random, &mut frame),
            false => damage_block(random, &mut frame),
        }
    }
    ask(random, &mut frame, hash.hasher());
    frame
}

fn entries(random: &mut Random) -> Vec<Vec<u8>> {
    let count = match random.below(1000) {
        0..50 => 0,
        50..130 => 1,
        130..200 => 2,
        200..920 => 3 + random.below(58),
        920..990 => 61 + random.below(240),
        _ => 300 + random.below(1_701),
    };
    let len = |random: &mut Random| match random.below(40) {
        0 => 0,
        1 if count <= 60 => 200 + random.below(100),
        2..10 => random.below(40),
        _ => 8,
    };
    let mut entries: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let again = random.one_in(30).then(|| entries.first().cloned()).flatten();
        entries.push(again.unwrap_or_else(|| {
            let len = len(random);
            random.bytes(len)
        }));
    }
    entries
}

fn transform(random: &mut Random) -> KeyTransform {
    let param = random.next() as u16;
    match random.below(8) {
        0 => KeyTransform::Row,
        1 => KeyTransform::RowColumn,
        2 => KeyTransform::FixedPrefix { len: param % 9 },
        3 => KeyTransform::FixedPrefix { len: param },
        4 => KeyTransform::Custom(CustomTransform::new(128 | param as u8, param).expect("128 to 255")),
        5 => KeyTransform::DelimitedPrefix { delimiter: param as u8, levels: (param >> 8) as u8 % 4 },
        _ => KeyTransform::WholeKey,
    }
}

/// A policy of any kind and size.
fn policy(random: &mut Random) -> FilterPolicy {
    loop {
        let kind = random.pick(FilterKind::ALL);
        let policy = match random.below(4) {
            0 => {
                let (least, most) = rate_limits(kind);
                let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
                FilterPolicy::with_false_positive_rate(kind, least * (most / least).powf(share))
            }
            1 => FilterPolicy::with_max_bytes(kind, 64 + random.below(400)),
            _ => FilterPolicy::with_bits_per_key(kind, 2.0 + random.below(62_001) as f64 / 1000.0),
        };
        if let Ok(policy) = policy.and_then(|policy| policy.with_salt_bits(random.below(7) as u32)) {
            return policy;
        }
    }
}

/// Parameters that fit this number of hashes; a policy would choose few of them.
fn shape(random: &mut Random, num_hashes: u64) -> Shape {
    match random.below(5) {
        0 => Shape::Bloom {
            num_probes: 1 + random.below(64) as u8,
            num_bits: (1 + random.below(12 * num_hashes + 8)).next_multiple_of(random.pick(&[1, 8])),
        },
        1 => Shape::Blocked {
            num_probes: 1 + random.below(16) as u8,
            salt_bits: random.below(7) as u8,
            num_lines: 1 + random.below(2 + num_hashes / 12),
        },
        2 => {
            let columns = 1 + random.below(32) as u8;
            let wide_share = random.next() as u32 & random.pick(&[0, 0, 1, u32::MAX]);
            let wide_share = if columns == 32 { 0 } else { wide_share };
            Shape::Ribbon { columns, wide_share, millislots: 950 + random.below(251) as u16 }
        }
        3 => {
            // At least two slots per hash. In short segments two hashes may share all four unless slots are as many as
            // the square of the number of hashes: only few hashes have short segments.
            let log2_segment_len = if num_hashes > 60 { 4 + random.below(4) } else { random.below(8) } as u8;
            let least = (2 * num_hashes + 30) >> log2_segment_len;
            let for_short = if log2_segment_len < 4 { num_hashes * num_hashes } else { 0 };
            let num_segments = (1 + least * (1 + random.below(3)) + for_short) as u32;
            Shape::Fuse { fingerprint_bits: 1 + random.below(32) as u8, log2_segment_len, num_segments }
        }
        _ => {
            let remainder_bits = random.pick(&[0u8, 1, 2, 3, 5, 8, 12, 20, 30, 48]);
            let entries_per_bucket = random.pick(&[1u8, 2, 3, 7, 16, 64, 255]);
            let most = u64::MAX / num_hashes.div_ceil(entries_per_bucket.into()).max(1);
            let range =
                (u64::from(entries_per_bucket) << remainder_bits) * random.pick(&[1, 2, 5]) / random.pick(&[1, 3]);
            Shape::Golomb { remainder_bits, entries_per_bucket, bucket_range: range.clamp(1, most) }
        }
    }
}

/// A frame as writers build it, whether it is compact, and whether it can be rebuilt from its entries, which it cannot
/// if feature bits are set that no writer sets.
fn sound_bytes(
    random: &mut Random,
    entries: &[Vec<u8>],
    hash: Hash,
    transform: KeyTransform,
    context: u64,
) -> (Vec<u8>, bool, bool) {
    let (hasher, compact) = (hash.hasher(), random.one_in(4));
    if random.below(10) < 4 {
        let hashes = entries.iter().map(|entry| hasher.hash(entry).get()).collect::<std::collections::BTreeSet<_>>();
        let shape = shape(random, hashes.len() as u64);
        let features = if compact || !random.one_in(10) { 0 } else { random.below(256) as u16 & 0xfe };
        let header =
            Header { hasher, transform: (transform.to_wire().id, transform.to_wire().param), features, context };
        let is_remapped = shape.kind() >= 3 && !hashes.is_empty() && random.one_in(4);
        let mut block =
            if is_remapped { shape.remapped_block(&header, &hashes) } else { shape.block_of_writer(&header, &hashes) };
        if !compact && shape.kind() == 1 && !hashes.is_empty() && random.one_in(5) {
            block[12] |= 1;
            let estimate = 1 + random.below(2 * hashes.len() as u64);
            block[24..26].copy_from_slice(&[estimate as u8, (estimate >> 8) as u8]);
            repair(&mut block, context);
        }
        return match compact.then(|| compact_of(&block)).flatten() {
            Some(frame) => (frame, true, true),
            None => (block, false, features == 0),
        };
    }
    for _ in 0..MAX_TRIES {
        let policy = policy(random).with_hasher(hasher.clone()).with_transform(transform);
        let builder = |entries: &[Vec<u8>]| {
            let mut builder = FilterBlockBuilder::new(&policy);
            builder.set_context(context).allow_empty();
            // By their hashes: prefixes of other lengths than the transform's would be refused.
            entries.iter().for_each(|entry| builder.add_hash(hasher.hash(entry)));
            builder
        };
        if policy.kind() == Some(FilterKind::Bloom) && !compact && random.one_in(10) {
            // Rebuilt from all entries, it has the parameters of the two.
            let (first, second) = entries.split_at(entries.len() / 2);
            if let (Ok(a), Ok(b)) = (builder(first).finish(), builder(second).finish()) {
                let options = OpenOptions::new().with_context(context).expect_hasher(&hasher);
                let open = |block| -> FilterBlockReader<'_> { options.open(block).expect("a block just written") };
                if let Ok(union) = open(&a).union(&open(&b), context) {
                    return (union, false, true);
                }
            }
        }
        let mut frame = Vec::new();
        let built = match compact {
            true => builder(entries).finish_compact_into(&mut frame),
            false => builder(entries).finish_into(&mut frame),
        };
        // A cap may be too small.
        if built.is_ok() {
            return (thinned(random, frame, compact, context, hasher), compact, true);
        }
    }
    panic!("no policy suits {} entries", entries.len())
}

/// The frame itself, or one of those that have fewer of its columns: a third of those that can.
fn thinned(random: &mut Random, frame: Vec<u8>, compact: bool, context: u64, hasher: KeyHasher) -> Vec<u8> {
    if !random.one_in(3) {
        return frame;
    }
    let columns = 1 + random.below(31) as u32;
    let thinned = match compact {
        true => {
            let entries = EntryHasher::new(hasher, KeyTransform::WholeKey);
            CompactFrameReader::open(&frame, &entries).expect("just written").thin(columns)
        }
        false => {
            let options = OpenOptions::new().with_context(context).expect_hasher(&hasher);
            options.open(&frame).expect("just written").thin(columns, context)
        }
    };
    thinned.unwrap_or(frame)
}

/// The block's filter as a compact frame, where there is one.
fn compact_of(block: &[u8]) -> Option<Vec<u8>> {
    let is_of_bits = block[9] == 1 && int(&block[44..52]) % 8 != 0;
    (!is_of_bits).then(|| trailers::compact_of(block))
}

/// Values at the edges of ranges.
const EDGES: [u8; 20] = [0, 1, 2, 3, 4, 6, 7, 8, 16, 17, 48, 49, 57, 58, 63, 64, 65, 127, 128, 255];

fn flip_bits(random: &mut Random, bytes: &mut [u8]) {
    for _ in 0..1 + random.below(3) {
        if !bytes.is_empty() {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
    }
}

/// Random bytes over a part of `bytes`, dense or sparse.
fn noise(random: &mut Random, bytes: &mut [u8]) {
    let from = random.below(bytes.len() as u64 + 1) as usize;
    let (dense, all) = (random.one_in(2), random.one_in(2));
    for byte in &mut bytes[if all { 0 } else { from }..] {
        *byte = if dense { random.next() as u8 } else { (random.next() & random.next() & random.next()) as u8 };
    }
}

fn damage_block(random: &mut Random, frame: &mut Frame) {
    let Frame { bytes, context, .. } = frame;
    match random.below(16) {
        0 => flip_bits(random, bytes),
        1 => {
            flip_bits(random, &mut bytes[..64]);
            repair(bytes, *context);
        }
        2 => bytes.truncate(random.below(bytes.len() as u64) as usize),
        3 => bytes.extend(vec![random.pick(&[0, 1, 255]); 1 + random.below(9) as usize]),
        4..=7 => {
            for _ in 0..1 + random.below(2) {
                let at = random.pick(&[8, 9, 10, 11, 12, 13, 14, 15, 16, 23, 24, 25, 31, 32, 33, 39]);
                let at = if random.one_in(2) { at } else { 40 + random.below(12) as usize };
                bytes[at] = if random.one_in(4) { random.next() as u8 } else { random.pick(&EDGES) };
            }
            repair(bytes, *context);
        }
        8 => *context = random.pick(&[0, *context ^ 1, !*context]),
        // Of which the mix has the same low half: `crc` passes under it.
        9 => *context = unmix(mix(*context) ^ (random.next() << 32)),
        10 => frame.hash = random.one_in(3).then(|| Hash::random(random)),
        11 => frame.transform = Some(transform(random)),
        12 | 13 => {
            // Half of golomb's changes mostly hit the directory, and half of ribbon's leave it alone: they hit solution
            // and thresholds.
            let (is_half, directory_len) = (random.one_in(2), 4 * usize::from(bytes[41]));
            let end = match bytes[9] {
                3 if is_half => bytes.len().min(64 + 1 + random.below(16) as usize),
                4 if is_half => bytes.len().saturating_sub(directory_len).max(64),
                _ => bytes.len(),
            };
            noise(random, &mut bytes[64..end]);
            repair(bytes, *context);
        }
        14 => {
            let len = random.below(bytes.len() as u64) as usize;
            bytes.resize(64 + len, 0);
            bytes[32..40].fill(0);
            bytes[32..34].copy_from_slice(&[len as u8, (len >> 8) as u8]);
            repair(bytes, *context);
        }
        _ => match random.below(4) {
            0 => *bytes = MAGIC.iter().copied().chain(random.bytes(100)).collect(),
            1 => {
                flip_bits(random, bytes);
                *context = !*context;
            }
            _ => *bytes = wrapping(random, *context),
        },
    }
}

/// A golomb block with long runs of zeros under the widest remainders: its values exceed 64 bits.
fn wrapping(random: &mut Random, context: u64) -> Vec<u8> {
    let mut payload = vec![0; 6_000 + random.below(6_000) as usize];
    for _ in 0..random.below(12) {
        let at = random.below(payload.len() as u64) as usize;
        payload[at] = random.next() as u8;
    }
    let params = [48, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 1 + random.below(255) as u8];
    let header = Header { context, ..Header::default() };
    raw_block(3, &header, 1 + random.below(64), params, &payload)
}

fn damage_compact(random: &mut Random, frame: &mut Frame) {
    let Frame { bytes, .. } = frame;
    let tail = bytes.len() - bytes.len().min(14);
    match random.below(8) {
        0 => flip_bits(random, bytes),
        1 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
        2 => bytes.extend([0x10, 0x11, 0x12, 0x13, 0x14].iter().take(random.below(6) as usize)),
        3 => {
            bytes.insert(0, random.next() as u8);
        }
        4 | 5 => {
            for _ in 0..1 + random.below(2) {
                let at = tail + random.below((bytes.len() - tail) as u64) as usize;
                bytes[at] = if random.one_in(4) { random.next() as u8 } else { random.pick(&EDGES) };
            }
        }
        6 => {
            let end = if random.one_in(2) { tail.min(16) } else { tail };
            noise(random, &mut bytes[..end]);
        }
        _ => {
            let len = random.below(100);
            *bytes = random.bytes(len);
            bytes.push(random.pick(&[0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x20, 0xff, 0]));
        }
    }
}

/// Present and absent entries, and hashes: of entries, near those, random and extreme ones.
fn ask(random: &mut Random, frame: &mut Frame, hasher: KeyHasher) {
    for entry in frame.entries.iter().take(16) {
        frame.asked.push(entry.clone());
    }
    for _ in 0..6 {
        let len = random.below(12);
        frame.asked.push(random.bytes(len));
    }
    frame.hashes.extend([0, u64::MAX, 1 << 63]);
    for _ in 0..10 {
        let hash = match frame.entries.len() {
            0 => random.next(),
            len => hasher.hash(&frame.entries[random.below(len as u64) as usize]).get(),
        };
        let near = hash ^ random.next() >> (1 + random.below(63));
        frame.hashes.extend([random.next(), if random.one_in(4) { hash } else { near }]);
    }
}
