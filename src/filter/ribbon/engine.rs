//! The engines of ribbon.

use super::{Params, View, portable};
use crate::hash::KeyHash;

crate::cpu::engines! {
    Params: {
        Portable => portable,
    }

    /// Whether the sums of the rows of `hash` are its fingerprint.
    #[inline]
    fn may_contain(view: &View<'_>, hash: KeyHash) -> bool;

    /// Solves a block from its last slot to its first, for the columns of `words`: on entry the words of the block after it,
    /// on return its own.
    #[cfg(feature = "std")]
    fn solve(coefficients: &[u64], fingerprints: &[u32], words: &mut [u64]);
}
