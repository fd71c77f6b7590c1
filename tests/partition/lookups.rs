//! The reader's side: what is loaded, and answers over many keys.

use crate::extent::by_extent;
use crate::harness::{Writer, exact, ordered, own_transform, sure};
use crate::material::{numbers, sized};
use filterblock::partition::{Lookup, PartitionLimit, PartitionedFilter};
use filterblock::{CustomTransform, FilterBlockBuilder, FilterKind, KeyHasher, KeyTransform, OpenOptions, Query};
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Keys of random lengths, with long common parts.
fn random_keys(seed: u64, count: usize) -> BTreeSet<Vec<u8>> {
    let random = numbers(seed).take(count).map(|number| {
        let len = number as usize % 12;
        (0..len)
            .map(|i| (number >> (8 + 2 * i)) as u8 & 3)
            .map(|two_bits| [0, 1, b'a', 255][two_bits as usize])
            .collect()
    });
    random.collect()
}

/// No stored key is denied, whatever the kind and the size of partitions, and at most one partition is loaded.
#[test]
fn stored_keys_are_found_with_one_load() {
    let keys = random_keys(1, by_extent(15_000, 60_000, 60_000));
    let mut answers = 0;
    for &kind in FilterKind::ALL {
        for (transform, limit) in [
            (KeyTransform::WholeKey, PartitionLimit::Bytes(256)),
            (KeyTransform::WholeKey, PartitionLimit::Bytes(32 << 10)),
            (KeyTransform::FixedPrefix { len: 5 }, PartitionLimit::Entries(7)),
            (KeyTransform::WholeKeyAndPrefix { len: 2 }, PartitionLimit::Entries(100)),
            (KeyTransform::Row, PartitionLimit::Entries(1000)),
        ] {
            let policy = sized(kind, 10.0).with_transform(transform);
            let mut writer = Writer::new(policy, limit, 1 << 40);
            let is_row = transform == KeyTransform::Row;
            let add = |key: &Vec<u8>| if is_row { writer.row(key) } else { writer.key(key) };
            keys.iter().map(add).for_each(|added| added.expect("in order"));
            let stored = writer.finish().expect("an index");
            let filter = stored.open(1 << 40);
            for key in &keys {
                let mut loads = 0;
                let load = |p| {
                    loads += 1;
                    stored.load(p)
                };
                let answer = if is_row {
                    filter.may_match(Query::Row(key), load)
                } else {
                    filter.may_match(Query::Key(key), load)
                };
                assert!(sure(answer), "{kind} {transform} {limit:?}: {key:?} denied");
                assert_eq!(loads, usize::from(is_row || transform.entry_of(key).is_some()));
                assert!(sure(filter.may_match(Query::Prefix(key), |p| stored.load(p))), "{kind} {transform}: {key:?}");
                answers += 1;
            }
            let above = [&keys.last().expect("keys")[..], &[0]].concat();
            if transform == KeyTransform::WholeKey {
                let absent = filter.may_match(Query::Key(&above), |_| -> Result<&[u8], Infallible> {
                    unreachable!("nothing to load")
                });
                assert_eq!(absent, Ok(false));
            }
        }
    }
    println!("counted: {answers} stored keys found in partitions of all kinds");
}

/// Over random sets: a partitioned filter denies no key that a block of all keys holds, and passes at its rate.
#[test]
fn absent_keys_pass_at_the_rate_of_the_partitions() {
    for &kind in FilterKind::ALL {
        let policy = sized(kind, 8.0);
        let mut writer = Writer::new(policy.clone(), PartitionLimit::Bytes(4096), 0);
        let mut whole = FilterBlockBuilder::new(&policy);
        for i in 0..100_000u32 {
            writer.key(&ordered(2 * i)).expect("in order");
            whole.add_key(&ordered(2 * i));
        }
        let (stored, whole) = (writer.finish().expect("an index"), whole.finish().expect("a block"));
        let filter = stored.open(0);
        let rates = filter.partitions().map(|p| {
            let Ok(block) = stored.load(p);
            let reader = filter.open_partition(p, block).expect("a block");
            reader.false_positive_rate() * reader.num_entries() as f64
        });
        // One absent key between any two neighbours: as many in each partition as it has entries.
        let expected = rates.sum::<f64>();
        let passed =
            (0..100_000u32).filter(|i| sure(filter.may_match(Query::Key(&ordered(2 * i + 1)), |p| stored.load(p))));
        let passed = passed.count() as f64;
        assert!((passed - expected).abs() <= 4.0 * expected.sqrt(), "{kind}: {passed} of {expected} expected");
        let bytes = stored.file.len() + stored.index.len();
        assert!(bytes < whole.len() + whole.len() / 12, "{kind}: {bytes} bytes, whole {}", whole.len());
    }
}

/// Calls that do not determine an entry are *maybe*, without a load.
#[test]
fn calls_that_do_not_fit_the_transform_are_maybe() {
    let never = |_| -> Result<&[u8], Infallible> { unreachable!("nothing to load") };
    for transform in [KeyTransform::WholeKey, KeyTransform::Row, KeyTransform::RowColumn, own_transform()] {
        // Without entries, so that a call that does not fit would answer "no".
        let stored = Writer::new(exact(transform), PartitionLimit::default(), 0).finish_any().expect("an index");
        let filter = stored.open(0);
        let by_key = transform == KeyTransform::WholeKey;
        assert_eq!(filter.may_match(Query::Key(b"k"), never), Ok(!by_key), "{transform}");
        assert_eq!(filter.may_match(Query::Row(b"k"), never), Ok(transform != KeyTransform::Row), "{transform}");
        assert_eq!(filter.may_match(Query::Prefix(b"k"), never), Ok(true), "{transform}");
        let is_pair = matches!(transform, KeyTransform::Row | KeyTransform::RowColumn);
        assert_eq!(filter.may_match(Query::Cell(b"k", b"c"), never), Ok(!is_pair), "{transform}");
        let answer = filter.may_match(Query::Entry { order_key: b"k", entry: b"k" }, never);
        assert_eq!(answer, Ok(transform != own_transform()), "{transform}");
    }
}

/// An engine that loads by itself: finds, keeps partitions opened, and hashes a key once for many tables.
#[test]
fn an_engine_may_keep_partitions_opened() {
    let policy = sized(FilterKind::Golomb, 12.0).with_seed(3);
    let mut writer = Writer::new(policy.clone(), PartitionLimit::Entries(64), 5);
    (0..500u32).for_each(|i| writer.key(&ordered(i)).expect("in order"));
    let stored = writer.finish().expect("an index");
    let options = OpenOptions::new().with_context(5).expect_hasher(&KeyHasher::new(3));
    let filter = PartitionedFilter::open(stored.index.clone(), options).expect("sound");
    let opened: Vec<_> = filter
        .partitions()
        .map(|p| {
            let Ok(block) = stored.load(p);
            filter.partition_options(p).open_owned(block.to_vec()).expect("a block")
        })
        .collect();
    for i in 0..500u32 {
        let key = ordered(i);
        let hash = policy.hasher().hash(&key);
        let partition = filter.find(Query::Key(&key)).partitions().next().expect("a partition");
        assert!(opened[partition.number as usize].may_contain_hash(hash));
    }
    assert_eq!(filter.as_bytes(), stored.index);
    assert!(format!("{filter:?}").len() < 300);
}

/// An engine that finds partitions ahead of its lookups is led to the one that answers, whatever the transform.
#[test]
fn an_engine_that_loads_ahead_denies_no_stored_key() {
    let keys: Vec<Vec<u8>> = random_keys(5, 2_000).into_iter().collect();
    let absent: Vec<Vec<u8>> = random_keys(6, 2_000).into_iter().collect();
    for transform in [
        KeyTransform::WholeKey,
        KeyTransform::Row,
        KeyTransform::RowColumn,
        KeyTransform::FixedPrefix { len: 3 },
        KeyTransform::WholeKeyAndPrefix { len: 3 },
    ] {
        let mut writer = Writer::new(exact(transform), PartitionLimit::Entries(3), 0);
        for key in &keys {
            match transform {
                KeyTransform::Row => writer.row(key),
                KeyTransform::RowColumn => writer.pair(key, b"c"),
                _ => writer.key(key),
            }
            .expect("in order");
        }
        let stored = writer.finish().expect("an index");
        let options = OpenOptions::new().expect_transform(transform);
        let filter = PartitionedFilter::open(&stored.index[..], options).expect("a sound index");
        let answer = |query: Query<'_>| match filter.find(query) {
            Lookup::Partitions(p, None) => {
                let Ok(block) = stored.load(p);
                filter.open_partition(p, block).expect("a block").may_match(query)
            }
            found => found.answer().expect("no partition"),
        };
        let load = |p| stored.load(p);
        for (key, is_stored) in keys.iter().map(|key| (key, true)).chain(absent.iter().map(|key| (key, false))) {
            let queries = [Query::Key(key), Query::Prefix(key), Query::Row(key), Query::Cell(key, b"c")];
            let answers = queries.map(answer);
            assert!(!is_stored || answers == [true; 4], "{transform}: {key:?} denied, {answers:?}");
            let by_calls = queries.map(|query| sure(filter.may_match(query, load)));
            assert_eq!(by_calls, answers, "{transform}: {key:?}");
        }
        assert_eq!(filter.entry_hasher().transform(), transform);
    }
}

/// An index does not say at which order keys an engine added its entries. Whatever code a reader has, a key is *maybe*,
/// and a builder that has code takes entries at order keys, not keys.
#[test]
fn keys_are_maybe_under_an_engines_own_transform() {
    fn after_dot(key: &[u8]) -> Option<&[u8]> {
        key.iter().position(|&byte| byte == b'.').map(|at| &key[at + 1..])
    }
    let custom = CustomTransform::new(202, 0).expect("legal");
    let policy = exact(KeyTransform::WholeKey)
        .with_custom_transform(custom, |key, take| after_dot(key).into_iter().for_each(take));
    let mut refused = Writer::new(policy.clone(), PartitionLimit::Entries(1), 0);
    assert!(refused.key(b"a.7").is_err());

    let mut writer = Writer::new(policy.clone(), PartitionLimit::Entries(1), 0);
    let keys = ["a.7", "b.5", "c.9", "d.1"].map(str::as_bytes);
    for key in keys {
        writer.entry(key, after_dot(key).expect("a dot")).expect("in order");
    }
    let stored = writer.finish().expect("an index");
    let options = OpenOptions::new().expect(&policy);
    let filter = PartitionedFilter::open(&stored.index[..], options).expect("a sound index");
    let load = |p| stored.load(p);
    for key in keys {
        assert_eq!(filter.find(Query::Key(key)), Lookup::NoEntry);
        assert!(sure(filter.may_match(Query::Key(key), load)) && sure(filter.may_match(Query::Prefix(key), load)));
        assert!(sure(filter.may_match(Query::Entry { order_key: key, entry: after_dot(key).expect("a dot") }, load)));
    }
    assert!(sure(filter.may_match(Query::Key(b"z.7"), load)));
    assert!(!sure(filter.may_match(Query::Entry { order_key: b"z.7", entry: b"7" }, load)));
}
