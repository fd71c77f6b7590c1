//! What the fuzz targets share: questions to ask of an opened filter, the repair of a mutated block, the input of `built`.

mod case;
#[path = "../../tests/format/oracle.rs"]
pub mod oracle;
mod repair;

pub use case::{Case, Damage, Size};
pub use repair::{Repair, repair};

use filterblock::{FilterBlockReader, KeyHash};
use oracle::Oracle;

/// The oracle reads bit by bit: so many questions keep an execution within milliseconds.
const MAX_ORACLE_QUESTIONS: usize = 12;

/// Hashes from one end of the range to the other, and some that the input chooses.
fn hashes(input: &[u8]) -> Vec<KeyHash> {
    let spread = (0..16u64).map(|i| i * (u64::MAX / 15));
    let chosen = input.rchunks_exact(8).take(16).map(oracle::int);
    chosen.chain(spread).map(KeyHash::from_raw).collect()
}

/// Asks everything that can be asked. Nothing may fail, and answers one at a time, answers in a batch and the oracle's
/// must be equal.
pub fn ask(reader: &FilterBlockReader<'_>, oracle: &Oracle, input: &[u8]) {
    let hashes = hashes(input);
    let mut batch = vec![false; hashes.len()];
    reader.may_contain_hashes(&hashes, &mut batch);
    for (&hash, &answer) in hashes.iter().zip(&batch) {
        assert_eq!(reader.may_contain_hash(hash), answer, "{hash:?}: alone and in a batch");
    }
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
        let again = filterblock::OpenOptions::new().context(9).open(&block).expect("a block just written");
        for (&hash, &answer) in hashes.iter().zip(answers) {
            assert_eq!(again.may_contain_hash(hash), answer, "{hash:?}: combined with itself");
        }
    }
}
