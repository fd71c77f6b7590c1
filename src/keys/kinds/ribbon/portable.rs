//! The definition, in plain code: compiled once more for each engine that falls back on it.

use super::Layout;
use super::search::{self, Sums, Window};
use super::sizing::MAX_COLUMNS;
use crate::bytes;
use crate::cpu::Portable;
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::band::{Cursor, Rows};
#[cfg(feature = "std")]
use super::lanes::{self, LANES, Queue};
#[cfg(feature = "std")]
use super::search::Part;
#[cfg(feature = "std")]
use crate::build::Tally;

/// `compiled_for! { engine! }` defines the functions in which engines differ only by their instructions.
#[cfg(any(simd_x86_64, simd_neon))]
macro_rules! compiled_for {
    ($engine:ident!) => {
        $engine! {
            pub(super) fn may_contain(
                sums,
                layout: &super::Layout,
                payload: &[u8],
                hash: $crate::hash::KeyHash,
            ) -> bool {
                super::search::may_contain(sums, layout, payload, hash)
            }

            pub(super) fn may_contain_all(
                sums,
                layout: &super::Layout,
                payload: &[u8],
                hashes: &[$crate::hash::KeyHash],
                answers: &mut [bool],
            ) {
                super::search::may_contain_all(sums, layout, payload, hashes, answers);
            }

            #[cfg(feature = "std")]
            pub(super) fn tally_found(
                sums,
                part: &super::search::Part<'_>,
                hashes: &[u64],
            ) -> $crate::build::Tally {
                super::search::tally_found(sums, part, hashes)
            }

            #[cfg(feature = "std")]
            pub(super) fn take_lanes(
                _proof,
                queue: super::lanes::Queue<'_>,
            ) -> ([super::band::Cursor; super::lanes::LANES], usize) {
                super::lanes::take(queue)
            }
        }
    };
}
#[cfg(any(simd_x86_64, simd_neon))]
pub(super) use compiled_for;

impl Sums for Portable {
    const GROUP: u32 = MAX_COLUMNS;

    #[inline(always)]
    fn first_agree(self, payload: &[u8], window: &Window) -> Option<bool> {
        Some(agrees(payload, window))
    }
}

#[inline(never)]
pub(super) fn may_contain(sums: Portable, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
    search::may_contain(sums, layout, payload, hash)
}

pub(super) fn may_contain_all(
    sums: Portable,
    layout: &Layout,
    payload: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    search::may_contain_all(sums, layout, payload, hashes, answers);
}

/// Returns whether the sum of each column is its bit of the fingerprint.
#[inline(always)]
pub(super) fn agrees(payload: &[u8], window: &Window) -> bool {
    let len = window.columns as usize * 8;
    let (first, second) = (&payload[window.first..][..len], &payload[window.second..][..len]);
    let mut differing = 0;
    for (column, (first, second)) in first.chunks_exact(8).zip(second.chunks_exact(8)).enumerate() {
        let summed = bytes::u64_at(first, 0) & window.masks[0] ^ bytes::u64_at(second, 0) & window.masks[1];
        differing |= summed.count_ones() ^ window.fingerprint >> column;
    }
    differing & 1 == 0
}

/// Solves a block from its last slot to its first, for the columns of `words`: on entry the words of the block after it
/// (zeros if none), on return its own.
///
/// The sum of a stored row is its fingerprint. In a slot without a row both are zero, and so is the solution.
#[cfg(feature = "std")]
#[inline(always)]
pub(super) fn solve(_: Portable, rows: Rows<'_>, words: &mut [u64]) {
    for (&coefficients, &fingerprint) in rows.0.iter().zip(rows.1).rev() {
        for (column, word) in words.iter_mut().enumerate() {
            let later = *word << 1;
            let sum = (coefficients & later).count_ones() ^ fingerprint as u32 >> column;
            *word = later | u64::from(sum & 1);
        }
    }
}

#[cfg(feature = "std")]
pub(super) fn tally_found(sums: Portable, part: &Part<'_>, hashes: &[u64]) -> Tally {
    search::tally_found(sums, part, hashes)
}

#[cfg(feature = "std")]
pub(super) fn take_lanes(_: Portable, queue: Queue<'_>) -> ([Cursor; LANES], usize) {
    lanes::take(queue)
}
