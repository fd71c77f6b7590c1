//! Partitioned range filters: every set of short keys and every range of them, against a plain search; damage; misuse.

use crate::assembled::repair;
use crate::harness::{self, Stored, Writer, exact, strings, subset};
use filterblock::partition::{Lookup, PartitionError, PartitionLimit, PartitionedFilter, PartitionedRangeFilter};
use filterblock::range::RangePolicy;
use filterblock::{DecodeError, KeyTransform, OpenOptions, Query};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::RangeBounds;

const CONTEXT: u64 = 7;

/// A policy that tells all short keys apart.
fn long() -> RangePolicy {
    RangePolicy::with_bits_per_key(200.0).expect("legal")
}

fn open(stored: &Stored) -> PartitionedRangeFilter<&[u8]> {
    PartitionedRangeFilter::open(&stored.index[..], OpenOptions::new().with_context(CONTEXT)).expect("a sound index")
}

/// Checks a lookup of the keys of which `is_in` says that they are in a range, and returns whether it was denied.
fn check(stored: &Stored, filter: &PartitionedRangeFilter<&[u8]>, keys: &[&Vec<u8>], query: Query<'_>) -> bool {
    let has_key = keys.iter().any(|key| names(query, key)) || !is_ordered(query);
    let (found, mut num_loaded) = (filter.find(query), 0);
    match found {
        found if !is_ordered(query) => assert_eq!(found, Lookup::Present, "{query:?} of {keys:?}"),
        Lookup::Absent => assert!(!has_key, "{query:?} of {keys:?}"),
        Lookup::Present => assert!(has_key, "{query:?} of {keys:?}"),
        Lookup::Partitions(first, second) => {
            assert!(second.is_none_or(|second| second.number == first.number + 1), "{query:?} of {keys:?}");
        }
        _ => panic!("{query:?} is one of ranges"),
    }
    let answer = filter.may_match(query, |partition| {
        num_loaded += 1;
        stored.load(partition)
    });
    let answer = answer.expect("sound partitions");
    assert!(answer || !has_key, "{query:?} denied, of {keys:?}");
    let most = if matches!(query, Query::Prefix(_) | Query::Key(_)) { 1 } else { 2 };
    assert!(num_loaded <= most, "{query:?} of {keys:?}");
    !answer
}

/// Whether a query names a key.
fn names(query: Query<'_>, key: &[u8]) -> bool {
    match query {
        Query::Prefix(prefix) => key.starts_with(prefix),
        Query::Key(sought) => key == sought,
        Query::Range(lower, upper) => (lower, upper).contains(key),
        _ => panic!("{query:?}"),
    }
}

/// Whether a scan with these bounds may find something.
fn is_ordered(query: Query<'_>) -> bool {
    match query {
        Query::Range(Included(lower), Included(upper)) => lower <= upper,
        Query::Range(Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower < upper,
        _ => true,
    }
}

#[test]
fn every_range_of_every_set_of_short_keys() {
    let (mut answers, mut denied, mut absent) = (0u64, 0u64, 0u64);
    for alphabet in [*b"ac", [254, 255], [0, 1]] {
        let all = strings(&alphabet, 2);
        let of_key = |key: &'_ Vec<u8>| [Included(key.clone()), Excluded(key.clone())];
        let bounds: Vec<_> = all.iter().flat_map(of_key).chain([Unbounded]).collect();
        let bounds: Vec<_> = bounds.iter().map(|bound| bound.as_ref().map(|key| &key[..])).collect();
        let ranges = bounds.iter().flat_map(|&lower| bounds.iter().map(move |&upper| Query::Range(lower, upper)));
        let queries: Vec<_> = ranges.chain(all.iter().flat_map(|key| [Query::Prefix(key), Query::Key(key)])).collect();
        for set in 0..1 << all.len() {
            let keys: Vec<_> = subset(&all, set).collect();
            for entries in 1..=3 {
                let stored = harness::ranges(CONTEXT, long(), PartitionLimit::Entries(entries), keys.iter().copied());
                let filter = open(&stored);
                for query in &queries {
                    denied += u64::from(check(&stored, &filter, &keys, *query));
                    absent += u64::from(is_ordered(*query) && !keys.iter().any(|key| names(*query, key)));
                    answers += 1;
                }
            }
        }
    }
    // What a filter cannot know is where a key ends.
    assert!(denied * 10 > absent * 7, "{denied} of {absent} empty ranges denied");
    println!("counted: {answers} answers for ranges of partitions, {denied} of {absent} empty ones denied");
}

#[test]
fn partitions_of_many_keys() {
    let keys: Vec<_> =
        (0..20_000).map(|i| format!("site{:03}/page{:05}", i / 200, i * 7 % 1_400).into_bytes()).collect();
    let mut keys: Vec<_> = keys.iter().collect();
    keys.sort();
    let stored =
        harness::ranges(CONTEXT, "range:20".parse().expect("legal"), PartitionLimit::Bytes(1024), keys.iter().copied());
    let filter = open(&stored);
    assert!((40..=60).contains(&filter.partitions().len()), "{}", filter.partitions().len());
    assert_eq!(filter.num_entries(), 20_000);
    let mut denied = 0;
    for i in 0..20_000 {
        denied += u32::from(check(&stored, &filter, &keys, Query::Key(keys[i])));
        let at = i * 13 % 1_400;
        let [lower, upper] = [at, at + 3].map(|page| format!("site{:03}/page{page:05}", i % 101).into_bytes());
        denied += u32::from(check(&stored, &filter, &keys, Query::Range(Included(&lower), Excluded(&upper))));
        denied += u32::from(check(&stored, &filter, &keys, Query::Prefix(&lower)));
    }
    assert!(denied > 20_000, "{denied}");
}

#[test]
fn what_is_damaged_or_of_another_kind_is_an_error() {
    let keys: Vec<_> = (0..30u8).map(|i| vec![i, 1]).collect();
    let stored = harness::ranges(CONTEXT, long(), PartitionLimit::Entries(10), &keys);
    for at in 0..stored.file.len() {
        let mut damaged = stored.clone();
        damaged.file[at] ^= 1;
        let filter = open(&damaged);
        let victim = filter.partitions().find(|p| (at as u64) < p.offset + u64::from(p.len)).expect("in a partition");
        for (number, partition) in (0..).zip(filter.partitions()) {
            let answer = filter.may_match(Query::Prefix(&[number as u8 * 10 + 5]), |p| damaged.load(p));
            match partition == victim {
                true => assert!(matches!(answer, Err(PartitionError::Decode { partition, .. }) if partition == number)),
                false => assert_eq!(answer, Ok(true)),
            }
        }
    }
}

/// An index is refused as one of the other family, also where its hasher and transform are what that one states; and so
/// are its partitions, for an engine that opens them by itself.
#[test]
fn an_index_of_the_other_family_is_refused() {
    let keys: Vec<_> = (0..30u8).map(|i| vec![i, 1]).collect();
    let options = || OpenOptions::new().with_context(CONTEXT);
    for keys in [&keys[..], &[]] {
        let ranges = harness::ranges(CONTEXT, long(), PartitionLimit::Entries(10), keys);
        let mut writer = Writer::new(exact(KeyTransform::WholeKey).with_seed(0), PartitionLimit::Entries(10), CONTEXT);
        keys.iter().for_each(|key| writer.key(key).expect("in order"));
        let points = writer.finish_any().expect("an index");
        assert_eq!((points.index[9], ranges.index[9]), (0, 6));
        let as_points = PartitionedFilter::open(&ranges.index[..], options()).map(|_| ());
        assert_eq!(as_points, Err(DecodeError::WrongFamily { found: 6 }));
        let as_ranges = PartitionedRangeFilter::open(&points.index[..], options()).map(|_| ());
        assert_eq!(as_ranges, Err(DecodeError::WrongFamily { found: 0 }));
        for (stored, family) in [(&points, 0), (&ranges, 6)] {
            for found in (1..=255).filter(|&found| found != 6) {
                let mut index = stored.index.clone();
                index[9] = found;
                repair(&mut index, CONTEXT);
                let newer = Err(DecodeError::UnknownKind { found });
                match family {
                    0 => assert_eq!(PartitionedFilter::open(&index[..], options()).map(|_| ()), newer),
                    _ => assert_eq!(PartitionedRangeFilter::open(&index[..], options()).map(|_| ()), newer),
                }
            }
        }
        let (of_points, of_ranges) = (points.open(CONTEXT), open(&ranges));
        for (point, range) in of_points.partitions().zip(of_ranges.partitions()) {
            let (Ok(block_of_point), Ok(block_of_range)) = (points.load(point), ranges.load(range));
            let found = block_of_point[9];
            let error = of_ranges.open_partition(range, block_of_point).map(|_| ());
            assert_eq!(error, Err(DecodeError::WrongFamily { found }));
            let error = of_points.open_partition(point, block_of_range).map(|_| ());
            assert_eq!(error, Err(DecodeError::WrongFamily { found: 6 }));
        }
    }
}
