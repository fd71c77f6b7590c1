//! The reader of an earlier release, `released`, is given what this tree writes: its answers are this tree's, or it refuses
//! what it cannot know. It never denies a stored key. Takes the number of frames, and the release's name.
//!
//! The feature `since_0_2` is set for releases from 0.2.0 on: their calls are others, and they read range filters and sets.

#[macro_use]
#[cfg_attr(feature = "since_0_2", path = "since_0_2.rs")]
#[cfg_attr(not(feature = "since_0_2"), path = "since_0_1.rs")]
mod api;

use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedRangeFilterBuilder};
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock::{CompactFrameReader, FilterBlockBuilder, FilterPolicy, KeyHasher, KeyTransform, OpenOptions, Query};
use filterblock_set::{FilterSet, Opening, SetBuilder, SetColumn, Sizing, Value, ValueClass, file_identity};
use std::convert::Infallible;
use testkit::harness::Writer;
use testkit::policies::{self, accepted};
use testkit::random::Random;

const COLUMN: &[u8] = b"column";
const CONTEXT: u64 = 7;

/// What became of the frames of one sort.
#[derive(Default)]
struct Seen {
    read: u64,
    refused: u64,
    denied_absent: u64,
    answers: u64,
}

impl Seen {
    /// An answer of the released reader and this tree's.
    fn compare(&mut self, what: &str, is_stored: bool, released: bool, today: bool) {
        assert!(released || !is_stored, "{what}: the released reader denies a stored key");
        assert_eq!(released, today, "{what}: the released reader answers otherwise");
        self.denied_absent += u64::from(!released);
        self.answers += 1;
    }

    /// The released reader has refused the frame: as of a newer writer, if this is the only reason.
    fn refuse(&mut self, what: &str, error: released::DecodeError) {
        assert_eq!(error.class(), released::DecodeErrorClass::Newer, "{what}: {error}");
        self.refused += 1;
    }
}

/// The entries of a policy, as the released reader expects them; `None` for a transform that it does not know.
fn released_entries(policy: &FilterPolicy) -> Option<released::EntryHasher> {
    let transform = policy.transform().to_string().parse().ok()?;
    Some(released::EntryHasher::new(released::KeyHasher::new(policy.hasher().seed()), transform))
}

/// Distinct keys, of which every second is stored.
fn keys(random: &mut Random) -> Vec<Vec<u8>> {
    let num_keys = 2 * policies::num_keys(random, 20_000);
    let (letters, len): (&[u8], _) = if random.one_in(2) { (b"\0/a\xff", 12) } else { (b"0123456789", 8) };
    let mut keys: Vec<_> = (0..num_keys).map(|_| random.string(letters, len)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn stored(keys: &[Vec<u8>]) -> impl Iterator<Item = &[u8]> {
    keys.iter().step_by(2).map(Vec::as_slice)
}

/// What is queried: each key and its prefix, or row and cell.
fn queries<'a>(transform: KeyTransform, key: &'a [u8]) -> Vec<Query<'a>> {
    match transform {
        KeyTransform::Row | KeyTransform::RowColumn => vec![Query::Row(key), Query::Cell(key, COLUMN)],
        _ => vec![Query::Key(key), Query::Prefix(key)],
    }
}

fn add(builder: &mut FilterBlockBuilder, key: &[u8]) {
    match builder.policy().transform() {
        KeyTransform::Row => builder.add_row(key),
        KeyTransform::RowColumn => builder.add_row_column(key, COLUMN),
        _ => builder.add_key(key),
    }
}

/// A block, and the compact frame of the same keys.
fn block(policy: &FilterPolicy, keys: &[Vec<u8>], [blocks, frames]: [&mut Seen; 2]) {
    let mut builder = FilterBlockBuilder::new(policy);
    stored(keys).for_each(|key| add(&mut builder, key));
    builder.allow_empty().set_context(CONTEXT);
    let entries = released_entries(policy);
    let (what, is_stored) = (policy.to_string(), |i: usize| i % 2 == 0);
    let mut frame = Vec::new();
    if let (Ok(_), Some(entries)) = (builder.clone().finish_compact_into(&mut frame), &entries) {
        let today = CompactFrameReader::open(&frame, policy).expect("intact");
        let filter = released::CompactFrameReader::open(&frame, entries).expect("version 1");
        for (i, query) in keys
            .iter()
            .enumerate()
            .flat_map(|(i, key)| queries(policy.transform(), key).into_iter().map(move |query| (i, query)))
        {
            frames.compare(&what, is_stored(i), released_answer!(filter, query), today.may_match(query));
        }
        frames.read += 1;
    }
    let Ok(block) = builder.finish() else { return };
    let today = OpenOptions::new().with_context(CONTEXT).expect(policy).open(&block).expect("intact");
    let options = released::OpenOptions::new().with_context(CONTEXT);
    let options = entries.as_ref().map_or(options.clone(), |entries| options.expect(entries));
    match options.open(&block) {
        Ok(filter) => {
            for (i, key) in keys.iter().enumerate() {
                for query in queries(policy.transform(), key) {
                    blocks.compare(&what, is_stored(i), released_answer!(filter, query), today.may_match(query));
                }
            }
            blocks.read += 1;
        }
        Err(error) => {
            assert!(entries.is_none(), "{policy}: {error}");
            blocks.refuse(&what, error);
        }
    }
}

/// Partitions, and the index.
fn partitioned(policy: &FilterPolicy, limit: u64, keys: &[Vec<u8>], seen: &mut Seen) {
    let (what, limit) = (policy.to_string(), PartitionLimit::Entries(limit));
    let mut writer = Writer::new(policy.clone(), limit, CONTEXT);
    for key in stored(keys) {
        match policy.transform() {
            KeyTransform::Row => writer.row(key),
            KeyTransform::RowColumn => writer.pair(key, COLUMN),
            _ => writer.key(key),
        }
        .expect("in order");
    }
    let written = writer.finish_any().expect("an index");
    let options = OpenOptions::new().with_context(CONTEXT).expect(policy);
    let today = PartitionedFilter::open(&written.index[..], options).expect("intact");
    let part = |offset: u64, len: u32| Ok::<_, Infallible>(&written.file[offset as usize..][..len as usize]);
    match released::partition::PartitionedFilter::open(
        &written.index[..],
        released::OpenOptions::new().with_context(CONTEXT),
    ) {
        Ok(filter) => {
            for (i, key) in keys.iter().enumerate() {
                for query in queries(policy.transform(), key) {
                    let answer = released_answer!(filter, query, |at: released::partition::PartitionHandle| part(
                        at.offset, at.len
                    ));
                    let today = today.may_match(query, |at: PartitionHandle| part(at.offset, at.len));
                    seen.compare(&what, i % 2 == 0, answer.expect("version 1"), today.expect("intact"));
                }
            }
            seen.read += 1;
        }
        Err(error) => {
            assert!(released_entries(policy).is_none(), "{policy}: {error}");
            seen.refuse(&what, error);
        }
    }
}

/// A range filter, and one in partitions.
struct OfRanges {
    block: Vec<u8>,
    #[cfg_attr(not(feature = "since_0_2"), expect(dead_code, reason = "0.1.0 reads none of it"))]
    file: Vec<u8>,
    index: Vec<u8>,
}

fn ranges(policy: RangePolicy, keys: &[Vec<u8>], seen: [&mut Seen; 2]) {
    let mut builder = RangeFilterBuilder::new(policy);
    stored(keys).for_each(|key| builder.add_key(key));
    let Ok(block) = builder.set_context(CONTEXT).allow_empty().finish() else { return };
    let mut builder = PartitionedRangeFilterBuilder::new(&policy, PartitionLimit::Entries(100)).expect("legal");
    builder.set_context(CONTEXT).allow_empty();
    let mut file = Vec::new();
    let mut store = |block: &[u8]| {
        file.extend_from_slice(block);
        Ok::<_, Infallible>((file.len() - block.len()) as u64)
    };
    stored(keys).for_each(|key| builder.add_key(key, &mut store).expect("in order"));
    let index = builder.finish(&mut store).expect("an index");
    api::ranges(&policy.to_string(), &OfRanges { block, file, index }, keys, seen);
}

/// A set's files, with their identities and the numbers in each.
type Files = Vec<(String, u64, Vec<i64>)>;

fn set(random: &mut Random, seen: &mut Seen) {
    let sizing = Sizing::new(random.below(1000), 0.01).expect("few keys");
    let builder = || {
        SetBuilder::new(&KeyHasher::new(7), &[SetColumn::new("id", ValueClass::Number, sizing)]).expect("one column")
    };
    let name = |file| format!("{file}.parquet");
    let files: Files = (0..random.below(8))
        .map(|file| {
            let ids = (0..1 + random.below(200) as i64).map(|id| 1000 * file as i64 + id);
            (name(file), file_identity(&[name(file).as_bytes()]), ids.collect())
        })
        .collect();
    let mut object = Vec::new();
    let (first, second) = files.split_at(random.index(files.len() + 1));
    for (number, part) in
        [first, second].into_iter().enumerate().filter(|(number, part)| *number == 0 || !part.is_empty())
    {
        let mut builder = builder();
        for (name, identity, ids) in part {
            let mut writer = builder.file(name, *identity).expect("a new file");
            ids.iter().for_each(|&id| assert!(writer.add(0, Value::Int(id))));
            writer.finish().expect("in memory");
        }
        if number == 0 {
            builder.allow_empty();
            builder.finish(&mut object).expect("in memory");
        } else {
            let Ok(Opening::Ready(old)) = FilterSet::open(object.len() as u64, &object, None) else { panic!("a set") };
            builder.finish_append(&old, |_| false, &mut object).expect("in memory");
        }
    }
    api::set(&object, &files, seen);
}

fn main() {
    let [num_frames, release] = [1, 2].map(|at| std::env::args().nth(at).expect("the number of frames, and a release"));
    let num_frames: u64 = num_frames.parse().expect("a number of frames");
    let mut random = Random::new(50);
    let [mut blocks, mut frames, mut indexes, mut of_ranges, mut range_indexes, mut sets] =
        [(); 6].map(|()| Seen::default());
    let total = |all: [&Seen; 6]| all.iter().map(|seen| seen.read + seen.refused).sum::<u64>();
    while total([&blocks, &frames, &indexes, &of_ranges, &range_indexes, &sets]) < num_frames {
        let (_, policy) = accepted(&mut random, policies::of_keys, |text| text.parse::<FilterPolicy>().ok());
        // An engine's own transform has no code here.
        if !matches!(policy.transform(), KeyTransform::Custom(_)) {
            let keys = keys(&mut random);
            block(&policy, &keys, [&mut blocks, &mut frames]);
            if random.one_in(2) && !policy.to_string().contains("max=") && !policy.to_string().contains("bytes=") {
                partitioned(&policy, random.pick(&[1, 10, 300, 1 << 32]), &keys, &mut indexes);
            }
        }
        if random.one_in(3) {
            let (_, policy) = accepted(&mut random, policies::of_ranges, |text| text.parse::<RangePolicy>().ok());
            ranges(policy, &keys(&mut random), [&mut of_ranges, &mut range_indexes]);
        }
        if random.one_in(10) {
            set(&mut random, &mut sets);
        }
    }
    for (name, seen) in [
        ("blocks", blocks),
        ("compact frames", frames),
        ("indexes of partitions", indexes),
        ("range filters", of_ranges),
        ("indexes of ranges", range_indexes),
        ("sets", sets),
    ] {
        let Seen { read, refused, answers, denied_absent } = seen;
        assert!(read == 0 || denied_absent * 10 > answers, "{name}: nothing is denied");
        println!(
            "counted: the reader of {release}: {name}: {read} read, {answers} answers as today's, {refused} refused"
        );
    }
}
