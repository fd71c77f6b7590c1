//! Questions to ask of an opened filter.

use crate::oracle::{self, Oracle};
use filterblock::{FilterBlockReader, KeyHash, OpenOptions};
use filterblock_portable as portable;

/// The secret key of the golden files whose names say that they are keyed: targets open blocks under it whose header
/// names a hash under a key.
pub const HASH_KEY: [u8; 16] = *b"16 secret bytes.";
const HASH_ID_AT: usize = 10;
const KEYED_HASH_ID: u8 = 2;

/// Whether the header, intact or not, says that the entries were hashed under a secret key.
pub fn names_a_key(block: &[u8]) -> bool {
    block.get(HASH_ID_AT) == Some(&KEYED_HASH_ID)
}

/// The oracle reads bit by bit: so many questions keep an execution within milliseconds.
const MAX_ORACLE_QUESTIONS: usize = 12;

/// The filter as the library's portable code reads it, whatever the processor has.
#[derive(Clone, Copy, Debug)]
pub struct Portable<'a>(portable::FilterBlockReader<'a>);

impl<'a> Portable<'a> {
    /// A block that has opened, under `key` if any.
    pub fn open(block: &'a [u8], context: u64, key: Option<[u8; 16]>) -> Self {
        let options = portable::OpenOptions::new().context(context).trusted(true);
        let options = key.map_or(options, |key| options.expect_hasher(portable::KeyHasher::keyed(key)));
        Self(options.open(block).expect("a block that opens, opens portably"))
    }

    /// A compact frame that has opened.
    pub fn open_compact(frame: &'a [u8]) -> Self {
        // Neither plays a part where hashes are asked for.
        let (hasher, transform) = (portable::KeyHasher::new(0), portable::KeyTransform::WholeKey);
        let opened = portable::FilterBlockReader::open_compact(frame, hasher, transform);
        Self(opened.expect("a frame that opens, opens portably"))
    }

    /// Its answers, one at a time and in a batch, are `answers`.
    pub fn check(&self, hashes: &[KeyHash], answers: &[bool]) {
        let hashes: Vec<_> = hashes.iter().map(|hash| portable::KeyHash::from_raw(hash.get())).collect();
        let mut batch = vec![false; hashes.len()];
        self.0.may_contain_hashes(&hashes, &mut batch);
        assert_eq!(batch, answers, "portably, in a batch");
        for (&hash, &answer) in hashes.iter().zip(answers) {
            assert_eq!(self.0.may_contain_hash(hash), answer, "{hash:?}: portably");
        }
    }
}

/// Hashes from one end of the range to the other, and some that the input chooses.
fn hashes(input: &[u8]) -> Vec<KeyHash> {
    let spread = (0..16u64).map(|i| i * (u64::MAX / 15));
    let chosen = input.rchunks_exact(8).take(16).map(oracle::int);
    chosen.chain(spread).map(KeyHash::from_raw).collect()
}

/// Asks everything that can be asked. Nothing may fail, and answers one at a time, answers in a batch, those of the
/// portable code and the oracle's must be equal.
pub fn ask(reader: &FilterBlockReader<'_>, portable: &Portable<'_>, oracle: &Oracle, input: &[u8]) {
    let hashes = hashes(input);
    let mut batch = vec![false; hashes.len()];
    reader.may_contain_hashes(&hashes, &mut batch);
    for (&hash, &answer) in hashes.iter().zip(&batch) {
        assert_eq!(reader.may_contain_hash(hash), answer, "{hash:?}: alone and in a batch");
    }
    portable.check(&hashes, &batch);
    for (&hash, &answer) in hashes.iter().zip(&batch).step_by(hashes.len().div_ceil(MAX_ORACLE_QUESTIONS)) {
        assert_eq!(oracle.may_contain(hash.get()), answer, "{hash:?}: oracle and reader");
    }
    let entry = &input[..input.len().min(300)];
    assert_eq!(reader.may_contain(entry), reader.may_contain_hash(reader.hasher().hash(entry)));

    for (name, share) in [("rate", reader.false_positive_rate()), ("fill", reader.fill())] {
        assert!((0.0..=1.0).contains(&share), "{name} {share}");
    }
    assert!(reader.bits_per_key().is_none_or(|bits| bits > 0.0 && bits.is_finite()));
    assert!(reader.num_probes().is_none_or(|probes| probes > 0));
    assert_eq!(reader.block_len(), input.len());
    combine(reader, &hashes, &batch);
}

/// A filter's union and intersection with itself answer as it does.
fn combine(reader: &FilterBlockReader<'_>, hashes: &[KeyHash], answers: &[bool]) {
    if let Ok(estimate) = reader.estimate_entries() {
        assert!(estimate >= 0.0, "{estimate} entries");
    }
    for combined in [reader.union(reader, 9), reader.intersection(reader, 9)] {
        let Ok(block) = combined else { continue };
        let options = OpenOptions::new().context(9).expect_hasher(reader.hasher());
        let again = options.open(&block).expect("a block just written");
        for (&hash, &answer) in hashes.iter().zip(answers) {
            assert_eq!(again.may_contain_hash(hash), answer, "{hash:?}: combined with itself");
        }
    }
}
