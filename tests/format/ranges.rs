//! Range filters, from outside: no range that has a key is denied, and all other answers are those that the document
//! demands.
//!
//! `FILTERBLOCK_BLESS=1 cargo test --test format ranges` writes the golden files that are missing.

use crate::golden::keys_in;
use crate::range_oracle::Ranges;
use crate::*;
use filterblock::BlockKind;
use std::ops::RangeBounds;
use testkit::harness::{self, Stored};
use testkit::random::Random;

pub type Key = Vec<u8>;

/// A string that is, or is near, a key.
fn near(random: &mut Random, keys: &[Key], at: usize) -> Key {
    let mut key = keys[at % keys.len()].clone();
    let last = key.len().saturating_sub(1);
    match random.index(10) {
        0 | 1 => {}
        2 => key.push(0),
        3 => key.truncate(random.index(key.len() + 1)),
        4 if !key.is_empty() => key[last] = key[last].wrapping_add(1),
        // Just below it.
        5 => match key.pop() {
            None | Some(0) => {}
            Some(last) => key.extend([&[last - 1][..], &[0xff; 9]].concat()),
        },
        6 if !key.is_empty() => {
            let at = random.index(key.len());
            key[at] = random.byte();
        }
        7 => key.extend(random.string(b"\0\x01a\xff", 3)),
        8 => key = random.string(b"\0\x01a\xff", at % 4),
        _ => key = mix(at as u64).to_be_bytes()[..at % 9].to_vec(),
    }
    key
}

/// A filter of keys, of which there may be none.
pub fn block(policy: RangePolicy, keys: impl IntoIterator<Item = impl AsRef<[u8]>>, context: u64) -> Vec<u8> {
    let mut builder = RangeFilterBuilder::new(policy);
    keys.into_iter().for_each(|key| builder.add_key(key.as_ref()));
    builder.set_context(context).allow_empty().finish().expect("a filter")
}

pub fn built(keys: &[Key], bits: f64) -> Vec<u8> {
    block(RangePolicy::with_bits_per_key(bits).expect("legal"), keys, 0)
}

pub fn opened(block: &[u8]) -> RangeFilter<&[u8]> {
    OpenOptions::new().open_ranges(block).expect("intact")
}

/// Sets of keys of one shape, by the number of the key and of all.
pub type Shape = (&'static str, fn(&mut Random, usize) -> Key);

pub const SHAPES: [Shape; 8] = [
    ("numbers", |random, _| mix(random.next()).to_be_bytes().to_vec()),
    ("series", |_, i| {
        [&(i as u32 / 50 * 7).to_be_bytes()[..], &((1 << 40) | (i as u64 * 15_000)).to_be_bytes()].concat()
    }),
    ("pages", |random, _| {
        let (site, page) = (random.index(40), random.index(1 << 20));
        format!("https://www.site{site}.example/{}/page-{page}.html", ["", "news", "a/b"][page % 3]).into_bytes()
    }),
    ("words", |random, i| {
        (0..=random.index(4) + i % 2).flat_map(|_| random.string(b"bcdfghlmnprst", 1 + i % 2)).chain(*b"ae").collect()
    }),
    ("prefixes", |random, i| {
        let letter = [0, b'a', 0xff][i % 3];
        let mut key = vec![letter; random.index(170)];
        key.extend(mix(i as u64 / 3).to_be_bytes().iter().take(i % 4));
        key
    }),
    ("runs", |random, _| {
        let runs = random.index(6);
        (0..runs).flat_map(|run| vec![[0, 0xff][run % 2]; random.index(5)]).collect()
    }),
    // Many agree in more bits than are kept, whatever the code.
    ("deep", |random, i| {
        let mut key = vec![b'a' + random.index(3) as u8];
        key.extend([b'x', b'y'].repeat(if i % 16 > 0 { 600 } else { 55 }));
        key.extend(random.string(b"xyz", 9));
        key
    }),
    ("long", |random, i| (0..300).map(|at| if at < i % 300 { b'-' } else { random.byte() }).collect()),
];

pub fn set(shape: Shape, count: usize) -> Vec<Key> {
    let mut random = Random::new(count as u64);
    let keys: BTreeSet<Key> = (0..count).map(|i| (shape.1)(&mut random, i)).collect();
    keys.into_iter().collect()
}

/// Whether one of the keys, which are sorted, is between the bounds.
pub fn has(keys: &[Key], lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    let first = keys.partition_point(|key| !(lower, Unbounded).contains(&key[..]));
    keys.get(first).is_some_and(|key| (Unbounded, upper).contains(&key[..]))
}

#[derive(Default)]
struct Counts {
    asked: u64,
    /// Of these, the ones without a key.
    empty: u64,
    passed: u64,
    compared: u64,
}

impl Counts {
    /// Asks for all ranges between two strings, and for both as prefixes. The answers must be the document's, if it is
    /// asked.
    fn ask(&mut self, filter: &RangeFilter<&[u8]>, document: Option<&Ranges>, keys: &[Key], [a, b]: [&[u8]; 2]) {
        let forms = |a| [Included(a), Excluded(a), Unbounded];
        for (lower, upper) in forms(a).into_iter().flat_map(|lower| forms(b).map(|upper| (lower, upper))) {
            let says = filter.may_contain_range(lower, upper);
            self.check(says, !are_ordered(lower, upper) || has(keys, lower, upper), &(lower, upper));
            if let Some(document) = document {
                assert_eq!(says, document.may_contain_range(lower, upper), "{lower:?} {upper:?} {filter:?}");
                self.compared += 1;
            }
        }
        for prefix in [a, b] {
            let first = keys.partition_point(|key| &key[..] < prefix);
            let says = filter.may_contain_prefix(prefix);
            self.check(says, keys.get(first).is_some_and(|key| key.starts_with(prefix)), &prefix);
            assert!(document.is_none_or(|document| document.may_contain_prefix(prefix) == says), "{prefix:?}");
            assert_eq!(filter.may_contain(prefix), filter.may_contain_range(Included(prefix), Included(prefix)));
        }
    }

    fn check(&mut self, says: bool, is_there: bool, range: &dyn std::fmt::Debug) {
        assert!(says || !is_there, "{range:?} is denied");
        self.asked += 1;
        self.empty += u64::from(!is_there);
        self.passed += u64::from(!is_there && says);
    }

    fn print(&self, what: &str) {
        let Self { asked, empty, passed, compared } = self;
        println!("counted: {what}: {asked} ranges, {empty} without a key, of which {passed} pass; {compared} compared");
    }
}

#[test]
fn no_range_with_a_key_is_denied() {
    let (mut counts, mut random) = (Counts::default(), Random::new(1));
    let (mut codes, mut gaps, mut joined, mut deepest, mut sizes) = (0, 0, 0, 0, BTreeSet::new());
    for shape in SHAPES {
        for count in [1, 2, 64, 65, 700, 4_096, 4_097] {
            let keys = set(shape, count);
            for bits in [2.0, 5.0, 14.0, 40.0, 200.0] {
                let block = built(&keys, bits);
                let (filter, document) = (opened(&block), Ranges::open(&block));
                assert_eq!(filter.num_entries(), keys.len() as u64);
                let num_leaves = document.leaves.len() + document.values.len();
                assert_eq!(filter.num_leaves(), num_leaves as u64);
                codes += u32::from(block[43] > 0);
                gaps += u32::from(block[41]);
                joined += u32::from(num_leaves < keys.len());
                deepest = document.leaves.iter().map(Vec::len).fold(deepest, usize::max);
                sizes.insert(int(&block[48..52]).next_power_of_two());
                for i in 0..(40_000 / num_leaves).clamp(8, 60) {
                    let at = random.index(keys.len());
                    let other = if i % 2 == 0 { at + i % 3 } else { random.index(keys.len()) };
                    let (a, b) = (near(&mut random, &keys, at), near(&mut random, &keys, other));
                    counts.ask(&filter, Some(&document), &keys, [&a, &b]);
                }
                // Prefixes of all lengths.
                let key = &keys[random.index(keys.len())];
                (0..=key.len()).for_each(|len| assert!(filter.may_contain_prefix(&key[..len]), "{len} of {key:?}"));
                assert!(keys.iter().all(|key| filter.may_contain(key)));
            }
        }
    }
    assert!(codes.min(gaps).min(joined) > 20 && deepest > 1020, "{codes} {gaps} {joined} {deepest}");
    assert!(sizes.len() > 8, "{sizes:?}");
    counts.print("shapes of keys");
}

/// Thousands of groups.
#[test]
fn no_range_of_a_large_set_is_denied() {
    let (mut counts, mut random) = (Counts::default(), Random::new(2));
    for (shape, bits) in [(SHAPES[0], 12.0), (SHAPES[1], 6.0), (SHAPES[2], 16.0)] {
        let keys = set(shape, 300_000);
        let block = built(&keys, bits);
        let filter = opened(&block);
        for _ in 0..4_000 {
            let at = random.index(keys.len());
            let (a, b) = (near(&mut random, &keys, at), near(&mut random, &keys, at + 1));
            counts.ask(&filter, None, &keys, [&a, &b]);
        }
        assert!(keys.iter().all(|key| filter.may_contain(key)));
    }
    counts.print("large sets");
}

/// All sets of short strings of three bytes, and all ranges between two of them.
#[test]
fn no_range_of_any_small_set_is_denied() {
    let letters = [0, 1, 0xff];
    let mut strings: Vec<Key> = vec![vec![]];
    strings.extend(letters.map(|letter| vec![letter]));
    strings.extend(letters.iter().flat_map(|&a| letters.map(|b| vec![a, b])));
    strings.sort();
    let mut counts = Counts::default();
    for subset in 1..1usize << strings.len() {
        let in_set = |&at: &usize| subset >> at & 1 == 1;
        let keys: Vec<Key> = (0..strings.len()).filter(in_set).map(|at| strings[at].clone()).collect();
        let block = built(&keys, [2.0, 10.0, 30.0][subset % 3]);
        let (filter, document) = (opened(&block), Ranges::open(&block));
        for (at, a) in strings.iter().enumerate() {
            for (other, b) in strings.iter().enumerate() {
                let is_compared = (subset + 5 * at + other) % 13 == 0;
                counts.ask(&filter, is_compared.then_some(&document), &keys, [a, b]);
            }
        }
    }
    counts.print("small sets");
}

/// Of random numbers pass as many as the kept bits say, and half as many with a bit more for each key, nearly.
#[test]
fn kept_bits_deny_what_they_can() {
    let mut most = 1.0;
    for bits in [12.0, 16.0, 20.0, 24.0] {
        let keys = set(SHAPES[0], 2_000);
        let block = built(&keys, bits);
        let (filter, document) = (opened(&block), Ranges::open(&block));
        let share = document.share();
        assert!(share < most / 8.0, "{bits} bits: {share}");
        most = share;
        let asked = 200_000;
        let passed = numbers(9).take(asked).filter(|number| filter.may_contain(&number.to_be_bytes())).count();
        let (expected, passed) = (share * asked as f64, passed as f64);
        assert!((passed - expected).abs() <= 5.0 * expected.sqrt() + 1.0, "{bits} bits: {passed} for {expected}");
    }
}

#[test]
fn damage_is_noticed() {
    for (count, bits) in [(1, 10.0), (90, 9.0), (300, 4.0)] {
        let block = built(&set(SHAPES[3], count), bits);
        let open = |block: &[u8]| OpenOptions::new().open_ranges(block).map(|_| ());
        for bit in 0..block.len() * 8 {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged).is_err(), "bit {bit}");
        }
        (0..block.len()).for_each(|len| assert!(open(&block[..len]).is_err(), "{len} bytes"));
        assert!(open(&[&block[..], &[0]].concat()).is_err());
        let (expected, found) = (5, 0);
        let elsewhere = OpenOptions::new().with_context(5).open_ranges(&block[..]).map(|_| ());
        assert_eq!(elsewhere, Err(DecodeError::WrongContext { expected, found }));
    }
}

/// The kit has all rows of the checks, with the library's errors.
#[test]
fn filters_of_the_other_family_are_refused() {
    let block = built(&set(SHAPES[3], 300), 12.0);
    let refused = Err(DecodeError::WrongFamily { found: BlockKind::Ranges.tag() });
    assert_eq!(OpenOptions::new().open(&block).map(|_| ()), refused);
    for &kind in FilterKind::ALL {
        let of_keys = block_of(sized(kind, 10.0), &[1, 2, 3]);
        let refused = Err(DecodeError::WrongFamily { found: kind.tag() });
        assert_eq!(OpenOptions::new().open_ranges(&of_keys).map(|_| ()), refused);
    }
    let empty = built(&[], 10.0);
    assert!(!opened(&empty).may_contain_range(Unbounded, Unbounded) && !opened(&empty).may_contain_prefix(b""));
}

/// The golden files: name, the entries that are its keys, policy, context.
const GOLDEN: [(&str, &str, &str, u64); 18] = [
    ("none-10bits", "none", "range:10", 0),
    ("one-10bits", "one", "range:10", 0),
    ("two-20bits", "two", "range:20", 0),
    ("equal-10bits-context", "equal", "range:10", 0x0123_4567_89ab_cdef),
    ("twenty-30bits", "twenty", "range:30", 0),
    ("long-200bits", "long", "range:200", 0),
    ("thousand-16bits", "thousand", "range:16", 0),
    ("pairs-3bits", "pairs", "range:3", 1),
    ("many-5bits", "many", "range:5", 0),
    ("ids-14bits", "ids", "range:14", 0),
    ("times-14bits", "times", "range:14", 0),
    ("one-len8", "one", "range:fpr=1%,len=8", 0),
    ("ids-len1024-context", "ids", "range:fpr=1%,len=1024", 7),
    ("times-len65536", "times", "range:fpr=2%,len=65536", 0),
    ("dense-len64", "dense", "range:fpr=5%,len=64", 0),
    // Keys of several lengths: cut, not integers.
    ("thousand-len16", "thousand", "range:fpr=1%,len=16", 0),
    // Steps with a byte code; and joined leaves.
    ("urls-14bits", "urls", "range:14", 0),
    ("urls-4bits", "urls", "range:4", 0),
];

/// The keys that no file of entries has: random integers, those of ten series and their times, every third, and text.
fn golden_keys(name: &str) -> Option<Vec<Key>> {
    let key = |i: u64| match name {
        "ids" => Some(mix(i).to_be_bytes().to_vec()),
        "times" => Some(
            [&mix(i / 500).to_be_bytes()[..], &((1 << 40) + i % 500 * 15_000 + mix(i) % 99).to_be_bytes()].concat(),
        ),
        "dense" => Some([&b"row/"[..], &(3 * i as u32).to_be_bytes()].concat()),
        "urls" => Some(format!("{:x}.org/{:x}", mix(i / 25) >> 48, mix(i) >> 44).into_bytes()),
        _ => None,
    };
    (0..5_000).map(key).collect()
}

pub fn sorted(mut keys: Vec<Key>) -> Vec<Key> {
    keys.sort();
    keys.dedup();
    keys
}

/// The golden filters in partitions of 150 keys, under the context 7: name, keys, policy.
pub const PARTITIONED: [(&str, &str, &str); 2] =
    [("partitioned", "thousand", "range:16"), ("partitioned-times", "times", "range:fpr=1%,len=65536")];

/// A golden filter: its name, its keys in order, its context, and its files by their extensions.
struct Golden {
    name: String,
    keys: Vec<Key>,
    context: u64,
    files: Vec<(&'static str, Vec<u8>)>,
}

/// All golden filters, those in partitions last; `entries` has the files of entries.
fn golden_filters(entries: &Path) -> Vec<Golden> {
    let keys = |of| golden_keys(of).unwrap_or_else(|| keys_in(entries, &format!("{of}.entries")));
    let blocks = GOLDEN.into_iter().map(|(name, of, policy, context)| {
        let block = |keys: &[Key]| block(policy.parse().expect("legal"), keys, context);
        let (made, keys) = (block(&keys(of)), sorted(keys(of)));
        assert!(block(&keys) == made, "{name} depends on the order of keys");
        Golden { name: format!("range-{name}"), keys, context, files: vec![("bin", made)] }
    });
    let partitioned = PARTITIONED.into_iter().map(|(name, of, policy)| {
        let keys = sorted(keys(of));
        let Stored { file, index } =
            harness::ranges(7, policy.parse().expect("legal"), PartitionLimit::Entries(150), &keys);
        Golden { name: name.into(), keys, context: 7, files: vec![("partitions", file), ("index", index)] }
    });
    blocks.chain(partitioned).collect()
}

/// Queries a stored filter of [`PARTITIONED`] for each of `keys`, which are sorted, and returns the number of partitions.
pub fn read_partitions(dir: &Path, name: &str, keys: &[Key]) -> usize {
    let [file, index] = ["partitions", "index"].map(|of| std::fs::read(dir.join(format!("{name}.{of}"))));
    let (file, index) = (file.expect("partitions"), index.expect("an index"));
    let filter = PartitionedRangeFilter::open(&index[..], OpenOptions::new().with_context(7)).expect("intact");
    let load = |at: PartitionHandle| Ok::<_, Infallible>(&file[at.offset as usize..][..at.len as usize]);
    for (at, key) in keys.iter().enumerate() {
        let before = at.checked_sub(1).map_or(Unbounded, |at| Excluded(&keys[at][..]));
        for query in [Query::Key(key), Query::Prefix(key), Query::Range(before, Included(key))] {
            assert_eq!(filter.may_match(query, load), Ok(true), "{name}: {query:?}");
        }
    }
    filter.partitions().len()
}

/// Writes a release's range filters, their keys and their list.
pub fn write(dir: &Path, entries: &Path) {
    const MAX_KEY_BYTES: usize = 100_000;
    std::fs::create_dir_all(dir).expect("a directory");
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.join(name), bytes).expect("a written file");
    let mut listed = Vec::new();
    let mut golden = golden_filters(entries);
    golden.retain(|golden| golden.keys.iter().map(Vec::len).sum::<usize>() <= MAX_KEY_BYTES);
    for Golden { name, keys, context, files } in golden {
        files.iter().for_each(|(of, bytes)| write(&format!("{name}.{of}"), bytes));
        write(&format!("{name}.keys"), keys.iter().map(|key| hex(key) + "\n").collect::<String>().as_bytes());
        if files.len() == 1 {
            listed.push(json!({"name": name, "context": format!("{context:#018x}")}));
        }
    }
    write("index.json", (serde_json::to_string_pretty(&listed).expect("JSON") + "\n").as_bytes());
}

#[test]
fn golden_range_filters() {
    let golden: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "golden", "v1"].iter().collect();
    let (dir, mut num_keys) = (golden.join("ranges"), 0);
    for Golden { name, keys, context, files } in golden_filters(&golden) {
        for (of, built) in &files {
            let path = dir.join(format!("{name}.{of}"));
            if std::env::var_os("FILTERBLOCK_BLESS").is_some() && !path.exists() {
                std::fs::write(&path, built).expect("a written file");
            }
            assert!(
                std::fs::read(&path).expect("a golden file") == *built,
                "{name}.{of} differs from what is built now"
            );
        }
        if let [(_, block)] = &files[..] {
            let filter = OpenOptions::new().with_context(context).open_ranges(&block[..]).expect("intact");
            assert_eq!(filter.num_entries(), keys.len() as u64);
            assert!(keys.iter().all(|key| filter.may_contain(key)), "{name}");
            num_keys += keys.len();
        } else {
            assert_eq!(read_partitions(&dir, &name, &keys), keys.len().div_ceil(150));
        }
    }
    println!("counted: {} golden range filters of {num_keys} keys, bit for bit", GOLDEN.len());
}
