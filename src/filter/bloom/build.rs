//! From hashes to bits.

use super::Params;
use crate::filter::output::Output;
use crate::filter::seam::Unbuilt;
use crate::hash::KeyHash;
use crate::hashes::check_suspects;
use std::vec::Vec;

/// Appends the bits of `hashes` to `out`.
///
/// # Errors
/// [`Unbuilt`]; then `out` may have grown.
pub(super) fn build(params: &Params, hashes: &[u64], out: &mut Output<'_>) -> Result<(), Unbuilt> {
    let bits = out.append_zeros(params.payload_len() as usize)?;
    // A duplicate finds all its bits already set.
    let mut suspects = Vec::new();
    // The best numbers at 10, 12 and 16 bits an entry, known when compiling: a sixth faster.
    match params.num_probes {
        7 => insert(Params { num_probes: 7, ..*params }, bits, hashes, &mut suspects),
        8 => insert(Params { num_probes: 8, ..*params }, bits, hashes, &mut suspects),
        11 => insert(Params { num_probes: 11, ..*params }, bits, hashes, &mut suspects),
        _ => insert(*params, bits, hashes, &mut suspects),
    }
    Ok(check_suspects(hashes, &mut suspects)?)
}

/// Sets the bits of `hashes` and appends to `present` those that had all of theirs set before.
#[inline(always)]
pub(super) fn insert(params: Params, bits: &mut [u8], hashes: &[u64], present: &mut Vec<u64>) {
    for &hash in hashes {
        let mut missing = 0;
        for position in params.positions(KeyHash::from_raw(hash)) {
            let (byte, bit) = (&mut bits[(position / 8) as usize], 1u8 << (position % 8));
            missing |= bit & !*byte;
            *byte |= bit;
        }
        if missing == 0 {
            present.push(hash);
        }
    }
}
