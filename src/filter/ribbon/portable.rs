//! The definition, in plain code: compiled once more for each engine that falls back on it.

use super::View;
use super::search::{Window, search};
use crate::bytes;
use crate::cpu::Portable;
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::row::WIDTH;

#[inline(always)]
pub(super) fn may_contain(_: Portable, view: &View<'_>, hash: KeyHash) -> bool {
    search(view, hash, agrees)
}

/// Whether the sum of each column is its bit of the fingerprint.
#[inline(always)]
pub(super) fn agrees(payload: &[u8], window: Window) -> bool {
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
/// The sum of a stored row is its fingerprint; of a slot without a row both are zero, and so is its solution.
#[cfg(feature = "std")]
#[inline(always)]
pub(super) fn solve(_: Portable, coefficients: &[u64], fingerprints: &[u32], words: &mut [u64]) {
    debug_assert!(coefficients.len() == WIDTH as usize && fingerprints.len() == WIDTH as usize);
    for (&row, &fingerprint) in coefficients.iter().zip(fingerprints).rev() {
        for (column, word) in words.iter_mut().enumerate() {
            let later = *word << 1;
            let sum = (row & later).count_ones() ^ fingerprint >> column;
            *word = later | u64::from(sum & 1);
        }
    }
}
