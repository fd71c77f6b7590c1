//! The writer's side: errors, sizes, memory, determinism.

use crate::harness::{Writer, exact, ordered, own_transform, sure};
use crate::material::{rated, sized};
use filterblock::partition::{Lookup, PartitionBuildError, PartitionLimit, PartitionedFilterBuilder};
use filterblock::{FilterKind, FilterPolicy, KeyTransform, OpenOptions, Query};
use std::convert::Infallible;

fn ten_bits(kind: FilterKind) -> FilterPolicy {
    sized(kind, 10.0)
}

#[test]
fn keys_out_of_order_are_an_error_for_good() {
    let mut writer = Writer::new(exact(KeyTransform::WholeKey), PartitionLimit::Entries(2), 0);
    for key in ["a", "b", "b", "c"] {
        writer.key(key.as_bytes()).expect("equal neighbours are in order");
    }
    assert_eq!(writer.key(b"bzz"), Err(PartitionBuildError::Unordered { num_added: 4 }));
    assert_eq!(writer.key(b"d"), Err(PartitionBuildError::Failed));
    assert_eq!(writer.finish(), Err(PartitionBuildError::Failed), "a filter that lacks a key must not be used");

    // A pair's order is by row first: as strings, these would be in order.
    let mut writer = Writer::new(exact(KeyTransform::RowColumn), PartitionLimit::Entries(2), 0);
    writer.pair(b"ab", b"c").expect("the first");
    assert_eq!(writer.pair(b"a", b"bd"), Err(PartitionBuildError::Unordered { num_added: 1 }));
}

#[test]
fn calls_that_do_not_fit_the_transform_are_refused() {
    type Call = fn(&mut Writer) -> Result<(), PartitionBuildError<Infallible>>;
    let calls: [Call; 4] = [|w| w.key(b"k"), |w| w.row(b"k"), |w| w.pair(b"k", b"c"), |w| w.entry(b"k", b"k")];
    for (transform, right) in [
        (KeyTransform::WholeKey, [true, false, false, false]),
        (KeyTransform::Row, [false, true, true, false]),
        (KeyTransform::FixedPrefix { len: 1 }, [true, false, false, false]),
        (KeyTransform::WholeKeyAndPrefix { len: 1 }, [true, false, false, false]),
        (KeyTransform::RowColumn, [false, false, true, false]),
        (own_transform(), [false, false, false, true]),
    ] {
        for (i, call) in calls.into_iter().enumerate() {
            let mut writer = Writer::new(exact(transform), PartitionLimit::default(), 0);
            let expected = if right[i] { Ok(()) } else { Err(PartitionBuildError::Transform { transform }) };
            assert_eq!(call(&mut writer), expected, "{transform} {i}");
            assert_eq!(writer.finish().is_ok(), right[i]);
        }
    }
}

#[test]
fn errors_of_the_caller_end_the_build() {
    let policy = exact(KeyTransform::WholeKey);
    let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Entries(1)).expect("legal");
    builder.add_key(b"a", |_| Err("never called")).expect("nothing to store yet");
    let full = builder.add_key(b"b", |_| Err("disk full"));
    assert_eq!(full, Err(PartitionBuildError::Store { partition: 0, error: "disk full" }));
    assert_eq!(full.unwrap_err().to_string(), "storing partition 0 of the filter: disk full");
    assert_eq!(builder.finish(|_| Ok::<_, &str>(0)), Err(PartitionBuildError::Failed));

    // Offsets that overlap, or leave 64 bits.
    for (offsets, partition, min) in [([0u64, 10], 1, 71), ([u64::MAX - 70, 0], 0, 0)] {
        let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Entries(1)).expect("legal");
        let mut offsets = offsets.into_iter();
        let mut store = |block: &[u8]| {
            assert_eq!(block.len(), 71);
            Ok::<_, Infallible>(offsets.next().expect("two partitions"))
        };
        builder.add_key(b"a", &mut store).expect("the first");
        let second = builder.add_key(b"b", &mut store).and_then(|()| builder.add_key(b"c", &mut store));
        let Err(PartitionBuildError::Offset { partition: refused, min: least, .. }) = second else {
            panic!("{second:?}")
        };
        assert_eq!((refused, least), (partition, min));
    }
}

const NUM_KEYS: u32 = 30_000;

/// Partitions have about the size that was asked for; the last may be smaller.
#[test]
fn partitions_have_the_size_asked_for() {
    for &kind in FilterKind::ALL {
        for policy in [ten_bits(kind), rated(kind, 0.01)] {
            for bytes in [256, 2048, 16 << 10] {
                let mut writer = Writer::new(policy.clone().with_self_check(false), PartitionLimit::Bytes(bytes), 0);
                (0..NUM_KEYS).for_each(|i| writer.key(&ordered(i)).expect("in order"));
                let stored = writer.finish().expect("an index");
                let filter = stored.open(0);
                let lens: Vec<u64> = filter.partitions().map(|partition| partition.len.into()).collect();
                let (_, full) = lens.split_last().expect("partitions");
                // A remapped filter is 8 bytes longer.
                let of_seed = if kind == FilterKind::Fuse { 8 } else { 0 };
                let slack = if FilterPolicy::len_depends_on_keys(kind) { bytes / 16 } else { of_seed };
                assert!(full.iter().all(|&len| len <= bytes + slack), "{kind} {bytes}: {:?}", full.iter().max());
                assert!(full.iter().all(|&len| len + 72 + bytes / 16 >= bytes), "{kind}: {:?}", full.iter().min());
                let loads = |p| stored.load(p);
                assert!((0..NUM_KEYS).all(|i| sure(filter.may_match(Query::Key(&ordered(i)), loads))));
                let absent = (NUM_KEYS..u32::MAX).step_by(100_003);
                let absent = absent.into_iter().all(|i| filter.find(Query::Key(&ordered(i))) == Lookup::Absent);
                assert!(absent, "above all separators");
            }
        }
    }
}

/// Partitions leave as soon as they are closed, and their bytes do not depend on the builder's past.
#[test]
fn partitions_leave_at_once_and_are_blocks_of_their_own() {
    let (policy, limit) = (ten_bits(FilterKind::Blocked), PartitionLimit::Entries(100));
    let mut writer = Writer::new(policy, limit, 9);
    for i in 0..1000u32 {
        writer.key(&ordered(i)).expect("in order");
        assert_eq!((writer.builder.num_partitions(), writer.builder.num_added()), (i / 100, u64::from(i) + 1));
        assert_eq!(writer.file.is_empty(), i < 100);
    }
    let stored = writer.finish().expect("an index");
    let filter = stored.open(9);
    for partition in filter.partitions() {
        let Ok(block) = stored.load(partition);
        let reader = filter.open_partition(partition, block).expect("a block");
        assert_eq!(reader.num_entries(), 100);
        let first = partition.number * 100;
        assert!((first..first + 100).all(|i| reader.may_contain(&ordered(i))));
        // Under its own context only.
        assert!(OpenOptions::new().with_context(9).open(block).is_err());
        assert!(filter.partition_options(partition).open(block).is_ok());
    }
}

#[test]
fn no_entries() {
    for &kind in FilterKind::ALL {
        let none = || Writer::new(ten_bits(kind), PartitionLimit::default(), 3);
        let refused = none().finish().expect_err("nothing was added");
        assert_eq!(refused, PartitionBuildError::Empty);
        assert!(refused.to_string().contains("nothing was added"), "{refused}");
        let stored = none().finish_any().expect("an index");
        assert_eq!((stored.file.len(), stored.index.len()), (0, 64));
        let filter = stored.open(3);
        assert_eq!((filter.partitions().len(), filter.num_entries()), (0, 0));
        assert!(!sure(filter.may_match(Query::Key(b"any"), |p| stored.load(p))));
        assert!(!sure(filter.may_match(Query::Key(b""), |p| stored.load(p))));
    }
    // A table of keys that are all too short: these are not denied.
    let mut writer = Writer::new(exact(KeyTransform::FixedPrefix { len: 4 }), PartitionLimit::default(), 0);
    ["", "a", "abc"].iter().for_each(|key| writer.key(key.as_bytes()).expect("in order"));
    assert_eq!((writer.builder.num_added(), writer.builder.num_without_entry()), (0, 3));
    let stored = writer.finish().expect("an index");
    let ask = |key: &str| sure(stored.open(0).may_match(Query::Key(key.as_bytes()), |p| stored.load(p)));
    assert_eq!(["", "abc", "abcd"].map(ask), [true, true, false]);
}

/// All entries of one order key are in one partition, however many they are.
#[test]
fn an_order_key_is_in_one_partition() {
    let mut writer = Writer::new(exact(own_transform()), PartitionLimit::Entries(2), 0);
    for i in 0..50u32 {
        writer.entry(b"same", &ordered(i)).expect("in order");
    }
    writer.entry(b"samf", b"x").expect("in order");
    let stored = writer.finish().expect("an index");
    let filter = stored.open(0);
    assert_eq!(filter.partitions().len(), 2);
    assert!(
        (0..50u32).all(|i| sure(
            filter.may_match(Query::Entry { order_key: b"same", entry: &ordered(i) }, |p| stored.load(p))
        ))
    );
}

/// A prefix that neighbours share is one entry of theirs, so a partition has as many entries as it has room for.
#[test]
fn a_prefix_beside_whole_keys_counts_once() {
    let keys: Vec<_> = (0..1000u32).map(|i| format!("{:03}/{i:04}", i / 100)).collect();
    let limit = PartitionLimit::Entries(50);
    let own = Writer::new(exact(own_transform()), limit, 0);
    let both = Writer::new(exact(KeyTransform::WholeKeyAndPrefix { len: 3 }), limit, 0);
    for (mut writer, by_entry) in [(own, true), (both, false)] {
        for key in keys.iter().map(|key| key.as_bytes()) {
            match by_entry {
                true => {
                    writer.entry(key, &key[..3]).expect("in order");
                    writer.entry(key, key).expect("in order");
                }
                false => writer.key(key).expect("in order"),
            }
        }
        let stored = writer.finish().expect("an index");
        let filter = stored.open(0);
        let entries_of = |p| {
            let Ok(block) = stored.load(p);
            filter.open_partition(p, block).expect("a block").num_entries()
        };
        let entries: Vec<_> = filter.partitions().map(entries_of).collect();
        let (_, full) = entries.split_last().expect("partitions");
        // A partition is closed between keys, each of which has at most two entries.
        assert!(full.iter().all(|&entries| (50..=51).contains(&entries)), "by entry: {by_entry}, {entries:?}");
    }
}

/// Partitions under two contexts are no filter.
#[test]
fn the_context_is_fixed_when_the_first_partition_is_closed() {
    let build = |late: u64, at: u32| {
        let mut writer = Writer::new(exact(KeyTransform::WholeKey), PartitionLimit::Entries(2), 1);
        for i in 0..6u32 {
            if i == at {
                writer.builder.set_context(late);
            }
            writer.key(&ordered(i))?;
        }
        writer.finish()
    };
    let mixed = build(2, 3).unwrap_err();
    assert_eq!(mixed, PartitionBuildError::LateContext { num_partitions: 1 });
    assert_eq!(mixed.to_string(), "the context of a partitioned filter was changed after 1 of its partitions");
    assert_eq!(build(1, 3), build(1, 0), "the same context");
    for at in 0..3 {
        assert_eq!(build(2, at).expect("not late").open(2).num_entries(), 6);
    }
    let mut writer = Writer::new(exact(KeyTransform::WholeKey), PartitionLimit::Entries(1), 1);
    [b"a", b"b"].into_iter().for_each(|key| writer.key(key).expect("in order"));
    writer.builder.set_context(2);
    let error = writer.finish().unwrap_err();
    assert_eq!(error, PartitionBuildError::LateContext { num_partitions: 1 });
}
