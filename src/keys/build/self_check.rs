//! The builder's last step: a finished frame is queried for the hashes that it was built from.
//!
//! A kind checks what it writes hash by hash, while the bytes are in a cache: a tenth of a build's time, where queries
//! of the finished frame would take up to as long as the build. What is left then is the frame as a whole, header and
//! parameters and the order of parts, which any hashes test. If a kind has not checked its payload, or has found
//! something wrong, the frame is queried for all.

use crate::error::BuildError;
use crate::hash::KeyHash;
use crate::keys::kinds::FilterLayout;
use std::vec::Vec;

/// The number of hashes that are queried together.
const CHECKED_AT_ONCE: usize = 256;

/// About how many hashes are queried of a frame whose payload was checked.
const SAMPLE: usize = 256;

/// Queries the filter and its payload, if the frame could be opened: for some of `hashes` if `is_checked` and all of
/// these are found, and otherwise for all.
pub(super) fn self_check(
    hashes: &[u64],
    opened: Option<(FilterLayout, &[u8])>,
    is_checked: bool,
    parallel: bool,
) -> Result<(), BuildError> {
    let Some((layout, payload)) = opened else {
        let hash = hashes.first().copied().unwrap_or(0);
        return Err(BuildError::SelfCheck { hash, num_missing: hashes.len() as u64 });
    };
    if is_checked {
        let sample: Vec<u64> = hashes.iter().step_by(hashes.len().div_ceil(SAMPLE)).copied().collect();
        if missing(&layout, payload, &sample).is_empty() {
            return Ok(());
        }
    }
    let missing = |hashes: &[u64]| missing(&layout, payload, hashes);
    let missing: Vec<u64> = match parallel {
        #[cfg(feature = "rayon")]
        true => {
            use rayon::prelude::*;
            hashes.par_chunks(CHECKED_AT_ONCE).flat_map_iter(missing).collect()
        }
        _ => hashes.chunks(CHECKED_AT_ONCE).flat_map(missing).collect(),
    };
    let mut missing = missing.into_iter();
    match missing.next() {
        None => Ok(()),
        Some(hash) => Err(BuildError::SelfCheck { hash, num_missing: 1 + missing.count() as u64 }),
    }
}

/// Returns those of at most [`CHECKED_AT_ONCE`] hashes that are absent from the filter.
fn missing(layout: &FilterLayout, payload: &[u8], hashes: &[u64]) -> Vec<u64> {
    let mut raw = [KeyHash::from_raw(0); CHECKED_AT_ONCE];
    raw.iter_mut().zip(hashes).for_each(|(raw, &hash)| *raw = KeyHash::from_raw(hash));
    let mut answers = [false; CHECKED_AT_ONCE];
    layout.may_contain_all(payload, &raw[..hashes.len()], &mut answers[..hashes.len()]);
    if answers[..hashes.len()].iter().all(|&answer| answer) {
        return Vec::new();
    }
    hashes.iter().zip(answers).filter(|(_, answer)| !answer).map(|(&hash, _)| hash).collect()
}

#[cfg(test)]
mod tests {
    use crate::build::fault;
    use crate::build::loss;
    use crate::{BuildError, FilterBlockBuilder, FilterPolicy, KeyHash, OpenOptions, hash};

    /// Returns whether all `hashes` are found in the block that is built with a fault, if it can be opened.
    fn survives(policy: &FilterPolicy, hashes: &[KeyHash], bit: usize) -> Option<bool> {
        fault::tests::set(bit);
        let block = built(&policy.clone().with_self_check(false), hashes).expect("only a check fails");
        fault::tests::was_injected().then(|| {
            let reader = OpenOptions::new().expect(policy).open(&block);
            reader.is_ok_and(|reader| hashes.iter().all(|&hash| reader.may_contain_hash(hash)))
        })
    }

    fn built(policy: &FilterPolicy, hashes: &[KeyHash]) -> Result<Vec<u8>, BuildError> {
        let mut builder = FilterBlockBuilder::new(policy);
        hashes.iter().for_each(|&hash| builder.add_hash(hash));
        builder.finish()
    }

    /// Returns whether the build with a fault fails, which it must if and only if the block would deny a key; `None` if
    /// no bit was flipped.
    fn is_noticed(policy: &FilterPolicy, hashes: &[KeyHash], bit: usize) -> Option<bool> {
        let survives = survives(policy, hashes, bit)?;
        fault::tests::set(bit);
        let result = built(policy, hashes);
        assert!(fault::tests::was_injected());
        match result {
            Ok(_) => assert!(survives, "{policy}, {} keys, bit {bit}", hashes.len()),
            Err(BuildError::SelfCheck { num_missing, .. }) => {
                assert!(!survives && num_missing > 0, "{policy}, {} keys, bit {bit}", hashes.len());
            }
            Err(error) => panic!("{error}"),
        }
        Some(!survives)
    }

    /// One bit of what a kind writes is flipped before it is checked: of small filters each in turn, of large ones some.
    /// The build fails if and only if the block would deny a key.
    #[test]
    fn a_fault_that_denies_a_key_is_noticed() {
        for policies in [
            ["bloom:10", "bloom:fpr=0.3", "bloom:16.5"],
            ["blocked:10", "blocked:6,salt_bits=0", "blocked:20"],
            ["golomb:fpr=1%", "golomb:fpr=0.2", "golomb:fpr=0.00001"],
            ["ribbon:fpr=1%", "ribbon:fpr=0.390625%,slots_per_key=0.965", "ribbon:20"],
            ["fuse:fpr=0.390625%", "fuse:fpr=0.3", "fuse:fpr=0.00001"],
        ] {
            let mut num_noticed = 0;
            for policy in policies.map(|policy| policy.parse::<FilterPolicy>().expect("legal")) {
                for num_keys in [1, 2, 40, 300, 6_000, 30_000] {
                    let hashes: Vec<KeyHash> =
                        (0..num_keys).map(|i| KeyHash::from_raw(hash::mix(i + num_keys))).collect();
                    let num_bits = built(&policy, &hashes).expect("no fault").len() * 8;
                    let step = 1 + num_bits / if num_keys <= 300 { 3_000 } else { 60 };
                    for bit in (0..).step_by(step) {
                        let Some(is_noticed) = is_noticed(&policy, &hashes, bit) else { break };
                        num_noticed += usize::from(is_noticed);
                    }
                }
            }
            assert!(num_noticed > 1_000, "{num_noticed} of {policies:?}");
        }
    }

    /// Each bit of ribbon's thresholds is flipped. Then the layer answers for hashes that it bumped, or the next one for
    /// hashes that it does not have.
    #[test]
    fn a_wrong_threshold_is_noticed() {
        let policy: FilterPolicy = "ribbon:fpr=0.0078125,slots_per_key=0.965".parse().expect("legal");
        let (num_keys, columns) = (6_000, 7);
        let hashes: Vec<KeyHash> = (0..num_keys).map(|i| KeyHash::from_raw(hash::mix(i))).collect();
        let num_blocks = (num_keys as usize * 965 / 1000).div_ceil(64);
        let (solution_bits, num_buckets) = (num_blocks * columns * 64, (num_blocks - 1).div_ceil(2));
        let is_noticed = |bit| is_noticed(&policy, &hashes, solution_bits + bit).expect("a bit of the filter");
        assert!((0..2 * num_buckets).filter(|&bit| is_noticed(bit)).count() > num_buckets);
    }

    /// A hash is lost in each list that a build makes of them in turn: as they were added, without repeated ones,
    /// remapped, part by part. The build fails if the block would deny the hash.
    #[test]
    fn a_lost_hash_is_noticed() {
        for kind in ["bloom:10", "blocked:10", "blocked:6,salt_bits=0", "golomb:fpr=1%", "ribbon:fpr=1%", "fuse:fpr=1%"]
        {
            let policy: FilterPolicy = kind.parse().expect("legal");
            // The last ones are not spread evenly, so that they are remapped if the kind needs that.
            for (num_keys, num_repeated, spread) in
                [(1, 0, 1), (300, 0, 1), (30_000, 0, 1), (3_000, 7, 1), (3_000, 0, 0)]
            {
                let hash = |i: u64| KeyHash::from_raw(if spread == 1 { hash::mix(i) } else { i << 8 });
                let hashes: Vec<KeyHash> = (0..num_keys).chain(0..num_repeated).map(hash).collect();
                let mut num_noticed = 0;
                for list in (0..).step_by(if num_keys > 3_000 { 7 } else { 1 }) {
                    loss::set(list);
                    let result = built(&policy, &hashes);
                    if !loss::has_happened() {
                        break;
                    }
                    let at = format!("{policy}, {num_keys} keys, list {list}");
                    match result {
                        Ok(block) => {
                            let reader = OpenOptions::new().expect(&policy).open(&block).expect(&at);
                            assert!(hashes.iter().all(|&hash| reader.may_contain_hash(hash)), "{at}");
                        }
                        Err(BuildError::SelfCheck { num_missing, .. }) => {
                            assert!(num_missing > 0, "{at}");
                            num_noticed += 1;
                        }
                        Err(error) => panic!("{error}: {at}"),
                    }
                }
                assert!(num_noticed > 0, "{policy}, {num_keys} keys");
            }
        }
    }
}
