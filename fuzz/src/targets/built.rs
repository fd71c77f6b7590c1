use super::Reached;
use crate::blocks::Portable;
use crate::case::Case;
use crate::oracle::Oracle;
use crate::readers::Reading;
use arbitrary::{Arbitrary, Unstructured};
use filterblock::{
    BuildError, CompactFrameReader, DecodeError, FilterBlockBuilder, FilterBlockReader, FilterPolicy, FilterSize,
    KeyHash, KeyHasher, OpenOptions,
};
use std::collections::BTreeSet;

/// The oracle reads and builds bit by bit: this many entries keep an execution within milliseconds.
const MAX_ORACLE_ENTRIES: usize = 100;
/// Of the queries made in a batch, the number that are also made one at a time.
const MAX_QUERIES: usize = 150;

/// Any policy and entries: what was added is found, the bytes depend on the set only and are the oracle's, portable and
/// other code give the same answers, and damage is never accepted.
pub fn built(input: &[u8]) -> Reached {
    let Ok(case) = Case::arbitrary_take_rest(Unstructured::new(input)) else { return Reached::Nothing };
    let Ok(policy) = case.policy() else { return Reached::Refused };
    let entries = case.entries.iter().map(|entry| policy.hasher().hash(entry));
    let more = (0..u64::from(case.num_more)).map(|i| policy.hasher().hash(&i.to_le_bytes()));
    let hashes: Vec<KeyHash> = entries.chain(more).collect();

    let mut builder = FilterBlockBuilder::new(&policy);
    builder.set_context(case.context).allow_empty();
    hashes.iter().for_each(|&hash| builder.add_hash(hash));
    let block = match builder.finish() {
        Ok(block) => block,
        Err(BuildError::ByteCap { cap_bytes, min_bytes, .. }) => {
            assert!(min_bytes > cap_bytes);
            return Reached::Refused;
        }
        Err(error) => panic!("{error}"),
    };
    if let FilterSize::MaxBytes(cap) = policy.size() {
        assert!(block.len() as u64 <= cap);
    }
    // Backward, and each twice.
    hashes.iter().rev().for_each(|&hash| (0..2).for_each(|_| builder.add_hash(hash)));
    assert_eq!(builder.set_context(case.context).allow_empty().finish().as_ref(), Ok(&block), "order and repetition");

    let options = OpenOptions::new().with_context(case.context);
    let options = options.expect_hasher(&case.hasher()).expect_transform(policy.transform());
    let reader = options.open(&block).expect("a block just written");
    assert!(case.entries.iter().all(|entry| reader.may_contain_hash(reader.entry_hasher().hasher().hash(entry))));
    let portable = Portable::open(&block, case.context, case.key());
    check_answers(&reader, &portable, &Oracle::open(&block), &hashes, &block[64..]);
    check_thinned(&case, &reader, &hashes);
    check_compact(policy, &hashes);
    check_hasher(&case, options.clone(), &block);
    check_refusals(&case, options, block);
    Reached::Compared
}

/// Checks that everything is found, and that answers for other hashes are equal: alone, in a batch, by the portable
/// code and by the oracle, whose payload is the same.
fn check_answers(reader: &impl Reading, portable: &Portable<'_>, oracle: &Oracle, hashes: &[KeyHash], payload: &[u8]) {
    let others = (0..32).map(|i: u64| KeyHash::from_raw(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let queried: Vec<KeyHash> = others.chain(hashes.iter().copied()).collect();
    let mut batch = vec![false; queried.len()];
    reader.may_contain_hashes(&queried, &mut batch);
    assert!(batch[32..].iter().all(|&answer| answer), "an entry is not found");
    let queried = &queried[..queried.len().min(MAX_QUERIES)];
    for (&hash, &answer) in queried.iter().zip(&batch) {
        assert_eq!(reader.may_contain_hash(hash), answer, "{hash:?}: alone and in a batch");
    }
    portable.check(queried, &batch[..queried.len()]);
    for (&hash, &answer) in queried.iter().zip(&batch).step_by(3) {
        assert_eq!(oracle.may_contain(hash.get()), answer, "{hash:?}: oracle and reader");
    }
    if hashes.len() <= MAX_ORACLE_ENTRIES {
        let distinct: BTreeSet<u64> = hashes.iter().map(|hash| hash.get()).collect();
        assert_eq!(oracle.rebuild(&distinct), payload, "the oracle's bytes");
    }
}

/// As [`check_answers`], of a copy of some columns.
fn check_thinned(case: &Case, reader: &FilterBlockReader<'_>, hashes: &[KeyHash]) {
    let Some(most) = reader.num_compared_columns().filter(|&most| most > 1) else { return };
    let columns = 1 + u32::from(case.damage.at) % (most - 1);
    let block = reader.thin(columns, case.context).expect("fewer columns");
    let thinned =
        OpenOptions::new().with_context(case.context).expect_hasher(reader.entry_hasher().hasher()).open(&block);
    let thinned = thinned.expect("a block just written");
    assert_eq!((thinned.num_compared_columns(), thinned.thinned_from()), (Some(columns), Some(most)));
    let portable = Portable::open(&block, case.context, case.key());
    check_answers(&thinned, &portable, &Oracle::open(&block), hashes, &block[64..]);
}

fn check_compact(policy: FilterPolicy, hashes: &[KeyHash]) {
    let mut builder = FilterBlockBuilder::new(&policy);
    hashes.iter().for_each(|&hash| builder.add_hash(hash));
    let mut frame = Vec::new();
    builder.allow_empty().finish_compact_into(&mut frame).expect("what fits into a block fits into a frame");
    let reader = CompactFrameReader::open(&frame, &policy).expect("a frame");
    let (portable, oracle) = (Portable::open_compact(&frame), Oracle::open_compact(&frame));
    check_answers(&reader, &portable, &oracle, hashes, &frame[..payload_len(&oracle)]);
}

/// The length of the payload from which a compact frame was opened.
fn payload_len(oracle: &Oracle) -> usize {
    match oracle {
        // An empty frame does not say what the parameters of a set would be.
        Oracle::Empty => 0,
        Oracle::Bloom { bits, .. } => bits.len(),
        Oracle::Blocked { lines, .. } => lines.len(),
        Oracle::Golomb { payload, .. } | Oracle::Ribbon { payload, .. } | Oracle::Fuse { payload, .. } => payload.len(),
        Oracle::Remapped { own, .. } => payload_len(own) + 8,
    }
}

/// Checks that the block opens with the expected hash and seed, or with its key, and that with any other hasher the
/// error names the one that is needed.
fn check_hasher(case: &Case, options: OpenOptions, block: &[u8]) {
    let hasher = case.hasher();
    let refused = |options: OpenOptions| options.open(block).map(|_| ()).expect_err("another hasher");
    let other = match case.key() {
        None => KeyHasher::new(case.seed ^ 1),
        Some(mut key) => {
            key[usize::from(case.damage.at) % key.len()] ^= case.damage.bits.max(1);
            KeyHasher::keyed(key)
        }
    };
    let (expected, found) = (other.seed(), hasher.seed());
    let expected = match case.key() {
        None => DecodeError::WrongSeed { expected, found },
        Some(_) => DecodeError::WrongKey { expected, found },
    };
    assert_eq!(refused(options.clone().expect_hasher(&other)), expected);
    // A seed equal to the key's id, or some key if the block has a seed.
    let other = match case.key() {
        None => KeyHasher::keyed([0; 16]),
        Some(_) => KeyHasher::new(hasher.seed()),
    };
    let expected = DecodeError::WrongHash { expected: other.hash_id(), found: hasher.hash_id() };
    assert_eq!(refused(options.expect_hasher(&other)), expected);

    let unexpecting = OpenOptions::new().with_context(case.context);
    match case.key() {
        None => assert_eq!(unexpecting.open(block).map(|reader| reader.entry_hasher().hasher().clone()), Ok(hasher)),
        Some(_) => assert_eq!(refused(unexpecting), DecodeError::KeyNeeded { key_id: hasher.seed() }),
    }
}

/// Checks that another context is an error, and so is one damaged byte, before any hasher or transform is compared.
fn check_refusals(case: &Case, options: OpenOptions, mut block: Vec<u8>) {
    let (expected, found) = (case.context ^ 1, case.context);
    let elsewhere = options.clone().with_context(expected).open(&block).map(|_| ());
    assert_eq!(elsewhere, Err(DecodeError::WrongContext { expected, found }));

    let check = |block: &[u8], what: &str| match options.open(block) {
        Ok(_) => panic!("{what} passed"),
        Err(
            error @ (DecodeError::WrongHash { .. }
            | DecodeError::WrongSeed { .. }
            | DecodeError::WrongKey { .. }
            | DecodeError::WrongTransform { .. }),
        ) => panic!("{what} was taken for {error}"),
        Err(_) => {}
    };
    let at = usize::from(case.damage.at) % block.len();
    block[at] ^= case.damage.bits.max(1);
    check(&block, &format!("damage at {at}"));
    block.pop();
    check(&block, &format!("damage at {at} and a lost byte"));
}
