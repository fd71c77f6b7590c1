use super::Reached;
use crate::blocks::{HASH_KEY, names_a_key};
use crate::oracle::{int, mix};
use crate::repair::{HEADER_LEN, Repair, repair, seal};
use filterblock::partition::{
    INDEX_MAGIC, Lookup, PartitionError, PartitionHandle, PartitionedFilter, PartitionedRangeFilter,
};
use filterblock::{BlockKind, DecodeError, KeyHasher, KeyTransform, OpenOptions, Query};
use filterblock_portable as portable;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// The index as it is, under no context.
const AS_IT_IS: u8 = 255;

/// A mode byte, the length of an index in two bytes, the index, and what the engine loads for each partition. Unless
/// the mode is `AS_IT_IS`, the checksums of both are computed before they are opened.
pub fn partitioned(input: &[u8]) -> Reached {
    let Some((&[mode, low, high], rest)) = input.split_first_chunk() else { return Reached::Nothing };
    let Some((index, block)) = rest.split_at_checked(int(&[low, high]) as usize) else { return Reached::Nothing };
    let (mut index, mut context) = (index.to_vec(), 0);
    if mode != AS_IT_IS {
        let repair = Repair::from_mode(mode);
        if index.len() < HEADER_LEN {
            return Reached::Nothing;
        }
        context = repair.context;
        seal(&mut index, &INDEX_MAGIC, repair);
    }
    let key = names_a_key(&index).then_some(HASH_KEY);
    let options = OpenOptions::new().with_context(context);
    let options = key.map_or(options.clone(), |key| options.expect_hasher(&KeyHasher::keyed(key)));
    let portable = portable::OpenOptions::new().with_context(context);
    let portable = key.map_or(portable.clone(), |key| portable.expect_hasher(&portable::KeyHasher::keyed(key)));

    let opened = PartitionedFilter::open(&index[..], options.clone());
    let by_portable = portable::partition::PartitionedFilter::open(&index[..], portable);
    match (opened, by_portable) {
        (Ok(filter), Ok(portable)) => {
            look_up(&filter, &portable, &index, (mode != AS_IT_IS).then_some(context), block);
            PartitionedFilter::open(&index[..], options.with_digest_check(false)).expect("digest or not");
            Reached::Compared
        }
        (Err(error), Err(portable)) => {
            assert_eq!(error.to_string(), portable.to_string());
            let trusted = PartitionedFilter::open(&index[..], options.with_digest_check(false)).err();
            assert!(
                matches!(error, DecodeError::PayloadDigest { .. }) || trusted == Some(error),
                "{error} {trusted:?}"
            );
            Reached::Refused
        }
        (opened, portable) => panic!("{opened:?} {portable:?}"),
    }
}

fn look_up(
    filter: &PartitionedFilter<&[u8]>,
    portable: &portable::partition::PartitionedFilter<&[u8]>,
    index: &[u8],
    sealed_under: Option<u64>,
    block: &[u8],
) {
    let separators = separators(index);
    assert_eq!(filter.partitions().len(), separators.len());
    assert!(separators.is_sorted_by(|a, b| a < b));
    let loaded = |p: PartitionHandle| {
        let mut block = block.to_vec();
        if let Some(context) = sealed_under.filter(|_| block.len() >= HEADER_LEN) {
            let context = mix(context ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(p.number.into());
            repair(&mut block, Repair::all(context));
        }
        Ok::<_, PartitionHandle>(block)
    };
    let queries = separators.iter().take(20).flat_map(|separator| {
        let shorter = separator.split_last().map_or(&separator[..0], |(_, shorter)| shorter);
        [separator.to_vec(), [separator, &[0][..]].concat(), shorter.to_vec()]
    });
    let queries: Vec<_> = queries.chain([vec![], b"com.example.00001/".to_vec(), vec![255; 40]]).collect();
    if let Some(context) = sealed_under {
        let index = as_one_of_ranges(index, context);
        let options = OpenOptions::new().with_context(context);
        let ranges = PartitionedRangeFilter::open(&index[..], options.clone()).expect("what else it states is sound");
        queries.iter().zip(queries.iter().rev()).for_each(|(a, b)| look_up_ranges(&ranges, &separators, a, b));
        let error = PartitionedFilter::open(&index[..], options).map(|_| ());
        assert_eq!(error, Err(DecodeError::WrongFamily { found: BlockKind::Ranges.tag() }));
    }
    for query in queries {
        let transform = filter.entry_hasher().transform();
        let lookup = |order_key: &[u8]| {
            let at = separators.iter().position(|separator| *separator >= order_key);
            at.and_then(|at| filter.partitions().nth(at)).map_or(Lookup::Absent, |at| Lookup::Partitions(at, None))
        };
        let unless = |has_entry: bool, order_key: &[u8]| if has_entry { lookup(order_key) } else { Lookup::NoEntry };
        let of_key = transform.entry_of(&query);
        let pair = [&query[..], &[0, 0], b"title"].concat();
        let of_cell = match transform {
            KeyTransform::RowColumn => lookup(&pair),
            transform => unless(transform == KeyTransform::Row, &query),
        };
        let is_own = matches!(transform, KeyTransform::Custom(_));
        let expected = [
            (Query::Key(&query), of_key.map_or(Lookup::NoEntry, lookup)),
            (Query::Row(&query), unless(transform == KeyTransform::Row, &query)),
            (Query::Entry { order_key: &query, entry: b"entry" }, unless(is_own, &query)),
            (Query::Range(Included(&query), Unbounded), Lookup::NoEntry),
        ];
        let cell = (!query.contains(&0)).then_some((Query::Cell(&query, b"title"), of_cell));
        for (query, expected) in expected.into_iter().chain(cell) {
            assert_eq!(filter.find(query), expected, "{query:?}");
        }
        let by_portable = portable.find(portable::Query::Key(&query));
        assert_eq!(format!("{by_portable:?}"), format!("{:?}", filter.find(Query::Key(&query))));
        // What cannot be loaded is an error, and never "no".
        match filter.may_match(Query::Key(&query), Err::<&[u8], _>) {
            Ok(answer) => assert_eq!(Some(answer), filter.find(Query::Key(&query)).answer()),
            Err(PartitionError::Load { partition, error }) => assert_eq!(partition, error.number),
            Err(error) => panic!("{error:?}"),
        }
        match filter.may_match(Query::Key(&query), loaded) {
            Ok(_) => {}
            Err(PartitionError::Decode { error, .. }) => assert!(!error.to_string().is_empty()),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// An index of filters of keys as one of ranges, with right checksums.
fn as_one_of_ranges(index: &[u8], context: u64) -> Vec<u8> {
    let mut index = index.to_vec();
    index[9..12].copy_from_slice(&[BlockKind::Ranges.tag(), 1, 0]);
    index[14..24].fill(0);
    seal(&mut index, &INDEX_MAGIC, Repair::all(context));
    index
}

/// Compares an index's answers for a range and for a prefix with section 15.5.
fn look_up_ranges(filter: &PartitionedRangeFilter<&[u8]>, separators: &[&[u8]], lower: &[u8], upper: &[u8]) {
    let expected = |first: Option<usize>, last: Option<usize>| {
        let Some(first) = first else { return vec![] };
        (first..=last.unwrap_or(separators.len() - 1)).collect::<Vec<_>>()
    };
    let at_least = |key: &[u8]| separators.iter().position(|separator| *separator >= key);
    let all = (!separators.is_empty()).then_some(0);
    let between = filter.find(Query::Range(Included(lower), Excluded(upper)));
    assert!(lower < upper || between == Lookup::Present, "{lower:?} {upper:?}");
    let others = [
        (filter.find(Query::Prefix(lower)), at_least(lower).into_iter().collect()),
        (filter.find(Query::Range(Unbounded, Included(upper))), expected(all, at_least(upper))),
    ];
    let between = (lower < upper).then(|| (between, expected(at_least(lower), at_least(upper))));
    for (lookup, partitions) in others.into_iter().chain(between) {
        if lookup == Lookup::Present {
            assert!(partitions.len() > 2, "{lower:?} {upper:?}");
            continue;
        }
        let found: Vec<_> = lookup.partitions().map(|partition| partition.number as usize).collect();
        assert_eq!(found, partitions, "{lower:?} {upper:?}");
    }
    // What cannot be loaded is an error, and never "no".
    match filter.may_match(Query::Prefix(lower), Err::<&[u8], _>) {
        Ok(answer) => assert_eq!(Some(answer), filter.find(Query::Prefix(lower)).answer()),
        Err(error) => assert!(matches!(error, PartitionError::Load { partition, error } if partition == error.number)),
    }
}

/// The separators of an index that has opened, by the document.
fn separators(index: &[u8]) -> Vec<&[u8]> {
    let num_partitions = int(&index[40..44]) as usize;
    let all = &index[HEADER_LEN + 16 * num_partitions..];
    let end = |partition: usize| int(&index[HEADER_LEN + 16 * partition + 12..][..4]) as usize;
    (0..num_partitions).map(|i| &all[i.checked_sub(1).map_or(0, end)..end(i)]).collect()
}
