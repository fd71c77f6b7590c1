//! The calls of releases from 0.2.0 on.

use crate::{CONTEXT, Files, OfRanges, Seen};
use filterblock::partition::{PartitionHandle, PartitionedRangeFilter};
use filterblock::{OpenOptions, Query};
use filterblock_set::{FilterSet, Opening, Value};
use std::convert::Infallible;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// The released reader's answer; its calls are the same for all frames.
macro_rules! released_answer {
    ($filter:expr, $query:expr $(, $load:expr)?) => {
        $filter.may_match(api::query($query) $(, $load)?)
    };
}

pub fn query(query: Query<'_>) -> released::Query<'_> {
    match query {
        Query::Key(key) => released::Query::Key(key),
        Query::Prefix(prefix) => released::Query::Prefix(prefix),
        Query::Row(row) => released::Query::Row(row),
        Query::Cell(row, column) => released::Query::Cell(row, column),
        Query::Range(lower, upper) => released::Query::Range(lower, upper),
        other => unreachable!("{other:?}"),
    }
}

/// Of every second key, which is stored, of those between, and of the ranges between stored ones.
pub fn ranges(what: &str, made: &OfRanges, keys: &[Vec<u8>], [blocks, indexes]: [&mut Seen; 2]) {
    let OfRanges { block, file, index } = made;
    let (options, released) =
        (OpenOptions::new().with_context(CONTEXT), released::OpenOptions::new().with_context(CONTEXT));
    let today = options.open_ranges(&block[..]).expect("intact");
    let filter = released.open_ranges(&block[..]).expect("version 1");
    let partitions = PartitionedRangeFilter::open(&index[..], options).expect("intact");
    let of_release = released::partition::PartitionedRangeFilter::open(&index[..], released).expect("version 1");
    let part = |offset: u64, len: u32| Ok::<_, Infallible>(&file[offset as usize..][..len as usize]);
    for (i, key) in keys.iter().enumerate() {
        let next = keys.get(i + 1).map_or(Unbounded, |next| Excluded(&next[..]));
        let after = Query::Range(Excluded(key), next);
        for (asked, is_stored) in [
            (Query::Key(key), i % 2 == 0),
            (Query::Prefix(key), i % 2 == 0),
            (Query::Range(Included(key), next), i % 2 == 0),
            (after, false),
        ] {
            blocks.compare(what, is_stored, filter.may_match(query(asked)), today.may_match(asked));
            let Ok(today) = partitions.may_match(asked, |at: PartitionHandle| part(at.offset, at.len)) else {
                panic!("{what}: intact")
            };
            let answer = of_release
                .may_match(query(asked), |at: released::partition::PartitionHandle| part(at.offset, at.len))
                .expect("version 1");
            indexes.compare(what, is_stored, answer, today);
        }
    }
    blocks.read += 1;
    indexes.read += 1;
}

/// Each number of each file, in all files.
pub fn set(object: &[u8], files: &Files, seen: &mut Seen) {
    use released_set::Value as ReleasedValue;
    let len = object.len() as u64;
    let Ok(Opening::Ready(today)) = FilterSet::open(len, object, None) else { panic!("intact") };
    let Ok(released_set::Opening::Ready(set)) = released_set::FilterSet::open(len, object, None) else {
        panic!("version 1")
    };
    let ids: Vec<i64> = files.iter().flat_map(|(_, _, ids)| ids).copied().collect();
    let fetch = |at: std::ops::Range<u64>| Ok::<_, Infallible>(&object[at.start as usize..at.end as usize]);
    let names = || files.iter().map(|(name, identity, _)| (name, *identity));
    // Each query is of the set that answers it.
    let (of_today, of_release) = (today.select(names()), set.select(names()));
    let query = today.query(b"id", ids.iter().map(|&id| Value::Int(id)));
    let mut lookup = today.lookup(&query, &of_today);
    let Ok(()) = lookup.load(64, fetch);
    let expected = lookup.each();
    let query = set.query(b"id", ids.iter().map(|&id| ReleasedValue::Int(id)));
    let mut lookup = set.lookup(&query, &of_release);
    let Ok(()) = lookup.load(64, fetch);
    for ((id, answer), expected) in ids.iter().zip(lookup.each()).zip(expected) {
        for (file, (name, _, stored)) in files.iter().enumerate() {
            seen.compare(name, stored.contains(id), answer.contains(file), expected.contains(file));
        }
    }
    seen.read += 1;
}
