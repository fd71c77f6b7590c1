//! format-spec.md's section 16: its vectors, against the library.

use crate::material::hex;
use crate::spec::compare;
use filterblock::OpenOptions;
use filterblock::range::{RangeFilter, RangeFilterBuilder, RangePolicy};
use std::ops::Bound::{self, Excluded, Included, Unbounded};

type Range = (Bound<&'static str>, Bound<&'static str>);

fn line(name: &str, bits: f64, keys: &[String], ranges: &[Range], prefixes: &[&str]) -> Vec<String> {
    let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(bits).expect("legal"));
    builder.allow_empty();
    keys.iter().for_each(|key| builder.add_key(key.as_bytes()));
    let block = builder.finish().expect("a filter");
    let filter = RangeFilter::open(&block[..], &OpenOptions::new()).expect("just written");
    let answer = |may_contain| if may_contain { "maybe" } else { "no" };
    let mut lines = vec![format!("{name} {}", hex(&block))];
    for &(lower, upper) in ranges {
        let ends = |bound, [included, excluded]: [char; 2]| match bound {
            Unbounded => (excluded, "-".to_owned()),
            Included(key) => (included, hex(str::as_bytes(key))),
            Excluded(key) => (excluded, hex(str::as_bytes(key))),
        };
        let ((open, from), (close, to)) = (ends(lower, ['[', '(']), ends(upper, [']', ')']));
        let may_contain = filter.may_contain_range(lower.map(str::as_bytes), upper.map(str::as_bytes));
        lines.push(format!("{name} {open}{from},{to}{close} {}", answer(may_contain)));
    }
    for prefix in prefixes {
        let may_contain = filter.may_contain_prefix(prefix.as_bytes());
        lines.push(format!("{name} {}* {}", hex(prefix.as_bytes()), answer(may_contain)));
    }
    lines
}

#[test]
fn range_vectors() {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let squares: Vec<String> = (0..200).map(|i: u32| format!("n{}", i * i)).collect();
    let lines = [
        line("none", 20.0, &[], &[(Unbounded, Unbounded)], &[""]),
        line("words", 192.0, &texts(&["ant", "ape", "apple"]), WORDS, &["", "a", "ap", "app", "aq", "b"]),
        line("ends", 160.0, &texts(&["", "\0", "a", "a\0b"]), ENDS, &["a", "b"]),
        line("squares", 12.0, &squares, SQUARES, &["n", "n4", "n40", "n1/", "n1z", "o"]),
    ];
    compare("range", &lines.concat());
}

const WORDS: &[Range] = &[
    (Included("apple"), Included("apple")),
    (Excluded("ape"), Excluded("apple")),
    (Included("b"), Unbounded),
    (Included("apf"), Excluded("app")),
    (Included("apple"), Excluded("apple")),
    (Included("apple"), Included("ape")),
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

const SQUARES: &[Range] = &[
    (Included("n"), Excluded("n0")),
    (Included("n0"), Included("n0")),
    (Included("n10"), Included("n100")),
    (Included("n1x"), Included("n1z")),
    (Included("n1x"), Included("n2")),
    (Included("n10/"), Included("n100")),
    (Included("n101"), Included("n102")),
    (Included("m"), Included("o")),
    (Included("n99"), Unbounded),
];
