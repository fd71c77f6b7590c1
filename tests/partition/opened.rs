//! Partitions that are kept opened: they answer as their bytes do, whatever holds them, and never for another partition.

use crate::harness::{self, Stored, Writer, exact};
use crate::material::sized;
use filterblock::partition::{
    Filter, OpenedPartition, PartitionError, PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedRangeFilter,
};
use filterblock::range::{RangeFilter, RangePolicy};
use filterblock::{FilterBlock, FilterKind, KeyTransform, OpenOptions, Query};
use std::convert::Infallible;
use std::ops::Bound::Included;
use std::rc::Rc;
use std::sync::Arc;

const NUM_KEYS: u32 = 600;

fn key(i: u32) -> Vec<u8> {
    format!("com.example/{i:04}").into_bytes()
}

fn stored(kind: FilterKind, transform: KeyTransform, context: u64) -> Stored {
    let mut writer = Writer::new(sized(kind, 10.0).with_transform(transform), PartitionLimit::Entries(100), context);
    for i in 0..NUM_KEYS {
        match transform {
            KeyTransform::Row => writer.row(&key(i)),
            KeyTransform::RowColumn => writer.pair(&key(i), b"column"),
            KeyTransform::Custom(_) => writer.entry(&key(i), &key(i)),
            _ => writer.key(&key(i)),
        }
        .expect("in order");
    }
    writer.finish().expect("an index")
}

fn all_opened<'a>(filter: &PartitionedFilter<&[u8]>, stored: &'a Stored) -> Vec<Opened<'a>> {
    let open = |partition| {
        let Ok(block) = stored.load(partition);
        Arc::new(filter.open_partition_owned(partition, block).expect("a sound partition"))
    };
    filter.partitions().map(open).collect()
}

type Opened<'a> = Arc<OpenedPartition<FilterBlock<&'a [u8]>>>;
/// `all_calls!(filter, key, load)`: the answers of each call that takes a function to load a partition.
macro_rules! all_calls {
    ($filter:expr, $key:expr, $load:expr) => {
        [
            $filter.may_match(Query::Key($key), $load),
            $filter.may_match(Query::Prefix($key), $load),
            $filter.may_match(Query::Row($key), $load),
            $filter.may_match(Query::Cell($key, b"column"), $load),
            $filter.may_match(Query::Entry { order_key: $key, entry: $key }, $load),
        ]
    };
}

type Answer = Result<bool, PartitionError<Infallible>>;

/// All five calls, for each kind and transform, by bytes and by opened partitions.
#[test]
fn opened_partitions_answer_as_their_bytes_do() {
    let custom = KeyTransform::Custom(filterblock::CustomTransform::new(200, 1).expect("legal"));
    let (prefix, both) = (KeyTransform::FixedPrefix { len: 14 }, KeyTransform::WholeKeyAndPrefix { len: 14 });
    let (mut answers, mut denied) = (0, 0);
    for &kind in FilterKind::ALL {
        for transform in [KeyTransform::WholeKey, prefix, both, KeyTransform::Row, KeyTransform::RowColumn, custom] {
            let stored = stored(kind, transform, 9);
            let filter = stored.open(9);
            let opened = all_opened(&filter, &stored);
            for i in 0..2 * NUM_KEYS {
                let key = key(i);
                let by_opened: [Answer; 5] =
                    all_calls!(filter, &key, |partition: PartitionHandle| Ok(&*opened[partition.number as usize]));
                let by_bytes: [Answer; 5] = all_calls!(filter, &key, |partition| stored.load(partition));
                assert_eq!(by_opened, by_bytes, "{kind} {transform} {i}");
                assert!(i >= NUM_KEYS || by_opened.iter().all(|answer| *answer == Ok(true)), "{kind} {transform} {i}");
                answers += by_opened.len();
                denied += by_opened.iter().filter(|answer| **answer == Ok(false)).count();
            }
        }
    }
    assert!(denied > answers / 10, "{denied} of {answers}");
}

/// References, boxes and counted pointers, over bytes that are owned, shared or borrowed.
#[test]
fn any_pointer_to_an_opened_partition_may_be_returned() {
    let stored = stored(FilterKind::Blocked, KeyTransform::WholeKey, 9);
    let filter = stored.open(9);
    let first = filter.partitions().next().expect("a partition");
    let Ok(block) = stored.load(first);
    let (owned, shared) = (block.to_vec(), Arc::<[u8]>::from(block));
    let kept = filter.open_partition_owned(first, owned).expect("sound");
    let of_shared = filter.open_partition_owned(first, shared).expect("sound");
    let of_borrowed = filter.open_partition_owned(first, block).expect("sound");
    assert_eq!((kept.number(), Filter::num_entries(kept.filter())), (0, 100));
    assert_eq!(Filter::as_bytes(kept.filter()), block);
    assert!(kept.filter().may_contain(&key(7)));
    let counted = Rc::new(of_borrowed);
    let answers: [Answer; 4] = [
        filter.may_match(Query::Key(&key(7)), |_| Ok(&kept)),
        filter.may_match(Query::Key(&key(7)), |_| Ok(&of_shared)),
        filter.may_match(Query::Key(&key(7)), |_| Ok(Box::new(kept.clone()))),
        filter.may_match(Query::Key(&key(7)), |_| Ok(Rc::clone(&counted))),
    ];
    assert_eq!(answers, [Ok(true); 4]);
    assert!(filter.open_partition_owned(first, &block[1..]).is_err());
}

/// Every opened partition in every other's place: of the same index, of another table, of another table without
/// contexts, and of the same keys under another seed.
#[test]
fn another_opened_partition_is_an_error() {
    let [ours, theirs] = [8, 9].map(|context| stored(FilterKind::Blocked, KeyTransform::WholeKey, context));
    let mut wrong = 0;
    let mut check = |filter: &PartitionedFilter<&[u8]>, others: &[Opened<'_>], is_own: bool| {
        for i in (0..NUM_KEYS).step_by(10) {
            for other in others {
                let mut asked = 0;
                let answer: Answer = filter.may_match(Query::Key(&key(i)), |partition| {
                    asked = partition.number;
                    Ok(Arc::clone(other))
                });
                if is_own && asked == other.number() {
                    assert_eq!(answer, Ok(true));
                    continue;
                }
                let expected = PartitionError::WrongPartition { partition: asked, found: other.number() };
                assert_eq!(answer, Err(expected));
                wrong += 1;
            }
        }
    };
    let (filter, others) = (ours.open(8), theirs.open(9));
    check(&filter, &all_opened(&filter, &ours), true);
    check(&filter, &all_opened(&others, &theirs), false);
    // Both sides forgot the context; the separators differ.
    let shifted = {
        let mut writer = Writer::new(sized(FilterKind::Blocked, 10.0), PartitionLimit::Entries(100), 0);
        (1..=NUM_KEYS).for_each(|i| writer.key(&key(i)).expect("in order"));
        writer.finish().expect("an index")
    };
    let plain = stored(FilterKind::Blocked, KeyTransform::WholeKey, 0);
    let (filter, others) = (plain.open(0), shifted.open(0));
    check(&filter, &all_opened(&others, &shifted), false);
    let reseeded = {
        let policy = sized(FilterKind::Blocked, 10.0).with_seed(77);
        let mut writer = Writer::new(policy, PartitionLimit::Entries(100), 0);
        (0..NUM_KEYS).for_each(|i| writer.key(&key(i)).expect("in order"));
        writer.finish().expect("an index")
    };
    check(&filter, &all_opened(&reseeded.open(0), &reseeded), false);
    println!("counted: {wrong} opened partitions in the place of another, all refused");
    let errors =
        [(3, 3), (3, 5)].map(|(partition, found)| PartitionError::<Infallible>::WrongPartition { partition, found });
    assert!(errors[0].to_string().contains("another index") && errors[1].to_string().contains("partition 5"));
}

/// An index that is opened again, from the same bytes, takes the partitions that were kept.
#[test]
fn an_index_that_is_opened_again_takes_kept_partitions() {
    let stored = stored(FilterKind::Ribbon, KeyTransform::WholeKey, 9);
    let opened = all_opened(&stored.open(9), &stored);
    let options = OpenOptions::new().with_context(9).with_digest_check(false);
    let again = PartitionedFilter::open(stored.index.clone(), options).expect("a sound index");
    for i in 0..NUM_KEYS {
        let answer: Answer = again.may_match(Query::Key(&key(i)), |partition| Ok(&*opened[partition.number as usize]));
        assert_eq!(answer, Ok(true));
    }
}

/// The same for ranges.
#[test]
fn opened_partitions_of_ranges_answer_as_their_bytes_do() {
    let (policy, keys): (RangePolicy, Vec<_>) =
        ("range:16".parse().expect("legal"), (0..NUM_KEYS).map(|i| key(2 * i)).collect());
    let [ours, theirs] = [8, 9].map(|context| harness::ranges(context, policy, PartitionLimit::Entries(100), &keys));
    let [filter, others] = [(&ours, 8), (&theirs, 9)].map(|(stored, context)| {
        let options = OpenOptions::new().with_context(context);
        PartitionedRangeFilter::open(&stored.index[..], options).expect("a sound index")
    });
    let keep =
        |filter: &PartitionedRangeFilter<&[u8]>, stored: &Stored| -> Vec<OpenedPartition<RangeFilter<Vec<u8>>>> {
            let open = |partition| {
                let Ok(block) = stored.load(partition);
                filter.open_partition_owned(partition, block.to_vec()).expect("a sound partition")
            };
            filter.partitions().map(open).collect()
        };
    let (opened, theirs) = (keep(&filter, &ours), keep(&others, &theirs));
    assert_eq!(opened[0].filter().as_bytes(), Filter::as_bytes(opened[0].filter()));
    assert!(opened.iter().all(|opened| Filter::num_entries(opened.filter()) == 100));
    let mut denied = 0;
    for i in 0..2 * NUM_KEYS {
        let (lower, upper) = (key(i), key(i + i % 3));
        let by_opened: [Answer; 2] = [
            filter.may_match(Query::Range(Included(&lower), Included(&upper)), |p| Ok(&opened[p.number as usize])),
            filter.may_match(Query::Prefix(&lower), |p| Ok(&opened[p.number as usize])),
        ];
        let by_bytes = [
            filter.may_match(Query::Range(Included(&lower), Included(&upper)), |p| ours.load(p)),
            filter.may_match(Query::Prefix(&lower), |p| ours.load(p)),
        ];
        assert_eq!(by_opened, by_bytes, "{i}");
        assert!(by_opened[1] == Ok(true) || i % 2 == 1, "{i}");
        denied += by_opened.iter().filter(|answer| **answer == Ok(false)).count();
    }
    assert!(denied > 100, "{denied}");
    let wrong: Answer = filter.may_match(Query::Prefix(&key(0)), |p| Ok(&theirs[p.number as usize]));
    assert_eq!(wrong, Err(PartitionError::WrongPartition { partition: 0, found: 0 }));
    let wrong: Answer = filter.may_match(Query::Prefix(&key(0)), |_| Ok(&opened[1]));
    assert_eq!(wrong, Err(PartitionError::WrongPartition { partition: 0, found: 1 }));
}

/// A policy by which absent keys do not pass finds nothing else in an opened partition.
#[test]
fn an_opened_partition_denies_the_keys_of_others() {
    let mut writer = Writer::new(exact(KeyTransform::WholeKey), PartitionLimit::Entries(100), 9);
    (0..NUM_KEYS).for_each(|i| writer.key(&key(i)).expect("in order"));
    let stored = writer.finish().expect("an index");
    let filter = stored.open(9);
    for opened in all_opened(&filter, &stored) {
        for i in 0..NUM_KEYS {
            assert_eq!(opened.filter().may_contain(&key(i)), i / 100 == opened.number(), "{i}");
        }
    }
}
