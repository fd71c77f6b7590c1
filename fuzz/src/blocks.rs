//! Queries of an opened filter.

use crate::oracle::{self, Oracle};
use crate::readers::Reading;
use filterblock::{FilterBlockReader, KeyHash, OpenOptions};
use filterblock_portable as portable;

/// The secret key of the golden files whose names contain `keyed`. If a block's header names a hash under a key,
/// targets open the block under this one.
pub const HASH_KEY: [u8; 16] = *b"16 secret bytes.";
const HASH_ID_AT: usize = 10;
const KEYED_HASH_ID: u8 = 2;

/// Returns whether the header, intact or not, states that the entries were hashed under a secret key.
pub fn names_a_key(block: &[u8]) -> bool {
    block.get(HASH_ID_AT) == Some(&KEYED_HASH_ID)
}

/// The oracle reads bit by bit: this many queries keep an execution within milliseconds.
const MAX_ORACLE_QUERIES: usize = 12;

/// The filter as read by the library's portable code, whatever the processor's features.
#[derive(Clone, Debug)]
pub enum Portable<'a> {
    Block(portable::FilterBlockReader<'a>),
    Frame(portable::CompactFrameReader<'a>),
}

impl<'a> Portable<'a> {
    /// Opens a block that has already opened, under `key` if there is one.
    pub fn open(block: &'a [u8], context: u64, key: Option<[u8; 16]>) -> Self {
        let options = portable::OpenOptions::new().with_context(context).with_digest_check(false);
        let options = key.map_or(options.clone(), |key| options.expect_hasher(&portable::KeyHasher::keyed(key)));
        Self::Block(options.open(block).expect("a block that opens also opens in the portable code"))
    }

    /// Opens a compact frame that has already opened.
    pub fn open_compact(frame: &'a [u8]) -> Self {
        // Neither hasher nor transform matters for queries by hash.
        static ANY: portable::EntryHasher =
            portable::EntryHasher::new(portable::KeyHasher::new(0), portable::KeyTransform::WholeKey);
        let opened = portable::CompactFrameReader::open(frame, &ANY);
        Self::Frame(opened.expect("a frame that opens also opens in the portable code"))
    }

    /// Checks that its answers, one at a time and in a batch, are `answers`.
    pub fn check(&self, hashes: &[KeyHash], answers: &[bool]) {
        let hashes: Vec<_> = hashes.iter().map(|hash| portable::KeyHash::from_raw(hash.get())).collect();
        let mut batch = vec![false; hashes.len()];
        match self {
            Self::Block(reader) => reader.may_contain_hashes(&hashes, &mut batch),
            Self::Frame(reader) => reader.may_contain_hashes(&hashes, &mut batch),
        }
        assert_eq!(batch, answers, "portable, in a batch");
        for (&hash, &answer) in hashes.iter().zip(answers) {
            let single = match self {
                Self::Block(reader) => reader.may_contain_hash(hash),
                Self::Frame(reader) => reader.may_contain_hash(hash),
            };
            assert_eq!(single, answer, "{hash:?}: portable");
        }
    }
}

/// Hashes spread over the whole range, and some that the input chooses.
fn hashes(input: &[u8]) -> Vec<KeyHash> {
    let spread = (0..16u64).map(|i| i * (u64::MAX / 15));
    let chosen = input.rchunks_exact(8).take(16).map(oracle::int);
    chosen.chain(spread).map(KeyHash::from_raw).collect()
}

/// Makes all kinds of queries. None may fail, and answers one at a time, answers in a batch, those of the portable code
/// and those of the oracle must be equal.
pub fn query_block(reader: &FilterBlockReader<'_>, portable: &Portable<'_>, oracle: &Oracle, block: &[u8]) {
    query(reader, portable, oracle, block);
    assert!(reader.bits_per_key().is_none_or(|bits| bits > 0.0 && bits.is_finite()));
    assert_eq!(reader.as_bytes().len(), block.len());
    combine(reader, &hashes(block));
    thin(reader.clone(), &hashes(block), usize::from(block[block.len() / 2]));
}

/// As [`query_block`], except what only the reader of a block has.
pub fn query(reader: &impl Reading, portable: &Portable<'_>, oracle: &Oracle, input: &[u8]) {
    let hashes = hashes(input);
    let mut batch = vec![false; hashes.len()];
    reader.may_contain_hashes(&hashes, &mut batch);
    for (&hash, &answer) in hashes.iter().zip(&batch) {
        assert_eq!(reader.may_contain_hash(hash), answer, "{hash:?}: alone and in a batch");
    }
    portable.check(&hashes, &batch);
    for (&hash, &answer) in hashes.iter().zip(&batch).step_by(hashes.len().div_ceil(MAX_ORACLE_QUERIES)) {
        assert_eq!(oracle.may_contain(hash.get()), answer, "{hash:?}: oracle and reader");
    }

    for (name, share) in [("rate", reader.false_positive_rate()), ("fill", reader.fill())] {
        assert!((0.0..=1.0).contains(&share), "{name} {share}");
    }
    assert!(reader.num_probes().is_none_or(|probes| probes > 0));
}

/// Checks that a copy of some columns, and a reader that compares no others, give the same answers, and pass what all
/// columns pass. `choice` selects how many columns.
fn thin(mut reader: FilterBlockReader<'_>, hashes: &[KeyHash], choice: usize) {
    let whole = reader.clone();
    let Some(most) = whole.num_compared_columns().filter(|&most| most > 1) else {
        assert!(whole.num_compared_columns().is_some() || whole.num_entries() == 0 || whole.thin(1, 0).is_err());
        return;
    };
    let columns = 1 + choice as u32 % (most - 1);
    let copy = whole.thin(columns, 9).expect("fewer columns");
    let options = OpenOptions::new().with_context(9).expect_hasher(whole.entry_hasher().hasher());
    let copy = options.open(&copy).expect("a block just written");
    reader.limit_columns(columns).expect("stored columns");
    assert_eq!(copy.thinned_from(), whole.thinned_from().or(Some(most)));
    assert_eq!(copy.false_positive_rate().to_bits(), reader.false_positive_rate().to_bits());
    for &hash in hashes {
        let answer = copy.may_contain_hash(hash);
        assert_eq!(reader.may_contain_hash(hash), answer, "{hash:?}: {columns} of {most} columns");
        assert!(answer || !whole.may_contain_hash(hash), "{hash:?}: denied by {columns} of {most} columns");
    }
}

/// Checks that a filter's union and intersection with itself answer as the filter does.
fn combine(reader: &FilterBlockReader<'_>, hashes: &[KeyHash]) {
    if let Ok(estimate) = reader.estimate_entries() {
        assert!(estimate >= 0.0, "{estimate} entries");
    }
    for combined in [reader.union(reader, 9), reader.intersection(reader, 9)] {
        let Ok(block) = combined else { continue };
        let options = OpenOptions::new().with_context(9).expect_hasher(reader.entry_hasher().hasher());
        let again = options.open(&block).expect("a block just written");
        for &hash in hashes {
            assert_eq!(again.may_contain_hash(hash), reader.may_contain_hash(hash), "{hash:?}: combined with itself");
        }
    }
}
