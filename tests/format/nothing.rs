//! No filter of nothing: every finish of the library, given nothing, or called again after a finish, is an error; a filter
//! without entries, which denies every key, is made only where it is asked for by name.

use crate::*;

const KEY: &[u8] = b"key";

fn policy() -> FilterPolicy {
    "bloom:bytes=164,probes=7,seed=7".parse().expect("a policy")
}

fn range_policy() -> RangePolicy {
    "range:16".parse().expect("a policy")
}

/// A finish of a builder of blocks, to a vector.
type Finish<B> = fn(&mut B) -> Result<Vec<u8>, BuildError>;

const OF_KEYS: &[(&str, Finish<FilterBlockBuilder>)] = &[
    ("finish", FilterBlockBuilder::finish),
    ("finish_into", |builder| {
        let mut out = Vec::new();
        builder.finish_into(&mut out).map(|_| out)
    }),
    ("finish_into_slice", |builder| {
        let mut out = vec![0; 4096];
        let len = builder.finish_into_slice(&mut out)?;
        out.truncate(len);
        Ok(out)
    }),
    ("finish_compact_into", |builder| {
        let mut out = Vec::new();
        builder.finish_compact_into(&mut out).map(|_| out)
    }),
];

const OF_RANGES: &[(&str, Finish<RangeFilterBuilder>)] = &[
    ("finish", RangeFilterBuilder::finish),
    ("finish_into", |builder| {
        let mut out = Vec::new();
        builder.finish_into(&mut out).map(|_| out)
    }),
    ("build_into", |builder| {
        let mut out = Vec::new();
        builder.build_into(&mut out).map(|_| out)
    }),
];

/// Returns whether a block or a frame of keys denies.
fn denies(bytes: &[u8]) -> bool {
    match OpenOptions::new().open(bytes) {
        Ok(filter) => !filter.may_contain(KEY),
        Err(_) => !CompactFrameReader::open(bytes, &policy()).expect("a frame").may_contain(KEY),
    }
}

#[test]
fn builders_of_keys_refuse_nothing() {
    for (name, finish) in OF_KEYS {
        let mut builder = FilterBlockBuilder::new(&policy());
        assert_eq!(finish(&mut builder), Err(BuildError::Empty), "{name} of nothing");
        builder.add_key(KEY);
        let built = finish(&mut builder).expect("a filter");
        assert!(!denies(&built), "{name}");
        assert_eq!(finish(&mut builder), Err(BuildError::Empty), "a second {name}");
        builder.add_key(KEY);
        builder.clear();
        assert_eq!(finish(&mut builder), Err(BuildError::Empty), "{name} after clear");
        let empty = finish(builder.allow_empty()).expect("asked for");
        assert!(denies(&empty), "{name}");
        // The permission ends with the finish.
        assert_eq!(finish(&mut builder), Err(BuildError::Empty), "{name} after an empty one");
    }
}

#[test]
fn builders_of_ranges_refuse_nothing() {
    for (name, finish) in OF_RANGES {
        let mut builder = RangeFilterBuilder::new(range_policy());
        assert_eq!(finish(&mut builder), Err(BuildError::Empty), "{name} of nothing");
        builder.add_key(KEY);
        let built = finish(&mut builder).expect("a filter");
        assert!(OpenOptions::new().open_ranges(&built[..]).expect("intact").may_contain(KEY));
        match *name {
            // It keeps the keys, by its name.
            "build_into" => assert_eq!(finish(&mut builder), Ok(built)),
            _ => assert_eq!(finish(&mut builder), Err(BuildError::Empty), "a second {name}"),
        }
        builder.clear();
        assert_eq!(finish(&mut builder), Err(BuildError::Empty), "{name} after clear");
        let empty = finish(builder.allow_empty()).expect("asked for");
        assert!(!OpenOptions::new().open_ranges(&empty[..]).expect("intact").may_contain(KEY));
    }
}

/// These builders are consumed by their finish.
#[test]
fn builders_of_partitions_refuse_nothing() {
    let store = |_: &[u8]| Ok::<_, Infallible>(0);
    let of_keys = || PartitionedFilterBuilder::new(&"blocked:10".parse().unwrap(), PartitionLimit::default()).unwrap();
    let of_ranges = || PartitionedRangeFilterBuilder::new(&range_policy(), PartitionLimit::default()).unwrap();
    assert_eq!(of_keys().finish(store), Err(PartitionBuildError::Empty));
    assert_eq!(of_ranges().finish(store), Err(PartitionBuildError::Empty));
    let (mut keys, mut ranges) = (of_keys(), of_ranges());
    keys.allow_empty();
    ranges.allow_empty();
    let (keys, ranges) = (keys.finish(store).expect("asked for"), ranges.finish(store).expect("asked for"));
    let keys = PartitionedFilter::open(keys, OpenOptions::new()).expect("intact");
    let ranges = PartitionedRangeFilter::open(ranges, OpenOptions::new()).expect("intact");
    assert_eq!(keys.may_match(Query::Key(KEY), |_| Ok::<&[u8], Infallible>(&[])), Ok(false));
    assert_eq!(ranges.may_match(Query::Prefix(KEY), |_| Ok::<&[u8], Infallible>(&[])), Ok(false));
}

/// What is made of blocks has no entries only if what it is made of has none, which was asked for.
#[test]
fn blocks_made_of_blocks_have_the_entries_of_these() {
    let block = |keys: &[&[u8]]| {
        let mut builder = FilterBlockBuilder::new(&policy());
        keys.iter().for_each(|key| builder.add_key(key));
        builder.allow_empty().finish().expect("a block")
    };
    let (none, some, others) = (block(&[]), block(&[KEY]), block(&[b"other"]));
    let [none, some, others] = [&none, &some, &others].map(|block| OpenOptions::new().open(block).expect("intact"));
    for (union, is_empty) in
        [(none.union(&none, 0), true), (none.union(&some, 0), false), (some.union(&others, 0), false)]
    {
        assert_eq!(denies(&union.expect("equal shapes")), is_empty);
    }
    assert!(denies(&some.intersection(&none, 0).expect("equal shapes")));
    // Of disjoint keys, too, an intersection has a shape, and states one entry at least.
    let disjoint = some.intersection(&others, 0).expect("equal shapes");
    assert!(OpenOptions::new().open(&disjoint).expect("intact").num_entries() >= 1);
    let mut builder = FilterBlockBuilder::new(&"ribbon:fpr=0.001".parse().unwrap());
    builder.add_key(KEY);
    let ribbon = builder.finish().expect("a block");
    let thinned = OpenOptions::new().open(&ribbon).expect("intact").thin(2, 0).expect("columns");
    assert!(OpenOptions::new().open(&thinned).expect("intact").may_contain(KEY));
}
