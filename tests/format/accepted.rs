//! Every policy that its text's parser accepts builds of any number of keys, within its stated bounds, as a block, a compact
//! frame, in partitions and as a range filter, or is refused for what only the keys show: bytes that are too few for
//! them, keys that are not integers.

use crate::*;
use testkit::harness;
use testkit::policies::{self, num_keys};
use testkit::random::Random;

/// A policy that `draw` draws and its parser accepts. What is refused is refused by its type, in words.
fn accepted<P>(random: &mut Random, draw: fn(&mut Random) -> String) -> P
where
    P: std::str::FromStr<Err = ParsePolicyError> + ToString + PartialEq + std::fmt::Debug,
{
    let (text, policy) = policies::accepted(random, draw, |text| {
        let parsed = text.parse::<P>();
        parsed.inspect_err(|error| assert!(!error.to_string().is_empty(), "{text}")).ok()
    });
    assert_eq!(policy.to_string().parse().as_ref(), Ok(&policy), "{text}");
    policy
}

/// Adds a key in the form that the transform takes.
fn add(builder: &mut FilterBlockBuilder, key: &[u8]) {
    match builder.policy().transform() {
        KeyTransform::Row => builder.add_row(key),
        KeyTransform::RowColumn => builder.add_row_column(key, b"column"),
        KeyTransform::Custom(_) => builder.add_entry(key),
        _ => builder.add_key(key),
    }
}

/// The queries that a stored key must pass.
fn queries<'a>(transform: KeyTransform, key: &'a [u8]) -> [Query<'a>; 2] {
    match transform {
        KeyTransform::Row => [Query::Row(key); 2],
        KeyTransform::RowColumn => [Query::Cell(key, b"column"), Query::Row(key)],
        KeyTransform::Custom(_) => [Query::Entry { order_key: key, entry: key }; 2],
        _ => [Query::Key(key), Query::Prefix(key)],
    }
}

/// Builds a block and a compact frame, in memory of the greatest length, too; returns whether the block was refused for
/// its bytes.
fn build(policy: &FilterPolicy, keys: &[[u8; 8]]) -> bool {
    let mut builder = FilterBlockBuilder::new(policy);
    keys.iter().for_each(|key| add(&mut builder, key));
    assert!(!keys.is_empty() || builder.finish() == Err(BuildError::Empty), "{policy}");
    builder.allow_empty();
    let mut frame = Vec::new();
    let compact_len = builder.clone().finish_compact_into(&mut frame);
    if let Err(error) = &compact_len {
        check_refusal(policy, error);
    }
    let block = match builder.clone().finish() {
        Ok(block) => block,
        Err(error) => {
            check_refusal(policy, &error);
            let BuildError::ByteCap { num_entries, .. } = error else { unreachable!("it was checked") };
            // The length of others depends on the hashes, of fuse by the 8 bytes of a remapped filter.
            let is_exact = matches!(policy.kind(), Some(FilterKind::Bloom | FilterKind::Blocked));
            assert!(!is_exact || policy.expected_block_len(num_entries) == Err(error), "{policy}");
            return true;
        }
    };
    let filter = OpenOptions::new().expect(policy).open(&block).unwrap_or_else(|error| panic!("{policy}: {error}"));
    assert_eq!(OpenOptions::new().open(&block).map(|filter| filter.num_entries()), Ok(filter.num_entries()));
    // Hashes that were added twice count once.
    let max_len = policy.max_block_len(filter.num_entries()).expect("it was built");
    assert!(block.len() as u64 <= max_len, "{policy}: {}", block.len());
    if let FilterSize::MaxBytes(bytes) | FilterSize::FixedShape { block_len: bytes, .. } = policy.size() {
        let fits = policy.expected_num_entries(bytes);
        assert!(block.len() as u64 <= bytes && fits >= filter.num_entries(), "{policy}: {fits}");
    }
    let mut memory = vec![0xff; max_len as usize];
    assert_eq!(builder.clone().finish_into_slice(&mut memory), Ok(block.len()), "{policy}");
    assert_eq!(memory[..block.len()], block, "{policy}");
    if let Ok(max_len) = policy.max_compact_len(filter.num_entries()) {
        memory.resize(max_len as usize, 0xff);
        assert_eq!(builder.finish_compact_into_slice(&mut memory), compact_len, "{policy}");
    }
    let compact = CompactFrameReader::open(&frame, policy);
    // A frame without a header may be refused where the block fits, and the other way round.
    assert!(compact.is_ok() || compact_len.is_err(), "{policy}: {compact:?}");
    for query in keys.iter().flat_map(|key| queries(policy.transform(), key)) {
        assert!(filter.may_match(query), "{policy}: {query:?} denied by a block");
        assert!(compact.as_ref().is_ok_and(|compact| compact.may_match(query)), "{policy}: {query:?} denied");
    }
    false
}

/// Only bytes may be too few for some entries: all else was refused by the parser.
fn check_refusal(policy: &FilterPolicy, error: &BuildError) {
    let has_bytes = matches!(policy.size(), FilterSize::MaxBytes(_) | FilterSize::FixedShape { .. });
    assert!(has_bytes && matches!(error, BuildError::ByteCap { .. }), "{policy}: {error}");
}

/// In partitions, unless policy or limit are refused.
fn build_partitions(policy: &FilterPolicy, limit: PartitionLimit, keys: &[[u8; 8]]) -> bool {
    if let Err(error) = PartitionedFilterBuilder::new(policy, limit) {
        let has_bytes = matches!(policy.size(), FilterSize::MaxBytes(_) | FilterSize::FixedShape { .. });
        assert_eq!(matches!(error, BuildError::CappedPartitions { .. }), has_bytes, "{policy} {limit:?}: {error}");
        // The greatest limits are of more bytes than an address of 32 bits reaches.
        let is_long = usize::BITS < 64 && matches!(error, BuildError::TooLarge { .. });
        assert!(has_bytes || is_long || matches!(error, BuildError::Setting { .. }), "{policy} {limit:?}: {error}");
        return true;
    }
    let mut writer = Writer::new(policy.clone(), limit, 7);
    for key in keys {
        let added = match policy.transform() {
            KeyTransform::Row => writer.row(key),
            KeyTransform::RowColumn => writer.pair(key, b"column"),
            KeyTransform::Custom(_) => writer.entry(key, key),
            _ => writer.key(key),
        };
        added.unwrap_or_else(|error| panic!("{policy} {limit:?}: {error}"));
    }
    let stored = writer.finish_any().unwrap_or_else(|error| panic!("{policy} {limit:?}: {error}"));
    let options = OpenOptions::new().with_context(7).expect(policy);
    let filter = PartitionedFilter::open(&stored.index[..], options).expect("intact");
    for query in keys.iter().flat_map(|key| queries(policy.transform(), key)) {
        assert!(harness::sure(filter.may_match(query, |at| stored.load(at))), "{policy} {limit:?}: {query:?} denied");
    }
    false
}

/// A range filter, and the same keys in partitions; returns whether keys were refused because they are not integers.
fn build_ranges(policy: RangePolicy, limit: u64, keys: &[Vec<u8>]) -> bool {
    let mut builder = RangeFilterBuilder::new(policy);
    keys.iter().for_each(|key| builder.add_key(key));
    assert!(!keys.is_empty() || builder.finish() == Err(BuildError::Empty), "{policy}");
    let block = match builder.allow_empty().finish() {
        Ok(block) => block,
        Err(error) => {
            assert!(policy.to_string().contains("form=integers"), "{policy}: {error}");
            assert!(matches!(error, BuildError::NotIntegers(_)), "{policy}: {error}");
            return true;
        }
    };
    let filter = OpenOptions::new().open_ranges(&block[..]).expect("intact");
    let (num_keys, common_len) = (filter.num_entries(), filter.common_prefix().len() as u64);
    // The plan is for bits, and some bytes of them are not yet known.
    let most = policy.expected_block_len(num_keys) + common_len + 64;
    assert!(block.len() as u64 <= most, "{policy}, {num_keys} keys: {} of {most} bytes", block.len());
    let stored = harness::ranges(0, policy, PartitionLimit::Entries(limit), keys);
    let partitioned = PartitionedRangeFilter::open(&stored.index[..], OpenOptions::new()).expect("intact");
    for key in keys {
        for query in
            [Query::Key(key), Query::Prefix(&key[..key.len() / 2]), Query::range(..=&key[..]), Query::range(&key[..]..)]
        {
            assert!(filter.may_match(query), "{policy}: {query:?} denied");
            assert_eq!(partitioned.may_match(query, |at| stored.load(at)), Ok(true), "{policy}: {query:?} denied");
        }
    }
    false
}

/// Sorted keys: dense integers, sparse ones, or of letters and several lengths.
fn range_keys(random: &mut Random, most: usize) -> Vec<Vec<u8>> {
    let (num_keys, shape) = (num_keys(random, most), random.below(3));
    let (step, common) = (policies::scaled(random, 40) + 1, random.string(b"01", (shape * 7) as usize));
    let mut keys: Vec<Vec<u8>> = (0..num_keys as u64)
        .map(|i| match shape {
            0 => [&common[..], &(i * step).to_be_bytes()].concat(),
            1 => random.next().to_be_bytes().into(),
            _ => {
                let len = random.index(20);
                random.string(b"ab/\0\xff", len)
            }
        })
        .collect();
    keys.sort();
    keys
}

#[test]
fn every_policy_that_is_parsed_builds() {
    let mut random = Random::new(13);
    let most = by_extent(1000, 1_000_000, 1_000_000);
    let (mut num_blocks, mut num_ranges, mut num_refused) = (0, 0, [0; 3]);
    for _ in 0..by_extent(400, 60_000, 60_000) {
        let policy: FilterPolicy = accepted(&mut random, policies::of_keys);
        let mut keys = keys(random.next(), num_keys(&mut random, most));
        num_refused[0] += usize::from(build(&policy, &keys));
        keys.sort_unstable();
        let limit = match random.pick(&[0, 1, 37, 255, 256, 32 << 10, 1 << 30, 1 << 32]) {
            bytes if random.one_in(2) => PartitionLimit::Bytes(bytes),
            entries => PartitionLimit::Entries(entries),
        };
        num_refused[1] += usize::from(build_partitions(&policy, limit, &keys[..keys.len().min(2000)]));
        num_blocks += 1;
    }
    for _ in 0..by_extent(200, 40_000, 40_000) {
        let policy: RangePolicy = accepted(&mut random, policies::of_ranges);
        let keys = range_keys(&mut random, most);
        num_refused[2] += usize::from(build_ranges(policy, [1, 2, 37, 1 << 32][random.index(4)], &keys));
        num_ranges += 1;
    }
    assert!(num_refused.iter().all(|&refused| refused > 1) && num_refused[0] * 5 < num_blocks, "{num_refused:?}");
    let [bytes, partitions, not_integers] = num_refused;
    println!(
        "counted: {num_blocks} policies of keys and {num_ranges} of ranges built; refused for their bytes {bytes}, for \
         partitions {partitions}, for keys that are no integers {not_integers}"
    );
}
