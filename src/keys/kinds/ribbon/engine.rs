//! The engines of ribbon, and the functions that each of them has.

#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
#[cfg(simd_neon)]
use super::neon;
use super::{Layout, Params, portable};
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::band::{Cursor, Rows};
#[cfg(feature = "std")]
use super::lanes::{LANES, Queue};
#[cfg(feature = "std")]
use super::search::Part;
#[cfg(feature = "std")]
use crate::build::Tally;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Avx2 => avx2,
        #[cfg(simd_avx512)]
        Avx512Bitalg => avx512,
        #[cfg(simd_neon)]
        Neon => neon,
    }

    /// Returns whether the slots that `hash` selects add up to its fingerprint.
    #[inline]
    fn may_contain(layout: &Layout, payload: &[u8], hash: KeyHash) -> bool;

    /// Answers for each hash. Both slices have the same length.
    fn may_contain_all(layout: &Layout, payload: &[u8], hashes: &[KeyHash], answers: &mut [bool]);

    /// Returns the tally of those of `hashes` that the part neither bumps nor denies.
    #[cfg(feature = "std")]
    fn tally_found(part: &Part<'_>, hashes: &[u64]) -> Tally;

    /// Solves a block from its last slot to its first, for the columns of `words`: on entry the words of the block
    /// after it, on return its own.
    #[cfg(feature = "std")]
    fn solve(rows: Rows<'_>, words: &mut [u64]);

    /// Takes steps of insertion until one of the lanes has no coefficients left. Returns the lanes, and the number of
    /// equations that have been placed.
    #[cfg(feature = "std")]
    fn take_lanes(queue: Queue<'_>) -> ([Cursor; LANES], usize);
}
