//! Any policy and entries: what was added is found, the bytes depend on the set alone, damage never passes.
#![no_main]

use filterblock::{BuildError, DecodeError, FilterBlockBuilder, FilterBlockReader, FilterPolicy, OpenOptions};
use filterblock::{FilterSize, KeyHash};
use filterblock_fuzz::Case;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: Case| {
    let Ok(policy) = case.policy() else { return };
    let entries = case.entries.iter().map(|entry| policy.hasher().hash(entry));
    let more = (0..u64::from(case.num_more)).map(|i| policy.hasher().hash(&i.to_le_bytes()));
    let hashes: Vec<KeyHash> = entries.chain(more).collect();

    let mut builder = FilterBlockBuilder::new(policy).context(case.context);
    hashes.iter().for_each(|&hash| builder.add_hash(hash));
    let block = match builder.finish() {
        Ok(block) => block,
        Err(BuildError::ByteCap { cap_bytes, min_bytes, .. }) => return assert!(min_bytes > cap_bytes),
        Err(error) => panic!("{error}"),
    };
    if let FilterSize::MaxBytes(cap) = policy.size() {
        assert!(block.len() as u64 <= cap);
    }
    // Backward, and each twice.
    hashes.iter().rev().for_each(|&hash| (0..2).for_each(|_| builder.add_hash(hash)));
    assert_eq!(builder.finish().as_ref(), Ok(&block), "order and repetition");

    let options = OpenOptions::new().context(case.context);
    let options = options.expect_seed(case.seed).expect_transform(policy.key_transform());
    let reader = options.open(&block).expect("a block just written");
    assert!(hashes.iter().all(|&hash| reader.may_contain_hash(hash)));
    assert!(case.entries.iter().all(|entry| reader.may_contain(entry)));
    check_compact(policy, &hashes);
    check_refusals(&case, options, block);
});

fn check_compact(policy: FilterPolicy, hashes: &[KeyHash]) {
    let mut builder = FilterBlockBuilder::new(policy);
    hashes.iter().for_each(|&hash| builder.add_hash(hash));
    let mut frame = Vec::new();
    builder.finish_compact_into(&mut frame).expect("what fits into a block fits into a frame");
    let reader = FilterBlockReader::open_compact(&frame, policy.hasher(), policy.key_transform()).expect("a frame");
    assert!(hashes.iter().all(|&hash| reader.may_contain_hash(hash)));
}

/// Other expectations, and one damaged byte.
fn check_refusals(case: &Case, options: OpenOptions, mut block: Vec<u8>) {
    let (expected, found) = (case.context ^ 1, case.context);
    let elsewhere = options.context(expected).open(&block).map(|_| ());
    assert_eq!(elsewhere, Err(DecodeError::WrongContext { expected, found }));
    let (expected, found) = (case.seed ^ 1, case.seed);
    let reseeded = options.expect_seed(expected).open(&block).map(|_| ());
    assert_eq!(reseeded, Err(DecodeError::WrongSeed { expected, found }));

    let at = usize::from(case.damage.at) % block.len();
    block[at] ^= case.damage.bits.max(1);
    assert!(OpenOptions::new().context(case.context).open(&block).is_err(), "damage at {at} passed");
    block.pop();
    assert!(OpenOptions::new().context(case.context).open(&block).is_err(), "damage at {at} and a lost byte passed");
}
