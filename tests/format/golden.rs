//! Golden blocks, both ways: built bytes equal the stored ones, and the stored bytes give the right answers.
//!
//! `tests/golden/v1` is append-only. `FILTERBLOCK_BLESS=1 cargo test --test format golden` writes the files that are
//! listed here and missing there; it never rewrites an existing file.

use crate::trailers::compact_of;
use crate::*;

/// Number of keys to query that are in no frame.
const NUM_ABSENT: usize = 3_000;

pub fn dir() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", "v1"].iter().collect()
}

/// The number of salts, as a power of two, of a policy that names none.
pub fn default_salt_bits() -> u32 {
    let policy = sized(FilterKind::Blocked, 10.0);
    policy.salt_bits().expect("a kind with salts")
}

/// Key sets: name and keys.
fn key_sets() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let words = |count: usize| {
        let word = |i: usize| format!("com.example.{:05}/{}", i * 7919 % 100_003, "path".repeat(i % 3)).into_bytes();
        (0..count).map(word).collect::<Vec<_>>()
    };
    vec![
        ("none", vec![]),
        ("one", vec![b"a".to_vec()]),
        ("two", vec![vec![], vec![0x80, 0xff, 0x00]]),
        ("equal", vec![b"same".to_vec(); 5]),
        ("twenty", words(20)),
        ("long", (1..=3u8).map(|i| (0..65_536u32).map(|j| (j as u8).wrapping_mul(i) ^ i).collect()).collect()),
        ("thousand", words(1_000)),
        ("prefixes", words(1_000).iter().map(|word| word[..17].to_vec()).collect()),
        ("paths", words(1_000).iter().map(|word| word[..18].to_vec()).collect()),
        ("cells", words(500).iter().flat_map(|row| [&b"title"[..], b""].map(|column| cell(row, column))).collect()),
        ("many", words(9_000)),
        // Of two bytes, so that their file is short.
        ("pairs", pairs().take(20_000).collect()),
        ("crowd", pairs().filter(|pair| third(pair) == 1).take(9_000).collect()),
        ("middle", words(400).into_iter().filter(|word| third(word) == 1).collect()),
    ]
}

/// All keys of two bytes.
fn pairs() -> impl Iterator<Item = Vec<u8>> {
    (0..1 << 16).map(|i: u32| vec![(i * 40_503) as u8, ((i * 40_503) >> 8) as u8])
}

/// The third of the range of hashes in which the key's hash lies.
fn third(key: &[u8]) -> u64 {
    crate::oracle::range(KeyHasher::new(0).hash(key).get(), 3)
}

fn cell(row: &[u8], column: &[u8]) -> Vec<u8> {
    let mut entry = Vec::new();
    KeyTransform::row_column_entry(row, column, &mut entry);
    entry
}

/// The only secret key used in these files.
const HASH_KEY: [u8; 16] = *b"16 secret bytes.";

/// How a case's bytes are produced.
#[derive(Clone, Copy)]
enum Source {
    /// By the builder.
    Policy,
    /// By the union of the block of the first half of the keys and that of the others.
    Union,
    /// By leaving out all but this many columns of the builder's.
    Thinned(u32),
    /// By leaving columns out of the oracle's.
    ThinnedShape(u32, Shape),
    /// By the oracle, because no policy leads to these parameters.
    Shape(Shape),
}

#[derive(Clone)]
pub struct Case {
    source: Source,
    pub name: String,
    keys: &'static str,
    salt_bits: u32,
    policy: FilterPolicy,
    context: u64,
    compact: bool,
    /// Whether an earlier writer made it, whose choices were others: it is read, but not built.
    pub is_earlier: bool,
}

pub fn cases() -> Vec<Case> {
    let mut cases = all_cases();
    // Fuse filters from before writers set hashes aside.
    for i in (0..cases.len()).rev() {
        let case = &cases[i];
        if case.name.starts_with("fuse")
            && case.name != "fuse-crowd-32bits"
            && !["none", "one", "two", "equal", "long", "paths"].contains(&case.keys)
        {
            let denser = Case { name: format!("{}-aside", case.name), ..case.clone() };
            cases[i].is_earlier = true;
            cases.insert(i + 1, denser);
        }
    }
    cases
}

fn all_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &kind in FilterKind::ALL {
        let mut add = |name: &str, keys, policy: FilterPolicy, context, compact| {
            let salt_bits = default_salt_bits();
            let (source, name) = (Source::Policy, format!("{kind}-{name}"));
            cases.push(Case { source, name, keys, salt_bits, policy, context, compact, is_earlier: false });
        };
        let bits = |b| sized(kind, b);
        for keys in ["none", "one", "two", "equal", "twenty", "long", "thousand", "many"] {
            add(&format!("{keys}-10bits"), keys, bits(10.0), 0, false);
        }
        add("thousand-4.5bits", "thousand", bits(4.5), 0, false);
        add("thousand-24bits-seed", "thousand", bits(24.0).with_seed(0xfeed_f00d_dead_beef), 0, false);
        add("twenty-60bits-row", "twenty", bits(60.0).with_transform(KeyTransform::Row), 0, false);
        let rate = rated(kind, 0.001).with_seed(1);
        add("cells-rate-context", "cells", rate.with_transform(KeyTransform::RowColumn), 0x0123_4567_89ab_cdef, false);
        let capped = capped(kind, 1_500);
        add("prefixes-1500bytes", "prefixes", capped.with_transform(KeyTransform::FixedPrefix { len: 17 }), 1, false);
        let paths = KeyTransform::DelimitedPrefix { delimiter: b'/', levels: 2 };
        add("paths-10bits", "paths", bits(10.0).with_transform(paths), 0, false);
        for keys in ["none", "twenty", "thousand"] {
            add(&format!("{keys}-10bits-compact"), keys, bits(10.0).with_seed(7), 0, true);
        }
        let keyed = bits(10.0).with_hasher(KeyHasher::keyed(HASH_KEY));
        add("thousand-10bits-keyed", "thousand", keyed.clone(), 2, false);
        add("twenty-10bits-keyed-compact", "twenty", keyed, 0, true);
    }
    for salt_bits in [0, 2, 6] {
        let policy = sized(FilterKind::Blocked, 12.0);
        let policy = policy.with_salt_bits(salt_bits).expect("legal");
        let name = format!("blocked-thousand-salts{salt_bits}");
        let source = Source::Policy;
        cases.push(Case {
            source,
            name,
            keys: "thousand",
            salt_bits,
            policy,
            context: 0,
            compact: false,
            is_earlier: false,
        });
    }
    cases.extend(rarer_cases());
    cases
}

/// A third of the buckets is full, the others are empty.
const GAPS: Source = Source::Shape(Shape::Golomb { remainder_bits: 8, entries_per_bucket: 64, bucket_range: 12_812 });
/// Three layers, as two thirds of the first are empty.
const THREE_LAYERS: Source = Source::Shape(Shape::Ribbon { columns: 8, wide_share: 1_992_864_826, millislots: 950 });
const THREE_LAYERS_SMALL: Source =
    Source::Shape(Shape::Ribbon { columns: 7, wide_share: 0xb851_eb86, millislots: 965 });
/// A seed above 0, as two thirds of the segments are empty.
const CROWD: Source = Source::Shape(Shape::Fuse { fingerprint_bits: 32, log2_segment_len: 8, num_segments: 40 });

/// Parameters that the cases above do not reach.
fn rarer_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |source, name: &str, keys, policy: FilterPolicy, compact| {
        let name = format!("{}-{name}", policy.kind_name());
        let context = if keys == "none" { 0x5eed_0000_0000_0005 } else { 0 };
        let salt_bits = match source {
            Source::Shape(Shape::Blocked { salt_bits, .. }) => salt_bits.into(),
            _ => default_salt_bits(),
        };
        cases.push(Case { source, name, keys, salt_bits, policy, context, compact, is_earlier: false });
    };
    let custom = KeyTransform::Custom(CustomTransform::new(143, 7).expect("legal"));
    for &kind in FilterKind::ALL {
        let policy = sized(kind, 10.0).with_transform(custom);
        add(Source::Policy, "twenty-10bits-custom", "twenty", policy.clone(), false);
        let both = policy.clone().with_transform(KeyTransform::WholeKeyAndPrefix { len: 300 });
        add(Source::Policy, "twenty-10bits-key-and-prefix", "twenty", both, false);
        add(Source::Policy, "none-10bits-seed-custom", "none", policy.clone().with_seed(9), false);
        add(Source::Policy, "none-10bits-keyed", "none", policy.with_hasher(KeyHasher::keyed(HASH_KEY)), false);
    }
    let [bloom, blocked, golomb, ribbon, fuse] =
        [FilterKind::Bloom, FilterKind::Blocked, FilterKind::Golomb, FilterKind::Ribbon, FilterKind::Fuse]
            .map(|kind| sized(kind, 10.0).with_seed(3));
    let capped = capped(FilterKind::Bloom, 96);
    add(Source::Union, "twenty-union", "twenty", capped, false);
    add(Source::Policy, "middle-10bits-remapped", "middle", golomb.clone().with_seed(0), false);
    add(Source::Policy, "crowd-10bits-remapped-compact", "crowd", golomb.clone().with_seed(0), true);
    add(Source::Policy, "many-10bits-compact", "many", golomb.clone(), true);
    let shape = |num_probes, num_bits| Source::Shape(Shape::Bloom { num_probes, num_bits });
    add(shape(5, 203), "twenty-203bits", "twenty", bloom.clone(), false);
    add(shape(64, 1), "one-1bit", "one", bloom, false);
    let shape = |num_probes, salt_bits, num_lines| Source::Shape(Shape::Blocked { num_probes, salt_bits, num_lines });
    for (num_probes, salt_bits, num_lines) in [(16, 1, 3), (1, 4, 25), (11, 5, 1), (8, 1, 20), (9, 4, 20), (7, 5, 20)] {
        let keys = if num_lines == 20 { "thousand" } else { "twenty" };
        let name = format!("{keys}-{num_probes}probes-salts{salt_bits}");
        add(shape(num_probes, salt_bits, num_lines), &name, keys, blocked.clone(), false);
    }
    let shape = |remainder_bits, entries_per_bucket, bucket_range| {
        Source::Shape(Shape::Golomb { remainder_bits, entries_per_bucket, bucket_range })
    };
    add(GAPS, "middle-10bits-gaps", "middle", golomb.clone().with_seed(0), false);
    add(shape(0, 64, 40), "twenty-r0", "twenty", golomb.clone(), false);
    add(shape(3, 7, 71), "twenty-buckets-of-7", "twenty", golomb.clone(), false);
    add(shape(5, 1, 50), "thousand-buckets-of-1", "thousand", golomb.clone(), false);
    add(shape(48, 255, 1 << 57), "twenty-r48", "twenty", golomb.clone(), false);
    add(shape(0, 5, 1), "twenty-range-of-1", "twenty", golomb, false);
    add(Source::Policy, "many-10bits-compact", "many", ribbon.clone(), true);
    // Rates between two powers of two and at one.
    let rate = |rate: f64, slots: f64| {
        let policy = rated(FilterKind::Ribbon, rate);
        policy.with_slots_per_key(slots).expect("legal")
    };
    add(Source::Policy, "pairs-rate", "pairs", rate(0.003, 0.95), false);
    add(Source::Policy, "crowd-rate-remapped", "crowd", rate(0.003, 0.95), false);
    add(Source::Policy, "crowd-rate-remapped-compact", "crowd", rate(0.005, 0.965), true);
    add(Source::Policy, "pairs-32columns", "pairs", rate(0.5f64.powi(32), 1.075), false);
    add(Source::Policy, "thousand-rate-compact", "thousand", rate(0.7 / 256.0, 0.965), true);
    let shape = |columns, wide_share, millislots| Source::Shape(Shape::Ribbon { columns, wide_share, millislots });
    add(THREE_LAYERS, "crowd-rate-3layers", "crowd", rate(0.003, 0.95), false);
    add(THREE_LAYERS_SMALL, "crowd-rate-3layers-compact", "crowd", rate(0.005, 0.965), true);
    add(shape(1, 0, 1_200), "twenty-1column", "twenty", ribbon.clone(), false);
    add(shape(1, 1, 950), "thousand-share-of-1", "thousand", ribbon.clone(), false);
    add(shape(31, u32::MAX, 950), "thousand-31columns-wide", "thousand", ribbon.clone(), false);
    add(shape(32, 0, 995), "one-32columns", "one", ribbon, false);
    let thinned = Source::Thinned;
    add(thinned(8), "thousand-16columns-thinned", "thousand", rate(0.5f64.powi(16), 0.995), false);
    let Source::Shape(three_layers) = THREE_LAYERS else { unreachable!("a shape") };
    let of_shape = Source::ThinnedShape(8, three_layers);
    add(of_shape, "crowd-rate-3layers-thinned", "crowd", rate(0.003, 0.95), false);
    add(thinned(8), "crowd-rate-remapped-thinned", "crowd", rate(0.003, 0.95), false);
    add(thinned(3), "crowd-rate-remapped-thinned-compact", "crowd", rate(0.005, 0.965), true);
    add(thinned(31), "one-32columns-thinned", "one", rate(0.5f64.powi(32), 1.2), false);
    add(thinned(3), "thousand-rate-thinned-compact", "thousand", rate(0.7 / 256.0, 0.965), true);
    add(Source::Policy, "many-10bits-compact", "many", fuse.clone(), true);
    let rate = |bits| rated(FilterKind::Fuse, 0.5f64.powi(bits));
    add(Source::Policy, "pairs-8bits", "pairs", rate(8), false);
    add(Source::Policy, "crowd-8bits-remapped", "crowd", rate(8), false);
    add(Source::Policy, "middle-8bits-remapped-compact", "middle", rate(8).with_seed(0), true);
    add(Source::Policy, "thousand-13bits-compact", "thousand", rate(13), true);
    let shape = |fingerprint_bits, log2_segment_len, num_segments| {
        Source::Shape(Shape::Fuse { fingerprint_bits, log2_segment_len, num_segments })
    };
    add(CROWD, "crowd-32bits", "crowd", rate(32), false);
    // Few slots, so that several seeds fail; segments of one slot; a long segment.
    add(shape(5, 2, 4), "twenty-seeds", "twenty", fuse.clone(), false);
    add(shape(11, 0, 3), "two-segments-of-1", "two", fuse.clone(), false);
    add(shape(1, 10, 1), "one-1bit", "one", fuse, false);
    cases
}

impl Case {
    /// The entries as stored in the file.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        read_keys(self.keys)
    }

    pub fn build(&self, keys: &[Vec<u8>]) -> Vec<u8> {
        let builder = |keys: &[Vec<u8>]| {
            let mut builder = FilterBlockBuilder::new(&self.policy);
            builder.set_context(self.context).allow_empty();
            keys.iter().for_each(|key| builder.add_entry(key));
            builder
        };
        match self.source {
            Source::Policy if self.compact => frame_of(&mut builder(keys)),
            Source::Policy => builder(keys).finish().expect("a block"),
            Source::Thinned(columns) if self.compact => {
                let frame = frame_of(&mut builder(keys));
                let frame = CompactFrameReader::open(&frame, &self.policy).expect("a sound frame");
                frame.thin(columns).expect("fewer columns")
            }
            Source::Thinned(columns) => {
                let block = builder(keys).finish().expect("a block");
                OpenOptions::new().open(&block).expect("a sound block").thin(columns, 0).expect("fewer columns")
            }
            Source::Union => {
                let (first, second) = keys.split_at(keys.len() / 2);
                let blocks = [first, second].map(|keys| builder(keys).finish().expect("a block"));
                let [a, b] = blocks.each_ref().map(|block| OpenOptions::new().open(block).expect("a sound block"));
                a.union(&b, self.context).expect("equal shapes")
            }
            Source::ThinnedShape(columns, shape) => {
                let block = Self { source: Source::Shape(shape), ..self.clone() }.build(keys);
                OpenOptions::new().open(&block).expect("a sound block").thin(columns, 0).expect("fewer columns")
            }
            Source::Shape(shape) => {
                let (hasher, transform) = (self.policy.hasher(), self.policy.transform().to_wire());
                let (features, context) = (0, self.context);
                let transform = (transform.id, transform.param);
                let header = Header { hasher: hasher.clone(), transform, features, context };
                let block = shape.block(&header, &keys.iter().map(|key| hasher.hash(key).get()).collect());
                if self.compact { compact_of(&block) } else { block }
            }
        }
    }

    pub fn describe(&self, file: &str) -> Value {
        let TransformId { id: transform, param: transform_param } = self.policy.transform().to_wire();
        let hasher = self.policy.hasher();
        json!({
            "file": file,
            "frame": if self.compact { "compact" } else { "block" },
            "kind": self.policy.kind_name(),
            "entries": format!("{}.entries", self.keys),
            "hash_id": hasher.hash_id(),
            "hash_key": (hasher.hash_id() == 2).then(|| hex(&HASH_KEY)),
            "seed": format!("{:#018x}", hasher.seed()),
            "context": format!("{:#018x}", self.context),
            "transform_id": transform,
            "transform_param": transform_param,
            "size": match self.source {
                Source::Policy | Source::Union => format!("{:?}", self.policy.size()),
                Source::Thinned(columns) => format!("{:?}, thinned to {columns} columns", self.policy.size()),
                Source::ThinnedShape(columns, shape) => format!("{shape:?}, thinned to {columns} columns"),
                Source::Shape(shape) => format!("{shape:?}"),
            },
            "salt_bits": self.salt_bits,
        })
    }
}

/// Queries a frame for its `keys`, and compares the answers for absent keys with the oracle's. Returns the number of
/// answers.
pub fn check(name: &str, reader: &impl Reading, oracle: &Oracle, keys: &[Vec<u8>]) -> usize {
    let hasher = reader.entry_hasher().hasher();
    for hash in keys.iter().map(|key| hasher.hash(key)) {
        assert!(reader.may_contain_hash(hash), "{name}: false negative");
        assert!(oracle.may_contain(hash.get()), "{name}: the oracle's false negative");
    }
    for i in 0..NUM_ABSENT {
        let hash = hasher.hash(format!("org.absent.{i}").as_bytes());
        assert_eq!(reader.may_contain_hash(hash), oracle.may_contain(hash.get()), "{name}");
    }
    keys.len() + NUM_ABSENT
}

fn read_keys(name: &str) -> Vec<Vec<u8>> {
    keys_in(&dir(), &format!("{name}.entries"))
}

/// The entries of a file in `dir`.
pub fn keys_in(dir: &Path, file: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(dir.join(file)).expect("a file of entries");
    text.lines().map(unhex).collect()
}

/// Writes the frames that are missing in `dir`, their entries, and their index.
pub fn write(dir: &Path) {
    std::fs::create_dir_all(dir).expect("a directory");
    for (name, keys) in key_sets() {
        let path = dir.join(format!("{name}.entries"));
        if !path.exists() {
            let lines: String = keys.iter().map(|key| hex(key) + "\n").collect();
            std::fs::write(path, lines).expect("a written file");
        }
    }
    let mut index = Vec::new();
    for case in cases() {
        let file = format!("{}.bin", case.name);
        if !dir.join(&file).exists() {
            if case.is_earlier {
                continue;
            }
            let keys = keys_in(dir, &format!("{}.entries", case.keys));
            std::fs::write(dir.join(&file), case.build(&keys)).expect("a written file");
        }
        index.push(case.describe(&file));
    }
    let text = serde_json::to_string_pretty(&index).expect("JSON") + "\n";
    std::fs::write(dir.join("index.json"), text).expect("a written file");
}

#[test]
fn built_bytes_equal_stored_bytes() {
    if std::env::var_os("FILTERBLOCK_BLESS").is_some() {
        write(&dir());
    }
    assert!(cases().len() >= 150);
    for (name, keys) in key_sets() {
        assert!(read_keys(name) == keys, "{name}.entries is not what this test generates");
    }
    let index: Value =
        serde_json::from_str(&std::fs::read_to_string(dir().join("index.json")).expect("the index")).expect("JSON");
    for (case, listed) in cases().iter().zip(index.as_array().expect("a list")) {
        let file = format!("{}.bin", case.name);
        assert_eq!(case.describe(&file), *listed);
        let stored = std::fs::read(dir().join(&file)).expect("a golden file");
        assert!(
            case.is_earlier || case.build(&read_keys(case.keys)) == stored,
            "{file} differs from what is built now"
        );
    }
    assert_eq!(cases().len(), index.as_array().map_or(0, Vec::len));
}
