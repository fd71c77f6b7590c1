//! Every policy that its text's parser accepts builds, from one entry on, or is refused for its bytes: policies are drawn
//! from the whole grammar, with the ends of all ranges.

use crate::*;

/// Values that are in their range, at its ends, and just outside of it.
const KINDS: &str = "bloom blocked golomb ribbon fuse auto";
const SIZES: &str = "2 1.999 2.001 3.3 8 9.9 10 16 33.333 63.999 64 64.001 1e1 fpr=0.5 fpr=25% fpr=0.2 fpr=1% fpr=0.001 \
    fpr=1e-6 fpr=1e-9 fpr=1e-12 fpr=9.094947017729282e-13 fpr=5e-14 fpr=0 max=63 max=64 max=65 max=100 \
    max=0x400 max=4096 max=18446744073709551615 bytes=64,probes=1 bytes=65,probes=1 bytes=65,probes=64 \
    bytes=4096,probes=7 bytes=100000,probes=33 bytes=4097,probes=0 bytes=4097,probes=65";
const SETTINGS: &str = "seed=0 seed=7 seed=0xffffffffffffffff transform=whole-key transform=prefix:1 transform=prefix:8 \
    transform=prefix:0 transform=prefix:65535 transform=whole-key+prefix:3 transform=delimited:/ \
    transform=delimited:0x00:2 transform=row transform=row+column transform=custom:128:0 \
    transform=custom:127:0 salt_bits=0 salt_bits=3 salt_bits=6 salt_bits=7 slots_per_key=0.95 \
    slots_per_key=0.949 slots_per_key=1.2 slots_per_key=NaN self_check=on self_check=off level=0 level=255 \
    queries=0 queries=18446744073709551615 read_ns=0 read_ns=4294967295 byte_ns=0 byte_ns=4294967295";

/// A text of the grammar, with up to three settings.
fn text(number: u64) -> String {
    let pick = |list: &'static str, number: u64| {
        let texts: Vec<&str> = list.split(' ').collect();
        texts[number as usize % texts.len()]
    };
    let mut text = format!("{}:{}", pick(KINDS, number), pick(SIZES, number >> 8));
    (0..number >> 60 & 3).for_each(|i| text.extend([",", pick(SETTINGS, number >> (20 + 10 * i))]));
    text
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

/// Builds a block and a compact frame, and returns whether the block was refused for its bytes.
fn build(policy: &FilterPolicy, keys: &[[u8; 8]]) -> bool {
    let count = keys.len();
    let mut builder = FilterBlockBuilder::new(policy);
    keys.iter().for_each(|key| add(&mut builder, key));
    let mut frame = Vec::new();
    builder.clone().finish_compact_into(&mut frame).map_or_else(|error| check_refusal(policy, &error), |_| ());
    let block = match builder.finish() {
        Ok(block) => block,
        Err(error) => {
            check_refusal(policy, &error);
            return true;
        }
    };
    let filter = OpenOptions::new().expect(policy).open(&block).unwrap_or_else(|error| panic!("{policy}: {error}"));
    // Hashes that were added twice count once.
    let max_len = policy.max_block_len(filter.num_entries()).expect("it was built");
    assert!(block.len() as u64 <= max_len, "{policy} {count}: {}", block.len());
    let compact = CompactFrameReader::open(&frame, policy);
    for key in keys {
        let found = match policy.transform() {
            KeyTransform::Row => filter.may_match(Query::Row(key)),
            KeyTransform::RowColumn => filter.may_match(Query::Cell(key, b"column")),
            KeyTransform::Custom(_) => filter.may_contain_hash(filter.entry_hasher().hasher().hash(key)),
            _ => filter.may_contain(key) && filter.may_contain_prefix(key),
        };
        assert!(found, "{policy} {count}: {key:?} denied");
        // A frame without a header may be refused where the block fits, and the other way round.
        assert!(compact.as_ref().map_or(frame.is_empty(), |compact| compact.may_contain(key)) || is_custom(policy));
    }
    false
}

fn is_custom(policy: &FilterPolicy) -> bool {
    matches!(policy.transform(), KeyTransform::Custom(_))
}

/// Only bytes may be too few for some entries: all else was refused by the parser.
fn check_refusal(policy: &FilterPolicy, error: &BuildError) {
    let has_bytes = matches!(policy.size(), FilterSize::MaxBytes(_) | FilterSize::FixedShape { .. });
    assert!(has_bytes && matches!(error, BuildError::ByteCap { .. }), "{policy}: {error}");
}

#[test]
fn every_policy_that_is_parsed_builds() {
    let keys = keys(12, 1000);
    let (mut built, mut too_small, mut refused) = (0, 0, 0);
    for number in numbers(13).take(by_extent(1_500, 20_000, 20_000)) {
        let text = text(number);
        match text.parse::<FilterPolicy>() {
            Ok(policy) => {
                assert_eq!(policy.to_string().parse().as_ref(), Ok(&policy), "{text}");
                for count in [1, 2, 10, 37, 1000] {
                    match build(&policy, &keys[..count]) {
                        true => too_small += 1,
                        false => built += 1,
                    }
                }
            }
            Err(error) => {
                let is_typed = matches!(
                    error,
                    ParsePolicyError::Syntax { .. } | ParsePolicyError::Repeated { .. } | ParsePolicyError::Value(_)
                );
                assert!(is_typed && !error.to_string().is_empty(), "{text}");
                refused += 1;
            }
        }
    }
    assert!(built > 1_000 && refused > 200 && too_small > 50, "{built} {refused} {too_small}");
    println!("counted: {built} blocks of drawn policies built, {too_small} refused for bytes, {refused} texts refused");
}
