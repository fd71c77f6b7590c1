//! The definition, in plain code.

use super::super::seam::{KindView, in_batches};
use super::View;
use crate::cpu::{Portable, prefetch};
use crate::hash::KeyHash;

/// Probes before the first branch.
const FIRST: u8 = 4;

/// Looks at [`FIRST`] bits before it branches: most absent keys then end at one branch that is seldom mispredicted,
/// where one after each bit is mispredicted as often as not.
#[inline(never)]
pub(super) fn may_contain(_: Portable, view: &View<'_>, hash: KeyHash) -> bool {
    let mut probed = view.params().positions(hash).map(|p| view.bits[(p / 8) as usize] >> (p % 8) & 1);
    if view.params().num_probes < FIRST {
        return probed.all(|bit| bit == 1);
    }
    let mut next = || probed.next().unwrap_or(1);
    let first = next() & next() & next() & next();
    first == 1 && probed.all(|bit| bit == 1)
}

pub(super) fn all_may_contain(proof: Portable, view: &View<'_>, hashes: &[KeyHash], answers: &mut [bool]) {
    in_batches(view.bits, hashes, answers, |hash| prefetch_first(view, hash), |hash| may_contain(proof, view, hash));
}

pub(super) const fn gains_by_prefetch(_: Portable) -> bool {
    true
}

/// Prefetches the lines of the first probes. Few absent keys need the others.
#[inline]
pub(super) fn prefetch_first(view: &View<'_>, hash: KeyHash) {
    view.params().positions(hash).take(FIRST.into()).for_each(|p| prefetch(view.bits, (p / 8) as usize));
}
