//! The builder: from hashes to bits.

use super::Params;
use super::sizing::MAX_NUM_PROBES;
use crate::cpu::prefetch;
use crate::filter::output::Output;
use crate::filter::seam::Unbuilt;
use crate::hash::KeyHash;
use crate::hash_set::check_suspects;
use std::vec::Vec;

/// Appends the bits of `hashes` to `out`.
///
/// # Errors
/// [`Unbuilt`]; then `out` may have grown.
pub(super) fn build(params: &Params, hashes: &[u64], out: &mut Output<'_>) -> Result<(), Unbuilt> {
    let bits = out.append_zeros(params.payload_len() as usize)?;
    // A duplicate finds all its bits already set.
    let mut suspects = Vec::new();
    // The best numbers for 10, 12 and 16 bits an entry are compile-time constants, which is a sixth faster.
    match params.num_probes {
        7 => insert(Params { num_probes: 7, ..*params }, bits, hashes, &mut suspects),
        8 => insert(Params { num_probes: 8, ..*params }, bits, hashes, &mut suspects),
        11 => insert(Params { num_probes: 11, ..*params }, bits, hashes, &mut suspects),
        _ => insert(*params, bits, hashes, &mut suspects),
    }
    Ok(check_suspects(hashes, &mut suspects)?)
}

/// The number of hashes whose lines are prefetched together: more than a processor has line buffers.
const BATCH: usize = 32;

/// Sets the bits of `hashes` and appends to `present` the hashes whose bits were all set before. Positions are
/// computed, and their lines prefetched, batch by batch: beyond the caches this takes a fifth of the time.
#[inline(always)]
pub(super) fn insert(params: Params, bits: &mut [u8], hashes: &[u64], present: &mut Vec<u64>) {
    let num_probes = params.num_probes() as usize;
    let mut batch = [0; BATCH * MAX_NUM_PROBES as usize];
    for hashes in hashes.chunks(BATCH) {
        for (&hash, positions) in hashes.iter().zip(batch.chunks_exact_mut(num_probes)) {
            for (place, position) in positions.iter_mut().zip(params.positions(KeyHash::from_raw(hash))) {
                *place = position;
                prefetch(bits, (position / 8) as usize);
            }
        }
        for (&hash, positions) in hashes.iter().zip(batch.chunks_exact(num_probes)) {
            let all_set =
                |positions: &[u64]| positions.iter().fold(1, |all, p| all & bits[(p / 8) as usize] >> (p % 8));
            let (first, others) = positions.split_at(num_probes.min(FIRST));
            if all_set(first) & 1 == 1 && all_set(others) & 1 == 1 {
                present.push(hash);
            }
            positions.iter().for_each(|p| bits[(p / 8) as usize] |= 1 << (p % 8));
        }
    }
}

/// The number of probes before the first branch, which is seldom mispredicted where most of their bits are clear.
const FIRST: usize = 4;
