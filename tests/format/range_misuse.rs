//! Plausible mistakes with range filters, a row each: refused, *maybe*, or listed in EMBEDDING.md's table of those that go
//! unnoticed. Each listed one is committed again as it should be done, and then no stored key is denied.

use crate::*;
use filterblock::range::order;
use testkit::mistakes::Outcome::{Denies, Maybe, Refused};
use testkit::mistakes::{Row, Tried, assert_listed, commit, refused};

const NUM_KEYS: u64 = 1000;

fn filter_of(policy: &str, keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<RangeFilter<Vec<u8>>, String> {
    let mut builder = RangeFilterBuilder::new(policy.parse::<RangePolicy>().map_err(refused)?);
    keys.into_iter().for_each(|key| builder.add_key(key.as_ref()));
    OpenOptions::new().open_ranges(builder.finish().map_err(refused)?).map_err(refused)
}

/// A filter of one key, so that no other lies in a range by chance.
fn filter_of_one(key: impl AsRef<[u8]>) -> RangeFilter<Vec<u8>> {
    filter_of("range:40", [key]).expect("a filter")
}

fn text(number: u64) -> Vec<u8> {
    format!("user/{number:06}").into_bytes()
}

/// The key of number `i`.
fn key(i: u64) -> Vec<u8> {
    text(i * 7)
}

fn texts() -> RangeFilter<Vec<u8>> {
    filter_of("range:20", (0..NUM_KEYS).map(key)).expect("a filter")
}

/// The number of stored keys that `ask` denies, which queries each key's number.
fn denied(ask: impl Fn(u64) -> bool) -> Tried {
    Ok((0..NUM_KEYS).filter(|&number| !ask(number)).count())
}

/// The same, of a mistake that is then made good: `rightly` denies none.
fn denied_but_not(rightly: impl Fn(u64) -> bool, ask: impl Fn(u64) -> bool) -> Tried {
    assert_eq!(denied(rightly), Ok(0), "rightly done");
    denied(ask)
}

/// Queries the filter of [`texts`] from one bound to another.
fn of_texts(bounds: impl Fn(u64) -> (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Tried {
    let filter = texts();
    denied(|i| asks(&filter, bounds(i)))
}

fn asks(filter: &RangeFilter<Vec<u8>>, (lower, upper): (Bound<impl AsRef<[u8]>>, Bound<impl AsRef<[u8]>>)) -> bool {
    filter.may_contain_range(lower.as_ref().map(AsRef::as_ref), upper.as_ref().map(AsRef::as_ref))
}

/// Numbers of which half are negative.
fn signed(number: u64) -> i64 {
    (number as i64 - NUM_KEYS as i64 / 2) * 1_000_003
}

fn little(number: u64) -> u32 {
    (2_000 + number * 1_000_003) as u32
}

/// An internal key: the newer a version, the less.
fn internal(number: u64) -> Vec<u8> {
    [&key(number)[..], &(!(number << 8 | 1)).to_be_bytes()].concat()
}

const NOTICED: &[Row] = &[
    ("bounds are swapped", Maybe, || of_texts(|i| (Included(text(i * 7 + 1)), Included(key(i))))),
    ("a descending scan gives its start as the lower bound", Maybe, || {
        let filter = texts();
        let rightly = |i| {
            let (start, end) = (key(i + 1), key(i));
            asks(&filter, order::of_descending(Excluded(&start[..]), Included(&end[..])))
        };
        denied_but_not(rightly, |i| asks(&filter, (Excluded(key(i + 1)), Included(key(i)))))
    }),
    ("a prefix's last byte is added to, and wraps around", Maybe, || {
        let keys = (0..NUM_KEYS).map(|i| [&[b'a', 0xff][..], &i.to_be_bytes()].concat());
        let (filter, end) = (filter_of("range:20", keys)?, order::end_of_prefix(b"a\xff"));
        let rightly = |_| filter.may_contain_range(Included(b"a\xff"), end.as_ref().map(Vec::as_slice));
        denied_but_not(rightly, |_| asks(&filter, (Included(b"a\xff"), Excluded(b"a\0"))))
    }),
    ("the successor of the empty prefix is the empty key", Maybe, || {
        of_texts(|_| (Included(Vec::new()), Excluded(Vec::new())))
    }),
    ("a point is queried as a half-open range", Maybe, || of_texts(|i| (Included(key(i)), Excluded(key(i))))),
    ("signed integers are queried across 0", Maybe, || {
        let of = |number: i64| order::signed(number.to_be_bytes());
        let good = filter_of("range:20", (0..NUM_KEYS).map(|i| of(signed(i))))?;
        let filter = filter_of("range:20", (0..NUM_KEYS).map(|i| signed(i).to_be_bytes()))?;
        let rightly = |i| asks(&good, (Included(of(signed(i) - 3)), Included(of(signed(i) + 3))));
        denied_but_not(rightly, |_| asks(&filter, (Included((-5i64).to_be_bytes()), Included(5i64.to_be_bytes()))))
    }),
    ("keys that are not integers, and form=integers", Refused, || {
        filter_of("range:fpr=1%,len=64,form=integers", (0..NUM_KEYS).map(|i| i.to_string())).map(|_| 0)
    }),
    ("nothing is added", Refused, || filter_of("range:14", [[0u8; 0]; 0]).map(|_| 0)),
    ("a prefix longer than 65 535 bytes is common to all keys", Maybe, || {
        let key = |i: u64| [&[7; 70_000][..], &i.to_be_bytes()].concat();
        let filter = filter_of("range:14", (0..20).map(key))?;
        // It is stored whatever the bits are.
        assert!((65_535..65_535 + 1_000).contains(&filter.as_bytes().len()), "{filter:?}");
        denied(|i| filter.may_contain(&key(i % 20)))
    }),
    ("prefixes shorter or longer than usual are queried", Maybe, || {
        let filter = texts();
        denied(|i| (0..=11).all(|len| filter.may_contain_prefix(&key(i)[..len])))
    }),
];

const UNNOTICED: &[Row] = &[
    ("integers are added or queried as little-endian bytes", Denies, || {
        let around = |i, of: fn(u32) -> [u8; 4]| {
            let bounds = [little(i) - 1_000, little(i) + 1_000].map(of);
            asks(&filter_of_one(of(little(i))), (Included(bounds[0]), Included(bounds[1])))
        };
        let rightly = |i| around(i, |number| order::little_endian(number.to_le_bytes()));
        denied_but_not(rightly, |i| around(i, u32::to_le_bytes))
    }),
    ("internal keys are added, and user keys are queried", Denies, || {
        let keys: Vec<_> = (0..NUM_KEYS).map(internal).collect();
        let good = filter_of("range:40", keys.iter().map(|key| order::user_key(key).expect("a trailer")))?;
        let filter = filter_of("range:40", &keys)?;
        let rightly = |i| {
            let bound = order::user_bound(Excluded(&keys[i as usize]));
            asks(&good, (bound, bound)) && good.may_contain(&key(i))
        };
        denied_but_not(rightly, |i| filter.may_contain(&key(i)))
    }),
    ("user keys are added, and bounds of internal keys are queried", Denies, || {
        // A scan that continues after a version of its first key.
        let (filter, end) = (texts(), |i| Excluded(text(i * 7 + 1)));
        let rightly = |i| asks(&filter, (order::user_bound(Included(&internal(i))), end(i)));
        denied_but_not(rightly, |i| asks(&filter, (Included(internal(i)), end(i))))
    }),
    ("the engine's comparator has another order than bytes", Denies, || {
        // Without regard to case.
        let of = |i: u64| format!("{}{:06}", if i % 2 == 0 { "Key" } else { "key" }, mix(i) % 1_000_000);
        let good = filter_of("range:30", (0..NUM_KEYS).map(|i| of(i).to_lowercase()))?;
        let filter = filter_of("range:30", (0..NUM_KEYS).map(of))?;
        let around = |key: String| (Included(key.clone()), Included(key + "!"));
        let rightly = |i| asks(&good, around(of(i).to_lowercase()));
        denied_but_not(rightly, |i| asks(&filter, around(of(i).to_uppercase())))
    }),
    ("integers are added with one width and queried with another", Denies, || {
        let wide = |number: u32| u64::from(number).to_be_bytes();
        let good = filter_of("range:fpr=0.1%,len=16", (0..NUM_KEYS).map(|i| wide(little(i))))?;
        let filter = filter_of("range:fpr=0.1%,len=16", (0..NUM_KEYS).map(|i| little(i).to_be_bytes()))?;
        let bounds = |i| (Included(wide(little(i))), Included(wide(little(i) + 3)));
        denied_but_not(|i| asks(&good, bounds(i)), |i| asks(&filter, bounds(i)))
    }),
    ("numbers are text of several lengths", Denies, || {
        let around = |i, of: fn(u64) -> String| {
            let (from, to) = (of(12 + i % 8), of(1_500 + i % 1_000));
            asks(&filter_of_one(of(500 + i % 400)), (Included(from), Included(to)))
        };
        denied_but_not(|i| around(i, |number| format!("{number:08}")), |i| around(i, |number| number.to_string()))
    }),
    ("only prefixes are added, and keys or ranges are queried", Denies, || {
        let row = |i| text(i * 1_000 + 567);
        let (prefixes, rows) = ((0..NUM_KEYS).map(|i| row(i)[..8].to_vec()), (0..NUM_KEYS).map(row));
        let (filter, good) = (filter_of("range:30", prefixes)?, filter_of("range:30", rows)?);
        let point = |filter, i| asks(filter, (Included(row(i)), Included(row(i))));
        denied_but_not(|i| point(&good, i) && good.may_contain_prefix(&row(i)[..8]), |i| point(&filter, i))
    }),
    ("an excluded empty key is given as the upper bound where none is meant, without a lower bound", Denies, || {
        let filter = texts();
        let rightly = |_| filter.may_contain_range(Unbounded, Unbounded);
        denied_but_not(rightly, |_| filter.may_contain_range(Unbounded, Excluded(b"")))
    }),
    ("an end that is included is given as excluded", Denies, || {
        let filter = texts();
        let [from, end] = [4, 7].map(|more| move |i| text(i % 999 * 7 + more));
        let rightly = |i| asks(&filter, (Included(from(i)), Included(end(i))));
        denied_but_not(rightly, |i| asks(&filter, (Included(from(i)), Excluded(end(i)))))
    }),
    ("`allow_empty` for a table whose keys were added elsewhere", Denies, || {
        let mut builder = RangeFilterBuilder::new("range:14".parse().expect("legal"));
        let block = builder.allow_empty().finish().map_err(refused)?;
        let filter = OpenOptions::new().open_ranges(block).map_err(refused)?;
        denied(|_| filter.may_contain_range(Unbounded, Unbounded))
    }),
];

#[test]
fn mistakes_with_ranges_are_refused_or_maybe_or_listed() {
    commit("mistakes with ranges", [NOTICED, UNNOTICED], 0);
}

/// The document lists what goes unnoticed, all of it and nothing else.
#[test]
fn the_document_lists_every_mistake_with_ranges() {
    assert_listed("### Of range filters", UNNOTICED);
}
