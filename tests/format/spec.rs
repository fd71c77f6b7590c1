//! The document's vectors against the oracle and the library.

use crate::assembled::{Header, Shape};
use crate::material::{builder_of, frame_of, hex, numbers, sized};
use crate::oracle::{Golomb, Oracle, bit, bloom_bits, int, mix, remap, set_seed, word_positions};
use crate::specification::{self, vectors};
use filterblock::partition::INDEX_MAGIC;
use filterblock::{FORMAT_VERSION, FilterKind, KeyHash, KeyHasher, MAGIC, OpenOptions};
use std::collections::BTreeSet;

/// Compares the document's vectors called `name` with `computed`; on failure, prints the lines that it should have.
pub fn compare(name: &str, computed: &[String]) {
    assert_eq!(vectors(name), computed, "the vectors '{name}' should be:\n{}\n", computed.join("\n"));
}

/// The bytes of an annotated dump: the second word of each line. The first is an offset, which continues the line before.
fn dumped(name: &str) -> String {
    let text = specification::text();
    let lines = text.split_once(&format!("```dump {name}\n")).expect("a dump").1.lines();
    lines.take_while(|line| *line != "```").fold(String::new(), |bytes, line| {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some(&*(bytes.len() / 2).to_string()), "the offset of {line}");
        bytes + words.next().expect("bytes")
    })
}

#[test]
fn dumps_are_those_of_the_vectors() {
    let of = |name: &str, begins: &str| {
        let lines = vectors(name).into_iter().filter(|line| line.starts_with(begins));
        lines.map(|line| line.split(' ').next_back().expect("bytes").to_owned()).collect::<String>()
    };
    assert_eq!(dumped("block"), of("block", "block bloom a"));
    assert_eq!(dumped("index"), of("partitioned-example", "index"));
    let units = vectors("set-example").into_iter().filter(|line| line.starts_with("unit-"));
    let units: String = units.map(|line| line["unit-0".len()..].replace(' ', "")).collect();
    assert_eq!(dumped("set"), units + &of("set-example", "index") + &of("set-example", "footer"));
}

/// The specification's entry of n bytes.
pub fn entry(n: usize) -> Vec<u8> {
    (0..n).map(|i| ((157 + 151 * i) % 256) as u8).collect()
}

pub fn list<T: ToString>(values: &[T]) -> String {
    match values {
        [] => "-".into(),
        _ => values.iter().map(T::to_string).collect::<Vec<_>>().join(","),
    }
}

#[test]
fn hash_vectors() {
    let mut lines = Vec::new();
    for n in [0, 1, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 240, 241, 1024, 1025, 2048, 2049, 4096] {
        for seed in [0, 0x9e37_79b9_7f4a_7c15] {
            let hash = KeyHasher::new(seed).hash(&entry(n)).get();
            lines.push(format!("{n} {seed:#018x} {hash:#018x}"));
        }
    }
    compare("hash", &lines);
}

#[test]
fn siphash_vectors() {
    let line = |key: [u8; 16]| {
        let hasher = KeyHasher::keyed(key);
        let lens = [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 255, 256, 1024];
        let hashes: Vec<String> = lens.iter().map(|&n| format!("{:#018x}", hasher.hash(&entry(n)).get())).collect();
        assert_eq!(hasher.hash(b"filterblock key id").get(), hasher.seed());
        format!("{} {} {:#018x}", hex(&key), hashes.join(" "), hasher.seed())
    };
    let counting = std::array::from_fn(|i| i as u8);
    compare("siphash", &[[0; 16], counting, [0xff; 16]].map(line));
}

#[test]
fn mix_vectors() {
    let line = |context: u64| format!("{context:#018x} {:#018x}", mix(context));
    compare("mix", &[0, 1, 0x0123_4567_89ab_cdef, u64::MAX].map(line));
}

#[test]
fn remap_vectors() {
    let abc: BTreeSet<u64> = [b"a", b"b", b"c"].iter().map(|entry| KeyHasher::new(0).hash(*entry).get()).collect();
    let line = |(hash, seed): (u64, u64)| format!("{hash:#018x} {seed:#018x} {:#018x}", remap(hash, seed));
    let of_abc = (0x9e56_51b0_ef95_3636, set_seed(&abc));
    compare("remap", &[(0, 1), of_abc, (u64::MAX, u64::MAX), (0x0123_4567_89ab_cdef, 1 << 63)].map(line));
}

#[test]
fn set_seed_vectors() {
    let line = |entries: &[u8]| {
        let hashes = entries.iter().map(|&entry| KeyHasher::new(0).hash(&[entry]).get()).collect();
        let names: Vec<String> = entries.iter().map(|entry| format!("{entry:02x}")).collect();
        format!("{} {:#018x}", names.join(","), set_seed(&hashes))
    };
    let forty: Vec<u8> = (0..40).collect();
    compare("set-seed", &[line(b"a"), line(b"abc"), line(&forty)]);
}

#[test]
fn bloom_vectors() {
    let mut lines = Vec::new();
    for (hash, num_bits, num_probes) in
        numbers(5).zip([1, 16, 1_000, 10_000_019, 1 << 40]).zip([1, 7, 6, 8, 3]).map(|((h, m), k)| (h, m, k))
    {
        lines.push(format!("{hash:#018x} {num_bits} {num_probes} {}", list(&bloom_bits(hash, num_bits, num_probes))));
    }
    compare("bloom", &lines);
}

#[test]
fn blocked_vectors() {
    let mut lines = Vec::new();
    for ((hash, num_probes), salt) in numbers(6).zip([1, 5, 7, 8, 8, 11, 16]).zip([0, 3, 15, 0, 9, 1, 6]) {
        let words: Vec<String> = (0..8).map(|w| list(&word_positions(hash, num_probes, 4, w, salt))).collect();
        lines.push(format!("{hash:#018x} {num_probes} {salt} {}", words.join(" ")));
    }
    compare("blocked", &lines);
}

#[test]
fn golomb_vectors() {
    let mut lines = Vec::new();
    for ((hash, num_buckets), bucket_range) in
        numbers(7).zip([1, 2, 15_625, 1 << 40]).zip([100, 6_400, 65_537, 1 << 20])
    {
        let (bucket, offset) = Golomb { remainder_bits: 0, directory_bits: 0, num_buckets, bucket_range }.locate(hash);
        lines.push(format!("{hash:#018x} {num_buckets} {bucket_range} {bucket} {offset}"));
    }
    compare("golomb", &lines);
}

/// The entry "a", or no entry, as a block and as a compact frame.
pub fn small(kind: FilterKind, entries: &[&[u8]]) -> [Vec<u8>; 2] {
    let bits = if kind == FilterKind::Bloom { 16.3 } else { 10.0 };
    let mut builder = builder_of(&sized(kind, bits), entries);
    let frame = frame_of(&mut builder.clone());
    [builder.allow_empty().finish().expect("a block"), frame]
}

#[test]
fn block_vectors() {
    let mut lines = Vec::new();
    let empty = small(FilterKind::Bloom, &[]);
    let mut show = |kind: &str, entries: &str, [block, frame]: &[Vec<u8>; 2]| {
        lines.push(format!("block {kind} {entries} {}", hex(block)));
        lines.push(format!("compact {kind} {entries} {}", hex(frame)));
    };
    show("bloom", "none", &empty);
    for &kind in FilterKind::ALL {
        let frames = small(kind, &[b"a"]);
        assert!(OpenOptions::new().open(&frames[0]).expect("a block").may_contain(b"a"));
        show(kind.name(), "a", &frames);
    }
    compare("block", &lines);
}

#[test]
fn blocked_example() {
    let [block, _] = small(FilterKind::Blocked, &[b"a"]);
    let (salt_bits, line) = (usize::from(block[41]), &block[64..]);
    let word = |w: usize| {
        let bytes = &line[8 * w..8 * w + 8];
        let positions: Vec<usize> = (0..64 - salt_bits).filter(|&position| bit(bytes, position as u64) == 1).collect();
        format!("{w} {} {} {}", bytes[7] >> (8 - salt_bits), list(&positions), hex(bytes))
    };
    compare("blocked-example", &(0..8).map(word).collect::<Vec<_>>());
}

#[test]
fn golomb_example() {
    let [block, _] = small(FilterKind::Golomb, &[b"a"]);
    let (remainder_bits, bucket_range, payload) = (u64::from(block[40]), int(&block[44..52]), &block[64..]);
    let hash = KeyHasher::new(0).hash(b"a").get();
    let (_, value) = Golomb { remainder_bits, directory_bits: 0, num_buckets: 1, bucket_range }.locate(hash);
    let q = (0..).take_while(|&i| bit(payload, i) == 0).count() as u64;
    let bits = payload.len() as u64 * 8;
    let remainder: u64 = (0..remainder_bits).map(|i| bit(payload, bits - remainder_bits + i) << i).sum();
    assert_eq!(value, (q << remainder_bits) + remainder);
    let line = format!("{bucket_range} {remainder_bits} {value} {q} {remainder:#x} {}", hex(payload));
    compare("golomb-example", &[line]);
}

#[test]
fn constants_are_those_of_the_document() {
    let text = specification::text();
    for magic in [MAGIC, INDEX_MAGIC] {
        let magic = magic.map(|byte| format!("{byte:02x}")).join(" ");
        assert!(text.contains(&format!("| 0 | 8 | `magic` | `{magic}` |")));
    }
    assert!(text.contains(&format!("| 8 | 1 | `version` | {FORMAT_VERSION} |")));
}

#[test]
fn golomb_of_several_buckets() {
    let shape = Shape::Golomb { remainder_bits: 2, entries_per_bucket: 1, bucket_range: 50 };
    let hashes = [b"a", b"b", b"c"].map(|entry| KeyHasher::new(0).hash(entry).get());
    let block = shape.block(&Header::default(), &hashes.into());
    let (Oracle::Golomb { golomb, .. }, payload) = (Oracle::open(&block), &block[64..]) else { panic!("golomb") };
    let code_bits = golomb.start(payload, golomb.num_buckets);
    let mut lines = Vec::new();
    for bucket in 0..golomb.num_buckets {
        let (start, values) = (golomb.start(payload, bucket), golomb.offsets(payload, bucket).expect("readable"));
        let deviation = start as i64 - golomb.line_at(code_bits, bucket) as i64;
        lines.push(format!("{bucket} {start} {deviation} {}", list(&values)));
    }
    let slope = 256 * code_bits / golomb.num_buckets;
    lines.push(format!("{code_bits} {slope} {} {}", golomb.directory_bits, hex(payload)));
    let reader = OpenOptions::new().open(&block).expect("a block");
    assert!(hashes.iter().all(|&hash| reader.may_contain_hash(KeyHash::from_raw(hash))));
    compare("golomb-buckets", &lines);
}

#[test]
fn golomb_starts_under_anchors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1/golomb-many-10bits.bin");
    let block = std::fs::read(path).expect("a golden file");
    let (Oracle::Golomb { golomb, .. }, payload) = (Oracle::open(&block), &block[64..]) else { panic!("golomb") };
    let code_bits = golomb.start(payload, golomb.num_buckets);
    let last = golomb.num_buckets - 1;
    let line = |bucket: u64| {
        let (start, anchor) = (golomb.start(payload, bucket), golomb.start(payload, bucket / 64 * 64));
        let deviation = (start - anchor) as i64 - golomb.line_at(code_bits, bucket) as i64;
        format!("{} {bucket} {anchor} {deviation} {start}", golomb.num_buckets)
    };
    compare("golomb-starts", &[0, 1, 63, 64, 65, 127, 128, 129, last].map(line));
}
