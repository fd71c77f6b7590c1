//! The builder: from hashes to bits.

use super::sizing::MAX_NUM_PROBES;
use super::{Params, parted};
use crate::build::{Output, Tally, check_suspects, fault};
use crate::bytes;
use crate::cpu::prefetch;
use crate::hash::KeyHash;
use crate::keys::kinds::seam::{Hashes, MAX_CACHED_LEN, Mode, Unbuilt};
use std::vec::Vec;

/// Appends the bits of `hashes` to `out`. Returns whether they are checked: no bit is ever cleared, so all are set if as
/// many are set in the end as were set for the first time.
///
/// # Errors
/// [`Unbuilt`]; then `out` may have grown. Hashes are reordered, none is lost.
pub(super) fn build(params: &Params, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<bool, Unbuilt> {
    let bits = out.append_zeros(params.payload_len() as usize)?;
    if parted::LENGTHS.contains(&params.payload_len()) {
        return Ok(parted::insert(*params, bits, hashes, mode)?);
    }
    let Hashes { hashes, all, .. } = hashes;
    let hashes = &*hashes;
    // A duplicate finds all its bits already set.
    let mut suspects = Vec::new();
    // The best numbers for 10, 12 and 16 bits an entry are compile-time constants, which is a sixth faster.
    let num_set = match params.num_probes {
        7 => insert(Params { num_probes: 7, ..*params }, bits, hashes, &mut suspects),
        8 => insert(Params { num_probes: 8, ..*params }, bits, hashes, &mut suspects),
        11 => insert(Params { num_probes: 11, ..*params }, bits, hashes, &mut suspects),
        _ => insert(*params, bits, hashes, &mut suspects),
    };
    fault::inject(bits);
    check_suspects(hashes, &mut suspects)?;
    Ok(mode.checks && count_ones(bits) == num_set && Tally::of(hashes.iter().copied()) == all)
}

/// Returns the number of bits that are set.
pub(super) fn count_ones(bits: &[u8]) -> u64 {
    let words = bits.chunks_exact(8);
    let rest: u64 = words.remainder().iter().map(|byte| u64::from(byte.count_ones())).sum();
    rest + words.map(|word| u64::from(bytes::u64_at(word, 0).count_ones())).sum::<u64>()
}

/// The number of hashes whose lines are prefetched together: more than a processor has line buffers.
const BATCH: usize = 32;

/// Sets the bits of `hashes`, appends to `present` the hashes whose bits were all set before, and returns the number of
/// bits that were not. If the bits may be in no cache, positions are computed, and their lines prefetched, batch by
/// batch: beyond the caches this takes a fifth of the time.
#[inline(always)]
pub(super) fn insert(params: Params, bits: &mut [u8], hashes: &[u64], present: &mut Vec<u64>) -> u64 {
    let num_probes = params.num_probes() as usize;
    let mut num_set = 0;
    let mut note = |hash, num_set_now| {
        num_set += num_set_now;
        if num_set_now == 0 {
            present.push(hash);
        }
    };
    if bits.len() <= MAX_CACHED_LEN {
        hashes.iter().for_each(|&hash| note(hash, set(bits, params.positions(KeyHash::from_raw(hash)))));
        return num_set;
    }
    let mut batch = [0; BATCH * MAX_NUM_PROBES as usize];
    for hashes in hashes.chunks(BATCH) {
        for (&hash, positions) in hashes.iter().zip(batch.chunks_exact_mut(num_probes)) {
            for (place, position) in positions.iter_mut().zip(params.positions(KeyHash::from_raw(hash))) {
                *place = position;
                prefetch(bits, (position / 8) as usize);
            }
        }
        for (&hash, positions) in hashes.iter().zip(batch.chunks_exact(num_probes)) {
            note(hash, set(bits, positions.iter().copied()));
        }
    }
    num_set
}

/// Sets the bits at `positions`; returns the number of those that were not set before.
#[inline(always)]
pub(super) fn set(bits: &mut [u8], positions: impl Iterator<Item = u64>) -> u64 {
    positions.fold(0, |num_set, position| {
        let byte = &mut bits[(position / 8) as usize];
        let (before, bit) = (*byte, position % 8);
        *byte |= 1 << bit;
        num_set + u64::from(!before >> bit & 1)
    })
}
