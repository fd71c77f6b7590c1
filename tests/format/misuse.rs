//! Plausible mistakes of an engine's author, a row each: refused, answered *maybe*, or listed in EMBEDDING.md's table of
//! mistakes that go unnoticed. Debug and release builds agree, but for those that a debug build panics at.

use crate::aligned::Changing;
use crate::harness::Stored;
use crate::*;
use testkit::mistakes::Outcome::{Denies, Maybe, PanicsInDebug, Refused};
use testkit::mistakes::{Row, Tried, assert_listed, commit, refused};

const NUM_KEYS: usize = 1000;

const WHOLE: KeyTransform = KeyTransform::WholeKey;
const PREFIX: KeyTransform = KeyTransform::FixedPrefix { len: 4 };
const BOTH: KeyTransform = KeyTransform::WholeKeyAndPrefix { len: 4 };
const PATHS: KeyTransform = KeyTransform::DelimitedPrefix { delimiter: b'/', levels: 2 };

fn policy(transform: KeyTransform) -> FilterPolicy {
    "blocked:20,seed=7".parse::<FilterPolicy>().expect("a policy").with_transform(transform)
}

/// Keys of their own prefixes.
fn key(number: usize) -> Vec<u8> {
    format!("{number:04}/key").into_bytes()
}

fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..NUM_KEYS).map(key)
}

/// Builds by `add` for each key.
fn built(policy: &FilterPolicy, add: impl Fn(&mut FilterBlockBuilder, &[u8])) -> Result<Vec<u8>, String> {
    let mut builder = FilterBlockBuilder::new(policy);
    keys().for_each(|key| add(&mut builder, &key));
    builder.finish().map_err(refused)
}

fn block(policy: &FilterPolicy) -> Vec<u8> {
    built(policy, FilterBlockBuilder::add_key).expect("a block")
}

fn open(block: Vec<u8>, options: &OpenOptions) -> Result<FilterBlock<Vec<u8>>, String> {
    options.open_owned(block).map_err(refused)
}

fn anything() -> OpenOptions {
    OpenOptions::new()
}

fn count_denied(may_contain: impl Fn(&[u8]) -> bool) -> Tried {
    Ok(keys().filter(|key| !may_contain(key)).count())
}

/// Queries a filter by hashes of `entries`.
fn denied_by_hash(filter: &FilterBlock<Vec<u8>>, entries: &EntryHasher) -> Tried {
    count_denied(|key| entries.hash_key(key).is_none_or(|hash| filter.may_contain_hash(hash)))
}

/// Builds under one policy, opens with another expected, and queries by the other's hashes.
fn opened_with_another(built: &FilterPolicy, expected: &FilterPolicy) -> Tried {
    denied_by_hash(&open(block(built), &anything().expect(expected))?, expected.entry_hasher())
}

fn add_row(builder: &mut FilterBlockBuilder, key: &[u8]) {
    builder.add_row(key);
}

fn add_cell(builder: &mut FilterBlockBuilder, key: &[u8]) {
    builder.add_row_column(key, b"column");
}

/// Adds by `add` under a transform, and queries in the form of what was added.
fn in_form(
    transform: KeyTransform,
    add: fn(&mut FilterBlockBuilder, &[u8]),
    ask: fn(&FilterBlock<Vec<u8>>, &[u8]) -> bool,
) -> Tried {
    let filter = open(built(&policy(transform), add)?, &anything().expect(&policy(transform)))?;
    count_denied(|key| ask(&filter, key))
}

/// Adds the hash that a lookup has, though the key may have more entries.
fn add_one_entry(builder: &mut FilterBlockBuilder, key: &[u8]) {
    let hash = builder.policy().entry_hasher().hash_key(key);
    hash.into_iter().for_each(|hash| builder.add_hash(hash));
}

fn ask_row(filter: &FilterBlock<Vec<u8>>, row: &[u8]) -> bool {
    filter.may_match(Query::Row(row))
}

fn ask_cell(filter: &FilterBlock<Vec<u8>>, key: &[u8]) -> bool {
    filter.may_match(Query::Cell(key, b"column"))
}

/// A table with its keys in partitions.
fn partitioned(policy: FilterPolicy, context: u64) -> Result<Stored, String> {
    let mut writer = Writer::new(policy, PartitionLimit::Entries(1), context);
    keys().try_for_each(|key| writer.key(&key)).map_err(refused)?;
    writer.finish().map_err(refused)
}

/// A builder of all keys under [`WHOLE`].
fn builder() -> FilterBlockBuilder {
    builder_of(&policy(WHOLE), keys())
}

/// Opens a block as one of the keys under [`WHOLE`], and queries it for them.
fn denied_of(block: Vec<u8>) -> Tried {
    let filter = open(block, &anything().expect(&policy(WHOLE)))?;
    count_denied(|key| filter.may_contain(key))
}

/// A custom transform that takes the first `len` bytes of a key.
fn custom(len: usize) -> FilterPolicy {
    let transform = CustomTransform::new(200, 0).expect("legal");
    policy(WHOLE).with_custom_transform(transform, move |key, take| key.get(..len).into_iter().for_each(take))
}

/// What is refused or *maybe*.
const NOTICED: &[Row] = &[
    ("opened with the policy of another seed", Refused, || {
        opened_with_another(&policy(WHOLE).with_seed(8), &policy(WHOLE))
    }),
    ("opened with the policy of another transform", Refused, || opened_with_another(&policy(PREFIX), &policy(WHOLE))),
    ("the reverse", Refused, || opened_with_another(&policy(WHOLE), &policy(PREFIX))),
    ("opened with the policy of a secret key", Refused, || {
        opened_with_another(&policy(WHOLE), &policy(WHOLE).with_hasher(KeyHasher::keyed([1; 16])))
    }),
    ("opened without the secret key", Refused, || {
        let keyed = policy(WHOLE).with_hasher(KeyHasher::keyed([1; 16]));
        open(block(&keyed), &anything()).map(|_| NUM_KEYS)
    }),
    ("opened with the policy of another transform, and queried by key", Refused, || {
        let filter = open(block(&policy(PREFIX)), &anything().expect(&policy(WHOLE)))?;
        count_denied(|key| filter.may_contain(key))
    }),
    ("a block of another transform, with nothing expected, and queried by key", Maybe, || {
        let filter = open(block(&policy(PREFIX)), &anything())?;
        count_denied(|key| filter.may_contain(key))
    }),
    ("a key under the transform row", Refused, || {
        in_form(KeyTransform::Row, FilterBlockBuilder::add_key, FilterBlock::may_contain)
    }),
    ("a row under row+column", Refused, || in_form(KeyTransform::RowColumn, add_row, ask_row)),
    ("a row under whole-key", Refused, || in_form(WHOLE, add_row, ask_row)),
    ("a row and a column under whole-key", Refused, || in_form(WHOLE, add_cell, ask_cell)),
    ("a row and a column under prefix", Refused, || in_form(PREFIX, add_cell, ask_cell)),
    ("a row and a column under row", Maybe, || in_form(KeyTransform::Row, add_cell, ask_cell)),
    ("a row and a column under row+column, queried for the row", Maybe, || {
        in_form(KeyTransform::RowColumn, add_cell, ask_row)
    }),
    ("a key that is not its own entry, as `Query::Entry`", Maybe, || {
        in_form(PREFIX, FilterBlockBuilder::add_key, |filter, key| {
            filter.may_match(Query::Entry { order_key: key, entry: key })
        })
    }),
    ("a key that is not its own order key, in partitions", Maybe, || {
        let stored = partitioned(policy(PREFIX), 0)?;
        let filter = PartitionedFilter::open(&stored.index[..], anything().expect(&policy(PREFIX))).map_err(refused)?;
        count_denied(|key| filter.may_match(Query::Key(key), |partition| stored.load(partition)).unwrap_or(true))
    }),
    ("a range of a filter of keys", Maybe, || {
        let filter = open(block(&policy(WHOLE)), &anything().expect(&policy(WHOLE)))?;
        count_denied(|key| filter.may_match(Query::Range(Bound::Included(key), Bound::Included(key))))
    }),
    ("rows under row, asked as keys", Maybe, || in_form(KeyTransform::Row, add_row, FilterBlock::may_contain)),
    ("a whole key as an entry under prefix", Refused, || {
        in_form(PREFIX, FilterBlockBuilder::add_entry, FilterBlock::may_contain)
    }),
    ("keys that are all shorter than the prefix", Maybe, || {
        in_form(KeyTransform::FixedPrefix { len: 100 }, FilterBlockBuilder::add_key, FilterBlock::may_contain)
    }),
    ("part of a name as a prefix, under delimited", Maybe, || {
        in_form(PATHS, FilterBlockBuilder::add_key, |filter, key| {
            (0..=key.len()).all(|len| filter.may_contain_prefix(&key[..len]))
        })
    }),
    ("a prefix with another delimiter, under delimited", Maybe, || {
        in_form(PATHS, FilterBlockBuilder::add_key, |filter, key| {
            filter.may_contain_prefix(&[&key[..4], b":"].concat())
        })
    }),
    ("a prefix without its delimiter as an entry", Refused, || {
        in_form(PATHS, |builder, key| builder.add_entry(&key[..4]), FilterBlock::may_contain_prefix)
    }),
    ("the longest prefix of a key as an entry, without the others", Maybe, || {
        let add = |builder: &mut FilterBlockBuilder, key: &[u8]| builder.add_entry(&[key, b"/"].concat());
        in_form(PATHS, add, FilterBlock::may_contain_prefix)
    }),
    ("prefixes to two levels, with three expected", Refused, || {
        opened_with_another(&policy(PATHS), &policy("delimited:/:3".parse().expect("a transform")))
    }),
    ("keys under a transform without its code", Refused, || {
        let transform = KeyTransform::Custom(CustomTransform::new(200, 0).expect("legal"));
        in_form(transform, FilterBlockBuilder::add_key, FilterBlock::may_contain)
    }),
    ("a second finish, as after a write that failed", Refused, || {
        let mut builder = builder();
        builder.finish().map_err(refused)?;
        denied_of(builder.finish().map_err(refused)?)
    }),
    ("a second finish, of a compact frame", Refused, || {
        let (mut builder, mut frame) = (builder(), Vec::new());
        builder.finish_compact_into(&mut frame).map_err(refused)?;
        builder.finish_compact_into(&mut frame).map_err(refused)
    }),
    ("a finish after one that had too little memory", Maybe, || {
        let mut builder = builder();
        builder.finish_into_slice(&mut [0; 100]).expect_err("too short");
        denied_of(builder.finish().map_err(refused)?)
    }),
    ("the context is forgotten by the reader", Refused, || {
        denied_of(builder().set_context(1).finish().map_err(refused)?)
    }),
    ("the context is forgotten by the writer", Refused, || {
        open(block(&policy(WHOLE)), &anything().with_context(1)).map(|_| NUM_KEYS)
    }),
    ("no bytes, taken for a filter", Refused, || open(Vec::new(), &anything()).map(|_| NUM_KEYS)),
    ("a compact frame, opened as a block", Refused, || open(frame_of(&mut builder()), &anything()).map(|_| NUM_KEYS)),
    ("a block, opened as a compact frame", Refused, || {
        CompactFrameReader::open(&block(&policy(WHOLE)), &policy(WHOLE)).map(|_| NUM_KEYS).map_err(refused)
    }),
    ("an index, opened with the policy of another transform", Refused, || {
        let stored = partitioned(policy(WHOLE), 1)?;
        let options = anything().with_context(1).expect(&policy(PREFIX));
        PartitionedFilter::open(stored.index, options).map(|_| NUM_KEYS).map_err(refused)
    }),
    ("partitions of another table", Refused, || {
        let [ours, theirs] = [1, 2].map(|context| partitioned(policy(WHOLE), context));
        let (ours, theirs) = (ours?, theirs?);
        let options = anything().with_context(1).expect(&policy(WHOLE));
        let filter = PartitionedFilter::open(ours.index, options).map_err(refused)?;
        filter.may_match(Query::Key(&key(0)), |partition| theirs.load(partition)).map(|_| NUM_KEYS).map_err(refused)
    }),
    ("opened partitions of another table, from a cache by partition alone", Refused, || {
        let [ours, theirs] = [1, 2].map(|context| partitioned(policy(WHOLE), context));
        let (ours, theirs) = (ours?, theirs?);
        let [filter, other] = [(&ours, 1), (&theirs, 2)].map(|(stored, context)| stored.open(context));
        let open = |partition| {
            let Ok(block) = theirs.load(partition);
            other.open_partition_owned(partition, block).map_err(refused)
        };
        let cache = other.partitions().map(open).collect::<Result<Vec<_>, _>>()?;
        let load = |partition: PartitionHandle| Ok::<_, Infallible>(&cache[partition.number as usize]);
        filter.may_match(Query::Key(&key(0)), load).map(|_| NUM_KEYS).map_err(refused)
    }),
    ("parts of unequal size under one byte cap are united", Refused, || {
        let capped: FilterPolicy = "bloom:max=4096,seed=7".parse().expect("a policy");
        let all: Vec<_> = keys().collect();
        let (a, b) = (builder_of(&capped, &all[..100]).finish(), builder_of(&capped, &all[100..]).finish());
        let (a, b) = (a.map_err(refused)?, b.map_err(refused)?);
        let [a, b] = [a, b].map(|block| open(block, &anything().expect(&capped)));
        a?.union(&b?, 0).map_err(refused).map(|_| NUM_KEYS)
    }),
    ("keys of partitions under row", Refused, || partitioned(policy(KeyTransform::Row), 0).map(|_| NUM_KEYS)),
    ("a partitioned filter to which nothing was added", Refused, || {
        let builder = PartitionedFilterBuilder::new(&policy(WHOLE), PartitionLimit::default()).map_err(refused)?;
        builder.finish(|_| Ok::<_, Infallible>(0)).map(|_| NUM_KEYS).map_err(refused)
    }),
    ("an error of a partitioned build is ignored", Refused, || {
        let mut builder = PartitionedFilterBuilder::new(&policy(WHOLE), PartitionLimit::default()).map_err(refused)?;
        for key in [b"b", b"a", b"c"] {
            _ = builder.add_key(key, |_| Ok::<_, Infallible>(0));
        }
        builder.finish(|_| Ok::<_, Infallible>(0)).map(|_| NUM_KEYS).map_err(refused)
    }),
];

/// What is in EMBEDDING.md's table, under the same names.
const UNNOTICED: &[Row] = &[
    ("a hash of another seed or secret key is queried", PanicsInDebug, || {
        denied_by_hash(&open(block(&policy(WHOLE)), &anything())?, policy(WHOLE).with_seed(8).entry_hasher())
    }),
    ("a hash of another transform is queried", PanicsInDebug, || {
        denied_by_hash(&open(block(&policy(PREFIX)), &anything())?, policy(WHOLE).entry_hasher())
    }),
    ("`probe_tables` over tables of two seeds", PanicsInDebug, || {
        let filters = [7, 8].map(|seed| open(block(&policy(WHOLE).with_seed(seed)), &anything()).expect("intact"));
        let is_maybe = |key: &[u8]| {
            let (hash, mut answers) = (policy(WHOLE).entry_hasher().hash_key(key).expect("an entry"), [false; 2]);
            probe_tables(&filters, hash, &mut answers);
            answers[1]
        };
        count_denied(is_maybe)
    }),
    ("`add_hash` of another seed", PanicsInDebug, || {
        let theirs = policy(WHOLE).with_seed(8);
        let add = |builder: &mut FilterBlockBuilder, key: &[u8]| {
            theirs.entry_hasher().hash_entries(key).for_each(|hash| builder.add_hash(hash));
        };
        denied_of(built(&policy(WHOLE), add)?)
    }),
    ("`KeyHash::from_raw` of a hash of another function or seed", Denies, || {
        let filter = open(block(&policy(WHOLE)), &anything())?;
        let theirs = KeyHasher::new(8);
        count_denied(|key| filter.may_contain_hash(KeyHash::from_raw(theirs.hash(key).get())))
    }),
    ("`hasher().hash` of a key that is not its own entry", Denies, || {
        let filter = open(block(&policy(PREFIX)), &anything().expect(&policy(PREFIX)))?;
        count_denied(|key| filter.may_contain_hash(policy(PREFIX).hasher().hash(key)))
    }),
    ("prefixes are added as keys", Denies, || {
        in_form(WHOLE, |builder, key| builder.add_key(&key[..4]), FilterBlock::may_contain)
    }),
    ("under `whole-key+prefix`, one of a key's two entries is added", Denies, || {
        in_form(BOTH, add_one_entry, FilterBlock::may_contain_prefix)
    }),
    ("under `delimited`, only the longest of a key's prefixes is added, by its hash", Denies, || {
        let add = |builder: &mut FilterBlockBuilder, key: &[u8]| add_one_entry(builder, &[key, b"/page"].concat());
        in_form(PATHS, add, FilterBlock::may_contain_prefix)
    }),
    ("rows are added by `hash_entries`, which has no entries of them", Denies, || {
        let add = |builder: &mut FilterBlockBuilder, key: &[u8]| {
            let hashes = builder.policy().entry_hasher().hash_entries(key);
            hashes.for_each(|hash| builder.add_hash(hash));
            builder.add_row(b"a row that is added as it should be");
        };
        in_form(KeyTransform::Row, add, ask_row)
    }),
    ("the code of a custom transform changes, and its number does not", Denies, || {
        let filter = open(block(&custom(4)), &anything().expect(&custom(5)))?;
        count_denied(|key| filter.may_contain(key))
    }),
    ("both sides forget the context, and another table's block is read", Denies, || {
        let others = (0..NUM_KEYS).map(|i| format!("{i:04}/other"));
        denied_of(builder_of(&policy(WHOLE), others).finish().map_err(refused)?)
    }),
    ("a partition is kept opened for a file that is written anew under the same context", Denies, || {
        let last = key(NUM_KEYS - 1);
        let others = (1..NUM_KEYS).map(|i| format!("{:04}/other", i - 1).into_bytes()).chain([last]);
        let [old, new] = [others.collect::<Vec<_>>(), keys().collect()].map(|keys: Vec<Vec<u8>>| {
            let mut writer = Writer::new(policy(WHOLE), PartitionLimit::default(), 42);
            keys.iter().for_each(|key| writer.key(key).expect("in order"));
            writer.finish().expect("an index")
        });
        assert_eq!(old.index, new.index);
        let (of_old, of_new) = (old.open(42), new.open(42));
        let partition = of_old.partitions().next().expect("one");
        let Ok(block) = old.load(partition);
        let kept = of_old.open_partition_owned(partition, block).map_err(refused)?;
        count_denied(|key| of_new.may_match(Query::Key(key), |_| Ok::<_, Infallible>(&kept)).unwrap_or(true))
    }),
    ("a compact frame is read under another policy", Denies, || {
        let (frame, theirs) = (frame_of(&mut builder()), policy(PREFIX));
        let filter = CompactFrameReader::open(&frame, &theirs).map_err(refused)?;
        count_denied(|key| filter.may_contain(key))
    }),
    ("the digest check is off, and nothing else verifies the bytes", Denies, || {
        let mut damaged = block(&policy(WHOLE));
        damaged[64..].fill(0);
        open(damaged.clone(), &anything()).expect_err("noticed by the check");
        let filter = open(damaged, &anything().with_digest_check(false))?;
        count_denied(|key| filter.may_contain(key))
    }),
    ("the bytes of an open filter change", Denies, || {
        let mut bytes = block(&policy(WHOLE));
        let len = bytes.len();
        bytes.resize(2 * len - 64, 0);
        let changing = Changing { bytes, start: 0.into(), len: len.into() };
        let filter = anything().open_owned(&changing).map_err(refused)?;
        changing.start.set(len - 64);
        count_denied(|key| filter.may_contain(key))
    }),
    ("`allow_empty` for a table that has keys", Denies, || {
        denied_of(FilterBlockBuilder::new(&policy(WHOLE)).allow_empty().finish().map_err(refused)?)
    }),
    ("`Query::Entry` at an order key with which the entry was not added", Denies, || {
        let policy = policy(KeyTransform::Custom(CustomTransform::new(200, 0).expect("legal")));
        let mut writer = Writer::new(policy.clone(), PartitionLimit::Entries(1), 0);
        keys().try_for_each(|key| writer.entry(&key, &key)).map_err(refused)?;
        let stored = writer.finish().map_err(refused)?;
        let filter = PartitionedFilter::open(&stored.index[..], anything().expect(&policy)).map_err(refused)?;
        count_denied(|key| {
            let elsewhere = Query::Entry { order_key: b"", entry: key };
            filter.may_match(elsewhere, |partition| stored.load(partition)).unwrap_or(true)
        })
    }),
];

#[test]
fn mistakes_are_refused_or_maybe_or_listed() {
    commit("mistakes", [NOTICED, UNNOTICED], NUM_KEYS * 9 / 10);
}

/// The document lists what goes unnoticed, all of it and nothing else, and names the builds that panic.
#[test]
fn the_document_lists_every_mistake_that_goes_unnoticed() {
    assert_listed("## Which mistakes go unnoticed?", UNNOTICED);
}
