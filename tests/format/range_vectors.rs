//! The format's chapter on ranges: its vectors against the library.

use crate::ranges::block;
use crate::spec::compare;
use crate::*;
use testkit::harness::{self, Stored};

type Range = (Bound<&'static str>, Bound<&'static str>);
type Bytes<'a> = &'a [u8];

fn line(name: &str, bits: f64, keys: &[String], ranges: &[Range], prefixes: &[&str]) -> Vec<String> {
    let policy = RangePolicy::with_bits_per_key(bits).expect("legal");
    let keys: Vec<Bytes<'_>> = keys.iter().map(|key| key.as_bytes()).collect();
    let ranges: Vec<_> =
        ranges.iter().map(|(lower, upper)| (lower.map(str::as_bytes), upper.map(str::as_bytes))).collect();
    let prefixes: Vec<Bytes<'_>> = prefixes.iter().map(|prefix| prefix.as_bytes()).collect();
    lines_of(name, policy, &keys, &ranges, &prefixes)
}

fn lines_of(
    name: &str,
    policy: RangePolicy,
    keys: &[Bytes<'_>],
    ranges: &[(Bound<Bytes<'_>>, Bound<Bytes<'_>>)],
    prefixes: &[Bytes<'_>],
) -> Vec<String> {
    lines_of_block(name, &block(policy, keys, 0), ranges, prefixes)
}

fn lines_of_block(
    name: &str,
    block: Bytes<'_>,
    ranges: &[(Bound<Bytes<'_>>, Bound<Bytes<'_>>)],
    prefixes: &[Bytes<'_>],
) -> Vec<String> {
    let filter = OpenOptions::new().open_ranges(block).expect("just written");
    let answer = |may_contain| if may_contain { "maybe" } else { "no" };
    let mut lines = vec![format!("{name} {}", hex(block))];
    for &(lower, upper) in ranges {
        let may_contain = filter.may_contain_range(lower, upper);
        lines.push(format!("{name} {} {}", text(lower, upper), answer(may_contain)));
    }
    for prefix in prefixes {
        lines.push(format!("{name} {}* {}", hex(prefix), answer(filter.may_contain_prefix(prefix))));
    }
    lines
}

fn text(lower: Bound<Bytes<'_>>, upper: Bound<Bytes<'_>>) -> String {
    let ends = |bound, [included, excluded]: [char; 2]| match bound {
        Unbounded => (excluded, "-".to_owned()),
        Included(key) => (included, hex(key)),
        Excluded(key) => (excluded, hex(key)),
    };
    let ((open, from), (close, to)) = (ends(lower, ['[', '(']), ends(upper, [']', ')']));
    format!("{open}{from},{to}{close}")
}

#[test]
fn range_vectors() {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let cubes: Vec<String> = (0..1_500).map(|i: u64| format!("c{}", i * i * i)).collect();
    let policy = RangePolicy::with_bits_per_key(14.0).expect("legal");
    // Ten a day, of five days.
    let time = |seconds: u64| (1_700_000_000 + seconds).to_be_bytes();
    let times: Vec<_> = (0..50).map(|i| time(i / 10 * 86_400 + i % 10 * 60)).collect();
    let keys: Vec<_> = times.iter().map(|time| &time[..]).collect();
    let spans = [(0, 0), (8, 50), (540, 540), (548, 86_390), (548, 86_400), (4_000, 80_000), (700, 200_000)];
    let spans = spans.map(|(from, to)| [time(from), time(to)]);
    let of_times: Vec<_> = spans.iter().map(|[from, to]| (Included(&from[..]), Included(&to[..]))).collect();
    let lines = [
        line("none", 20.0, &[], &[(Unbounded, Unbounded), (Included("b"), Included("a"))], &[""]),
        line("words", 192.0, &texts(&["ant", "ape", "apple"]), WORDS, &["", "a", "ap", "app", "aq", "b"]),
        line("ends", 160.0, &texts(&["", "\0", "a", "a\0b"]), ENDS, &["a", "b"]),
        line("code", 14.0, &cubes, CUBES, &["-", "c", "c-", "c1", "c10", "c1000/", "c1:", "d"]),
        lines_of("gaps", policy, &keys, &of_times, &[b"", &time(0)[..6], &[1]]),
    ];
    compare("range", &lines.concat());
}

#[test]
fn integer_vectors() {
    let policy = |rate, len| RangePolicy::of_integers(rate, len).expect("legal");
    let point = |number: u64| [&b"t"[..], &number.to_be_bytes()].concat();
    let points = [0, 5, 1000, 1001, 1 << 40].map(point);
    let ends: Vec<[Vec<u8>; 2]> =
        [(1, 4), (5, 5), (6, 999), (1001, 1017), (1002, 1017), (0, 1 << 41)].map(|(a, b)| [point(a), point(b)]).into();
    let mut of_points: Vec<_> = ends.iter().map(|[first, last]| (Included(&first[..]), Included(&last[..]))).collect();
    let (short, long) = (&points[1][..8], [&points[1][..], &[0]].concat());
    of_points.extend([
        (Excluded(&points[2][..]), Excluded(&points[3][..])),
        (Included(short), Excluded(&points[1][..])),
        (Excluded(&points[0][..]), Included(short)),
        (Unbounded, Excluded(&points[0][..])),
        (Excluded(&long[..]), Excluded(&points[2][..])),
        (Included(&points[1][..]), Excluded(&long[..])),
        (Excluded(&points[4][..]), Unbounded),
        (Included(&b"s"[..]), Excluded(&b"t"[..])),
        (Included(&b"u"[..]), Unbounded),
        (Included(&points[3][..]), Excluded(&points[2][..])),
        (Included(&b"u"[..]), Included(&b"t"[..])),
        (Included(&points[2][..]), Excluded(&points[2][..])),
    ]);
    let prefixes: &[Bytes<'_>] = &[b"", b"t", &points[1][..8], &points[4][..4], &point(2), b"u"];
    let even: Vec<[u8; 2]> = (256..512u16).map(|i| (2 * i).to_be_bytes()).collect();
    let single = [(Included(&b"key"[..]), Included(&b"key"[..])), (Excluded(&b"ke"[..]), Excluded(&b"key"[..]))];
    let even: Vec<Bytes<'_>> = even.iter().map(|key| &key[..]).collect();
    let of_even: &[(Bound<Bytes<'_>>, Bound<Bytes<'_>>)] = &[
        (Included(&[2, 0]), Included(&[2, 0])),
        (Included(&[2, 1]), Included(&[2, 1])),
        (Excluded(&[2, 2]), Excluded(&[2, 4])),
        (Included(&[2, 3]), Excluded(&[2, 4, 0])),
        (Included(&[2, 2, 0]), Excluded(&[2, 4])),
        (Included(&[2, 7]), Excluded(&[2, 8])),
        (Included(&[4]), Unbounded),
        (Unbounded, Included(&[1, 255])),
        (Unbounded, Unbounded),
    ];
    let whole = RangePolicy::with_false_positive_rate(0.02, 4).expect("legal");
    let evens = [("even", policy(0.02, 4)), ("exact", whole)]
        .map(|(name, policy)| lines_of(name, policy, &even, of_even, &[&[2], &[3, 255], &[3, 254], &[4]]));
    let lines = [
        lines_of("points", policy(0.001, 16), &points.each_ref().map(|key| &key[..]), &of_points, prefixes),
        evens.concat(),
        lines_of("single", policy(0.5, 1), &[b"key"], &single, &[b"k", b"key", b"key0"]),
        limits(),
    ];
    compare("range-integers", &lines.concat());
}

/// A block of no writer, with one bucket of 1024 bits in blocks of one number: 8 of these are searched.
fn limits() -> Vec<String> {
    let payload = [&[0; 8][..], &[0xff; 9], &[0; 127]].concat();
    let mut block = block(RangePolicy::with_bits_per_key(2.0).expect("legal"), [""; 0], 0);
    (block[24], block[40], block[41]) = (1, 8, 4);
    put(&mut block[48..52], 1000);
    put(&mut block[32..40], payload.len() as u64);
    block.extend(payload);
    repair(&mut block, 0);
    let key = |number: u64| number.to_be_bytes();
    let ends = [(1, 9), (1, 8), (1000, 1000 + 32), (1000, 1000), (0, 0)].map(|(from, to)| [key(from), key(to)]);
    let ranges = ends.each_ref().map(|[from, to]| (Included(&from[..]), Included(&to[..])));
    lines_of_block("limits", &block, &ranges, &[&key(0)[..7]])
}

#[test]
fn partition_vectors() {
    let policy = RangePolicy::with_bits_per_key(192.0).expect("legal");
    let keys = ["ant", "ape", "apple", "bat", "bee", "cat"];
    let Stored { file, index } = harness::ranges(1, policy, PartitionLimit::Entries(2), keys);
    let filter = PartitionedRangeFilter::open(&index[..], OpenOptions::new().with_context(1)).expect("just written");
    let mut lines = vec![format!("index {}", hex(&index))];
    let bytes = |partition: PartitionHandle| &file[partition.offset as usize..][..partition.len as usize];
    lines.extend((0..).zip(filter.partitions()).map(|(i, at)| format!("partition-{i} {}", hex(bytes(at)))));
    let load = |partition| Ok::<_, Infallible>(bytes(partition));
    let line = |text: String, query| {
        let may_contain = filter.may_match(query, load).expect("sound partitions");
        let asked = match (filter.find(query), may_contain) {
            (Lookup::Partitions(i, None), _) => i.number.to_string(),
            (Lookup::Partitions(i, Some(j)), _) => format!("{},{}", i.number, j.number),
            (Lookup::Present, true) | (Lookup::Absent, false) => "-".to_owned(),
            (found, _) => panic!("{text}: {found:?}"),
        };
        format!("{text} {} {asked}", if may_contain { "maybe" } else { "no" })
    };
    for (lower, upper) in PARTITIONED {
        let (lower, upper) = (lower.map(str::as_bytes), upper.map(str::as_bytes));
        lines.push(line(text(lower, upper), Query::Range(lower, upper)));
    }
    for prefix in ["", "a", "ap", "ar", "b", "bf", "c", "d"] {
        lines.push(line(format!("{}*", hex(prefix.as_bytes())), Query::Prefix(prefix.as_bytes())));
    }
    compare("range-partitions", &lines);
}

const PARTITIONED: &[Range] = &[
    (Included("ant"), Included("ant")),
    (Included("aq"), Excluded("bat")),
    (Excluded("ape"), Excluded("apple")),
    (Excluded("ape"), Included("bc")),
    (Included("bb"), Included("bd")),
    (Included("b"), Unbounded),
    (Unbounded, Unbounded),
    (Unbounded, Excluded("ant")),
    (Excluded("cat"), Unbounded),
    (Included("cau"), Unbounded),
    (Included("bat"), Excluded("bat")),
    (Included("d"), Included("a")),
];

const WORDS: &[Range] = &[
    (Included("apple"), Included("apple")),
    (Excluded("ape"), Excluded("apple")),
    (Included("b"), Unbounded),
    (Included("apf"), Excluded("app")),
    (Included("apple"), Excluded("apple")),
    (Included("apple"), Included("ape")),
    (Excluded("apple"), Included("apple")),
    (Included("b"), Included("a")),
    (Unbounded, Excluded("ant")),
    (Unbounded, Excluded("an")),
    (Unbounded, Included("a")),
    (Excluded("antelope"), Excluded("ap")),
];

const ENDS: &[Range] = &[
    (Unbounded, Excluded("")),
    (Unbounded, Included("")),
    (Excluded(""), Excluded("\0")),
    (Included("a\0"), Included("a\0")),
    (Included("b"), Unbounded),
];

const CUBES: &[Range] = &[
    (Included("c0"), Included("c0")),
    (Unbounded, Excluded("c0")),
    (Included("c100"), Excluded("c1000")),
    (Included("c1001"), Included("c1028")),
    (Included("c1/"), Included("c10")),
    (Excluded("c132650"), Excluded("c132651")),
    (Included("c132652"), Included("c1330")),
    (Included("c99897344"), Included("c999")),
    (Included("c9:"), Unbounded),
    (Included("c1x"), Included("c1z")),
    (Included("b"), Included("d")),
];
