//! The builder's last step: a finished frame is queried for every hash that it was built from.

use crate::error::BuildError;
use crate::filter::FilterLayout;
use crate::hash::KeyHash;
use std::vec::Vec;

/// The number of hashes that are queried together.
const CHECKED_AT_ONCE: usize = 256;

/// Queries the filter and its payload, if the frame could be opened, for all `hashes`.
pub(super) fn self_check(
    hashes: &[u64],
    opened: Option<(FilterLayout, &[u8])>,
    parallel: bool,
) -> Result<(), BuildError> {
    let Some((layout, payload)) = opened else {
        let hash = hashes.first().copied().unwrap_or(0);
        return Err(BuildError::SelfCheck { hash, num_missing: hashes.len() as u64 });
    };
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
