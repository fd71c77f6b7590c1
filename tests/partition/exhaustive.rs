//! Every set of short keys, partitions of one, two and three entries, every lookup by key and by prefix, against a
//! plain search of the keys. Prefixes at the bounds of partitions are where others have denied stored keys.

use crate::extent::by_extent;
use crate::harness::{Stored, Writer, exact, own_transform, strings, subset, sure};
use crate::material::upto;
use filterblock::KeyTransform;
use filterblock::Query;
use filterblock::partition::{PartitionLimit, PartitionedFilter};

/// With neighbours between which no byte lies, and with the least and the greatest byte.
const ALPHABETS: [[u8; 2]; 3] = [*b"ac", [254, 255], [0, 1]];

/// For every subset of the strings of at most 3 bytes of each alphabet, and for each limit. The small plan takes
/// strings of 2 bytes of the alphabets after the first.
fn each_set(mut check: impl FnMut(&[Vec<u8>], &[&Vec<u8>], PartitionLimit)) {
    let lens = by_extent([3, 2, 2], [3; 3], [3; 3]);
    for (alphabet, len) in ALPHABETS.into_iter().zip(lens) {
        let all = strings(&alphabet, len);
        for set in 0..1 << all.len() {
            let keys: Vec<_> = subset(&all, set).collect();
            for entries in 1..=3 {
                check(&all, &keys, PartitionLimit::Entries(entries));
            }
        }
    }
}

fn of_keys(transform: KeyTransform, limit: PartitionLimit, keys: &[&Vec<u8>]) -> Stored {
    let mut writer = Writer::new(exact(transform), limit, 0);
    keys.iter().for_each(|key| match transform {
        KeyTransform::Row => writer.row(key).expect("in order"),
        _ => writer.key(key).expect("in order"),
    });
    writer.finish_any().expect("an index")
}

/// Compares the answers to each string as a key and as a prefix with those of `expected`; returns their number.
fn compare(transform: KeyTransform, expected: impl Fn(&[&Vec<u8>], &Vec<u8>) -> [bool; 2]) -> u64 {
    let mut answers = 0;
    each_set(|all, keys, limit| {
        let stored = of_keys(transform, limit, keys);
        let filter = stored.open(0);
        for query in all {
            let asked = [Query::Key(query), Query::Prefix(query)];
            let found = asked.map(|query| sure(filter.may_match(query, |p| stored.load(p))));
            assert_eq!(found, expected(keys, query), "{keys:?} {query:?} {transform} {limit:?}");
            answers += 2;
        }
        if let (KeyTransform::WholeKey, PartitionLimit::Entries(entries)) = (transform, limit) {
            assert_eq!(filter.partitions().len(), keys.len().div_ceil(entries as usize));
            assert_eq!(filter.num_entries(), keys.len() as u64);
        }
    });
    answers
}

fn has(keys: &[&Vec<u8>], prefix: &[u8]) -> bool {
    keys.iter().any(|key| key.starts_with(prefix))
}

/// What is shorter than the filter's prefixes, or not delimited, has no entry.
#[test]
fn whole_keys_or_prefixes() {
    let mut answers = compare(KeyTransform::WholeKey, |keys, key| [keys.contains(&key), true]);
    for (delimiter, levels) in [(b'c', 1), (b'a', 2), (255, 255), (0, 2)] {
        let transform = KeyTransform::DelimitedPrefix { delimiter, levels };
        let param = transform.to_wire().param;
        answers += compare(transform, |keys, query| [upto(query, param).is_none_or(|entry| has(keys, entry)); 2]);
    }
    println!("counted: {answers} answers for whole keys and delimited prefixes as those of a plain search");
}

/// A prefix spans bounds, and is found at the prefix itself. It has the bytes of a key of its length.
#[test]
fn prefixes_of_fixed_length_alone_and_beside_keys() {
    let mut answers = 0;
    for len in 0..=3u16 {
        let has_entry = |keys: &[&_], query: &Vec<u8>| query.get(..len.into()).is_none_or(|prefix| has(keys, prefix));
        answers += compare(KeyTransform::FixedPrefix { len }, |keys, query| [has_entry(keys, query); 2]);
        answers += compare(KeyTransform::WholeKeyAndPrefix { len }, |keys, query| {
            let is_prefix = query.len() == usize::from(len) && has(keys, query);
            [keys.contains(&query) || is_prefix, has_entry(keys, query)]
        });
    }
    println!("counted: {answers} answers for prefixes of fixed length as those of a plain search");
}

/// An engine that adds whole keys and their prefixes of every length, at the keys. A prefix spans bounds, and must be
/// found both at each of its keys and at the prefix itself.
#[test]
fn whole_keys_and_prefixes_of_any_length_together() {
    let tagged = |tag: u8, string: &[u8]| [&[tag], string].concat();
    let mut answers = 0u64;
    each_set(|all, keys, limit| {
        let mut writer = Writer::new(exact(own_transform()), limit, 0);
        for key in keys {
            let prefixes = (0..=key.len()).map(|len| tagged(b'p', &key[..len]));
            for entry in prefixes.chain([tagged(b'k', key)]) {
                writer.entry(key, &entry).expect("in order");
            }
        }
        let stored = writer.finish_any().expect("an index");
        let filter = stored.open(0);
        let ask = |order_key: &[u8], entry: &[u8]| {
            sure(filter.may_match(Query::Entry { order_key, entry }, |p| stored.load(p)))
        };
        for query in all {
            assert_eq!(ask(query, &tagged(b'k', query)), keys.contains(&query), "{keys:?} {query:?}");
            assert_eq!(ask(query, &tagged(b'p', query)), has(keys, query), "{keys:?} {query:?} {limit:?}");
            answers += 2;
        }
        for key in keys {
            for len in 0..=key.len() {
                assert!(ask(key, &tagged(b'p', &key[..len])), "{keys:?} {key:?} {len} {limit:?}");
                answers += 1;
            }
        }
    });
    println!("counted: {answers} answers for keys and prefixes in one filter");
}

#[test]
fn rows_and_columns() {
    let mut answers = 0u64;
    let alphabets: &[_] = by_extent(&[[0, 1, 255]], &[[0, 1, 255], [0, 97, 99]], &[[0, 1, 255], [0, 97, 99]]);
    for alphabet in alphabets {
        let parts = strings(alphabet, 1);
        let pairs: Vec<_> = parts.iter().flat_map(|row| parts.iter().map(move |column| (row, column))).collect();
        for set in 0..1 << pairs.len() {
            let stored_pairs: Vec<_> = subset(&pairs, set).copied().collect();
            let limit = PartitionLimit::Entries(1 + set as u64 % 3);
            let mut writer = Writer::new(exact(KeyTransform::RowColumn), limit, 0);
            stored_pairs.iter().for_each(|(row, column)| writer.pair(row, column).expect("in order"));
            let stored = writer.finish_any().expect("an index");
            let filter = stored.open(0);
            for (row, column) in &pairs {
                let answer = sure(filter.may_match(Query::Cell(row, column), |p| stored.load(p)));
                assert_eq!(answer, stored_pairs.contains(&(row, column)), "{stored_pairs:?} {row:?} {column:?}");
                answers += 1;
            }
        }
    }
    println!("counted: {answers} answers for pairs as those of a plain search");
}

/// Rows come once for each of their cells.
#[test]
fn rows_with_repeated_neighbours() {
    for alphabet in ALPHABETS {
        let all = strings(&alphabet, 2);
        for set in 0..1 << all.len() {
            let rows: Vec<_> = subset(&all, set).collect();
            let repeated: Vec<_> = rows.iter().flat_map(|row| std::iter::repeat_n(*row, 1 + row.len())).collect();
            let limit = PartitionLimit::Entries(2);
            let stored = of_keys(KeyTransform::Row, limit, &repeated);
            assert_eq!(stored, of_keys(KeyTransform::Row, limit, &rows), "repeated neighbours change nothing");
            let filter = stored.open(0);
            for row in &all {
                let answer = sure(filter.may_match(Query::Row(row), |p| stored.load(p)));
                assert_eq!(answer, rows.contains(&row), "{rows:?} {row:?}");
                assert!(sure(filter.may_match(Query::Key(row), |p| stored.load(p))), "a key of one part has no entry");
            }
        }
    }
}

/// A control of the tests above: with separators that are only below the next key, not below its prefixes, and without
/// the prefix in the partition before, a stored prefix is denied.
#[test]
fn a_separator_that_is_too_high_would_be_seen() {
    let mut writer = Writer::new(exact(own_transform()), PartitionLimit::Entries(1), 0);
    for (key, prefix) in [(b"ab".as_slice(), b"a"), (b"bzz", b"b")] {
        writer.entry(key, prefix).expect("in order");
    }
    let mut stored = writer.finish().expect("an index");
    let asks = |stored: &Stored| {
        let filter: PartitionedFilter<_> = stored.open(0);
        sure(filter.may_match(Query::Entry { order_key: b"b", entry: b"b" }, |p| stored.load(p)))
    };
    assert!(asks(&stored));
    // "ab" becomes "b": still at least every key of its partition, and below "bzz".
    let separators = 64 + 2 * 16;
    assert_eq!(&stored.index[separators..], b"abbzz");
    stored.index.remove(separators);
    stored.index[64 + 12] -= 1;
    stored.index[64 + 16 + 12] -= 1;
    crate::damage::repair(&mut stored.index, 0);
    assert!(!asks(&stored), "this index denies a stored prefix");
}
