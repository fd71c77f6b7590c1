//! Looks up bits in plain code.
//!
//! Eight probes in a vector, with one gather for their bits, took longer: a quarter for an absent key, and a quarter
//! where the caller branches on the answer. They gained in batches alone, a tenth.

use super::super::seam::in_batches;
use super::Params;
use crate::cpu::prefetch;
use crate::hash::KeyHash;

/// The number of probes before the first branch.
const FIRST: u8 = 4;

/// Branches after [`FIRST`] bits: most absent keys then end at one branch that is seldom mispredicted, where one after
/// each bit is mispredicted as often as not. The others, which few absent keys need, end at a second.
pub(super) fn may_contain(params: &Params, bits: &[u8], hash: KeyHash) -> bool {
    let mut probed = params.positions(hash).map(|p| bits[(p / 8) as usize] >> (p % 8) & 1);
    if params.num_probes < FIRST {
        return probed.all(|bit| bit == 1);
    }
    let mut next = || probed.next().unwrap_or(1);
    let first = next() & next() & next() & next();
    first == 1 && probed.fold(1, |all, bit| all & bit) == 1
}

/// Answers for each hash, batch by batch.
pub(super) fn all_may_contain(params: &Params, bits: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    let prefetch = |hash| prefetch_first(params, bits, hash);
    in_batches(bits, hashes, answers, prefetch, |hash| may_contain(params, bits, hash));
}

/// Prefetches the lines of the first probes. Few absent keys need the others.
#[inline]
pub(super) fn prefetch_first(params: &Params, bits: &[u8], hash: KeyHash) {
    params.positions(hash).take(FIRST.into()).for_each(|p| prefetch(bits, (p / 8) as usize));
}
