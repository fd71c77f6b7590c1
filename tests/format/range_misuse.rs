//! Plausible mistakes with range filters, a row each: refused, *maybe*, or listed in EMBEDDING.md's table of those that go
//! unnoticed. Each listed one is committed again as it should be done, and then no stored key is denied.

use crate::*;
use filterblock::range::order;

const NUM_KEYS: u64 = 1000;

/// What becomes of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// An error at the finish.
    Refused,
    /// No stored key is denied.
    Maybe,
    /// Stored keys are denied.
    Denies,
}
use Outcome::{Denies, Maybe, Refused};

/// The number of scans of a range with a stored key that are denied, or a refusal.
type Tried = Result<usize, String>;

fn filter_of(policy: &str, keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<RangeFilter<Vec<u8>>, String> {
    let mut builder = RangeFilterBuilder::new(policy.parse::<RangePolicy>().map_err(|error| error.to_string())?);
    keys.into_iter().for_each(|key| builder.add_key(key.as_ref()));
    RangeFilter::open(builder.finish().map_err(|error| error.to_string())?, &OpenOptions::new())
        .map_err(|error| error.to_string())
}

fn text(number: u64) -> Vec<u8> {
    format!("user/{number:06}").into_bytes()
}

fn texts() -> RangeFilter<Vec<u8>> {
    filter_of("range:20", (0..NUM_KEYS).map(|i| text(i * 7))).expect("a filter")
}

/// Asks around each stored number, by bounds that lie before and behind it.
fn denied(ask: impl Fn(u64) -> bool) -> Tried {
    Ok((0..NUM_KEYS).filter(|&number| !ask(number)).count())
}

fn asks(filter: &RangeFilter<Vec<u8>>, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    filter.may_contain_range(lower, upper)
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
    [&text(number * 7)[..], &(!(number << 8 | 1)).to_be_bytes()].concat()
}

/// A mistake, what becomes of it, how it is committed, and how it is done rightly.
type Row = (&'static str, Outcome, fn() -> Tried, fn() -> Tried);

fn nothing() -> Tried {
    Ok(0)
}

const NOTICED: &[Row] = &[
    (
        "bounds are swapped",
        Maybe,
        || {
            let filter = texts();
            denied(|i| asks(&filter, Included(&text(i * 7 + 1)), Included(&text(i * 7))))
        },
        nothing,
    ),
    (
        "a descending scan gives its start as the lower bound",
        Maybe,
        || {
            let filter = texts();
            denied(|i| asks(&filter, Excluded(&text(i * 7 + 7)), Included(&text(i * 7))))
        },
        || {
            let filter = texts();
            denied(|i| {
                let (start, end) = (text(i * 7 + 7), text(i * 7));
                let (lower, upper) = order::of_descending(Excluded(&start), Included(&end));
                asks(&filter, lower, upper)
            })
        },
    ),
    (
        "a prefix's last byte is added to, and wraps around",
        Maybe,
        || {
            let keys = (0..NUM_KEYS).map(|i| [&[b'a', 0xff][..], &i.to_be_bytes()].concat());
            let filter = filter_of("range:20", keys)?;
            denied(|_| asks(&filter, Included(b"a\xff"), Excluded(b"a\0")))
        },
        || {
            let keys = (0..NUM_KEYS).map(|i| [&[b'a', 0xff][..], &i.to_be_bytes()].concat());
            let filter = filter_of("range:20", keys)?;
            let end = order::end_of_prefix(b"a\xff");
            denied(|_| asks(&filter, Included(b"a\xff"), end.as_ref().map(Vec::as_slice)))
        },
    ),
    (
        "the successor of the empty prefix is the empty key",
        Maybe,
        || {
            let filter = texts();
            denied(|_| asks(&filter, Included(b""), Excluded(b"")))
        },
        nothing,
    ),
    (
        "a point is queried as a half-open range",
        Maybe,
        || {
            let filter = texts();
            denied(|i| asks(&filter, Included(&text(i * 7)), Excluded(&text(i * 7))))
        },
        nothing,
    ),
    (
        "signed integers are queried across 0",
        Maybe,
        || {
            let filter = filter_of("range:20", (0..NUM_KEYS).map(|i| signed(i).to_be_bytes()))?;
            denied(|_| asks(&filter, Included(&(-5i64).to_be_bytes()), Included(&5i64.to_be_bytes())))
        },
        || {
            let key = |number: i64| order::signed(number.to_be_bytes());
            let filter = filter_of("range:20", (0..NUM_KEYS).map(|i| key(signed(i))))?;
            denied(|i| asks(&filter, Included(&key(signed(i) - 3)), Included(&key(signed(i) + 3))))
        },
    ),
    (
        "keys that are not integers, and form=integers",
        Refused,
        || filter_of("range:fpr=1%,len=64,form=integers", (0..NUM_KEYS).map(|i| i.to_string())).map(|_| 0),
        nothing,
    ),
    ("nothing is added", Refused, || filter_of("range:14", [[0u8; 0]; 0]).map(|_| 0), nothing),
    (
        "a prefix longer than 65 535 bytes is common to all keys",
        Maybe,
        || {
            let key = |i: u64| [&[7; 70_000][..], &i.to_be_bytes()].concat();
            let filter = filter_of("range:14", (0..20).map(key))?;
            // It is stored whatever the bits are.
            assert!((65_535..65_535 + 1_000).contains(&filter.as_bytes().len()), "{filter:?}");
            denied(|i| filter.may_contain(&key(i % 20)))
        },
        nothing,
    ),
    (
        "prefixes shorter or longer than usual are queried",
        Maybe,
        || {
            let filter = texts();
            denied(|i| (0..=11).all(|len| filter.may_contain_prefix(&text(i * 7)[..len])))
        },
        nothing,
    ),
];

const UNNOTICED: &[Row] = &[
    (
        "integers are added or queried as little-endian bytes",
        Denies,
        || {
            // One key a table, so that no other lies in the range by chance.
            denied(|i| {
                let filter = filter_of("range:20", [little(i).to_le_bytes()]).expect("a filter");
                let [from, to] = [little(i) - 1_000, little(i) + 1_000].map(u32::to_le_bytes);
                asks(&filter, Included(&from), Included(&to))
            })
        },
        || {
            let key = |number: u32| order::little_endian(number.to_le_bytes());
            denied(|i| {
                let filter = filter_of("range:20", [key(little(i))]).expect("a filter");
                asks(&filter, Included(&key(little(i) - 1_000)), Included(&key(little(i) + 1_000)))
            })
        },
    ),
    (
        "internal keys are added, and user keys are queried",
        Denies,
        || {
            let filter = filter_of("range:40", (0..NUM_KEYS).map(internal))?;
            denied(|i| filter.may_contain(&text(i * 7)))
        },
        || {
            let keys: Vec<_> = (0..NUM_KEYS).map(internal).collect();
            let filter = filter_of("range:40", keys.iter().map(|key| order::user_key(key).expect("a trailer")))?;
            denied(|i| {
                let bound = order::user_bound(Excluded(&keys[i as usize]));
                asks(&filter, bound, bound) && filter.may_contain(&text(i * 7))
            })
        },
    ),
    (
        "user keys are added, and bounds of internal keys are queried",
        Denies,
        || {
            let filter = texts();
            // A scan that continues after a version of its first key.
            denied(|i| asks(&filter, Included(&internal(i)), Excluded(&text(i * 7 + 1))))
        },
        || {
            let filter = texts();
            denied(|i| asks(&filter, order::user_bound(Included(&internal(i))), Excluded(&text(i * 7 + 1))))
        },
    ),
    (
        "the engine's comparator has another order than bytes",
        Denies,
        || {
            // Without regard to case.
            let key = |i: u64| format!("{}{:06}", if i % 2 == 0 { "Key" } else { "key" }, mix(i) % 1_000_000);
            let filter = filter_of("range:30", (0..NUM_KEYS).map(key))?;
            denied(|i| {
                asks(
                    &filter,
                    Included(&key(i).to_uppercase().into_bytes()),
                    Included(&[&key(i).to_uppercase().into_bytes()[..], b"!"].concat()),
                )
            })
        },
        || {
            let key = |i: u64| format!("key{:06}", mix(i) % 1_000_000);
            let filter = filter_of("range:30", (0..NUM_KEYS).map(key))?;
            denied(|i| {
                asks(&filter, Included(key(i).as_bytes()), Included([key(i).as_bytes(), b"!"].concat().as_slice()))
            })
        },
    ),
    (
        "integers are added with one width and queried with another",
        Denies,
        || {
            let filter = filter_of("range:fpr=0.1%,len=16", (0..NUM_KEYS).map(|i| little(i).to_be_bytes()))?;
            denied(|i| {
                asks(
                    &filter,
                    Included(&u64::from(little(i)).to_be_bytes()),
                    Included(&u64::from(little(i) + 3).to_be_bytes()),
                )
            })
        },
        || {
            let filter = filter_of("range:fpr=0.1%,len=16", (0..NUM_KEYS).map(|i| u64::from(little(i)).to_be_bytes()))?;
            denied(|i| {
                asks(
                    &filter,
                    Included(&u64::from(little(i)).to_be_bytes()),
                    Included(&u64::from(little(i) + 3).to_be_bytes()),
                )
            })
        },
    ),
    (
        "numbers are text of several lengths",
        Denies,
        || {
            denied(|i| {
                let filter = filter_of("range:40", [(500 + i % 400).to_string()]).expect("a filter");
                let (from, to) = ((12 + i % 8).to_string(), (1_500 + i % 1_000).to_string());
                asks(&filter, Included(from.as_bytes()), Included(to.as_bytes()))
            })
        },
        || {
            let key = |number: u64| format!("{number:08}").into_bytes();
            denied(|i| {
                let filter = filter_of("range:40", [key(500 + i % 400)]).expect("a filter");
                asks(&filter, Included(&key(12 + i % 8)), Included(&key(1_500 + i % 1_000)))
            })
        },
    ),
    (
        "only prefixes are added, and keys or ranges are queried",
        Denies,
        || {
            let row = |i| text(i * 1_000 + 567);
            let filter = filter_of("range:30", (0..NUM_KEYS).map(|i| row(i)[..8].to_vec()))?;
            denied(|i| asks(&filter, Included(&row(i)), Included(&row(i))))
        },
        || {
            let row = |i| text(i * 1_000 + 567);
            let filter = filter_of("range:30", (0..NUM_KEYS).map(row))?;
            denied(|i| asks(&filter, Included(&row(i)), Included(&row(i))) && filter.may_contain_prefix(&row(i)[..8]))
        },
    ),
    (
        "an excluded empty key is given as the upper bound where none is meant, without a lower bound",
        Denies,
        || {
            let filter = texts();
            denied(|_| asks(&filter, Unbounded, Excluded(b"")))
        },
        || {
            let filter = texts();
            denied(|_| asks(&filter, Unbounded, Unbounded))
        },
    ),
    (
        "an end that is included is given as excluded",
        Denies,
        || {
            let filter = texts();
            denied(|i| asks(&filter, Included(&text(i % 999 * 7 + 4)), Excluded(&text(i % 999 * 7 + 7))))
        },
        || {
            let filter = texts();
            denied(|i| asks(&filter, Included(&text(i % 999 * 7 + 4)), Included(&text(i % 999 * 7 + 7))))
        },
    ),
    (
        "`allow_empty` for a table whose keys were added elsewhere",
        Denies,
        || {
            let mut builder = RangeFilterBuilder::new("range:14".parse().expect("legal"));
            let block = builder.allow_empty().finish().map_err(|error| error.to_string())?;
            let filter = RangeFilter::open(block, &OpenOptions::new()).map_err(|error| error.to_string())?;
            denied(|_| asks(&filter, Unbounded, Unbounded))
        },
        nothing,
    ),
];

#[test]
fn mistakes_with_ranges_are_refused_or_maybe_or_listed() {
    let outcome = |tried: Tried| match tried {
        Err(_) => Refused,
        Ok(0) => Maybe,
        Ok(_) => Denies,
    };
    for &(mistake, expected, commit, right) in NOTICED.iter().chain(UNNOTICED) {
        let tried = commit();
        assert_eq!(outcome(tried.clone()), expected, "{mistake}: {tried:?}");
        assert_eq!(right(), Ok(0), "rightly done: {mistake}");
    }
    assert!(NOTICED.iter().all(|row| row.1 != Denies) && UNNOTICED.iter().all(|row| row.1 == Denies));
    println!("counted: {} mistakes with ranges that are noticed, {} that are listed", NOTICED.len(), UNNOTICED.len());
}

/// The document lists what goes unnoticed, all of it and nothing else.
#[test]
fn the_document_lists_every_mistake_with_ranges() {
    let document = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/EMBEDDING.md")).expect("a document");
    let (_, section) = document.split_once("\n### Of range filters\n").expect("a section");
    let table = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = table.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        assert!(cells.len() == 5 && !cells[2].is_empty() && !cells[3].is_empty(), "{line}");
        cells[1]
    });
    assert_eq!(rows.collect::<Vec<_>>(), UNNOTICED.iter().map(|row| row.0).collect::<Vec<_>>());
}
