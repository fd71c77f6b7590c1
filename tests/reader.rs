//! The reader alone, as the crate without its default features has it: `cargo test --no-default-features --test
//! reader`.

use filterblock::{CompactFrameReader, EntryHasher, FilterBlockReader, FilterKind, KeyHasher, KeyTransform};

/// A kind, and its golden block and compact frame of a thousand entries.
macro_rules! frames {
    ($Kind:ident, $name:literal) => {
        (
            FilterKind::$Kind,
            include_bytes!(concat!("golden/v1/", $name, "-thousand-10bits.bin")),
            include_bytes!(concat!("golden/v1/", $name, "-thousand-10bits-compact.bin")),
        )
    };
}
const FRAMES: [(FilterKind, &[u8], &[u8]); 5] = [
    frames!(Bloom, "bloom"),
    frames!(Blocked, "blocked"),
    frames!(Golomb, "golomb"),
    frames!(Ribbon, "ribbon"),
    frames!(Fuse, "fuse"),
];

fn entries() -> Vec<Vec<u8>> {
    let byte = |line: &str, i| u8::from_str_radix(&line[i..i + 2], 16).expect("hexadecimal");
    let entry = |line: &str| (0..line.len()).step_by(2).map(|i| byte(line, i)).collect();
    include_str!("golden/v1/thousand.entries").lines().map(entry).collect()
}

#[test]
fn golden_frames_answer_without_the_builder() {
    for (kind, block, compact) in FRAMES {
        let block = FilterBlockReader::open(block).expect("an intact block");
        let entries = EntryHasher::new(KeyHasher::new(7), KeyTransform::WholeKey);
        let compact = CompactFrameReader::open(compact, &entries).expect("a frame");
        assert_eq!((block.kind(), block.num_entries(), compact.kind()), (kind, 1_000, Some(kind)));
        check(|entry| block.may_contain(entry), block.false_positive_rate());
        check(|entry| compact.may_contain(entry), compact.false_positive_rate());
    }
}

/// Every entry may be contained, and absent ones pass at the filter's `rate`.
fn check(may_contain: impl Fn(&[u8]) -> bool, rate: f64) {
    assert!(entries().iter().all(|entry| may_contain(entry)));
    let passed = (0..10_000u32).filter(|i| may_contain(format!("absent {i}").as_bytes())).count();
    // Four standard deviations above the mean.
    let mean = 10_000.0 * rate;
    assert!((passed as f64) < mean + 4.0 * mean.sqrt(), "{passed} passed, {mean} expected");
}
