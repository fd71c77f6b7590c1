use super::Reached;
use crate::blocks::Portable;
use crate::case::Case;
use crate::oracle::Oracle;
use arbitrary::{Arbitrary, Unstructured};
use filterblock::{
    BuildError, DecodeError, FilterBlockBuilder, FilterBlockReader, FilterPolicy, FilterSize, KeyHash, KeyHasher,
    OpenOptions,
};
use std::collections::BTreeSet;

/// The oracle reads and builds bit by bit: so many entries keep an execution within milliseconds.
const MAX_ORACLE_ENTRIES: usize = 100;
/// Questions that are asked one at a time, of all that may be asked in a batch.
const MAX_QUESTIONS: usize = 150;

/// Any policy and entries: what was added is found, the bytes depend on the set alone and are the oracle's, portable
/// and other code answer alike, damage never passes.
pub fn built(input: &[u8]) -> Reached {
    let Ok(case) = Case::arbitrary_take_rest(Unstructured::new(input)) else { return Reached::Nothing };
    let Ok(policy) = case.policy() else { return Reached::Refused };
    let entries = case.entries.iter().map(|entry| policy.hasher().hash(entry));
    let more = (0..u64::from(case.num_more)).map(|i| policy.hasher().hash(&i.to_le_bytes()));
    let hashes: Vec<KeyHash> = entries.chain(more).collect();

    let mut builder = FilterBlockBuilder::new(policy).context(case.context);
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
    assert_eq!(builder.finish().as_ref(), Ok(&block), "order and repetition");

    let options = OpenOptions::new().context(case.context);
    let options = options.expect_hasher(case.hasher()).expect_transform(policy.key_transform());
    let reader = options.open(&block).expect("a block just written");
    assert!(case.entries.iter().all(|entry| reader.may_contain(entry)));
    let portable = Portable::open(&block, case.context, case.key());
    check_answers(&reader, &portable, &Oracle::open(&block), &hashes, &block[64..]);
    check_compact(policy, &hashes);
    check_hasher(&case, options, &block);
    check_refusals(&case, options, block);
    Reached::Compared
}

/// Everything is found, and strangers are answered alike: alone, in a batch, portably and by the oracle, whose bytes
/// are the same.
fn check_answers(
    reader: &FilterBlockReader<'_>,
    portable: &Portable<'_>,
    oracle: &Oracle,
    hashes: &[KeyHash],
    payload: &[u8],
) {
    let strangers = (0..32).map(|i: u64| KeyHash::from_raw(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let asked: Vec<KeyHash> = strangers.chain(hashes.iter().copied()).collect();
    let mut batch = vec![false; asked.len()];
    reader.may_contain_hashes(&asked, &mut batch);
    assert!(batch[32..].iter().all(|&answer| answer), "an entry is not found");
    let asked = &asked[..asked.len().min(MAX_QUESTIONS)];
    for (&hash, &answer) in asked.iter().zip(&batch) {
        assert_eq!(reader.may_contain_hash(hash), answer, "{hash:?}: alone and in a batch");
    }
    portable.check(asked, &batch[..asked.len()]);
    for (&hash, &answer) in asked.iter().zip(&batch).step_by(3) {
        assert_eq!(oracle.may_contain(hash.get()), answer, "{hash:?}: oracle and reader");
    }
    if hashes.len() <= MAX_ORACLE_ENTRIES {
        let distinct: BTreeSet<u64> = hashes.iter().map(|hash| hash.get()).collect();
        assert_eq!(oracle.rebuild(&distinct), payload, "the oracle's bytes");
    }
}

fn check_compact(policy: FilterPolicy, hashes: &[KeyHash]) {
    let mut builder = FilterBlockBuilder::new(policy);
    hashes.iter().for_each(|&hash| builder.add_hash(hash));
    let mut frame = Vec::new();
    builder.finish_compact_into(&mut frame).expect("what fits into a block fits into a frame");
    let reader = FilterBlockReader::open_compact(&frame, policy.hasher(), policy.key_transform()).expect("a frame");
    let (portable, oracle) = (Portable::open_compact(&frame), Oracle::open_compact(&frame));
    let payload = match oracle {
        // Whose parameters tell nothing of what an empty set would take.
        Oracle::Empty => &[],
        Oracle::Bloom { ref bits, .. } => &bits[..],
        Oracle::Blocked { ref lines, .. } => &lines[..],
        Oracle::Golomb { ref payload, .. } => &payload[..],
    };
    check_answers(&reader, &portable, &oracle, hashes, payload);
}

/// The block opens for who expects its hash and seed, or gives its key, and says to all others which it needs.
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
    let expected = DecodeError::WrongSeed { expected: other.seed(), found: hasher.seed() };
    assert_eq!(refused(options.expect_hasher(other)), expected);
    // Of the same number, or of another key where the block has none.
    let other = match case.key() {
        None => KeyHasher::keyed([0; 16]),
        Some(_) => KeyHasher::new(hasher.seed()),
    };
    let expected = DecodeError::WrongHash { expected: other.hash_id(), found: hasher.hash_id() };
    assert_eq!(refused(options.expect_hasher(other)), expected);

    let unexpecting = OpenOptions::new().context(case.context);
    match case.key() {
        None => assert_eq!(unexpecting.open(block).map(|reader| reader.hasher()), Ok(hasher)),
        Some(_) => assert_eq!(refused(unexpecting), DecodeError::KeyNeeded { key_id: hasher.seed() }),
    }
}

/// Another context, and one damaged byte, which is noticed before any hasher or transform is compared.
fn check_refusals(case: &Case, options: OpenOptions, mut block: Vec<u8>) {
    let (expected, found) = (case.context ^ 1, case.context);
    let elsewhere = options.context(expected).open(&block).map(|_| ());
    assert_eq!(elsewhere, Err(DecodeError::WrongContext { expected, found }));

    let check = |block: &[u8], what: &str| match options.open(block) {
        Ok(_) => panic!("{what} passed"),
        Err(
            error
            @ (DecodeError::WrongHash { .. } | DecodeError::WrongSeed { .. } | DecodeError::WrongTransform { .. }),
        ) => panic!("{what} was taken for {error}"),
        Err(_) => {}
    };
    let at = usize::from(case.damage.at) % block.len();
    block[at] ^= case.damage.bits.max(1);
    check(&block, &format!("damage at {at}"));
    block.pop();
    check(&block, &format!("damage at {at} and a lost byte"));
}
